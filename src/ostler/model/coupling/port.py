"""The port: how the engine of a member submits programs, and how answers and events come back."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod

from mypy_extensions import i64, mypyc_attr

from ostler.model.coupling.answers import Answer, JoinAnswer
from ostler.model.coupling.events import Event
from ostler.model.coupling.programs import Program


@mypyc_attr(allow_interpreted_subclasses=True)
class Continuation(metaclass=ABCMeta):
    """What a submitter does with the answer. Called once, in a turn of the engine."""

    @abstractmethod
    def answered(self, answer: Answer) -> None:
        """Go on. Status LINK_LOST: no answer came; the program may have been run."""


@mypyc_attr(allow_interpreted_subclasses=True)
class EventListener(metaclass=ABCMeta):
    """The receiver of events and of the state of the link, in turns of the engine."""

    @abstractmethod
    def on_event(self, event: Event) -> None: ...

    @abstractmethod
    def on_joined(self, answer: JoinAnswer) -> None:
        """The link is up, and the member has joined. All continuations of earlier links were called before."""

    @abstractmethod
    def on_link_lost(self) -> None:
        """The link is down. The continuations of all its programs were called before, with LINK_LOST."""


@mypyc_attr(allow_interpreted_subclasses=True)
class CouplingPort(metaclass=ABCMeta):
    """The facility as the engine of one member sees it. Calls come in turns of the engine and never wait."""

    @abstractmethod
    def submit(self, program: Program, after_lsn: i64, continuation: Continuation | None) -> None:
        """Send a program when the log is durable up to `after_lsn` (0: at once), and call the continuation later.

        Programs with an `after_lsn` keep their order among themselves, and so do those without; one without may
        overtake one with. Never calls the continuation before it returns. Without a link the answer is LINK_LOST.
        """

    @abstractmethod
    def is_joined(self) -> bool:
        """Return True while the link is up and the member has joined."""

    @abstractmethod
    def fence(self) -> i64:
        """Return the fence of the link, 0 without one."""

    @abstractmethod
    def listen(self, listener: EventListener) -> None:
        """Tell events to this listener from now on."""
