-- uses: base fence structure events lists index available entry_locks units contents members
-- ARGV 5 is 1 to delete it with its entries.
if ARGV[5] ~= '1' and call('EXISTS', S .. ':e') == 1 then return {nr, $NOT_EMPTY, count, used, limit} end
if call('SCARD', S .. ':m') > 1 then return {nr, $NOT_EMPTY, count, used, limit} end
drop_contents(S, structure)
drop_interests(S, me, false)
for _, queue in ipairs(call('ZRANGE', S .. ':h', 0, -1)) do call('UNLINK', S .. ':q:' .. queue, S .. ':w:' .. queue) end
for _, member in ipairs(call('SMEMBERS', P .. 'mm')) do call('UNLINK', S .. ':n:' .. member) end
call('UNLINK', S, S .. ':h', S .. ':m')
call('ZREM', P .. 'ss', structure)
return {nr, $OK, call('HINCRBY', M, 'count', 1)}
