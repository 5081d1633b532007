"""The model of a scenario of a performance report.

Plain frozen values, made by the loader from the files in `data/` and checked there. Sizes are bytes, 1 KB is 1024 of
them; an empty tuple or an empty text means that the report does not state it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

# A point of a sweep, and the value of a parameter.
Point = int | str
Value = int | float | str | bool | tuple[Point, ...]


class ScenarioKind(StrEnum):
    """Most entries are measured; the others are kept because the measured ones refer to them."""

    SCENARIO = "scenario"
    CALCULATION = "calculation"
    BEHAVIOUR = "behaviour"
    CONFIGURATION = "configuration"
    COMMAND_OUTPUT = "command-output"
    GUIDANCE = "guidance"


class Topology(StrEnum):
    """The location of applications and queue managers, along the path of the messages."""

    LOCAL = "local"
    CLIENT = "client"
    DISTRIBUTED = "distributed"
    CLUSTER = "cluster"
    SHARED_QUEUE = "shared-queue"
    PUBLISH_SUBSCRIBE = "publish-subscribe"
    PUBLISH_SUBSCRIBE_CLUSTER = "publish-subscribe-cluster"
    HIGH_AVAILABILITY = "high-availability"
    DISASTER_RECOVERY = "disaster-recovery"
    BRIDGE = "bridge"


class Persistence(StrEnum):
    NONPERSISTENT = "nonpersistent"
    PERSISTENT = "persistent"


class Syncpoint(StrEnum):
    """`OUT`: nobody uses units of work. `IN`: all do. `SERVER_IN`: only responders. `IMPLICIT`: the queue manager makes
    a unit of work of each persistent put."""

    OUT = "out"
    IN = "in"
    SERVER_IN = "server-in"
    IMPLICIT = "implicit"


class Binding(StrEnum):
    """The binding of an application to its queue manager."""

    LOCAL = "local"
    CLIENT = "client"
    TRUSTED = "trusted"


class LoadKind(StrEnum):
    """The time at which the next message is sent.

    `CLOSED`: as soon as the reply has arrived. `RATED`: when it is due, `per_second` times by each driver. `FLAT_OUT`:
    one-way, as fast as they are accepted. `SEQUENTIAL`: a single application, verb after verb. `IDLE`: never.
    """

    CLOSED = "closed"
    RATED = "rated"
    FLAT_OUT = "flat-out"
    SEQUENTIAL = "sequential"
    IDLE = "idle"


class StopKind(StrEnum):
    """The event that ends a sweep.

    `SWEEP`: its last point. `PEAK`: the rate no longer rises. `RESPONSE_TIME`: the mean response time passes `limit`
    seconds. `CAPACITY`: nothing more fits or connects. `SAMPLES`: `limit` measurements for each point. `EVENT`: the
    event in `text`.
    """

    SWEEP = "sweep"
    PEAK = "peak"
    RESPONSE_TIME = "response-time"
    CAPACITY = "capacity"
    SAMPLES = "samples"
    EVENT = "event"


@dataclass(frozen=True)
class Report:
    """A published report. `name` is its name in commands; `text` joins its figures in published_results.csv.
    `accounting`: its queue managers collected statistics and accounting, so those of its scenarios do, too."""

    name: str
    title: str
    product: str
    version: str
    platform: str
    year: int
    text: str
    accounting: bool = False


@dataclass(frozen=True)
class Source:
    """The location of a scenario in a report, and the number of its printed figures."""

    sections: str
    tables: str = ""
    tests: tuple[str, ...] = ()
    figures: int = 0


@dataclass(frozen=True)
class Role:
    """Applications that do the same. Without `counts`, their number is swept or not stated."""

    name: str
    does: str
    binding: Binding | None = None
    counts: tuple[int, ...] = ()
    per: str = ""


@dataclass(frozen=True)
class Sweep:
    """A swept parameter. `values` are run by the full form and `quick` by the short one; `printed` are the points for
    which the report has figures."""

    name: str
    values: tuple[Point, ...]
    quick: tuple[Point, ...]
    printed: tuple[Point, ...] = ()
    unit: str = ""


@dataclass(frozen=True)
class ScenarioLoad:
    """The load of a scenario. `since` is "put" where rated requesters send when they have their reply and a period has
    passed since their last put; otherwise they keep to a fixed schedule."""

    kind: LoadKind
    per_second: float = 0.0
    since: str = ""

    @property
    def since_put(self) -> bool:
        return bool(self.since)


@dataclass(frozen=True)
class StopRule:
    """The end of a sweep. `after` is the number of successive points that have to pass a response time; `only` has the
    points of other sweeps that the rule is for."""

    kind: StopKind
    limit: float = 0.0
    text: str = ""
    after: int = 1
    only: Mapping[str, Point] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class ScenarioPart:
    """Some points of a scenario that need more than the rest of it."""

    name: str
    needs: tuple[str, ...]


@dataclass(frozen=True)
class Deviation:
    """A difference between a run here and the run of the report, and the reason for it. Shown beside every result, as
    "what: why"; `what` has no full stop at its end."""

    what: str
    why: str


def windows_text(repetitions: int = 3, seconds: float = 10.0) -> str:
    """Return how points are measured, as a deviation states it: as usual, or as a run does it."""
    windows = "a window" if repetitions == 1 else f"the median of {repetitions} windows"
    return f"Each point is {windows} of {seconds:g} s, or of the time that the scenario needs where that is longer"


@dataclass(frozen=True)
class Scenario:
    """One scenario, in our own words. `compared` is varied by the report and cannot be varied on one machine: releases,
    models. `deviations` include those of all scenarios of the report."""

    id: str
    kind: ScenarioKind
    title: str
    summary: str
    report: Report
    source: Source
    family: str = ""
    topology: tuple[Topology, ...] = ()
    persistence: tuple[Persistence, ...] = ()
    syncpoint: tuple[Syncpoint, ...] = ()
    message_bytes: tuple[int, ...] = ()
    queue_managers: tuple[int, ...] = ()
    load: ScenarioLoad | None = None
    stop: StopRule | None = None
    roles: tuple[Role, ...] = ()
    sweeps: tuple[Sweep, ...] = ()
    parameters: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))
    metrics: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    parts: tuple[ScenarioPart, ...] = ()
    deviations: tuple[Deviation, ...] = ()

    @property
    def is_measured(self) -> bool:
        return self.kind is ScenarioKind.SCENARIO

    def sweep(self, name: str) -> Sweep:
        """Return the sweep of that name. Raises KeyError when there is none."""
        for each in self.sweeps:
            if each.name == name:
                return each
        raise KeyError(name)
