-- uses: base fence events lists index available entry_locks units contents members
-- ARGV 4 member, 5 is 1 to fence an active one first.
local target = ARGV[4]
local T = P .. 'm:' .. target
local t = call('HMGET', T, 'state', 'recoverer')
if not t[1] then return {nr, $UNKNOWN_MEMBER, count} end
if target == me then return {nr, $MEMBER_ACTIVE, count} end
if t[1] == '$MEMBER_ACTIVE_STATE' then
  if ARGV[5] ~= '1' then return {nr, $MEMBER_ACTIVE, count} end
  push(target, $FENCED_OUT)
  fail(target)
  t[1] = '$MEMBER_FAILED'
end
if t[1] == '$MEMBER_LEFT' then return {nr, $WRONG_STATE, count} end
if t[1] == '$MEMBER_RECOVERING' then
  if t[2] ~= me then return {nr, $IN_RECOVERY, count} end
else
  call('HSET', T, 'state', $MEMBER_RECOVERING, 'recoverer', me)
  count = call('HINCRBY', M, 'count', 1)
  member_changed(target)
end
local told = call('HMGET', T, 'fl', 'name', 'start')
return {nr, $OK, count, 0, 0, call('HLEN', P .. 'u:' .. target), tonumber(told[1]), told[2], tonumber(told[3])}
