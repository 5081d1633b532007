-- Descriptors of units: "state fence puts gets xid" in a hash of their owner, all identifiers in one sorted set,
-- operations in a list: {place 1, space 8, has a reference 1, key 8, entry 16, length 1, structure, queue}.
local function read_unit(owner, id)
  local raw = call('HGET', P .. 'u:' .. owner, id)
  if not raw then return nil end
  local state, fence, puts, gets, xid = string.match(raw, '^(%d) (%d+) (%d+) (%d+) (.*)$')
  return {state = tonumber(state), fence = fence, puts = tonumber(puts), gets = tonumber(gets), xid = xid}
end

local function write_unit(owner, id, unit)
  local text = string.format('%d %s %d %d ', unit.state, unit.fence, unit.puts, unit.gets) .. unit.xid
  call('HSET', P .. 'u:' .. owner, id, text)
end

local function add_unit(owner, id, unit)
  call('ZADD', P .. 'us', 0, id)
  call('HINCRBY', P .. 'm:' .. owner, 'fl', 1)
end

local function count_unit(owner, state, step)
  if state == $UNIT_INFLIGHT then call('HINCRBY', P .. 'm:' .. owner, 'fl', step) end
  if state == $UNIT_INDOUBT then call('HINCRBY', P .. 'm:' .. owner, 'db', step) end
end

local function drop_unit(owner, id, state)
  call('HDEL', P .. 'u:' .. owner, id)
  call('ZREM', P .. 'us', id)
  call('UNLINK', P .. 'o:' .. id)
  count_unit(owner, state, -1)
end

local function add_operation(id, place, record, entry, structure, queue)
  local properties, reference = struct.unpack('>I4I2', record, 37)
  local head = struct.pack('>I1I8I1', place, space_of(record), reference > 0 and 1 or 0)
  call('RPUSH', P .. 'o:' .. id, head .. sub(record, 1, 8) .. entry .. string.char(#structure) .. structure .. queue)
end

local function owner_of(id)
  return string.format('%.0f', (struct.unpack('>I4', id)))
end

local function know_owner(owner, id)
  if call('SADD', P .. 'mm', owner) == 1 then
    -- The facility has lost its memory, and this member has not joined the new one yet.
    call('HSET', P .. 'm:' .. owner, 'name', '', 'start', string.format('%.0f', (struct.unpack('>I4', id, 5))),
      'state', $MEMBER_LEFT, 'fence', 0, 'count', 0, 'logged', 0, 'fl', 0, 'db', 0, 'recoverer', 0, 'beat', 0)
  end
end
