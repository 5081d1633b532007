-- uses: base display
-- ARGV 4 structure; empty: all of them.
local names = call('ZRANGE', P .. 'ss', 0, -1)
if ARGV[4] ~= '' then
  if not call('ZSCORE', P .. 'ss', ARGV[4]) then return {nr, $UNKNOWN_STRUCTURE, count} end
  names = {ARGV[4]}
end
local out = {}
for i, name in ipairs(names) do
  local S = P .. 's:' .. name
  local s = call('HMGET', S, 'inc', 'state', 'smember', 'level', 'size', 'used', 'limit', 'off')
  out[i] = {name, s[1], tonumber(s[2]), tonumber(s[3]), tonumber(s[4]), tonumber(s[5]), tonumber(s[6]), tonumber(s[7]),
    call('HLEN', S .. ':e'), tonumber(s[8]), call('ZCARD', S .. ':h'), call('SMEMBERS', S .. ':m')}
end
return {nr, $OK, count, 0, 0, call('HGET', F, 'id') or '', out}
