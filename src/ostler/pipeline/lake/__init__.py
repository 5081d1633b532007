"""The lake: tables, schemas, quality rules, commits."""
