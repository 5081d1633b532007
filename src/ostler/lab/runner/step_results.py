"""The results of a run by step and contestant, with repetitions combined.

Medians over repetitions with their spread, for the table at the end of a run and for comparisons.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ostler.lab.common.samples import median
from ostler.lab.load.spec import REPLICATED_FORCE
from ostler.lab.runner.contract import (
    CONNECT,
    GET,
    IN_ONE_PROCESS,
    NEEDED_PARAMETER,
    OVER_A_SOCKET,
    PUT,
    ROUND_TRIP,
    SESSION,
    WITHOUT_COPIES,
    ContestantKind,
)
from ostler.lab.runner.point_measurement import OPERATION_PARAMETER
from ostler.lab.scenarios.loader import UnknownScenario, catalogue
from ostler.lab.scenarios.model import LoadKind
from ostler.lab.store.manifest import listed_contestants
from ostler.lab.store.points import MeasuredPoint, Timed, measured_points
from ostler.lab.store.roles import (
    DRIVER,
    FACILITY,
    FAR,
    FOLLOWER,
    LEADER,
    NEAR,
    PEER,
    PROBE,
    QUEUE_MANAGER,
    RECOVERY,
    role_end,
    role_kind,
)
from ostler.lab.store.run_reader import StoredRun
from ostler.lab.store.segments import MEASURED

BROKER_ROLES: Final = (QUEUE_MANAGER, PEER, PROBE)
# The source of metrics that an experiment itself reports.
_EXPERIMENT_SOURCE: Final = "experiment"
# Metrics of message channels that are not sums.
_OF_CHANNELS: Final = ("channels", "messages per batch")
# The main operation of a point that does not name one, in order of preference.
_USUAL_OPERATIONS: Final = (ROUND_TRIP, SESSION, GET, PUT, CONNECT)


@dataclass(frozen=True)
class Series:
    """One value by repetition; empty where it is unknown."""

    values: tuple[float, ...] = ()

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Series:
        return cls(tuple(each for each in values if each is not None))

    @property
    def median(self) -> float | None:
        return median(self.values) if self.values else None

    @property
    def spread_percent(self) -> float | None:
        """Half the distance between minimum and maximum in percent of the median; unknown for a single value."""
        middle = self.median
        if len(self.values) < 2 or not middle:
            return None
        return 100 * (max(self.values) - min(self.values)) / 2 / middle


@dataclass(frozen=True)
class Costs:
    """Processor time for each operation, in microseconds. `near_us` and `far_us` are the parts of `broker_us` of two
    joined brokers, and empty for one; `leader_us`, `follower_us` and `recovery_us` those of a broker with copies, all
    followers together; `facility_us` that of a coupling facility. `log_us` is the part of threads that write logs, and
    empty for peers."""

    broker_us: Series = field(default_factory=Series)
    near_us: Series = field(default_factory=Series)
    far_us: Series = field(default_factory=Series)
    log_us: Series = field(default_factory=Series)
    near_log_us: Series = field(default_factory=Series)
    far_log_us: Series = field(default_factory=Series)
    driver_us: Series = field(default_factory=Series)
    leader_us: Series = field(default_factory=Series)
    follower_us: Series = field(default_factory=Series)
    recovery_us: Series = field(default_factory=Series)
    facility_us: Series = field(default_factory=Series)


@dataclass(frozen=True)
class Aim:
    """The response times that a scenario aims at: its parameters `aim_p99_ms` and `aim_highest_ms`."""

    p99_ms: float
    highest_ms: float

    def missed(self, result: StepResult) -> int:
        """Return the number of repetitions that missed the aim: all where an operation failed, or a repetition timed
        none."""
        times = tuple(zip(result.p99_ns.values, result.highest_ns.values, strict=False))
        if result.failed or len(times) < result.repetitions:
            return result.repetitions
        return sum(p99 > self.p99_ms * 1e6 or highest > self.highest_ms * 1e6 for p99, highest in times)


@dataclass(frozen=True)
class StepResult:
    """One operation of a contestant at one step, by repetition.

    `points` are the values of the sweeps, as texts. `asked_rate` is the fixed rate of all clients, where there is one.
    `flags` counts the repetitions with each flag. `of_limit` is the rate as a fraction of that of `limit`, the slowest
    limit probe of the step; `needed` is the number of the limit's operations that one operation of a contestant takes.
    """

    contestant: str
    kind: ContestantKind
    step: int
    points: Mapping[str, str]
    operation: str
    is_main: bool
    rate: Series
    mean_ns: Series
    p50_ns: Series
    p99_ns: Series
    costs: Costs
    steal_percent: float | None
    failed: int
    late: int
    flags: Mapping[str, int]
    asked_rate: float | None = None
    limit: str = ""
    of_limit: float | None = None
    needed: float = 1.0
    p90_ns: Series = field(default_factory=Series)
    p999_ns: Series = field(default_factory=Series)
    highest_ns: Series = field(default_factory=Series)
    aim: Aim | None = None

    @property
    def is_aim_met(self) -> bool | None:
        """The response times meet the aim of the scenario; None where it has no aim."""
        return None if self.aim is None else self.aim.missed(self) == 0

    @property
    def broker_us(self) -> Series:
        return self.costs.broker_us

    @property
    def driver_us(self) -> Series:
        return self.costs.driver_us

    @property
    def rate_per_second(self) -> float:
        """The median."""
        return self.rate.median or 0.0

    @property
    def repetitions(self) -> int:
        return len(self.rate.values)

    def as_json(self) -> dict[str, object]:
        return {
            "contestant": self.contestant,
            "kind": self.kind.value,
            "step": self.step,
            "points": dict(self.points),
            "operation": self.operation,
            "is_main": self.is_main,
            "rates_per_second": [round(each, 3) for each in self.rate.values],
            "rate_per_second": round(self.rate_per_second, 3),
            "asked_rate_per_second": _rounded(self.asked_rate),
            "spread_percent": _rounded(self.rate.spread_percent),
            "mean_us": _microseconds(self.mean_ns.median),
            "p50_us": _microseconds(self.p50_ns.median),
            "p90_us": _microseconds(self.p90_ns.median),
            "p99_us": _microseconds(self.p99_ns.median),
            "p999_us": _microseconds(self.p999_ns.median),
            "highest_us": _microseconds(max(self.highest_ns.values, default=None)),
            "aim": None if self.aim is None else {"p99_ms": self.aim.p99_ms, "highest_ms": self.aim.highest_ms},
            "aim_met": self.is_aim_met,
            "broker_us_per_operation": _rounded(self.broker_us.median),
            "near_us_per_operation": _rounded(self.costs.near_us.median),
            "far_us_per_operation": _rounded(self.costs.far_us.median),
            "leader_us_per_operation": _rounded(self.costs.leader_us.median),
            "follower_us_per_operation": _rounded(self.costs.follower_us.median),
            "recovery_us_per_operation": _rounded(self.costs.recovery_us.median),
            "facility_us_per_operation": _rounded(self.costs.facility_us.median),
            "log_us_per_operation": _rounded(self.costs.log_us.median),
            "near_log_us_per_operation": _rounded(self.costs.near_log_us.median),
            "far_log_us_per_operation": _rounded(self.costs.far_log_us.median),
            "driver_us_per_operation": _rounded(self.driver_us.median),
            "steal_percent": _rounded(self.steal_percent),
            "failed": self.failed,
            "late": self.late,
            "limit": self.limit,
            "of_limit": _rounded(self.of_limit, 4),
            "flags": dict(self.flags),
        }


def step_results(run: StoredRun) -> list[StepResult]:
    """Return all measured steps in the order of the sweep, contestants in the order of the manifest."""
    sweeps, kinds = _sweeps(run), _kinds(run)
    grouped: dict[tuple[int, str], list[MeasuredPoint]] = defaultdict(list)
    for point in measured_points(run):
        grouped[point.step, point.contestant].append(point)
    order = {name: number for number, name in enumerate(_contestants(run, grouped))}
    found: list[StepResult] = []
    for step, contestant in sorted(grouped, key=lambda each: (each[0], order[each[1]])):
        points = grouped[step, contestant]
        listed = points[0].parameters
        # An experiment that determines the number itself stores it in the parameters.
        swept = {name: listed.get(name, text) for name, text in sweeps.get(step, {}).items()}
        swept = swept or {name: text for name, text in listed.items() if name != OPERATION_PARAMETER}
        kind = kinds.get(contestant) or _kind_seen(points)
        found += _of_contestant(points, kind, swept, listed.get(OPERATION_PARAMETER, ""))
    return _with_aim(_with_limits(found, _load_kind(run)), aim_of(run.manifest.scenario))


@dataclass(frozen=True)
class StepMetric:
    """A metric of a contestant at one step that is not a rate: memory of a connection, bytes of a header."""

    contestant: str
    step: int
    points: Mapping[str, str]
    name: str
    values: Series

    def as_json(self) -> dict[str, object]:
        return {
            "contestant": self.contestant,
            "step": self.step,
            "points": dict(self.points),
            "figure": self.name,
            "values": list(self.values.values),
            "median": self.values.median,
            "spread_percent": _rounded(self.values.spread_percent),
        }


def step_metrics(run: StoredRun) -> list[StepMetric]:
    """Return the metrics that experiments report, and the fill of channel batches, in the order of the sweep."""
    sweeps = _sweeps(run)
    found: dict[tuple[int, str, str], list[float]] = defaultdict(list)
    for row in run.table("statistic").to_pylist():
        is_of_channels = (row["source"], row["name"]) == _OF_CHANNELS
        if row["phase"] == MEASURED and (row["source"] == _EXPERIMENT_SOURCE or is_of_channels):
            name = f"{row['object']} {row['name']}".strip()
            found[row["step"], row["contestant"], name].append(row["value"])
    order = {name: number for number, name in enumerate(_contestants(run, [each[:2] for each in found]))}
    return [
        StepMetric(contestant, step, sweeps.get(step, {}), name, Series(tuple(values)))
        for (step, contestant, name), values in sorted(found.items(), key=lambda each: (each[0][0], order[each[0][1]]))
    ]


def noise_percent(run: StoredRun) -> float | None:
    """Return the noise that a run measured of its machine; None when it did not."""
    noise = run.manifest.environment.get("noise")
    percent = noise.get("percent") if isinstance(noise, dict) else None
    return float(percent) if isinstance(percent, int | float) else None


def _of_contestant(
    points: Sequence[MeasuredPoint], kind: ContestantKind, swept: Mapping[str, str], main: str
) -> list[StepResult]:
    names = dict.fromkeys(name for point in points for name in point.operations)
    main = main if main in names else _main_operation(points, names)
    return [_together(points, kind, name, name == main, swept) for name in sorted(names, key=lambda each: each != main)]


def _together(
    points: Sequence[MeasuredPoint], kind: ContestantKind, operation: str, is_main: bool, swept: Mapping[str, str]
) -> StepResult:
    timed = [point.operations[operation] for point in points if operation in point.operations]
    steals = [point.steal_percent for point in points if point.steal_percent is not None]
    return StepResult(
        points[0].contestant,
        kind,
        points[0].step,
        swept,
        operation,
        is_main,
        Series.of(each.rate_per_second for each in timed),
        Series.of(each.mean_ns for each in timed),
        Series.of(each.percentiles_ns.get(50.0) for each in timed),
        Series.of(each.percentiles_ns.get(99.0) for each in timed),
        # Processor time cannot be divided among operations: it is shown once.
        _costs(points, operation) if is_main else Costs(),
        max(steals, default=None),
        _sum(timed, lambda each: each.failed),
        _sum(timed, lambda each: each.late),
        _flags(points) if is_main else {},
        points[0].rate_per_second if is_main else None,
        needed=float(points[0].parameters.get(NEEDED_PARAMETER, 1.0)),
        p90_ns=Series.of(each.percentiles_ns.get(90.0) for each in timed),
        p999_ns=Series.of(each.percentiles_ns.get(99.9) for each in timed),
        highest_ns=Series.of(each.highest_ns for each in timed),
    )


def _flags(points: Iterable[MeasuredPoint]) -> Counter[str]:
    """Count each flag once for a repetition, without its object, which the run's events have: "counts-differ: puts"."""
    return Counter(name for point in points for name in dict.fromkeys(flag.partition(":")[0] for flag in point.flags))


