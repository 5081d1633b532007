"""The Python API: connections, queues, topics, messages, consumers."""
