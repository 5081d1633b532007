-- uses: base fence events lists index available entry_locks units contents members
-- ARGV 4 member.
local target = ARGV[4]
local t = call('HMGET', P .. 'm:' .. target, 'state', 'recoverer', 'fl')
if not t[1] then return {nr, $UNKNOWN_MEMBER, count} end
if target == me then
  if t[3] ~= '0' then
    for _, id in ipairs(call('HKEYS', P .. 'u:' .. me)) do
      local unit = read_unit(me, id)
      if unit.state == $UNIT_INFLIGHT and unit.fence ~= ARGV[3] then return {nr, $UNITS_LEFT, count} end
    end
  end
  if drop_locks(me, ARGV[3]) > 0 then count = call('HINCRBY', M, 'count', 1) end
  return {nr, $OK, count}
end
if t[1] ~= '$MEMBER_RECOVERING' or t[2] ~= me then return {nr, $WRONG_STATE, count} end
if t[3] ~= '0' then return {nr, $UNITS_LEFT, count} end
settle(target)
return {nr, $OK, call('HINCRBY', M, 'count', 1)}
