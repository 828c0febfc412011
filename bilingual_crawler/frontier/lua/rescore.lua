-- New priorities for queued URLs, up or down. ARGV: worker, then digest and priority of each. Returns changed heads.
local slots = {}
for i = 2, #ARGV, 2 do
  local key, priority = ARGV[i], tonumber(ARGV[i + 1])
  local record = load(key)
  if record and record[STATE] == QUEUED and not fixed(record) and record[PRIORITY] ~= priority then
    record[PRIORITY] = priority
    enqueue(key, record)
    slots[record[SLOT]] = true
  end
end
return heads(slots)
