"""Commands on coupling facilities: strcf, endcf, dspcf."""
