"""A second implementation of the workload algorithm: filter by filter over lists, slow and plain."""

from __future__ import annotations

from ostler.cluster.workload import ALL_CHANNELS, Candidate
from ostler.model import constants as mq

GOOD = ("INACTIVE", "RUNNING")
COMING = ("BINDING", "INITIALIZING", "STARTING", "STOPPING", "SWITCHING")
FAILED = ("RETRYING",)
OUT = ("REQUESTING", "PAUSED", "STOPPED")


class NaiveChooser:
    """Remembers every choice it has made, in order, and counts them anew each time."""

    def __init__(self) -> None:
        self.history: list[tuple[str, int]] = []
        self.since_reset = 0

    def choose(
        self,
        candidates: list[Candidate],
        clusters: frozenset[str],
        use_queue: int = mq.MQCLWL_USEQ_LOCAL,
        most_recent: int = ALL_CHANNELS,
        is_from_cluster_channel: bool = False,
    ) -> int | str:
        """Return an index, or the name of the reason code."""
        left = list(enumerate(candidates))
        left = [(i, c) for i, c in left if c.cluster in clusters and c.channel_cluster in clusters]
        left = [(i, c) for i, c in left if c.channel_cluster == c.cluster]
        if not left:
            return "MQRC_NO_DESTINATIONS_AVAILABLE"
        left = [(i, c) for i, c in left if not any(o.channel_rank > c.channel_rank for _, o in left)]
        left = [(i, c) for i, c in left if not any(o.queue_rank > c.queue_rank for _, o in left)]
        if any(c.is_put_enabled for _, c in left):
            left = [(i, c) for i, c in left if c.is_put_enabled]
        elif any(c.is_local for _, c in left):
            return next(i for i, c in left if c.is_local)
        else:
            return "MQRC_CLUSTER_PUT_INHIBITED"
        for i, c in left:
            if c.is_local:
                word = {mq.MQCLWL_USEQ_LOCAL: "LOCAL", mq.MQCLWL_USEQ_ANY: "ANY"}.get(c.use_queue, "QMGR")
                if word == "QMGR":
                    word = "LOCAL" if use_queue == mq.MQCLWL_USEQ_LOCAL else "ANY"
                if word == "LOCAL" or is_from_cluster_channel:
                    return i
                break
        if not all(c.is_suspended for _, c in left):
            left = [(i, c) for i, c in left if not c.is_suspended]
        for words in (GOOD, COMING, FAILED, OUT):
            numbers = [getattr(mq, f"MQCHS_{word}") for word in words]
            if any(c.status in numbers for _, c in left):
                left = [(i, c) for i, c in left if c.status in numbers]
                break
        left = [
            (i, c) for i, c in left if not any(o.qmid == c.qmid and o.net_priority > c.net_priority for _, o in left)
        ]
        left = [(i, c) for i, c in left if not any(o.channel_priority > c.channel_priority for _, o in left)]
        left = [(i, c) for i, c in left if not any(o.queue_priority > c.queue_priority for _, o in left)]
        while len({c.channel for _, c in left}) > most_recent:
            oldest = [c.channel for _, c in left]
            worst = min(oldest, key=lambda name: (self.last(name), -oldest.index(name)))
            left = [(i, c) for i, c in left if c.channel != worst]
        if all(c.weight == 50 for _, c in left):
            chosen = min(left, key=lambda pair: (self.last(pair[1].channel), pair[0]))
        else:
            chosen = min(left, key=lambda pair: (self.factor(pair[1].channel), self.last(pair[1].channel), pair[0]))
        self.history.append((chosen[1].channel, 1_000_000_000 // chosen[1].weight))
        return chosen[0]

    def reset(self) -> None:
        self.since_reset = len(self.history)

    def last(self, channel: str) -> int:
        """The number of the last choice of a channel; 0: never."""
        return max([number for number, (name, _) in enumerate(self.history, 1) if name == channel], default=0)

    def factor(self, channel: str) -> int:
        return sum(step for name, step in self.history[self.since_reset :] if name == channel)
