"""Keeps gold tables current from a queue manager's statistics and accounting messages, each exactly once.

A Spark stream takes the messages of both queues through the data source `ostler`, parses them, and passes them on in
batches. A batch is one change of the lake, which also records its messages. A process that is killed before that change
gets the same batch again; one that is killed between the change and Spark's own record of the batch gets it again, too,
and finds it in the lake. Messages wait on a staging queue until Spark has recorded their batch.

A query does not outlive its queue manager. Then the watch waits for it, and the next query continues after the last
one.
"""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import functions as F

from ostler.pipeline.errors import LakeBusy, PipelineError
from ostler.pipeline.lake.lake import LakeSnapshot, open_lake
from ostler.pipeline.lake.lake_change import LakeChange
from ostler.pipeline.live.live import WatchState, add_records, quarantine, records_of, state_name, state_of
from ostler.pipeline.live.live_records import READ_SCHEMA, SOURCES, WATCHER
from ostler.pipeline.live.watch_manager import ManagerUnreachable, WatchedManager, inspect_manager
from ostler.pipeline.spark.spark_errors import spark_error_context, spark_sentence

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

STAGING: Final = "SPARK.IN.OSTLER.WATCH"
BATCH_MAX: Final = 1000
"""The most messages at once: the state kept in the lake stays small."""
CHECKPOINTS: Final = "watch"
_BUSY_SECONDS: Final = 1.0
_AWAY_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 0.2
_END_SECONDS_MAX: Final = 60.0
_FAILURES_MAX: Final = 3
_REFUSED: Final = re.compile(r"PipelineError: (.+)")
_PAGES_GONE: Final = "that are not on staging queue"
_REASON: Final = "MQRC_"
_IN_USE: Final = "Another query uses the staging queue"

Report = Callable[[str], None]


@dataclass(frozen=True)
class BatchSummary:
    """The result of a batch: messages of each kind that went into the tables, and the number of unreadable ones."""

    statistics: int
    accounting: int
    unreadable: int
    records: int
    known: int
    snapshot: LakeSnapshot

    @property
    def messages(self) -> int:
        return self.statistics + self.accounting + self.unreadable


Show = Callable[[BatchSummary], None]


class WatchEnded(Exception):
    """The watch was asked to end before this batch was begun."""


class _QueryFailed(Exception):
    """A query ended, not because of the sink."""


