"""The patterns of messaging through a library: requests and replies, short sessions, and one-way messages."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, ClassVar, Final

from ostler.lab.load.client import LoadFailed, reply_for
from ostler.lab.load.drivers.load_worker import Done, LoadWorker, MakeWorker
from ostler.lab.load.drivers.threaded_driver import ThreadedDriver
from ostler.lab.load.libraries.adapter import CONSUMER, PRODUCER, REQUESTER, RESPONDER, LibraryAdapter
from ostler.lab.load.one_way import TIMES_BYTES, read_times, times_of
from ostler.lab.load.spec import ONE_WAY, REQUEST_REPLY, SESSIONS, LoadSpec, pair_of
from ostler.lab.runner.contract import CONNECT, ROUND_TRIP

_NAP_SECONDS: Final = 0.0005


class LibraryWorker(LoadWorker[Done]):
    """A client of one pattern, over the adapter of any library."""

    role: ClassVar[str]

    def __init__(self, adapter: type[LibraryAdapter[Done]], spec: LoadSpec, number: int) -> None:
        self.spec = spec
        self.library = adapter(spec, number, self.role)

    def open(self) -> Done:
        return self.library.connect()

    def close(self) -> Done:
        return self.library.close()

    def abandon(self) -> None:
        self.library.abandon()


class Requester(LibraryWorker[Done]):
    """Sends to the request queues in turn, or to one of them, and waits for each reply."""

    role = REQUESTER
    _sequence = 0

    def step(self) -> Done:
        self._sequence += 1
        pair = pair_of(self.spec, self.library.number, self._sequence)
        return self.library.request(pair, self._sequence, reply_for(self._sequence, self.spec.body_bytes))


class Session(Requester[None]):
    """Connects, makes a number of round trips and disconnects, at each step."""

    def open(self) -> None:
        """Do nothing: there is no connection between sessions."""

    def step(self) -> None:
        self.library.connect()
        began_ns = time.perf_counter_ns()
        self.tally.count(CONNECT, self.due_ns, began_ns)
        for _ in range(self.spec.session_round_trips):
            super().step()
            now_ns = time.perf_counter_ns()
            self.tally.count(ROUND_TRIP, began_ns, now_ns)
            began_ns = now_ns
        self.library.close()

    def close(self) -> None:
        """Do nothing: the last session has closed its connection."""


class Responder(LibraryWorker[Done]):
    """Replies to the requests of one queue."""

    role = RESPONDER

    def step(self) -> Done:
        return self.library.serve()


class Producer(LibraryWorker[Done]):
    """Sends messages that contain the times at which they were due and put."""

    role = PRODUCER

    def __init__(self, adapter: type[LibraryAdapter[Done]], spec: LoadSpec, number: int) -> None:
        super().__init__(adapter, spec, number)
        self._rest = bytes(spec.body_bytes - TIMES_BYTES)

    def step(self) -> Done:
        window = self.library.window
        while window and self.tally.outstanding >= window:
            time.sleep(_NAP_SECONDS)
        self.tally.put()
        return self.library.send(times_of(self.due_ns, time.perf_counter_ns()) + self._rest)


class Consumer(LibraryWorker[Done]):
    """Counts the messages of one queue, and acknowledges each."""

    role = CONSUMER

    def __init__(self, adapter: type[LibraryAdapter[Done]], spec: LoadSpec, number: int) -> None:
        super().__init__(adapter, spec, number)
        self.library.received = self._received
        # Messages due earlier are left over from a failed load.
        self._opened_ns = time.perf_counter_ns()

    def step(self) -> Done:
        return self.library.serve()

    def _received(self, body: bytes, message: Any) -> Done:
        if len(body) != self.spec.body_bytes:
            raise LoadFailed(f"a message of {len(body)} bytes arrived, and {self.spec.body_bytes} were due")
        due_ns, put_ns = read_times(body)
        if due_ns >= self._opened_ns:
            self.tally.got(due_ns, put_ns, time.perf_counter_ns())
        return self.library.acknowledge(message)


# By kind of load: the requesters or producers, and the responders or consumers.
_PATTERNS: Final[dict[str, tuple[type[LibraryWorker[Any]], type[LibraryWorker[Any]]]]] = {
    REQUEST_REPLY: (Requester, Responder),
    SESSIONS: (Session, Responder),
    ONE_WAY: (Producer, Consumer),
}


def library_workers(
    adapter: type[LibraryAdapter[Done]], spec: LoadSpec
) -> tuple[list[MakeWorker[Done]], list[MakeWorker[Done]]]:
    """Return what makes the requesters and the responders of a load. Raises LoadFailed for a kind that is not there."""
    if spec.kind not in adapter.kinds:
        raise LoadFailed(f"{spec.protocol} does no {spec.kind} with {spec.messages} messages")
    if spec.kind == ONE_WAY and spec.body_bytes < TIMES_BYTES:
        raise LoadFailed(f"a body of {spec.body_bytes} bytes has no room for the times at which it was due and put")
    requester, responder = _PATTERNS[spec.kind]
    return (
        [partial(requester, adapter, spec, number) for number in spec.requesters],
        [partial(responder, adapter, spec, number) for number in spec.responders],
    )


def threaded_driver(adapter: type[LibraryAdapter[None]], spec: LoadSpec) -> ThreadedDriver:
    """Return a driver of blocking clients."""
    return ThreadedDriver(*library_workers(adapter, spec))
