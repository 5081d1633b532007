"""Numbers of subscriptions by durability and type, with their highest and lowest values in intervals."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

# Entries of each durability: all, then by SUBTYPE (API, ADMIN, PROXY), as in MQI statistics messages.
TYPES: Final = 4
_NON_DURABLE: Final = TYPES


@final
class HighLowMarks:
    """Highest and lowest numbers since `SubscriptionCounts.begin`. Durable ones first, then the others."""

    def __init__(self) -> None:
        self.high: list[int] = [0] * (2 * TYPES)
        self.low: list[int] = [0] * (2 * TYPES)


@final
class SubscriptionCounts:
    def __init__(self) -> None:
        self.numbers: list[int] = [0] * (2 * TYPES)
        # Statistics messages and system topics have intervals of their own.
        self.of_statistics = HighLowMarks()
        self.of_monitoring = HighLowMarks()

    def begin(self, marks: HighLowMarks) -> None:
        """Begin a new interval."""
        marks.high = list(self.numbers)
        marks.low = list(self.numbers)

    def change(self, is_durable: bool, type: i64, by: i64) -> None:
        """Record that a subscription of a type (MQSUBTYPE) was added (1) or removed (-1)."""
        first: i64 = 0 if is_durable else _NON_DURABLE
        self._change(first, by)
        if 0 < type < TYPES:
            self._change(first + type, by)

    def _change(self, at: i64, by: i64) -> None:
        number: i64 = self.numbers[at] + by
        self.numbers[at] = number
        for marks in (self.of_statistics, self.of_monitoring):
            if number > marks.high[at]:
                marks.high[at] = number
            elif number < marks.low[at]:
                marks.low[at] = number
