"""The experiment of all load families: loads on queue managers, on peers and on bare limits.

A family has a function that returns the load of a step (`families.load_points`). This experiment starts the queue
managers, drives peers with the same load where they can carry it, and adds the limits.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from ostler.client.link.control import NotRunningError, control
from ostler.lab.families.load_points import LoadPoint
from ostler.lab.load import spec
from ostler.lab.load.client import LoadFailed
from ostler.lab.load.drivers.driver_process import new_load
from ostler.lab.load.drivers.trusted_load import TrustedLoad
from ostler.lab.load.spec import LoadSpec, TlsSpec
from ostler.lab.load.timeline import Timeline
from ostler.lab.runner.contract import (
    GET,
    NEEDED_PARAMETER,
    PUT,
    ROUND_TRIP,
    Contestant,
    ContestantKind,
    CountCheck,
    Experiment,
    Metric,
    PointFailed,
    PointSpec,
    ReadyLoad,
    RunAborted,
    RunContext,
    Watcher,
    WorkerCounts,
)
from ostler.lab.runner.limits import FORCES, LimitProbes
from ostler.lab.runner.peer_brokers import PeerBrokers, PeerContestant
from ostler.lab.runner.queue_managers.plan import CHANNEL
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.scenarios.model import Binding
from ostler.lab.scenarios.steps import Step
from ostler.model.errors import MQError

LIBRARY_CLIENTS_MAX: Final = 10
"""Libraries are driven with one thread for each client. With many clients that measures the threads, not the broker."""
TMPFS: Final = Path("/dev/shm")
_SETTLE_ROUNDS: Final = 50
_LIMIT_CLIENTS_MAX: Final = 1000
"""More busy connections show nothing new of a limit."""

ReadPoint = Callable[..., LoadPoint]


@dataclass(frozen=True)
class OstlerContestant:
    """One way of using a queue manager as a contestant: the protocol of its applications, and their options."""

    name: str
    protocol: str = spec.MQ_VERBS
    messages: str = spec.PLAIN
    is_library: bool = False
    read_ahead: bool = False


VERB_BY_VERB: Final = OstlerContestant("Ostler")
PIPELINED: Final = OstlerContestant("Ostler, pipelined", spec.MQ_PIPELINED)
READ_AHEAD: Final = OstlerContestant("Ostler, read-ahead", read_ahead=True)
LIBRARY: Final = OstlerContestant("Ostler, ostler.connect", spec.OSTLER_API, is_library=True)
_PROMISE: Final = "persistent messages and units of work are forced to disk before they are answered"
_NO_PROMISE: Final = "answered when the message is queued in memory, nothing forced"


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
        managers: Sequence[LabQueueManager],
        kind: str,
    ) -> None:
        super().__init__(load, point_spec, [each for manager in managers for each in manager.watched()])
        self._others = others
        self._managers = managers
        self._kind = kind
        self._before: dict[str, int] = {}
        self._is_open = True
        self.images: MediaImages | None = None

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
        """Return accounting metrics, where they are collected. They are written when applications disconnect."""
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


class LoadExperiment(Experiment):
    """Queue managers, peers and limits under the same load."""

    def __init__(
        self,
        context: RunContext,
        read_point: ReadPoint,
        ostler_contestants: Sequence[OstlerContestant] = (VERB_BY_VERB, LIBRARY),
    ) -> None:
        self._context = context
        self._points = {step.number: read_point(context.scenario, step) for step in context.steps}
        self._ostler_contestants = {
            each.name: each for each in ostler_contestants if context.settings.libraries or not each.is_library
        }
        self._stack = ExitStack()
        self._managers: list[LabQueueManager] = []
        self._running: LoadPoint | None = None
        self._made = 0
        self._loads: dict[str, AnyLoad] = {}
        self._tmpfs: Path | None = None
        settings = context.settings
        self._brokers = PeerBrokers(settings.peers, context.scratch / "peers", settings.libraries)
        self._stack.callback(self._brokers.close)
        self._peers: dict[str, PeerContestant] = {}
        self._limits = LimitProbes(context.scratch, settings.drivers)
        self._stack.callback(self._limits.close)

    # -- who takes part ------------------------------------------------------------------------------------------------

    def contestants(self) -> Sequence[Contestant]:
        found = [
            contestant for each in self._ostler_contestants.values() if (contestant := self._ostler(each)) is not None
        ]
        return [*found, *self._peer_contestants(), *self._limit_contestants()]

    def _ostler(self, ours: OstlerContestant) -> Contestant | None:
        steps = frozenset(number for number, point in self._points.items() if _can(ours, point))
        promise = _PROMISE if any(self._points[number].persistent for number in steps) else _NO_PROMISE
        return Contestant(ours.name, ContestantKind.OSTLER, promise, steps) if steps else None

    def _peer_contestants(self) -> list[Contestant]:
        """Return the peers. They take part where nothing is specific to queue managers: trusted applications, costs of
        options."""
        kinds = {point.kind for point in self._points.values()}
        if len(kinds) != 1 or kinds & {spec.SESSIONS} or any(point.managers > 1 for point in self._points.values()):
            return []
        baseline = {number: point.persistent for number, point in self._points.items() if _is_plain(point)}
        found = []
        for peer in self._brokers.contestants(baseline, kinds.pop()):
            steps = frozenset(
                number
                for number in peer.contestant.steps or ()
                if not peer.is_library or self._points[number].requesters <= LIBRARY_CLIENTS_MAX
            )
            if steps:
                self._peers[peer.contestant.name] = peer
                found.append(replace(peer.contestant, steps=steps))
        return found

    def _limit_contestants(self) -> list[Contestant]:
        if not self._context.settings.limits:
            return []
        return self._limits.contestants({number: self._bare_spec(point) for number, point in self._points.items()})

    def _bare_spec(self, point: LoadPoint) -> LoadSpec:
        """Return the load of limit probes: as much as possible, whatever the rate of the contestants is."""
        made = self._spec(point, VERB_BY_VERB, ())
        kind = spec.REQUEST_REPLY if point.kind == spec.SESSIONS else point.kind
        if point.kind == spec.PUBLISH:
            # As many copies at a time, each passed on by itself.
            made = replace(made, requesters=made.responders, pairs=len(made.responders))
            kind = spec.ONE_WAY
        return replace(made, rate_per_second=0.0, kind=kind, requesters=made.requesters[:_LIMIT_CLIENTS_MAX])

    @property
    def absent(self) -> Mapping[str, str]:
        return self._brokers.absent

    # -- one point -----------------------------------------------------------------------------------------------------

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        point = self._points[step.number]
        if contestant.kind is ContestantKind.LIMIT:
            log_directory = self._memory() if point.on_tmpfs else None
            point_spec = self._point_spec(point)
            needed = str(_forces(point) if contestant.name == FORCES.name else 1)
            parameters = {**point_spec.parameters, NEEDED_PARAMETER: needed}
            made = self._bare_spec(point)
            point_spec = replace(point_spec, clients=len(made.requesters), rate_per_second=None, parameters=parameters)
            return self._limits.prepare(contestant, made, point_spec, log_directory)
        if contestant.kind is ContestantKind.PEER:
            peer = self._peers[contestant.name]
            ended = peer.describe_end(point.persistent)
            if ended:
                raise PointFailed(ended)
            load = self._load(contestant.name, 1 if peer.is_library else self._context.settings.drivers)
            open_load(load, peer.spec_like(self._spec(point, VERB_BY_VERB, ())))
            return ReadyDriverLoad(load, self._point_spec(point), peer.watched(point.persistent))
        return self._prepare_ostler(self._ostler_contestants[contestant.name], point)

    def _prepare_ostler(self, ours: OstlerContestant, point: LoadPoint) -> ReadyLoad:
        managers = self._started(point)
        loads: list[AnyLoad] = []
        for load, made in self._shared_out(ours, point, managers):
            open_load(load, made)
            # Requesters are opened last, and their operations are counted.
            loads.insert(0, load)
        prepared = ReadyOstlerLoad(loads[0], loads[1:], self._point_spec(point), managers, point.kind)
        if point.media_image_seconds:
            prepared.images = MediaImages(managers, point.media_image_seconds)
        return prepared

    def _shared_out(
        self, ours: OstlerContestant, point: LoadPoint, managers: Sequence[LabQueueManager]
    ) -> list[tuple[AnyLoad, LoadSpec]]:
        """Divide the clients: drivers run those with a connection, the queue manager itself runs the trusted ones."""
        made = self._spec(point, ours, managers)
        driver = self._load(ours.name, 1 if ours.is_library else self._context.settings.drivers)
        bindings = (point.requester_binding, point.responder_binding)
        if ours.is_library or Binding.TRUSTED not in bindings:
            return [(driver, made)]
        trusted = self._trusted(ours.name, managers[0])
        asking, answering = (trusted if each is Binding.TRUSTED else driver for each in bindings)
        if asking is answering:
            return [(asking, made)]
        nobody = range(0)
        return [(answering, replace(made, requesters=nobody)), (asking, replace(made, responders=nobody))]

    def _spec(self, point: LoadPoint, ours: OstlerContestant, managers: Sequence[LabQueueManager]) -> LoadSpec:
        first = managers[0] if managers else None
        is_client = point.requester_binding is Binding.CLIENT or ours.is_library
        others_local = point.responder_binding is not Binding.CLIENT and is_client and not ours.is_library
        tls = None
        if first is not None and point.manager.cipher_spec:
            tls = TlsSpec(point.manager.cipher_spec, first.authority_file)
        return LoadSpec(
            protocol=ours.protocol,
            address=("", 0) if first is None else first.address if is_client else first.local_path,
            requesters=range(point.requesters),
            responders=range(point.responders),
            pairs=point.pairs,
            body_bytes=point.body_bytes,
            persistent=point.persistent,
            channel=CHANNEL if is_client else "",
            kind=point.kind,
            rate_per_second=point.rate_per_second,
            responder_address=first.local_path if others_local and first is not None else None,
            units=point.units,
            goes_round=point.goes_round,
            own_replies=point.own_replies,
            messages=ours.messages,
            session_round_trips=point.session_round_trips,
            tls=tls,
            conversations=point.conversations,
            other_addresses=tuple(each.address if is_client else each.local_path for each in managers[1:]),
            async_put=point.async_put,
            read_ahead=point.read_ahead or ours.read_ahead,
            subscribers=point.subscribers,
            window=point.window,
            consumer_unit=point.consumer_unit,
        )

    def _point_spec(self, point: LoadPoint) -> PointSpec:
        parameters = {"responders": str(point.responders), "queue pairs": str(point.pairs), **point.parameters}
        # Subscribers count as clients.
        clients = point.requesters + (point.responders if point.kind == spec.PUBLISH else 0)
        return PointSpec(
            clients,
            point.body_bytes,
            point.persistent,
            point.rate_of_all,
            parameters,
            point.main_operation,
        )

    # -- what runs -----------------------------------------------------------------------------------------------------

    def _started(self, point: LoadPoint) -> list[LabQueueManager]:
        """Return the queue managers of a point: the running ones if they are alive and match it, otherwise new ones."""
        same = self._running is not None and _same_managers(self._running, point)
        if same and all(each.is_alive for each in self._managers):
            return self._managers
        self._end_managers()
        self._made += 1
        directory = self._context.scratch / f"managers-{self._made}"
        is_accounting = self._context.settings.accounting
        for number in range(point.managers):
            name = point.manager.name if point.managers == 1 else f"{point.manager.name}{number}"
            log_directory = str(self._memory() / f"{self._made}-{name}") if point.on_tmpfs else ""
            made = replace(point.manager, name=name, log_directory=log_directory, is_accounting=is_accounting)
            try:
                self._managers.append(LabQueueManager(directory, made))
            except RunAborted as over:
                if not log_directory:
                    raise
                # Memory may be too small for a log that fits on a disk.
                raise PointFailed(str(over)) from over
        self._running = point
        return self._managers

    def _memory(self) -> Path:
        """Return a directory in memory, for logs. Leftovers of killed runs are removed first."""
        if self._tmpfs is None:
            if not os.access(TMPFS, os.W_OK):
                raise PointFailed(f"there is no file system in memory at {TMPFS}")
            for left in TMPFS.glob("ostler-lab-*"):
                if not Path(f"/proc/{left.name.rpartition('-')[2]}").exists():
                    shutil.rmtree(left, ignore_errors=True)
            self._tmpfs = Path(tempfile.mkdtemp(prefix="ostler-lab-", suffix=f"-{os.getpid()}", dir=TMPFS))
            self._stack.callback(shutil.rmtree, self._tmpfs, ignore_errors=True)
        return self._tmpfs

    def _load(self, name: str, processes: int) -> AnyLoad:
        """Return the drivers of a contestant. They are kept for the whole run."""
        if name not in self._loads:
            self._loads[name] = new_load(processes)
        return self._loads[name]

    def _trusted(self, name: str, manager: LabQueueManager) -> AnyLoad:
        """Return the applications inside a queue manager, which end with it."""
        key = f"{name} in {manager.pid}"
        if key not in self._loads:
            self._loads[key] = TrustedLoad(manager)
        return self._loads[key]

    def _end_managers(self) -> None:
        for each in self._managers:
            each.end()
            shutil.rmtree(each.root, ignore_errors=True)
        self._managers = []
        self._running = None

    def close(self) -> None:
        for load in self._loads.values():
            load.end()
        self._loads.clear()
        self._end_managers()
        self._stack.close()


def open_load(load: AnyLoad, made: LoadSpec) -> None:
    """Open a load. Raises PointFailed."""
    try:
        load.open(made)
    except LoadFailed as failure:
        raise PointFailed(str(failure)) from failure


def _can(ours: OstlerContestant, point: LoadPoint) -> bool:
    if point.manager.cores > len(os.sched_getaffinity(0)) or (ours.read_ahead and point.persistent):
        return False
    if ours.is_library:
        plain = _is_plain(point) and point.kind != spec.SESSIONS and point.managers == 1 and not point.own_replies
        return plain and point.requesters <= LIBRARY_CLIENTS_MAX and point.units in (spec.BY_PERSISTENCE, spec.NOBODY)
    return True


def _is_plain(point: LoadPoint) -> bool:
    """Others can do the same: nothing is encrypted, no log option is varied, no cores are taken away."""
    return not point.manager.cipher_spec and not point.media_image_seconds and not point.manager.cores


def _forces(point: LoadPoint) -> int:
    """Return how often an operation waits for the log: for a request, a reply, and the requester's get in a unit of
    work."""
    if point.kind in (spec.ONE_WAY, spec.PUBLISH):
        return 1
    return 3 if point.units == spec.EVERYBODY else 2


def _same_managers(running: LoadPoint, wanted: LoadPoint) -> bool:
    return (
        running.manager == wanted.manager
        and running.managers == wanted.managers
        and running.on_tmpfs == wanted.on_tmpfs
    )
