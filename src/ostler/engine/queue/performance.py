"""State for the performance events of a queue: counts since the last event, and the time it has waited for a get."""

from __future__ import annotations

from typing import final

from mypy_extensions import i64


@final
class PerformanceState:
    """Belongs to a queue. Every performance event of the queue and RESET QSTATS reset it."""

    def __init__(self) -> None:
        self.reset_ms: i64 = 0
        self.depth_high: i64 = 0
        # The queue's counters at the reset.
        self.puts_before: i64 = 0
        self.gets_before: i64 = 0
        # Since when the queue has waited for its next get; 0: it is empty, or service interval events are off.
        self.waiting_since_ms: i64 = 0
