"""Side files of a queue manager, from the disk of the leader to the disks of the other copies."""
