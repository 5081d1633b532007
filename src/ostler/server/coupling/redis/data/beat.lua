-- uses: base fence events lists index available entry_locks units contents members alive
-- Says that the member lives, and fences others that do not.
local now = server_ms()
call('HSET', M, 'beat', now)
local given_up = {}
for _, member in ipairs(call('HKEYS', P .. 'a')) do
  if member ~= me and is_silent(member, now) then
    fail(member)
    given_up[#given_up + 1] = call('HGET', P .. 'm:' .. member, 'name')
  end
end
return {nr, $OK, count, 0, 0, tonumber(call('HGET', F, 'gen')), given_up}
