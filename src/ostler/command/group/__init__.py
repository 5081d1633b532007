"""Definitions of a queue-sharing group: rows of the shared repository, what commands do to them, and local copies."""
