"""Smaller batches for a partner whose log has no room for batches of the negotiated size.

A partner that refuses a batch because its log is full gets a batch half that size next time, then half of that, down to
single messages; and no batch is sent before the previous one is confirmed. After a number of successful batches the
limit doubles. Each further refusal raises that number, since each costs a retry of the channel. The limits are lost
when the queue manager ends.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

_SUCCESSES: Final = 16  # batches at the limit before it is doubled
_SUCCESSES_FACTOR: Final = 4  # for each further refusal
_SUCCESSES_MAX: Final = 1_000_000


@final
class BatchLimit:
    """The limit of one channel."""

    def __init__(self, messages: i64) -> None:
        self.messages: i64 = messages
        self._successes_needed: i64 = _SUCCESSES
        self._successes: i64 = 0

    def lower(self, messages: i64) -> None:
        """Halve the limit, because a batch of `messages` messages was refused."""
        self.messages = max(1, min(self.messages, messages) // 2)
        self._successes_needed = min(_SUCCESSES_MAX, self._successes_needed * _SUCCESSES_FACTOR)
        self._successes = 0

    def count_success(self, messages: i64) -> bool:
        """Count a confirmed batch of `messages` messages. Return True if the limit was raised."""
        if messages < self.messages:
            return False  # it was smaller than the limit
        self._successes += 1
        if self._successes < self._successes_needed:
            return False
        self._successes = 0
        self.messages *= 2
        return True


@final
class BatchLimits:
    """The limits of all channels of a queue manager, by channel name."""

    def __init__(self) -> None:
        self._limits: dict[str, BatchLimit] = {}

    def find(self, channel: str) -> BatchLimit | None:
        """Return the limit of a channel, or None if batches may have the negotiated size."""
        return self._limits.get(channel)

    def lower(self, channel: str, messages: i64) -> bool:
        """Lower the limit after the refusal of a batch of `messages` messages. Return True for the first refusal."""
        limit = self._limits.get(channel)
        if limit is not None:
            limit.lower(messages)
            return False
        if messages < 2:
            return False  # no smaller batch is possible
        self._limits[channel] = BatchLimit(messages // 2)
        return True

    def count_success(self, channel: str, messages: i64, negotiated: i64) -> None:
        """Count a confirmed batch, and drop the limit once it has reached the negotiated size."""
        limit = self._limits.get(channel)
        if limit is not None and limit.count_success(messages) and limit.messages >= negotiated:
            del self._limits[channel]


def too_large_text(channel: str, partner: str, messages: i64) -> str:
    """Return the operator message for the first refusal."""
    return (
        f"AMQ9509W: Channel {channel}: the log of {partner} has no room for a batch of {messages} messages. "
        "Smaller batches are sent. Give that log more files, or lower BATCHSZ or BATCHLIM."
    )
