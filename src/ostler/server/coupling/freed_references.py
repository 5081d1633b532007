"""References of entries that are gone: taken from the facility, and given to the stores that keep the bodies.

The facility has one list for each member and structure, with references into data sets and to blobs.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Final

from ostler.engine.shared.membership import Membership
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, FreedAnswer
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import TakeFreedProgram

_TAKE_SLICE: Final = 1000


class FreedReceiver(metaclass=ABCMeta):
    """Who frees the bodies."""

    @abstractmethod
    def may_free(self, structure: str) -> bool:
        """Return False while a store lists the entries of the structure, and would take what is gone for there."""

    @abstractmethod
    def free(self, structure: str, references: list[bytes]) -> None:
        """Free bodies. Some may have been freed before."""

    @abstractmethod
    def on_references_lost(self, structure: str) -> None:
        """The facility has dropped references: find out what is gone."""


class FreedReferences:
    """All calls come in turns of the engine."""

    def __init__(self, sharing: Membership, receiver: FreedReceiver) -> None:
        self._sharing = sharing
        self._receiver = receiver
        self._through: dict[str, int] = {}
        self._taking: set[str] = set()

    def take(self, structure: str) -> None:
        """Take what the facility has, unless that is under way."""
        if structure not in self._taking and self._sharing.is_joined and self._receiver.may_free(structure):
            self._taking.add(structure)
            program = TakeFreedProgram(structure, self._through.get(structure, 0), _TAKE_SLICE)
            self._sharing.submit(program, 0, _Taken(self, structure))

    def on_taken(self, structure: str, answer: Answer) -> None:
        self._taking.discard(structure)
        if not isinstance(answer, FreedAnswer) or answer.status != cf.OK:
            return
        self._receiver.free(structure, answer.references)
        self._through[structure] = int(answer.through)
        if answer.is_lost:
            self._receiver.on_references_lost(structure)
        if not answer.is_end:
            self.take(structure)

    def begin_anew(self, structure: str) -> None:
        """Forget how far references were taken: the facility or the structure is another one."""
        self._through.pop(structure, None)

    def on_joined(self) -> None:
        """Forget what was under way on the lost link."""
        self._through.clear()
        self._taking.clear()


class _Taken(Continuation):
    def __init__(self, freed: FreedReferences, structure: str) -> None:
        self._freed = freed
        self._structure = structure

    def answered(self, answer: Answer) -> None:
        self._freed.on_taken(self._structure, answer)
