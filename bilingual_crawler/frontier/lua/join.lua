-- A worker starts, perhaps again: if it has leases, it died. ARGV: worker, format, a name for the life of the crawl.
-- Returns the format and the life stored.
redis.call('SETNX', prefix .. 'format', ARGV[2])
redis.call('SETNX', prefix .. 'life', ARGV[3])
local stored = redis.call('GET', prefix .. 'format')
if stored == ARGV[2] then leave(worker, true) end
return { stored, redis.call('GET', prefix .. 'life') }
