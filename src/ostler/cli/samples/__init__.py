"""TODO-ROOM."""
