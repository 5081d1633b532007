"""Copies of one queue manager: its log is shipped from the leader to followers, which write, force and apply it.

Sans-IO: no sockets, threads or clocks. `docs/explanation/replication.md` has the invariants and the map of this room.
"""
