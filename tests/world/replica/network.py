"""Links between simulated instances: frames in order, in bytes, late; each direction can be cut alone."""

from __future__ import annotations

from collections import deque
from random import Random

from ostler.wire.frames import FrameReader
from ostler.wire.replica_frames import REPLICA_FRAME_BYTES_MAX, ReplicaFrame, decode_replica_frame


class Link:
    """One connection from a leader to a follower. Each end sees it close for itself."""

    def __init__(self, number: int, leader: str, follower: str) -> None:
        self.number = number
        self.leader = leader
        self.follower = follower
        self.queues: dict[str, deque[tuple[float, bytes]]] = {leader: deque(), follower: deque()}
        """What is on its way to an end, with the time when it arrives."""
        self.open_at: set[str] = {leader, follower}
        self.is_base_needed = False
        """The leader's farewell said that the follower needs a base."""
        self.readers = {name: FrameReader(REPLICA_FRAME_BYTES_MAX) for name in (leader, follower)}

    def other(self, name: str) -> str:
        return self.follower if name == self.leader else self.leader


class Network:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.now = 0.0
        self.cut: set[tuple[str, str]] = set()
        """Directions in which nothing arrives: (from, to)."""
        self.delay_seconds = 0.0
        self.links: list[Link] = []
        self.bytes = 0

    def connect(self, leader: str, follower: str) -> Link | None:
        """A new link; None when packets do not go both ways."""
        if (leader, follower) in self.cut or (follower, leader) in self.cut:
            return None
        link = Link(len(self.links) + 1, leader, follower)
        self.links.append(link)
        return link

    def send(self, link: Link, sender: str, frame: ReplicaFrame) -> None:
        if sender in link.open_at:
            data = frame.encode()
            self.bytes += len(data)
            late = self.now + self.random.random() * self.delay_seconds
            queue = link.queues[link.other(sender)]
            if queue:
                late = max(late, queue[-1][0])
            queue.append((late, data))

    def received(self, link: Link, name: str, most: int) -> list[ReplicaFrame]:
        """Take up to `most` frames that have arrived at an end."""
        found: list[ReplicaFrame] = []
        queue = link.queues[name]
        if (link.other(name), name) in self.cut or name not in link.open_at:
            return found
        reader = link.readers[name]
        while queue and queue[0][0] <= self.now and len(found) < most:
            reader.feed(queue.popleft()[1])
            while reader.next():
                found.append(decode_replica_frame(reader.type, reader.request, reader.buffer, reader.start, reader.end))
        return found

    def close(self, link: Link, name: str) -> None:
        """One end closes. What it has sent still arrives."""
        link.open_at.discard(name)

    def is_closed_for(self, link: Link, name: str) -> bool:
        """Whether an end can see that the other one has closed."""
        other = link.other(name)
        if name not in link.open_at:
            return True
        return other not in link.open_at and not link.queues[name] and (other, name) not in self.cut

    def close_all(self, name: str) -> None:
        """A process ends: all its connections do. Nothing more is sent, and what waits for it is lost."""
        for link in self.links:
            if name in link.open_at and name in (link.leader, link.follower):
                link.open_at.discard(name)
                link.queues[name].clear()

    def forget_closed(self) -> None:
        self.links = [link for link in self.links if link.open_at]
