"""The patterns over adapters that pass messages between threads or tasks of this process."""

from __future__ import annotations

import asyncio
import queue
from collections import defaultdict
from collections.abc import Awaitable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from tests.lab.load.recorded import timeline_of

from ostler.lab.load.client import LoadFailed
from ostler.lab.load.drivers.asyncio_driver import AsyncioDriver
from ostler.lab.load.drivers.threaded_driver import ThreadedDriver
from ostler.lab.load.libraries.adapter import LibraryAdapter
from ostler.lab.load.libraries.patterns import library_workers, threaded_driver
from ostler.lab.load.pacing import SINCE_DUE
from ostler.lab.load.spec import ONE_WAY, PUBLISH, REQUEST_REPLY, SESSIONS, LoadSpec
from ostler.lab.load.timeline import PhaseRecorder
from ostler.lab.runner.contract import CONNECT, GET, PUT, ROUND_TRIP, SESSION
from ostler.lab.store.rows import OperationRow

SPEC = LoadSpec("memory", "", range(2), range(2), 2, 100, False)
SECONDS = 0.1


class Blocking(LibraryAdapter[None]):
    """Queues between threads. A message is its body, the sequence number and the queue to reply to."""

    kinds = (REQUEST_REPLY, SESSIONS, ONE_WAY)
    queues: ClassVar[defaultdict[str, queue.SimpleQueue[tuple[bytes, int, str]]]] = defaultdict(queue.SimpleQueue)
    events: ClassVar[list[str]] = []

    def queue(self, purpose: str, number: int) -> str:
        return f"{purpose}.{number}"

    def connect(self) -> None:
        self.events.append(f"{self.role} {self.number} receives from {self.own_queue}")

    def request(self, pair: int, sequence: int, body: bytes) -> None:
        self.queues[self.queue("request", pair)].put((body, sequence, self.own_queue))
        if self.queues[self.own_queue].get(timeout=20)[:2] != (body, sequence):
            raise LoadFailed("a reply to another request")

    def reply(self, body: bytes, message: Any) -> None:
        _, sequence, reply_to = message
        self.queues[reply_to].put((body, sequence, ""))

    def send(self, body: bytes) -> None:
        self.queues[self.own_queue].put((body, 0, ""))

    def acknowledge(self, message: Any) -> None:
        self.events.append("acknowledged")

    def serve(self) -> None:
        try:
            message = self.queues[self.own_queue].get(timeout=0.01)
        except queue.Empty:
            return
        self.received(message[0], message)

    def close(self) -> None:
        self.events.append(f"{self.role} {self.number} closed")

    def abandon(self) -> None:
        self.events.append(f"{self.role} {self.number} abandoned")


class Asynchronous(LibraryAdapter[Awaitable[None]]):
    """Receivers of one event loop, which are called by tasks of their own, as those of a library are."""

    receivers: ClassVar[dict[str, Asynchronous]] = {}

    def queue(self, purpose: str, number: int) -> str:
        return f"{purpose}.{number}"

    async def connect(self) -> None:
        if self.role in ("responder", "consumer"):
            self.receivers[self.own_queue] = self

    async def _deliver(self, receiver: Asynchronous, body: bytes, message: Any) -> None:
        try:
            await receiver.received(body, message)
        except LoadFailed as failure:
            context = {"message": str(failure), "exception": failure}
            asyncio.get_running_loop().call_exception_handler(context)

    async def request(self, pair: int, sequence: int, body: bytes) -> None:
        replied: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        await self._deliver(self.receivers[self.queue("request", pair)], body, replied)
        if await replied != body:
            raise LoadFailed("a reply to another request")

    async def reply(self, body: bytes, message: Any) -> None:
        message.set_result(body)

    async def send(self, body: bytes) -> None:
        asyncio.get_running_loop().create_task(self._deliver(self.receivers[self.own_queue], body, None))
        await asyncio.sleep(0)

    async def acknowledge(self, message: Any) -> None:
        await asyncio.sleep(0)

    async def close(self) -> None:
        self.receivers.pop(self.own_queue, None)


class Cutting(Asynchronous):
    """Delivers less than was sent."""

    async def send(self, body: bytes) -> None:
        await super().send(body[1:])


@pytest.fixture(autouse=True)
def events() -> Iterator[list[str]]:
    Blocking.queues.clear()
    Blocking.events.clear()
    yield Blocking.events
    assert Asynchronous.receivers == {}, "all adapters were closed"


def run(driver: ThreadedDriver | AsyncioDriver, spec: LoadSpec) -> dict[str, int]:
    """Return the number of operations by name."""
    driver.pacing = spec.pacing()
    try:
        found = counts(driver.run(timeline_of(SECONDS)))
        assert driver.outstanding == 0
        return found
    finally:
        driver.close()


