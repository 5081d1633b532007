"""`ostler demo`."""
