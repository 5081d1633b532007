"""The experiment of all load families: loads on queue managers, on peers and on bare limits.

A family has a function that returns the load of a step (`families.load_points`). This experiment starts the queue
managers, drives peers with the same load where they can carry it, and adds the limits.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ostler.lab.common.machine import IN_MEMORY, file_system
from ostler.lab.families.load_points import LoadPoint
from ostler.lab.families.ready_loads import (
    AnyLoad,
    ConnectionMemory,
    MediaImages,
    ReadyDriverLoad,
    ReadyOstlerLoad,
    open_load,
)
from ostler.lab.families.set_up import run_descriptions
from ostler.lab.families.set_up.queue_manager_plans import LOGS_BYTES_MAX, QUICK_LOGS_BYTES_MAX, fitted_log
from ostler.lab.load import spec
from ostler.lab.load.drivers.driver_process import new_load
from ostler.lab.load.drivers.trusted_load import TrustedLoad
from ostler.lab.load.spec import LoadSpec, TlsSpec
from ostler.lab.peers.packages import PeerUnavailable
from ostler.lab.peers.registry import KNOWN, KnownPeer
from ostler.lab.runner.contract import (
    NEEDED_PARAMETER,
    Contestant,
    ContestantKind,
    Experiment,
    PointFailed,
    PointSpec,
    ReadyLoad,
    RunAborted,
    RunContext,
)
from ostler.lab.runner.limits import FORCES, REPLICATED_FORCES, LimitProbes
from ostler.lab.runner.peer_brokers import PeerBrokers, PeerContestant
from ostler.lab.runner.queue_managers.loaded_manager import LoadedManager
from ostler.lab.runner.queue_managers.plan import CHANNEL
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.scenarios.model import Binding, Deviation
from ostler.lab.scenarios.steps import Step

LIBRARY_CLIENTS_MAX: Final = 10
"""Libraries are driven with one thread for each client. With many clients that measures the threads, not the broker."""
TMPFS: Final = Path("/dev/shm")
SECOND_DISK_VARIABLE: Final = "OSTLER_LAB_LOG_DISK"
"""Names a directory on another disk than the runs, for scenarios that put the log there."""
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
    on_schedule: bool = False
    """Rated requesters keep to a fixed schedule, whatever the pace of the report is."""


VERB_BY_VERB: Final = OstlerContestant("Ostler")
PIPELINED: Final = OstlerContestant("Ostler, pipelined", spec.MQ_PIPELINED)
READ_AHEAD: Final = OstlerContestant("Ostler, read-ahead", read_ahead=True)
ON_SCHEDULE: Final = OstlerContestant("Ostler, on schedule", on_schedule=True)
LIBRARY: Final = OstlerContestant("Ostler, ostler.connect", spec.OSTLER_API, is_library=True)
_PROMISE: Final = "persistent messages and units of work are forced to disk before they are answered"
_NO_PROMISE: Final = "answered when the message is queued in memory, nothing forced"


class LoadExperiment(Experiment):
    """Queue managers, peers and limits under the same load."""

    peer_catalogue: Sequence[KnownPeer] = KNOWN
    """The peers that take part, where they are asked for."""

    def __init__(
        self,
        context: RunContext,
        read_point: ReadPoint,
        ostler_contestants: Sequence[OstlerContestant] = (VERB_BY_VERB, LIBRARY),
    ) -> None:
        self._context = context
        self._wanted = {step.number: read_point(context.scenario, step) for step in context.steps}
        logs_bytes_max = _logs_bytes_max(context)
        self._points = {number: _with_fitted_log(point, logs_bytes_max) for number, point in self._wanted.items()}
        self._second_disk = _second_disk(context.scratch)
        self._ostler_contestants = {
            each.name: each for each in ostler_contestants if context.settings.libraries or not each.is_library
        }
        self._stack = ExitStack()
        self._managers: list[LabQueueManager] = []
        self._running: LoadPoint | None = None
        self._made = 0
        self._loads: dict[str, AnyLoad] = {}
        self._memory_per_connection: dict[int, float] = {}
        self._tmpfs: Path | None = None
        settings = context.settings
        self._brokers = PeerBrokers(settings.peers, context.scratch / "peers", settings.libraries, self.peer_catalogue)
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
        steps = frozenset(
            number for number, point in self._points.items() if _can(ours, point) and self._has_disk(point)
        )
        promise = _PROMISE if any(self._points[number].persistent for number in steps) else _NO_PROMISE
        return Contestant(ours.name, ContestantKind.OSTLER, promise, steps) if steps else None

    def _peer_contestants(self) -> list[Contestant]:
        """Return the peers. They take part where nothing is specific to queue managers: trusted applications, costs of
        options."""
        kinds = {point.kind for point in self._points.values()}
        if len(kinds) != 1 or kinds & {spec.SESSIONS} or any(point.managers > 1 for point in self._points.values()):
            return []
        baseline = {number: point.persistent for number, point in self._points.items() if is_plain(point)}
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
        specs = {number: self._bare_spec(point) for number, point in self._points.items() if self._has_disk(point)}
        return self._limits.contestants(specs, self._copied_steps())

    def _has_disk(self, point: LoadPoint) -> bool:
        """The disk of the log is there."""
        return self._second_disk is not None or not point.on_second_disk

    def _copied_steps(self) -> frozenset[int]:
        """Return the steps in which an answer waits for a second log."""
        return frozenset()

    def _copy_round_trip_ms(self, point: LoadPoint) -> float:
        """Return the distance to the second log."""
        return 0.0

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

    @property
    def deviations(self) -> Sequence[Deviation]:
        settings, points = self._context.settings, self._points
        found = [
            *run_descriptions.log_deviations(self._wanted, points, settings.is_quick),
            *run_descriptions.parameter_deviations(self._context.scenario),
            *run_descriptions.window_deviations(points, self._window_seconds),
            *run_descriptions.trusted_deviations(points),
            *run_descriptions.model_deviations(self._context.scenario, points, len(os.sched_getaffinity(0))),
        ]
        if any(point.on_second_disk for point in points.values()):
            found += self._second_disk_deviations()
        return found

    def _second_disk_deviations(self) -> list[Deviation]:
        if self._second_disk is None:
            what = "The log on a disk of its own is left out"
            return [Deviation(what, f"{SECOND_DISK_VARIABLE} names no directory on another disk than the runs.")]
        kind = file_system(self._second_disk)
        if kind not in IN_MEMORY:
            return []
        what = f"The log on a disk of its own is on {kind}, in memory"
        return [Deviation(what, f"{SECOND_DISK_VARIABLE} names a directory there; a force of the log costs nothing.")]

    @property
    def _window_seconds(self) -> float:
        """The length of the measured window of all points."""
        return self._context.settings.measured_seconds

    @property
    def configuration(self) -> Mapping[str, str]:
        texts = run_descriptions.configuration_of(self._points, self._context.steps, self._configuration_texts)
        return {**texts, **self._brokers.configuration}

    def _configuration_texts(self, point: LoadPoint) -> Mapping[str, str]:
        """Return the configuration of the systems of a step, by name."""
        return run_descriptions.manager_texts(point)

    # -- one point -----------------------------------------------------------------------------------------------------

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        point = self._points[step.number]
        if contestant.kind is ContestantKind.LIMIT:
            log_directory = self._limit_directory(point)
            point_spec = self._point_spec(point)
            is_of_log = contestant.name in (FORCES.name, REPLICATED_FORCES.name)
            needed = f"{_forces(point) if is_of_log else 1:g}"
            parameters = {**point_spec.parameters, NEEDED_PARAMETER: needed}
            made = self._bare_spec(point)
            # A limit stands where the contestants of its step do, whatever passes its messages on.
            clients = min(point.clients, _LIMIT_CLIENTS_MAX)
            point_spec = replace(point_spec, clients=clients, rate_per_second=None, parameters=parameters)
            distance_ms = self._copy_round_trip_ms(point)
            return self._limits.prepare(contestant, made, point_spec, log_directory, distance_ms)
        if contestant.kind is ContestantKind.PEER:
            peer = self._peers[contestant.name]
            ended = peer.describe_end(point.persistent)
            if ended:
                raise PointFailed(ended)
            load = self._load(contestant.name, 1 if peer.is_library else self._context.settings.drivers)
            made = peer.spec_like(self._spec(point, VERB_BY_VERB, ()))
            try:
                peer.declare_queues(made)
            except PeerUnavailable as reason:
                raise PointFailed(str(reason)) from None
            open_load(load, made)
            return ReadyDriverLoad(load, self._point_spec(point), peer.watched(point.persistent))
        return self._prepare_ostler(self._ostler_contestants[contestant.name], point)

    def _prepare_ostler(self, ours: OstlerContestant, point: LoadPoint) -> ReadyLoad:
        managers = self._started(point)
        loads: list[AnyLoad] = []
        memory = None
        if point.is_fresh:
            own_queues = point.requesters if point.own_replies else 0
            memory = ConnectionMemory(managers[0], point.requesters, own_queues, self._memory_per_connection)
        for load, made in self._shared_out(ours, point, managers):
            open_load(load, made)
            # Requesters are opened last, and their operations are counted.
            loads.insert(0, load)
        prepared = ReadyOstlerLoad(loads[0], loads[1:], self._point_spec(point), managers, point.kind)
        prepared.memory = memory
        prepared.shows_queue_shares = point.shows_queue_shares
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

    def _spec(self, point: LoadPoint, ours: OstlerContestant, managers: Sequence[LoadedManager]) -> LoadSpec:
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
            since_put=point.since_put and not ours.on_schedule,
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
            producer_unit=point.producer_unit,
            requester_ccsid=point.requester_ccsid,
            responder_ccsid=point.responder_ccsid,
        )

    def _point_spec(self, point: LoadPoint) -> PointSpec:
        parameters = {"responders": str(point.responders), "queue pairs": str(point.pairs), **point.parameters}
        return PointSpec(
            point.clients,
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
        if same and not point.is_fresh and all(each.is_alive for each in self._managers):
            return self._managers
        self._end_managers()
        self._made += 1
        directory = self._context.scratch / f"managers-{self._made}"
        is_accounting = self._context.settings.accounting
        for number in range(point.managers):
            name = point.manager.name if point.managers == 1 else f"{point.manager.name}{number}"
            log_directory = self._log_directory(point, name)
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

    def _log_directory(self, point: LoadPoint, name: str) -> str:
        """Return the directory of a log that is not in the queue manager's own; empty otherwise."""
        if point.on_tmpfs:
            return str(self._memory() / f"{self._made}-{name}")
        return str(self._second_disk_directory() / f"{self._made}-{name}") if point.on_second_disk else ""

    def _limit_directory(self, point: LoadPoint) -> Path | None:
        """Return the directory in which probes write, where it is not that of the run: on the disk of the log."""
        if point.on_tmpfs:
            return self._memory()
        return self._second_disk_directory() if point.on_second_disk else None

    def _second_disk_directory(self) -> Path:
        assert self._second_disk is not None
        directory = self._second_disk / f"ostler-lab-{os.getpid()}"
        directory.mkdir(exist_ok=True)
        self._stack.callback(shutil.rmtree, directory, ignore_errors=True)
        return directory

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


