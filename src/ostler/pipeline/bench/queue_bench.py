"""Queues in Spark, measured beside plain readers and writers of the same messages.

    write     `df.write.format("ostler")`; beside it a program that puts as many, and Spark that writes Parquet
    batch     `spark.read.format("ostler")`; beside it a program that browses, and Spark that reads Parquet
    stream    `spark.readStream` with availableNow; beside it a program that gets, and Spark that reads Parquet

Spark and the program have a queue each, of one queue manager on loopback that lives as long as the benchmark. What is
read goes nowhere. Messages are persistent, and programs take and put them in units of work as long as the source's.
Everything is done in rounds, in one order in one round and in the other one in the next. A small round goes first, for
Spark to warm up, and does not count.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from ostler.client.api.connection import Connection, connect
from ostler.lab.bench.result import Result
from ostler.lab.common.own_process import Report
from ostler.lab.common.samples import Measurement, median, ratio
from ostler.lab.runner.contract import RunAborted
from ostler.lab.runner.queue_managers.plan import CHANNEL, QueueManagerPlan
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.pipeline.bench.bench_session import spark_application
from ostler.pipeline.errors import PipelineError
from ostler.pipeline.spark.spark_errors import spark_error_context

NAME: Final = "pipeline-queues"
MESSAGES: Final = 200_000
MESSAGES_MAX: Final = 100_000_000
BODY_BYTES: Final = 1024
ROUNDS: Final = 3

WRITE: Final = "write"
BATCH: Final = "batch"
STREAM: Final = "stream"
STEPS: Final = (WRITE, BATCH, STREAM)
SOURCE: Final = "ostler in Spark"
PROGRAM: Final = "plain program"
PARQUET: Final = "Parquet in Spark"
KINDS: Final = (SOURCE, PROGRAM, PARQUET)

_SPARK_QUEUE: Final = "BENCH.SPARK"
_PROGRAM_QUEUE: Final = "BENCH.PROGRAM"
_STAGING_IN: Final = "BENCH.IN"
_STAGING_OUT: Final = "BENCH.OUT"
_QUEUE: Final = "DEFPSIST(YES) MSGDLVSQ(FIFO) SHARE MAXDEPTH(999999999) MAXMSGL(104857600)"
# As many as the source moves in a unit of work.
_UNIT_MESSAGES: Final = 2500
_WARM_UP_MESSAGES: Final = 2000
_TASKS: Final = 2
# Messages wait on two queues, once more as pages and as Parquet; and the log.
_DISK_COPIES: Final = 8
_LOG_BYTES: Final = 512 << 20


@dataclass(frozen=True)
class QueueBenchOptions:
    """The options of the benchmark."""

    messages: int = MESSAGES
    body_bytes: int = BODY_BYTES
    rounds: int = ROUNDS
    seconds_max: float = 3600.0
    master: str = "local[*]"
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass
class _QueueTimes:
    """Seconds of each step and kind, round by round."""

    seconds: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    is_cut: bool = False

    def rounds(self) -> int:
        return min((len(each) for each in self.seconds.values()), default=0)


@dataclass(frozen=True)
class _Stage:
    """The shared objects of a round."""

    spark: SparkSession
    manager: LabQueueManager
    scratch: Path
    body_bytes: int

    def options(self, **more: str) -> dict[str, str]:
        host, port = self.manager.address
        return {"queueManager": self.manager.name, "host": host, "port": str(port), "channel": CHANNEL, **more}

    def connect(self) -> Connection:
        host, port = self.manager.address
        return connect(self.manager.name, f"{host}({port})", channel=CHANNEL, reconnect=False, binding="client")

    def copy(self, messages: int) -> Path:
        """The directory of the messages as Parquet, with all columns of the source."""
        return (self.scratch / f"messages-{messages}").absolute()


def measure(options: QueueBenchOptions, scratch: Path, report: Report) -> Result:
    """Run the benchmark. It needs a process of its own, since there is one Spark in a process. Raises PipelineError."""
    _check_room(options, scratch)
    deadline = time.monotonic() + options.seconds_max
    found = _QueueTimes()
    report(0.0, "starting a queue manager")
    names = (_SPARK_QUEUE, _PROGRAM_QUEUE, _STAGING_IN, _STAGING_OUT)
    plan = QueueManagerPlan(commands=tuple(f"DEFINE QLOCAL({name}) {_QUEUE}" for name in names))
    with _queue_manager((scratch / "queue-manager").absolute(), plan) as manager:
        report(0.0, "starting Spark")
        with (
            spark_application(options.master, "ostler pipeline bench", options.settings) as spark,
            spark_error_context("The benchmark stopped"),
        ):
            stage = _Stage(spark, manager, scratch, options.body_bytes)
            few = min(_WARM_UP_MESSAGES, options.messages)
            report(0.05, f"warming up with {few:,} messages")
            _round(stage, few, _QueueTimes(), 0, partial(report, 0.05))
            for number in range(options.rounds):
                if number and time.monotonic() > deadline:
                    found.is_cut = True
                    break
                done = 0.1 + 0.9 * number / options.rounds
                _round(stage, options.messages, found, number, partial(report, done))
    return _result(options, found)


def _queue_manager(root: Path, plan: QueueManagerPlan) -> LabQueueManager:
    try:
        return LabQueueManager(root, plan)
    except RunAborted as over:
        raise PipelineError(str(over)) from over


def _check_room(options: QueueBenchOptions, scratch: Path) -> None:
    wanted = _DISK_COPIES * options.messages * (options.body_bytes + 400) + _LOG_BYTES
    free = shutil.disk_usage(scratch).free
    if free < wanted:
        raise PipelineError(
            f"{options.messages:,} messages need {wanted / 1e9:.1f} GB, and {scratch} has {free / 1e9:.1f} GB left. "
            "Ask for fewer with --messages, or name another place with --scratch."
        )


# -- one round ---------------------------------------------------------------------------------------------------------

_Work = Callable[[_Stage, int], int]


def _round(stage: _Stage, messages: int, found: _QueueTimes, number: int, report: Callable[[str], None]) -> None:
    """Run every step once, of every kind. The queues are empty again afterwards."""
    works: dict[str, dict[str, _Work]] = {
        WRITE: {SOURCE: _spark_writes, PROGRAM: _program_puts, PARQUET: _parquet_writes},
        BATCH: {SOURCE: _spark_browses, PROGRAM: _program_browses, PARQUET: _parquet_reads},
        STREAM: {SOURCE: _spark_streams, PROGRAM: _program_gets, PARQUET: _parquet_reads},
    }
    for step in STEPS:
        kinds: Iterable[str] = KINDS if number % 2 else reversed(KINDS)
        for kind in kinds:
            report(f"round {number + 1}: {step}, {kind}, {messages:,} messages")
            began = time.perf_counter()
            count = works[step][kind](stage, messages)
            seconds = time.perf_counter() - began
            if count != messages:
                raise PipelineError(f"{step}, {kind}: {count:,} messages instead of {messages:,}.")
            found.seconds.setdefault((step, kind), []).append(seconds)
        if step == WRITE and not stage.copy(messages).exists():
            _frame(stage).write.parquet(str(stage.copy(messages)))


def _rows(stage: _Stage, messages: int) -> DataFrame:
    """Return the messages to write, made by Spark in as many tasks as for Parquet."""
    body = F.rpad(F.concat(F.lit("message "), F.col("id").cast("string"), F.lit(" ")), stage.body_bytes, "pony ")
    return stage.spark.range(0, messages, 1, _TASKS).select(body.cast("binary").alias("body"))


def _spark_writes(stage: _Stage, messages: int) -> int:
    options = stage.options(queue=_SPARK_QUEUE, stagingQueue=_STAGING_OUT, persistent="true")
    _rows(stage, messages).write.format("ostler").mode("append").options(**options).save()
    with stage.connect() as connection, connection.open(_SPARK_QUEUE, "b") as queue:
        return queue.depth


def _program_puts(stage: _Stage, messages: int) -> int:
    with stage.connect() as connection, connection.open(_PROGRAM_QUEUE, "w") as queue:
        for at in range(0, messages, _UNIT_MESSAGES):
            with connection.transaction():
                for number in range(at, min(at + _UNIT_MESSAGES, messages)):
                    queue.put(f"message {number} ".encode().ljust(stage.body_bytes, b"p"), persistent=True)
        return queue.depth


def _parquet_writes(stage: _Stage, messages: int) -> int:
    target = stage.scratch / "written"
    _rows(stage, messages).write.mode("overwrite").parquet(str(target.absolute()))
    return messages


def _frame(stage: _Stage) -> DataFrame:
    options = stage.options(queue=_SPARK_QUEUE)
    return stage.spark.read.format("ostler").options(**options).load()


def _spark_browses(stage: _Stage, messages: int) -> int:
    return _counted(_frame(stage))


def _program_browses(stage: _Stage, messages: int) -> int:
    with stage.connect() as connection, connection.open(_PROGRAM_QUEUE, "b") as queue:
        return sum(1 for _ in queue.browse())


def _parquet_reads(stage: _Stage, messages: int) -> int:
    return _counted(stage.spark.read.parquet(str(stage.copy(messages))))


def _counted(frame: DataFrame) -> int:
    """Evaluate all columns of all rows, and count the rows."""
    seen = Observation()
    frame.observe(seen, F.count(F.lit(1)).alias("rows")).write.format("noop").mode("overwrite").save()
    return int(seen.get["rows"])


def _spark_streams(stage: _Stage, messages: int) -> int:
    checkpoint = stage.scratch / "checkpoint"
    shutil.rmtree(checkpoint, ignore_errors=True)
    options = stage.options(queue=_SPARK_QUEUE, stagingQueue=_STAGING_IN)
    query = (
        stage.spark.readStream.format("ostler")
        .options(**options)
        .load()
        .writeStream.format("noop")
        .option("checkpointLocation", str(checkpoint.absolute()))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return sum(int(progress["numInputRows"]) for progress in query.recentProgress)


def _program_gets(stage: _Stage, messages: int) -> int:
    count = 0
    with stage.connect() as connection, connection.open(_PROGRAM_QUEUE, "r") as queue:
        is_empty = False
        while not is_empty:
            with connection.transaction():
                for _ in range(_UNIT_MESSAGES):
                    if queue.get() is None:
                        is_empty = True
                        break
                    count += 1
    return count


# -- result ------------------------------------------------------------------------------------------------------------


def _result(options: QueueBenchOptions, found: _QueueTimes) -> Result:
    result = Result(
        NAME,
        "queues in Spark beside plain programs and Parquet",
        {
            "messages": options.messages,
            "body_bytes": options.body_bytes,
            "rounds": found.rounds(),
            "persistent": True,
            "unit_messages": _UNIT_MESSAGES,
            "master": options.master,
            "settings": dict(options.settings),
        },
    )
    result.table = [["step", "", "rows/s", "MB/s", "of it"]]
    for step in STEPS:
        rates: dict[str, tuple[float, ...]] = {}
        for kind in KINDS:
            rates[kind] = tuple(options.messages / seconds for seconds in found.seconds[step, kind])
            into = result.measurements if kind == SOURCE else result.limits
            labels: dict[str, str | int | float] = {"step": step, "kind": kind}
            into.append(Measurement("rows", "rows/s", rates[kind], labels))
            megabytes = tuple(rate * options.body_bytes / 1e6 for rate in rates[kind])
            into.append(Measurement("bodies", "MB/s", megabytes, labels))
            share = median([ratio(ours, theirs) for ours, theirs in zip(rates[SOURCE], rates[kind], strict=True)])
            text = "" if kind == SOURCE else f"{share:.2f}"
            if kind != SOURCE:
                result.ratios[f"{step}: {SOURCE} to {kind}"] = round(share, 3)
            row = [step, kind, f"{median(rates[kind]):,.0f}", f"{median(megabytes):,.1f}", text]
            result.table.append(row)
    if found.is_cut:
        result.notes.append(f"Only {found.rounds()} of {options.rounds} rounds: the time was over.")
    return result
