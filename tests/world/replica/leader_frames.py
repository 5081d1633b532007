"""The next frame of a leader for one follower, read from the extents if need be, as the thread of a link does it."""

from __future__ import annotations

from ostler.replica.leader_side import LeaderSide
from ostler.wire.replica_frames import ReplicaFrame


def next_frame(side: LeaderSide, name: str, now: float = 0.0) -> ReplicaFrame | None:
    frame = side.next_frame(name)
    if frame is not None:
        return frame
    read = side.next_read(name)
    if read is None:
        return None
    read.make()
    return side.take_read(read, now)
