"""Backup and recovery of structures of the coupling facility, from the journals of all members of a group."""
