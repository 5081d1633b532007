-- uses: base fence events space headers lists index available entries units own_unit
-- KEYS 3 the structure. ARGV 4 its name, 5 queue, 6 entry, 7 its record without the key, 8 space, 9 unit, 10 most depth,
-- 11 logged, 12 what is wrong, 13 priority as the first byte of the key, 14 is 1 if the unit may begin, 15 the number of
-- the put outside units that was sent before, -1 if any may have been.
local S, structure, queue, id, unit_id = KEYS[3], ARGV[4], ARGV[5], ARGV[6], ARGV[9]
local logged, wrong = tonumber(ARGV[11]), ARGV[12]
local used, limit, seen = 0, 0, 0
if logged ~= 0 then seen = tonumber(call('HGET', M, 'logged')) end

-- A refused put with a log record is noted, or a later one would make its record look done.
local function refuse(status)
  if logged > seen then
    if call('LLEN', P .. 'r:' .. me) >= $REFUSED_MAX then return {nr, $LIMIT, count, used, limit} end
    local changed = redis.pcall('HINCRBY', M, 'count', 1)
    if type(changed) == 'table' then return {nr, $LIMIT, count, used, limit} end
    call('RPUSH', P .. 'r:' .. me, ARGV[11])
    call('HSET', M, 'logged', ARGV[11])
    count = changed
  end
  return {nr, status, count, used, limit}
end

local s = call('HMGET', S, 'state', 'used', 'limit', 'c' .. me, 'seq', 'told')
if not s[1] then return refuse($UNKNOWN_STRUCTURE) end
if not s[4] then return refuse($NOT_CONNECTED) end
if wrong == '1' then return refuse($BAD_PROGRAM) end
used, limit = tonumber(s[2]), tonumber(s[3])
if wrong == '2' then return {nr, $BAD_PROGRAM, count, used, limit} end
if logged ~= 0 and logged <= seen then return {nr, $ALREADY_DONE, count, used, limit} end
if logged ~= 0 and ARGV[15] ~= '-1' and tonumber(ARGV[15]) > seen then
  -- It failed, as without its script. To run this one would make that one look done.
  return redis.error_reply('OSTLER put ' .. ARGV[15] .. ' of the member was not run')
end
if wrong == '3' then return refuse($BAD_PROGRAM) end
if logged ~= 0 and call('LLEN', P .. 'r:' .. me) >= $REFUSED_MAX then return refuse($LIMIT) end
if s[1] == '$STRUCTURE_STATE_FAILED' then return refuse($STRUCTURE_FAILED) end
if s[1] == '$STRUCTURE_INRECOVER' then return refuse($STRUCTURE_IN_USE) end
if call('HEXISTS', S .. ':e', id) == 1 then return refuse($DUPLICATE_ID) end
local unit
if unit_id ~= '' then
  unit = read_unit(me, unit_id)
  local refusal = unit_refusal(unit, ARGV[14])
  if refusal ~= $OK then return refuse(refusal) end
end
local H, C, U = S .. ':q:' .. queue, S .. ':c:' .. queue, S .. ':u:' .. queue
local h = call('HMGET', H, 'inp', 'idx', 'idn', 'w', 'trig')
if not h[1] then
  if not can_have(S, queue) then return refuse($LIMIT) end
elseif ARGV[10] ~= '0' and call('ZCARD', C) + call('ZCARD', U) >= tonumber(ARGV[10]) then
  return refuse($Q_FULL)
end
if used + ARGV[8] > limit then return refuse($STRUCTURE_FULL) end

local changed = redis.pcall('HINCRBY', M, 'count', 1)
if type(changed) == 'table' then return refuse($STRUCTURE_FULL) end
local sequence = s[5] + 1
local key = ARGV[13] .. struct.pack('>I7', sequence)
local record = key .. ARGV[7]
used = used + ARGV[8]
call('HSET', S, 'used', used, 'seq', sequence)
if logged ~= 0 then call('HSET', M, 'logged', ARGV[11]) end
if not h[1] then
  make_header(S, queue)
  h = {'0', '0', '0', '', ''}
end
call('HSET', S .. ':e', id, record)
if struct.unpack('>I2', record, 41) > 0 then call('HINCRBY', S, 'off', 1) end
if unit_id ~= '' then
  call('ZADD', U, 0, key .. id .. unit_id)
  join_unit(unit_id, unit, $UNCOMMITTED, record, id, structure, queue)
else
  call('ZADD', C, 0, key .. id)
  if h[2] ~= '0' then index_add(S, queue, tonumber(h[2]), record, id) end
  if h[3] ~= '0' or h[4] ~= '' or h[5] ~= '' then
    tell_watchers(S, structure, queue, record, h[3], h[4], h[5])
  end
end
space_changed(S, structure, used, limit, tonumber(s[6]))
return {nr, $OK, changed, used, limit, key, call('ZCARD', C) + call('ZCARD', U), tonumber(h[1])}
