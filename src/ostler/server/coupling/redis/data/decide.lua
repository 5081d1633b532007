-- uses: base fence events space lists index available entries units recovers
-- ARGV 4 unit, 5 is 1 to commit, 6 is 1 to keep a tombstone. All is checked before the first write.
local id, owner, commit = ARGV[4], owner_of(ARGV[4]), ARGV[5] == '1'
local unit = read_unit(owner, id)
if not unit then
  -- A recovery of structures leaves the outcome for the owner of a unit that an earlier facility had.
  if ARGV[6] ~= '1' or not recovers() then return {nr, $UNKNOWN_UNIT, count} end
  if owner == '0' then return {nr, $BAD_PROGRAM, count} end
  if call('ZCARD', P .. 'us') >= $UNITS_MAX then return {nr, $LIMIT, count} end
  local changed = redis.pcall('HINCRBY', M, 'count', 1)
  if type(changed) == 'table' then return {nr, $LIMIT, count} end
  know_owner(owner, id)
  local outcome = commit and $UNIT_COMMITTED or $UNIT_BACKED_OUT
  call('ZADD', P .. 'us', 0, id)
  write_unit(owner, id, {state = outcome, fence = '0', puts = 0, gets = 0, xid = ''})
  return {nr, $OK, changed, 0, 0, outcome}
end
if unit.state >= $UNIT_COMMITTED then return {nr, $OK, count, 0, 0, unit.state} end
if owner ~= me then
  local state = call('HGET', P .. 'm:' .. owner, 'state')
  if state == '$MEMBER_ACTIVE_STATE' then return {nr, $MEMBER_ACTIVE, count} end
  if unit.state == $UNIT_INFLIGHT and state ~= '$MEMBER_RECOVERING' then return {nr, $WRONG_STATE, count} end
end
local O, freed = P .. 'o:' .. id, {}

local function gone(S, structure, entry, space, has_reference)
  if has_reference == 1 then
    drop_entry(S, structure, entry, call('HGET', S .. ':e', entry))
  else
    call('HDEL', S .. ':e', entry)
  end
  freed[structure] = freed[structure] + space
end

local function finish(operation)
  local place, space, has_reference = struct.unpack('>I1I8I1', operation)
  local key, entry, length = sub(operation, 11, 18), sub(operation, 19, 34), string.byte(operation, 35)
  local structure, queue = sub(operation, 36, 35 + length), sub(operation, 36 + length)
  local S = P .. 's:' .. structure
  freed[structure] = freed[structure] or 0
  call('ZREM', S .. (place == $GOT and ':g:' or ':u:') .. queue, key .. entry .. id)
  if (place == $GOT) == commit then return gone(S, structure, entry, space, has_reference) end
  local record = nil
  if place == $GOT then
    record = call('HGET', S .. ':e', entry)
    record = sub(record, 1, 32) .. struct.pack('>I4', struct.unpack('>I4', record, 33) + 1) .. sub(record, 37)
    call('HSET', S .. ':e', entry, record)
  end
  call('ZADD', S .. ':c:' .. queue, 0, key .. entry)
  available(S, structure, queue, entry, record)
end

-- In slices: a unit may have ten thousand operations.
local at, last = 0, call('LLEN', O)
while at < last do
  for _, operation in ipairs(call('LRANGE', O, at, at + 499)) do finish(operation) end
  at = at + 500
end
call('UNLINK', O)
local outcome = commit and $UNIT_COMMITTED or $UNIT_BACKED_OUT
count_unit(owner, unit.state, -1)
if owner == me and ARGV[6] ~= '1' then
  drop_unit(owner, id, outcome)
else
  write_unit(owner, id, {state = outcome, fence = unit.fence, puts = 0, gets = 0, xid = ''})
end
for structure, space in pairs(freed) do
  local S = P .. 's:' .. structure
  local s = call('HMGET', S, 'used', 'limit', 'told')
  if space > 0 then call('HSET', S, 'used', s[1] - space) end
  space_changed(S, structure, s[1] - space, tonumber(s[2]), tonumber(s[3]))
end
return {nr, $OK, call('HINCRBY', M, 'count', 1), 0, 0, outcome}
