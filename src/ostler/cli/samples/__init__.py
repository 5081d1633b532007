"""`ostler put`, `get`, `browse`, `publish`, `subscribe` and their relatives."""
