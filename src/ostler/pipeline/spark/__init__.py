"""Spark sessions and their errors."""
