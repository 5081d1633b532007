"""Administration of a running queue manager: the command server, command contexts, actions of control commands."""
