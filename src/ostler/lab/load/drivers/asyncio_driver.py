"""Asynchronous clients of a library: all of them in one event loop, each with a connection of its own."""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Awaitable
from typing import Any, Final

from ostler.lab.load.client import LoadFailed
from ostler.lab.load.drivers.load_worker import LoadWorker, MakeWorker, WorkerDriver, due_ns_of
from ostler.lab.load.pacing import Schedule
from ostler.lab.load.progress import ProgressReporter, ReportProgress, ignore_progress
from ostler.lab.load.timeline import PhaseRecorder, Timeline

_SILENT_SECONDS_MAX: Final = 30.0
_POLL_SECONDS: Final = 0.01
# `select` is limited to 1,024 descriptors.
_SELECT_CLIENTS_MAX: Final = 400

_Worker = LoadWorker[Awaitable[None]]


class AsyncioDriver(WorkerDriver):
    """Requesters that work during timelines, and responders that the library calls whenever the loop runs."""

    def __init__(self, requesters: list[MakeWorker[Awaitable[None]]], responders: list[MakeWorker[Awaitable[None]]]):
        super().__init__(len(requesters))
        self._loop = _new_loop(len(requesters) + len(responders))
        self._loop.set_exception_handler(self._failed)
        self._responders = [make() for make in responders]
        self._requesters = [make() for make in requesters]
        self._loop.run_until_complete(self._open())

    async def _open(self) -> None:
        for worker in (*self._responders, *self._requesters):
            worker.tally = self._tally
            await worker.open()

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Note the failure of a worker that was called by its library."""
        if isinstance(context.get("exception"), LoadFailed):
            self._failure = context["message"]
        else:
            loop.default_exception_handler(context)

    def serve_until_readable(self, descriptor: int) -> None:
        """Answer requests of other drivers until a descriptor becomes readable."""
        self._loop.add_reader(descriptor, self._loop.stop)
        self._loop.run_forever()
        self._loop.remove_reader(descriptor)

    def run(self, timeline: Timeline, report: ReportProgress = ignore_progress) -> PhaseRecorder:
        """As the epoll driver's `run`, with a task for each requester."""
        recorder, progress = self._begin(timeline, report)
        self._loop.run_until_complete(self._run_all(progress))
        return recorder

    async def _run_all(self, progress: ProgressReporter) -> None:
        timeline, schedule = self._timeline, self._schedule
        reporting = asyncio.ensure_future(self._report(progress))
        try:
            await asyncio.gather(
                *(
                    self._keep_busy(worker, timeline)
                    if schedule is None
                    else self._keep_to(worker, slot, timeline, schedule)
                    for slot, worker in enumerate(self._requesters)
                )
            )
            await self._wait_for_messages()
        finally:
            reporting.cancel()

    async def _wait_for_messages(self) -> None:
        """Wait for one-way messages in flight."""
        tally = self._tally
        silent_since, seen = time.perf_counter(), tally.outstanding
        while tally.outstanding > 0 and not self.pacing.is_shared and not self._failure:
            await asyncio.sleep(_POLL_SECONDS)
            if tally.outstanding != seen:
                silent_since, seen = time.perf_counter(), tally.outstanding
            elif time.perf_counter() - silent_since > _SILENT_SECONDS_MAX:
                raise LoadFailed(f"{seen} messages did not arrive within {_SILENT_SECONDS_MAX:.0f} s")
        if self._failure:
            raise LoadFailed(self._failure)

    async def _report(self, progress: ProgressReporter) -> None:
        while True:
            await _sleep_until(progress.next_ns)
            progress.report(time.perf_counter_ns(), self._tally.completed)

    async def _keep_busy(self, worker: _Worker, timeline: Timeline) -> None:
        main, tally = self.pacing.main_operation, self._tally
        await _sleep_until(timeline.begin_ns)
        now = time.perf_counter_ns()
        while now < timeline.end_ns and not self._failure:
            began = worker.due_ns = now
            await worker.step()
            now = time.perf_counter_ns()
            tally.done(main, began, now, False)

    async def _keep_to(self, worker: _Worker, slot: int, timeline: Timeline, schedule: Schedule) -> None:
        turn = 0
        while not self._failure:
            due_ns = due_ns_of(schedule, slot, turn)
            if due_ns >= timeline.end_ns:
                return
            await _sleep_until(due_ns)
            began = time.perf_counter_ns()
            if began >= timeline.end_ns:
                return
            worker.due_ns = due_ns
            schedule.begun(slot, began)
            await worker.step()
            self._record_rated(due_ns, began, turn)
            turn += 1

    def close(self) -> None:
        self._loop.run_until_complete(self._close())
        self._loop.close()

    async def _close(self) -> None:
        for worker in (*self._requesters, *self._responders):
            await worker.close()


def _new_loop(clients: int) -> asyncio.AbstractEventLoop:
    """Return a loop that wakes up to the microsecond where possible: with `epoll` it does to the millisecond only."""
    if clients > _SELECT_CLIENTS_MAX:
        return asyncio.new_event_loop()
    return asyncio.SelectorEventLoop(selectors.SelectSelector())


async def _sleep_until(when_ns: int) -> None:
    left_ns = when_ns - time.perf_counter_ns()
    if left_ns > 0:
        await asyncio.sleep(left_ns / 1e9)
