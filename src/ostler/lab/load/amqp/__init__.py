"""Lean AMQP 0-9-1 clients for RabbitMQ."""
