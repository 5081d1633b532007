"""The membership of a queue manager in a queue-sharing group: its numbers, its structures, the port to the facility.

The engine has one (`Engine.sharing`) while the queue manager is in a group. It decides nothing: `member.GroupMember`
keeps it up to date, and the verbs of this folder use it.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from ostler.engine.handle import Handle
from ostler.engine.queue.get_request import GetRequest
from ostler.engine.queue.queue import Queue
from ostler.engine.task import EngineTask
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer
from ostler.model.coupling.entries import make_id
from ostler.model.coupling.offload import Offload, OffloadRules
from ostler.model.coupling.port import Continuation, CouplingPort
from ostler.model.coupling.programs import Program
from ostler.model.definitions import Definition

_STRUCTURE_BYTES: Final = 512 << 20

# The reasons that applications get for the statuses of programs. Others are errors of our own.
_REASONS: Final[dict[int, int]] = {
    cf.OK: mq.MQRC_NONE,
    cf.NO_MESSAGE: mq.MQRC_NO_MSG_AVAILABLE,
    cf.TOO_LONG: mq.MQRC_TRUNCATED_MSG_FAILED,
    cf.Q_FULL: mq.MQRC_Q_FULL,
    cf.STRUCTURE_FULL: mq.MQRC_STORAGE_MEDIUM_FULL,
    cf.IN_USE: mq.MQRC_OBJECT_IN_USE,
    cf.FENCED: mq.MQRC_CF_NOT_AVAILABLE,
    cf.UNKNOWN_STRUCTURE: mq.MQRC_CF_STRUC_ERROR,
    cf.NOT_CONNECTED: mq.MQRC_CF_NOT_AVAILABLE,
    cf.STRUCTURE_FAILED: mq.MQRC_CF_STRUC_FAILED,
    cf.STRUCTURE_IN_USE: mq.MQRC_CF_STRUC_IN_USE,
    cf.IN_RECOVERY: mq.MQRC_CF_STRUC_IN_USE,
    cf.UNIT_DECIDED: mq.MQRC_BACKED_OUT,
    cf.UNIT_FULL: mq.MQRC_SYNCPOINT_LIMIT_REACHED,
    cf.LIMIT: mq.MQRC_RESOURCE_PROBLEM,
    cf.LINK_LOST: mq.MQRC_CF_NOT_AVAILABLE,
}


def reason_of(status: i64) -> i64:
    """Return the reason that an application gets for the status of a program."""
    return _REASONS.get(status, mq.MQRC_UNEXPECTED_ERROR)


@final
class Structure:
    """A structure of the facility as this member knows it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.level: i64 = 0  # CFLEVEL
        self.is_recoverable = False  # RECOVER(YES): persistent messages may be put
        self.is_connecting = False
        self.is_connected = False
        self.state: i64 = cf.STRUCTURE_ACTIVE
        self.status: i64 = cf.OK  # with which CONNECT was refused
        self.incarnation = b""
        self.used_bytes: i64 = 0
        self.limit_bytes: i64 = 0
        self.rules: OffloadRules | None = None
        self.rules_of: Definition | None = None  # the definition that they are from

    def note_usage(self, answer: Answer) -> None:
        """Take over what an answer says of the space."""
        if answer.limit_bytes > 0:
            self.used_bytes = answer.used_bytes
            self.limit_bytes = answer.limit_bytes

    def reason(self) -> i64:
        """Return 0, or the reason why no verb can use the structure now."""
        if self.status != cf.OK:
            return reason_of(self.status)
        if self.state == cf.STRUCTURE_STATE_FAILED:
            return mq.MQRC_CF_STRUC_FAILED
        if self.state == cf.STRUCTURE_INRECOVER:
            return mq.MQRC_CF_STRUC_IN_USE
        return mq.MQRC_NONE if self.is_connecting or self.is_connected else mq.MQRC_CF_NOT_AVAILABLE


class FacilityTask(EngineTask):
    """A verb that waits for answers of the facility: it is done when a continuation says so."""

    def step(self) -> bool:
        return self.is_done


class HeldWork(metaclass=ABCMeta):
    """Work whose outcome is not known because the link to the facility broke. It goes on when the member has joined."""

    @abstractmethod
    def resume(self) -> None:
        """Submit again: the facility is the same, and knows what it has done."""

    @abstractmethod
    def on_facility_lost(self) -> None:
        """Another facility has come, which knows nothing of it."""


