"""Event messages, report messages and triggers."""