class LiveWatch:
    """Watches one queue manager for one lake, until `over` is set. `options` locate it, as for the data source.

    `report` is called with sentences for people, `show` with each batch that changed the lake. `waits` allows for a
    queue manager that does not run yet.
    """

    def __init__(
        self,
        open_spark: Callable[[], SparkSession],
        lake: Path,
        options: Mapping[str, str],
        report: Report,
        show: Show = lambda summary: None,
        waits: bool = False,
    ) -> None:
        self._open_spark = open_spark
        self._lake = lake
        self._options = {
            **options,
            "queues": ",".join(SOURCES),
            "application": WATCHER,
            "stagingQueue": options.get("stagingQueue", STAGING),
            "maxMessagesPerTrigger": str(BATCH_MAX),
        }
        self._report = report
        self._show = show
        self._waits = waits
        self._writing = threading.Lock()
        self._failure: BaseException | None = None
        self._is_first = True
        self._failures = 0
        self.name = ""
        self.messages = self.known = self.unreadable = self.batches = 0
        self.over = threading.Event()

    # -- the life of queries -------------------------------------------------------------------------------------------

    def go_on(self, seconds: float | None, interval: float) -> None:
        """Run this long, or until `over` is set; 0: only the messages there now. Raises PipelineError when it cannot
        continue.

        The queue manager is polled every `interval` seconds. When it ends, the watch waits for it.
        """
        deadline = time.monotonic() + (seconds if seconds else 1e9)
        open_lake(self._lake)
        manager = self._inspect(deadline, self._waits)
        if manager is None:
            return
        self.name = manager.name
        self._options["queueManager"] = manager.name
        self._open_spark()
        self._report(f"Watching {manager.name}; the tables are in {self._lake}.")
        for note in manager.notes:
            self._report(note)
        while not self.over.is_set():
            try:
                with spark_error_context(f"Watching {self.name} stopped"):
                    self._follow(self._started(seconds == 0, interval), deadline)
                return
            except _QueryFailed as failed:
                self._recover(str(failed), deadline, can_wait=seconds != 0)

    def _inspect(self, deadline: float, can_wait: bool) -> WatchedManager | None:
        """Return the queue manager, waiting for it if need be; None when the time is over before."""
        is_reported = False
        while True:
            try:
                manager = inspect_manager(self._options)
            except ManagerUnreachable as away:
                if not can_wait:
                    raise
                if not is_reported:
                    self._report(f"Waiting for {self.name or 'the queue manager'}. {away}")
                is_reported = True
                if self.over.wait(min(_AWAY_SECONDS, max(0.0, deadline - time.monotonic()))):
                    return None
                if time.monotonic() >= deadline:
                    return None
            else:
                if is_reported and self.name:
                    self._report(f"{self.name} is there again.")
                    # The queue manager was the reason, and it is back.
                    self._failures = 0
                return manager

    def _started(self, is_once: bool, interval: float) -> StreamingQuery:
        self._failure = None
        self._is_first = True
        spark = self._open_spark()
        messages = spark.readStream.format("ostler").schema(READ_SCHEMA).options(**self._options).load()
        writer = (
            records_of(messages, self.name)
            .writeStream.foreachBatch(self._take_batch)
            .option("checkpointLocation", str(self.checkpoint))
        )
        if is_once:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{max(1, round(interval * 1000))} milliseconds").start()

    @property
    def checkpoint(self) -> Path:
        """The directory of Spark's checkpoint. Names of queue managers may have characters that paths must not."""
        safe = "".join(each if each.isalnum() or each in "._" else f"-{ord(each):02x}" for each in self.name)
        return (self._lake / CHECKPOINTS / safe).absolute()

    def _follow(self, query: StreamingQuery, deadline: float) -> None:
        """Wait until the query or the watch ends. The current batch is completed."""
        while query.isActive:
            if self.over.wait(_LOOK_SECONDS):
                self._report("Ending: what was begun is written. Once more ends at once; nothing is lost.")
            elif time.monotonic() >= deadline:
                self.over.set()
            if self.over.is_set():
                self._end(query)
                return
        if self._failure is not None:
            # Tasks read from the queue manager, too: its end is not an error of the lake.
            if isinstance(self._failure, PipelineError) and _REASON in str(self._failure):
                raise _QueryFailed(_reason(str(self._failure)))
            raise self._failure
        error = query.exception()
        if error is not None:
            raise _QueryFailed(_reason(str(error)))

    def _end(self, query: StreamingQuery) -> None:
        """End the query after the current batch is in the lake. Other messages are still staged."""
        if self._writing.acquire(timeout=_END_SECONDS_MAX):
            self._writing.release()
        # A signal to all processes ends Spark's Java, too.
        with suppress(Py4JError, OSError):
            query.stop()

    def _recover(self, why: str, deadline: float, can_wait: bool) -> None:
        """Prepare the next query, or raise the reason why there can be none."""
        staging = self._options["stagingQueue"]
        if _IN_USE in why:
            raise PipelineError(
                f"Somebody else watches {self.name}: its staging queue {staging} is in use. A queue manager is watched "
                "for one lake at a time. End the other one first."
            )
        if _PAGES_GONE in why:
            self._report(
                f"The staging queue {staging} of {self.name} has gone on without this lake: another lake has been "
                "kept meanwhile, or somebody removed messages. Going on with what is there."
            )
            shutil.rmtree(self.checkpoint, ignore_errors=True)
        self._failures += 1
        if self._failures > _FAILURES_MAX:
            raise PipelineError(f"Watching {self.name} failed again and again: {why}")
        if self._inspect(deadline, can_wait) is not None:
            self.over.wait(min(_AWAY_SECONDS, max(0.0, deadline - time.monotonic())))

    # -- a batch -------------------------------------------------------------------------------------------------------

    def _take_batch(self, records: DataFrame, number: int) -> None:
        """Called by Spark on a thread of its own, with one batch at a time."""
        with self._writing:
            try:
                if self.over.is_set():
                    raise WatchEnded
                self.put(records)
            except BaseException as error:
                self._failure = error
                raise
            self._is_first = False
            self._failures = 0

    def put(self, records: DataFrame) -> None:
        """Add the records of a batch to the tables, in one change of the lake; nothing when they are there already."""
        with spark_error_context("Records of the queue manager are not in the tables"):
            records = records.persist()
            try:
                with self._change() as change:
                    summary = self._put(records, change)
            finally:
                records.unpersist()
        self.known += summary.known
        if summary.messages:
            self.messages += summary.messages
            self.unreadable += summary.unreadable
            self.batches += 1
            self._show(summary)

    def _put(self, records: DataFrame, change: LakeChange) -> BatchSummary:
        summary = [F.col("message"), F.col("source"), F.col("run"), F.col("problem").isNotNull().alias("is_unreadable")]
        found = records.groupBy(*summary).agg(F.count("*").alias("records")).collect()
        name = state_name(self.name)
        state = state_of(change.before.made_from.get(name))
        # Only the first batch of a query can be in the lake already.
        known = set(state.messages) & {row["message"] for row in found} if self._is_first else set[str]()
        fresh = [row for row in found if row["message"] not in known]
        if not fresh:
            return BatchSummary(0, 0, 0, 0, len(known), change.before)
        if known:
            records = records.filter(~F.col("message").isin(sorted(known)))
        sound = [row for row in fresh if not row["is_unreadable"]]
        runs = sorted({row["run"] for row in fresh})
        spark = records.sparkSession
        if sound:
            add_records(spark, change, self.name, records, runs, state.records)
        if len(sound) < len(fresh):
            quarantine(spark, change, records, runs)
        count = sum(row["records"] for row in sound)
        after = WatchState(tuple(sorted({row["message"] for row in found})), state.records + count)
        snapshot = change.commit({**change.before.made_from, name: after.as_text()})
        sources = [row["source"] for row in sound]
        kinds = (sources.count("statistics"), sources.count("accounting"), len(fresh) - len(sound))
        return BatchSummary(*kinds, count, len(known), snapshot)

    def _change(self) -> LakeChange:
        """Begin a change, waiting while another process changes the lake."""
        is_reported = False
        while True:
            try:
                return LakeChange(self._lake)
            except LakeBusy:
                if not is_reported:
                    self._report("Somebody else is changing the lake: waiting. Messages are safe on the staging queue.")
                is_reported = True
                if self.over.wait(_BUSY_SECONDS):
                    raise


def _reason(text: str) -> str:
    """Return why a query failed: our own sentence where there is one, else Spark's."""
    found = _REFUSED.search(text)
    return found[1].strip() if found else spark_sentence(text)