def _costs(points: Sequence[MeasuredPoint], operation: str) -> Costs:
    def of(times: Callable[[MeasuredPoint], Mapping[str, float]], kinds: Iterable[str], end: str = "") -> Series:
        """Return the times of some kinds of roles together, at one end where `end` is set; None where nothing was
        sampled."""
        found = []
        for point in points:
            known = [
                used
                for role, used in times(point).items()
                if role_kind(role) in kinds and (not end or role_end(role) == end)
            ]
            count = point.operations[operation].count if operation in point.operations else 0
            found.append(sum(known) / count if known and count else None)
        return Series.of(found)

    return Costs(
        of(_process_times, BROKER_ROLES),
        of(_process_times, BROKER_ROLES, NEAR),
        of(_process_times, BROKER_ROLES, FAR),
        of(_log_times, BROKER_ROLES),
        of(_log_times, BROKER_ROLES, NEAR),
        of(_log_times, BROKER_ROLES, FAR),
        of(_process_times, (DRIVER,)),
        of(_process_times, BROKER_ROLES, LEADER),
        of(_process_times, BROKER_ROLES, FOLLOWER),
        of(_process_times, BROKER_ROLES, RECOVERY),
        of(_process_times, BROKER_ROLES, FACILITY),
    )


def _process_times(point: MeasuredPoint) -> Mapping[str, float]:
    return {role: sum(times) for role, times in point.cpu_us.items()}


