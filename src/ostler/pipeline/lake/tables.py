"""The tables of the lake: what each holds, column by column. Steps state them at entry and exit.

Bronze is what was measured, as it came. Silver is one row for each measured point. Gold is what a report tells. Nothing
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
class Column:
    """`type` is a type of Spark SQL: string, int, bigint, double, boolean, timestamp, array<...>, map<...>."""

    name: str
    type: str
    text: str
    optional: bool = False


@dataclass(frozen=True)
class LakeTable:
    """`key` tells rows apart. `partitions` are columns that name directories."""

    name: str
    layer: Layer
    text: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    partitions: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


_SPARK_TYPES: Final = {
    samples.Kind.TEXT: "string",
    samples.Kind.INTEGER: "int",
    samples.Kind.LONG: "bigint",
    samples.Kind.REAL: "double",
    samples.Kind.FLAG: "boolean",
    samples.Kind.TIME: "timestamp",
    samples.Kind.MAP: "map<string,string>",
}


def _sample_table(table: samples.Table) -> LakeTable:
    """A table of the laboratory, as bronze has it: the same columns, partitioned by run."""
    columns = tuple(Column(each.name, _SPARK_TYPES[each.kind], each.text, each.optional) for each in table.columns)
    key = tuple(each.name for each in table.columns if each.adding is samples.Adding.KEY)
    return LakeTable(table.name, Layer.BRONZE, table.text, columns, key, ("run",))


BRONZE: Final = {name: _sample_table(table) for name, table in samples.TABLES.items()}

RUN: Final = LakeTable(
    "run",
    Layer.BRONZE,
    "One row for each run: what its manifest says.",
    (
        Column("run", "string", "name of its directory"),
        Column("scenario", "string", "id in the catalogue"),
        Column("began", "timestamp", "when it began"),
        Column("ended", "timestamp", "when it ended", True),
        Column("condition", "string", "complete, partial, interrupted or running"),
        Column("schema_version", "int", "of its samples"),
        Column("version", "string", "of ostler"),
        Column("revision", "string", "of its sources, or empty"),
        Column("compiled", "boolean", "whether hot code was compiled"),
        Column("machine", "string", "processor, cores and memory, in words"),
        Column("kernel", "string", "release of the kernel"),
        Column("disk", "string", "file system and device of the queue managers' files"),
        Column("noise_percent", "double", "how much the same work differed within the run", True),
        Column("command", "string", "what was typed"),
        Column("parameters", "map<string,string>", "settings of the run"),
        Column("flags", "array<string>", "why figures of the whole run are doubtful"),
        Column("environment", "string", "all that the manifest says of the environment, as JSON"),
        Column("source", "string", "directory it was ingested from"),
        Column("content", "string", "checksum of what was ingested: a run that has grown is ingested again"),
    ),
    ("run",),
)
ENTRANT: Final = LakeTable(
    "entrant",
    Layer.BRONZE,
    "Who took part in each run.",
    (
        Column("run", "string", "the run"),
        Column("contestant", "string", "name"),
        Column("kind", "string", "ostler, peer or limit"),
        Column("promise", "string", "what an acknowledgement means"),
        Column("version", "string", "of the product and of its client library"),
    ),
    ("run", "contestant"),
)
PUBLISHED: Final = LakeTable(
    "published",
    Layer.BRONZE,
    "Figures printed in performance reports of IBM MQ, each with its source.",
    (
        Column("figure", "int", "number of the figure, from 1"),
        Column("report", "string", "short name of the report, as in the catalogue of scenarios"),
        Column("report_title", "string", "title and edition"),
        Column("section", "string", "section"),
        Column("table_or_figure", "string", "table, figure, or prose"),
        Column("scenario", "string", "id in the catalogue, or empty"),
        Column("test_name", "string", "what the report calls the test"),
        Column("product", "string", "product"),
        Column("product_version", "string", "release"),
        Column("platform", "string", "operating system and hardware"),
        Column("topology", "string", "where applications and queue managers were"),
        Column("variants", "map<string,string>", "what else was different: bindings, options, the point of a sweep"),
        Column("message_bytes", "bigint", "size of messages", True),
        Column("persistence", "string", "persistent, nonpersistent, or empty"),
        Column("syncpoint", "string", "out, in, server-in, or empty"),
        Column("clients", "int", "applications", True),
        Column("metric", "string", "what was measured"),
        Column("value", "double", "the figure"),
        Column("unit", "string", "its unit"),
        Column("note", "string", "what the report adds"),
        Column("basis", "string", "measured, calculated, comparison, ..."),
    ),
    ("figure",),
)

_POINT_KEY: Final = (
    Column("run", "string", "the run"),
    Column("scenario", "string", "id in the catalogue"),
    Column("contestant", "string", "who was measured"),
    Column("kind", "string", "ostler, peer or limit"),
    Column("step", "int", "step of the sweep"),
)
_SERIES: Final = (
    Column("series", "string", "the sweep without clients: parameters that stay the same along a curve, as text"),
    Column("clients", "int", "applications that made requests"),
    Column("message_bytes", "bigint", "size of messages"),
    Column("persistent", "boolean", "whether messages were persistent"),
)

POINT: Final = LakeTable(
    "point",
    Layer.SILVER,
    "One row for each operation of each measured point: one repetition of one contestant at one step.",
    (
        *_POINT_KEY,
        Column("repetition", "int", "which time, from 0"),
        Column("operation", "string", "what was timed"),
        Column("is_main", "boolean", "whether it is the operation that the scenario is about"),
        *_SERIES,
        Column("parameters", "map<string,string>", "all parameters of the step"),
        Column("began", "timestamp", "when the window began"),
        Column("seconds", "double", "length of the window"),
        Column("asked_rate", "double", "rate that was asked for, of all clients together", True),
        Column("count", "bigint", "operations that completed"),
        Column("failed", "bigint", "operations that failed"),
        Column("late", "bigint", "operations begun later than due"),
        Column("rate", "double", "completed a second"),
        Column("mean_ns", "double", "exact mean", True),
        Column("p50_ns", "bigint", "percentiles of the merged histograms", True),
        Column("p90_ns", "bigint", "", True),
        Column("p99_ns", "bigint", "", True),
        Column("p999_ns", "bigint", "", True),
        Column("max_ns", "bigint", "exact", True),
        Column("broker_cpu_us", "double", "processor time of queue manager or peer for each operation", True),
        Column("broker_user_us", "double", "of it in user mode", True),
        Column("driver_cpu_us", "double", "of the drivers for each operation", True),
        Column("log_cpu_us", "double", "of the queue manager's log threads for each operation", True),
        Column("near_cpu_us", "double", "of two that are joined, the one of requesters or producers", True),
        Column("far_cpu_us", "double", "of two that are joined, the other one", True),
        Column("near_log_cpu_us", "double", "of the log threads of the near queue manager", True),
        Column("far_log_cpu_us", "double", "of the log threads of the far queue manager", True),
        Column("broker_core_percent", "double", "of one core", True),
        Column("machine_busy_percent", "double", "of all cores", True),
        Column("steal_percent", "double", "of all cores", True),
        Column("broker_memory_bytes", "bigint", "most resident bytes in the window", True),
        Column("log_bytes", "bigint", "written by the log in the window", True),
        Column("log_forces", "bigint", "forces in the window", True),
        Column("disk_written_bytes", "bigint", "by the whole machine", True),
        Column("disk_busy_percent", "double", "of the window", True),
        Column("loopback_bytes", "bigint", "by the whole machine", True),
        Column("noise_percent", "double", "of the run", True),
        Column("flags", "array<string>", "why the figures of this point are doubtful"),
    ),
    ("run", "contestant", "step", "repetition", "operation"),
    ("scenario",),
)
PEAK: Final = LakeTable(
    "peak",
    Layer.GOLD,
    "The best of each curve: one row for each run, contestant and series of the main operation.",
    (
        *(column for column in _POINT_KEY if column.name != "step"),
        *(column for column in _SERIES if column.name != "clients"),
        Column("peak_rate", "double", "highest median rate of a step"),
        Column("peak_clients", "int", "clients there"),
        Column("peak_busy_percent", "double", "of all cores, there", True),
        Column("peak_broker_cpu_us", "double", "for each operation, there", True),
        Column("peak_p99_ns", "bigint", "there", True),
        Column("single_rate", "double", "rate of the fewest clients"),
        Column("single_mean_ns", "double", "response time of the fewest clients", True),
        Column("clients_within_second", "int", "most clients whose mean response time is within one second", True),
        Column("knee_clients", "int", "where the curve bends: the step furthest above the chord", True),
        Column("steps", "int", "steps of the curve"),
        Column("repetitions", "int", "repetitions of each"),
        Column("is_partial", "boolean", "whether the run is not complete"),
    ),
    ("run", "contestant", "series"),
)
COMPARISON: Final = LakeTable(
    "comparison",
    Layer.GOLD,
    "Two figures side by side, and what the difference means.",
    (
        Column("kind", "string", "release, option, product, repeat, ratio"),
        Column("subject", "string", "what is compared, in words: TLS to plain, Ostler to RabbitMQ, ..."),
        Column("scenario", "string", "id of the first"),
        Column("series", "string", "what both have in common"),
        Column("clients", "int", "at so many clients, empty for peaks", True),
        Column("metric", "string", "rate, mean response time, broker processor time, ..."),
        Column("left_name", "string", "the baseline"),
        Column("right_name", "string", "what is held against it"),
        Column("left_run", "string", "run of the baseline, or published figure numbers"),
        Column("right_run", "string", "run of the other"),
        Column("left_value", "double", "median"),
        Column("right_value", "double", "median"),
        Column("change_percent", "double", "of the baseline"),
        Column("left_repetitions", "int", "how often it was measured; once makes no interval", True),
        Column("right_repetitions", "int", "likewise", True),
        Column("low_percent", "double", "lower end of the 95 % confidence interval", True),
        Column("high_percent", "double", "upper end", True),
        Column("noise_percent", "double", "the greater noise of both"),
        Column("tolerance_percent", "double", "6 %, widened by the noise"),
        Column("verdict", "string", "same, better, worse, or not comparable"),
        Column("published_ratio", "double", "the same ratio inside a published report", True),
        Column("our_ratio", "double", "right to left", True),
        Column("published_source", "string", "report, section and table", True),
    ),
    ("kind", "subject", "scenario", "series", "clients", "metric", "left_run", "right_run"),
)
SCALING: Final = LakeTable(
    "scaling",
    Layer.GOLD,
    "The Universal Scalability Law fitted to each curve, and what it predicts.",
    (
        *(column for column in _POINT_KEY if column.name != "step"),
        *(column for column in _SERIES if column.name != "clients"),
        Column("points", "int", "steps that were fitted"),
        Column("lambda", "double", "operations a second of one client", True),
        Column("sigma", "double", "contention", True),
        Column("kappa", "double", "coherence", True),
        Column("r_squared", "double", "how well it fits", True),
        Column("residual_percent", "double", "root mean square of the residuals, of the mean rate", True),
        Column("predicted_peak_rate", "double", "by the fit", True),
        Column("predicted_peak_clients", "double", "by the fit", True),
        Column("cpu_limit_rate", "double", "rate at which the broker's cores would be full", True),
        Column(
            "cpu_growth_percent", "double", "processor time for each operation from the first step to the last", True
        ),
        Column("limited_by", "string", "driver, broker, log, network, machine, or unknown"),
        Column("why", "string", "the figures behind that, in words"),
        Column("is_fitted", "boolean", "whether there were enough steps and the fit converged"),
    ),
    ("run", "contestant", "series"),
)
COST: Final = LakeTable(
    "cost",
    Layer.GOLD,
    "What the queue manager accounted for, by connection and by queue, as cost of verbs and transactions.",
    (
        Column("run", "string", "the run"),
        Column("scenario", "string", "id in the catalogue"),
        Column("contestant", "string", "who was measured"),
        Column("step", "int", "step of the sweep"),
        Column("repetition", "int", "which time"),
        Column("scope", "string", "queue, connection, channel, queue manager, or all message channels of one"),
        Column("object", "string", "its name"),
        Column("verb", "string", "put, get, commit, ..., or transaction"),
        Column("count", "double", "how many"),
        Column("bytes", "double", "of them, where they carry any", True),
        Column("time_us", "double", "time that was accounted for, of one", True),
        Column("broker_cpu_us", "double", "processor time of the queue manager shared out by count", True),
        Column("log_bytes", "double", "of the log, for one", True),
    ),
    ("run", "contestant", "step", "repetition", "scope", "object", "verb"),
)
RESULT: Final = LakeTable(
    "result",
    Layer.GOLD,
    "What experiments found that is no rate of an operation: memory of a connection, messages a second of a channel.",
    (
        Column("run", "string", "the run"),
        Column("scenario", "string", "id in the catalogue"),
        Column("contestant", "string", "who was measured"),
        Column("step", "int", "step of the sweep"),
        Column("repetition", "int", "which time"),
        Column("name", "string", "what it is, with its unit"),
        Column("value", "double", "the median of what was found in this repetition"),
        Column("count", "bigint", "how often it was found"),
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
        Column("resource", "string", "processor, memory or network"),
        Column("need", "double", "of one transaction or connection"),
        Column("available", "double", "in the same unit; for rates, in a second"),
        Column("unit", "string", "of both"),
        Column("limit", "double", "how many there could be: available divided by need"),
        Column("measured", "double", "how many there were at most"),
        Column("used_percent", "double", "measured, of the limit"),
        Column("text", "string", "the calculation, in words"),
    ),
    ("run", "contestant", "series", "resource"),
)
REJECTED: Final = LakeTable(
    "rejected",
    Layer.QUARANTINE,
    "Rows that break a rule, with the rule: never dropped in silence.",
    (
        Column("table", "string", "where it would have gone"),
        Column("run", "string", "the run, or empty"),
        Column("rule", "string", "short name of the rule"),
        Column("reason", "string", "what is wrong, in words"),
        Column("row", "string", "the row as JSON"),
        Column("rows", "bigint", "how many rows are meant: whole files are one entry"),
    ),
    ("table", "run", "rule", "row"),
    ("run",),
)

TABLES: Final = {
    table.name: table
    for table in (
        *BRONZE.values(),
        RUN,
        ENTRANT,
        PUBLISHED,
        POINT,
        PEAK,
        COMPARISON,
        SCALING,
        COST,
        RESULT,
        PREDICTION,
        REJECTED,
    )
}
