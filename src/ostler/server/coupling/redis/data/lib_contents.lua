-- Drops all entries of a structure, and the operations of units on them. Loaded units without operations go, too.
local function operations_elsewhere(id, structure)
  local kept, puts, gets, total = {}, 0, 0, 0
  for _, operation in ipairs(call('LRANGE', P .. 'o:' .. id, 0, -1)) do
    local length = string.byte(operation, 35)
    total = total + 1
    if sub(operation, 36, 35 + length) ~= structure then
      kept[#kept + 1] = operation
      if string.byte(operation) == $GOT then gets = gets + 1 else puts = puts + 1 end
    end
  end
  return kept, puts, gets, total
end

local function drop_operations(structure)
  for _, id in ipairs(call('ZRANGE', P .. 'us', 0, -1)) do
    local kept, puts, gets, total = operations_elsewhere(id, structure)
    if #kept < total then
      local owner = owner_of(id)
      local unit = read_unit(owner, id)
      call('DEL', P .. 'o:' .. id)
      for _, operation in ipairs(kept) do call('RPUSH', P .. 'o:' .. id, operation) end
      unit.puts, unit.gets = puts, gets
      if #kept == 0 and unit.fence == '0' then drop_unit(owner, id, unit.state) else write_unit(owner, id, unit) end
    end
  end
end

local function drop_contents(S, structure)
  drop_operations(structure)
  for _, queue in ipairs(call('ZRANGE', S .. ':h', 0, -1)) do
    call('UNLINK', S .. ':c:' .. queue, S .. ':u:' .. queue, S .. ':g:' .. queue, S .. ':i:' .. queue)
    call('HSET', S .. ':q:' .. queue, 'idx', 0, 'due', 0)
  end
  for _, field in ipairs(call('HKEYS', S)) do
    local owner = string.match(field, '^f[dtl](%d+)$')
    if owner then
      call('HDEL', S, field)
      call('UNLINK', S .. ':f:' .. owner)
    end
  end
  for _, member in ipairs(call('SMEMBERS', P .. 'mm')) do call('UNLINK', S .. ':f:' .. member) end
  call('UNLINK', S .. ':e', S .. ':k')
  call('HSET', S, 'used', 0, 'off', 0, 'lk', 0)
end
