"""Families of scenarios about the topic tree."""
