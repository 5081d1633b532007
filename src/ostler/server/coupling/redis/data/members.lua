-- uses: base display
local out = {}
for i, member in ipairs(call('SMEMBERS', P .. 'mm')) do
  local m = call('HMGET', P .. 'm:' .. member, 'start', 'name', 'state', 'fence', 'count', 'logged', 'fl', 'db', 'recoverer')
  out[i] = {tonumber(member), tonumber(m[1]), m[2], tonumber(m[3]), tonumber(m[4]), tonumber(m[5]), tonumber(m[6]),
    tonumber(m[7]), tonumber(m[8]), tonumber(m[9])}
end
return {nr, $OK, count, 0, 0, out}
