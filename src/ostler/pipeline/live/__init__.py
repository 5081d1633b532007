"""Live tables of a running queue manager."""
