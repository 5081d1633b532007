"""Local queues: their messages in memory and on disk, and how messages enter and leave them."""
