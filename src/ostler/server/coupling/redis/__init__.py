"""Redis as coupling facility: one script for each program, run on a server that all members reach."""
