-- A heartbeat, and the sharing of slots. ARGV: worker, milliseconds after which a silent worker is dead,
-- 1 if this one has nothing to do, how many of its slots have something to fetch, how many leases and slots it knows of.
-- Returns whether it counted as dead itself, whether its leases or slots differ from those here, the slots it
-- gets with their done URLs, the slots that others changed, how many it should give away, and whether the crawl is over.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local active = tonumber(ARGV[4])
local last = redis.call('ZSCORE', prefix .. 'workers', worker)
local lost = not last
redis.call('ZADD', prefix .. 'workers', now, worker)
redis.call('HSET', prefix .. 'idle', worker, ARGV[3])
redis.call('HSET', prefix .. 'active', worker, active)
for _, name in ipairs(redis.call('ZRANGEBYSCORE', prefix .. 'workers', '-inf', now - ARGV[2])) do
  if last and last + ARGV[2] < now then
    -- this worker has no heartbeat either: Redis was away, or its clock has jumped, so no worker counts as dead
    redis.call('ZADD', prefix .. 'workers', now, name)
  elseif name ~= worker then
    leave(name, true)
  end
end

local workers = redis.call('ZRANGE', prefix .. 'workers', 0, -1)
local free = redis.call('SCARD', prefix .. 'unowned')
local total, poorest = free, active
for _, name in ipairs(workers) do
  local theirs = tonumber(redis.call('HGET', prefix .. 'active', name) or 0)
  total, poorest = total + theirs, math.min(poorest, theirs)
end
local fair = math.ceil(total / #workers)

local astray = redis.call('SCARD', prefix .. 'flight:' .. worker) ~= tonumber(ARGV[5])
  or redis.call('SCARD', prefix .. 'owned:' .. worker) ~= tonumber(ARGV[6])

local gained = {}
if free > 0 and active < fair then
  for _, slot in ipairs(redis.call('SPOP', prefix .. 'unowned', fair - active)) do
    own(slot, worker)
    gained[#gained + 1] = { head(slot), tonumber(redis.call('HGET', prefix .. 'done', slot) or 0) }
  end
end
local news = {}
for _, slot in ipairs(redis.call('SMEMBERS', prefix .. 'news:' .. worker)) do news[#news + 1] = head(slot) end
redis.call('DEL', prefix .. 'news:' .. worker)
redis.call('HINCRBY', prefix .. 'active', worker, #gained)
if #gained > 0 or #news > 0 then redis.call('HSET', prefix .. 'idle', worker, 0) end

local over = redis.call('SCARD', prefix .. 'unowned') == 0
for _, name in ipairs(workers) do
  over = over and redis.call('HGET', prefix .. 'idle', name) == '1'
    and redis.call('EXISTS', prefix .. 'news:' .. name, prefix .. 'flight:' .. name) == 0
end
local surplus = free == 0 and poorest < fair and math.max(0, active - fair) or 0
return { lost and 1 or 0, astray and 1 or 0, gained, news, surplus, over and 1 or 0 }
