-- A worker starts, perhaps again: if it has leases, it died. ARGV: worker, format. Returns the format stored.
redis.call('SETNX', prefix .. 'format', ARGV[2])
local stored = redis.call('GET', prefix .. 'format')
if stored == ARGV[2] then leave(worker, true) end
return stored
