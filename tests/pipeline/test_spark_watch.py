"""`ostler pipeline watch`: what a queue manager tells is in the tables once, whatever happens in between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.pipeline.lab_run_samples import make_run

from ostler.client.api import Connection
from ostler.pipeline.conductor import conduct
from ostler.pipeline.lake import open_lake
from ostler.pipeline.lake_change import LakeChange
from ostler.pipeline.live import SCENARIO
from ostler.pipeline.refusals import LakeBusy
from ostler.pipeline.tables import BRONZE, COST, RUN
from ostler.pipeline.watch import Watch
from ostler.testing import RunningQueueManager, queue_manager

MESSAGES = 7
ACCOUNTING = "SYSTEM.ADMIN.ACCOUNTING.QUEUE"


@pytest.fixture
def qm() -> Iterator[RunningQueueManager]:
    with queue_manager() as running:
        running.mqsc("DEFINE QLOCAL(WORK)\nALTER QMGR ACCTMQI(ON) ACCTQ(ON)")
        yield running


def work(qm: RunningQueueManager, messages: int = MESSAGES) -> None:
    """A connection that puts, and whose account is written when it ends."""
    with qm.connect() as connection, connection.open("WORK", "w") as queue:
        for number in range(messages):
            queue.put(f"message {number}")


def puts(lake: Path) -> float:
    """How many puts to the queue the table of costs tells of."""
    rows = open_lake(lake).read(COST).to_pylist()
    return sum(row["count"] for row in rows if (row["scope"], row["object"], row["verb"]) == ("queue", "WORK", "put"))


class CutConnection:
    """A connection whose process is killed before it can commit."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.name = connection.name
        self.open = connection.open
        self.back_out = connection.back_out

    def commit(self) -> None:
        raise KeyboardInterrupt


def test_what_is_told_becomes_costs_once(spark: SparkSession, qm: RunningQueueManager, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    said: list[str] = []
    work(qm)
    with qm.connect() as connection:
        watch = Watch(connection, lambda: spark, lake, said.append)
        watch.go_on(0, 0)
        assert puts(lake) == MESSAGES
        version = open_lake(lake).version
        watch.go_on(0, 0)
        assert open_lake(lake).version == version
        work(qm, 3)
        watch.go_on(0, 0)
        assert qm.depth(ACCOUNTING) == 0
    assert puts(lake) == MESSAGES + 3
    found = open_lake(lake)
    assert {row["scenario"] for row in found.read(COST).to_pylist()} == {SCENARIO}
    assert [row["condition"] for row in found.read(RUN).to_pylist()] == ["running"]
    rows = found.read(BRONZE["statistic"]).to_pylist()
    assert len({tuple(row[name] for name in BRONZE["statistic"].key) for row in rows}) == len(rows)


def test_a_kill_between_both_commits_counts_nothing_twice(
    spark: SparkSession, qm: RunningQueueManager, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    work(qm)
    with qm.connect() as connection:
        cut = Watch(CutConnection(connection), lambda: spark, lake, str)  # type: ignore[arg-type]
        with pytest.raises(KeyboardInterrupt):
            cut.take()
    assert puts(lake) == MESSAGES
    work(qm, 2)
    with qm.connect() as connection:
        watch = Watch(connection, lambda: spark, lake, str)
        watch.go_on(0, 0)
    assert watch.watched.known > 0
    assert puts(lake) == MESSAGES + 2


def test_a_failure_leaves_messages_and_tables(spark: SparkSession, qm: RunningQueueManager, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    work(qm)
    # Looking at the depth would be accounted for, too.
    qm.mqsc("ALTER QMGR ACCTMQI(OFF) ACCTQ(OFF)")
    depth = qm.depth(ACCOUNTING)

    def no_spark() -> SparkSession:
        raise MemoryError

    with qm.connect() as connection:
        with pytest.raises(MemoryError):
            Watch(connection, no_spark, lake, str).take()
        assert qm.depth(ACCOUNTING) == depth > 0
    assert open_lake(lake).version == 0


def test_a_busy_lake_is_waited_for(spark: SparkSession, qm: RunningQueueManager, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    said: list[str] = []
    work(qm)
    with qm.connect() as connection:
        watch = Watch(connection, lambda: spark, lake, said.append)
        watch.over.set()
        with LakeChange(lake), pytest.raises(LakeBusy):
            watch.take()
    assert said == ["Somebody else is changing the lake: waiting."]


def test_runs_that_are_taken_later_leave_what_was_watched(
    spark: SparkSession, qm: RunningQueueManager, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    make_run(tmp_path / "runs", "run-1")
    work(qm)
    with qm.connect() as connection:
        Watch(connection, lambda: spark, lake, str).go_on(0, 0)
        state = dict(open_lake(lake).made_from)
        conduct(lambda: spark, lake, [tmp_path / "runs"])
        assert state.items() <= open_lake(lake).made_from.items()
        Watch(connection, lambda: spark, lake, str).go_on(0, 0)
    assert puts(lake) == MESSAGES
