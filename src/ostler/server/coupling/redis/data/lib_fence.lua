-- The member must be active, with this fence. Nothing of a fenced member changes anything.
local own = call('HMGET', M, 'state', 'fence', 'count', 'start')
if own[1] ~= '$MEMBER_ACTIVE_STATE' or own[2] ~= ARGV[3] then return {nr, $FENCED} end
local count = tonumber(own[3])
