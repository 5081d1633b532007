-- Entries can be worked with while the structure is active or being backed up.
if s[1] == '$STRUCTURE_STATE_FAILED' then return {nr, $STRUCTURE_FAILED, count, used, limit} end
if s[1] == '$STRUCTURE_INRECOVER' then return {nr, $STRUCTURE_IN_USE, count, used, limit} end
