-- Headers of queues. A structure has so many; idle ones make room.
local function can_have(S, queue)
  if call('ZCARD', S .. ':h') < $HEADERS_MAX or call('ZSCORE', S .. ':h', queue) then return true end
  for _, name in ipairs(call('ZRANGE', S .. ':h', 0, -1)) do
    local H = S .. ':q:' .. name
    local h = call('HMGET', H, 'inp', 'outp', 'idn', 'w', 'trig')
    local is_idle = h[1] == '0' and h[2] == '0' and h[3] == '0' and h[4] == '' and h[5] == ''
    if is_idle and call('EXISTS', S .. ':c:' .. name, S .. ':u:' .. name, S .. ':g:' .. name) == 0 then
      call('ZREM', S .. ':h', name)
      call('UNLINK', H, S .. ':i:' .. name)
    end
  end
  return call('ZCARD', S .. ':h') < $HEADERS_MAX
end

local function make_header(S, queue)
  if call('ZADD', S .. ':h', 0, queue) == 1 then
    call('HSET', S .. ':q:' .. queue, 'inp', 0, 'outp', 0, 'exc', 0, 'idx', 0, 'idn', 0, 'w', '', 'trig', '',
      'untold', 0, 'due', 0, 'dueat', 0, 'turn', 0)
  end
end
