"""The coupling facility as a deterministic machine, sans-IO: no sockets, no clock, no threads, no chance."""
