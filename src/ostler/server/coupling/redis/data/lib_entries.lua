-- Entries are {key 8, version 1, flags 1, priority 1, 0 1, expiry 8, owner 4, body length 8, back-outs 4, length of
-- properties 4, of reference 2, identifier 16, descriptor 364, properties, reference, body}, numbers big-endian.
local function space_of(record)
  local properties, reference = struct.unpack('>I4I2', record, 37)
  return 256 + math.ceil((#record - 422 - reference + 391) / 256) * 256
end

local function tell_freed(S, structure, owner)
  local f = call('HMGET', S, 'ft' .. owner, 'c' .. owner)
  if f[1] ~= '1' and f[2] and call('EXISTS', S .. ':f:' .. owner) == 1 then
    call('HSET', S, 'ft' .. owner, 1)
    push(owner, $FREED, structure)
  end
end

-- Drops the record of an entry that is gone, and keeps its reference for the owner of the body.
local function drop_entry(S, structure, id, record)
  local properties, reference = struct.unpack('>I4I2', record, 37)
  call('HDEL', S .. ':e', id)
  if reference == 0 then return end
  local owner = string.format('%.0f', (struct.unpack('>I4', record, 21)))
  call('HINCRBY', S, 'off', -1)
  if call('RPUSH', S .. ':f:' .. owner, sub(record, 423 + properties, 422 + properties + reference)) > $FREED_KEPT_MAX then
    call('LTRIM', S .. ':f:' .. owner, $FREED_KEPT_MAX / 2, -1)
    call('HINCRBY', S, 'fd' .. owner, $FREED_KEPT_MAX / 2)
    call('HSET', S, 'fl' .. owner, 1)
  end
  tell_freed(S, structure, owner)
end
