"""What performance events tell of a queue: its figures since the last such event, and how long it waits for a get."""

from __future__ import annotations

from typing import final

from mypy_extensions import i64


@final
class PerformanceState:
    """Belongs to a queue. Reset by every performance event of the queue, and by RESET QSTATS."""

    def __init__(self) -> None:
        self.reset_ms: i64 = 0
        self.depth_high: i64 = 0
        # The queue's running counters as they were at the reset.
        self.puts_before: i64 = 0
        self.gets_before: i64 = 0
        # Since when the queue waits for its next get; 0: it is empty, or nobody wants to know.
        self.waiting_since_ms: i64 = 0
