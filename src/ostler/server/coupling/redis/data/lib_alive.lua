-- A member is given up when it has been silent for a lease; sooner when nobody listens to its events any more, as after
-- kill -9. A clock that is wrong can only fence a member that lives, which then joins anew.
local function server_ms()
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function is_silent(member, now)
  local m = call('HMGET', P .. 'm:' .. member, 'beat', 'fence')
  local silent = now - m[1]
  if silent > $LEASE_MS then return true end
  if silent <= $GONE_MS then return false end
  return call('PUBSUB', 'NUMSUB', P .. 'ev:' .. member .. ':' .. m[2])[2] == 0
end
