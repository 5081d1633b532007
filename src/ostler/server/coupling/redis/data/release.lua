-- uses: base fence structure events lists index available entry_locks
-- ARGV 5 queue, 6 entry.
local queue, id = ARGV[5], ARGV[6]
local owner, _, locked = string.match(call('HGET', S .. ':k', id) or '', '^(%d+) (%d+) (.*)$')
if owner ~= me or locked ~= queue then return {nr, $NOT_LOCKED, count, used, limit} end
release(S, structure, queue, id)
return {nr, $OK, call('HINCRBY', M, 'count', 1), used, limit}
