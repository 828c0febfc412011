-- Leases the best URL of a slot to the worker that owns it. ARGV: worker, slot. Returns the record and the next head.
local slot = ARGV[2]
if redis.call('HGET', prefix .. 'owner', slot) ~= worker then return { false } end
local best = redis.call('ZPOPMAX', prefix .. 'queue:' .. slot)
if #best == 0 then return { false, head(slot) } end
local key = best[1]:sub(8)
local record = load(key)
record[STATE] = IN_FLIGHT
save(key, record)
redis.call('SADD', prefix .. 'flight:' .. worker, key)
count(QUEUED, -1)
count(IN_FLIGHT, 1)
return { cmsgpack.pack(record), changed(slot) }
