"""A naive twin of the engine: lists and dictionaries, searched from end to end.

It knows nothing of slots, files or checkpoints. Of the log it knows one thing: an operation survives a crash when its
record does. So it keeps every operation with the LSN behind its record, and after a crash it does again what the log
still told of, from the state that the restart before had left.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field, replace

ANY_ID = bytes(24)


@dataclass
class NaiveMessage:
    number: int
    """Each message of a run has its own, in the order of the puts."""
    is_persistent: bool
    rank: int
    """What orders it: its priority, or 0 on a queue that delivers first in, first out."""
    priority: int
    expiry_ms: int
    """0: never"""
    message_id: bytes
    correlation_id: bytes
    body: bytes
    backouts: int = 0
    put_by: int = 0
    """The unit of work that puts it and has not ended; 0: none"""
    got_by: int = 0

    def key(self) -> tuple[int, int]:
        return -self.rank, self.number

    def has_expired(self, now_ms: int) -> bool:
        return 0 < self.expiry_ms <= now_ms

    def answers(self, message_id: bytes, correlation_id: bytes) -> bool:
        return message_id in (ANY_ID, self.message_id) and correlation_id in (ANY_ID, self.correlation_id)


@dataclass
class NaiveQueue:
    queue_id: int
    is_fifo: bool = False
    keeps_nonpersistent: bool = False
    depth_max: int = 5000
    messages: list[NaiveMessage] = field(default_factory=list)

    def visible(self, now_ms: int) -> list[NaiveMessage]:
        """What can be got now, in the order of delivery."""
        found = [m for m in self.messages if not m.put_by and not m.got_by and not m.has_expired(now_ms)]
        return sorted(found, key=NaiveMessage.key)

    def depth(self, now_ms: int) -> int:
        """What CURDEPTH shows once expired messages are removed: they are when nobody holds them."""
        return sum(1 for m in self.messages if not m.got_by and (m.put_by or not m.has_expired(now_ms)))

    def find(self, number: int) -> NaiveMessage:
        [message] = [message for message in self.messages if message.number == number]
        return message


@dataclass
class NaiveState:
    queues: dict[str, NaiveQueue] = field(default_factory=dict)
    prepared: dict[int, bytes] = field(default_factory=dict)
    """Unit of work -> its XID"""

    # -- operations

    def define(self, name: str, queue: NaiveQueue) -> None:
        before = self.queues.get(name)
        self.queues[name] = replace(queue, messages=before.messages if before is not None else [])

    def delete(self, name: str) -> None:
        del self.queues[name]

    def clear(self, name: str) -> None:
        self.queues[name].messages.clear()

    def put(self, name: str, message: NaiveMessage, unit: int) -> None:
        self.queues[name].messages.append(replace(message, put_by=unit))

    def get(self, name: str, number: int, unit: int) -> None:
        queue = self.queues[name]
        message = queue.find(number)
        if unit:
            message.got_by = unit
        else:
            queue.messages.remove(message)

    def prepare(self, unit: int, xid: bytes) -> None:
        self.prepared[unit] = xid

    def commit(self, unit: int) -> None:
        self.prepared.pop(unit, None)
        for queue in self.queues.values():
            queue.messages = [message for message in queue.messages if message.got_by != unit]
            for message in queue.messages:
                if message.put_by == unit:
                    message.put_by = 0

    def back_out(self, unit: int) -> None:
        self.prepared.pop(unit, None)
        for queue in self.queues.values():
            queue.messages = [message for message in queue.messages if message.put_by != unit]
            for message in queue.messages:
                if message.got_by == unit:
                    message.got_by = 0
                    message.backouts += 1

    # -- ends

    def end_of_life(self, is_orderly: bool) -> None:
        """What a restart makes of it: open units are backed out, and non-persistent messages are mostly gone."""
        units = {unit for queue in self.queues.values() for m in queue.messages for unit in (m.put_by, m.got_by)}
        for unit in sorted(units - {0} - set(self.prepared)):
            self.back_out(unit)
        for queue in self.queues.values():
            kept = is_orderly and queue.keeps_nonpersistent
            queue.messages = [
                message
                for message in queue.messages
                if message.is_persistent or (kept and not message.put_by and not message.got_by)
            ]

    def forget_expired(self, now_ms: int) -> None:
        for queue in self.queues.values():
            queue.messages = [m for m in queue.messages if m.put_by or m.got_by or not m.has_expired(now_ms)]


class ReferenceModel:
    """The state now, and all that is needed to know it after a crash."""

    def __init__(self) -> None:
        self.now = NaiveState()
        self._base = NaiveState()
        self._history: list[tuple[int, str, tuple[object, ...]]] = []

    def do(self, lsn: int, operation: str, *arguments: object) -> None:
        """Do an operation whose record ends at `lsn`. Give what has no record the LSN behind the record before."""
        getattr(self.now, operation)(*deepcopy(arguments))
        self._history.append((lsn, operation, deepcopy(arguments)))

    def crashed(self, end_lsn: int) -> None:
        """A restart found the log to end here."""
        for lsn, operation, arguments in self._history:
            if lsn <= end_lsn:
                getattr(self._base, operation)(*arguments)
        self._base.end_of_life(is_orderly=False)
        self._begin()

    def ended(self) -> None:
        """A restart after an orderly end."""
        self._base = self.now
        self._base.end_of_life(is_orderly=True)
        self._begin()

    def _begin(self) -> None:
        self.now = deepcopy(self._base)
        self._history = []
