"""Shared queues: verbs of a member of a queue-sharing group on messages in the coupling facility."""
