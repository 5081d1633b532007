-- uses: base fence units
-- ARGV 4 refused through, 5... units.
local has_changed = false
for i = 5, #ARGV do
  local unit = read_unit(me, ARGV[i])
  if unit and unit.state >= $UNIT_COMMITTED then
    drop_unit(me, ARGV[i], unit.state)
    has_changed = true
  end
end
local through, R = tonumber(ARGV[4]), P .. 'r:' .. me
if through > 0 then
  while true do
    local number = call('LINDEX', R, 0)
    if not number or tonumber(number) > through then break end
    call('LPOP', R)
    has_changed = true
  end
end
if has_changed then count = call('HINCRBY', M, 'count', 1) end
return {nr, $OK, count}
