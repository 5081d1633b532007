-- Members that come, fail and leave.
local function group_changed()
  call('HINCRBY', F, 'gen', 1)
end

local function member_changed(member)
  local m = call('HMGET', P .. 'm:' .. member, 'name', 'state')
  group_changed()
  push_others(member, $MEMBER_CHANGED, member, m[1], m[2])
end

local function structure_changed(S, structure)
  local state = call('HGET', S, 'state')
  group_changed()
  for _, member in ipairs(call('SMEMBERS', S .. ':m')) do push(member, $STRUCTURE_CHANGED, structure, state) end
end

local function end_open(S, queue, member)
  local H = S .. ':q:' .. queue
  local opens = call('HGET', H, 'o' .. member)
  if not opens then return end
  local shared, exclusive, output = string.match(opens, '^(%d+) (%d+) (%d+)$')
  call('HINCRBY', H, 'inp', 0 - shared - exclusive)
  call('HINCRBY', H, 'exc', 0 - exclusive)
  call('HINCRBY', H, 'outp', 0 - output)
  call('HDEL', H, 'o' .. member)
end

local function end_waiter(S, queue, member)
  local H = S .. ':q:' .. queue
  local h = call('HMGET', H, 'w', 'untold')
  local left = without(h[1], member)
  local most = #split(left)
  call('HSET', H, 'w', left, 'untold', math.min(tonumber(h[2]), most))
end

local function end_id_watch(S, queue, watched, member)
  local W = S .. ':w:' .. queue
  local left = without(call('HGET', W, watched) or '', member)
  if left == '' then call('HDEL', W, watched) else call('HSET', W, watched, left) end
  call('HINCRBY', S .. ':q:' .. queue, 'idn', -1)
  call('HINCRBY', S, 'idw', -1)
end

-- Ends watches, and opens unless they are kept.
local function drop_interests(S, member, keep_opens)
  local N = S .. ':n:' .. member
  for _, interest in ipairs(call('SMEMBERS', N)) do
    local kind = sub(interest, 1, 1)
    if kind == 'o' then
      if not keep_opens then end_open(S, sub(interest, 2), member) end
    elseif kind == 'w' then
      end_waiter(S, sub(interest, 2), member)
    elseif kind == 't' then
      local H = S .. ':q:' .. sub(interest, 2)
      call('HSET', H, 'trig', without(call('HGET', H, 'trig'), member))
    else
      local length = sub(interest, 2, 2) == '$MSG_AND_CORREL_ID' and 48 or 24
      end_id_watch(S, sub(interest, 3 + length), sub(interest, 2, 2 + length), member)
    end
    if kind ~= 'o' or not keep_opens then call('SREM', N, interest) end
  end
end

local function each_structure(visit)
  for _, structure in ipairs(call('ZRANGE', P .. 'ss', 0, -1)) do visit(P .. 's:' .. structure, structure) end
end

local function free_opens(member)
  each_structure(function(S, structure)
    drop_interests(S, member, false)
    release_all(S, structure, member)
    call('HDEL', S, 'c' .. member)
    call('SREM', S .. ':m', member)
  end)
end

-- A backup of a member that is lost ends, a recovery has failed.
local function abandon_states(member)
  each_structure(function(S, structure)
    local s = call('HMGET', S, 'smember', 'state')
    if s[1] ~= member then return end
    if s[2] == '$STRUCTURE_INBACKUP' then
      call('HSET', S, 'smember', 0, 'state', $STRUCTURE_ACTIVE)
    else
      call('HSET', S, 'smember', 0, 'state', $STRUCTURE_STATE_FAILED)
      drop_contents(S, structure)
    end
    structure_changed(S, structure)
  end)
end

local function fail(member)
  call('HDEL', P .. 'a', member)
  call('HSET', P .. 'm:' .. member, 'state', $MEMBER_FAILED)
  each_structure(function(S, structure)
    drop_interests(S, member, true)
    release_all(S, structure, member)
  end)
  abandon_states(member)
  member_changed(member)
  for _, other in ipairs(call('SMEMBERS', P .. 'mm')) do
    local m = call('HMGET', P .. 'm:' .. other, 'state', 'recoverer')
    if m[1] == '$MEMBER_RECOVERING' and m[2] == member then
      call('HSET', P .. 'm:' .. other, 'state', $MEMBER_FAILED, 'recoverer', 0)
      member_changed(other)
    end
  end
end

local function drop_locks(member, but_fence)
  local all, dropped = call('HGETALL', P .. 'l'), 0
  for i = 1, #all, 2 do
    local owner, fence = string.match(all[i + 1], '^(%d+) (%d+) ')
    if owner == member and fence ~= but_fence then
      call('HDEL', P .. 'l', all[i])
      call('ZREM', P .. 'lz', all[i])
      dropped = dropped + 1
    end
  end
  return dropped
end

-- Nothing of a member stays but units in doubt, tombstones and what it has committed.
local function settle(member)
  call('HDEL', P .. 'a', member)
  free_opens(member)
  abandon_states(member)
  drop_locks(member, '')
  call('HSET', P .. 'm:' .. member, 'state', $MEMBER_LEFT, 'recoverer', 0)
  member_changed(member)
end
