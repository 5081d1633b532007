"""A batch that is being sent, and what went over a channel so far."""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from ostler.channel.sync_records import InDoubt
from ostler.engine.unit_of_work import UnitOfWork


@final
class Batch:
    """Messages that are committed together."""

    def __init__(self, number: i64, unit: UnitOfWork, first: i64, now_ms: i64) -> None:
        self.number: i64 = number
        self.unit = unit
        self.first: i64 = first
        self.last: i64 = 0
        self.messages: i64 = 0
        self.bytes: i64 = 0
        self.began_ms: i64 = now_ms
        self.confirm_ms: i64 = 0
        self.luwid: bytes = b""

    def doubt(self, channel: str) -> InDoubt:
        return InDoubt(self.unit, channel, self.luwid, self.first, self.last, self.messages)


@final
class Figures:
    """What went over a channel since it was started."""

    def __init__(self) -> None:
        self.messages: i64 = 0
        self.batches: i64 = 0
        self.last_message_ms: i64 = 0
        self.plain_bytes: i64 = 0  # before they were compressed
        self.sent_bytes: i64 = 0
        self.dead_letters: i64 = 0
        self.key_resets: i64 = 0
        self.key_reset_ms: i64 = 0
        self.confirm_ms: i64 = 0  # lately, from the question to the answer
        self.batch_messages: i64 = 0  # in all batches
