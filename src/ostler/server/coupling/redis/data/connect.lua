-- uses: base fence events entries
-- KEYS 3 the structure. ARGV 4 its name, 5 size, 6 level, 7 limit, 8 is 1 if it cannot be made, 9 state of a new one.
local S, structure = KEYS[3], ARGV[4]
local s = call('HMGET', S, 'state', 'level')
local is_new = 0
if not s[1] then
  if ARGV[8] == '1' then return {nr, $BAD_PROGRAM, count} end
  if call('ZCARD', P .. 'ss') >= $STRUCTURES_MAX then return {nr, $LIMIT, count} end
end
local changed = redis.pcall('HINCRBY', M, 'count', 1)
if type(changed) == 'table' then return {nr, $STRUCTURE_FULL, count} end
if not s[1] then
  local incarnation = sub(call('HGET', F, 'id'), 1, 8) .. struct.pack('>I8', call('HINCRBY', F, 'inc', 1))
  call('ZADD', P .. 'ss', 0, structure)
  call('HSET', S, 'state', ARGV[9], 'inc', incarnation, 'size', ARGV[5], 'level', ARGV[6], 'limit', ARGV[7],
    'used', 0, 'told', 0, 'seq', 0, 'off', 0, 'idw', 0, 'smember', 0, 'lk', 0)
  is_new = 1
elseif tonumber(ARGV[6]) > tonumber(s[2]) then
  call('HSET', S, 'level', ARGV[6])
end
call('HSET', S, 'c' .. me, 1)
call('SADD', S .. ':m', me)
call('HDEL', S, 'ft' .. me)
tell_freed(S, structure, me)
local told = call('HMGET', S, 'inc', 'state', 'level', 'size', 'used', 'limit')
return {nr, $OK, changed, tonumber(told[5]), tonumber(told[6]), told[1], is_new, tonumber(told[2]), tonumber(told[3]),
  tonumber(told[4])}
