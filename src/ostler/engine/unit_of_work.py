"""Units of work: the uncommitted puts and gets of an application under syncpoint."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64

from ostler.engine.outcomes import PutOutcome, UnitOutcome
from ostler.engine.task import EngineTask

if TYPE_CHECKING:
    from ostler.engine.queue.queue import Queue

ACTIVE: Final = 0
PREPARED: Final = 1
ENDED: Final = 2

_NO_TOPICS: Final[dict[int, str]] = {}


@final
class Entry:
    """One put or get. The sequence number tells whether the slot still holds the message."""

    def __init__(self, queue: Queue, slot: i64, seq: i64, is_put: bool, is_persistent: bool) -> None:
        self.queue = queue
        self.slot: i64 = slot
        self.seq: i64 = seq
        self.is_put = is_put
        self.is_persistent = is_persistent


class SharedPart(metaclass=ABCMeta):
    """The messages of a unit that are on shared queues. The coupling facility decides on the unit (`shared.units`)."""

    def __init__(self) -> None:
        self.operations: i64 = 0  # that the facility has
        self.is_decided = False  # by the facility
        self.end_task: EngineTask | None = None  # of an end that is under way, and that somebody may wait for

    @abstractmethod
    def commit(self) -> UnitOutcome:
        """Have the facility decide. The rest of the unit follows its decision, and then the task is done."""

    @abstractmethod
    def commit_put(self, outcome: PutOutcome) -> None:
        """Commit a unit of the queue manager itself, which one put has made. `outcome` gets the task to wait for."""

    @abstractmethod
    def prepare(self, xid: bytes) -> UnitOutcome:
        """Prepare the unit here and in the facility, for a coordinator."""

    @abstractmethod
    def on_back_out(self, lsn: i64) -> None:
        """Have the facility back out, when the journal is durable up to `lsn`. The rest is backed out now."""


@final
class UnitOfWork:
    def __init__(self, number: i64) -> None:
        self.number: i64 = number
        self.state: i64 = ACTIVE
        self.entries: list[Entry] = []
        # Start of its first journal record, from which the journal must be kept. -1: it has none.
        self.first_lsn: i64 = -1
        self.started_ms: i64 = 0
        self.xid: bytes = b""
        self.backed_out_by_system = False
        self.is_retaining = False  # its puts include retained publications
        self.topics: dict[int, str] = _NO_TOPICS  # those of its retained publications, by sequence number
        # Damaged queues that it has messages on, found at a restart. Only the journal has these messages.
        self.missing_queues: list[int] = []
        self.shared: SharedPart | None = None
        # Number of the start of the queue manager in the facility's identifier of the unit, found at a restart.
        self.shared_start: i64 = 0

    def has(self, queue: Queue, seq: i64) -> bool:
        """Return True when a message is among its puts and gets."""
        for entry in self.entries:
            if entry.seq == seq and entry.queue is queue:
                return True
        return False
