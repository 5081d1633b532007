"""Programs of the coupling facility. The docstring of each says what it does and how it may be refused."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.model.coupling import terms as cf
from ostler.model.coupling.entries import NO_UNIT, Entry

JOIN: Final = 1
LEAVE: Final = 2
CONNECT: Final = 3
DISCONNECT: Final = 4
DELETE_STRUCTURE: Final = 5
OPEN: Final = 6
CLOSE: Final = 7
PUT: Final = 8
GET: Final = 9
LIST: Final = 10
PREPARE: Final = 11
DECIDE: Final = 12
FORGET: Final = 13
WATCH: Final = 14
BEGIN_RECOVERY: Final = 15
END_RECOVERY: Final = 16
UNITS: Final = 17
LOCK: Final = 18
UNLOCK: Final = 19
LOCKS: Final = 20
TAKE_FREED: Final = 21
INQUIRE: Final = 22
STATUS: Final = 23
MEMBERS: Final = 24
DUMP: Final = 25
LOAD: Final = 26
SET_STATE: Final = 27
ANNOUNCE: Final = 28
PURGE: Final = 29
RELEASE: Final = 30

PROGRAM_NAMES: Final = (
    "",
    "JOIN",
    "LEAVE",
    "CONNECT",
    "DISCONNECT",
    "DELETE_STRUCTURE",
    "OPEN",
    "CLOSE",
    "PUT",
    "GET",
    "LIST",
    "PREPARE",
    "DECIDE",
    "FORGET",
    "WATCH",
    "BEGIN_RECOVERY",
    "END_RECOVERY",
    "UNITS",
    "LOCK",
    "UNLOCK",
    "LOCKS",
    "TAKE_FREED",
    "INQUIRE",
    "STATUS",
    "MEMBERS",
    "DUMP",
    "LOAD",
    "SET_STATE",
    "ANNOUNCE",
    "PURGE",
    "RELEASE",
)


class Program:
    """A program for the facility. The link of the member sets `fence` when it sends the program."""

    def __init__(self, kind: i64) -> None:
        self.kind: i64 = kind
        self.fence: i64 = 0


class StructureProgram(Program):
    """A program on one structure. The answer has its `used_bytes` and `limit_bytes`."""

    def __init__(self, kind: i64, structure: str) -> None:
        super().__init__(kind)
        self.structure = structure


class QueueProgram(StructureProgram):
    """A program on one shared queue. Queues come into being when they are opened, put to or loaded."""

    def __init__(self, kind: i64, structure: str, queue: str) -> None:
        super().__init__(kind, structure)
        self.queue = queue


@final
class JoinProgram(Program):
    """Make the link that of a member: the first program of a link. Answered with JoinAnswer.

    `member` is its number in the group, never used again for another; `start` counts the starts of the queue manager.
    Refused: MEMBER_ACTIVE, IN_RECOVERY, STALE_START, LIMIT. Opens and watches of an earlier link are gone. Units stay,
    and locks until END_RECOVERY of the member's own number, which it submits when it has resolved its units in flight.
    """

    def __init__(self, member: i64, start: i64, name: str) -> None:
        super().__init__(JOIN)
        self.member: i64 = member
        self.start: i64 = start
        self.name = name


@final
class LeaveProgram(Program):
    """End membership in order: opens, watches and locks are freed. UNITS_LEFT: units in flight must be decided first.

    Units in doubt and tombstones stay.
    """

    def __init__(self) -> None:
        super().__init__(LEAVE)


@final
class ConnectProgram(StructureProgram):
    """Connect the member to a structure, which is made if it is not there. Answered with ConnectAnswer.

    The size counts when it is made. A higher level raises that of the structure. `fails_if_new`: one that is made is
    FAILED at once, because another facility had it before, and its messages must be recovered.
    """

    def __init__(self, structure: str, size_bytes: i64, level: i64, fails_if_new: bool = False) -> None:
        super().__init__(CONNECT, structure)
        self.size_bytes: i64 = size_bytes
        self.level: i64 = level
        self.fails_if_new = fails_if_new


@final
class DisconnectProgram(StructureProgram):
    """Disconnect the member from a structure: its opens and watches there are freed. The structure stays."""

    def __init__(self, structure: str) -> None:
        super().__init__(DISCONNECT, structure)


@final
class DeleteStructureProgram(StructureProgram):
    """Delete a structure. NOT_EMPTY: it has entries and `forced` is not set, or another member is connected."""

    def __init__(self, structure: str, forced: bool = False) -> None:
        super().__init__(DELETE_STRUCTURE, structure)
        self.forced = forced


@final
class OpenProgram(QueueProgram):
    """Count an open of a queue: INPUT_SHARED, INPUT_EXCLUSIVE, OUTPUT. IN_USE: exclusive input excludes all other.

    Answered with QueueAnswer. `indexes` are those that the queue keeps from now on; a get by an identifier without its
    index makes one first, which takes time on a long queue.
    """

    def __init__(self, structure: str, queue: str, options: i64, indexes: i64 = 0) -> None:
        super().__init__(OPEN, structure, queue)
        self.options: i64 = options
        self.indexes: i64 = indexes


@final
class CloseProgram(QueueProgram):
    """Take back one open with the same options. WRONG_STATE: the member has no such open. Answered with QueueAnswer."""

    def __init__(self, structure: str, queue: str, options: i64) -> None:
        super().__init__(CLOSE, structure, queue)
        self.options: i64 = options


@final
class PutProgram(QueueProgram):
    """Put an entry: committed without a unit, else uncommitted. Answered with PutAnswer.

    `depth_max` 0: no limit. `logged` is the number of a persistent put outside units, counted by the member, sent in
    the order of its log; 0: none. If such a put is refused, its number is noted as refused until ForgetProgram.
    """

    def __init__(
        self, structure: str, queue: str, entry: Entry, unit: bytes = NO_UNIT, depth_max: i64 = 0, logged: i64 = 0
    ) -> None:
        super().__init__(PUT, structure, queue)
        self.entry = entry
        self.unit = unit
        self.depth_max: i64 = depth_max
        self.logged: i64 = logged


@final
class GetProgram(QueueProgram):
    """Get or browse the first committed entry that matches. Answered with GetAnswer.

    `id` is what MSG_ID, CORREL_ID, GROUP_ID (24 bytes), MSG_AND_CORREL_ID (48 bytes) or ENTRY_ID (16 bytes) compares;
    `key` belongs to FIRST_AFTER_KEY and AT_KEY, and the four identifiers before ENTRY_ID are looked for behind it.
    Entries that have expired at `now_ms` are passed over; 0: none is. One program looks at so many entries only: where
    NO_MESSAGE has a `through_key`, the member asks again with it as `key` (FIRST as FIRST_AFTER_KEY).
    A body longer than `body_bytes_max` is cut in the answer; unless `truncation_accepted`, the entry stays (TOO_LONG).
    An offloaded body counts with its whole length. The body is not sent at all where `body_bytes_max` is 0.
    `watch`: when nothing matches and all entries were seen, the member watches as with WatchProgram: for the
    identifier, or with FIRST and FIRST_AFTER_KEY for anything that comes.
    REMOVE of an offloaded entry frees its body while the caller still reads it: use CLAIM_IF_NEEDED.

    `others` are identifiers of further entries of the queue that CLAIM takes in the same step: all of them or nothing
    (NO_MESSAGE when one is not committed, has expired or is locked). The answer has the first one only.
    `handle` is the number of the asking handle, 0: none. An entry that another handle or member has locked is passed
    over. BROWSE with `locks` locks the entry for the handle, until ReleaseProgram, until the handle takes it, or until
    the member's link, connection or membership ends. LIST, PURGE and DUMP do not mind locks.
    """

    def __init__(self, structure: str, queue: str, mode: i64, match: i64 = cf.FIRST) -> None:
        super().__init__(GET, structure, queue)
        self.mode: i64 = mode
        self.match: i64 = match
        self.id = b""
        self.key: i64 = 0
        self.unit = NO_UNIT
        self.now_ms: i64 = 0
        self.body_bytes_max: i64 = 1 << 40
        self.truncation_accepted = False
        self.watch = False
        self.others: list[bytes] = []
        self.handle: i64 = 0
        self.locks = False


@final
class ListProgram(QueueProgram):
    """List committed entries behind a key, in their order. Answered with ListAnswer.

    At most `count_max` entries, and `bytes_max` bytes beyond the first one. `with_bodies` false: descriptors,
    properties and references only. `expired_ms` not 0: only those that have expired then; such a slice may be
    empty without being the last one. `group_id` not empty: only entries of that group (24 bytes, not null).
    """

    def __init__(self, structure: str, queue: str, after_key: i64 = -1) -> None:
        super().__init__(LIST, structure, queue)
        self.after_key: i64 = after_key
        self.count_max: i64 = 100
        self.bytes_max: i64 = cf.SLICE_BYTES_MAX
        self.with_bodies = False
        self.expired_ms: i64 = 0
        self.group_id = b""


@final
class PrepareProgram(Program):
    """Make a unit in flight one in doubt, with the identifier of its transaction. It is left alone by peers."""

    def __init__(self, unit: bytes, xid: bytes) -> None:
        super().__init__(PREPARE)
        self.unit = unit
        self.xid = xid


@final
class DecideProgram(Program):
    """Commit or back out a unit, in all structures at once. Answered with DecideAnswer, which has the outcome in force.

    Its owner may decide always; others while the owner is RECOVERING, and units in doubt while it is not ACTIVE
    (otherwise MEMBER_ACTIVE or WRONG_STATE). A unit that was decided keeps its outcome. `keep` false: no tombstone, for
    units without anything persistent. UNKNOWN_UNIT: it has no operations here, or was forgotten. A member that recovers
    a structure notes the outcome of units that are not known here: it leaves their tombstones for their owners.
    """

    def __init__(self, unit: bytes, commit: bool, keep: bool = True) -> None:
        super().__init__(DECIDE)
        self.unit = unit
        self.commit = commit
        self.keep = keep


@final
class ForgetProgram(Program):
    """Drop tombstones of the member's units, and notes of refused puts up to a number. Others and unknown ones stay."""

    def __init__(self, units: list[bytes], refused_through: i64 = 0) -> None:
        super().__init__(FORGET)
        self.units = units
        self.refused_through: i64 = refused_through


