-- uses: base fence structure events lists index available entry_locks units contents members
drop_interests(S, me, false)
release_all(S, structure, me)
call('HDEL', S, 'c' .. me)
call('SREM', S .. ':m', me)
return {nr, $OK, call('HINCRBY', M, 'count', 1), used, limit}
