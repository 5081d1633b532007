-- uses: base events lists index available entry_locks units contents members alive lose
-- ARGV 4 start, 5 name, 6 identity of a facility that is made now, 7 first fence, 8 fence of the last link, 9 identity and
-- 10 count that the member knows of that link, 11 run of the server, 12 is 1 if it forces before it answers.
local now = server_ms()
local f = call('HMGET', F, 'id', 'ver', 'run')
if f[1] and f[2] ~= '$FORMAT' then return redis.error_reply('OSTLER the facility has format ' .. f[2]) end
if not f[1] then
  if call('EXISTS', P .. 'mm') == 1 then return redis.error_reply('OSTLER keys of a facility without the facility') end
  call('HSET', F, 'id', ARGV[6], 'ver', '$FORMAT', 'run', ARGV[11], 'fence', ARGV[7] - 1, 'inc', 0, 'wakes', 0, 'gen', 0)
  f[1], f[3] = ARGV[6], ARGV[11]
end

-- After a restart the server may lack its last second: members that were active must confirm their counts first.
if f[3] ~= ARGV[11] then
  call('HSET', F, 'run', ARGV[11], 'asked', now)
  if ARGV[12] ~= '1' then
    for _, member in ipairs(call('HKEYS', P .. 'a')) do call('SADD', P .. 'x', member) end
  end
end
local knows = ARGV[9] == f[1]
local m = call('HMGET', M, 'state', 'name', 'start', 'fence', 'count')
local is_lost = knows and tonumber(ARGV[10]) > tonumber(m[5] or '0')
if not is_lost and call('SISMEMBER', P .. 'x', me) == 1 then
  if knows then call('SREM', P .. 'x', me) else is_lost = true end
end
if not is_lost and call('EXISTS', P .. 'x') == 1 then
  if now - call('HGET', F, 'asked') < $CONFIRM_MS then return {nr, $IN_RECOVERY} end
  is_lost = true
end
if is_lost then
  lose(ARGV[6])
  f[1] = ARGV[6]
  m = call('HMGET', M, 'state', 'name', 'start', 'fence', 'count')
end

if m[1] == '$MEMBER_ACTIVE_STATE' then
  if m[4] ~= ARGV[8] and not is_silent(me, now) then return {nr, $MEMBER_ACTIVE} end
  fail(me)
end
if m[1] == '$MEMBER_RECOVERING' then return {nr, $IN_RECOVERY} end
if m[1] and ((m[2] ~= '' and m[2] ~= ARGV[5]) or tonumber(ARGV[4]) < tonumber(m[3])) then return {nr, $STALE_START} end
local present, known = 0, 0
for _, member in ipairs(call('SMEMBERS', P .. 'mm')) do
  known = known + 1
  if member ~= me and call('HGET', P .. 'm:' .. member, 'state') ~= '$MEMBER_LEFT' then present = present + 1 end
end
if present >= $MEMBERS_MAX or (not m[1] and known >= $MEMBERS_KNOWN_MAX) then return {nr, $LIMIT} end

if not m[1] then
  call('SADD', P .. 'mm', me)
  call('HSET', M, 'count', 0, 'logged', 0, 'fl', 0, 'db', 0)
end
free_opens(me)
local fence = string.format('%.0f', call('HINCRBY', F, 'fence', 1))
call('HSET', M, 'name', ARGV[5], 'start', ARGV[4], 'state', $MEMBER_ACTIVE_STATE, 'fence', fence, 'recoverer', 0,
  'beat', now)
local count = call('HINCRBY', M, 'count', 1)
call('HSET', P .. 'a', me, fence)
member_changed(me)
local told = call('HMGET', M, 'logged', 'fl')
return {nr, $OK, count, 0, 0, tonumber(fence), f[1], tonumber(told[1]), call('HLEN', P .. 'u:' .. me), tonumber(told[2]),
  call('LRANGE', P .. 'r:' .. me, 0, -1)}
