"""Lean STOMP clients for ActiveMQ."""
