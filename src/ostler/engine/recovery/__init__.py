"""Log records, checkpoints, snapshots, replay at restart, media recovery."""
