"""Points, runs and figures made by hand, for tests of what is told from them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from ostler.pipeline.lake.spark_schemas import spark_schema
from ostler.pipeline.lake.tables import POINT, PUBLISHED, RUN, LakeTable

BEGAN = datetime(2026, 11, 16, 5, 0, tzinfo=UTC)


def table(spark: SparkSession, table: LakeTable, rows: Sequence[dict[str, Any]]) -> DataFrame:
    """Rows of a table; what they do not tell is empty."""
    return spark.createDataFrame([tuple(row.get(name) for name in table.names) for row in rows], spark_schema(table))


def point(rate: float = 1000.0, clients: int = 1, **others: Any) -> dict[str, Any]:
    """A point of a main operation, with what every point has."""
    row: dict[str, Any] = {
        "run": "run-1",
        "scenario": "client-rr-np",
        "contestant": "Ostler",
        "kind": "ostler",
        "step": clients,
        "repetition": 0,
        "operation": "round trip",
        "is_main": True,
        "series": "",
        "clients": clients,
        "message_bytes": 2048,
        "persistent": False,
        "parameters": {"requesters": str(clients), "operation": "round trip"},
        "began": BEGAN,
        "seconds": 10.0,
        "count": round(rate * 10),
        "failed": 0,
        "late": 0,
        "rate": float(rate),
        "mean_ns": clients * 1e9 / rate if rate else None,
        "p99_ns": round(3e9 * clients / rate) if rate else None,
        "broker_cpu_us": 50.0,
        "noise_percent": 0.0,
        "flags": [],
    }
    return row | others


def points(spark: SparkSession, rows: Sequence[dict[str, Any]]) -> DataFrame:
    return table(spark, POINT, rows)


def run(name: str = "run-1", hours: int = 0, **others: Any) -> dict[str, Any]:
    """A complete run on a machine with four cores."""
    row: dict[str, Any] = {
        "run": name,
        "scenario": "client-rr-np",
        "began": BEGAN + timedelta(hours=hours),
        "condition": "complete",
        "schema_version": 1,
        "version": "1.0",
        "revision": "a",
        "compiled": True,
        "machine": "a processor, 4 cores",
        "noise_percent": 0.0,
        "parameters": {"is_quick": "False"},
        "flags": [],
        "environment": '{"machine": {"cores": 4, "memory_megabytes": 1024}}',
    }
    return row | others


def runs(spark: SparkSession, rows: Sequence[dict[str, Any]]) -> DataFrame:
    return table(spark, RUN, rows)


def figure(number: int, scenario: str, value: float, **others: Any) -> dict[str, Any]:
    """A published figure, measured and printed in a table."""
    row: dict[str, Any] = {
        "figure": number,
        "report": "windows-v53",
        "report_title": "A report",
        "section": "A section",
        "table_or_figure": "Table 1",
        "scenario": scenario,
        "test_name": "",
        "product": "WebSphere MQ",
        "product_version": "V5.3",
        "platform": "a machine",
        "topology": "client",
        "variants": {"api": "MQI"},
        "message_bytes": 2048,
        "persistence": "",
        "syncpoint": "",
        "clients": 9,
        "metric": "round_trips_per_s",
        "value": float(value),
        "unit": "round trips/s",
        "note": "",
        "basis": "measured",
    }
    return row | others


def metrics(spark: SparkSession, rows: Sequence[dict[str, Any]]) -> DataFrame:
    return table(spark, PUBLISHED, rows)
