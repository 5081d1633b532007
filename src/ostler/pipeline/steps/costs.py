"""Costs of verbs and transactions, from the queue manager's accounting by connection, queue and channel.

Counters of the whole queue manager are read at the beginning and the end of a window, so their difference is exact.
Accounting and statistics messages cover connections, queues and channels for their whole duration: their counts may
exceed those of the window, but the cost of one is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame, Window
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


_COUNTER_FIELDS: Final = {
    name: field
    for each in VERBS
    for name, field in ((each.counter, each.count), (each.bytes_counter, each.bytes))
    if name
}
_FIELDS: Final = (*(each.count for each in VERBS), *(each.bytes for each in VERBS if each.bytes), _DURATION)
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
    """Return metrics of verbs in the windows: by point, scope, object and name, under the names that records have.

    Counters of queue managers grow within the window; records of accounting and statistics are added, those of
    persistent messages and others; counts of message channels are differences already.
    """
    source, name, kind = F.col("source"), F.col("name"), F.substring_index("name", ".", 1)
    is_counter, is_record = source == _COUNTERS, source.isin(*_RECORDS)
    growth = F.greatest(F.max_by("value", "second") - F.min_by("value", "second"), F.lit(0.0))
    found = (
        statistics.filter((F.col("phase") == MEASURED) & source.isin(_COUNTERS, _CHANNELS, *_RECORDS))
        .withColumns(
            {
                "record_kind": F.when(is_record, kind).otherwise(source),
                "field": F.when(is_counter, _renamed(name, _COUNTER_FIELDS))
                .when(is_record, F.substring_index("name", ".", -1))
                .otherwise(_renamed(name, _CHANNEL_FIELDS)),
            }
        )
        .filter(F.col("field").isin(*_FIELDS) & F.col("record_kind").isin(*(each.name for each in RECORD_KINDS)))
        .groupBy(*POINT_KEY, "record_kind", "object", "field")
        .agg(F.when(F.col("record_kind") == _COUNTERS, growth).otherwise(F.sum("value")).alias("value"))
        .withColumns(
            {
                "scope": _renamed(F.col("record_kind"), {each.name: each.scope for each in RECORD_KINDS}),
                "rank": _renamed(F.col("record_kind"), {each.name: each.rank for each in RECORD_KINDS}),
            }
        )
    )
    best = F.min("rank").over(Window.partitionBy(*POINT_KEY, "scope"))
    return (
        found.withColumn("best", best)
        .filter(F.col("rank") == F.col("best"))
        .select(*POINT_KEY, "scope", "object", "field", "value")
    )


def verb_counts(metrics: DataFrame) -> DataFrame:
    """Return verbs by point, scope and object: their number, bytes, and the time of one where a record has that of all.

    A record has one time for all verbs of its connection, so it is divided by count.
    """
    key = (*POINT_KEY, "scope", "object")
    verbs = F.array(
        *(F.struct(*(F.lit(getattr(each, name)).alias(name) for name in ("name", "count", "bytes"))) for each in VERBS)
    )
    value, field = F.col("value"), F.col("field")
    return (
        metrics.withColumn("told", F.explode(verbs))
        .groupBy(*key, F.col("told.name").alias("verb"))
        .agg(
            F.sum(F.when(field == F.col("told.count"), value)).alias("count"),
            F.sum(F.when(field == F.col("told.bytes"), value)).alias("bytes"),
            F.sum(F.when(field == _DURATION, value)).alias("duration_us"),
        )
        .filter(F.col("count") > 0)
        .withColumn("all_count", F.sum("count").over(Window.partitionBy(*key)))
        .select(*key, "verb", "count", "bytes", (F.col("duration_us") / F.col("all_count")).alias("time_us"))
    )


def verb_costs(verbs: DataFrame, transactions: DataFrame) -> DataFrame:
    """Return verbs with the processor time of one: that of the window, divided among all verbs of it."""
    is_of_manager = F.col("scope") == QUEUE_MANAGER
    window_count = F.sum(F.when(is_of_manager, F.col("count"))).over(Window.partitionBy(*POINT_KEY))
    processor = transactions.select(
        *POINT_KEY, "scenario", (F.col("broker_cpu_us") * F.col("count")).alias("window_cpu_us")
    )
    return (
        verbs.withColumn("window_count", window_count)
        .join(processor, list(POINT_KEY))
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


def _renamed(name: Column, names: Mapping[str, str | int]) -> Column:
    """Return what a name stands for; null for one that is unknown."""
    return F.create_map(*(F.lit(each) for pair in names.items() for each in pair))[name]
