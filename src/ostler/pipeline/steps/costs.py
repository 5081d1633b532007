"""Costs of verbs and transactions, from the queue manager's accounting by connection, queue and channel.

Counters of the whole queue manager are read at the beginning and the end of a window, so their difference is exact.
Accounting and statistics messages cover connections, queues and channels for their whole duration: their counts may
exceed those of the window, but the cost of one is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ostler.lab.store.segments import MEASURED
from ostler.pipeline.lake.spark_schemas import as_table
from ostler.pipeline.lake.tables import COST
from ostler.pipeline.steps.curves import main_points

QUEUE_MANAGER, CONNECTION, QUEUE, CHANNEL = "queue manager", "connection", "queue", "channel"
MESSAGE_CHANNELS: Final = "message channels"
TRANSACTION: Final = "transaction"
POINT_KEY: Final = ("run", "contestant", "step", "repetition")
_COUNTERS: Final = "queue-manager"
_RECORDS: Final = ("accounting", "statistics")
# Counts of a queue manager's message channels in a window, all together: already differences.
_CHANNELS: Final = "channels"
_CHANNEL_FIELDS: Final = {"messages": "MsgCount", "batches": "BatchCount"}
_DURATION: Final = "QMgrOpDuration"
_OSTLER: Final = "ostler"


@dataclass(frozen=True)
class Verb:
    """A verb, with the names of its count and its bytes in records and counters."""

    name: str
    count: str
    counter: str = ""
    bytes: str = ""
    bytes_counter: str = ""


VERBS: Final = (
    Verb("put", "PutCount", "puts", "PutBytes", "put_bytes"),
    Verb("put1", "Put1Count", "put1s"),
    Verb("get", "GetCount", "gets", "GetBytes", "get_bytes"),
    Verb("browse", "BrowseCount", "browses", "BrowseBytes", "browse_bytes"),
    Verb("open", "OpenCount", "opens"),
    Verb("close", "CloseCount", "closes"),
    Verb("commit", "CommitCount", "commits"),
    Verb("back out", "BackCount", "backouts"),
    Verb("inquire", "InqCount", "inquires"),
    Verb("set", "SetCount", "sets"),
    Verb("message", "MsgCount", "", "TotalBytes"),
    Verb("batch", "BatchCount"),
)


@dataclass(frozen=True)
class RecordKind:
    """The scope of a kind of records. Where two kinds cover the same, the one with the lower rank counts."""

    name: str
    scope: str
    rank: int


RECORD_KINDS: Final = (
    RecordKind("MQIAccounting", CONNECTION, 0),
    RecordKind("QueueAccounting", QUEUE, 0),
    RecordKind("QueueStatistics", QUEUE, 1),
    RecordKind("ChannelStatistics", CHANNEL, 0),
    RecordKind(_CHANNELS, MESSAGE_CHANNELS, 0),
    RecordKind(_COUNTERS, QUEUE_MANAGER, 0),
    RecordKind("MQIStatistics", QUEUE_MANAGER, 1),
)


def costs(statistics: DataFrame, points: DataFrame) -> DataFrame:
    """Return the table of costs, from named metrics of bronze and from points."""
    verbs = verb_counts(accounted(statistics))
    transactions = main_points(points).filter((F.col("kind") == _OSTLER) & (F.col("count") > 0))
    return as_table(
        verb_costs(verbs, transactions).unionByName(transaction_costs(transactions)).filter(F.col("count") > 0), COST
    )


def accounted(statistics: DataFrame) -> DataFrame:
    """Return metrics of verbs in the windows: by point, scope, object and name, under the names that records have."""
    measured = statistics.filter(F.col("phase") == MEASURED)
    kinds = F.broadcast(_kinds(statistics.sparkSession))
    found = reduce(DataFrame.unionByName, (counted(measured), recorded(measured), moved(measured)))
    found = found.join(kinds, "record_kind")
    best = found.groupBy(*POINT_KEY, "scope").agg(F.min("rank").alias("rank"))
    return found.join(best, [*POINT_KEY, "scope", "rank"]).select(*POINT_KEY, "scope", "object", "field", "value")


def counted(measured: DataFrame) -> DataFrame:
    """Return the growth of queue managers' counters in the window."""
    names = {each.counter: each.count for each in VERBS} | {each.bytes_counter: each.bytes for each in VERBS}
    growth = F.max_by("value", "second") - F.min_by("value", "second")
    return (
        measured.filter((F.col("source") == _COUNTERS) & F.col("name").isin([name for name in names if name]))
        .groupBy(*POINT_KEY, "object", "name")
        .agg(F.greatest(growth, F.lit(0.0)).alias("value"))
        .select(
            *POINT_KEY,
            F.lit(_COUNTERS).alias("record_kind"),
            "object",
            _renamed(F.col("name"), {name: field for name, field in names.items() if name}).alias("field"),
            "value",
        )
    )


