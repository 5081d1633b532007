"""Retries of a failed channel: SHORTRTY, SHORTTMR, LONGRTY and LONGTMR.

Short retries come first: SHORTRTY of them, each SHORTTMR seconds after the failure. Then follow the long retries. The
counts are reset when the channel is started and when messages get through, but not when a partner merely answers: a
partner that accepts connections and then drops them must not be called at short intervals for ever.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

EXHAUSTED: Final = -1


@final
class RetryCounter:
    """Counts the remaining retries of a channel."""

    def __init__(self, short_count: i64, short_seconds: i64, long_count: i64, long_seconds: i64) -> None:
        self._short_count: i64 = short_count
        self._short_seconds: i64 = short_seconds
        self._long_count: i64 = long_count
        self._long_seconds: i64 = long_seconds
        self.short_left: i64 = short_count  # SHORTRTS of DISPLAY CHSTATUS
        self.long_left: i64 = long_count  # LONGRTS of DISPLAY CHSTATUS

    def next_seconds(self) -> i64:
        """Use up one retry and return the time until it is due. EXHAUSTED (-1) if none is left."""
        if self.short_left > 0:
            self.short_left -= 1
            return self._short_seconds
        if self.long_left > 0:
            self.long_left -= 1
            return self._long_seconds
        return EXHAUSTED

    def reset(self) -> None:
        """Reset both counts."""
        self.short_left = self._short_count
        self.long_left = self._long_count
