"""The expiry scan: removes expired messages that no get comes across, in small slices."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.queue.delivery import flush_outbox
from ostler.engine.queue.retrieval import discard_if_expired
from ostler.engine.queue.slots import AVAILABLE

_SLOTS_PER_STEP: Final = 5_000
_QUEUES_PER_STEP: Final = 500


@final
class ExpiryScan:
    """A scan of all queues that hold messages with an expiry time. Call `begin`, then `step` until it returns False."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._queues: list[int] = []
        self._slot: i64 = 0

    def begin(self) -> None:
        self._queues = list(self._engine.queues_by_id)
        self._slot = 0

    def step(self) -> bool:
        """Scan one bounded slice. Returns True when there is more. ReadPending: call again when the read is made."""
        left: i64 = _SLOTS_PER_STEP
        queues: i64 = _QUEUES_PER_STEP
        while self._queues and left > 0 and queues > 0:
            queue = self._engine.queues_by_id.get(self._queues[-1])
            if queue is None or queue.expiring == 0 or self._slot >= len(queue.slots.resident):
                self._queues.pop()
                self._slot = 0
                queues -= 1
                continue
            slots = queue.slots
            slot: i64 = self._slot
            if slots.expiries[slot] != 0 and slots.state(slot) == AVAILABLE:
                discard_if_expired(self._engine, queue, slot, slots.seqs[slot])
                flush_outbox(self._engine)
            self._slot = slot + 1
            left -= 1
        return len(self._queues) > 0
