"""Families of scenarios with message channels."""
