"""The command server, and what commands do to a running queue manager."""
