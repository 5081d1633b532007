"""Points from samples of two queue managers that are joined: the processor time of each of them and of its log."""

from __future__ import annotations

from pyspark.sql import SparkSession

from ostler.lab.store.roles import FAR, NEAR, PEER, QUEUE_MANAGER, role_at
from ostler.pipeline.steps.points import log_threads, processes

_PROCESS = "run string, contestant string, step int, repetition int, second int, role string, interval_us bigint, "
_PROCESS += "user_us bigint, system_us bigint, resident_bytes bigint, read_bytes bigint, written_bytes bigint"
_THREAD = "run string, contestant string, step int, repetition int, role string, name string, user_us bigint, "
_THREAD += "system_us bigint"
_NEAR, _FAR = role_at(QUEUE_MANAGER, NEAR), role_at(QUEUE_MANAGER, FAR)


def test_both_ends_are_told_apart_and_together(spark: SparkSession) -> None:
    rows = [
        ("new", "Ostler", 0, 0, second, role, 1_000_000, user, 10, 1 << 20, 3, 4)
        for second in range(2)
        for role, user in ((_NEAR, 300), (_FAR, 100), ("driver", 50), ("laboratory", 70))
    ]
    rows += [("new", "RabbitMQ, shovel", 0, 0, 0, role_at(PEER, FAR), 1_000_000, 5, 0, 1, None, None)]
    # Before ends were told apart, both were the same.
    rows += [("old", "Ostler", 0, 0, 0, QUEUE_MANAGER, 1_000_000, user, 0, 1, 5, 6) for user in (7, 8)]
    names = ("broker_us", "near_us", "far_us", "driver_us", "broker_memory_bytes", "kind_rank", "broker_written_bytes")
    found = {
        (row["run"], row["contestant"]): tuple(row[name] for name in names)
        for row in processes(spark.createDataFrame(rows, _PROCESS)).collect()
    }
    assert found == {
        ("new", "Ostler"): (840, 620, 220, 120, 2 << 20, 3, 16),
        ("new", "RabbitMQ, shovel"): (5, None, 5, None, 1, 2, None),
        ("old", "Ostler"): (15, None, None, None, 2, 3, 12),
    }


def test_logs_are_those_of_both_ends(spark: SparkSession) -> None:
    rows = [
        ("new", "Ostler", 0, 0, role, name, user, 1)
        for role, name, user in ((_NEAR, "ostler-log", 30), (_FAR, "ostler-log", 20), (_FAR, "ostler-reactor", 500))
    ]
    rows += [("old", "Ostler", 0, 0, QUEUE_MANAGER, "ostler-log", 4, 1)]
    found = {
        row["run"]: (row["log_us"], row["near_log_us"], row["far_log_us"])
        for row in log_threads(spark.createDataFrame(rows, _THREAD)).collect()
    }
    assert found == {"new": (52, 31, 21), "old": (5, None, None)}