def counts(recorder: PhaseRecorder) -> dict[str, int]:
    found: dict[str, int] = {}
    rows = [row for phase in recorder.phases for row in phase.rows(0)]
    for row in (each for each in rows if isinstance(each, OperationRow)):
        found[row.operation] = found.get(row.operation, 0) + row.count
    return found


def blocking(spec: LoadSpec) -> ThreadedDriver:
    return threaded_driver(Blocking, spec)


def asynchronous(spec: LoadSpec) -> AsyncioDriver:
    return AsyncioDriver(*library_workers(Asynchronous, spec))


both = pytest.mark.parametrize("start", [blocking, asynchronous])


@both
@pytest.mark.parametrize("goes_round", [True, False])
def test_requests_are_replied_to(start: Any, goes_round: bool) -> None:
    spec = replace(SPEC, goes_round=goes_round)
    assert run(start(spec), spec)[ROUND_TRIP] >= 2


@both
def test_one_way_messages_all_arrive(start: Any) -> None:
    spec = replace(SPEC, kind=ONE_WAY)
    found = run(start(spec), spec)
    assert found[PUT] == found[GET] >= 2


@both
def test_a_rate_is_kept(start: Any) -> None:
    spec = replace(SPEC, rate_per_second=100.0)
    assert run(start(spec), spec)[ROUND_TRIP] <= 2 * 100 * SECONDS


@both
def test_round_trips_paced_since_the_put_are_also_timed_since_they_were_due(start: Any) -> None:
    spec = replace(SPEC, rate_per_second=100.0, since_put=True)
    found = run(start(spec), spec)
    assert found[ROUND_TRIP] == found[SINCE_DUE] >= 1


@both
def test_one_way_messages_at_a_rate_are_also_timed_since_the_put(start: Any) -> None:
    spec = replace(SPEC, kind=ONE_WAY, rate_per_second=100.0)
    found = run(start(spec), spec)
    assert found[GET] == found["get since put"] >= 1
    assert found[PUT] == found["put since call"]


def test_each_role_has_its_queue(events: list[str]) -> None:
    run(blocking(SPEC), SPEC)
    assert "requester 1 receives from reply.1" in events
    assert "responder 1 receives from request.1" in events
    assert events.count("requester 1 closed") == 1
    spec = replace(SPEC, kind=ONE_WAY, requesters=range(3), responders=range(3))
    found = run(blocking(spec), spec)
    assert "consumer 2 receives from one-way.0" in events
    assert events.count("acknowledged") == found[GET]


def test_a_session_connects_makes_its_round_trips_and_closes(events: list[str]) -> None:
    spec = replace(SPEC, kind=SESSIONS, session_round_trips=3)
    found = run(blocking(spec), spec)
    assert found[SESSION] == found[CONNECT] >= 2
    assert found[ROUND_TRIP] == 3 * found[SESSION]
    opened = [each for each in events if each.startswith("requester") and "receives" in each]
    closed = [each for each in events if each.startswith("requester") and "closed" in each]
    assert len(opened) == len(closed) == found[SESSION]


def test_a_worker_that_fails_is_abandoned_and_not_closed(events: list[str]) -> None:
    spec = replace(SPEC, requesters=range(1))
    Blocking.queues["reply.0"].put((b"of an earlier load", 9, ""))
    with pytest.raises(LoadFailed, match="a reply to another request"):
        run(blocking(spec), spec)
    assert "requester 0 abandoned" in events
    assert "requester 0 closed" not in events


def test_messages_of_an_earlier_load_do_not_count() -> None:
    spec = replace(SPEC, kind=ONE_WAY)
    Blocking.queues["one-way.0"].put(((1).to_bytes(8, "big") + bytes(92), 0, ""))
    found = run(blocking(spec), spec)
    assert found[PUT] == found[GET]


def test_a_message_of_another_size_ends_the_load() -> None:
    spec = replace(SPEC, kind=ONE_WAY)
    Blocking.queues["one-way.0"].put((bytes(99), 0, ""))
    with pytest.raises(LoadFailed, match="a message of 99 bytes arrived, and 100 were due"):
        run(blocking(spec), spec)


def test_a_failure_in_a_task_of_the_library_ends_the_load() -> None:
    spec = replace(SPEC, kind=ONE_WAY)
    with pytest.raises(LoadFailed, match="a message of 99 bytes arrived, and 100 were due"):
        run(AsyncioDriver(*library_workers(Cutting, spec)), spec)


def test_a_kind_of_load_that_a_library_does_not_have_is_refused() -> None:
    with pytest.raises(LoadFailed, match="memory does no publish-subscribe"):
        blocking(replace(SPEC, kind=PUBLISH))
    with pytest.raises(LoadFailed, match="memory does no sessions"):
        asynchronous(replace(SPEC, kind=SESSIONS))
    with pytest.raises(LoadFailed, match="no room for the times at which it was due and put"):
        blocking(replace(SPEC, kind=ONE_WAY, body_bytes=7))
