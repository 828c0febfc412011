-- A worker begins, perhaps again: what it had leased before is queued. ARGV: worker, format. Returns the format stored.
redis.call('SETNX', prefix .. 'format', ARGV[2])
local stored = redis.call('GET', prefix .. 'format')
if stored == ARGV[2] then leave(worker) end
return stored
