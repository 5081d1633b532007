"""Channels of a queue-sharing group: positions on a shared queue, which every member can go on with."""
