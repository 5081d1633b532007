-- KEYS 3 the structure, ARGV 4 its name. The member must be connected to it.
local S, structure = KEYS[3], ARGV[4]
local s = call('HMGET', S, 'state', 'used', 'limit', 'c' .. me, 'lk')
if not s[1] then return {nr, $UNKNOWN_STRUCTURE, count} end
if not s[4] then return {nr, $NOT_CONNECTED, count} end
local used, limit = tonumber(s[2]), tonumber(s[3])
