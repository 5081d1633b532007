-- Tells whether the member recovers a structure.
local function recovers()
  for _, structure in ipairs(call('ZRANGE', P .. 'ss', 0, -1)) do
    local s = call('HMGET', P .. 's:' .. structure, 'state', 'smember')
    if s[1] == '$STRUCTURE_INRECOVER' and s[2] == me then return true end
  end
  return false
end
