"""The order of events and answers, which come over two links of Redis.

A get that finds nothing watches its queue from then on. What is put next is told as an event, which may be read before
the answer to that get: the get would not wait yet, and nobody would try it. So an event of a queue is told when the
searches of that queue have been answered that were under way when it came. Our own facility has one link, and needs
none of this.
"""

from __future__ import annotations

from collections.abc import Mapping

from ostler.model.coupling.events import QueueNotEmpty
from ostler.model.coupling.programs import GetProgram, ListProgram, Program
from ostler.server.coupling.facility_link import Submitted


class EventOrder:
    """Keeps events back. Each waits for searches that had begun before it, so for some that end soon."""

    def __init__(self) -> None:
        self._held: list[tuple[set[int], QueueNotEmpty]] = []

    def holds(self, event: QueueNotEmpty, asked: Mapping[int, Submitted]) -> bool:
        """Return True when the event is kept until programs are answered that are under way, by their numbers."""
        searching = {number for number, each in asked.items() if _searches(each.program, event)}
        if searching:
            self._held.append((searching, event))
        return bool(searching)

    def answered(self, number: int) -> list[QueueNotEmpty]:
        """Note that a program is answered. Returns the events that may be told now."""
        if not self._held:
            return []
        for numbers, _ in self._held:
            numbers.discard(number)
        found = [event for numbers, event in self._held if not numbers]
        self._held = [each for each in self._held if each[0]]
        return found


def _searches(program: Program, event: QueueNotEmpty) -> bool:
    if isinstance(program, GetProgram):
        return bool(program.structure == event.structure and program.queue == event.queue)
    if isinstance(program, ListProgram):
        return bool(program.structure == event.structure and program.queue == event.queue)
    return False
