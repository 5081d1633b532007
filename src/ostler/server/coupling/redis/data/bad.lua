-- uses: base fence
-- A program with a field out of its range.
return {nr, $BAD_PROGRAM, count}
