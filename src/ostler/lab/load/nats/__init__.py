"""Lean clients for NATS and JetStream."""
