"""PCF: descriptions of commands, requests, handlers and replies."""
