"""`ostler lab`."""
