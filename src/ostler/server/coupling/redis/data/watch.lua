-- uses: base fence structure events lists index available entry_locks headers make_index units contents members watching
-- ARGV 5 queue, 6 mode, 7 match, 8 identifier.
local queue, mode, match, id = ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local H, N = S .. ':q:' .. queue, S .. ':n:' .. me
local done = {nr, $OK, count, used, limit}

local function is_there()
  local kind = '1'
  if match == '$CORREL_ID' then kind = '2' elseif match == '$GROUP_ID' then kind = '4' end
  make_index(S, queue, tonumber(kind))
  local prefix, first = kind .. sub(id, 1, 24), nil
  first = '[' .. prefix
  while true do
    local found = call('ZRANGEBYLEX', S .. ':i:' .. queue, first, '[' .. prefix .. string.rep('\255', 24), 'LIMIT', 0, 64)
    for _, each in ipairs(found) do
      if match ~= '$MSG_AND_CORREL_ID' then return true end
      if sub(call('HGET', S .. ':e', sub(each, -16)), 131, 154) == sub(id, 25) then return true end
    end
    if #found < 64 then return false end
    first = '(' .. found[64]
  end
end

if mode == '$WATCH_OFF' then
  if match ~= '$FIRST' then
    if call('SREM', N, 'i' .. match .. id .. queue) == 1 then end_id_watch(S, queue, match .. id, me) end
    return done
  end
  if call('SREM', N, 'w' .. queue) == 1 then end_waiter(S, queue, me) end
  if call('SREM', N, 't' .. queue) == 1 then call('HSET', H, 'trig', without(call('HGET', H, 'trig'), me)) end
  return done
end
if not can_have(S, queue) then return {nr, $LIMIT, count, used, limit} end
if match ~= '$FIRST' and tonumber(call('HGET', S, 'idw')) >= $ID_WATCHES_MAX then
  return {nr, $LIMIT, count, used, limit}
end
make_header(S, queue)
if mode == '$WATCH_TRIGGERS' then
  local triggers = call('HGET', H, 'trig')
  if not has(triggers, me) then
    call('HSET', H, 'trig', with(triggers, me))
    call('SADD', N, 't' .. queue)
  end
elseif match == '$FIRST' then
  watch_waiters(queue)
elseif is_there() then
  push(me, $QUEUE_NOT_EMPTY, structure, queue, match, id, 0, 0)
  return done
else
  watch_id(queue, match, id)
  return done
end
if call('EXISTS', S .. ':c:' .. queue) == 1 then
  push(me, $QUEUE_NOT_EMPTY, structure, queue, $FIRST, '', mode == '$WATCH_TRIGGERS' and 1 or 0, 0)
end
return done