def _log_times(point: MeasuredPoint) -> Mapping[str, float]:
    return point.log_us


def _kinds(run: StoredRun) -> dict[str, ContestantKind]:
    """Return the kinds of contestants that the manifest has."""
    listed = listed_contestants(run.manifest.environment)
    known = {each.value: each for each in ContestantKind}
    return {str(each["name"]): known[str(each["kind"])] for each in listed if each.get("kind") in known}


def _kind_seen(points: Sequence[MeasuredPoint]) -> ContestantKind:
    """Infer the kind of a contestant from the roles of its processes; without any, from its name."""
    roles = {role_kind(role) for point in points for role in point.cpu_us}
    if QUEUE_MANAGER in roles:
        return ContestantKind.OSTLER
    if PEER in roles:
        return ContestantKind.PEER
    if PROBE in roles:
        return ContestantKind.LIMIT
    return ContestantKind.OSTLER if points[0].contestant.lower().startswith("ostler") else ContestantKind.LIMIT


def _main_operation(points: Sequence[MeasuredPoint], names: Iterable[str]) -> str:
    for usual in _USUAL_OPERATIONS:
        if usual in names:
            return usual
    counts: Counter[str] = Counter()
    for point in points:
        for name, timed in point.operations.items():
            counts[name] += timed.count
    return max(counts, key=lambda name: counts[name], default="")


