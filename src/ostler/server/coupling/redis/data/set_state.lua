-- uses: base fence structure events lists index available entry_locks space units contents members
-- ARGV 5 expected state or 0, 6 state.
local st = call('HMGET', S, 'smember', 'told')
local wanted = ARGV[6]
local function refuse(status) return {nr, status, count, used, limit} end
if ARGV[5] ~= '0' and s[1] ~= ARGV[5] then return refuse($WRONG_STATE) end
if wanted == '$STRUCTURE_STATE_FAILED' then
  if s[1] == wanted then return refuse($WRONG_STATE) end
else
  if st[1] ~= '0' and st[1] ~= me then return refuse($STRUCTURE_IN_USE) end
  if wanted == '$STRUCTURE_ACTIVE' then
    if s[1] ~= '$STRUCTURE_INBACKUP' and s[1] ~= '$STRUCTURE_INRECOVER' then return refuse($WRONG_STATE) end
  else
    local needed = wanted == '$STRUCTURE_INBACKUP' and '$STRUCTURE_ACTIVE' or '$STRUCTURE_STATE_FAILED'
    if s[1] ~= needed then return refuse($WRONG_STATE) end
  end
end
count = call('HINCRBY', M, 'count', 1)
if wanted == '$STRUCTURE_STATE_FAILED' then
  drop_contents(S, structure)
  used = 0
elseif wanted == '$STRUCTURE_INRECOVER' then
  call('HSET', S, 'inc', sub(call('HGET', F, 'id'), 1, 8) .. struct.pack('>I8', call('HINCRBY', F, 'inc', 1)))
end
local is_held = wanted == '$STRUCTURE_INBACKUP' or wanted == '$STRUCTURE_INRECOVER'
call('HSET', S, 'state', wanted, 'smember', is_held and me or 0)
structure_changed(S, structure)
space_changed(S, structure, used, limit, tonumber(st[2]))
return {nr, $OK, count, used, limit}
