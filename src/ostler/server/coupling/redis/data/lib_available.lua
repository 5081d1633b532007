-- Watchers of a queue are told of an entry that was committed or put back.
local function now_ms()
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function wake_next(S, structure, queue, waiters)
  local H = S .. ':q:' .. queue
  local h = call('HMGET', H, 'turn', 'untold')
  local turn = tonumber(h[1])
  if turn >= #waiters then turn = 0 end
  local number = call('HINCRBY', F, 'wakes', 1)
  call('HSET', H, 'turn', turn + 1, 'untold', h[2] - 1, 'due', number, 'dueat', now_ms())
  push(waiters[turn + 1], $QUEUE_NOT_EMPTY, structure, queue, $FIRST, '', 0, number)
end

local function tell_id(S, structure, queue, match, id)
  local W = S .. ':w:' .. queue
  local told = call('HGET', W, match .. id)
  if not told then return end
  local members = split(told)
  call('HDEL', W, match .. id)
  call('HINCRBY', S .. ':q:' .. queue, 'idn', -#members)
  call('HINCRBY', S, 'idw', -#members)
  for _, member in ipairs(members) do
    call('SREM', S .. ':n:' .. member, 'i' .. match .. id .. queue)
    push(member, $QUEUE_NOT_EMPTY, structure, queue, match, id, 0, 0)
  end
end

local function tell_watchers(S, structure, queue, record, idn, waiters, triggers)
  if idn ~= '0' then
    local message, correlation = sub(record, 107, 130), sub(record, 131, 154)
    tell_id(S, structure, queue, '$CORREL_ID', correlation)
    tell_id(S, structure, queue, '$MSG_ID', message)
    tell_id(S, structure, queue, '$MSG_AND_CORREL_ID', message .. correlation)
    tell_id(S, structure, queue, '$GROUP_ID', sub(record, 383, 406))
  end
  if waiters ~= '' then
    local H, list = S .. ':q:' .. queue, split(waiters)
    local h = call('HMGET', H, 'due', 'dueat')
    call('HSET', H, 'untold', #list)
    -- Who was told last may be dead: after a while it does not hold up the others.
    if h[1] == '0' or now_ms() - h[2] > $STALE_WAKE_MS then wake_next(S, structure, queue, list) end
  end
  if triggers ~= '' and call('ZCARD', S .. ':c:' .. queue) == 1 then
    for _, member in ipairs(split(triggers)) do
      push(member, $QUEUE_NOT_EMPTY, structure, queue, $FIRST, '', 1, 0)
    end
  end
end

local function available(S, structure, queue, id, record)
  local h = call('HMGET', S .. ':q:' .. queue, 'idx', 'idn', 'w', 'trig')
  if h[1] ~= '0' or h[2] ~= '0' then
    record = record or call('HGET', S .. ':e', id)
    if h[1] ~= '0' then index_add(S, queue, tonumber(h[1]), record, id) end
  end
  tell_watchers(S, structure, queue, record, h[2], h[3], h[4])
end
