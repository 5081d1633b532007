-- uses: base fence structure events space headers entries index units
-- ARGV 5 queue, 6 unit, 7 is 1 for entries that were got, 8 is 1 if something is wrong; then for each entry: identifier,
-- record without key, key or empty, priority as the first byte of a key, space.
local queue, unit_id, E = ARGV[5], ARGV[6], S .. ':e'
local function refuse(status) return {nr, status, count, used, limit} end
local st = call('HMGET', S, 'smember', 'seq', 'told')
if s[1] ~= '$STRUCTURE_INRECOVER' or st[1] ~= me then return refuse($WRONG_STATE) end
if ARGV[8] == '1' then return refuse($BAD_PROGRAM) end
local owner, unit = '', nil
local entries = (#ARGV - 8) / 5
if unit_id ~= '' then
  owner = owner_of(unit_id)
  unit = read_unit(owner, unit_id)
  if not unit then
    if call('ZCARD', P .. 'us') >= $UNITS_MAX then return refuse($LIMIT) end
  elseif unit.state ~= $UNIT_INFLIGHT or unit.fence ~= '0' then
    return refuse($UNIT_DECIDED)
  elseif unit.puts + unit.gets + entries > $UNIT_OPERATIONS_MAX then
    return refuse($UNIT_FULL)
  end
end
if not can_have(S, queue) then return refuse($LIMIT) end

local function is_free(key)
  local last = '[' .. key .. string.rep('\255', 32)
  for _, set in ipairs({':c:', ':u:', ':g:'}) do
    if call('ZLEXCOUNT', S .. set .. queue, '[' .. key, last) > 0 then return false end
  end
  return true
end

local space, keys, ids, fresh = 0, {}, {}, {}
for i = 9, #ARGV, 5 do
  local id, key = ARGV[i], ARGV[i + 2]
  if ids[id] then return refuse($BAD_PROGRAM) end
  ids[id] = true
  if call('HEXISTS', E, id) == 0 then
    space = space + ARGV[i + 4]
    if key ~= '' then
      if keys[key] or not is_free(key) then return refuse($BAD_PROGRAM) end
      keys[key] = true
    end
    fresh[#fresh + 1] = i
  end
end
if used + space > limit then return refuse($STRUCTURE_FULL) end
local changed = redis.pcall('HINCRBY', M, 'count', 1)
if type(changed) == 'table' then return refuse($STRUCTURE_FULL) end

make_header(S, queue)
local place, set = $COMMITTED, S .. ':c:' .. queue
if unit_id ~= '' then
  place, set = $UNCOMMITTED, S .. ':u:' .. queue
  if ARGV[7] == '1' then place, set = $GOT, S .. ':g:' .. queue end
  know_owner(owner, unit_id)
  if not unit then
    unit = {state = $UNIT_INFLIGHT, fence = '0', puts = 0, gets = 0, xid = ''}
    add_unit(owner, unit_id)
  end
end
local sequence, idx = tonumber(st[2]), tonumber(call('HGET', S .. ':q:' .. queue, 'idx'))
for _, i in ipairs(fresh) do
  local id, key = ARGV[i], ARGV[i + 2]
  if key == '' then
    sequence = sequence + 1
    key = ARGV[i + 3] .. struct.pack('>I7', sequence)
  else
    sequence = math.max(sequence, (struct.unpack('>I7', key, 2)))
  end
  local record = key .. ARGV[i + 1]
  call('HSET', E, id, record)
  if struct.unpack('>I2', record, 41) > 0 then call('HINCRBY', S, 'off', 1) end
  call('ZADD', set, 0, key .. id .. unit_id)
  if place == $COMMITTED then
    index_add(S, queue, idx, record, id)
  else
    if place == $GOT then unit.gets = unit.gets + 1 else unit.puts = unit.puts + 1 end
    add_operation(unit_id, place, record, id, structure, queue)
  end
end
if unit then write_unit(owner, unit_id, unit) end
used = used + space
call('HSET', S, 'used', used, 'seq', sequence)
space_changed(S, structure, used, limit, tonumber(st[3]))
return {nr, $OK, changed, used, limit}
