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
from ostler.lab.scenarios.model import Scenario
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.recorder import LatencyRecorder

# A parameter of limits: how many of their operations one of the contestants' needs, one after the other.
NEEDED_PARAMETER = "needed for an operation"

# Names of operations that several families have.
ROUND_TRIP = "round trip"
PUT = "put"
GET = "get"
SESSION = "session"
CONNECT = "connect"


class PointFailed(Exception):
    """A point could not be measured; the words say why. The run goes on with the next, and the point is flagged."""


class RunAborted(Exception):
    """Nothing more can be measured: the disk is full, a queue manager does not start. The words say what to do."""


class ContestantKind(StrEnum):
    OSTLER = "ostler"
    PEER = "peer"
    LIMIT = "limit"


@dataclass(frozen=True)
class Contestant:
    """Who takes part. `promise` says what an acknowledgement means; `steps` which steps it does, None for all."""

    name: str
    kind: ContestantKind
    promise: str
    steps: frozenset[int] | None = None
    version: str = ""

    def does(self, step: int) -> bool:
        return self.steps is None or step in self.steps


@dataclass(frozen=True)
class Settings:
    """How a scenario is run. Kept in the manifest, so that a resumed run goes on in the same way."""

    is_quick: bool = False
    warm_up_seconds: float = 2.0
    measured_seconds: float = 10.0
    cool_down_seconds: float = 0.5
    repetitions: int = 3
    drivers: int = 1
    """Processes that share the load of one contestant."""
    peers: tuple[str, ...] = ()
    libraries: bool = True
    """Peers (and Ostler) also through the library that a Python user would pick, where a step has few clients."""
    limits: bool = True
    accounting: bool = False
    """Whether queue managers collect accounting and statistics messages, which costs a little."""


QUICK = Settings(is_quick=True, warm_up_seconds=0.3, measured_seconds=1.0, cool_down_seconds=0.1, repetitions=2)


def _ignore_note(text: str) -> None:
    """Nobody listens."""


@dataclass(frozen=True)
class RunContext:
    """All that an experiment is made from. `scratch` is its own, and is removed at the end.

    `note` reports the progress of preparations that take long to whoever watches the run.
    """

    scenario: Scenario
    settings: Settings
    steps: tuple[Step, ...]
    scratch: Path
    note: Callable[[str], None] = _ignore_note


@dataclass(frozen=True)
class PointSpec:
    """What a point is, for the row of its phases. `parameters` are the rest: texts by name."""

    clients: int
    message_bytes: int
    persistent: bool
    rate_per_second: float | None = None
    """Of all clients together, where it is fixed."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    main_operation: str = ROUND_TRIP
    """The one whose rate and response time the stop rule and the tables look at."""


@dataclass(frozen=True)
class Metric:
    """A figure of a queue manager, a log, a peer or a probe: a row of the table `statistic`."""

    source: str
    name: str
    value: float
    object: str = ""
    record: int = 0
    position: int = 0


@dataclass(frozen=True)
class CountCheck:
    """What a queue manager must have counted if drivers counted right: compared with what it did."""

    what: str
    drivers: int
    queue_manager: int

    @property
    def agrees(self) -> bool:
        return self.drivers == self.queue_manager


@dataclass(frozen=True)
class ProgressSample:
    """How a load goes, told about once a second while it runs: of one driver, for the live view."""

    worker: int
    at_ns: int
    completed: int
    """Since it began."""
    rate_per_second: float
    """In the last second."""
    p50_ns: int
    p99_ns: int


class Watcher(Protocol):
    """Who hears of a load while it runs. Called from the thread that runs it."""

    def on_progress(self, sample: ProgressSample) -> None: ...


class SilentWatcher:
    """A watcher that ignores progress."""

    def on_progress(self, sample: ProgressSample) -> None:
        return None


@dataclass(frozen=True)
class WorkerCounts:
    """What one worker counted: a recorder for each phase of the timeline."""

    worker: int
    phases: Sequence[LatencyRecorder]


class ReadyLoad(ABC):
    """An entrant that is ready for one step: everything started, all clients connected.

    The runner calls `run` once for each repetition, `metrics` right before and after the measured window and once a
    second within it, `settled` when a load has ended, and `close` at last.
    """

    point_spec: PointSpec

    @abstractmethod
    def processes(self) -> Sequence[WatchedProcess]:
        """Whom to observe, by role."""

    @abstractmethod
    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        """Put the load on, and return when all that was under way has ended. Raises PointFailed."""

    def metrics(self) -> Sequence[Metric]:
        """Figures as they are now, from any thread. Counters that only grow, so that differences mean something."""
        return ()

    def results(self) -> Sequence[Metric]:
        """Figures that the last `run` came to, which are no counters: memory of a connection, seconds of a restart."""
        return ()

    def check_counts(self, counted: Sequence[WorkerCounts]) -> Sequence[CountCheck]:
        """Whether the queue manager counted what the drivers did, of the last `run`."""
        return ()

    @abstractmethod
    def close(self) -> None:
        """Disconnect the clients. Brokers may go on running for the next step."""


class Experiment(ABC):
    """A scenario in one sitting. Ends everything it started when it is closed."""

    @abstractmethod
    def contestants(self) -> Sequence[Contestant]:
        """Who takes part, in the order of their turns. Ostler first."""

    @property
    def absent(self) -> Mapping[str, str]:
        """Who was asked for and is not there, with why."""
        return {}

    @abstractmethod
    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        """Raises PointFailed when this point cannot be, and RunAborted when none can."""

    @abstractmethod
    def close(self) -> None: ...


@dataclass(frozen=True)
class LiveStatus:
    """How a point goes, about once a second: all drivers together, and processor use in percent of one core by role."""

    phase: str
    rate_per_second: float
    p50_ns: int
    p99_ns: int
    core_percent: Mapping[str, float]
    steal_percent: float
    seconds_left: float
    """Of the whole run, as it looks now."""


@dataclass(frozen=True)
class PointResult:
    """A point that was measured, in a few figures."""

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
    """Who is told how a run goes. Called from one thread."""

    def on_planned(self, points: int, settled: int, seconds: float) -> None:
        """How many points there are, how many of them are measured already, and how long the rest will take."""

    def on_point_begun(self, contestant: Contestant, step: Step, repetition: int) -> None: ...

    def on_status(self, now: LiveStatus) -> None: ...

    def on_point_done(self, done: PointResult) -> None: ...

    def on_point_failed(self, contestant: Contestant, step: Step, why: str) -> None: ...

    def on_steps_skipped(self, contestant: Contestant, steps: int, why: str) -> None: ...

    def note(self, text: str) -> None:
        """A sentence: what is being started, who is absent, what the noise is."""