@mypyc_attr(allow_interpreted_subclasses=True)
class ConnectionBreaker(metaclass=ABCMeta):
    """Ends connections of applications, for the member."""

    @abstractmethod
    def break_connection(self, number: i64) -> None:
        """End a connection as STOP CONN does, in a turn: its next verb gets MQRC_CONNECTION_BROKEN."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Terminator(metaclass=ABCMeta):
    """Ends the queue manager when it loses the facility, for the member."""

    @abstractmethod
    def terminate(self, why: str) -> None:
        """Begin the end, in a turn (CFCONLOS)."""


class StructureCommands(metaclass=ABCMeta):
    """BACKUP and RECOVER CFSTRUCT, for commands. Raises MQError when a structure is not fit for it."""

    @abstractmethod
    def begin_backup(self, name: str) -> EngineTask: ...

    @abstractmethod
    def begin_recovery(self, names: list[str], purge: bool) -> EngineTask: ...


class OwnMessages(metaclass=ABCMeta):
    """Puts messages of the queue manager itself on shared queues, for modules below."""

    @abstractmethod
    def deliver(self, queue: Queue, md: bytes, properties: bytes, body: bytes, unit: UnitOfWork | None) -> None:
        """Put a message, or dead-letter it when the facility refuses it."""


class SharedWaits(metaclass=ABCMeta):
    """The waiting gets of shared queues, for the gets that are answered."""

    @abstractmethod
    def on_got(self, queue: Queue, request: GetRequest) -> None:
        """A request was answered with a message: others that wait for the same may find the next one."""

    @abstractmethod
    def on_unseen(self, unit: UnitOfWork, is_alone: bool) -> None:
        """A unit has claimed a message for a request that has gone away. `is_alone`: it has nothing else."""


@final
class Membership:
    def __init__(self, port: CouplingPort, number: i64, start: i64, group: str) -> None:
        self.port = port
        self.group = group  # QSGNAME
        self.number: i64 = number
        self.start: i64 = start  # counts the starts of the queue manager as a member
        self.manager_names: set[str] = set()  # of the other members, for intra-group queuing
        self.structures: dict[str, Structure] = {}
        self.structure_bytes: i64 = _STRUCTURE_BYTES  # the size of structures that this member makes
        self.is_joined = False
        self.knows_definitions = True  # False: the shared repository is away, and may have what is not here
        # Units of earlier starts or links may be in flight: what they used must not be used again.
        self.is_unsettled: bool = start > 1
        self.told_lost: set[int] = set()  # numbers of units, lost with a facility, that the operator was told of
        self.lost_units: list[UnitOfWork] = []  # that wait for the recovery of their structures
        self.tags_freed = False  # an UNLOCK of a connection tag was submitted
        self.facility = b""  # identity of the facility that it has joined last
        self.own_messages: OwnMessages | None = None
        self.waits: SharedWaits | None = None
        self.recoveries: StructureCommands | None = None
        self.offload: Offload | None = None  # None: all messages are in structures
        self.expired_seen: dict[int, Queue] = {}  # queues, by id, on which gets have passed over expired messages
        self.refused: set[int] = set()  # numbers of puts outside units that the facility says it has refused
        # Persistent puts outside units without an answer, by number: where the record of each begins.
        self.pending_logged: dict[int, int] = {}
        self.held: list[HeldWork] = []
        self.is_elsewhere = False  # another facility than before was joined, and not all structures are connected yet
        self.uncounted: list[Handle] = []  # open handles that a structure does not count, because it has failed
        self.tasks: dict[EngineTask, bool] = {}  # that applications wait for
        # Decided units whose ends are in the journal. The older ones are forgotten when it is durable up to an LSN.
        self.decided: list[bytes] = []
        self.forgetting: list[bytes] = []
        self.forgetting_lsn: i64 = 0
        self._entries: i64 = 0

    def new_entry_id(self) -> bytes:
        self._entries += 1
        return make_id(self.number, self.start, self._entries)

    def unit_id(self, number: i64) -> bytes:
        return make_id(self.number, self.start, number)

    def reason(self, structure: str) -> i64:
        """Return 0, or the reason why queues of a structure cannot be used now."""
        if not self.is_joined:
            return mq.MQRC_CF_NOT_AVAILABLE
        known = self.structures.get(structure)
        return mq.MQRC_CF_STRUC_ERROR if known is None else known.reason()

    def submit(self, program: Program, after_lsn: i64, continuation: Continuation | None) -> None:
        self.port.submit(program, after_lsn, continuation)

    def begin_task(self, task: EngineTask) -> None:
        self.tasks[task] = True

    def oldest_lsn(self) -> i64:
        """Return the LSN from which the journal must be kept for puts without an answer; -1: there are none."""
        for lsn in self.pending_logged.values():
            return lsn
        return -1

    def logged_done(self, last: i64) -> i64:
        """Return the highest number of a put outside units up to which all are answered; `last` is the last given."""
        for number in self.pending_logged:
            return number - 1
        return last
