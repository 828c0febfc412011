-- A leased URL needs no further fetch. ARGV: worker, digest, state. Returns its slot and the done URLs there, or nothing.
local key, state = ARGV[2], tonumber(ARGV[3])
if redis.call('SREM', prefix .. 'flight:' .. worker, key) == 0 then return nil end
local slot = load(key)[SLOT]
redis.call('HSET', prefix .. 'urls', key, string.char(state))
count(IN_FLIGHT, -1)
count(state, 1)
return { slot, redis.call('HINCRBY', prefix .. 'done', slot, state == DONE and 1 or 0) }
