-- A leased URL is queued again. ARGV: worker, digest, 1 if the attempt failed. Returns the head of its slot.
local key = ARGV[2]
if redis.call('SREM', prefix .. 'flight:' .. worker, key) == 0 then return nil end
local record = load(key)
record[ATTEMPTS] = record[ATTEMPTS] + ARGV[3]
enqueue(key, record)
count(IN_FLIGHT, -1)
count(QUEUED, 1)
return changed(record[SLOT])
