"""How often, and after how long, a channel tries again that failed: SHORTRTY, SHORTTMR, LONGRTY and LONGTMR.

First come the short retries, as many as SHORTRTY says, each SHORTTMR seconds after the failure; then the long ones.
The counts begin anew when somebody starts the channel and when messages get through, not when a partner merely answers:
one that takes calls and then breaks off must not be called at short intervals for ever.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

EXHAUSTED: Final = -1


@final
class RetryCounter:
    """What is left of a channel's retries."""

    def __init__(self, short_count: i64, short_seconds: i64, long_count: i64, long_seconds: i64) -> None:
        self._short_count: i64 = short_count
        self._short_seconds: i64 = short_seconds
        self._long_count: i64 = long_count
        self._long_seconds: i64 = long_seconds
        self.short_left: i64 = short_count  # as SHORTRTS of CHSTATUS shows it
        self.long_left: i64 = long_count  # as LONGRTS shows it

    def next_seconds(self) -> i64:
        """How long to wait until the next retry, which is thereby used up. EXHAUSTED (-1): there is none."""
        if self.short_left > 0:
            self.short_left -= 1
            return self._short_seconds
        if self.long_left > 0:
            self.long_left -= 1
            return self._long_seconds
        return EXHAUSTED

    def reset(self) -> None:
        """Begin the counts anew."""
        self.short_left = self._short_count
        self.long_left = self._long_count
