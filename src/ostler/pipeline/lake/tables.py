"""The tables of the lake, column by column. Steps state them at entry and exit.

Bronze has the samples as measured. Silver has one row for each measured point. Gold has the content of reports. Nothing
here needs Spark: the report reads the same definitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ostler.lab.store import schema as samples


class Layer(StrEnum):
    BRONZE = "bronze"
    SILVER = "silver"
    GOLD = "gold"
    QUARANTINE = "quarantine"


@dataclass(frozen=True)
class LakeColumn:
    """A column. `type` is a type of Spark SQL: string, int, bigint, double, boolean, timestamp, array<...>,
    map<...>."""

    name: str
    type: str
    text: str
    optional: bool = False


@dataclass(frozen=True)
class LakeTable:
    """A table. `key` identifies rows. `partitions` are columns that name directories."""

    name: str
    layer: Layer
    text: str
    columns: tuple[LakeColumn, ...]
    key: tuple[str, ...]
    partitions: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


_SPARK_TYPES: Final = {
    samples.ColumnKind.TEXT: "string",
    samples.ColumnKind.INTEGER: "int",
    samples.ColumnKind.LONG: "bigint",
    samples.ColumnKind.REAL: "double",
    samples.ColumnKind.FLAG: "boolean",
    samples.ColumnKind.TIME: "timestamp",
    samples.ColumnKind.MAP: "map<string,string>",
}


def _sample_table(table: samples.SampleTable) -> LakeTable:
    """Return a sample table of the laboratory in bronze: the same columns, partitioned by run."""
    columns = tuple(LakeColumn(each.name, _SPARK_TYPES[each.kind], each.text, each.optional) for each in table.columns)
    key = tuple(each.name for each in table.columns if each.adding is samples.Aggregation.KEY)
    return LakeTable(table.name, Layer.BRONZE, table.text, columns, key, ("run",))


BRONZE: Final = {name: _sample_table(table) for name, table in samples.TABLES.items()}

RUN: Final = LakeTable(
    "run",
    Layer.BRONZE,
    "One row for each run: what its manifest says.",
    (
        LakeColumn("run", "string", "name of its directory"),
        LakeColumn("scenario", "string", "id in the catalogue"),
        LakeColumn("began", "timestamp", "when it began"),
        LakeColumn("ended", "timestamp", "when it ended", True),
        LakeColumn("condition", "string", "complete, partial, interrupted or running"),
        LakeColumn("schema_version", "int", "of its samples"),
        LakeColumn("version", "string", "of ostler"),
        LakeColumn("revision", "string", "of its sources, or empty"),
        LakeColumn("compiled", "boolean", "whether hot code was compiled"),
        LakeColumn("machine", "string", "processor, cores and memory, in words"),
        LakeColumn("kernel", "string", "release of the kernel"),
        LakeColumn("disk", "string", "file system and device of the queue managers' files"),
        LakeColumn("noise_percent", "double", "how much the same work differed within the run", True),
        LakeColumn("command", "string", "what was typed"),
        LakeColumn("parameters", "map<string,string>", "settings of the run"),
        LakeColumn("flags", "array<string>", "why figures of the whole run are doubtful"),
        LakeColumn("environment", "string", "all that the manifest says of the environment, as JSON"),
        LakeColumn("source", "string", "directory it was ingested from"),
        LakeColumn("content", "string", "checksum of what was ingested: a run that has grown is ingested again"),
    ),
    ("run",),
)
CONTESTANT: Final = LakeTable(
    "contestant",
    Layer.BRONZE,
    "Who took part in each run.",
    (
        LakeColumn("run", "string", "the run"),
        LakeColumn("contestant", "string", "name"),
        LakeColumn("kind", "string", "ostler, peer or limit"),
        LakeColumn("promise", "string", "what an acknowledgement means"),
        LakeColumn("version", "string", "of the product and of its client library"),
        LakeColumn("driver", "string", "lean, library or probe: what made the requests"),
    ),
    ("run", "contestant"),
)
PUBLISHED: Final = LakeTable(
    "published",
    Layer.BRONZE,
    "Figures printed in performance reports of IBM MQ, each with its source.",
    (
        LakeColumn("figure", "int", "number of the figure, from 1"),
        LakeColumn("report", "string", "short name of the report, as in the catalogue of scenarios"),
        LakeColumn("report_title", "string", "title and edition"),
        LakeColumn("section", "string", "section"),
        LakeColumn("table_or_figure", "string", "table, figure, or prose"),
        LakeColumn("scenario", "string", "id in the catalogue, or empty"),
        LakeColumn("test_name", "string", "what the report calls the test"),
        LakeColumn("product", "string", "product"),
        LakeColumn("product_version", "string", "release"),
        LakeColumn("platform", "string", "operating system and hardware"),
        LakeColumn("topology", "string", "where applications and queue managers were"),
        LakeColumn(
            "variants", "map<string,string>", "what else was different: bindings, options, the point of a sweep"
        ),
        LakeColumn("message_bytes", "bigint", "size of messages", True),
        LakeColumn("persistence", "string", "persistent, nonpersistent, or empty"),
        LakeColumn("syncpoint", "string", "out, in, server-in, or empty"),
        LakeColumn("clients", "int", "applications", True),
        LakeColumn("metric", "string", "what was measured"),
        LakeColumn("value", "double", "the figure"),
        LakeColumn("unit", "string", "its unit"),
        LakeColumn("note", "string", "what the report adds"),
        LakeColumn("basis", "string", "measured, calculated, comparison, ..."),
    ),
    ("figure",),
)

_POINT_KEY: Final = (
    LakeColumn("run", "string", "the run"),
    LakeColumn("scenario", "string", "id in the catalogue"),
    LakeColumn("contestant", "string", "who was measured"),
    LakeColumn("kind", "string", "ostler, peer or limit"),
    LakeColumn("step", "int", "step of the sweep"),
)
_SERIES: Final = (
    LakeColumn("series", "string", "the sweep without clients: parameters that stay the same along a curve, as text"),
    LakeColumn("clients", "int", "applications that made requests"),
    LakeColumn("message_bytes", "bigint", "size of messages"),
    LakeColumn("persistent", "boolean", "whether messages were persistent"),
)

POINT: Final = LakeTable(
    "point",
    Layer.SILVER,
    "One row for each operation of each measured point: one repetition of one contestant at one step.",
    (
        *_POINT_KEY,
        LakeColumn("repetition", "int", "which time, from 0"),
        LakeColumn("operation", "string", "what was timed"),
        LakeColumn("is_main", "boolean", "whether it is the operation that the scenario is about"),
        *_SERIES,
        LakeColumn("parameters", "map<string,string>", "all parameters of the step"),
        LakeColumn("began", "timestamp", "when the window began"),
        LakeColumn("seconds", "double", "length of the window"),
        LakeColumn("asked_rate", "double", "rate that was asked for, of all clients together", True),
        LakeColumn("count", "bigint", "operations that completed"),
        LakeColumn("failed", "bigint", "operations that failed"),
        LakeColumn("late", "bigint", "operations begun later than due"),
        LakeColumn("rate", "double", "completed a second"),
        LakeColumn("mean_ns", "double", "exact mean", True),
        LakeColumn("p50_ns", "bigint", "percentiles of the merged histograms", True),
        LakeColumn("p90_ns", "bigint", "", True),
        LakeColumn("p99_ns", "bigint", "", True),
        LakeColumn("p999_ns", "bigint", "", True),
        LakeColumn("max_ns", "bigint", "exact", True),
        LakeColumn("broker_cpu_us", "double", "processor time of queue manager or peer for each operation", True),
        LakeColumn("broker_user_us", "double", "of it in user mode", True),
        LakeColumn("driver_cpu_us", "double", "of the drivers for each operation", True),
        LakeColumn("log_cpu_us", "double", "of the queue manager's log threads for each operation", True),
        LakeColumn("near_cpu_us", "double", "of two that are joined, the one of requesters or producers", True),
        LakeColumn("far_cpu_us", "double", "of two that are joined, the other one", True),
        LakeColumn("near_log_cpu_us", "double", "of the log threads of the near queue manager", True),
        LakeColumn("far_log_cpu_us", "double", "of the log threads of the far queue manager", True),
        LakeColumn("leader_cpu_us", "double", "of instances with copies, the one that applications use", True),
        LakeColumn("follower_cpu_us", "double", "of instances with copies, all that follow it at this site", True),
        LakeColumn("recovery_cpu_us", "double", "of instances with copies, the one at another site", True),
        LakeColumn("broker_core_percent", "double", "of one core", True),
        LakeColumn("machine_busy_percent", "double", "of all cores", True),
        LakeColumn("steal_percent", "double", "of all cores", True),
        LakeColumn("broker_memory_bytes", "bigint", "most resident bytes in the window", True),
        LakeColumn("log_bytes", "bigint", "written by the log in the window", True),
        LakeColumn("log_forces", "bigint", "forces in the window", True),
        LakeColumn("log_writes", "bigint", "writes of the log in the window", True),
        LakeColumn("log_force_us", "bigint", "time of all forces in the window", True),
        LakeColumn("disk_reads", "bigint", "of the queue managers' disk, by the whole machine", True),
        LakeColumn("disk_read_bytes", "bigint", "by the whole machine", True),
        LakeColumn("disk_writes", "bigint", "by the whole machine", True),
        LakeColumn("disk_written_bytes", "bigint", "by the whole machine", True),
        LakeColumn("disk_flushes", "bigint", "by the whole machine", True),
        LakeColumn("disk_busy_percent", "double", "of the window", True),
        LakeColumn("disk_wait_us", "double", "mean time of a request, from when it was queued until it was done", True),
        LakeColumn("disk_queue", "double", "requests in progress, on average", True),
        LakeColumn("broker_read_bytes", "bigint", "read from storage by queue manager or peer", True),
        LakeColumn("broker_written_bytes", "bigint", "written to storage by queue manager or peer", True),
        LakeColumn("loopback_bytes", "bigint", "by the whole machine", True),
        LakeColumn("put_rate", "double", "messages put, or publications, a second; not of round trips", True),
        LakeColumn("get_rate", "double", "messages got, or deliveries, a second; not of round trips", True),
        LakeColumn("message_rate", "double", "both together, as reports count messages", True),
        LakeColumn(
            "megabyte_rate", "double", "MB a second that passed through: got messages, or both of a round trip", True
        ),
        LakeColumn("broker_cpu_us_per_megabyte", "double", "processor time of queue manager or peer for a MB", True),
        LakeColumn("noise_percent", "double", "of the run", True),
        LakeColumn("flags", "array<string>", "why the figures of this point are doubtful"),
    ),
    ("run", "contestant", "step", "repetition", "operation"),
    ("scenario",),
)
_EACH: Final = (
    LakeColumn("log_bytes_each", "double", "written by the log for each operation", True),
    LakeColumn("log_forces_each", "double", "forces of the log for each operation", True),
    LakeColumn("log_write_bytes", "double", "mean size of a write of the log", True),
    LakeColumn("log_force_us", "double", "mean time of a force of the log", True),
    LakeColumn("log_megabyte_rate", "double", "MB a second written by the log", True),
    LakeColumn("disk_read_bytes_each", "double", "read from the disk by the whole machine for each operation", True),
    LakeColumn("disk_written_bytes_each", "double", "written to the disk for each operation", True),
    LakeColumn("disk_requests_each", "double", "reads, writes and flushes of the disk for each operation", True),
    LakeColumn("disk_busy_us_each", "double", "time that the disk was busy for each operation", True),
    LakeColumn("disk_write_bytes", "double", "mean size of a write to the disk", True),
)
_POINT_FIGURES: Final = (
    *("asked_rate", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "broker_cpu_us", "broker_user_us"),
    *("driver_cpu_us", "log_cpu_us", "near_cpu_us", "far_cpu_us", "leader_cpu_us", "follower_cpu_us"),
    *("recovery_cpu_us", "broker_core_percent", "machine_busy_percent"),
    *("steal_percent", "broker_memory_bytes", "disk_busy_percent", "disk_wait_us", "disk_queue", "put_rate"),
    *("get_rate", "message_rate", "megabyte_rate", "broker_cpu_us_per_megabyte"),
)
STEP: Final = LakeTable(
    "step",
    Layer.GOLD,
    "One row for each step of each curve, of the main operation: medians of the repetitions.",
    (
        *_POINT_KEY,
        LakeColumn("driver", "string", "lean, library or probe: what made the requests"),
        LakeColumn("promise", "string", "what an acknowledgement means"),
        *_SERIES,
        LakeColumn("operation", "string", "what was timed"),
        LakeColumn("repetitions", "int", "how often it was measured"),
        LakeColumn("rate", "double", "completed a second"),
        LakeColumn("rate_min", "double", "of the slowest repetition"),
        LakeColumn("rate_max", "double", "of the fastest repetition"),
        *(
            LakeColumn(each.name, "double", each.text or "as p50_ns", True)
            for name in _POINT_FIGURES
            for each in POINT.columns
            if each.name == name
        ),
        *_EACH,
        LakeColumn("flags", "array<string>", "why figures of any repetition are doubtful"),
    ),
    ("run", "contestant", "step"),
)
SECOND: Final = LakeTable(
    "second",
    Layer.GOLD,
    "The measured windows over time: at most 120 slices of each, of whole seconds.",
    (
        *_POINT_KEY[:4],
        LakeColumn("step", "int", "step of the sweep"),
        LakeColumn("repetition", "int", "which time, from 0"),
        LakeColumn("second", "int", "when the slice begins, in whole seconds since the window began"),
        LakeColumn("seconds", "double", "length of the slice"),
        LakeColumn("operation", "string", "the main operation"),
        LakeColumn("count", "bigint", "operations that completed"),
        LakeColumn("failed", "bigint", "operations that failed"),
        LakeColumn("rate", "double", "completed a second"),
        LakeColumn("mean_ns", "double", "exact mean", True),
        LakeColumn("p50_ns", "bigint", "percentiles of the merged histograms", True),
        LakeColumn("p99_ns", "bigint", "", True),
        LakeColumn("max_ns", "bigint", "exact", True),
        LakeColumn("broker_core_percent", "double", "of one core", True),
        LakeColumn("driver_core_percent", "double", "of one core", True),
        LakeColumn("broker_memory_bytes", "bigint", "most resident bytes", True),
        LakeColumn("machine_busy_percent", "double", "of all cores", True),
        LakeColumn("disk_written_bytes", "bigint", "by the whole machine", True),
        LakeColumn("disk_busy_percent", "double", "of the slice", True),
        LakeColumn("disk_wait_us", "double", "mean time of a request of the disk", True),
    ),
    ("run", "contestant", "step", "repetition", "second"),
    ("run",),
)
COURSE: Final = LakeTable(
    "course",
    Layer.GOLD,
    "Windows in which something happens, such as a failover: what happened when, and the rate in tenths of a second.",
    (
        LakeColumn("run", "string", "the run"),
        LakeColumn("scenario", "string", "id in the catalogue"),
        LakeColumn("contestant", "string", "who was measured"),
        LakeColumn("step", "int", "step of the sweep"),
        LakeColumn("repetition", "int", "which time, from 0"),
        LakeColumn("kind", "string", "moment, or tenth: of a second"),
        LakeColumn("at", "double", "seconds since the window began"),
        LakeColumn("name", "string", "what happened, or the operation"),
        LakeColumn("rate", "double", "operations a second that ended in this tenth", True),
    ),
    ("run", "contestant", "step", "repetition", "kind", "at", "name"),
)
DISCLOSURE: Final = LakeTable(
    "disclosure",
    Layer.GOLD,
    "What must be said beside the figures of a run: how it differs from its report, and how it was set up.",
    (
        LakeColumn("run", "string", "the run"),
        LakeColumn("scenario", "string", "id in the catalogue"),
        LakeColumn("kind", "string", "stand-in, left-out, deviation, configuration or workload"),
        LakeColumn("position", "int", "place among those of its kind, from 0"),
        LakeColumn("name", "string", "feature, part, what differs, or configured object; empty for the workload"),
        LakeColumn("text", "string", "what stands in, what it needs, why, the configuration, or the scenario as JSON"),
    ),
    ("run", "kind", "position"),
)
PEAK: Final = LakeTable(
    "peak",
    Layer.GOLD,
    "The best of each curve: one row for each run, contestant and series of the main operation.",
    (
        *(column for column in _POINT_KEY if column.name != "step"),
        *(column for column in _SERIES if column.name != "clients"),
        LakeColumn("peak_rate", "double", "highest median rate of a step"),
        LakeColumn("peak_clients", "int", "clients there"),
        LakeColumn("peak_busy_percent", "double", "of all cores, there", True),
        LakeColumn("peak_broker_cpu_us", "double", "for each operation, there", True),
        LakeColumn("peak_p99_ns", "bigint", "there", True),
        LakeColumn("single_rate", "double", "rate of the fewest clients"),
        LakeColumn("single_mean_ns", "double", "response time of the fewest clients", True),
        LakeColumn("clients_within_second", "int", "most clients whose mean response time is within one second", True),
        LakeColumn("knee_clients", "int", "where the curve bends: the step furthest above the chord", True),
        LakeColumn("steps", "int", "steps of the curve"),
        LakeColumn("repetitions", "int", "repetitions of each"),
        LakeColumn("is_partial", "boolean", "whether the run is not complete"),
    ),
    ("run", "contestant", "series"),
)
COMPARISON: Final = LakeTable(
    "comparison",
    Layer.GOLD,
    "Two figures side by side, and what the difference means.",
    (
        LakeColumn("kind", "string", "release, option, product, repeat, ratio"),
        LakeColumn("subject", "string", "what is compared, in words: TLS to plain, Ostler to RabbitMQ, ..."),
        LakeColumn("scenario", "string", "id of the first"),
        LakeColumn("series", "string", "what both have in common"),
        LakeColumn("clients", "int", "at so many clients, empty for peaks", True),
        LakeColumn("metric", "string", "rate, mean response time, broker processor time, ..."),
        LakeColumn("left_name", "string", "the baseline"),
        LakeColumn("right_name", "string", "what is held against it"),
        LakeColumn("left_run", "string", "run of the baseline, or published figure numbers"),
        LakeColumn("right_run", "string", "run of the other"),
        LakeColumn("left_value", "double", "median"),
        LakeColumn("right_value", "double", "median"),
        LakeColumn("change_percent", "double", "of the baseline"),
        LakeColumn("left_repetitions", "int", "how often it was measured; once makes no interval", True),
        LakeColumn("right_repetitions", "int", "likewise", True),
        LakeColumn("low_percent", "double", "lower end of the 95 % confidence interval", True),
        LakeColumn("high_percent", "double", "upper end", True),
        LakeColumn("noise_percent", "double", "the greater noise of both"),
        LakeColumn("tolerance_percent", "double", "6 %, widened by the noise"),
        LakeColumn("verdict", "string", "same, better, worse, or not comparable"),
        LakeColumn("published_ratio", "double", "the same ratio inside a published report", True),
        LakeColumn("our_ratio", "double", "right to left", True),
        LakeColumn("published_source", "string", "report, section and table", True),
        LakeColumn("left_driver", "string", "lean, library or probe: what made the requests; empty when published"),
        LakeColumn("right_driver", "string", "likewise"),
        LakeColumn("left_promise", "string", "what an acknowledgement means; empty where nobody says"),
        LakeColumn("right_promise", "string", "likewise"),
        LakeColumn("is_like_with_like", "boolean", "whether drivers are of one kind; without it there is no verdict"),
    ),
    ("kind", "subject", "scenario", "series", "clients", "metric", "left_run", "right_run"),
)
FIGURE_MATCH: Final = LakeTable(
    "figure_match",
    Layer.GOLD,
    "Each published figure, with ours where variant and metric agree, or with the reason why there is none.",
    (
        LakeColumn("figure", "int", "number of the published figure"),
        LakeColumn("scenario", "string", "its scenario, or empty"),
        LakeColumn("metric", "string", "what was measured, in our words; empty where we do not measure it"),
        LakeColumn("is_matched", "boolean", "whether a figure of ours stands beside it"),
        LakeColumn("reason", "string", "why none does; empty where one does"),
        LakeColumn("published_value", "double", "the published figure, in our unit", True),
        LakeColumn("our_value", "double", "median of ours", True),
        LakeColumn("run", "string", "our run", True),
        LakeColumn("contestant", "string", "who was measured", True),
        LakeColumn("series", "string", "the sweep without clients", True),
        LakeColumn("clients", "int", "our number of clients; empty for peaks", True),
    ),
    ("figure",),
)
SCALING: Final = LakeTable(
    "scaling",
    Layer.GOLD,
    "The Universal Scalability Law fitted to each curve, and what it predicts.",
    (
        *(column for column in _POINT_KEY if column.name != "step"),
        *(column for column in _SERIES if column.name != "clients"),
        LakeColumn("points", "int", "steps that were fitted"),
        LakeColumn("lambda", "double", "operations a second of one client", True),
        LakeColumn("sigma", "double", "contention", True),
        LakeColumn("kappa", "double", "coherence", True),
        LakeColumn("r_squared", "double", "how well it fits", True),
        LakeColumn("residual_percent", "double", "root mean square of the residuals, of the mean rate", True),
        LakeColumn("predicted_peak_rate", "double", "by the fit", True),
        LakeColumn("predicted_peak_clients", "double", "by the fit", True),
        LakeColumn("cpu_limit_rate", "double", "rate at which the broker's cores would be full", True),
        LakeColumn(
            "cpu_growth_percent", "double", "processor time for each operation from the first step to the last", True
        ),
        LakeColumn("limited_by", "string", "driver, broker, log, network, machine, or unknown"),
        LakeColumn("why", "string", "the figures behind that, in words"),
        LakeColumn("is_fitted", "boolean", "whether there were enough steps and the fit converged"),
    ),
    ("run", "contestant", "series"),
)
COST: Final = LakeTable(
    "cost",
    Layer.GOLD,
    "What the queue manager accounted for, by connection and by queue, as cost of verbs and transactions.",
    (
        LakeColumn("run", "string", "the run"),
        LakeColumn("scenario", "string", "id in the catalogue"),
        LakeColumn("contestant", "string", "who was measured"),
        LakeColumn("step", "int", "step of the sweep"),
        LakeColumn("repetition", "int", "which time"),
        LakeColumn("scope", "string", "queue, connection, channel, queue manager, or all message channels of one"),
        LakeColumn("object", "string", "its name"),
        LakeColumn("verb", "string", "put, get, commit, ..., or transaction"),
        LakeColumn("count", "double", "how many"),
        LakeColumn("bytes", "double", "of them, where they carry any", True),
        LakeColumn("time_us", "double", "time that was accounted for, of one", True),
        LakeColumn("broker_cpu_us", "double", "processor time of the queue manager shared out by count", True),
        LakeColumn("log_bytes", "double", "of the log, for one", True),
    ),
    ("run", "contestant", "step", "repetition", "scope", "object", "verb"),
)
RESULT: Final = LakeTable(
    "result",
    Layer.GOLD,
    "What experiments found that is no rate of an operation: memory of a connection, messages a second of a channel.",
    (
        LakeColumn("run", "string", "the run"),
        LakeColumn("scenario", "string", "id in the catalogue"),
        LakeColumn("contestant", "string", "who was measured"),
        LakeColumn("step", "int", "step of the sweep"),
        LakeColumn("repetition", "int", "which time"),
        LakeColumn("name", "string", "what it is, with its unit"),
        LakeColumn("value", "double", "the median of what was found in this repetition"),
        LakeColumn("count", "bigint", "how often it was found"),
        LakeColumn("series", "string", "the point of every sweep, as in points, but with those of clients", True),
    ),
    ("run", "contestant", "step", "repetition", "name"),
)
PREDICTION: Final = LakeTable(
    "prediction",
    Layer.GOLD,
    "How much of each resource one transaction or connection needs, and how many there could be.",
    (
        *(column for column in _POINT_KEY if column.name != "step"),
        *(column for column in _SERIES if column.name != "clients"),
        LakeColumn("resource", "string", "processor, memory, network, log or disk"),
        LakeColumn("need", "double", "of one transaction or connection"),
        LakeColumn("available", "double", "in the same unit; for rates, in a second"),
        LakeColumn("unit", "string", "of both"),
        LakeColumn("limit", "double", "how many there could be: available divided by need"),
        LakeColumn("measured", "double", "how many there were at most"),
        LakeColumn("used_percent", "double", "measured, of the limit"),
        LakeColumn("text", "string", "the calculation, in words"),
    ),
    ("run", "contestant", "series", "resource"),
)
REJECTED: Final = LakeTable(
    "rejected",
    Layer.QUARANTINE,
    "Rows that break a rule, with the rule: never dropped in silence.",
    (
        LakeColumn("table", "string", "where it would have gone"),
        LakeColumn("run", "string", "the run, or empty"),
        LakeColumn("rule", "string", "short name of the rule"),
        LakeColumn("reason", "string", "what is wrong, in words"),
        LakeColumn("row", "string", "the row as JSON"),
        LakeColumn("rows", "bigint", "how many rows are meant: whole files are one entry"),
    ),
    ("table", "run", "rule", "row"),
    ("run",),
)

TABLES: Final = {
    table.name: table
    for table in (
        *BRONZE.values(),
        RUN,
        CONTESTANT,
        PUBLISHED,
        DISCLOSURE,
        POINT,
        STEP,
        SECOND,
        COURSE,
        PEAK,
        COMPARISON,
        FIGURE_MATCH,
        SCALING,
        COST,
        RESULT,
        PREDICTION,
        REJECTED,
    )
}
