-- uses: base fence
-- ARGV 4 name.
local lock = call('HGET', P .. 'l', ARGV[4])
if not lock or sub(lock, 1, #me + #ARGV[3] + 2) ~= me .. ' ' .. ARGV[3] .. ' ' then return {nr, $NOT_LOCKED, count} end
call('HDEL', P .. 'l', ARGV[4])
call('ZREM', P .. 'lz', ARGV[4])
return {nr, $OK, call('HINCRBY', M, 'count', 1)}
