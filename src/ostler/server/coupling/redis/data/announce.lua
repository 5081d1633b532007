-- uses: base fence events
-- ARGV 4 text.
push_others(me, $ANNOUNCED, me, ARGV[4])
return {nr, $OK, count}
