-- uses: base display
-- ARGV 4 prefix, 5 name to begin behind.
local prefix, after = ARGV[4], ARGV[5]
local first = '[' .. prefix
if after ~= '' and after >= prefix then first = '(' .. after end
local names = call('ZRANGEBYLEX', P .. 'lz', first, '[' .. prefix .. '\255', 'LIMIT', 0, $LOCKS_LISTED_MAX + 1)
local out = {}
for i = 1, math.min(#names, $LOCKS_LISTED_MAX) do
  local owner, fence, value = string.match(call('HGET', P .. 'l', names[i]), '^(%d+) (%d+) (.*)$')
  out[i] = {names[i], tonumber(owner), tonumber(fence), value}
end
return {nr, $OK, count, 0, 0, #names <= $LOCKS_LISTED_MAX and 1 or 0, out}
