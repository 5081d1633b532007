-- uses: base fence structure described
return described(count, used, limit)
