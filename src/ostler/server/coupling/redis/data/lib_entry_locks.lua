-- Browse locks: "member handle queue" of entries, and their number in the structure.
local function unlock(S, id)
  if call('HDEL', S .. ':k', id) == 1 then call('HINCRBY', S, 'lk', -1) end
end

local function release(S, structure, queue, id)
  unlock(S, id)
  local h = call('HMGET', S .. ':q:' .. queue, 'idn', 'w')
  local record = h[1] ~= '0' and call('HGET', S .. ':e', id) or nil
  tell_watchers(S, structure, queue, record, h[1], h[2], '')
end

local function release_all(S, structure, member)
  if (call('HGET', S, 'lk') or '0') == '0' then return end
  local all = call('HGETALL', S .. ':k')
  for i = 1, #all, 2 do
    local owner, _, queue = string.match(all[i + 1], '^(%d+) (%d+) (.*)$')
    if owner == member then release(S, structure, queue, all[i]) end
  end
end
