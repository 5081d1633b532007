"""What a queue manager tells while it runs, as tables: records of its statistics and accounting, and their costs.

Records are kept in bronze as those of runs are, under a run for each hour: `live-QM1-20261116T06Z`, the minute as its
step. Nobody measured anything then, so there are no points, and costs are told without processor time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ostler import __version__
from ostler.lab.running.accounting_rows import message_figures, next_record
from ostler.lab.store.schema import SCHEMA_VERSION
from ostler.lab.store.segments import MEASURED
from ostler.observe.records import Record
from ostler.pipeline.costs import accounted, verb_counts
from ostler.pipeline.ingest import sound_samples, with_runs
from ostler.pipeline.lake_change import LakeChange
from ostler.pipeline.lake_frames import read_table, write_table
from ostler.pipeline.spark_schemas import as_table, spark_schema
from ostler.pipeline.tables import BRONZE, COST, RUN

SCENARIO: Final = "live"
CONTESTANT: Final = "ostler"
RUN_PREFIX: Final = "live-"
_STATISTIC: Final = BRONZE["statistic"]


@dataclass(frozen=True)
class Told:
    """A message of a statistics or accounting queue, read."""

    source: str
    message_id: str
    when: datetime
    record: Record


@dataclass(frozen=True)
class WatchState:
    """What must be known after a restart: the messages of the last batches, and how many records there were."""

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


def run_name(queue_manager: str, when: datetime) -> str:
    return f"{RUN_PREFIX}{queue_manager}-{when.astimezone(UTC):%Y%m%dT%H}Z"


def figure_rows(queue_manager: str, told: Sequence[Told], records: int) -> tuple[list[tuple[object, ...]], int]:
    """Rows of the table of statistics, and how many records there are now."""
    rows: list[tuple[object, ...]] = []
    for each in told:
        figures = message_figures(each.source, each.record, records)
        records = next_record(figures, records)
        when = each.when.astimezone(UTC)
        key = (run_name(queue_manager, when), CONTESTANT, when.minute, 0, MEASURED, when.second)
        rows += [
            (*key, figure.source, figure.record, figure.object, figure.name, figure.position, float(figure.value))
            for figure in figures
        ]
    return rows, records


def add_figures(
    spark: SparkSession, change: LakeChange, queue_manager: str, rows: Sequence[tuple[object, ...]]
) -> None:
    """Rows to bronze, and what they cost to gold. Hours that have new rows are written again."""
    runs = sorted({str(row[0]) for row in rows})
    before = read_table(spark, change.before, _STATISTIC, run=runs)
    fresh = sound_samples(spark.createDataFrame(list(rows), spark_schema(_STATISTIC)), _STATISTIC)
    write_table(change, before.unionByName(fresh).coalesce(1), _STATISTIC)
    listed = spark.createDataFrame([_run_row(name, queue_manager) for name in runs], spark_schema(RUN))
    write_table(change, with_runs(read_table(spark, change.before, RUN), listed, RUN, runs).coalesce(1), RUN)
    others = read_table(spark, change.before, COST).filter(~F.col("run").isin(runs))
    costs = live_costs(read_table(spark, change.now, _STATISTIC, run=runs))
    write_table(change, others.unionByName(costs).coalesce(1), COST)


def live_costs(statistics: DataFrame) -> DataFrame:
    """Costs of verbs, of what was watched; as rows of the table of costs."""
    watched = statistics.filter(F.col("run").startswith(RUN_PREFIX))
    nothing = F.lit(None).cast("double")
    return as_table(
        verb_counts(accounted(watched))
        .withColumn("scenario", F.lit(SCENARIO))
        .withColumn("broker_cpu_us", nothing)
        .withColumn("log_bytes", nothing)
        .filter(F.col("count") > 0),
        COST,
    )


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
