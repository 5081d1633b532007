"""The contract between the runner and the experiments, and the events that a view of a run receives.

A family of scenarios is a function `experiment(context: RunContext) -> Experiment`, named in `scenarios/families.py`.
The runner plans the points, gives contestants their turns, measures noise, samples processes, applies stop rules and
stores the results. The experiment starts the systems under test and puts the load on them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from ostler.lab.load.timeline import Timeline
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.scenarios.model import Deviation, Scenario
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.recorder import LatencyRecorder

# A parameter of limit probes: the number of their operations that one operation of a contestant needs, in sequence.
NEEDED_PARAMETER = "needed for an operation"

# Names of operations that several families have.
ROUND_TRIP = "round trip"
PUT = "put"
GET = "get"
SESSION = "session"
CONNECT = "connect"

WITHOUT_COPIES = "Ostler without copies"
"""A contestant beside others that have copies: it waits for one log only."""
IN_ONE_PROCESS = "Ostler, in one process"
"""A contestant whose application is in the queue manager's process."""
OVER_A_SOCKET = " over a Unix socket"
"""The end of the name of limits that exchange data between two processes."""


class PointFailed(Exception):
    """A point could not be measured. The text gives the reason. The run continues with the next point, and this one is
    flagged."""


class RunAborted(Exception):
    """Nothing more can be measured: the disk is full, a queue manager does not start. The text advises what to do."""


class ContestantKind(StrEnum):
    OSTLER = "ostler"
    PEER = "peer"
    LIMIT = "limit"


@dataclass(frozen=True)
class Contestant:
    """A system under test. `promise` is the meaning of its acknowledgements; `steps` are the steps it takes part in,
    None for all."""

    name: str
    kind: ContestantKind
    promise: str
    steps: frozenset[int] | None = None
    version: str = ""

    def does(self, step: int) -> bool:
        return self.steps is None or step in self.steps


@dataclass(frozen=True)
class Settings:
    """The settings of a run. They are kept in the manifest, so that a resumed run continues with the same settings."""

    is_quick: bool = False
    warm_up_seconds: float = 2.0
    measured_seconds: float = 10.0
    cool_down_seconds: float = 0.5
    repetitions: int = 3
    drivers: int = 1
    """The number of processes that share the load of one contestant."""
    peers: tuple[str, ...] = ()
    libraries: bool = True
    """Peers and Ostler are also driven through the library that a Python user would choose, in steps with few clients.
    """
    limits: bool = True
    accounting: bool = False
    """Queue managers collect accounting and statistics messages, at a small cost."""


QUICK = Settings(is_quick=True, warm_up_seconds=0.3, measured_seconds=1.0, cool_down_seconds=0.1, repetitions=2)


def _ignore_note(text: str) -> None:
    """Ignore a note."""


@dataclass(frozen=True)
class RunContext:
    """The input of an experiment. `scratch` is its own directory, and is removed at the end.

    `note` reports the progress of preparations that take long to the view of the run.
    """

    scenario: Scenario
    settings: Settings
    steps: tuple[Step, ...]
    scratch: Path
    note: Callable[[str], None] = _ignore_note


