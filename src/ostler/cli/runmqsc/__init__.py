"""`ostler runmqsc`: scripts, the interactive prompt, commands by message."""
