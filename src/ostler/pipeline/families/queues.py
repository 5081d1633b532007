"""Family `spark-queues`: queues as sources and sinks of Spark, beside plain programs and Parquet.

    write     `df.write.format("ostler")`; a program that puts as many; Spark that writes Parquet
    batch     `spark.read.format("ostler")`; a program that browses; Spark that reads Parquet
    stream    `spark.readStream` with availableNow; a program that gets; Spark that reads Parquet

Messages are persistent, and programs take and put them in units of work as long as the source's. What is read goes
nowhere. Queues are filled and emptied while no clock runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from ostler import __version__
from ostler.client.api.connection import Connection, connect
from ostler.lab.families.task import Timed
from ostler.lab.families.task_process import Counters
from ostler.lab.runner.contract import Contestant, ContestantKind, Experiment, PointFailed, PointSpec, RunContext
from ostler.lab.runner.queue_managers.plan import CHANNEL, NAME, QueueManagerPlan
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.scenarios.steps import Step
from ostler.pipeline.families.spark_experiment import SparkExperiment, SparkRounds, fresh_directory

MESSAGE: Final = "message"
WRITE: Final = "write"
BATCH: Final = "batch"
STREAM: Final = "stream"
SOURCE: Final = Contestant(
    "Ostler in Spark", ContestantKind.OSTLER, "each message is read and written exactly once", version=__version__
)
PROGRAM: Final = Contestant("plain program", ContestantKind.LIMIT, "one thread, units of work as long as the source's")
PARQUET: Final = Contestant(
    "Parquet in Spark", ContestantKind.LIMIT, "files of Spark's own format, with the same columns"
)

_QUEUE: Final = "LAB.SPARK"
_STAGING_IN: Final = "LAB.STAGING.IN"
_STAGING_OUT: Final = "LAB.STAGING.OUT"
_ATTRIBUTES: Final = "DEFPSIST(YES) MSGDLVSQ(FIFO) SHARE MAXDEPTH(999999999) MAXMSGL(104857600)"
# As many as the source moves in a unit of work.
_UNIT_MESSAGES: Final = 2500
_TASKS: Final = 2
# Messages are on the queue, once more on a staging queue and as Parquet; and the log.
_DISK_COPIES: Final = 6
_LOG_BYTES: Final = 512 << 20
_DESCRIPTOR_BYTES: Final = 400


def experiment(context: RunContext) -> Experiment:
    return SparkQueues(context)


class SparkQueues(SparkExperiment):
    """One queue manager on loopback for all points."""

    def __init__(self, context: RunContext) -> None:
        plan = QueueManagerPlan(
            commands=tuple(f"DEFINE QLOCAL({name}) {_ATTRIBUTES}" for name in (_QUEUE, _STAGING_IN, _STAGING_OUT))
        )
        self._manager = LabQueueManager(context.scratch / "queue-manager", plan)
        rounds = partial(QueueRounds, self._manager.address, context.scratch)
        try:
            super().__init__(context, (SOURCE, PROGRAM, PARQUET), rounds)
        except BaseException:
            self._manager.end()
            raise

    def point_spec(self, step: Step) -> PointSpec:
        return PointSpec(1, int(step.points["message_bytes"]), True, main_operation=MESSAGE)

    def disk_bytes(self, step: Step) -> int:
        each = int(step.points["message_bytes"]) + _DESCRIPTOR_BYTES
        return _DISK_COPIES * int(step.points["messages"]) * each + _LOG_BYTES

    def others(self, contestant: Contestant) -> tuple[Sequence[WatchedProcess], Counters | None]:
        if contestant.name == PARQUET.name:
            return (), None
        return self._manager.watched(), self._manager.metrics

    def close(self) -> None:
        super().close()
        self._manager.end()


class QueueRounds(SparkRounds):
    """A round is one task with all messages. The queue is empty before and after it."""

    def __init__(self, address: tuple[str, int], scratch: Path, master: str) -> None:
        super().__init__(master)
        self._address = address
        self._scratch = scratch

    @property
    def _messages(self) -> int:
        return int(self.points["messages"])

    @property
    def _bytes(self) -> int:
        return int(self.points["message_bytes"])

    def round(self) -> Sequence[Timed]:
        works: dict[str, dict[str, Callable[[], int]]] = {
            WRITE: {SOURCE.name: self._spark_writes, PROGRAM.name: self._puts, PARQUET.name: self._parquet_writes},
            BATCH: {SOURCE.name: self._spark_browses, PROGRAM.name: self._browses, PARQUET.name: self._parquet_reads},
            STREAM: {SOURCE.name: self._spark_streams, PROGRAM.name: self._gets, PARQUET.name: self._parquet_reads},
        }
        task = str(self.points["task"])
        is_parquet = self.contestant == PARQUET.name
        if task != WRITE:
            if is_parquet:
                self._make_copy()
            else:
                self._puts()
        began = time.perf_counter()
        count = works[task][self.contestant]()
        seconds = time.perf_counter() - began
        left = self._gets()
        if count != self._messages or left != (0 if is_parquet or task == STREAM else count):
            text = f"{count:,} messages instead of {self._messages:,}, and then {left:,} on the queue"
            raise PointFailed(f"{task}, {self.contestant}: {text}")
        return (Timed(MESSAGE, seconds, count),)

    def _options(self, **more: str) -> dict[str, str]:
        host, port = self._address
        return {"queueManager": NAME, "host": host, "port": str(port), "channel": CHANNEL, "queue": _QUEUE, **more}

    def _connect(self) -> Connection:
        host, port = self._address
        return connect(NAME, f"{host}({port})", channel=CHANNEL, reconnect=False, binding="client")

    # -- writing -------------------------------------------------------------------------------------------------------

    def _rows(self) -> DataFrame:
        """Return the messages to write, made by Spark in as many tasks as for Parquet."""
        body = F.rpad(F.concat(F.lit("message "), F.col("id").cast("string"), F.lit(" ")), self._bytes, "pony ")
        return self.spark.range(0, self._messages, 1, _TASKS).select(body.cast("binary").alias("body"))

    def _spark_writes(self) -> int:
        options = self._options(stagingQueue=_STAGING_OUT, persistent="true")
        self._rows().write.format("ostler").mode("append").options(**options).save()
        with self._connect() as connection, connection.open(_QUEUE, "b") as queue:
            return queue.depth

    def _puts(self) -> int:
        with self._connect() as connection, connection.open(_QUEUE, "w") as queue:
            for at in range(0, self._messages, _UNIT_MESSAGES):
                with connection.transaction():
                    for number in range(at, min(at + _UNIT_MESSAGES, self._messages)):
                        queue.put(f"message {number} ".encode().ljust(self._bytes, b"p"), persistent=True)
            return queue.depth

    def _parquet_writes(self) -> int:
        self._rows().write.parquet(str(fresh_directory(self._scratch / "written")))
        return self._messages

    # -- reading -------------------------------------------------------------------------------------------------------

    def _frame(self) -> DataFrame:
        return self.spark.read.format("ostler").options(**self._options()).load()

    def _spark_browses(self) -> int:
        return _counted(self._frame())

    def _browses(self) -> int:
        with self._connect() as connection, connection.open(_QUEUE, "b") as queue:
            return sum(1 for _ in queue.browse())

    def _copy(self) -> Path:
        return (self._scratch / f"messages-{self._messages}-{self._bytes}").absolute()

    def _make_copy(self) -> None:
        """Keep the messages as Parquet, with all columns of the source."""
        if not self._copy().exists():
            self._puts()
            self._frame().write.parquet(str(self._copy()))
            self._gets()

    def _parquet_reads(self) -> int:
        return _counted(self.spark.read.parquet(str(self._copy())))

    def _spark_streams(self) -> int:
        checkpoint = fresh_directory(self._scratch / "checkpoint")
        stream = self.spark.readStream.format("ostler").options(**self._options(stagingQueue=_STAGING_IN)).load()
        query = (
            stream.writeStream.format("noop")
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return sum(int(progress["numInputRows"]) for progress in query.recentProgress)

    def _gets(self) -> int:
        count, is_empty = 0, False
        with self._connect() as connection, connection.open(_QUEUE, "r") as queue:
            while not is_empty:
                with connection.transaction():
                    for _ in range(_UNIT_MESSAGES):
                        if queue.get() is None:
                            is_empty = True
                            break
                        count += 1
        return count


def _counted(frame: DataFrame) -> int:
    """Evaluate all columns of all rows, and count the rows."""
    seen = Observation()
    frame.observe(seen, F.count(F.lit(1)).alias("rows")).write.format("noop").mode("overwrite").save()
    return int(seen.get["rows"])
