-- The target is queued with the priority and order of a leased URL. ARGV: worker, digest, digest of the target, its record.
-- Returns whether the target is to be fetched, and the head of its slot.
local key, target_key, target = ARGV[2], ARGV[3], cmsgpack.unpack(ARGV[4])
local held, source = load(target_key), nil
if redis.call('SREM', prefix .. 'flight:' .. worker, key) == 1 then
  source = load(key)
  redis.call('HSET', prefix .. 'urls', key, string.char(REDIRECTED))
  count(IN_FLIGHT, -1)
  count(REDIRECTED, 1)
end
if held and (held[STATE] ~= QUEUED or fixed(held)) then return { 0 } end
if not source then return { held and 1 or 0 } end
target[ORDER], target[PRIORITY] = source[ORDER], source[PRIORITY]
if held then
  unqueue(target_key, held)
  target[ORDER], target[PRIORITY] = math.min(held[ORDER], source[ORDER]), math.max(held[PRIORITY], source[PRIORITY])
  target[DEPTH] = math.min(held[DEPTH], target[DEPTH])
  if held[PARENT] == '' then target[PARENT] = '' end
else
  count(QUEUED, 1)
end
enqueue(target_key, target)
return { 1, changed(target[SLOT]) }
