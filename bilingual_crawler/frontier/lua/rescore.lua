-- New priorities for queued URLs, up or down. ARGV: worker, packed (digest, priority) pairs. Returns changed heads.
local slots = {}
for _, item in ipairs(cmsgpack.unpack(ARGV[2])) do
  local key, record = item[1], load(item[1])
  if record and record[STATE] == QUEUED and not fixed(record) and record[PRIORITY] ~= item[2] then
    record[PRIORITY] = item[2]
    enqueue(key, record)
    slots[record[SLOT]] = true
  end
end
return heads(slots)
