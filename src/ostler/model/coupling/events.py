"""Events that the coupling facility pushes to members. They are hints: a member that joins looks for itself."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.model.coupling import terms as cf

QUEUE_NOT_EMPTY: Final = 1
MEMBER_CHANGED: Final = 2
STRUCTURE_CHANGED: Final = 3
THRESHOLD: Final = 4
FREED: Final = 5
ANNOUNCED: Final = 6
FENCED_OUT: Final = 7


class Event:
    def __init__(self, kind: i64) -> None:
        self.kind: i64 = kind


@final
class QueueNotEmpty(Event):
    """A watched queue has something. `match` and `id` are those of a watch for an identifier, which has ended."""

    def __init__(
        self, structure: str, queue: str, match: i64 = cf.FIRST, id: bytes = b"", triggers: bool = False
    ) -> None:
        super().__init__(QUEUE_NOT_EMPTY)
        self.structure = structure
        self.queue = queue
        self.match: i64 = match
        self.id = id
        self.triggers = triggers
        """For a watch with WATCH_TRIGGERS."""


@final
class MemberChanged(Event):
    """A member joined (ACTIVE), FAILED, is RECOVERING, or has LEFT: in order, or because its recovery has ended."""

    def __init__(self, member: i64, name: str, state: i64) -> None:
        super().__init__(MEMBER_CHANGED)
        self.member: i64 = member
        self.name = name
        self.state: i64 = state


@final
class StructureChanged(Event):
    """A structure the member is connected to has another state."""

    def __init__(self, structure: str, state: i64) -> None:
        super().__init__(STRUCTURE_CHANGED)
        self.structure = structure
        self.state: i64 = state


@final
class Threshold(Event):
    """A structure is fuller or emptier by five percent or more than was told before."""

    def __init__(self, structure: str, percent: i64, used_bytes: i64, limit_bytes: i64) -> None:
        super().__init__(THRESHOLD)
        self.structure = structure
        self.percent: i64 = percent
        self.used_bytes: i64 = used_bytes
        self.limit_bytes: i64 = limit_bytes


@final
class Freed(Event):
    """Bodies that the member keeps are not needed any more: TakeFreedProgram. Told once until it is submitted."""

    def __init__(self, structure: str) -> None:
        super().__init__(FREED)
        self.structure = structure


@final
class Announced(Event):
    def __init__(self, member: i64, text: str) -> None:
        super().__init__(ANNOUNCED)
        self.member: i64 = member
        self.text = text


@final
class FencedOut(Event):
    """The member itself was given up while its link was alive."""

    def __init__(self) -> None:
        super().__init__(FENCED_OUT)