@final
class WatchProgram(QueueProgram):
    """Begin or end to watch a queue. QueueNotEmpty tells, at once if there is something.

    WATCH_WAITERS with match FIRST lasts until WATCH_OFF; with an identifier (MSG_ID, CORREL_ID, MSG_AND_CORREL_ID,
    GROUP_ID) it ends when it is told once. WATCH_TRIGGERS has no identifier.
    """

    def __init__(self, structure: str, queue: str, mode: i64, match: i64 = cf.FIRST, id: bytes = b"") -> None:
        super().__init__(WATCH, structure, queue)
        self.mode: i64 = mode
        self.match: i64 = match
        self.id = id


@final
class BeginRecoveryProgram(Program):
    """Claim the recovery of a member that FAILED. Answered with RecoveryAnswer; its units: UnitsProgram.

    `forced`: an ACTIVE member is fenced first. IN_RECOVERY: another one has claimed it and is ACTIVE.
    """

    def __init__(self, member: i64, forced: bool = False) -> None:
        super().__init__(BEGIN_RECOVERY)
        self.member: i64 = member
        self.forced = forced


@final
class EndRecoveryProgram(Program):
    """End the recovery of a member: its opens, watches and locks are freed, and it has LEFT.

    UNITS_LEFT: some of its units are in flight. With the member's own number: the locks of its earlier links are freed,
    once no units of earlier links are in flight.
    """

    def __init__(self, member: i64) -> None:
        super().__init__(END_RECOVERY)
        self.member: i64 = member


