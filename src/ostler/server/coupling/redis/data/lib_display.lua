-- Displays may be asked for without JOIN; with one, the fence counts.
local count = 0
if me ~= '' then
  local own = call('HMGET', M, 'state', 'fence', 'count')
  if own[1] ~= '$MEMBER_ACTIVE_STATE' or own[2] ~= ARGV[3] then return {nr, $FENCED} end
  count = tonumber(own[3])
end
