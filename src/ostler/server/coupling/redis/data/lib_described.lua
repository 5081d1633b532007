-- The answer that describes a queue.
local function described(count, used, limit)
  local queue = ARGV[5]
  local h = call('HMGET', S .. ':q:' .. queue, 'inp', 'outp', 'exc', 'o' .. me)
  if not h[1] then return {nr, $OK, count, used, limit, 0, 0, 0, 0, 0, 0, 0} end
  local uncommitted = call('ZCARD', S .. ':u:' .. queue)
  local shared, exclusive, output = string.match(h[4] or '0 0 0', '^(%d+) (%d+) (%d+)$')
  return {nr, $OK, count, used, limit, call('ZCARD', S .. ':c:' .. queue) + uncommitted,
    uncommitted + call('ZCARD', S .. ':g:' .. queue), tonumber(h[1]), tonumber(h[2]), shared + exclusive,
    tonumber(output), h[3] ~= '0' and 1 or 0}
end
