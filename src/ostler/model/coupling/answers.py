"""Answers of the coupling facility, one class for each kind of program that tells more than a status."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.model.coupling import terms as cf
from ostler.model.coupling.entries import Entry


class Answer:
    """The answer of a program. A program that is refused may be answered with this class alone."""

    def __init__(self, status: i64) -> None:
        self.status: i64 = status
        self.count: i64 = 0
        """Programs of the member that changed something, this one included."""
        self.used_bytes: i64 = 0
        self.limit_bytes: i64 = 0
        """Of the program's structure; 0: it had none."""


@final
class JoinAnswer(Answer):
    def __init__(self, fence: i64, facility: bytes) -> None:
        super().__init__(cf.OK)
        self.fence: i64 = fence
        self.facility = facility
        """Identity of the facility: another one than before means that its memory is gone."""
        self.logged: i64 = 0
        """The highest number of a logged put that was run or refused."""
        self.refused: list[int] = []
        """Logged numbers that were refused and not forgotten."""
        self.units: i64 = 0
        """Descriptors of the member."""
        self.in_flight: i64 = 0
        """Those among them that it must resolve."""


@final
class ConnectAnswer(Answer):
    def __init__(self) -> None:
        super().__init__(cf.OK)
        self.incarnation = b""
        self.is_new = False
        self.state: i64 = 0
        self.level: i64 = 0
        self.size_bytes: i64 = 0


@final
class QueueAnswer(Answer):
    def __init__(self) -> None:
        super().__init__(cf.OK)
        self.depth: i64 = 0
        """CURDEPTH: committed entries and uncommitted puts."""
        self.uncommitted: i64 = 0
        """Uncommitted puts and gets."""
        self.input_count: i64 = 0
        """IPPROCS of the group."""
        self.output_count: i64 = 0
        self.member_input_count: i64 = 0
        """Of the asking member alone."""
        self.member_output_count: i64 = 0
        self.is_exclusive = False


@final
class PutAnswer(Answer):
    def __init__(self, key: i64, depth: i64, input_count: i64) -> None:
        super().__init__(cf.OK)
        self.key: i64 = key
        self.depth: i64 = depth
        self.input_count: i64 = input_count


@final
class GetAnswer(Answer):
    """With OK and TOO_LONG it has the entry; `entry.body` is cut to `body_bytes_max`, `entry.body_length` is whole."""

    def __init__(self, status: i64, entry: Entry | None, depth: i64) -> None:
        super().__init__(status)
        self.entry = entry
        self.depth: i64 = depth
        self.is_claimed = False
        """The entry is GOT by the unit. False after CLAIM_IF_NEEDED: it is removed."""
        self.is_watched = False
        """Nothing matched, and the member watches now."""
        self.expired_seen = False
        """Expired entries were passed over: list and claim them."""
        self.through_key: i64 = 0
        """Nothing matched up to this key, and the program has stopped there; 0: it has seen all."""


@final
class ListAnswer(Answer):
    def __init__(self) -> None:
        super().__init__(cf.OK)
        self.entries: list[Entry] = []
        self.through_key: i64 = 0
        """For `after_key` of the next slice."""
        self.is_end = False
        """Nothing is behind this slice."""


@final
class DecideAnswer(Answer):
    def __init__(self, outcome: i64) -> None:
        super().__init__(cf.OK)
        self.outcome: i64 = outcome
        """UNIT_COMMITTED or UNIT_BACKED_OUT."""


@final
class RecoveryAnswer(Answer):
    def __init__(self) -> None:
        super().__init__(cf.OK)
        self.units: i64 = 0
        self.in_flight: i64 = 0
        self.name = ""
        self.start: i64 = 0


@final
class UnitStatus:
    """A descriptor. `puts` and `gets` count its operations while it is in flight or in doubt."""

    def __init__(self, unit: bytes, state: i64, xid: bytes, puts: i64, gets: i64) -> None:
        self.unit = unit
        self.state: i64 = state
        self.xid = xid
        self.puts: i64 = puts
        self.gets: i64 = gets


@final
class UnitsAnswer(Answer):
    def __init__(self) -> None:
        super().__init__(cf.OK)
        self.units: list[UnitStatus] = []
        self.is_end = False


@final
class LockStatus:
    """A lock. `fence` is that of the owner's link when it was taken: an earlier one waits for END_RECOVERY."""

    def __init__(self, name: str, member: i64, fence: i64, value: bytes) -> None:
        self.name = name
        self.member: i64 = member
        self.fence: i64 = fence
        self.value = value


@final
class LocksAnswer(Answer):
    def __init__(self, status: i64) -> None:
        super().__init__(status)
        self.locks: list[LockStatus] = []
        self.is_end = True


@final
class FreedAnswer(Answer):
    def __init__(self) -> None:
        super().__init__(cf.OK)
        self.references: list[bytes] = []
        self.through: i64 = 0
        """For `taken_through` of the next program, when these are obeyed."""
        self.is_end = False
        self.is_lost = False
        """Too many were not taken, and some were dropped: the space map must be made anew."""


@final
class StructureStatus:
    def __init__(self, name: str) -> None:
        self.name = name
        self.incarnation = b""
        self.state: i64 = 0
        self.state_member: i64 = 0
        """The member that backs up or recovers."""
        self.level: i64 = 0
        self.size_bytes: i64 = 0
        self.used_bytes: i64 = 0
        self.limit_bytes: i64 = 0
        self.entries: i64 = 0
        self.offloaded: i64 = 0
        """Entries with references."""
        self.queues: i64 = 0
        self.members: list[int] = []
        """Numbers of the members that are connected."""


@final
class StatusAnswer(Answer):
    def __init__(self) -> None:
        super().__init__(cf.OK)
        self.facility = b""
        self.structures: list[StructureStatus] = []


COMMAND_STRUCTURE: Final = "CSQSYSAPPL"
"""Commands for members and their answers (CMDSCOPE) are there; they expire by themselves."""


def count_messages(structures: list[StructureStatus]) -> int:
    """Return how many messages would be missed if a facility ended: those of applications."""
    return sum(int(each.entries) for each in structures if each.name != COMMAND_STRUCTURE)


@final
class MemberStatus:
    def __init__(self, number: i64, start: i64, name: str, state: i64) -> None:
        self.number: i64 = number
        self.start: i64 = start
        self.name = name
        self.state: i64 = state
        self.fence: i64 = 0
        self.count: i64 = 0
        self.logged: i64 = 0
        self.in_flight: i64 = 0
        self.in_doubt: i64 = 0
        self.recoverer: i64 = 0
        """The member that recovers it; 0: none."""


@final
class MembersAnswer(Answer):
    def __init__(self) -> None:
        super().__init__(cf.OK)
        self.members: list[MemberStatus] = []


@final
class DumpedEntry:
    """An entry with its queue, place (COMMITTED, UNCOMMITTED, GOT) and unit."""

    def __init__(self, queue: str, place: i64, unit: bytes, entry: Entry) -> None:
        self.queue = queue
        self.place: i64 = place
        self.unit = unit
        self.entry = entry


@final
class DumpAnswer(Answer):
    def __init__(self) -> None:
        super().__init__(cf.OK)
        self.entries: list[DumpedEntry] = []
        self.through_queue = ""
        """For `after_queue` of the next slice."""
        self.through_key: i64 = 0
        self.is_end = False
        """Nothing is behind this slice."""
