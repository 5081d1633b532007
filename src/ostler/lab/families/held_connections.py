"""Hundreds of connections that are made and kept: the growth of a server's memory for each.

A server keeps memory that it has once used, so every run has a server of its own.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ostler.lab.families.task import RESULT, Task, wait_until
from ostler.lab.families.task import resident_bytes as resident_bytes
from ostler.lab.families.task_process import Agreement, ReadyTask, TaskProcess
from ostler.lab.load.bare import server as bare_server
from ostler.lab.load.bare.client import BareClient
from ostler.lab.load.client import LoadClient, Pace
from ostler.lab.load.drivers.connection_flood import ConnectingClient, ConnectionFlood, sockets_max
from ostler.lab.load.link import Address
from ostler.lab.load.progress import ProgressReporter, ReportProgress
from ostler.lab.load.timeline import PhaseRecorder, Timeline
from ostler.lab.peers.broker_process import LOOPBACK
from ostler.lab.runner.contract import (
    CONNECT,
    Metric,
    PointFailed,
    PointSpec,
    Watcher,
    WorkerCounts,
    WrappedLoad,
)
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.store.roles import PROBE

MEMORY_AT_START: Final = "memory at start, bytes"
MEMORY_PER_CONNECTION: Final = "memory per connection, bytes"
MEMORY_PER_CHANNEL: Final = "memory per channel, bytes"
ALL_CONNECTED: Final = "seconds until all are connected"
RATE: Final = "connections per second"
BLOCK_BYTES: Final = 2048
_CONNECTIONS: Final = (Agreement((CONNECT,), "connections"),)
_WARMING_SOCKETS: Final = 10
_SECONDS_MAX: Final = 60.0
_PER_SECOND_LEAST: Final = 500.0


@dataclass(frozen=True)
class HoldSpec:
    """The number of sockets, and of conversations on each. Without a channel the queue manager's local socket is used.

    `is_bare`: the other side is not a queue manager. `goes_on`: all are closed and opened again until the window is
    over.
    """

    address: Address
    server_pid: int
    sockets: int
    conversations: int = 1
    channel: str = ""
    is_bare: bool = False
    goes_on: bool = False


class HoldTask(Task):
    """Makes the connections, and keeps them until the window is over."""

    def __init__(self, plan: HoldSpec) -> None:
        self._plan = plan
        if plan.sockets > sockets_max():
            raise PointFailed(f"a process may have {sockets_max():,} sockets here, not {plan.sockets:,}")
        self._flood = ConnectionFlood(plan.address)

    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        plan, timeline = self._plan, recorder.timeline
        operation = recorder.operation(CONNECT)
        progress = ProgressReporter(recorder, CONNECT, 0, report)
        done = 0

        def note(began_ns: int, ready_ns: int) -> None:
            nonlocal done
            done += plan.conversations
            for _ in range(plan.conversations):
                operation.record(began_ns, ready_ns)
            if ready_ns >= progress.next_ns:
                progress.report(ready_ns, done)

        seconds_max = _SECONDS_MAX + plan.sockets * plan.conversations / _PER_SECOND_LEAST
        # The first few make the server import and allocate what it needs only once.
        few, many = self._clients(min(_WARMING_SOCKETS, plan.sockets)), self._clients(plan.sockets)
        wait_until(timeline.begin_ns)
        at_start = resident_bytes(plan.server_pid)
        self._flood.open(few, note, seconds_max)
        if not plan.goes_on:
            wait_until(timeline.measured_ns)
        before = resident_bytes(plan.server_pid)
        taken = [self._flood.open(many, note, seconds_max)]
        grown = resident_bytes(plan.server_pid) - before
        while plan.goes_on and time.perf_counter_ns() < timeline.cool_ns:
            self._flood.drop()
            taken.append(self._flood.open(self._clients(plan.sockets), note, seconds_max))
        wait_until(timeline.cool_ns)
        self._flood.drop()
        return self._metrics(at_start, grown, taken)

    def _metrics(self, at_start: int, grown: int, taken: list[float]) -> list[Metric]:
        connections = self._plan.sockets * self._plan.conversations
        found = [
            Metric(RESULT, MEMORY_AT_START, at_start),
            Metric(RESULT, MEMORY_PER_CONNECTION, grown / connections),
        ]
        if self._plan.channel or self._plan.is_bare:
            found.append(Metric(RESULT, MEMORY_PER_CHANNEL, grown / self._plan.sockets))
        for number, seconds in enumerate(taken):
            found.append(Metric(RESULT, ALL_CONNECTED, seconds, position=number))
            found.append(Metric(RESULT, RATE, connections / seconds, position=number))
        return found

    def _clients(self, count: int) -> list[LoadClient]:
        if self._plan.is_bare:
            return [BareClient(Pace(), True, number, BLOCK_BYTES) for number in range(count)]
        return [ConnectingClient(self._plan.channel, self._plan.conversations) for _ in range(count)]

    def close(self) -> None:
        self._flood.close()


class ConnectionServer(ABC):
    """A server that is made for one run."""

    @abstractmethod
    def prepare(self, point_spec: PointSpec) -> ReadyTask: ...

    @abstractmethod
    def end(self) -> None: ...


MakeTask = Callable[[LabQueueManager], Callable[[], Task]]


class QueueManagerServer(ConnectionServer):
    """A new queue manager, and the driver for it."""

    def __init__(
        self,
        root: Path,
        plan: QueueManagerPlan,
        make: MakeTask,
        agreements: Sequence[Agreement] = _CONNECTIONS,
        beyond_seconds: float = 0.0,
    ) -> None:
        self._manager = LabQueueManager(root, plan)
        self._beyond_seconds = beyond_seconds
        self._make = make
        self._agreements = agreements

    def prepare(self, point_spec: PointSpec) -> ReadyTask:
        manager = self._manager
        task = TaskProcess(self._make(manager), beyond_seconds=self._beyond_seconds)
        return ReadyTask(point_spec, task, manager.watched(), manager.metrics, self._agreements)

    def end(self) -> None:
        self._manager.end()


class BareConnectionServer(ConnectionServer):
    """A server that accepts, answers once and keeps the connection."""

    def __init__(self, make: Callable[[Address, int], Callable[[], Task]]) -> None:
        self._make = make
        listener = bare_server.listening((LOOPBACK, 0))
        self._address: Address = listener.getsockname()
        self._process = bare_server.start(bare_server.ECHO, listener, BLOCK_BYTES)
        listener.close()

    def prepare(self, point_spec: PointSpec) -> ReadyTask:
        task = TaskProcess(self._make(self._address, self._process.pid), PROBE)
        return ReadyTask(point_spec, task, [WatchedProcess(PROBE, self._process.pid)])

    def end(self) -> None:
        self._process.terminate()
        self._process.wait()


class OnFreshServers(WrappedLoad):
    """A load whose every run has a new server and a new driver."""

    def __init__(self, point_spec: PointSpec, make: Callable[[], ConnectionServer]) -> None:
        self.point_spec = point_spec
        self._make = make
        self._is_used = False
        self._open()

    def _open(self) -> None:
        self._server = self._make()
        try:
            self._inner = self._server.prepare(self.point_spec)
        except BaseException:
            self._server.end()
            raise

    def _renew(self) -> None:
        if self._is_used:
            self.close()
            self._open()
            self._is_used = False

    def processes(self) -> Sequence[WatchedProcess]:
        self._renew()
        return super().processes()

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        self._renew()
        self._is_used = True
        return super().run(timeline, watcher)

    def close(self) -> None:
        super().close()
        self._server.end()
