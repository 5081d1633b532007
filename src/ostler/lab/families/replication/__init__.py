"""Scenarios of queue managers with copies."""
