-- The facility has lost programs that it had answered. All that is in it is void: it becomes another one, whose
-- structures have failed and must be recovered from the logs.
local function lose(identity)
  for _, member in ipairs(call('HKEYS', P .. 'a')) do push(member, $FENCED_OUT) end
  for _, id in ipairs(call('ZRANGE', P .. 'us', 0, -1)) do call('UNLINK', P .. 'o:' .. id) end
  call('UNLINK', P .. 'us', P .. 'a', P .. 'l', P .. 'lz', P .. 'x')
  for _, member in ipairs(call('SMEMBERS', P .. 'mm')) do
    call('UNLINK', P .. 'u:' .. member, P .. 'r:' .. member)
    call('HSET', P .. 'm:' .. member, 'state', $MEMBER_LEFT, 'recoverer', 0, 'count', 0, 'logged', 0, 'fl', 0, 'db', 0)
  end
  each_structure(function(S, structure)
    drop_contents(S, structure)
    for _, queue in ipairs(call('ZRANGE', S .. ':h', 0, -1)) do
      call('UNLINK', S .. ':q:' .. queue, S .. ':w:' .. queue)
    end
    for _, member in ipairs(call('SMEMBERS', P .. 'mm')) do
      call('UNLINK', S .. ':n:' .. member)
      call('HDEL', S, 'c' .. member)
    end
    call('UNLINK', S .. ':h', S .. ':m')
    call('HSET', S, 'state', $STRUCTURE_STATE_FAILED, 'smember', 0, 'told', 0, 'idw', 0)
  end)
  call('HSET', F, 'id', identity)
end
