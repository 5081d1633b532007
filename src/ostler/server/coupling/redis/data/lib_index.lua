-- Indexes by identifier: members are kind, identifier, key and entry. Null identifiers are not in them.
local NULL = string.rep('\0', 24)

local function index_members(idx, record, id)
  local out, key = {}, sub(record, 1, 8)
  if idx % 2 >= 1 then
    local value = sub(record, 107, 130)
    if value ~= NULL then out[#out + 1] = '1' .. value .. key .. id end
  end
  if idx % 4 >= 2 then
    local value = sub(record, 131, 154)
    if value ~= NULL then out[#out + 1] = '2' .. value .. key .. id end
  end
  if idx >= 4 then
    local value = sub(record, 383, 406)
    if value ~= NULL then out[#out + 1] = '4' .. value .. key .. id end
  end
  return out
end

local function index_add(S, queue, idx, record, id)
  for _, member in ipairs(index_members(idx, record, id)) do call('ZADD', S .. ':i:' .. queue, 0, member) end
end

local function index_remove(S, queue, idx, record, id)
  for _, member in ipairs(index_members(idx, record, id)) do call('ZREM', S .. ':i:' .. queue, member) end
end
