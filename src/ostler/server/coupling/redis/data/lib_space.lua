-- Tells how full a structure is, if that changed by five percent or more.
local function space_changed(S, structure, used, limit, told)
  local percent = 100
  if limit > 0 then percent = math.floor(used * 100 / limit) end
  if percent - told < 5 and told - percent < 5 then return end
  call('HSET', S, 'told', percent)
  for _, member in ipairs(call('SMEMBERS', S .. ':m')) do
    push(member, $THRESHOLD, structure, percent, used, limit)
  end
end
