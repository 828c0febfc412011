-- After lost answers: leases and slots that the worker does not know are released.
-- ARGV: worker, digests and slots that it knows. Returns the heads of its slots.
local known, found = {}, {}
for i = 2, #ARGV do known[ARGV[i]] = true end
for _, key in ipairs(redis.call('SMEMBERS', prefix .. 'flight:' .. worker)) do
  if not known[key] then reclaim(key, worker, false) end
end
for _, slot in ipairs(redis.call('SMEMBERS', prefix .. 'owned:' .. worker)) do
  if known[slot] then found[#found + 1] = head(slot) else disown(slot, worker) end
end
return found
