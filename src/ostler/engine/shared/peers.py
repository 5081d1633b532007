"""Recovery of members that failed, by their peers: their units in flight are backed out, so that others get on.

A peer claims the recovery (BEGIN_RECOVERY), writes PEER_BACK_OUT for each unit in flight to its own journal, forces it,
backs the unit out in the facility, and ends the recovery. The record tells whoever recovers a structure from the
journals of all members that the unit was backed out, although its owner's journal may have it prepared. Units in doubt
are left to their coordinator.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.journal_records import append_peer_back_out
from ostler.engine.shared.membership import Membership
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, MembersAnswer, RecoveryAnswer, UnitsAnswer
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import (
    BeginRecoveryProgram,
    DecideProgram,
    EndRecoveryProgram,
    MembersProgram,
    UnitsProgram,
)

_PAGE: Final = 500


@final
class PeerRecovery:
    """The recoveries that this member has claimed."""

    def __init__(self, engine: Engine, sharing: Membership) -> None:
        self.engine = engine
        self.sharing = sharing
        self._running: dict[int, RecoveredMember] = {}

    def look(self) -> None:
        """Look for members that failed while nobody was there."""
        self.sharing.submit(MembersProgram(), 0, MembersListed(self))

    def begin(self, number: i64) -> None:
        """Claim the recovery of a member, unless it is under way here."""
        if number != self.sharing.number and number not in self._running:
            recovered = RecoveredMember(self, number)
            self._running[number] = recovered
            recovered.begin()

    def end(self, number: i64) -> None:
        self._running.pop(number, None)

    def forget_all(self) -> None:
        """The link is lost: others have to do it, or this member when it has joined again."""
        self._running = {}


@final
class RecoveredMember:
    """The recovery of one member."""

    def __init__(self, peers: PeerRecovery, number: i64) -> None:
        self.peers = peers
        self.number: i64 = number
        self.name = ""
        self._backed_out: i64 = 0
        self._deciding: i64 = 0  # units whose DECIDE has no answer yet
        self._after = b""
        self._is_listed = False

    def begin(self) -> None:
        self._submit_begin()

    def _submit_begin(self) -> None:
        self.peers.sharing.submit(BeginRecoveryProgram(self.number), 0, RecoveryStep(self))

    def on_answer(self, answer: Answer) -> None:
        """Go on after BEGIN_RECOVERY, UNITS or END_RECOVERY."""
        if isinstance(answer, RecoveryAnswer):
            self.name = answer.name
            self._list()
        elif isinstance(answer, UnitsAnswer):
            self._on_page(answer)
        elif answer.status == cf.OK and self._is_listed:
            self._on_ended()
        elif answer.status == cf.UNITS_LEFT:
            self._after = b""
            self._list()
        else:
            self.peers.end(self.number)  # another member has claimed it, it is back, or the link is lost

    def _list(self) -> None:
        self._is_listed = False
        self.peers.sharing.submit(UnitsProgram(self.number, self._after, _PAGE), 0, RecoveryStep(self))

    def _on_page(self, answer: UnitsAnswer) -> None:
        engine = self.peers.engine
        for status in answer.units:
            self._after = status.unit
            if status.state == cf.UNIT_INFLIGHT:
                lsn: i64 = append_peer_back_out(engine, status.unit)
                self._deciding += 1
                self.peers.sharing.submit(DecideProgram(status.unit, False), lsn, UnitBackedOut(self))
        if answer.is_end:
            self._is_listed = True
            self._end_if_done()
        elif self._deciding == 0:
            self._list()

    def on_backed_out(self, answer: Answer) -> None:
        self._deciding -= 1
        if answer.status == cf.LINK_LOST or answer.status == cf.FENCED:
            self.peers.end(self.number)
            return
        self._backed_out += 1
        if self._deciding == 0 and not self._is_listed:
            self._list()
        else:
            self._end_if_done()

    def _end_if_done(self) -> None:
        if self._deciding == 0 and self._is_listed:
            self.peers.sharing.submit(EndRecoveryProgram(self.number), 0, RecoveryStep(self))

    def _on_ended(self) -> None:
        self.peers.end(self.number)
        self.peers.engine.notice(
            f"AMQ7491I: Queue manager {self.name} of the queue-sharing group failed. {self._backed_out} of its units "
            "of work were backed out here. Its shared messages are free; start it again for its private ones."
        )


@final
class RecoveryStep(Continuation):
    def __init__(self, recovered: RecoveredMember) -> None:
        self.recovered = recovered

    def answered(self, answer: Answer) -> None:
        self.recovered.on_answer(answer)


@final
class UnitBackedOut(Continuation):
    def __init__(self, recovered: RecoveredMember) -> None:
        self.recovered = recovered

    def answered(self, answer: Answer) -> None:
        self.recovered.on_backed_out(answer)


@final
class MembersListed(Continuation):
    def __init__(self, peers: PeerRecovery) -> None:
        self.peers = peers

    def answered(self, answer: Answer) -> None:
        if isinstance(answer, MembersAnswer):
            sharing = self.peers.sharing
            sharing.manager_names = {each.name for each in answer.members if each.number != sharing.number}
            for member in answer.members:
                if member.state == cf.MEMBER_FAILED:
                    self.peers.begin(member.number)