def recorded(measured: DataFrame) -> DataFrame:
    """Return records of accounting and statistics: all of the same object together, persistent messages and others."""
    kind, field = F.substring_index("name", ".", 1), F.substring_index("name", ".", -1)
    fields = [each.count for each in VERBS] + [each.bytes for each in VERBS if each.bytes] + [_DURATION]
    return (
        measured.filter(F.col("source").isin(*_RECORDS) & field.isin(fields))
        .groupBy(*POINT_KEY, kind.alias("record_kind"), "object", field.alias("field"))
        .agg(F.sum("value").alias("value"))
        .select(*POINT_KEY, "record_kind", "object", "field", "value")
    )


def moved(measured: DataFrame) -> DataFrame:
    """Return the counts of sent messages and batches in the window, summed for a queue manager."""
    return measured.filter((F.col("source") == _CHANNELS) & F.col("name").isin(list(_CHANNEL_FIELDS))).select(
        *POINT_KEY,
        F.lit(_CHANNELS).alias("record_kind"),
        "object",
        _renamed(F.col("name"), _CHANNEL_FIELDS).alias("field"),
        "value",
    )


def verb_counts(metrics: DataFrame) -> DataFrame:
    """Return verbs by point, scope and object: their number, bytes, and the time of one where a record has that of all.

    A record has one time for all verbs of its connection, so it is divided by count.
    """
    key = (*POINT_KEY, "scope", "object")
    verbs = F.array(
        *(F.struct(*(F.lit(getattr(each, name)).alias(name) for name in ("name", "count", "bytes"))) for each in VERBS)
    )
    found = (
        metrics.withColumn("told", F.explode(verbs))
        .groupBy(*key, F.col("told.name").alias("verb"))
        .agg(
            F.sum(F.when(F.col("field") == F.col("told.count"), F.col("value"))).alias("count"),
            F.sum(F.when(F.col("field") == F.col("told.bytes"), F.col("value"))).alias("bytes"),
        )
        .filter(F.col("count") > 0)
    )
    times = metrics.filter(F.col("field") == _DURATION).groupBy(*key).agg(F.sum("value").alias("duration_us"))
    all_counts = found.groupBy(*key).agg(F.sum("count").alias("all_count"))
    return (
        found.join(all_counts, list(key))
        .join(times, list(key), "left")
        .select(*key, "verb", "count", "bytes", (F.col("duration_us") / F.col("all_count")).alias("time_us"))
    )


def verb_costs(verbs: DataFrame, transactions: DataFrame) -> DataFrame:
    """Return verbs with the processor time of one: that of the window, divided among all verbs of it."""
    window = verbs.filter(F.col("scope") == QUEUE_MANAGER).groupBy(*POINT_KEY).agg(F.sum("count").alias("window_count"))
    processor = transactions.select(
        *POINT_KEY, "scenario", (F.col("broker_cpu_us") * F.col("count")).alias("window_cpu_us")
    )
    return (
        verbs.join(processor, list(POINT_KEY))
        .join(window, list(POINT_KEY), "left")
        # Channel transfers are not verbs: their time is within that of the channels' verbs.
        .withColumn(
            "broker_cpu_us",
            F.when(F.col("scope") != MESSAGE_CHANNELS, F.col("window_cpu_us") / F.col("window_count")),
        )
        # The log bytes of a single verb are unknown: transactions have them.
        .withColumn("log_bytes", F.lit(None).cast("double"))
        .select(*COST.names)
    )


def transaction_costs(transactions: DataFrame) -> DataFrame:
    """Return the main operation as a whole. Its time is that of the application, and is in the points."""
    return transactions.select(
        "run",
        "scenario",
        "contestant",
        "step",
        "repetition",
        F.lit(QUEUE_MANAGER).alias("scope"),
        F.lit("").alias("object"),
        F.lit(TRANSACTION).alias("verb"),
        F.col("count").cast("double").alias("count"),
        F.lit(None).cast("double").alias("bytes"),
        F.lit(None).cast("double").alias("time_us"),
        "broker_cpu_us",
        (F.col("log_bytes") / F.col("count")).alias("log_bytes"),
    )


def _kinds(spark: SparkSession) -> DataFrame:
    rows = [(each.name, each.scope, each.rank) for each in RECORD_KINDS]
    return spark.createDataFrame(rows, "record_kind string, scope string, rank int")


def _renamed(name: Column, names: dict[str, str]) -> Column:
    pairs = reduce(lambda found, each: [*found, F.lit(each[0]), F.lit(each[1])], names.items(), list[Column]())
    return F.create_map(*pairs)[name]
