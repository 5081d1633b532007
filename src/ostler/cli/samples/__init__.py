"""`ostler put`, `get`, `browse`, `publish`, `subscribe` and the other sample programs."""
