"""Replication between instances of a queue manager: sockets, threads, arbiters, certificates, answers to commands."""
