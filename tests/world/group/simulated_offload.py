"""Bodies of shared messages outside their structures, for simulated members: every step is taken by hand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

from ostler.model import constants as mq
from ostler.model.coupling.entries import Entry
from ostler.model.coupling.offload import BodyFetched, BodyStored, Offload


class Bodies:
    """What all members see. A reference is the number of a body."""

    def __init__(self) -> None:
        self.by_reference: dict[bytes, bytes] = {}
        self.unreadable: set[bytes] = set()
        self._last = 0

    def add(self, body: bytes) -> bytes:
        self._last += 1
        reference = b"\1%d" % self._last
        self.by_reference[reference] = body
        return reference


class SimulatedOffload(Offload):
    """One member's. Transfers wait in `steps` until `step` makes one."""

    def __init__(self, bodies: Bodies) -> None:
        self.bodies = bodies
        self.steps: deque[Callable[[], None]] = deque()
        self.refusal = 0
        self.is_full = False
        self.stored: list[Entry] = []
        self.outcomes: list[tuple[bytes, bool, bool]] = []

    def step(self) -> bool:
        if not self.steps:
            return False
        self.steps.popleft()()
        return True

    def reason(self, structure: str, place: int) -> int:
        return self.refusal

    def store(self, structure: str, place: int, entry: Entry, continuation: BodyStored) -> None:
        self.steps.append(partial(self._store, entry, continuation))

    def _store(self, entry: Entry, continuation: BodyStored) -> None:
        if self.is_full:
            continuation.stored(mq.MQRC_STORAGE_MEDIUM_FULL, b"")
            return
        self.stored.append(entry)
        continuation.stored(0, self.bodies.add(entry.body))

    def on_put(self, structure: str, entry: Entry, is_known: bool, is_there: bool) -> None:
        self.outcomes.append((entry.reference, is_known, is_there))
        if is_known and not is_there:
            del self.bodies.by_reference[entry.reference]

    def fetch(self, structure: str, entry: Entry, continuation: BodyFetched) -> None:
        self.steps.append(partial(self._fetch, entry.reference, continuation))

    def _fetch(self, reference: bytes, continuation: BodyFetched) -> None:
        body = self.bodies.by_reference.get(reference)
        if body is None or reference in self.bodies.unreadable:
            continuation.fetched(mq.MQRC_DATA_SET_NOT_AVAILABLE, b"")
        else:
            continuation.fetched(0, body)
