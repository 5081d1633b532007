"""Disk and memory: the log writer, checkpoints, housekeeping, media recovery, the check of files."""
