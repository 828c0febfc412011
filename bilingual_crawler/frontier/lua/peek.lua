-- The record of the best URL of a slot. ARGV: worker, slot.
local best = redis.call('ZREVRANGE', prefix .. 'queue:' .. ARGV[2], 0, 0)
return best[1] and redis.call('HGET', prefix .. 'urls', best[1]:sub(8))
