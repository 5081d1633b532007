"""A unit of work: what an application did under syncpoint and has not yet committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64

if TYPE_CHECKING:
    from ostler.engine.queue.queue import Queue

ACTIVE: Final = 0
PREPARED: Final = 1
ENDED: Final = 2


@final
class Entry:
    """One put or get. The sequence number guards against a slot that was given to another message."""

    def __init__(self, queue: Queue, slot: i64, seq: i64, is_put: bool, is_persistent: bool) -> None:
        self.queue = queue
        self.slot: i64 = slot
        self.seq: i64 = seq
        self.is_put = is_put
        self.is_persistent = is_persistent


@final
class UnitOfWork:
    def __init__(self, number: i64) -> None:
        self.number: i64 = number
        self.state: i64 = ACTIVE
        self.entries: list[Entry] = []
        # Where its first journal record begins: the journal must be kept from here. -1: it has none.
        self.first_lsn: i64 = -1
        self.started_ms: i64 = 0
        self.xid: bytes = b""
        self.backed_out_by_system = False
        self.is_retaining = False  # there are retained publications among its puts
        # Damaged queues that it has messages of, found at a restart: only the journal knows which.
        self.missing_queues: list[int] = []

    def has(self, queue: Queue, seq: i64) -> bool:
        """Whether this message of that queue is among its puts and gets."""
        for entry in self.entries:
            if entry.seq == seq and entry.queue is queue:
                return True
        return False
