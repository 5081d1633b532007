"""`ostler pipeline watch`: what a queue manager tells is in the tables once, whatever happens in between."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.pipeline.lab_run_samples import make_run
from tests.pipeline.source.queue_stage import options

from ostler.pipeline.errors import PipelineError
from ostler.pipeline.lake.lake import open_lake
from ostler.pipeline.lake.lake_change import LakeChange
from ostler.pipeline.lake.live_tables import ACCOUNT, ACTIVITY, SCENARIO
from ostler.pipeline.lake.tables import BRONZE, COST, REJECTED, RUN
from ostler.pipeline.live.watch import STAGING, BatchSummary, LiveWatch
from ostler.pipeline.run import run_pipeline
from ostler.pipeline.steps.gold import GOLD_STEPS
from ostler.testing import RunningQueueManager, queue_manager

MESSAGES = 7
ACCOUNTING = "SYSTEM.ADMIN.ACCOUNTING.QUEUE"
STATISTIC = BRONZE["statistic"]


@pytest.fixture
def qm() -> Iterator[RunningQueueManager]:
    with queue_manager() as running:
        running.mqsc("DEFINE QLOCAL(WORK)\nALTER QMGR ACCTMQI(ON) ACCTQ(ON) STATMQI(ON) STATQ(ON)")
        yield running


stress = pytest.mark.stress


def work(qm: RunningQueueManager, messages: int = MESSAGES) -> None:
    """A connection that puts, and whose account is written when it ends; and what was done since the last time."""
    with qm.connect() as connection, connection.open("WORK", "w") as queue:
        for number in range(messages):
            queue.put(f"message {number}", syncpoint=True)
        connection.commit()
    qm.mqsc("RESET QMGR TYPE(STATISTICS)")


def watch_of(spark: SparkSession, qm: RunningQueueManager, lake: Path, said: list[str] | None = None) -> LiveWatch:
    return LiveWatch(lambda: spark, lake, options(qm), (said if said is not None else []).append)


def take(spark: SparkSession, qm: RunningQueueManager, lake: Path) -> LiveWatch:
    """Take what is there now."""
    watch = watch_of(spark, qm, lake)
    watch.go_on(0, 1)
    return watch


def rows(lake: Path, table: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = open_lake(lake).read(table).to_pylist()
    return found


def puts(lake: Path) -> list[float]:
    """Return the puts to the queue that the tables have: costs, activity and accounts, and figures in bronze."""
    costs = [row for row in rows(lake, COST) if (row["scope"], row["object"], row["verb"]) == ("queue", "WORK", "put")]
    bronze = [row for row in rows(lake, STATISTIC) if row["object"] == "WORK"]
    return [
        sum(row["count"] for row in costs),
        sum(row["puts"] for row in rows(lake, ACTIVITY) if row["object"] == "WORK"),
        sum(row["puts"] for row in rows(lake, ACCOUNT) if row["queue"] == "WORK"),
        sum(row["value"] for row in bronze if row["name"] == "QueueStatistics.PutCount"),
    ]


def test_a_kill_between_both_records_counts_nothing_twice(
    spark: SparkSession, qm: RunningQueueManager, tmp_path: Path
) -> None:
    """The lake has the batch, and Spark does not know: as when the process is killed in between."""
    lake = tmp_path / "lake"
    work(qm)

    class Killed(Exception):
        pass

    def killed(told: BatchSummary) -> None:
        raise Killed

    with pytest.raises(Killed):
        LiveWatch(lambda: spark, lake, options(qm), list[str]().append, killed).go_on(0, 1)
    assert puts(lake) == [MESSAGES] * 4
    check_what_was_done(lake, qm.name)
    work(qm, 2)
    again = take(spark, qm, lake)
    assert (again.known > 0, again.messages > 0) == (True, True)
    assert puts(lake) == [MESSAGES + 2] * 4
    assert qm.depth(STAGING) == 1, "only the control record stays"
    for table in (STATISTIC, ACTIVITY, ACCOUNT, COST):
        told = rows(lake, table)
        assert len({tuple(row[name] for name in table.key) for row in told}) == len(told), table.name


def check_what_was_done(lake: Path, name: str) -> None:
    (of_queue,) = (row for row in rows(lake, ACTIVITY) if row["object"] == "WORK")
    assert (of_queue["gets"], of_queue["depth_max"], of_queue["failed"]) == (0, MESSAGES, 0)
    assert (of_queue["put_bytes"], of_queue["time_on_queue_us"]) == (9 * MESSAGES, None)
    (of_manager,) = (row for row in rows(lake, ACTIVITY) if row["scope"] == "queue manager")
    assert (of_manager["queue_manager"], of_manager["puts"]) == (name, MESSAGES)
    assert of_manager["began"] <= of_manager["ended"]
    accounts = [row for row in rows(lake, ACCOUNT) if row["application"] == "ostler.testing" and row["puts"]]
    assert sorted(row["queue"] for row in accounts) == ["", "WORK"]
    costs = rows(lake, COST)
    assert {row["scenario"] for row in costs} == {SCENARIO}
    commits = [row["count"] for row in costs if (row["scope"], row["verb"]) == ("queue manager", "commit")]
    assert [row["count"] for row in costs if row["verb"] == "transaction"] == commits != []
    assert [row["condition"] for row in rows(lake, RUN)] == ["running"]


@stress
def test_watching_itself_changes_nothing(spark: SparkSession, qm: RunningQueueManager, tmp_path: Path) -> None:
    """Its own accounts are taken and passed over, or they would go round for ever."""
    qm.mqsc("ALTER QMGR STATMQI(OFF) STATQ(OFF)")
    take(spark, qm, tmp_path / "lake")
    version = open_lake(tmp_path / "lake").version
    assert qm.depth(ACCOUNTING) > 0
    take(spark, qm, tmp_path / "lake")
    applications = {row["application"] for row in rows(tmp_path / "lake", ACCOUNT)}
    assert applications <= {"ostler.testing"}
    assert open_lake(tmp_path / "lake").version <= version + 1


@stress
def test_a_checkpoint_that_is_lost_counts_nothing_twice(
    spark: SparkSession, qm: RunningQueueManager, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    work(qm)
    watch = watch_of(spark, qm, lake)
    watch.go_on(0, 1)
    shutil.rmtree(watch.checkpoint)
    work(qm, 2)
    take(spark, qm, lake)
    assert puts(lake) == [MESSAGES + 2] * 4


@stress
def test_another_lake_meanwhile(spark: SparkSession, qm: RunningQueueManager, tmp_path: Path) -> None:
    said: list[str] = []
    for lake, count in (("one", 1), ("two", 2)):
        work(qm, count)
        take(spark, qm, tmp_path / lake)
    work(qm, 4)
    watch_of(spark, qm, tmp_path / "one", said).go_on(0, 1)
    assert any("has gone on without this lake" in each for each in said)
    assert [puts(tmp_path / lake)[1] for lake in ("one", "two")] == [5, 2]


@stress
def test_a_failure_leaves_messages_and_tables(spark: SparkSession, qm: RunningQueueManager, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    work(qm)
    (lake / "gold").mkdir(parents=True)
    (lake / "gold" / "activity").write_text("in the way")
    with pytest.raises((PipelineError, OSError)):
        take(spark, qm, lake)
    assert open_lake(lake).version == 0
    (lake / "gold" / "activity").unlink()
    take(spark, qm, lake)
    assert puts(lake) == [MESSAGES] * 4


def test_a_busy_lake_is_waited_for_and_what_is_no_record_is_set_aside(
    spark: SparkSession, qm: RunningQueueManager, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    is_waiting = threading.Event()
    qm.put(ACCOUNTING, b"hay")

    def tell(text: str) -> None:
        if "changing the lake" in text:
            is_waiting.set()

    watch = LiveWatch(lambda: spark, lake, options(qm), tell)
    with LakeChange(lake):
        thread = threading.Thread(target=watch.go_on, args=(0, 1))
        thread.start()
        assert is_waiting.wait(120)
        assert open_lake(lake).version == 0
    thread.join(120)
    assert watch.unreadable == 1
    (rejected,) = rows(lake, REJECTED)
    assert rejected["reason"].startswith(f"a message is no record of statistics or accounting: 3 bytes on {ACCOUNTING}")


@stress
def test_a_queue_manager_that_goes_is_waited_for(spark: SparkSession, qm: RunningQueueManager, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    events = {"is gone": threading.Event(), "batch": threading.Event()}

    def tell(text: str) -> None:
        if text.startswith("Waiting for QMTEST."):
            events["is gone"].set()

    watch = LiveWatch(lambda: spark, lake, options(qm), tell, lambda told: events["batch"].set())
    work(qm)
    thread = threading.Thread(target=watch.go_on, args=(None, 0.1))
    thread.start()
    try:
        assert events["batch"].wait(60)
        qm.end()
        assert events["is gone"].wait(60)
        events["batch"].clear()
        qm.start()
        work(qm, 2)
        assert events["batch"].wait(60)
    finally:
        watch.over.set()
        thread.join(60)
    take(spark, qm, lake)
    assert puts(lake)[1:3] == [MESSAGES + 2, MESSAGES + 2]


def test_a_second_watch_is_refused(spark: SparkSession, qm: RunningQueueManager, tmp_path: Path) -> None:
    with qm.connect() as connection:
        connection.define("QLOCAL", STAGING, DEFPSIST="YES", MSGDLVSQ="FIFO", MAXMSGL=104857600)
        with connection.open(STAGING, "x"):
            second = LiveWatch(
                lambda: spark, tmp_path, {**options(qm), "connectTimeoutSeconds": "0"}, list[str]().append
            )
            with pytest.raises(PipelineError, match="Somebody else watches QMTEST"):
                second.go_on(0, 1)


@pytest.mark.parametrize("runs", [0, pytest.param(1, marks=stress)])
def test_what_is_taken_later_leaves_what_was_watched(
    spark: SparkSession, qm: RunningQueueManager, tmp_path: Path, runs: int
) -> None:
    """Published figures, and runs."""
    lake = tmp_path / "lake"
    (tmp_path / "runs").mkdir()
    for number in range(runs):
        make_run(tmp_path / "runs", f"run-{number}")
    work(qm)
    take(spark, qm, lake)
    state = dict(open_lake(lake).made_from)
    outcome = run_pipeline(
        lambda rows: spark, lake, [tmp_path / "runs"], gold=[step for step in GOLD_STEPS if step.table is COST]
    )
    assert (outcome.is_changed, len(outcome.taken)) == (True, runs)
    assert state.items() <= open_lake(lake).made_from.items()
    assert puts(lake) == [MESSAGES] * 4
