"""Opened loads of drivers, run once for each repetition, and what they report beside their counts."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, Protocol

from ostler.client.link.control import NotRunningError, control
from ostler.lab.families.task import RESULT, resident_bytes
from ostler.lab.load import spec
from ostler.lab.load.client import LoadFailed
from ostler.lab.load.spec import LoadSpec
from ostler.lab.load.timeline import Timeline
from ostler.lab.runner.contract import (
    GET,
    PUT,
    ROUND_TRIP,
    CountCheck,
    Metric,
    PointFailed,
    PointSpec,
    ReadyLoad,
    Watcher,
    WorkerCounts,
)
from ostler.lab.runner.queue_managers.loaded_manager import LoadedManager
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.model.errors import MQError

CONNECTIONS: Final = "connections"
MEMORY_PER_CONNECTION: Final = "memory per connection, bytes"
MEMORY_PER_OPEN_QUEUE: Final = "memory per open queue, bytes"
HANDED_OVER: Final = "handed over to a waiting getter, %"
FROM_BUFFER: Final = "taken from the buffer, %"
SPILLED: Final = "spilled to the queue file, %"
_SETTLE_ROUNDS: Final = 50


class AnyLoad(Protocol):
    """The clients of a contestant, in driver processes or inside the queue manager."""

    def open(self, plan: LoadSpec) -> None: ...

    def run(self, timeline: Timeline, watcher: Watcher) -> list[WorkerCounts]: ...

    def processes(self) -> list[WatchedProcess]: ...

    def close(self) -> None: ...

    def end(self) -> None: ...


class ReadyDriverLoad(ReadyLoad):
    """An opened load, run once for each repetition."""

    def __init__(self, load: AnyLoad, point_spec: PointSpec, watched: Sequence[WatchedProcess]) -> None:
        self.point_spec = point_spec
        self._load = load
        self._watched = watched

    def processes(self) -> Sequence[WatchedProcess]:
        return [*self._watched, *self._load.processes()]

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        try:
            return self._load.run(timeline, watcher)
        except LoadFailed as failure:
            raise PointFailed(str(failure)) from failure

    def close(self) -> None:
        # The broker may have ended.
        with suppress(LoadFailed):
            self._load.close()


class ReadyOstlerLoad(ReadyDriverLoad):
    """A load on queue managers, whose counts are compared with those of the drivers."""

    def __init__(
        self,
        load: AnyLoad,
        others: Sequence[AnyLoad],
        point_spec: PointSpec,
        managers: Sequence[LoadedManager],
        kind: str,
    ) -> None:
        super().__init__(load, point_spec, [each for manager in managers for each in manager.watched()])
        self._others = others
        self._managers = managers
        self._kind = kind
        self._before: dict[str, int] = {}
        self._is_open = True
        self.images: MediaImages | None = None
        self.shows_queue_shares = False
        """The shares of messages handed over, buffered and spilled are among the results."""
        self.memory: ConnectionMemory | None = None

    def processes(self) -> Sequence[WatchedProcess]:
        return [*super().processes(), *(each for other in self._others for each in other.processes())]

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        self._before = self._totals()
        try:
            return super().run(timeline, watcher)
        except PointFailed as failure:
            for manager in self._managers:
                if not manager.is_alive:
                    raise PointFailed(manager.describe_end()) from failure
            raise

    def metrics(self) -> Sequence[Metric]:
        if len(self._managers) == 1:
            return self._managers[0].metrics()
        return [replace(each, object=manager.name) for manager in self._managers for each in manager.metrics()]

    def _totals(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for manager in self._managers:
            for each in manager.metrics():
                if each.source == "queues":
                    found[each.name] = found.get(each.name, 0) + int(each.value)
        return found

    def results(self) -> Sequence[Metric]:
        """Return memory and shares of messages where they are wanted, and accounting metrics where they are collected.
        Those are written when applications disconnect."""
        found = [] if self.memory is None else self.memory.metrics()
        if self.shows_queue_shares:
            now = self._totals()
            found += queue_shares({name: value - self._before.get(name, 0) for name, value in now.items()})
        return [*found, *self._accounting()]

    def _accounting(self) -> Sequence[Metric]:
        if not any(manager.plan.is_accounting for manager in self._managers):
            return ()
        self._leave()
        if len(self._managers) == 1:
            return self._managers[0].accounting()
        # Each queue manager numbers its own records: the name tells them apart.
        return [
            replace(each, object=f"{manager.name}/{each.object}" if each.object else manager.name)
            for manager in self._managers
            for each in manager.accounting()
        ]

    def check_counts(self, counted: Sequence[WorkerCounts]) -> Sequence[CountCheck]:
        """Compare puts and gets with the counts of the drivers. Counters may lag behind the answers, so they are read
        until they are stable."""
        wanted = self._wanted(counted)
        for _ in range(_SETTLE_ROUNDS):
            now = self._totals()
            found = {name: now[name] - self._before.get(name, 0) for name in wanted}
            if found == wanted or now == (now := self._totals()):
                break
        return [CountCheck(name, wanted[name], found[name]) for name in wanted]

    def _wanted(self, counted: Sequence[WorkerCounts]) -> dict[str, int]:
        def total(operation: str) -> int:
            phases = [phase for each in counted for phase in each.phases]
            return sum(second.count for phase in phases for second in phase.operation(operation).seconds.values())

        if self._kind == spec.PUBLISH:
            # Queues count copies, of which each subscriber got one.
            return {"puts": total(GET), "gets": total(GET)}
        if self._kind == spec.ONE_WAY:
            return {"puts": total(PUT), "gets": total(GET)}
        trips = total(ROUND_TRIP)
        return {"puts": 2 * trips, "gets": 2 * trips}

    def close(self) -> None:
        self._leave()
        if self.images is not None:
            self.images.end()

    def _leave(self) -> None:
        if self._is_open:
            self._is_open = False
            super().close()
            for other in self._others:
                with suppress(LoadFailed):
                    other.close()


class MediaImages:
    """Records media images periodically, so that extents of a linear log become unneeded."""

    def __init__(self, managers: Sequence[LabQueueManager], seconds: float) -> None:
        self._managers = managers
        self._seconds = seconds
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lab-images", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._is_over.wait(self._seconds):
            for manager in self._managers:
                # The load reports a queue manager that has ended.
                with suppress(MQError, NotRunningError):
                    deque(control(manager.directory, "record_image", type="all", name="*"), maxlen=0)

    def end(self) -> None:
        self._is_over.set()
        self._thread.join()


def queue_shares(done: Mapping[str, int]) -> list[Metric]:
    """Return in percent how messages went from put to get, from the counts of the queues during a run."""
    gets = done.get("gets", 0)
    if gets <= 0:
        return []
    # A message counts as handed over or as spilled when it is put, and the one or other may still be on a queue.
    handed, spilled = (min(done.get(name, 0) / gets, 1.0) for name in ("handed_over", "spilled"))
    spilled = min(spilled, 1.0 - handed)
    shares = {HANDED_OVER: handed, FROM_BUFFER: 1.0 - handed - spilled, SPILLED: spilled}
    return [Metric(RESULT, name, 100 * share) for name, share in shares.items()]


class ConnectionMemory:
    """The growth of a new queue manager by its connections, and by a queue that each has open beside.

    `known` has the bytes of a connection by number of connections, for reply queues that are shared: what more a
    connection with a reply queue of its own takes is the memory of that queue.
    """

    def __init__(self, manager: LabQueueManager, connections: int, own_queues: int, known: dict[int, float]) -> None:
        self._manager = manager
        self._connections = connections
        self._own_queues = own_queues
        self._known = known
        self._before = resident_bytes(manager.pid)

    def metrics(self) -> list[Metric]:
        each = (resident_bytes(self._manager.pid) - self._before) / self._connections
        found = [Metric(RESULT, CONNECTIONS, float(self._connections)), Metric(RESULT, MEMORY_PER_CONNECTION, each)]
        if not self._own_queues:
            self._known[self._connections] = each
        elif self._connections in self._known:
            more = (each - self._known[self._connections]) * self._connections / self._own_queues
            found.append(Metric(RESULT, MEMORY_PER_OPEN_QUEUE, more))
        return found


def open_load(load: AnyLoad, made: LoadSpec) -> None:
    """Open a load. Raises PointFailed."""
    try:
        load.open(made)
    except LoadFailed as failure:
        raise PointFailed(str(failure)) from failure
