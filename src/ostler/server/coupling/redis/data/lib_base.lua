-- Every script: KEYS 1 the facility, 2 the member. ARGV 1 number of the request, 2 member, 3 fence.
-- The answer: {number, status, count, used, limit, ...}.
local call, sub = redis.call, string.sub
local F, M = KEYS[1], KEYS[2]
local P = sub(F, 1, -2)
local nr, me = tonumber(ARGV[1]), ARGV[2]