def _logs_bytes_max(context: RunContext) -> int:
    """Return the limit for the logs of a step: half of what is free on the disk of the run, at most."""
    if context.settings.is_quick:
        return QUICK_LOGS_BYTES_MAX
    return min(LOGS_BYTES_MAX, shutil.disk_usage(context.scratch).free // 2)


def _with_fitted_log(point: LoadPoint, bytes_max: int) -> LoadPoint:
    log = fitted_log(point.manager.log, point.logs, bytes_max)
    # Points with the same plan share queue managers.
    return point if log == point.manager.log else replace(point, manager=replace(point.manager, log=log))


def _second_disk(scratch: Path) -> Path | None:
    """Return the directory for logs on another disk; None when there is none, or when it is on the same one."""
    named = os.environ.get(SECOND_DISK_VARIABLE, "")
    path = Path(named)
    if not named or not path.is_dir() or path.stat().st_dev == scratch.stat().st_dev:
        return None
    return path


def _can(ours: OstlerContestant, point: LoadPoint) -> bool:
    if point.manager.cores > len(os.sched_getaffinity(0)) or (ours.read_ahead and point.persistent):
        return False
    if ours.is_library:
        plain = is_plain(point) and point.kind != spec.SESSIONS and point.managers == 1 and not point.own_replies
        return plain and point.requesters <= LIBRARY_CLIENTS_MAX and point.units in (spec.BY_PERSISTENCE, spec.NOBODY)
    return True


def is_plain(point: LoadPoint) -> bool:
    """Others can do the same: nothing is encrypted, no log option is varied, the log is on the disk of the run, and no
    cores are taken away."""
    is_on_disk = not point.on_tmpfs and not point.on_second_disk
    return is_on_disk and not point.manager.cipher_spec and not point.media_image_seconds and not point.manager.cores


def _forces(point: LoadPoint) -> float:
    """Return how often an operation waits for the log: for a request, a reply, and the requester's get in a unit of
    work. Messages of one unit of work share a force."""
    if point.kind in (spec.ONE_WAY, spec.PUBLISH):
        return 1 / point.producer_unit
    return 3 if point.units == spec.EVERYBODY else 2


def _same_managers(running: LoadPoint, wanted: LoadPoint) -> bool:
    return (
        running.manager == wanted.manager
        and running.managers == wanted.managers
        and running.on_tmpfs == wanted.on_tmpfs
        and running.on_second_disk == wanted.on_second_disk
    )