@final
class UnitsProgram(Program):
    """List descriptors of a member (0: of all) behind a unit, in the order of their identifiers: UnitsAnswer."""

    def __init__(self, member: i64, after: bytes = b"", count_max: i64 = 1000) -> None:
        super().__init__(UNITS)
        self.member: i64 = member
        self.after = after
        self.count_max: i64 = count_max


@final
class LockProgram(Program):
    """Take a lock, or change the value of one's own. LOCKED: another member, or an earlier link of this one, has it.

    Answered with LocksAnswer, which has the lock as it is now.
    """

    def __init__(self, name: str, value: bytes = b"") -> None:
        super().__init__(LOCK)
        self.name = name
        self.value = value


@final
class UnlockProgram(Program):
    """Free a lock. NOT_LOCKED: the member does not have it."""

    def __init__(self, name: str) -> None:
        super().__init__(UNLOCK)
        self.name = name


@final
class LocksProgram(Program):
    """List locks whose names begin so, behind a name, in the order of their names: LocksAnswer."""

    def __init__(self, prefix: str = "", after: str = "") -> None:
        super().__init__(LOCKS)
        self.prefix = prefix
        self.after = after


@final
class TakeFreedProgram(StructureProgram):
    """Take references of the member's bodies whose entries are gone. Answered with FreedAnswer.

    At least once: `taken_through` is the `through` of the last answer that was obeyed, and only those are dropped.
    After a space map was made from DUMP, all that was freed before is in the map already: take and drop it.
    """

    def __init__(self, structure: str, taken_through: i64, count_max: i64 = 1000) -> None:
        super().__init__(TAKE_FREED, structure)
        self.taken_through: i64 = taken_through
        self.count_max: i64 = count_max


