-- uses: base fence events lists index available entry_locks units contents members
if call('HGET', M, 'fl') ~= '0' then return {nr, $UNITS_LEFT, count} end
settle(me)
return {nr, $OK, call('HINCRBY', M, 'count', 1)}
