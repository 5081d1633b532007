-- Watches of the member: for anything that comes, or for one identifier.
local function watch_waiters(queue)
  local H = S .. ':q:' .. queue
  local waiters = call('HGET', H, 'w')
  if not has(waiters, me) then
    call('HSET', H, 'w', with(waiters, me))
    call('SADD', S .. ':n:' .. me, 'w' .. queue)
  end
end

local function watch_id(queue, match, id)
  if tonumber(call('HGET', S, 'idw')) >= $ID_WATCHES_MAX then return false end
  local W, watched = S .. ':w:' .. queue, match .. id
  local members = call('HGET', W, watched) or ''
  if not has(members, me) then
    call('HSET', W, watched, with(members, me))
    call('HINCRBY', S .. ':q:' .. queue, 'idn', 1)
    call('HINCRBY', S, 'idw', 1)
    call('SADD', S .. ':n:' .. me, 'i' .. watched .. queue)
  end
  return true
end

local function watch(queue, match, id)
  if not can_have(S, queue) then return false end
  make_header(S, queue)
  if match == '$FIRST' or match == '$FIRST_AFTER_KEY' then
    watch_waiters(queue)
    return true
  end
  return watch_id(queue, match, id)
end