@final
class InquireProgram(QueueProgram):
    """Answered with QueueAnswer: depth, uncommitted, opens of all members. A queue that is not there has none."""

    def __init__(self, structure: str, queue: str) -> None:
        super().__init__(INQUIRE, structure, queue)


@final
class StatusProgram(StructureProgram):
    """Answered with StatusAnswer, of one structure or, with an empty name, of all. May come without JOIN."""

    def __init__(self, structure: str = "") -> None:
        super().__init__(STATUS, structure)


@final
class MembersProgram(Program):
    """Answered with MembersAnswer. May come without JOIN."""

    def __init__(self) -> None:
        super().__init__(MEMBERS)


@final
class DumpProgram(StructureProgram):
    """List entries of a structure in all places, queue by queue, behind a queue and key: DumpAnswer.

    An entry that is there from the first slice to the last is in exactly one of them. `persistent_only` for backups.
    `owner` not 0: only entries whose bodies this member keeps, for its space map.
    """

    def __init__(self, structure: str) -> None:
        super().__init__(DUMP, structure)
        self.after_queue = ""
        self.after_key: i64 = -1
        self.count_max: i64 = 1000
        self.bytes_max: i64 = cf.SLICE_BYTES_MAX
        self.with_bodies = True
        self.persistent_only = False
        self.owner: i64 = 0


@final
class LoadProgram(QueueProgram):
    """Load entries into a structure that the member recovers (INRECOVER). Those with known identifiers are passed over.

    `unit` not empty: they are uncommitted puts, or with `got` claimed, of a unit; PREPARE makes it in doubt again.
    """

    def __init__(
        self, structure: str, queue: str, entries: list[Entry], unit: bytes = NO_UNIT, got: bool = False
    ) -> None:
        super().__init__(LOAD, structure, queue)
        self.entries = entries
        self.unit = unit
        self.got = got


@final
class SetStateProgram(StructureProgram):
    """Change the state of a structure, if it is the expected one (0: any). WRONG_STATE: it is not, or cannot be.

    ACTIVE to INBACKUP and back: a member's backup; if the member is lost, the state falls back. Any to FAILED: all
    entries are gone. FAILED to INRECOVER: empty, with a new incarnation, open to LOAD of this member only; if the
    member is lost, FAILED again. INRECOVER to ACTIVE: open to all.
    """

    def __init__(self, structure: str, expected: i64, state: i64) -> None:
        super().__init__(SET_STATE, structure)
        self.expected: i64 = expected
        self.state: i64 = state


@final
class AnnounceProgram(Program):
    """Tell a text to all other members: Announced."""

    def __init__(self, text: str) -> None:
        super().__init__(ANNOUNCE)
        self.text = text


@final
class PurgeProgram(QueueProgram):
    """Remove committed entries of a queue, at most `count_max`: CLEAR QLOCAL. Answered with QueueAnswer.

    The queue stays. IN_USE: somebody has it open for input or there are uncommitted operations, unless `forced`.
    """

    def __init__(self, structure: str, queue: str, count_max: i64 = cf.SLICE_ENTRIES_MAX, forced: bool = False) -> None:
        super().__init__(PURGE, structure, queue)
        self.count_max: i64 = count_max
        self.forced = forced


@final
class ReleaseProgram(QueueProgram):
    """Unlock an entry that a handle of the member has locked by GetProgram. Those who watch for it are told.

    NOT_LOCKED: it is gone, or no handle of the member has it locked.
    """

    def __init__(self, structure: str, queue: str, entry: bytes) -> None:
        super().__init__(RELEASE, structure, queue)
        self.entry = entry
