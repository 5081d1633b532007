"""A facility as tests drive it, whichever engine it has: the machine itself, its process behind a socket, Redis."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod

from ostler.coupling.machine import CouplingMachine
from ostler.model.coupling.answers import Answer
from ostler.model.coupling.events import Event
from ostler.model.coupling.programs import Program

IDENTITY = bytes(range(16))


class FacilityUnderTest(metaclass=ABCMeta):
    """Links are numbers that tests choose. Answers and events are copies that later programs do not change."""

    @abstractmethod
    def run(self, link: int, program: Program) -> Answer: ...

    @abstractmethod
    def lose(self, link: int) -> None:
        """Break a link without LEAVE."""

    @abstractmethod
    def tick(self, now_ms: int) -> None: ...

    @abstractmethod
    def next_tick_ms(self) -> int:
        """Return the time at which `tick` has something to do, or 0."""

    @abstractmethod
    def events(self) -> list[tuple[int, Event]]:
        """Return the events since the last call with the links they went to."""

    @abstractmethod
    def close(self) -> None:
        """End what was started."""


class MachineUnderTest(FacilityUnderTest):
    """The machine, called as its process calls it."""

    def __init__(self) -> None:
        self.machine = CouplingMachine(IDENTITY)

    def run(self, link: int, program: Program) -> Answer:
        return self.machine.run(link, program)

    def lose(self, link: int) -> None:
        self.machine.on_link_lost(link)

    def tick(self, now_ms: int) -> None:
        self.machine.tick(now_ms)

    def next_tick_ms(self) -> int:
        return self.machine.next_tick_ms()

    def close(self) -> None:
        pass

    def events(self) -> list[tuple[int, Event]]:
        return [(push.link, push.event) for push in self.machine.take_pushes()]


def fields(thing: object) -> dict[str, object]:
    """Return the attributes of an answer, event or entry, and of what it holds, as plain values to compare."""
    names = [name for name in dir(thing) if not name.startswith("_") and not callable(getattr(thing, name))]
    return {name: _plain(getattr(thing, name)) for name in names}


def _plain(value: object) -> object:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if value is None or isinstance(value, int | str | bytes):
        return value
    return fields(value)
