"""Verbs and transactions, and what there could be of them."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.pipeline.steps.analysis_samples import point, points, run, runs, table

from ostler.pipeline.lake.tables import BRONZE, COST, PREDICTION
from ostler.pipeline.steps.costs import costs
from ostler.pipeline.steps.curves import curve_steps
from ostler.pipeline.steps.predictions import predictions
from ostler.pipeline.steps.scaling import best_steps


def _told(source: str, name: str, value: float, second: int = 0, **others: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "run": "run-1",
        "contestant": "Ostler",
        "step": 1,
        "repetition": 0,
        "phase": "measured",
        "second": second,
        "source": source,
        "record": 0,
        "object": "",
        "name": name,
        "position": 0,
        "value": float(value),
    }
    return row | others


def test_costs(spark: SparkSession) -> None:
    statistics = [
        *(_told("queue-manager", "puts", value, second) for second, value in enumerate((100, 150, 300))),
        *(_told("queue-manager", "put_bytes", value, second) for second, value in enumerate((1000, 1500, 3000))),
        *(_told("queue-manager", "gets", value, second) for second, value in enumerate((0, 200))),
        _told("queue-manager", "browses", 5),
        _told("queue-manager", "puts", 9999, 3, phase="cool-down"),
        _told("queue-manager", "waits", 77, 3),
        _told("statistics", "MQIStatistics.PutCount", 4444),
        _told("statistics", "QueueStatistics.PutCount", 4444, object="LAB.1"),
        *(
            _told("accounting", "QueueAccounting.PutCount", value, object="LAB.1", position=position, record=record)
            for record in (1, 2)
            for position, value in enumerate((10, 5))
        ),
        _told("accounting", "QueueAccounting.PutBytes", 600, object="LAB.1", record=1),
        _told("accounting", "MQIAccounting.PutCount", 30, object="LAB.CHANNEL", record=3),
        _told("accounting", "MQIAccounting.CommitCount", 10, object="LAB.CHANNEL", record=3),
        _told("accounting", "MQIAccounting.QMgrOpDuration", 200, object="LAB.CHANNEL", record=3),
        _told("statistics", "ChannelStatistics.MsgCount", 7, object="TO.THERE", record=4),
        _told("channels", "messages", 400, object="LAB0"),
        _told("channels", "batches", 10, object="LAB0"),
        _told("channels", "messages per batch", 40, object="LAB0"),
    ]
    rows = [
        point(20.0, 1, broker_cpu_us=60.0, log_bytes=1000, count=200),
        point(20.0, 1, contestant="RabbitMQ", kind="peer"),
        point(0.0, 2, count=0),
    ]
    found = costs(table(spark, BRONZE["statistic"], statistics), points(spark, rows))
    assert tuple(found.columns) == COST.names
    told = {(row["scope"], row["object"], row["verb"]): row for row in found.collect()}
    assert {key: row["count"] for key, row in told.items()} == {
        ("queue manager", "", "put"): 200.0,
        ("queue manager", "", "get"): 200.0,
        ("queue manager", "", "transaction"): 200.0,
        ("queue", "LAB.1", "put"): 30.0,
        ("connection", "LAB.CHANNEL", "put"): 30.0,
        ("connection", "LAB.CHANNEL", "commit"): 10.0,
        ("channel", "TO.THERE", "message"): 7.0,
        ("message channels", "LAB0", "message"): 400.0,
        ("message channels", "LAB0", "batch"): 10.0,
    }
    assert told["message channels", "LAB0", "batch"]["broker_cpu_us"] is None
    assert told["queue manager", "", "put"]["bytes"] == 2000.0
    assert told["queue", "LAB.1", "put"]["bytes"] == 600.0
    assert told["connection", "LAB.CHANNEL", "put"]["time_us"] == 5.0
    # 200 transactions of 60 us are 400 verbs of 30 us.
    verbs = [row for key, row in told.items() if key[0] != "message channels" and key[2] != "transaction"]
    assert {row["broker_cpu_us"] for row in verbs} == {30.0}
    transaction = told["queue manager", "", "transaction"]
    assert (transaction["broker_cpu_us"], transaction["log_bytes"]) == (60.0, 5.0)


def test_predictions(spark: SparkSession) -> None:
    megabyte = 1 << 20
    rows = [
        point(100, 10, broker_memory_bytes=20 * megabyte, broker_cpu_us=500.0),
        point(400, 110, broker_memory_bytes=30 * megabyte, broker_cpu_us=1000.0),
        point(800, 110, contestant="bare ping-pong", kind="limit"),
        point(100, 10, contestant="hardly", broker_memory_bytes=1000 * megabyte, broker_cpu_us=None),
        point(100, 110, contestant="hardly", broker_memory_bytes=1001 * megabyte, broker_cpu_us=None),
        point(100, 1, contestant="few", broker_memory_bytes=20 * megabyte, broker_cpu_us=None),
        point(100, 7, contestant="few", broker_memory_bytes=30 * megabyte, broker_cpu_us=None),
        point(100, 10, contestant="steady", broker_memory_bytes=20 * megabyte),
        point(100, 20, contestant="steady", broker_memory_bytes=20 * megabyte, broker_cpu_us=None),
    ]
    steps, listed = curve_steps(points(spark, rows)), runs(spark, [run()])
    found = predictions(steps, best_steps(steps, listed), listed)
    assert tuple(found.columns) == PREDICTION.names
    told = {(row["contestant"], row["resource"]): row for row in found.collect()}
    assert set(told) == {
        ("Ostler", "processor"),
        ("Ostler", "network"),
        ("Ostler", "memory"),
        ("steady", "processor"),
    }
    processor, network, memory = (told["Ostler", name] for name in ("processor", "network", "memory"))
    assert (processor["limit"], processor["measured"], processor["used_percent"]) == (1000.0, 400.0, 40.0)
    assert processor["text"] == "1 core of 1,000,000 us a second, divided by 1000.0 us for each"
    assert (network["limit"], network["used_percent"]) == (800.0, 50.0)
    # A tenth of a megabyte for each; 80 % of a gigabyte, without the 19 MB that are there without any.
    assert memory["need"] == pytest.approx(0.1 * megabyte)
    assert memory["limit"] == pytest.approx((0.8 * 1024 - 19) / 0.1)
    assert "102.4 KB for each" in memory["text"]
