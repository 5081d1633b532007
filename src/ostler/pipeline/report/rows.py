"""Rows of the lake's tables for the report: typed, with the columns it uses.

The names of attributes are the names of columns in `ostler.pipeline.lake.tables`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ostler.pipeline.errors import PipelineError

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]

TableReader = Callable[[str], "pyarrow.Table | None"]
"""Returns a table by its name; None where the lake does not have it yet."""

OSTLER: Final = "ostler"
PEER: Final = "peer"
LIMIT: Final = "limit"
UNKNOWN: Final = "unknown"
"""The answer of `limited_by` where nothing was full."""


@dataclass(frozen=True)
class RunRow:
    run: str
    scenario: str
    began: datetime
    ended: datetime | None
    condition: str
    version: str
    revision: str
    compiled: bool
    machine: str
    kernel: str
    disk: str
    noise_percent: float | None
    command: str
    parameters: dict[str, str]
    flags: list[str]
    environment: str

    @property
    def is_complete(self) -> bool:
        return self.condition == "complete"

    @property
    def is_quick(self) -> bool:
        """The short form, for a first impression only."""
        return self.parameters.get("is_quick", "").lower() == "true"


@dataclass(frozen=True)
class ContestantRow:
    run: str
    contestant: str
    kind: str
    promise: str
    version: str


@dataclass(frozen=True)
class DisclosureRow:
    """A disclosure that stands beside the figures of a run. `kind` is stand-in, left-out, deviation, configuration or
    workload."""

    run: str
    kind: str
    position: int
    name: str
    text: str


@dataclass(frozen=True)
class PointRow:
    run: str
    scenario: str
    contestant: str
    kind: str
    step: int
    repetition: int
    operation: str
    is_main: bool
    series: str
    clients: int
    message_bytes: int
    persistent: bool
    parameters: dict[str, str]
    seconds: float
    asked_rate: float | None
    count: int
    failed: int
    late: int
    rate: float
    mean_ns: float | None
    p50_ns: int | None
    p90_ns: int | None
    p99_ns: int | None
    p999_ns: int | None
    max_ns: int | None
    broker_cpu_us: float | None
    broker_user_us: float | None
    driver_cpu_us: float | None
    log_cpu_us: float | None
    near_cpu_us: float | None
    far_cpu_us: float | None
    near_log_cpu_us: float | None
    far_log_cpu_us: float | None
    leader_cpu_us: float | None
    follower_cpu_us: float | None
    recovery_cpu_us: float | None
    machine_busy_percent: float | None
    steal_percent: float | None
    broker_memory_bytes: int | None
    log_bytes: int | None
    log_forces: int | None
    log_writes: int | None
    log_force_us: int | None
    disk_reads: int | None
    disk_writes: int | None
    disk_flushes: int | None
    disk_written_bytes: int | None
    disk_busy_percent: float | None
    disk_wait_us: float | None
    disk_queue: float | None
    flags: list[str]


@dataclass(frozen=True)
class SecondRow:
    run: str
    contestant: str
    step: int
    repetition: int
    second: int
    seconds: float
    operation: str
    rate: float
    mean_ns: float | None
    p99_ns: int | None
    broker_core_percent: float | None
    machine_busy_percent: float | None
    disk_written_bytes: int | None
    disk_busy_percent: float | None


@dataclass(frozen=True)
class PeakRow:
    run: str
    scenario: str
    contestant: str
    kind: str
    series: str
    message_bytes: int
    persistent: bool
    peak_rate: float
    peak_clients: int
    peak_busy_percent: float | None
    peak_broker_cpu_us: float | None
    peak_p99_ns: int | None
    single_rate: float
    single_mean_ns: float | None
    clients_within_second: int | None
    knee_clients: int | None
    steps: int
    repetitions: int
    is_partial: bool


@dataclass(frozen=True)
class ComparisonRow:
    kind: str
    subject: str
    scenario: str
    series: str
    clients: int | None
    metric: str
    left_name: str
    right_name: str
    left_run: str
    right_run: str
    left_value: float
    right_value: float
    change_percent: float
    left_repetitions: int | None
    right_repetitions: int | None
    low_percent: float | None
    high_percent: float | None
    noise_percent: float
    tolerance_percent: float
    verdict: str
    published_ratio: float | None
    our_ratio: float | None
    published_source: str | None


@dataclass(frozen=True)
class ScalingRow:
    run: str
    scenario: str
    contestant: str
    kind: str
    series: str
    message_bytes: int
    persistent: bool
    points: int
    lambda_: float | None = field(metadata={"column": "lambda"})
    sigma: float | None
    kappa: float | None
    r_squared: float | None
    residual_percent: float | None
    predicted_peak_rate: float | None
    predicted_peak_clients: float | None
    cpu_limit_rate: float | None
    cpu_growth_percent: float | None
    limited_by: str
    why: str
    is_fitted: bool


@dataclass(frozen=True)
class CostRow:
    run: str
    scenario: str
    contestant: str
    step: int
    repetition: int
    scope: str
    object: str
    verb: str
    count: float
    bytes: float | None
    time_us: float | None
    broker_cpu_us: float | None
    log_bytes: float | None


@dataclass(frozen=True)
class ResultRow:
    run: str
    scenario: str
    contestant: str
    step: int
    repetition: int
    name: str
    value: float
    series: str | None = None


@dataclass(frozen=True)
class CourseRow:
    """A moment of a window, or a tenth of a second of it with its rate."""

    run: str
    contestant: str
    step: int
    repetition: int
    kind: str
    at: float
    name: str
    rate: float | None


@dataclass(frozen=True)
class PredictionRow:
    run: str
    scenario: str
    contestant: str
    kind: str
    series: str
    message_bytes: int
    persistent: bool
    resource: str
    need: float
    available: float
    unit: str
    limit: float
    measured: float
    used_percent: float
    text: str


@dataclass(frozen=True)
class PublishedRow:
    figure: int
    report: str
    report_title: str
    section: str
    table_or_figure: str
    scenario: str
    test_name: str
    product: str
    product_version: str
    platform: str
    variants: dict[str, str]
    message_bytes: int | None
    persistence: str
    clients: int | None
    metric: str
    value: float
    unit: str
    note: str
    basis: str


@dataclass(frozen=True)
class MatchRow:
    """A published figure, and ours where metric and variant agree; else the reason. Values are in our unit."""

    figure: int
    scenario: str
    metric: str
    is_matched: bool
    reason: str
    published_value: float | None
    our_value: float | None
    run: str | None
    contestant: str | None
    clients: int | None


@dataclass(frozen=True)
class RejectedRow:
    table: str
    run: str
    rule: str
    reason: str
    rows: int


Row = TypeVar("Row")

ROWS: Final[dict[str, type]] = {
    "run": RunRow,
    "contestant": ContestantRow,
    "point": PointRow,
    "peak": PeakRow,
    "comparison": ComparisonRow,
    "scaling": ScalingRow,
    "cost": CostRow,
    "result": ResultRow,
    "prediction": PredictionRow,
    "published": PublishedRow,
    "figure_match": MatchRow,
    "rejected": RejectedRow,
    "disclosure": DisclosureRow,
    "second": SecondRow,
    "course": CourseRow,
}
# Without these tables there is no report; the others may be empty.
_NEEDED: Final = ("run", "point")


def columns(kind: type) -> tuple[str, ...]:
    """Return the names of the columns that a kind of row has."""
    return tuple(each.metadata.get("column", each.name) for each in fields(kind))


def _plain(value: Any) -> Any:
    """Return a plain value: a map is stored as pairs; a list of texts stays one."""
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return dict(value)
    return value


def _read(read: TableReader, name: str, kind: type[Row]) -> list[Row]:
    table = read(name)
    if table is None:
        return []
    wanted = columns(kind)
    missing = [each for each in wanted if each not in table.column_names]
    if missing:
        raise PipelineError(
            f"The table {name} has no column {', '.join(missing)}: it was made by another version. "
            "Make the tables again with `ostler pipeline run`."
        )
    maps = {each.name for each in fields(kind) if each.type == "dict[str, str]"}  # type: ignore[arg-type]
    found = []
    for row in table.select(wanted).to_pylist():
        values = [_plain(row[each]) or {} if each in maps else _plain(row[each]) for each in wanted]
        found.append(kind(*values))
    return found


@dataclass(frozen=True)
class Tables:
    """All rows of a report."""

    runs: list[RunRow] = field(default_factory=list)
    contestants: list[ContestantRow] = field(default_factory=list)
    points: list[PointRow] = field(default_factory=list)
    peaks: list[PeakRow] = field(default_factory=list)
    comparisons: list[ComparisonRow] = field(default_factory=list)
    scalings: list[ScalingRow] = field(default_factory=list)
    costs: list[CostRow] = field(default_factory=list)
    results: list[ResultRow] = field(default_factory=list)
    predictions: list[PredictionRow] = field(default_factory=list)
    published: list[PublishedRow] = field(default_factory=list)
    matches: list[MatchRow] = field(default_factory=list)
    rejected: list[RejectedRow] = field(default_factory=list)
    disclosures: list[DisclosureRow] = field(default_factory=list)
    seconds: list[SecondRow] = field(default_factory=list)
    courses: list[CourseRow] = field(default_factory=list)

    def only(self, runs: Iterable[str]) -> Tables:
        """Return the rows of some runs; published figures are kept."""
        names = set(runs)
        return Tables(
            [each for each in self.runs if each.run in names],
            [each for each in self.contestants if each.run in names],
            [each for each in self.points if each.run in names],
            [each for each in self.peaks if each.run in names],
            [each for each in self.comparisons if each.left_run in names or each.right_run in names],
            [each for each in self.scalings if each.run in names],
            [each for each in self.costs if each.run in names],
            [each for each in self.results if each.run in names],
            [each for each in self.predictions if each.run in names],
            self.published,
            [each for each in self.matches if each.run is None or each.run in names],
            [each for each in self.rejected if not each.run or each.run in names],
            [each for each in self.disclosures if each.run in names],
            [each for each in self.seconds if each.run in names],
            [each for each in self.courses if each.run in names],
        )


def read_tables(read: TableReader) -> Tables:
    """Read all rows of a report. Raises PipelineError when nothing was measured."""
    found = Tables(*(_read(read, name, kind) for name, kind in ROWS.items()))
    for name, rows in zip(_NEEDED, (found.runs, found.points), strict=True):
        if not rows:
            raise PipelineError(
                f"There is nothing to report: the table {name} is empty. Run a scenario with `ostler lab run`, then "
                "`ostler pipeline run`."
            )
    return found
