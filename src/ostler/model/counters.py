"""What is counted: plain numbers that the engine adds to as it goes, cheap enough to stay on.

`observe` turns them into statistics, accounting and displays.
"""

from __future__ import annotations

from typing import final

from mypy_extensions import i64


@final
class VerbCounters:
    """Calls of one connection, or of the whole queue manager. Failed ones are counted apart."""

    def __init__(self) -> None:
        self.opens: i64 = 0
        self.closes: i64 = 0
        self.puts: i64 = 0
        self.put_bytes: i64 = 0
        self.puts_persistent: i64 = 0
        self.puts_failed: i64 = 0
        self.gets: i64 = 0
        self.get_bytes: i64 = 0
        self.gets_persistent: i64 = 0
        self.gets_failed: i64 = 0
        self.gets_empty: i64 = 0  # MQRC_NO_MSG_AVAILABLE
        self.browses: i64 = 0
        self.browse_bytes: i64 = 0
        self.commits: i64 = 0
        self.backouts: i64 = 0
        self.waits: i64 = 0
        self.inquires: i64 = 0
        self.sets: i64 = 0
        self.expired: i64 = 0
        self.backed_out_messages: i64 = 0


@final
class QueueCounters:
    """What happened on one queue."""

    def __init__(self) -> None:
        self.puts: i64 = 0
        self.put_bytes: i64 = 0
        self.puts_persistent: i64 = 0
        self.gets: i64 = 0
        self.get_bytes: i64 = 0
        self.gets_persistent: i64 = 0
        self.browses: i64 = 0
        self.browse_bytes: i64 = 0
        self.waits: i64 = 0
        self.handed_over: i64 = 0  # puts that went straight to a waiting getter
        self.expired: i64 = 0
        self.backed_out: i64 = 0
        self.gets_empty: i64 = 0
        self.spilled: i64 = 0
        self.spill_reads: i64 = 0
        self.depth_high: i64 = 0
        self.depth_low: i64 = 0
        self.last_put_ms: i64 = 0
        self.last_get_ms: i64 = 0
        # Time on the queue of the messages got destructively.
        self.age_total_ms: i64 = 0
        self.age_max_ms: i64 = 0


@final
class ForceCounters:
    """Forces of the recovery log, as those who wait for them feel them."""

    def __init__(self) -> None:
        self.forces: i64 = 0
        self.total_us: i64 = 0
        self.max_us: i64 = 0
        self.last_us: i64 = 0

    def count(self, microseconds: i64) -> None:
        self.forces += 1
        self.total_us += microseconds
        self.last_us = microseconds
        if microseconds > self.max_us:
            self.max_us = microseconds
