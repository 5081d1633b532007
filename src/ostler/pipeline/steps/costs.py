"""Costs: what the queue manager accounted for, by connection, queue and channel, as cost of verbs and transactions.

Counters of the whole queue manager are read at the beginning and the end of a window, so their difference is exact.
Accounting and statistics messages tell of connections, queues and channels, over as long as those lasted: their counts
may be more than those of the window, but the cost of one is the same.
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
# What message channels of a queue manager did in a window, all together: differences already.
_CHANNELS: Final = "channels"
_CHANNEL_FIELDS: Final = {"messages": "MsgCount", "batches": "BatchCount"}
_DURATION: Final = "QMgrOpDuration"
_OSTLER: Final = "ostler"


@dataclass(frozen=True)
class Verb:
    """A verb, by the names that records and counters have for how many there were and how long their data was."""

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
    """What records of a kind are about. Where two kinds tell of the same, the one with the lower rank counts."""

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
    """From named figures of bronze and from points: the table of costs."""
    verbs = verb_counts(accounted(statistics))
    transactions = main_points(points).filter((F.col("kind") == _OSTLER) & (F.col("count") > 0))
    return as_table(
        verb_costs(verbs, transactions).unionByName(transaction_costs(transactions)).filter(F.col("count") > 0), COST
    )


def accounted(statistics: DataFrame) -> DataFrame:
    """Figures of verbs in the windows: by point, scope, object and name, under the names that records have."""
    measured = statistics.filter(F.col("phase") == MEASURED)
    kinds = F.broadcast(_kinds(statistics.sparkSession))
    found = reduce(DataFrame.unionByName, (counted(measured), recorded(measured), moved(measured)))
    found = found.join(kinds, "record_kind")
    best = found.groupBy(*POINT_KEY, "scope").agg(F.min("rank").alias("rank"))
    return found.join(best, [*POINT_KEY, "scope", "rank"]).select(*POINT_KEY, "scope", "object", "field", "value")


def counted(measured: DataFrame) -> DataFrame:
    """Counters of queue managers: how much they grew in the window."""
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
    """Records of accounting and statistics: all of the same object together, persistent messages and others."""
    kind, field = F.substring_index("name", ".", 1), F.substring_index("name", ".", -1)
    fields = [each.count for each in VERBS] + [each.bytes for each in VERBS if each.bytes] + [_DURATION]
    return (
        measured.filter(F.col("source").isin(*_RECORDS) & field.isin(fields))
        .groupBy(*POINT_KEY, kind.alias("record_kind"), "object", field.alias("field"))
        .agg(F.sum("value").alias("value"))
        .select(*POINT_KEY, "record_kind", "object", "field", "value")
    )


def moved(measured: DataFrame) -> DataFrame:
    """What message channels sent in the window, all of a queue manager together: messages and batches."""
    return measured.filter((F.col("source") == _CHANNELS) & F.col("name").isin(list(_CHANNEL_FIELDS))).select(
        *POINT_KEY,
        F.lit(_CHANNELS).alias("record_kind"),
        "object",
        _renamed(F.col("name"), _CHANNEL_FIELDS).alias("field"),
        "value",
    )


def verb_counts(metrics: DataFrame) -> DataFrame:
    """Verbs by point, scope and object: how many, bytes, and the time of one where a record tells that of all.

    A record tells one time for all verbs of its connection, so it is shared out by count.
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
    """Verbs with the processor time of one: that of the window, shared out among all verbs of it."""
    window = verbs.filter(F.col("scope") == QUEUE_MANAGER).groupBy(*POINT_KEY).agg(F.sum("count").alias("window_count"))
    processor = transactions.select(
        *POINT_KEY, "scenario", (F.col("broker_cpu_us") * F.col("count")).alias("window_cpu_us")
    )
    return (
        verbs.join(processor, list(POINT_KEY))
        .join(window, list(POINT_KEY), "left")
        # What channels move is no verb: its time is that of the verbs of channels, and in it already.
        .withColumn(
            "broker_cpu_us",
            F.when(F.col("scope") != MESSAGE_CHANNELS, F.col("window_cpu_us") / F.col("window_count")),
        )
        # Which verb wrote how much of the log is not known: transactions tell that.
        .withColumn("log_bytes", F.lit(None).cast("double"))
        .select(*COST.names)
    )


def transaction_costs(transactions: DataFrame) -> DataFrame:
    """The main operation as a whole. Its time is that of the application, and stands with the points."""
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
