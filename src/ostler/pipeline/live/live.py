"""Statistics and accounting of a running queue manager as tables: metrics in bronze, activity, accounting and costs in
gold.

Records are kept under a run for each hour: `live-QM1-20261116T06Z`, and in bronze the minute is the step. There was no
measurement, so there are no points. Costs are those of the whole hour.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf

from ostler import __version__
from ostler.lab.store.schema import SCHEMA_VERSION
from ostler.lab.store.segments import MEASURED
from ostler.pipeline.lake.lake_change import LakeChange
from ostler.pipeline.lake.lake_frames import read_table, table_frame, write_table
from ostler.pipeline.lake.live_tables import ACCOUNT, ACTIVITY, CHANNEL, CONTESTANT, QUEUE, RUN_PREFIX, SCENARIO
from ostler.pipeline.lake.spark_schemas import as_table
from ostler.pipeline.lake.tables import BRONZE, COST, REJECTED, RUN, LakeTable
from ostler.pipeline.live.live_records import READ_COLUMNS, RECORD_SCHEMA, read_messages
from ostler.pipeline.steps.costs import POINT_KEY, QUEUE_MANAGER, TRANSACTION, accounted, verb_counts

_STATISTIC = BRONZE["statistic"]
_SCOPES = {"MQIStatistics": QUEUE_MANAGER, "QueueStatistics": QUEUE, "ChannelStatistics": CHANNEL}
_ACCOUNTS = ("MQIAccounting", "QueueAccounting")
_HOUR = "yyyyMMdd'T'HH'Z'"
_COSTS_OF_MANAGER = ("MQIStatistics.QMgrUserCPUTime", "MQIStatistics.QMgrSystemCPUTime", "MQIStatistics.LogBytes")


@dataclass(frozen=True)
class WatchState:
    """The state needed after a restart: the messages of the last batch, and the number of records."""

    messages: tuple[str, ...] = ()
    records: int = 0

    def as_text(self) -> str:
        return json.dumps({"messages": list(self.messages), "records": self.records})


def state_name(queue_manager: str) -> str:
    return f"watch {queue_manager}"


def state_of(text: str | None) -> WatchState:
    if text is None:
        return WatchState()
    content = json.loads(text)
    return WatchState(tuple(content["messages"]), int(content["records"]))


# -- records to rows ---------------------------------------------------------------------------------------------------


def records_of(messages: DataFrame, queue_manager: str) -> DataFrame:
    """Return messages with the columns of READ_SCHEMA as records: RECORD_SCHEMA, and the run of their hour."""
    # Not mapInArrow, which needs pandas, which nothing else here needs. Spark infers the kind from the annotations.
    rows = arrow_udf(read_messages, f"array<struct<{RECORD_SCHEMA}>>")  # type: ignore[call-overload]
    records = messages.select(F.inline(rows(*(F.col(name) for name in READ_COLUMNS))))
    return records.withColumn("run", F.concat(F.lit(f"{RUN_PREFIX}{queue_manager}-"), F.date_format("told", _HOUR)))


def figures(records: DataFrame, first_record: int) -> DataFrame:
    """Return records of runs as rows of the table of statistics, numbered from `first_record` on. Zeros are omitted."""
    number = F.dense_rank().over(Window.orderBy("place", "part")) - 1 + first_record
    named = records.withColumn("record", number).select("*", F.explode("figures").alias("field", "numbers"))
    found = named.select("*", F.posexplode("numbers").alias("position", "number")).filter(F.col("number") != 0)
    return as_table(
        found.select(
            "run",
            F.lit(CONTESTANT).alias("contestant"),
            F.minute("told").alias("step"),
            F.lit(0).alias("repetition"),
            F.lit(MEASURED).alias("phase"),
            F.second("told").alias("second"),
            "source",
            "record",
            "object",
            F.concat_ws(".", "kind", "field").alias("name"),
            "position",
            F.col("number").cast("double").alias("value"),
        ),
        _STATISTIC,
    )


def activity(records: DataFrame) -> DataFrame:
    """Return statistics records as rows of the table of activity."""
    scope = reduce(
        lambda found, each: found.when(F.col("kind") == each[0], each[1]), _SCOPES.items(), F.when(F.lit(False), "")
    )
    return as_table(
        records.filter(F.col("kind").isin(*_SCOPES)).select(
            "*",
            scope.alias("scope"),
            *_shared(),
            _total("ExpiredMsgCount").alias("expired"),
            _total("QMinDepth").alias("depth_min"),
            _total("QMaxDepth").alias("depth_max"),
            _weighted("AvgTimeOnQ").alias("time_on_queue_us"),
            _total("ConnCount").alias("connections"),
            _total("ConnsMax").alias("connections_max"),
            _total("QMgrUserCPUTime", "QMgrSystemCPUTime").alias("cpu_us"),
            _total("LogBytes").alias("log_bytes"),
            _total("LogForceCount").alias("log_forces"),
            _total("MsgCount").alias("requests"),
            _total("TotalBytes").alias("channel_bytes"),
        ),
        ACTIVITY,
    )


def accounts(records: DataFrame) -> DataFrame:
    """Return accounting records as rows of the table of accounts."""
    is_of_queue = F.col("kind") == "QueueAccounting"
    return as_table(
        records.filter(F.col("kind").isin(*_ACCOUNTS)).select(
            "*",
            F.when(is_of_queue, F.col("object")).otherwise("").alias("queue"),
            *_shared(),
            _total("QMgrOpDuration").alias("time_us"),
            _weighted("TimeOnQAvg").alias("time_on_queue_us"),
        ),
        ACCOUNT,
    )


def unreadable(records: DataFrame) -> DataFrame:
    """Return messages that are not records as rows of the quarantine table."""
    return as_table(
        records.filter(F.col("problem").isNotNull()).select(
            F.lit(_STATISTIC.name).alias("table"),
            "run",
            F.lit("record").alias("rule"),
            F.concat(F.lit("a message is no record of statistics or accounting: "), "problem").alias("reason"),
            F.to_json(F.struct("message", "source", "told")).alias("row"),
            F.lit(1).cast("bigint").alias("rows"),
        ),
        REJECTED,
    )


def _shared() -> list[Column]:
    """Return the common columns of activity and accounts."""
    return [
        (F.unix_timestamp("ended") - F.unix_timestamp("began")).cast("double").alias("seconds"),
        _total("PutCount", "Put1Count").alias("puts"),
        _total("PutBytes").alias("put_bytes"),
        _total("GetCount").alias("gets"),
        _total("GetBytes").alias("get_bytes"),
        _total("BrowseCount").alias("browses"),
        _total("BrowseBytes").alias("browse_bytes"),
        _failed().alias("failed"),
        _total("OpenCount").alias("opens"),
        _total("CommitCount").alias("commits"),
        _total("BackCount").alias("backouts"),
    ]


def _numbers(name: str) -> Column:
    return F.try_element_at("figures", F.lit(name))


def _sum(numbers: Column) -> Column:
    return F.aggregate(numbers, F.lit(0).cast("bigint"), lambda total, each: total + each)


def _total(*names: str) -> Column:
    """Return the sum of persistent and non-persistent messages; null where none is present."""
    sums = [_sum(_numbers(name)) for name in names]
    if len(sums) == 1:
        return sums[0]
    whole = reduce(lambda left, right: left + right, (F.coalesce(each, F.lit(0)) for each in sums))
    return F.when(F.coalesce(*sums).isNotNull(), whole)


def _failed() -> Column:
    failures = F.map_filter("figures", lambda name, _: name.endswith("FailCount"))
    return F.when(F.cardinality(failures) > 0, _sum(F.flatten(F.map_values(failures))))


def _weighted(name: str) -> Column:
    """Return times by persistence, weighted by the messages got; null when none were."""
    gets = _numbers("GetCount")
    times = F.zip_with(_numbers(name), gets, lambda time, count: time * count)
    return F.when(_sum(gets) > 0, _sum(times) / _sum(gets))


# -- rows to tables ----------------------------------------------------------------------------------------------------


def add_records(
    spark: SparkSession, change: LakeChange, queue_manager: str, records: DataFrame, runs: Sequence[str], first: int
) -> None:
    """Add records of runs to bronze and gold, numbered from `first` on. Hours with new records are rewritten."""
    sound = records.filter(F.col("problem").isNull())
    _add(spark, change, figures(sound, first), _STATISTIC, runs)
    _add(spark, change, activity(sound), ACTIVITY, runs)
    _add(spark, change, accounts(sound), ACCOUNT, runs)
    listed = {row["run"] for row in change.before.read(RUN, ["run"]).to_pylist()}
    if not listed.issuperset(runs):
        before = read_table(spark, change.before, RUN)
        write_table(change, listed_runs(spark, before, queue_manager, runs).coalesce(1), RUN)
    others = read_table(spark, change.before, COST).filter(~F.col("run").isin(list(runs)))
    costs = live_costs(read_table(spark, change.now, _STATISTIC, run=runs))
    write_table(change, others.unionByName(costs).coalesce(1), COST)


def quarantine(spark: SparkSession, change: LakeChange, records: DataFrame, runs: Sequence[str]) -> None:
    """Add unreadable messages to quarantine."""
    _add(spark, change, unreadable(records), REJECTED, runs)


def _add(spark: SparkSession, change: LakeChange, fresh: DataFrame, table: LakeTable, runs: Sequence[str]) -> None:
    before = read_table(spark, change.before, table, run=runs)
    write_table(change, before.unionByName(fresh).coalesce(1), table)


def listed_runs(spark: SparkSession, before: DataFrame, queue_manager: str, runs: Sequence[str]) -> DataFrame:
    """Return the table of runs with these hours. Of one queue manager, only the last hour is still running."""
    fresh = table_frame(spark, RUN, [_run_row(name, queue_manager) for name in runs])
    others = before.filter(~F.col("run").isin(list(runs)))
    is_over = (F.col("source") == queue_manager) & (F.col("scenario") == SCENARIO) & (F.col("run") < max(runs))
    condition = F.when(is_over, F.lit("complete")).otherwise(F.col("condition"))
    return as_table(others.unionByName(fresh).withColumn("condition", condition), RUN)


def _run_row(name: str, queue_manager: str) -> tuple[object, ...]:
    began = datetime.strptime(name[-12:], "%Y%m%dT%HZ").replace(tzinfo=UTC)
    found: dict[str, object] = {
        "run": name,
        "scenario": SCENARIO,
        "began": began,
        "condition": "running",
        "schema_version": SCHEMA_VERSION,
        "version": __version__,
        "compiled": False,
        "command": f"ostler pipeline watch {queue_manager}",
        "parameters": {},
        "flags": ["live: nobody measured; these are the queue manager's own records."],
        "environment": "{}",
        "source": queue_manager,
        "content": name,
    }
    return tuple(found.get(each.name, None if each.optional else "") for each in RUN.columns)


# -- costs -------------------------------------------------------------------------------------------------------------


def live_costs(statistics: DataFrame) -> DataFrame:
    """Return the costs of verbs and of units of work of each hour, as rows of the table of costs.

    Statistics of verbs have the processor time and the log of the whole queue manager: the one is divided among all
    verbs, and both among committed units of work.
    """
    watched = statistics.filter(F.col("run").startswith(RUN_PREFIX)).withColumn("step", F.lit(0))
    is_of_manager = F.col("scope") == QUEUE_MANAGER
    nothing = F.lit(None).cast("double")
    verb = F.struct("verb", "time_us", (F.col("cpu_us") / F.col("all_verbs")).alias("broker_cpu_us"), _named(nothing))
    unit = F.struct(
        F.lit(TRANSACTION).alias("verb"),
        nothing.alias("time_us"),
        (F.col("cpu_us") / F.col("count")).alias("broker_cpu_us"),
        _named(F.col("all_log_bytes") / F.col("count")),
    )
    is_unit = is_of_manager & (F.col("verb") == "commit") & F.col("cpu_us").isNotNull()
    priced = (
        verb_counts(accounted(watched))
        .withColumn("all_verbs", F.sum(F.when(is_of_manager, F.col("count"))).over(Window.partitionBy(*POINT_KEY)))
        .join(F.broadcast(_whole(watched)), list(POINT_KEY), "left")
        .withColumn("told", F.explode(F.when(is_unit, F.array(verb, unit)).otherwise(F.array(verb))))
    )
    kept = (*POINT_KEY, "scope", "object", "count", "bytes")
    found = priced.select(*kept, "told.*", F.lit(SCENARIO).alias("scenario"))
    return as_table(found.filter(F.col("count") > 0), COST)


def _named(log_bytes: Column) -> Column:
    # The log bytes of a single verb are unknown: units of work have them.
    return log_bytes.alias("log_bytes")


def _whole(watched: DataFrame) -> DataFrame:
    """Return processor time and log of the queue manager, by hour."""
    name = F.col("name")
    value = F.col("value")
    return (
        watched.filter(name.isin(*_COSTS_OF_MANAGER))
        .groupBy(*POINT_KEY)
        .agg(
            F.sum(F.when(name.endswith("CPUTime"), value)).alias("cpu_us"),
            F.sum(F.when(name.endswith("LogBytes"), value)).alias("all_log_bytes"),
        )
    )
