-- uses: base fence events lists index available
-- KEYS 3 the structure. ARGV 4 its name, 5 queue, 6 number of the waking. Tells the next one that waits.
local S, structure, queue = KEYS[3], ARGV[4], ARGV[5]
local h = call('HMGET', S .. ':q:' .. queue, 'due', 'untold', 'w')
if h[1] ~= ARGV[6] then return {nr, $OK, count} end
call('HSET', S .. ':q:' .. queue, 'due', 0)
if tonumber(h[2]) > 0 and h[3] ~= '' and call('EXISTS', S .. ':c:' .. queue) == 1 then
  wake_next(S, structure, queue, split(h[3]))
end
return {nr, $OK, count}
