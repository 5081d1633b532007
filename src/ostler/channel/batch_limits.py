"""Smaller batches for a partner whose log cannot take those that were agreed upon.

A partner that refuses a batch because its log is full gets half of it next time, and then half of that, down to single
messages; and no batch is sent ahead of the one before it. When batches of that size have gone well for a while, twice
as many messages are tried. Each further refusal makes that while longer, since each costs a retry of the channel.
What is known here is forgotten when the queue manager ends.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

_PATIENCE: Final = 16  # batches that go well before larger ones are tried
_MORE_PATIENCE: Final = 4  # times as many after each refusal
_PATIENCE_MAX: Final = 1_000_000


@final
class BatchLimit:
    def __init__(self, messages: i64) -> None:
        self.messages: i64 = messages
        self._patience: i64 = _PATIENCE
        self._went_well: i64 = 0

    def refused(self, messages: i64) -> None:
        """A batch of so many messages was too large again."""
        self.messages = max(1, min(self.messages, messages) // 2)
        self._patience = min(_PATIENCE_MAX, self._patience * _MORE_PATIENCE)
        self._went_well = 0

    def confirmed(self, messages: i64) -> bool:
        """A batch of so many messages went well. Whether larger ones are tried from now on."""
        if messages < self.messages:
            return False  # it says nothing about larger ones
        self._went_well += 1
        if self._went_well < self._patience:
            return False
        self._went_well = 0
        self.messages *= 2
        return True


@final
class BatchLimits:
    """Those of all channels of a queue manager."""

    def __init__(self) -> None:
        self._limits: dict[str, BatchLimit] = {}

    def find(self, channel: str) -> BatchLimit | None:
        """None: batches may be as large as both ends have agreed."""
        return self._limits.get(channel)

    def refused(self, channel: str, messages: i64) -> bool:
        """The partner has no room for a batch of so many messages. Whether that is news."""
        limit = self._limits.get(channel)
        if limit is not None:
            limit.refused(messages)
            return False
        if messages < 2:
            return False  # there is nothing smaller
        self._limits[channel] = BatchLimit(messages // 2)
        return True

    def confirmed(self, channel: str, messages: i64, agreed: i64) -> None:
        """A batch of so many messages went well; there is no limit any more when it is as large as was agreed upon."""
        limit = self._limits.get(channel)
        if limit is not None and limit.confirmed(messages) and limit.messages >= agreed:
            del self._limits[channel]


def too_large_text(channel: str, partner: str, messages: i64) -> str:
    """What the operator is told of the first refusal."""
    return (
        f"AMQ9509W: Channel {channel}: the log of {partner} has no room for a batch of {messages} messages. "
        "Smaller ones are tried. Give that log more files, or lower BATCHSZ or BATCHLIM."
    )
