-- uses: base fence structure
-- ARGV 5 taken through, 6 most.
local through, most, L = tonumber(ARGV[5]), tonumber(ARGV[6]), S .. ':f:' .. me
local f = call('HMGET', S, 'fd' .. me, 'fl' .. me)
local kept, dropped = call('LLEN', L), tonumber(f[1] or '0')
if kept == 0 and not f[1] then return {nr, $OK, count, used, limit, through, 1, 0, {}} end
local step = math.min(through - dropped, kept)
if step > 0 then
  call('LTRIM', L, step, -1)
  dropped, kept = dropped + step, kept - step
  call('HSET', S, 'fd' .. me, dropped)
  count = call('HINCRBY', M, 'count', 1)
end
local references = call('LRANGE', L, 0, most - 1)
local is_end = #references == kept
call('HSET', S, 'ft' .. me, is_end and 0 or 1)
if f[2] then call('HDEL', S, 'fl' .. me) end
return {nr, $OK, count, used, limit, dropped + #references, is_end and 1 or 0, f[2] and 1 or 0, references}
