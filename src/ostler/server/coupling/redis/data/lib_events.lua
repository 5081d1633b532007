-- Events: fields behind their lengths, published to the channel of a member's present link.
local function pack(...)
  local out = {}
  for i, value in ipairs({...}) do
    if type(value) == 'number' then value = string.format('%.0f', value) end
    out[i] = struct.pack('>I2', #value) .. value
  end
  return table.concat(out)
end

local function push(member, ...)
  local fence = call('HGET', P .. 'a', member)
  if fence then call('PUBLISH', P .. 'ev:' .. member .. ':' .. fence, pack(...)) end
end

local function push_others(member, ...)
  local active = call('HKEYS', P .. 'a')
  for _, other in ipairs(active) do
    if other ~= member then push(other, ...) end
  end
end
