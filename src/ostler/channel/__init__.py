"""Message channels: what moves messages from one queue manager to another. No sockets, no clock, no threads."""
