-- Lists of numbers of members, as text with commas.
local function split(text)
  local out = {}
  for each in string.gmatch(text, '%d+') do out[#out + 1] = each end
  return out
end

local function has(text, member)
  return string.find(',' .. text .. ',', ',' .. member .. ',', 1, true) ~= nil
end

local function with(text, member)
  if text == '' then return member end
  return text .. ',' .. member
end

local function without(text, member)
  local out = {}
  for each in string.gmatch(text, '%d+') do
    if each ~= member then out[#out + 1] = each end
  end
  return table.concat(out, ',')
end
