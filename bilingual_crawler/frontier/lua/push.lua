-- Queues unseen URLs and raises queued ones, never lowers or revives. ARGV: worker, then digest and packed entry of each.
-- Returns a letter for each (n new, r raised, i ignored) and the heads of the slots that changed.
local outcomes, slots = {}, {}
for i = 1, (#ARGV - 1) / 2 do
  local key, record = ARGV[2 * i], cmsgpack.unpack(ARGV[2 * i + 1])
  local held = load(key)
  if not held then
    record[ORDER] = redis.call('INCR', prefix .. 'order')
    enqueue(key, record)
    count(QUEUED, 1)
    outcomes[i], slots[record[SLOT]] = 'n', true
  elseif held[STATE] == QUEUED and not fixed(held) and record[PRIORITY] > held[PRIORITY] then
    held[PRIORITY], held[DEPTH] = record[PRIORITY], math.min(held[DEPTH], record[DEPTH])
    if held[PARENT] ~= '' then held[PARENT] = record[PARENT] end
    save(key, held)
    redis.call('ZADD', prefix .. 'queue:' .. held[SLOT], 'XX', 'GT', held[PRIORITY], member(key, held))
    outcomes[i], slots[held[SLOT]] = 'r', true
  else
    outcomes[i] = 'i'
  end
end
return { table.concat(outcomes), heads(slots) }
