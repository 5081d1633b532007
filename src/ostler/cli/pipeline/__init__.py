"""`ostler pipeline`."""
