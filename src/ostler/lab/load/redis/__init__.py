"""Lean clients for Redis."""
