-- uses: base fence structure
-- ARGV 5 queue and 6 key to begin behind, 7 most entries, 8 most bytes, 9 is 1 with bodies, 10 is 1 for persistent ones
-- only, 11 owner or 0.
local E, most, bytes_max, owner = S .. ':e', tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[11])
local through_queue, through_key, out, bytes, visited = ARGV[5], ARGV[6], {}, 0, 0

-- Reads a sorted set in slices, one member at a time.
local function reader(set, first)
  local slice, at = call('ZRANGEBYLEX', set, first, '+', 'LIMIT', 0, 64), 1
  return function(step)
    if step then
      at = at + 1
      if at > 64 then slice, at = call('ZRANGEBYLEX', set, '(' .. slice[64], '+', 'LIMIT', 0, 64), 1 end
    end
    return slice[at]
  end
end

local function visit(queue, place, member)
  local record = call('HGET', E, sub(member, 9, 24))
  local properties, reference = struct.unpack('>I4I2', record, 37)
  local is_wanted = ARGV[10] ~= '1' or string.byte(record, 10) % 2 == 1
  if owner ~= 0 and struct.unpack('>I4', record, 21) ~= owner then is_wanted = false end
  if ARGV[9] ~= '1' then record = sub(record, 1, 422 + properties + reference) end
  local size = 102 + #record
  if visited >= $VISITED_MAX then return false end
  if is_wanted and (#out >= most or (#out > 0 and bytes + size > bytes_max)) then return false end
  visited = visited + 1
  through_queue, through_key = queue, sub(member, 1, 8)
  if is_wanted then
    bytes = bytes + size
    out[#out + 1] = {queue, place, sub(member, 25), record}
  end
  return true
end

local function visit_queue(queue, first)
  local readers = {}
  for i, set in ipairs({':c:', ':u:', ':g:'}) do readers[i] = reader(S .. set .. queue, first) end
  while true do
    local best, place = nil, 0
    for i = 1, 3 do
      local member = readers[i](false)
      if member and (not best or member < best) then best, place = member, i end
    end
    if not best then return true end
    if not visit(queue, place, best) then return false end
    readers[place](true)
  end
end

local function visit_all()
  for _, queue in ipairs(call('ZRANGEBYLEX', S .. ':h', '[' .. ARGV[5], '+')) do
    local first = '-'
    if queue == ARGV[5] and ARGV[6] ~= '' then first = '(' .. ARGV[6] .. string.rep('\255', 32) end
    if not visit_queue(queue, first) then return 0 end
  end
  return 1
end

local is_end = visit_all()
return {nr, $OK, count, used, limit, through_queue, through_key, is_end, out}
