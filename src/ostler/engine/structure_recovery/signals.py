"""Signals between members about backups and recoveries, as announcements through the facility.

    POSITION   from where must your journal be read?        AT: this LSN
    MARK       ask the facility something, then tell:       MARKED: end of the journal, last put outside units
    FLUSH      is your journal durable as it is now?        FLUSHED: up to this LSN

Each has the number of the question (a nonce), so that late answers are not taken for those of another one.
Announcements may be lost: who asks asks again.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Final, final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.recovery.backup_records import MARKED, MemberMark
from ostler.engine.shared.membership import Membership
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, JoinAnswer, MembersAnswer
from ostler.model.coupling.events import Announced, Event
from ostler.model.coupling.port import Continuation, EventListener
from ostler.model.coupling.programs import AnnounceProgram, MembersProgram

PREFIX: Final = "CFS"
POSITION: Final = "POSITION"
AT: Final = "AT"
MARK: Final = "MARK"
MARKED_AT: Final = "MARKED"
FLUSH: Final = "FLUSH"
FLUSHED: Final = "FLUSHED"
BACKED_UP: Final = "BACKED-UP"


class SignalListener(metaclass=ABCMeta):
    """A backup or recovery of this member that waits for answers of others."""

    @abstractmethod
    def on_reply(self, member: i64, verb: str, numbers: list[int]) -> None:
        """Another member has answered the question with this listener's nonce."""


def read_from_lsn(engine: Engine, sharing: Membership) -> i64:
    """Return the LSN from which the journal has all that is not decided yet about shared messages."""
    lsn: i64 = engine.journal.end_lsn()
    for unit in engine.units_of_work.values():
        if 0 <= unit.first_lsn < lsn:
            lsn = unit.first_lsn
    pending: i64 = sharing.oldest_lsn()
    if 0 <= pending < lsn:
        lsn = pending
    return lsn


def own_mark(engine: Engine, sharing: Membership, name: str, from_lsn: i64) -> MemberMark:
    mark = MemberMark(sharing.number, name, MARKED)
    mark.from_lsn = from_lsn
    mark.mark_lsn = engine.journal.end_lsn()
    mark.logged = sharing.logged_done(engine.member.logged)
    return mark


@final
class Signals(EventListener):
    """Answers the questions of others, and passes their answers on."""

    def __init__(self, engine: Engine, sharing: Membership) -> None:
        self.engine = engine
        self.sharing = sharing
        self.listeners: dict[str, SignalListener] = {}
        self.backed_up: list[str] = []  # structures of which another member has told that they were backed up

    def ask(self, nonce: str, verb: str) -> None:
        self._send(f"{PREFIX} {verb} {nonce}", 0)

    def tell_backed_up(self, structure: str) -> None:
        self._send(f"{PREFIX} {BACKED_UP} {structure}", 0)

    def _send(self, text: str, after_lsn: i64) -> None:
        self.sharing.submit(AnnounceProgram(text), after_lsn, None)

    def on_event(self, event: Event) -> None:
        if not isinstance(event, Announced):
            return
        words = event.text.split(" ")
        if len(words) < 3 or words[0] != PREFIX:
            return
        verb = words[1]
        nonce = words[2]
        engine = self.engine
        if verb == POSITION:
            self._send(f"{PREFIX} {AT} {nonce} {read_from_lsn(engine, self.sharing)}", 0)
        elif verb == MARK:
            # Programs of this member that were run before are answered before this one.
            self.sharing.submit(MembersProgram(), 0, _MarkBarrier(self, nonce))
        elif verb == FLUSH:
            lsn: i64 = engine.journal.end_lsn()
            self._send(f"{PREFIX} {FLUSHED} {nonce} {lsn}", lsn)
        elif verb == BACKED_UP:
            self.backed_up.append(nonce)
        else:
            listener = self.listeners.get(nonce)
            numbers = [int(word) for word in words[3:] if word.isdigit()]
            if listener is not None and len(numbers) == len(words) - 3:
                listener.on_reply(event.member, verb, numbers)

    def on_barrier(self, nonce: str) -> None:
        mark = own_mark(self.engine, self.sharing, "", 0)
        self._send(f"{PREFIX} {MARKED_AT} {nonce} {mark.mark_lsn} {mark.logged}", 0)

    def on_joined(self, answer: JoinAnswer) -> None:
        """Nothing is left of earlier questions: who asked asks again."""

    def on_link_lost(self) -> None:
        """Wait for the next link."""


@final
class _MarkBarrier(Continuation):
    def __init__(self, signals: Signals, nonce: str) -> None:
        self.signals = signals
        self.nonce = nonce

    def answered(self, answer: Answer) -> None:
        if isinstance(answer, MembersAnswer) and answer.status == cf.OK:
            self.signals.on_barrier(self.nonce)