def _load_kind(run: StoredRun) -> LoadKind | None:
    try:
        load = catalogue().find(run.manifest.scenario).load
    except UnknownScenario:
        return None
    return None if load is None else load.kind


def aim_of(scenario: str) -> Aim | None:
    """Return the aim of a scenario, by its id; None where it has none."""
    try:
        parameters = catalogue().find(scenario).parameters
    except UnknownScenario:
        return None
    p99, highest = parameters.get("aim_p99_ms"), parameters.get("aim_highest_ms")
    if not isinstance(p99, int | float) or not isinstance(highest, int | float):
        return None
    return Aim(float(p99), float(highest))


def _with_aim(found: list[StepResult], aim: Aim | None) -> list[StepResult]:
    """Add the aim to the main operation of Ostler."""
    if aim is None:
        return found
    return [replace(each, aim=aim) if each.is_main and each.kind is ContestantKind.OSTLER else each for each in found]


def _with_limits(found: list[StepResult], kind: LoadKind | None) -> list[StepResult]:
    """Add the limit: the slowest probe, which no contestant can exceed. Where rates mean nothing, mean times are
    used: a single application works sequentially, or all are idle."""
    is_counted = kind not in (LoadKind.SEQUENTIAL, LoadKind.IDLE)
    limits: dict[int, list[tuple[float, str]]] = {}
    for each in found:
        speed = _speed(each, is_counted)
        if each.kind is ContestantKind.LIMIT and each.is_main and speed:
            limits.setdefault(each.step, []).append((speed / each.needed, each.contestant))
    listed: list[StepResult] = []
    for each in found:
        of_step = [limit for limit in limits.get(each.step, []) if _is_limit_of(limit[1], each.contestant)]
        if each.kind is not ContestantKind.LIMIT and of_step and _has_share(each, kind):
            limit = min(of_step)
            each = replace(each, limit=limit[1], of_limit=_speed(each, is_counted) / limit[0])
        listed.append(each)
    return listed


def _has_share(each: StepResult, kind: LoadKind | None) -> bool:
    """Return whether a result tells how near the limit is. A fixed rate is what was asked for, and connections that are
    held are made in other ways than bare ones: some share a socket."""
    is_held = kind is LoadKind.IDLE and each.operation == CONNECT
    return each.is_main and each.asked_rate is None and not is_held


def _is_limit_of(limit: str, contestant: str) -> bool:
    """Return whether a contestant has to do what a limit does: without copies nobody waits for a second log, and in one
    process nobody needs a socket."""
    if limit.endswith(OVER_A_SOCKET):
        return not contestant.startswith(IN_ONE_PROCESS)
    return limit != REPLICATED_FORCE or contestant != WITHOUT_COPIES


def _speed(each: StepResult, is_counted: bool) -> float:
    if is_counted:
        return each.rate_per_second
    return 1 / each.mean_ns.median if each.mean_ns.median else 0.0


def _sweeps(run: StoredRun) -> dict[int, dict[str, str]]:
    """Return the values of the sweeps at each step, as planned."""
    return {
        point.step: {name: str(value) for name, value in point.parameters.items()}
        for point in run.manifest.points
        if point.parameters
    }


def _contestants(run: StoredRun, grouped: Iterable[tuple[int, str]]) -> list[str]:
    planned = dict.fromkeys(point.contestant for point in run.manifest.points)
    return list(planned | dict.fromkeys(contestant for _, contestant in grouped))


def _sum(timed: Iterable[Timed], of: Callable[[Timed], int]) -> int:
    return sum(of(each) for each in timed)


def _rounded(value: float | None, digits: int = 2) -> float | None:
    return None if value is None else round(value, digits)


def _microseconds(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else round(nanoseconds / 1000, 3)
