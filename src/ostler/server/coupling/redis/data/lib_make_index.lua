-- Makes an index that a queue has not yet, over all committed entries.
local function make_index(S, queue, kind)
  local H, C = S .. ':q:' .. queue, S .. ':c:' .. queue
  local idx = tonumber(call('HGET', H, 'idx'))
  if bit.band(idx, kind) ~= 0 then return end
  call('HSET', H, 'idx', idx + kind)
  local after = '-'
  while true do
    local members = call('ZRANGEBYLEX', C, after, '+', 'LIMIT', 0, 100)
    for _, member in ipairs(members) do
      local id = sub(member, 9, 24)
      index_add(S, queue, kind, call('HGET', S .. ':e', id), id)
    end
    if #members < 100 then return end
    after = '(' .. members[100]
  end
end
