"""Families of queue-sharing groups: shared queues, and the data sets that hold their large messages."""
