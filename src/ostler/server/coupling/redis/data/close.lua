-- uses: base fence structure described
-- ARGV 5 queue, 6 options.
local queue, options = ARGV[5], tonumber(ARGV[6])
if options == 0 then return described(count, used, limit) end
local H = S .. ':q:' .. queue
local input, exclusive, output = bit.band(options, 1), bit.band(options, 2) / 2, bit.band(options, 4) / 4
local opens = call('HGET', H, 'o' .. me)
if not opens then return {nr, $WRONG_STATE, count, used, limit} end
local a, b, c = string.match(opens, '^(%d+) (%d+) (%d+)$')
a, b, c = a - input, b - exclusive, c - output
if a < 0 or b < 0 or c < 0 then return {nr, $WRONG_STATE, count, used, limit} end
if a + b + c == 0 then
  call('HDEL', H, 'o' .. me)
  call('SREM', S .. ':n:' .. me, 'o' .. queue)
else
  call('HSET', H, 'o' .. me, string.format('%d %d %d', a, b, c))
end
call('HINCRBY', H, 'inp', 0 - input - exclusive)
call('HINCRBY', H, 'exc', 0 - exclusive)
call('HINCRBY', H, 'outp', 0 - output)
return described(call('HINCRBY', M, 'count', 1), used, limit)
