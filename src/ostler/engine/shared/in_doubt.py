"""Units in doubt: prepared for a coordinator that has not said the last word. DISPLAY THREAD and RESOLVE INDOUBT.

Those of this queue manager are in its journal. Those of a peer that is not active are known to the facility: a member
may decide on them in its place. It forces PEER_COMMIT or PEER_BACK_OUT to its own journal first, so that a recovery of
the structures from all journals has the same outcome. The peer follows the facility's decision when it comes back.

A unit of GROUP disposition (URDISP) is that of a connection to the name of the queue-sharing group, made while GROUPUR
was ENABLED: any member shows and resolves it. Its identifier begins with GROUP_UNIT wherever it is stored, so that
journals, facility and recoveries keep the disposition.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.journal_records import append_peer_back_out, append_peer_commit
from ostler.engine.outcomes import UnitOutcome
from ostler.engine.shared.membership import FacilityTask, Membership, reason_of
from ostler.engine.syncpoint import back_out_unit, commit_work, prepare_work
from ostler.engine.task import EngineTask
from ostler.engine.unit_of_work import PREPARED
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, MembersAnswer, MemberStatus, UnitsAnswer, UnitStatus
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import DecideProgram, MembersProgram, UnitsProgram
from ostler.model.errors import MQError

_PAGE: Final = 500
GROUP_UNIT: Final = b"OSG"  # the beginning of the identifiers of units of GROUP disposition
_CHANNEL_BATCH: Final = b"OSC"  # the beginning of the identifiers of batches: RESOLVE CHANNEL is for those


def is_group_name(engine: Engine, name: str) -> bool:
    """Return True when a connection to this name is one to the queue-sharing group."""
    sharing = engine.sharing
    return sharing is not None and name == sharing.group


def has_group_units(engine: Engine) -> bool:
    """Return True when this member takes part in units of GROUP disposition: GROUPUR(ENABLED)."""
    return engine.sharing is not None and engine.manager.attributes.get("GROUPUR") == mq.MQGUR_ENABLED


def prepare_for_coordinator(engine: Engine, connection: Connection, xid: bytes) -> UnitOutcome:
    """Prepare the unit of a connection for an external coordinator, which has named it. Raises MQError.

    The connection goes on without a unit. The unit is prepared when the task of the outcome is done.
    """
    unit = connection.unit_of_work
    if unit is None:
        raise MQError(mq.MQRC_UOW_NOT_AVAILABLE, "The connection has no unit of work.")
    if unit.backed_out_by_system:
        raise MQError(mq.MQRC_BACKED_OUT)
    outcome = prepare_work(engine, unit, GROUP_UNIT + xid if connection.is_of_group else xid)
    connection.unit_of_work = None
    if connection.tag is not None:
        connection.tag.units.append(unit)
    return outcome


@final
class InDoubtUnit:
    def __init__(self, id: bytes, number: i64, xid: bytes, owner: str) -> None:
        self.id = id  # that of the facility; empty for units of this queue manager
        self.number: i64 = number  # of a unit of this queue manager; otherwise 0
        self.is_of_group: bool = xid.startswith(GROUP_UNIT)
        self.xid = xid[len(GROUP_UNIT) :] if self.is_of_group else xid
        self.owner = owner
        self.is_owner_active = False  # of a unit of another member


def own_units(engine: Engine) -> list[InDoubtUnit]:
    """Return the units of this queue manager that wait for a coordinator."""
    return [
        InDoubtUnit(b"", unit.number, unit.xid, engine.name)
        for unit in engine.units_of_work.values()
        if unit.state == PREPARED and unit.xid and not unit.xid.startswith(_CHANNEL_BATCH)
    ]


def resolve_own(engine: Engine, number: i64, commits: bool) -> EngineTask | None:
    """End a unit of this queue manager that is in doubt. Returns the task to wait for; None: it is done."""
    unit = engine.units_of_work.get(number)
    if unit is None or unit.state != PREPARED:
        return None
    if commits:
        return commit_work(engine, unit).task
    back_out_unit(engine, unit)
    return unit.shared.end_task if unit.shared is not None else None


def begin_peer_listing(engine: Engine, sharing: Membership, manager: str) -> PeerUnits:
    """Begin to list the units in doubt of another member; without a name, those of GROUP disposition of all others."""
    task = PeerUnits(engine, sharing, manager)
    sharing.begin_task(task)
    sharing.submit(MembersProgram(), 0, PeerStep(task))
    return task


@final
class PeerUnits(FacilityTask):
    """Lists units in doubt of one member, or of the group. `reason` is not 0 when the facility did not answer."""

    def __init__(self, engine: Engine, sharing: Membership, manager: str) -> None:
        super().__init__()
        self.engine = engine
        self.sharing = sharing
        self.manager = manager
        self.number: i64 = 0  # of the member; 0: there is none with this name
        self.is_active = False
        self.units: list[InDoubtUnit] = []
        self.reason: i64 = 0
        self._members: list[MemberStatus] = []  # that are to be asked about

    def on_answer(self, answer: Answer) -> None:
        if isinstance(answer, MembersAnswer):
            for member in answer.members:
                is_active: bool = member.state == cf.MEMBER_ACTIVE_STATE
                if not self.manager and member.number != self.sharing.number:
                    self._members.append(member)
                elif self.manager and member.name == self.manager:
                    self.number = member.number
                    self.is_active = is_active
                    if not is_active:
                        self._members.append(member)
        elif isinstance(answer, UnitsAnswer):
            member = self._members[0]
            for unit in answer.units:
                if unit.state == cf.UNIT_INDOUBT:
                    self._add(unit, member)
            if not answer.is_end and answer.units:
                self._ask(answer.units[len(answer.units) - 1].unit)
                return
            self._members.pop(0)
        else:
            self.reason = reason_of(answer.status)
            self._members = []
        if self._members:
            self._ask(b"")
            return
        self.sharing.tasks.pop(self, None)
        self.engine.end_task(self)

    def _add(self, status: UnitStatus, member: MemberStatus) -> None:
        unit = InDoubtUnit(status.unit, 0, status.xid, member.name)
        unit.is_owner_active = member.state == cf.MEMBER_ACTIVE_STATE
        if self.manager or unit.is_of_group:
            self.units.append(unit)

    def _ask(self, after: bytes) -> None:
        self.sharing.submit(UnitsProgram(self._members[0].number, after, _PAGE), 0, PeerStep(self))


@final
class PeerStep(Continuation):
    def __init__(self, task: PeerUnits) -> None:
        self.task = task

    def answered(self, answer: Answer) -> None:
        self.task.on_answer(answer)


def begin_peer_resolution(engine: Engine, sharing: Membership, unit: bytes, commits: bool) -> PeerDecision:
    """Decide on a unit in doubt of a member that is not active."""
    task = PeerDecision(engine, sharing)
    sharing.begin_task(task)
    lsn: i64 = append_peer_commit(engine, unit) if commits else append_peer_back_out(engine, unit)
    sharing.submit(DecideProgram(unit, commits), lsn, PeerDecided(task))
    return task


@final
class PeerDecision(FacilityTask):
    def __init__(self, engine: Engine, sharing: Membership) -> None:
        super().__init__()
        self.engine = engine
        self.sharing = sharing
        self.reason: i64 = 0
        self.is_active = False  # the member has come back: it decides itself

    def on_answer(self, answer: Answer) -> None:
        status: i64 = answer.status
        self.is_active = status == cf.MEMBER_ACTIVE
        if status != cf.OK and not self.is_active:
            self.reason = mq.MQRC_UOW_NOT_AVAILABLE if status == cf.UNKNOWN_UNIT else reason_of(status)
        self.sharing.tasks.pop(self, None)
        self.engine.end_task(self)


@final
class PeerDecided(Continuation):
    def __init__(self, task: PeerDecision) -> None:
        self.task = task

    def answered(self, answer: Answer) -> None:
        self.task.on_answer(answer)
