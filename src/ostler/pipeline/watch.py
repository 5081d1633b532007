"""Keeping gold tables current from a queue manager's own messages: each of them is in the tables exactly once.

Messages are taken in a unit of work. The lake is changed first, and with it which messages that was; the unit of work
is committed after that. Whoever is killed in between finds the same messages again when he comes back, and sees in the
lake that it has them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ostler.client.api import Connection
from ostler.lab.running.accounting_rows import SOURCES
from ostler.model.pcf import PcfError
from ostler.observe.records import read
from ostler.pipeline.lake_change import LakeChange
from ostler.pipeline.live import Told, WatchState, add_figures, figure_rows, state_name, state_of
from ostler.pipeline.refusals import LakeBusy
from ostler.pipeline.spark_errors import spark_errors_told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCH_MAX: Final = 500
"""As many messages of a queue at once: what is remembered of them stays small."""
_BUSY_SECONDS: Final = 1.0

Tell = Callable[[str], None]


@dataclass
class Watched:
    """What came of it: messages that went into the tables, those that were there already, and those that are none."""

    messages: int = 0
    known: int = 0
    passed_over: int = 0
    versions: int = 0


class Watch:
    """Watches one queue manager for one lake. `is_over` is asked between batches and while waiting."""

    def __init__(self, connection: Connection, open_spark: Callable[[], SparkSession], lake: Path, tell: Tell) -> None:
        self._connection = connection
        self._open_spark = open_spark
        self._lake = lake
        self._tell = tell
        self._pending: frozenset[str] | None = None
        self.watched = Watched()
        self.over = threading.Event()

    def go_on(self, seconds: float, interval: float) -> None:
        """Until that time is over, or `over` is set. MQError when the queue manager ends, PipelineRefused otherwise.

        Once more at the end, so that 0 seconds take what is there.
        """
        deadline = time.monotonic() + seconds
        while True:
            while self.take():
                pass
            left = deadline - time.monotonic()
            if left <= 0 or self.over.wait(min(interval, left)):
                return

    def take(self) -> bool:
        """One batch from the queues to the tables; whether there may be more."""
        try:
            told, count = self._taken()
            if not count:
                self._connection.back_out()
                return False
            self._put(told)
            self._connection.commit()
        except BaseException:
            # What is not in the tables stays on the queues; what is, is known there.
            self._connection.back_out()
            raise
        return count >= BATCH_MAX

    def _taken(self) -> tuple[list[Told], int]:
        """Messages of both queues, in the unit of work, and how many there were on the longer one."""
        told: list[Told] = []
        most = 0
        for source, name in SOURCES.items():
            with self._connection.open(name, "r") as queue:
                for count in range(1, BATCH_MAX + 1):
                    message = queue.get(syncpoint=True)
                    if message is None:
                        break
                    most = max(most, count)
                    try:
                        record = read(message.body if isinstance(message.body, bytes) else b"")
                    except PcfError:
                        self.watched.passed_over += 1
                        self._tell(f"Passed over a message on {name} that is no record of {source}.")
                        continue
                    told.append(Told(source, message.message_id.hex(), message.put_time or datetime.now(UTC), record))
        return told, most

    def _put(self, told: list[Told]) -> None:
        if not told:
            return
        name = state_name(self._connection.name)
        with self._change() as change:
            state = state_of(change.before.made_from.get(name))
            if self._pending is None:
                self._pending = frozenset(state.messages)
            fresh = [each for each in told if each.message_id not in self._pending]
            self.watched.known += len(told) - len(fresh)
            if fresh:
                rows, records = figure_rows(self._connection.name, fresh, state.records)
                after = WatchState((*(each.message_id for each in fresh), *sorted(self._pending)), records)
                if rows:
                    with spark_errors_told("What the queue manager told is not in the tables"):
                        add_figures(self._open_spark(), change, self._connection.name, rows)
                snapshot = change.commit({**change.before.made_from, name: after.as_text()})
                self.watched.versions += 1
                self._tell(f"{len(fresh)} messages, {len(rows)} figures: version {snapshot.version}.")
            self.watched.messages += len(fresh)
        # What a batch before the restart had left comes first; after a batch that is not full there is no more of it.
        if len(told) < BATCH_MAX:
            self._pending = frozenset()

    def _change(self) -> LakeChange:
        """The lake, when nobody else changes it."""
        is_told = False
        while True:
            try:
                return LakeChange(self._lake)
            except LakeBusy:
                if not is_told:
                    self._tell("Somebody else is changing the lake: waiting.")
                is_told = True
                if self.over.wait(_BUSY_SECONDS):
                    raise
