-- uses: base fence structure usable events space headers lists index make_index entries units own_unit watching
-- ARGV 5 queue, 6 mode, 7 match, 8 identifier, 9 key, 10 unit, 11 time, 12 most bytes of the body, 13 is 1 if it may be
-- cut, 14 is 1 to watch, 15 is 1 if the unit may begin, 16 handle, 17 is 1 to lock, 18... further entries to take.
local queue, match, wanted, now, most = ARGV[5], ARGV[7], ARGV[8], tonumber(ARGV[11]), tonumber(ARGV[12])
local H, C, E = S .. ':q:' .. queue, S .. ':c:' .. queue, S .. ':e'
local unit_id, unit = ARGV[10], nil
if unit_id ~= '' then
  unit = read_unit(me, unit_id)
  local refusal = unit_refusal(unit, ARGV[15])
  local others = #ARGV - 17
  if refusal == $OK and others > 0 and (unit and unit.puts + unit.gets or 0) + others >= $UNIT_OPERATIONS_MAX then
    refusal = $UNIT_FULL
  end
  if refusal ~= $OK then return {nr, refusal, count, used, limit} end
end
local h = call('HMGET', H, 'idx', 'due')
local flags, member, record = 0, nil, nil

-- Another handle has locked the entry.
local function is_locked(id)
  if s[5] == '0' then return false end
  local lock = call('HGET', S .. ':k', id)
  local mine = me .. ' ' .. ARGV[16] .. ' '
  return lock and sub(lock, 1, #mine) ~= mine
end

local function fits(found)
  local id = sub(found, -16)
  record = call('HGET', E, id)
  if match == '$MSG_AND_CORREL_ID' and sub(record, 131, 154) ~= sub(wanted, 25) then return false end
  if is_locked(id) then return false end
  if now ~= 0 then
    local expiry = struct.unpack('>I8', record, 13)
    if expiry ~= 0 and expiry <= now then
      flags = 8
      return false
    end
  end
  member = sub(found, -24)
  return true
end

-- Looks through a range in slices, which grow: mostly the first entry is the one. Says where to go on after many.
local through = nil
local function find(set, first, last)
  local slice, visited, seen = 1, 0, nil
  while true do
    local found = call('ZRANGEBYLEX', set, first, last, 'LIMIT', 0, slice)
    for _, each in ipairs(found) do
      if visited >= $VISITED_MAX then
        through = seen
        return
      end
      if fits(each) then return end
      visited, seen = visited + 1, sub(each, -24, -17)
    end
    if #found < slice then return end
    first = '(' .. found[#found]
    slice = 64
  end
end

if not h[1] then
  -- No such queue.
elseif match == '$FIRST' then
  find(C, '-', '+')
elseif match == '$FIRST_AFTER_KEY' then
  find(C, ARGV[9] == '' and '-' or '(' .. ARGV[9] .. string.rep('\255', 16), '+')
elseif match == '$AT_KEY' then
  find(C, '[' .. ARGV[9], '[' .. ARGV[9] .. string.rep('\255', 16))
elseif match == '$ENTRY_ID' then
  local found = call('HGET', E, wanted)
  if found and call('ZSCORE', C, sub(found, 1, 8) .. wanted) then fits(sub(found, 1, 8) .. wanted) end
else
  local kind = '1'
  if match == '$CORREL_ID' then kind = '2' elseif match == '$GROUP_ID' then kind = '4' end
  make_index(S, queue, tonumber(kind))
  h[1] = call('HGET', H, 'idx')
  local prefix = kind .. sub(wanted, 1, 24)
  local first = ARGV[9] == '' and '[' .. prefix or '(' .. prefix .. ARGV[9] .. string.rep('\255', 16)
  find(S .. ':i:' .. queue, first, '[' .. prefix .. string.rep('\255', 24))
end

-- Further entries: all of them can be had, or nothing is.
local others = {}
if member and #ARGV > 17 then
  local first, first_record = member, record
  for i = 18, #ARGV do
    local found = call('HGET', E, ARGV[i])
    member = nil
    if found and call('ZSCORE', C, sub(found, 1, 8) .. ARGV[i]) then fits(sub(found, 1, 8) .. ARGV[i]) end
    if not member then break end
    others[#others + 1] = {member, record}
  end
  if member then member, record = first, first_record end
end

local function claim(claimed, body)
  local id = sub(claimed, 9)
  call('ZREM', C, claimed)
  if h[1] ~= '0' then index_remove(S, queue, tonumber(h[1]), body, id) end
  if s[5] ~= '0' and call('HDEL', S .. ':k', id) == 1 then call('HINCRBY', S, 'lk', -1) end
  call('ZADD', S .. ':g:' .. queue, 0, claimed .. unit_id)
  unit = join_unit(unit_id, unit, $GOT, body, id, structure, queue)
end

if not member then
  local depth = h[1] and call('ZCARD', C) + call('ZCARD', S .. ':u:' .. queue) or 0
  if through then return {nr, $NO_MESSAGE, count, used, limit, depth, flags, false, through} end
  if ARGV[14] == '1' and watch(queue, match, wanted) then flags = flags + 4 end
  return {nr, $NO_MESSAGE, count, used, limit, depth, flags, false}
end
local id = sub(member, 9)
local properties, reference = struct.unpack('>I4I2', record, 37)
local head = 422 + properties + reference
local status = $OK
if struct.unpack('>I8', record, 25) > most and ARGV[13] ~= '1' then
  status = $TOO_LONG
elseif ARGV[6] ~= '$BROWSE' then
  local is_claimed = ARGV[6] == '$CLAIM'
  if ARGV[6] == '$CLAIM_IF_NEEDED' then is_claimed = string.byte(record, 10) % 2 == 1 or reference > 0 end
  if is_claimed then
    claim(member, record)
    for _, other in ipairs(others) do claim(other[1], other[2]) end
    flags = flags + 2
  else
    call('ZREM', C, member)
    if h[1] ~= '0' then index_remove(S, queue, tonumber(h[1]), record, id) end
    if s[5] ~= '0' and call('HDEL', S .. ':k', id) == 1 then call('HINCRBY', S, 'lk', -1) end
    drop_entry(S, structure, id, record)
    used = used - space_of(record)
    call('HSET', S, 'used', used)
    space_changed(S, structure, used, limit, tonumber(call('HGET', S, 'told')))
  end
  if h[2] ~= '0' and call('EXISTS', C) == 0 then call('HSET', H, 'due', 0) end
  count = call('HINCRBY', M, 'count', 1)
elseif ARGV[17] == '1' then
  local changed = redis.pcall('HINCRBY', M, 'count', 1)
  if type(changed) == 'table' then return {nr, $LIMIT, count, used, limit} end
  count = changed
  if call('HSET', S .. ':k', id, me .. ' ' .. ARGV[16] .. ' ' .. queue) == 1 then call('HINCRBY', S, 'lk', 1) end
end
if #record - head > most then record = sub(record, 1, head + most) end
return {nr, status, count, used, limit, call('ZCARD', C) + call('ZCARD', S .. ':u:' .. queue), flags, record}
