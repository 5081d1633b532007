-- uses: base fence structure usable events space lists index available entry_locks entries described
-- ARGV 5 queue, 6 most entries, 7 is 1 if opens and uncommitted operations do not matter.
local queue, most = ARGV[5], tonumber(ARGV[6])
local H, C, E = S .. ':q:' .. queue, S .. ':c:' .. queue, S .. ':e'
local h = call('HMGET', H, 'inp', 'idx')
if not h[1] then return described(count, used, limit) end
if ARGV[7] ~= '1' and (h[1] ~= '0' or call('EXISTS', S .. ':u:' .. queue, S .. ':g:' .. queue) > 0) then
  return {nr, $IN_USE, count, used, limit}
end
local removed = 0
while removed < most do
  local members = call('ZRANGE', C, 0, math.min(most - removed, 100) - 1)
  if #members == 0 then break end
  for _, member in ipairs(members) do
    local id = sub(member, 9)
    local record = call('HGET', E, id)
    call('ZREM', C, member)
    if h[2] ~= '0' then index_remove(S, queue, tonumber(h[2]), record, id) end
    drop_entry(S, structure, id, record)
    if s[5] ~= '0' then unlock(S, id) end
    used = used - space_of(record)
    removed = removed + 1
  end
end
if removed > 0 then
  call('HSET', S, 'used', used)
  if call('EXISTS', C) == 0 then call('HSET', H, 'due', 0) end
  count = call('HINCRBY', M, 'count', 1)
  space_changed(S, structure, used, limit, tonumber(call('HGET', S, 'told')))
end
return described(count, used, limit)
