-- uses: base fence events lists index available entry_locks units contents members
-- Gives up a link of the member itself: what an end of the connection is to other facilities.
fail(me)
return {nr, $OK, count}
