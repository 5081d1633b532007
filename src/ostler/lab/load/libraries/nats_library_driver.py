"""NATS through nats-py: all clients in one asyncio loop, each with a connection of its own."""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Awaitable, Sequence
from typing import Final, TypeVar

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg

from ostler.lab.load.client import LoadFailed, Pace, reply_for
from ostler.lab.load.pacing import LATE_NS, Pacing, Schedule
from ostler.lab.load.progress import ProgressReporter, ReportProgress, ignore_progress
from ostler.lab.load.spec import LoadSpec, host_and_port, pair_of
from ostler.lab.load.timeline import PhaseRecorder, Timeline

_REPLY_SECONDS_MAX: Final = 30.0
_POLL_SECONDS: Final = 0.01
# `select` is limited to 1,024 descriptors.
_SELECT_CLIENTS_MAX: Final = 400

T = TypeVar("T")


class NatsLibraryDriver:
    """Requests and replies through core NATS. Subclasses override how they use the library."""

    def __init__(self, spec: LoadSpec) -> None:
        self._plan = spec
        self.pacing: Pacing = spec.pacing()
        self._pace = Pace(self.pacing)
        self._loop = _new_loop(len(spec.requesters) + len(spec.responders))
        self._requesters: list[Client] = []
        self._responders: list[Client] = []
        self._sequence = 0
        self._loop.run_until_complete(self._open())

    @property
    def outstanding(self) -> int:
        return self._pace.outstanding

    async def _connect(self) -> Client:
        host, port = host_and_port(self._plan)
        return await nats.connect(f"nats://{host}:{port}")

    async def _open(self) -> None:
        for number in self._plan.responders:
            client = await self._connect()
            await self._open_responder(client, number)
            self._responders.append(client)
        for number in self._plan.requesters:
            client = await self._connect()
            await self._open_requester(client, number)
            self._requesters.append(client)
        for client in self._responders:
            await client.flush()

    async def _open_responder(self, client: Client, number: int) -> None:
        await client.subscribe(f"LIB.REQ.{number % self._plan.pairs}", "W", cb=self._respond)

    async def _open_requester(self, client: Client, number: int) -> None:
        """Do nothing: nats-py has an inbox for all requests of a connection."""

    async def _respond(self, message: Msg) -> None:
        await message.respond(message.data)

    async def _operate(self, client: Client, slot: int, turn: int, due_ns: int) -> None:
        """Do one operation of the requester with this index, for the nth time."""
        self._sequence += 1
        pair = pair_of(self._plan, self._plan.requesters[slot], turn)
        body = reply_for(self._sequence, self._plan.body_bytes)
        reply = await client.request(f"LIB.REQ.{pair}", body, timeout=_REPLY_SECONDS_MAX)
        if reply.data != body:
            raise LoadFailed("nats-py returned a reply to another request")

    def arm(self, timeline: Timeline) -> None:
        """Count in a timeline that will be run."""
        self._pace.arm(timeline)

    def serve_until_readable(self, descriptor: int) -> None:
        """Answer requests of other drivers until a descriptor becomes readable."""
        self._loop.add_reader(descriptor, self._loop.stop)
        self._loop.run_forever()
        self._loop.remove_reader(descriptor)

    def run(self, timeline: Timeline, report: ReportProgress = ignore_progress) -> PhaseRecorder:
        """As the epoll driver's `run`, with a task for each requester."""
        recorder = self._pace.begin_timeline(timeline, len(self._requesters))
        self._loop.run_until_complete(
            self._all(timeline, ProgressReporter(recorder, self.pacing.main_operation, 0, report))
        )
        return recorder

    async def _all(self, timeline: Timeline, progress: ProgressReporter) -> None:
        schedule = self._pace.schedule
        reporting = asyncio.ensure_future(self._report(progress, self._pace.completed))
        try:
            await _gathered(
                [
                    self._keep_busy(client, number, timeline)
                    if schedule is None
                    else self._keep_to(client, number, timeline, schedule)
                    for number, client in enumerate(self._requesters)
                ]
            )
            await self._all_got()
        finally:
            reporting.cancel()

    async def _all_got(self) -> None:
        """Wait for one-way messages in flight."""
        pace = self._pace
        silent_since, seen = time.perf_counter(), pace.outstanding
        while pace.outstanding > 0 and not self.pacing.is_shared:
            await asyncio.sleep(_POLL_SECONDS)
            if pace.outstanding != seen:
                silent_since, seen = time.perf_counter(), pace.outstanding
            elif time.perf_counter() - silent_since > _REPLY_SECONDS_MAX:
                raise LoadFailed(f"{seen} messages did not arrive within {_REPLY_SECONDS_MAX:.0f} s")

    async def _report(self, progress: ProgressReporter, before: int) -> None:
        while True:
            await _sleep_until(progress.next_ns)
            progress.report(time.perf_counter_ns(), self._pace.completed - before)

    async def _keep_busy(self, client: Client, number: int, timeline: Timeline) -> None:
        pace = self._pace
        await _sleep_until(timeline.begin_ns)
        now, turn = time.perf_counter_ns(), 0
        while now < timeline.end_ns:
            began = now
            turn += 1
            await self._operate(client, number, turn, began)
            now = time.perf_counter_ns()
            pace.completed += 1
            pace.main.record(began, now)

    async def _keep_to(self, client: Client, number: int, timeline: Timeline, schedule: Schedule) -> None:
        pace = self._pace
        turn = 0
        while True:
            is_next = turn > 0 and schedule.since_put
            due_ns = schedule.next_due_ns(number) if is_next else schedule.due_ns(number, turn)
            turn += 1
            if due_ns >= timeline.end_ns:
                return
            await _sleep_until(due_ns)
            began = time.perf_counter_ns()
            if began >= timeline.end_ns:
                return
            schedule.begun(number, began)
            await self._operate(client, number, turn, due_ns)
            pace.completed += 1
            pace.record(due_ns, began, time.perf_counter_ns(), began - due_ns > LATE_NS and not is_next)

    def close(self) -> None:
        self._loop.run_until_complete(self._close())
        self._loop.close()

    async def _close(self) -> None:
        for client in (*self._requesters, *self._responders):
            await client.close()


def _new_loop(clients: int) -> asyncio.AbstractEventLoop:
    """Return a loop that wakes up to the microsecond where possible: with `epoll` it does to the millisecond only."""
    if clients > _SELECT_CLIENTS_MAX:
        return asyncio.new_event_loop()
    return asyncio.SelectorEventLoop(selectors.SelectSelector())


async def _gathered(work: Sequence[Awaitable[T]]) -> list[T]:
    return list(await asyncio.gather(*work))


async def _sleep_until(when_ns: int) -> None:
    left_ns = when_ns - time.perf_counter_ns()
    if left_ns > 0:
        await asyncio.sleep(left_ns / 1e9)
