-- uses: base fence
-- ARGV 4 name, 5 value.
local L, name = P .. 'l', ARGV[4]
local lock = call('HGET', L, name)
local status = $OK
if lock and sub(lock, 1, #me + #ARGV[3] + 2) ~= me .. ' ' .. ARGV[3] .. ' ' then
  status = $LOCKED
else
  if not lock and call('HLEN', L) >= $LOCKS_MAX then return {nr, $LIMIT, count} end
  local changed = redis.pcall('HINCRBY', M, 'count', 1)
  if type(changed) == 'table' then return {nr, $LIMIT, count} end
  count = changed
  lock = me .. ' ' .. ARGV[3] .. ' ' .. ARGV[5]
  call('HSET', L, name, lock)
  call('ZADD', P .. 'lz', 0, name)
end
local owner, fence, value = string.match(lock, '^(%d+) (%d+) (.*)$')
return {nr, status, count, 0, 0, 1, {{name, tonumber(owner), tonumber(fence), value}}}
