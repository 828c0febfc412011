-- Shared by all scripts. KEYS[1] is the prefix of the crawl's keys. KEYS[2] is the prefix and the life of the crawl that
-- the worker has joined, the prefix alone before; it is no argument, since scripts number theirs, and begins with the
-- prefix, since a user of Redis may be allowed no other keys.
--   life      string  drawn when the crawl began: without it, or with another one, Redis was emptied meanwhile
--   urls      hash   digest of a URL -> record: the fields of its Entry, or one byte with its final state
--   queue:S   zset   the queued URLs of politeness slot S; the member begins with the discovery order, counted down
--   open      set    slots with a URL that may be handed out
--   owner     hash   slot -> worker; owned:W the slots of worker W; unowned the open slots without a worker
--   flight:W  set    digests of the URLs leased to W
--   news:W    set    slots of W that others have changed
--   workers   zset   worker -> time of its last heartbeat, in ms of the server's clock; idle, active hashes of them
--   counts, done     URLs by state; done ones by slot. facts:S the facts of slot S
--   named     hash   the job, and numbers by name; added: worker -> mark of the last call that added to them
local prefix, worker = KEYS[1], ARGV[1]
if KEYS[2] ~= prefix and prefix .. (redis.call('GET', prefix .. 'life') or '') ~= KEYS[2] then
  return redis.error_reply('LOST the crawl')
end
local QUEUED, IN_FLIGHT, DONE, REDIRECTED = 0, 1, 2, 3
local SLOT, PRIORITY, PARENT, DEPTH, ORDER, ATTEMPTS, STATE = 2, 3, 4, 5, 7, 8, 11
local SUSPECT, POISON = -1e300, 1e300
local NEVER, LAST = '-inf', 2 ^ 53

local function load(key)
  local value = redis.call('HGET', prefix .. 'urls', key)
  if not value then return nil end
  if #value == 1 then return { [STATE] = value:byte() } end
  return cmsgpack.unpack(value)
end

local function save(key, record)
  redis.call('HSET', prefix .. 'urls', key, cmsgpack.pack(record))
end

-- Whether only a death changes the priority of a record.
local function fixed(record)
  return record[PRIORITY] == SUSPECT or record[PRIORITY] == POISON
end

local function count(state, by)
  redis.call('HINCRBY', prefix .. 'counts', state, by)
end

local function member(key, record)
  return struct.pack('>I7', LAST - record[ORDER]) .. key
end

local function unqueue(key, record)
  redis.call('ZREM', prefix .. 'queue:' .. record[SLOT], member(key, record))
end

local function enqueue(key, record)
  record[STATE] = QUEUED
  save(key, record)
  redis.call('ZADD', prefix .. 'queue:' .. record[SLOT], record[PRIORITY], member(key, record))
end

local function head(slot)
  local best = redis.call('ZREVRANGE', prefix .. 'queue:' .. slot, 0, 0, 'WITHSCORES')
  if #best == 0 then return { slot } end
  return { slot, best[2], LAST - struct.unpack('>I7', best[1]) }
end

-- Updates the set of open slots, tells the owner if it is another worker, and returns the head.
local function changed(slot)
  local best = head(slot)
  local owner = redis.call('HGET', prefix .. 'owner', slot)
  if best[2] and best[2] ~= NEVER then
    redis.call('SADD', prefix .. 'open', slot)
    if not owner then redis.call('SADD', prefix .. 'unowned', slot) end
  else
    redis.call('SREM', prefix .. 'open', slot)
    redis.call('SREM', prefix .. 'unowned', slot)
  end
  if owner and owner ~= worker then redis.call('SADD', prefix .. 'news:' .. owner, slot) end
  return best
end

local function heads(slots)
  local found = {}
  for slot in pairs(slots) do found[#found + 1] = changed(slot) end
  return found
end

local function own(slot, name)
  redis.call('HSET', prefix .. 'owner', slot, name)
  redis.call('SADD', prefix .. 'owned:' .. name, slot)
end

local function disown(slot, name)
  redis.call('HDEL', prefix .. 'owner', slot)
  redis.call('SREM', prefix .. 'owned:' .. name, slot)
  if redis.call('SISMEMBER', prefix .. 'open', slot) == 1 then redis.call('SADD', prefix .. 'unowned', slot) end
end

-- Queues the leases of a worker again, with another priority if the worker died.
local function reclaim(key, name, died)
  redis.call('SREM', prefix .. 'flight:' .. name, key)
  local record = load(key)
  if died then record[PRIORITY] = fixed(record) and POISON or SUSPECT end
  enqueue(key, record)
  count(IN_FLIGHT, -1)
  count(QUEUED, 1)
  changed(record[SLOT])
end

-- A worker has left, or *died*: its leases are queued again, and its slots are free.
local function leave(name, died)
  for _, key in ipairs(redis.call('SMEMBERS', prefix .. 'flight:' .. name)) do reclaim(key, name, died) end
  for _, slot in ipairs(redis.call('SMEMBERS', prefix .. 'owned:' .. name)) do disown(slot, name) end
  redis.call('DEL', prefix .. 'news:' .. name)
  redis.call('ZREM', prefix .. 'workers', name)
  redis.call('HDEL', prefix .. 'idle', name)
  redis.call('HDEL', prefix .. 'active', name)
end
