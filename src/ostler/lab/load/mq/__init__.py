"""Lean clients that speak Ostler's wire protocol."""
