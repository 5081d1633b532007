-- uses: base display units
-- ARGV 4 member or 0, 5 unit to begin behind, 6 most.
local member, after, most = tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6])
local first, last = '-', '+'
if after ~= '' then first = '(' .. after end
if member ~= 0 then
  local low, high = struct.pack('>I4', member), struct.pack('>I4', member + 1)
  if after < low then first = '[' .. low end
  last = '(' .. high
end
local ids = call('ZRANGEBYLEX', P .. 'us', first, last, 'LIMIT', 0, most + 1)
local out = {}
for i = 1, math.min(#ids, most) do
  local unit = read_unit(owner_of(ids[i]), ids[i])
  out[i] = {ids[i], unit.state, unit.xid, unit.puts, unit.gets}
end
return {nr, $OK, count, 0, 0, #ids <= most and 1 or 0, out}
