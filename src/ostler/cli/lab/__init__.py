"""`ostler lab` and `ostler bench`."""
