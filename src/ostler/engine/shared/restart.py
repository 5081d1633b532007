"""What a member has to settle with the facility when it has joined: units and puts whose outcome it does not know.

    journal                  facility           what is done
    records, not prepared    in flight          backed out at the restart; DECIDE(back out)
    prepared                 COMMITTED          the rest is committed; FORGET
    prepared                 BACKED_OUT         peers did it: the rest is backed out; FORGET
    prepared                 in flight          nobody decided: BACK_OUT, forced; DECIDE(back out)
    prepared                 unknown            the facility was lost: in doubt until its structures are recovered
    prepared with an xid     in doubt           its coordinator decides
    BACK_OUT                 in doubt           DECIDE(back out): its coordinator has decided before
    COMMIT                   tombstone          FORGET
    put outside units        number not done    CANCEL

Nothing of it waits: verbs go on at once.
"""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.journal_records import append_cancel
from ostler.engine.shared.membership import Membership
from ostler.engine.shared.units import SharedUnit, forget_unit, restored_part
from ostler.engine.syncpoint import back_out_unit, commit_unit
from ostler.engine.unit_of_work import PREPARED, UnitOfWork
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, JoinAnswer, UnitsAnswer, UnitStatus
from ostler.model.coupling.entries import id_start
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import DecideProgram, EndRecoveryProgram, ForgetProgram, UnitsProgram


def settle_logged(engine: Engine, sharing: Membership, joined: JoinAnswer, is_same: bool) -> None:
    """Cancel the puts outside units that the journal of an earlier start has, and the facility has not done.

    Another facility knows nothing of them. Then they stand, and the recovery of their structures brings the messages.
    """
    member = engine.member
    if is_same and member.logged_first > 0:
        refused = [number for number in joined.refused if number >= member.logged_first]
        number: i64 = member.logged_first if member.logged_first > joined.logged else joined.logged + 1
        while number <= member.logged:
            refused.append(number)
            number += 1
        lsn: i64 = 0
        for each in refused:
            if each not in member.cancelled and each not in sharing.pending_logged:
                lsn = append_cancel(engine, None, each, b"")
        if joined.refused:
            through: i64 = joined.refused[len(joined.refused) - 1]
            if not sharing.pending_logged:
                sharing.submit(ForgetProgram([], through), lsn, None)
    member.logged_first = 0
    member.logged_lsn = -1
    member.cancelled = set()
    if joined.logged > member.logged:
        member.logged = joined.logged


def end_own_recovery(engine: Engine, sharing: Membership) -> None:
    """Have the locks of earlier links freed, behind the back-outs that were submitted before."""
    sharing.submit(EndRecoveryProgram(sharing.number), engine.journal.end_lsn(), OwnRecoveryEnded(sharing))


@final
class OwnRecoveryEnded(Continuation):
    """Otherwise the member asks again with its next tick."""

    def __init__(self, sharing: Membership) -> None:
        self.sharing = sharing

    def answered(self, answer: Answer) -> None:
        if answer.status == cf.OK:
            self.sharing.is_unsettled = False


@final
class UnitSettlement:
    """Settles the descriptors of this member, page by page. `tells`: with a message for each unit that stays."""

    def __init__(self, engine: Engine, sharing: Membership, tells: bool) -> None:
        self.engine = engine
        self.sharing = sharing
        self._tells = tells
        self._restored: dict[bytes, UnitOfWork] = {}  # prepared in an earlier start, not decided here
        self._own: dict[bytes, bool] = {}  # of this start, under way
        self._prepared: dict[bytes, UnitOfWork] = {}  # of this start, which wait for a coordinator
        for unit in engine.units_of_work.values():
            part = unit.shared
            if unit.shared_start != 0 and unit.state == PREPARED:
                self._restored[restored_part(engine, sharing, unit).id] = unit
            elif isinstance(part, SharedUnit) and part.is_lost and unit.state == PREPARED:
                self._restored[part.id] = unit
            elif unit.state == PREPARED and unit.xid and unit.shared is not None:
                self._prepared[sharing.unit_id(unit.number)] = unit
            elif unit.shared is not None:
                self._own[sharing.unit_id(unit.number)] = True

    def begin(self) -> None:
        self._ask(b"")

    def _ask(self, after: bytes) -> None:
        self.sharing.submit(UnitsProgram(self.sharing.number, after), 0, UnitsListed(self))

    def on_page(self, answer: Answer) -> None:
        if not isinstance(answer, UnitsAnswer):
            return  # the link is lost: it begins anew
        for status in answer.units:
            self._settle(status)
        if not answer.is_end and answer.units:
            self._ask(answer.units[len(answer.units) - 1].unit)
            return
        self.lose_rest()
        end_own_recovery(self.engine, self.sharing)

    def _settle(self, status: UnitStatus) -> None:
        engine = self.engine
        unit = self._restored.pop(status.unit, None)
        if unit is not None and unit.state != PREPARED:
            unit = None  # it has ended meanwhile
        if status.unit in self._own:
            return
        if status.state == cf.UNIT_INDOUBT:
            if unit is None and id_start(status.unit) != self.sharing.start:
                self.sharing.submit(DecideProgram(status.unit, False, False), 0, None)
            return
        prepared = self._prepared.get(status.unit)
        if prepared is not None:
            self._follow_peer(prepared, status)
            return
        if status.state == cf.UNIT_INFLIGHT:
            if unit is not None:
                back_out_unit(engine, unit)  # and the facility, when that is durable
            elif id_start(status.unit) != self.sharing.start:
                # It may have been backed out here after an earlier join: that must be durable first.
                after: i64 = engine.journal.end_lsn()
                self.sharing.submit(DecideProgram(status.unit, False, False), after, None)
            return
        if unit is not None:
            part = restored_part(engine, self.sharing, unit)
            part.is_decided = True
            if status.state == cf.UNIT_COMMITTED:
                commit_unit(engine, unit)
            else:
                back_out_unit(engine, unit)
        forget_unit(engine, self.sharing, status.unit)

    def _follow_peer(self, unit: UnitOfWork, status: UnitStatus) -> None:
        """Follow a peer that has resolved a unit in doubt while the link was lost (RESOLVE INDOUBT)."""
        part = restored_part(self.engine, self.sharing, unit)
        if status.state == cf.UNIT_INFLIGHT or unit.state != PREPARED or part.end_task is not None:
            return  # its preparation or its end is under way
        part.is_decided = True
        if status.state == cf.UNIT_COMMITTED:
            commit_unit(self.engine, unit)
        else:
            back_out_unit(self.engine, unit)
        forget_unit(self.engine, self.sharing, status.unit)

    def lose_rest(self) -> None:
        """Leave units that the facility does not know in doubt."""
        for unit in self._restored.values():
            if unit.xid or unit.state != PREPARED:
                continue
            if unit not in self.sharing.lost_units:
                self.sharing.lost_units.append(unit)
            if self._tells and unit.number not in self.sharing.told_lost:
                self.sharing.told_lost.add(unit.number)
                self.engine.notice(
                    f"AMQ7490W: The coupling facility does not know unit of work {unit.number}, which was being "
                    "committed when the queue manager ended. It stays in doubt until its structures are recovered "
                    "(RECOVER CFSTRUCT)."
                )
        self._restored = {}


@final
class UnitsListed(Continuation):
    def __init__(self, settlement: UnitSettlement) -> None:
        self.settlement = settlement

    def answered(self, answer: Answer) -> None:
        self.settlement.on_page(answer)
