"""Shared repositories of queue-sharing groups: in a file (SQLite) or in a database server (PostgreSQL)."""