@dataclass(frozen=True)
class PointSpec:
    """The description of a point, stored in the row of its phases. `parameters` holds further values as texts by
    name."""

    clients: int
    message_bytes: int
    persistent: bool
    rate_per_second: float | None = None
    """The fixed rate of all clients together; None where the rate is not fixed."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    main_operation: str = ROUND_TRIP
    """The operation whose rate and response time are used by the stop rule and shown in the tables."""


@dataclass(frozen=True)
class Metric:
    """A metric of a queue manager, a log, a peer or a probe: a row of the table `statistic`."""

    source: str
    name: str
    value: float
    object: str = ""
    record: int = 0
    position: int = 0


@dataclass(frozen=True)
class CountCheck:
    """A count of the drivers beside the count of the queue manager, which must be the same."""

    what: str
    drivers: int
    queue_manager: int

    @property
    def agrees(self) -> bool:
        return self.drivers == self.queue_manager


@dataclass(frozen=True)
class ProgressSample:
    """The progress of one driver, sent about once a second while a load runs, for the live view."""

    worker: int
    at_ns: int
    completed: int
    """Operations since the load began."""
    rate_per_second: float
    """Over the last second."""
    p50_ns: int
    p99_ns: int


class Watcher(Protocol):
    """Receives the progress of a load while it runs. It is called from the thread that runs the load."""

    def on_progress(self, sample: ProgressSample) -> None: ...


class SilentWatcher:
    """A watcher that ignores progress."""

    def on_progress(self, sample: ProgressSample) -> None:
        return None


@dataclass(frozen=True)
class WorkerCounts:
    """The counts of one worker: a recorder for each phase of the timeline."""

    worker: int
    phases: Sequence[LatencyRecorder]


class ReadyLoad(ABC):
    """A contestant that is ready for one step: everything is started and all clients are connected.

    The runner calls `run` once for each repetition, `metrics` right before and after the measured window and once a
    second within it, `check_counts` when a load has ended, and `close` at the end.
    """

    point_spec: PointSpec
    measured_seconds_least: float = 0.0
    """The least length of the window, where the settings have a shorter one: the event that is measured takes it."""
    warm_up_seconds_least: float = 0.0
    """The least length of the warm-up: what is used for the first time may take longer than the settings have."""
    is_one_by_one: bool = False
    """Operations of one client follow one another, and the last of them may outlast the window: the window then lasts
    until its end, and the rate is that of the time that all of them took. Nothing happens behind it: no cool-down."""
    drain_seconds_max: float = 120.0
    """The time that `run` may take beyond its timeline."""

    @abstractmethod
    def processes(self) -> Sequence[WatchedProcess]:
        """Return the processes to sample, with their roles."""

    @abstractmethod
    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        """Put the load on the contestant, and return when all operations in flight have ended. Raises PointFailed."""

    def metrics(self) -> Sequence[Metric]:
        """Return the current values of counters. They only grow, so that differences are meaningful. May be called from
        any thread."""
        return ()

    def results(self) -> Sequence[Metric]:
        """Return metrics of the last `run` that are not counters: memory of a connection, seconds of a restart."""
        return ()

    def check_counts(self, counted: Sequence[WorkerCounts]) -> Sequence[CountCheck]:
        """Compare the counts of the drivers with those of the queue manager, for the last `run`."""
        return ()

    @abstractmethod
    def close(self) -> None:
        """Disconnect the clients. Brokers may go on running for the next step."""


class WrappedLoad(ReadyLoad):
    """A load with something before, after or beside another one, whose methods it has otherwise."""

    def __init__(self, inner: ReadyLoad) -> None:
        self.point_spec = inner.point_spec
        self._inner = inner

    def processes(self) -> Sequence[WatchedProcess]:
        return self._inner.processes()

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        return self._inner.run(timeline, watcher)

    def metrics(self) -> Sequence[Metric]:
        return self._inner.metrics()

    def results(self) -> Sequence[Metric]:
        return self._inner.results()

    def check_counts(self, counted: Sequence[WorkerCounts]) -> Sequence[CountCheck]:
        return self._inner.check_counts(counted)

    def close(self) -> None:
        self._inner.close()


class Experiment(ABC):
    """A scenario within one run. Closing it ends everything that it started."""

    @abstractmethod
    def contestants(self) -> Sequence[Contestant]:
        """Return the contestants in the order of their turns, Ostler first."""

    @property
    def absent(self) -> Mapping[str, str]:
        """Contestants that were requested and are not available, with the reason."""
        return {}

    @property
    def deviations(self) -> Sequence[Deviation]:
        """Differences from the report that only the planned steps show: a smaller log, another CipherSpec."""
        return ()

    @property
    def configuration(self) -> Mapping[str, str]:
        """Configuration texts by name: crtmqm options, qm.ini stanzas and MQSC of queue managers, files of peers."""
        return {}

    @abstractmethod
    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        """Prepare one point. Raises PointFailed when this point is impossible, and RunAborted when all points are."""

    @abstractmethod
    def close(self) -> None: ...


@dataclass(frozen=True)
class LiveStatus:
    """The status of a point, about once a second: all drivers together, and processor use by role in percent of one
    core."""

    phase: str
    rate_per_second: float
    p50_ns: int
    p99_ns: int
    core_percent: Mapping[str, float]
    steal_percent: float
    seconds_left: float
    """An estimate for the whole run."""


@dataclass(frozen=True)
class PointResult:
    """The summary of a measured point."""

    contestant: str
    step: Step
    repetition: int
    operation: str
    rate_per_second: float
    mean_ns: float | None
    p50_ns: int | None
    p99_ns: int | None
    flags: tuple[str, ...]


class View(Protocol):
    """Receives the events of a run. All methods are called from one thread."""

    def on_planned(self, points: int, settled: int, seconds: float) -> None:
        """The run has `points` points, of which `settled` were measured before; the others take about `seconds`."""

    def on_point_begun(self, contestant: Contestant, step: Step, repetition: int) -> None: ...

    def on_status(self, now: LiveStatus) -> None: ...

    def on_point_done(self, done: PointResult) -> None: ...

    def on_point_failed(self, contestant: Contestant, step: Step, why: str) -> None: ...

    def on_steps_skipped(self, contestant: Contestant, steps: int, why: str) -> None: ...

    def note(self, text: str) -> None:
        """Show a sentence: a start in progress, an absent contestant, the noise of the machine."""
