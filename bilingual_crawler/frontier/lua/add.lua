-- Adds to named numbers, once for each call, however often it is sent. ARGV: worker, mark of the call, then name and
-- summand of each. Returns the sums.
local again = redis.call('HGET', prefix .. 'added', worker) == ARGV[2]
redis.call('HSET', prefix .. 'added', worker, ARGV[2])
local sums = {}
for i = 3, #ARGV, 2 do
  sums[#sums + 1] = redis.call('HINCRBY', prefix .. 'named', ARGV[i], again and 0 or ARGV[i + 1])
end
return sums
