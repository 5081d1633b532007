"""Message channels between queue managers, sans-IO: no sockets, no clock, no threads."""
