-- uses: base fence structure usable index make_index
-- ARGV 5 queue, 6 key to begin behind, 7 most entries, 8 most bytes, 9 is 1 with bodies, 10 expired at, 11 group.
local C, E = S .. ':c:' .. ARGV[5], S .. ':e'
local most, bytes_max, expired = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[10])
local through, out, bytes, visited, is_end = ARGV[6], {}, 0, 0, 0
local prefix, last = '', '+'
if ARGV[11] ~= '' and call('EXISTS', S .. ':q:' .. ARGV[5]) == 1 then
  make_index(S, ARGV[5], 4)
  prefix = '4' .. ARGV[11]
  C, last = S .. ':i:' .. ARGV[5], '[' .. prefix .. string.rep('\255', 24)
end
local first = '(' .. prefix .. through .. string.rep('\255', 16)
if through == '' then first = prefix == '' and '-' or '[' .. prefix end

local function shown(record)
  if ARGV[9] == '1' then return record end
  local properties, reference = struct.unpack('>I4I2', record, 37)
  return sub(record, 1, 422 + properties + reference)
end

local function visit(member)
  local record = call('HGET', E, sub(member, -16))
  local expiry = struct.unpack('>I8', record, 13)
  local wanted = expired == 0 or (expiry ~= 0 and expiry <= expired)
  if wanted then
    record = shown(record)
    bytes = bytes + 102 + #record
    if #out >= most or (#out > 0 and bytes > bytes_max) then return false end
  end
  if visited >= $VISITED_MAX then return false end
  visited = visited + 1
  through = sub(member, -24, -17)
  if wanted then out[#out + 1] = record end
  return true
end

local function visit_all()
  while true do
    local members = call('ZRANGEBYLEX', C, first, last, 'LIMIT', 0, 100)
    for _, member in ipairs(members) do
      if not visit(member) then return 0 end
    end
    if #members < 100 then return 1 end
    first = '(' .. members[100]
  end
end

is_end = visit_all()
return {nr, $OK, count, used, limit, is_end, through, out}
