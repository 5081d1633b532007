-- The unit of an operation, which the member has or begins. `may_begin` 1: its identifier is of this start.
local function unit_refusal(unit, may_begin)
  if not unit then
    if may_begin ~= '1' then return $BAD_PROGRAM end
    return call('ZCARD', P .. 'us') >= $UNITS_MAX and $LIMIT or $OK
  end
  if unit.state ~= $UNIT_INFLIGHT or unit.fence ~= ARGV[3] then return $UNIT_DECIDED end
  return unit.puts + unit.gets >= $UNIT_OPERATIONS_MAX and $UNIT_FULL or $OK
end

local function join_unit(id, unit, place, record, entry, structure, queue)
  if not unit then
    unit = {state = $UNIT_INFLIGHT, fence = ARGV[3], puts = 0, gets = 0, xid = ''}
    add_unit(me, id)
  end
  if place == $GOT then unit.gets = unit.gets + 1 else unit.puts = unit.puts + 1 end
  write_unit(me, id, unit)
  add_operation(id, place, record, entry, structure, queue)
  return unit
end
