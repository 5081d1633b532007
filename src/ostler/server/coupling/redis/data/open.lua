-- uses: base fence structure usable headers index make_index described
-- ARGV 5 queue, 6 options, 7 indexes.
local queue, options, indexes = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local H = S .. ':q:' .. queue
local input, exclusive, output = bit.band(options, 1), bit.band(options, 2) / 2, bit.band(options, 4) / 4
if not can_have(S, queue) then return {nr, $LIMIT, count, used, limit} end
local h = call('HMGET', H, 'exc', 'inp')
if h[1] then
  if input + exclusive > 0 and h[1] ~= '0' then return {nr, $IN_USE, count, used, limit} end
  if exclusive > 0 and h[2] ~= '0' then return {nr, $IN_USE, count, used, limit} end
end
local changed = count
if options ~= 0 then
  changed = redis.pcall('HINCRBY', M, 'count', 1)
  if type(changed) == 'table' then return {nr, $STRUCTURE_FULL, count, used, limit} end
end
make_header(S, queue)
for _, kind in ipairs({1, 2, 4}) do
  if bit.band(indexes, kind) ~= 0 then make_index(S, queue, kind) end
end
if options ~= 0 then
  local a, b, c = string.match(call('HGET', H, 'o' .. me) or '0 0 0', '^(%d+) (%d+) (%d+)$')
  call('HSET', H, 'o' .. me, string.format('%d %d %d', a + input, b + exclusive, c + output))
  call('HINCRBY', H, 'inp', input + exclusive)
  call('HINCRBY', H, 'exc', exclusive)
  call('HINCRBY', H, 'outp', output)
  call('SADD', S .. ':n:' .. me, 'o' .. queue)
end
return described(changed, used, limit)
