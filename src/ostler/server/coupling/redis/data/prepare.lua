-- uses: base fence units recovers
-- ARGV 4 unit, 5 xid.
local id, owner = ARGV[4], owner_of(ARGV[4])
local unit = read_unit(owner, id)
if not unit then return {nr, $UNKNOWN_UNIT, count} end
if owner ~= me and not (unit.fence == '0' and recovers()) then return {nr, $WRONG_STATE, count} end
if unit.state == $UNIT_INDOUBT and unit.xid == ARGV[5] then return {nr, $OK, count} end
if unit.state ~= $UNIT_INFLIGHT then return {nr, $UNIT_DECIDED, count} end
local changed = redis.pcall('HINCRBY', M, 'count', 1)
if type(changed) == 'table' then return {nr, $LIMIT, count} end
count_unit(owner, unit.state, -1)
unit.state, unit.xid = $UNIT_INDOUBT, ARGV[5]
write_unit(owner, id, unit)
count_unit(owner, unit.state, 1)
return {nr, $OK, changed}
