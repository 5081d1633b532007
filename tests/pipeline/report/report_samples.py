"""Small tables of a lake, made by hand: two scenarios, three runs, a peer, a limit, and something of all else."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from ostler.pipeline.lake.arrow_schemas import arrow_schema
from ostler.pipeline.lake.lake import CURRENT, LakePart, LakeSnapshot, as_json, table_directory
from ostler.pipeline.lake.tables import TABLES
from ostler.pipeline.report.rows import Tables, read_tables
from ostler.pipeline.steps.contestants import ONE_QUEUE_MANAGER

BEGAN = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
OLD, NEW, LARGE = "local-rr-np-1", "local-rr-np-2", "client-large-np-1"
CONTESTANTS = (("Ostler", "ostler", 1000.0), ("RabbitMQ", "peer", 400.0), ("bare ping-pong", "limit", 9000.0))
CLIENTS = (1, 4, 16)
REPETITIONS = 3

Rows = dict[str, list[dict[str, Any]]]

_EMPTY: Mapping[str, Any] = {"string": "", "int": 0, "bigint": 0, "double": 0.0, "boolean": False}


def row(table: str, /, **values: Any) -> dict[str, Any]:
    """A row with what is given; what may be empty is, and the rest is nothing of its kind."""
    made: dict[str, Any] = {}
    for column in TABLES[table].columns:
        kind = column.type.partition("<")[0]
        made[column.name] = None if column.optional else [] if kind in ("array", "map") else _EMPTY.get(column.type)
    assert set(values) <= set(made), set(values) - set(made)
    return made | values


def _run(name: str, scenario: str, hour: int, **more: Any) -> dict[str, Any]:
    began = BEGAN + timedelta(hours=hour)
    values: dict[str, Any] = {
        "condition": "complete", "version": "0.1.0", "machine": "two cores", "kernel": "6.1", "disk": "ext4",
        "noise_percent": 8.0, "environment": '{"versions": {"python": "3.11"}}', "parameters": [("repetitions", "3")],
    }  # fmt: skip
    command = f"ostler lab run {scenario} --output runs/{hour}"
    return row("run", run=name, scenario=scenario, began=began, ended=began, command=command, **(values | more))


def point(run: str, scenario: str, contestant: str, kind: str, **more: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "operation": "round trip", "is_main": True, "series": "message_bytes=2048", "clients": 1,
        "message_bytes": 2048, "seconds": 10.0, "count": 10_000, "rate": 1000.0, "mean_ns": 1e6, "p50_ns": 900_000,
        "p90_ns": 1_500_000, "p99_ns": 3_000_000, "p999_ns": 9_000_000, "max_ns": 20_000_000, "broker_cpu_us": 30.0,
        "machine_busy_percent": 50.0, "steal_percent": 0.5, "began": BEGAN,
    }  # fmt: skip
    return row("point", run=run, scenario=scenario, contestant=contestant, kind=kind, **(values | more))


def _curve(rows: Rows, run: str, scenario: str, size: int) -> None:
    series = f"message_bytes={size}"
    for name, kind, rate in CONTESTANTS:
        common = {"series": series, "message_bytes": size}
        for step, clients in enumerate(CLIENTS):
            for repetition in range(REPETITIONS):
                value = rate * clients**0.5 * (1 + repetition / 50) * 2048 / size
                more = {"step": step, "repetition": repetition, "clients": clients, "rate": value, **common}
                rows["point"].append(point(run, scenario, name, kind, **more))
        known = {"run": run, "scenario": scenario, "contestant": name, "kind": kind, **common}
        peak = {"peak_rate": rate * 4, "peak_clients": 16, "single_rate": rate, "steps": 3, "repetitions": 3}
        rows["peak"].append(row("peak", **known, **peak))
        law = {"lambda": rate, "sigma": 0.1, "kappa": 0.001, "is_fitted": True, "limited_by": "machine"}
        rows["scaling"].append(row("scaling", **known, points=3, **law))


def sample_rows() -> Rows:
    """By table, as they would be written."""
    rows: Rows = {name: [] for name in TABLES}
    rows["run"] = [
        _run(OLD, "local-rr-np", 0, version="0.0.9"),
        _run(NEW, "local-rr-np", 1),
        _run(LARGE, "client-large-np", 2, condition="partial", flags=["The machine was busy."]),
    ]
    rows["contestant"] = [
        row("contestant", run=NEW, contestant=name, kind=kind, promise=f"promise of {name}")
        for name, kind, _ in CONTESTANTS
    ]
    for run, scenario, size in ((OLD, "local-rr-np", 2048), (NEW, "local-rr-np", 2048)):
        _curve(rows, run, scenario, size)
    for size in (20480, 204800):
        _curve(rows, LARGE, "client-large-np", size)
    both = {"scenario": "local-rr-np", "series": "message_bytes=2048", "left_run": OLD, "right_run": NEW}
    figures = {"left_value": 4000.0, "right_value": 4400.0, "change_percent": 10.0, "tolerance_percent": 8.0}
    change = {"metric": "rate", "low_percent": 9.0, "high_percent": 11.0, "left_name": "0.0.9", "right_name": "0.1.0"}
    rows["comparison"] = [
        row("comparison", kind="release", subject="0.1.0 after 0.0.9", verdict="better", **both, **figures, **change),
        row("comparison", kind="release", subject="again", clients=4, verdict="same", **both, **figures, **change),
        row("comparison", kind="ratio", subject="20 KB to 2 KB", published_ratio=0.44, our_ratio=0.5,
            published_source="windows-v53, Table 11", verdict="same", **both, **figures, **change),
    ]  # fmt: skip
    rows["cost"] = [
        row("cost", run=NEW, scenario="local-rr-np", contestant="Ostler", step=2, repetition=each, scope="queue",
            object="REQUEST", verb="put", count=100.0, bytes=204800.0, time_us=4.0)
        for each in range(REPETITIONS)
    ]  # fmt: skip
    rows["prediction"] = [
        row("prediction", run=NEW, scenario="local-rr-np", contestant=name, kind=kind, series="message_bytes=2048",
            message_bytes=2048, resource=resource, need=need, available=available, unit=unit, limit=available / need,
            measured=4000.0, used_percent=100 * 4000.0 * need / available, text=words)
        for name, kind in (("Ostler", "ostler"), ("RabbitMQ", "peer"))
        for resource, need, available, unit, words in (
            ("processor", 125.0, 1e6, "us of processor time", "1 cores of 1,000,000 us a second, divided by 125.0 us"),
            ("network", 1.0, 36_000.0, "exchanges", "the bare network made 36000 a second at the same step"),
            ("memory", 10_240.0, 1e9, "bytes", "40 MB with 1 and 41 MB with 16 clients"),
        )
    ]  # fmt: skip
    rows["published"] = [
        row("published", figure=number, report="windows-v53", report_title="A report", section="2.1",
            table_or_figure="Table 1", scenario="local-rr-np", product="MQ", product_version="V5.3", clients=number,
            platform="an old machine", message_bytes=2048, persistence="nonpersistent", basis="measured",
            metric="round_trips_per_s", value=6000.0 + number, unit="round trips/s")
        for number in (3, 4)
    ]  # fmt: skip
    rows["figure_match"] = [
        row("figure_match", figure=4, scenario="local-rr-np", metric="rate", is_matched=True, published_value=6004.0,
            our_value=4000.0, run=NEW, contestant="Ostler"),
        row("figure_match", figure=3, scenario="local-rr-np", metric="rate", reason="no step of ours has its clients"),
    ]  # fmt: skip
    rows["rejected"] = [
        row("rejected", table="operation", run=LARGE, rule="counts-add-up", reason="counts do not add up", rows=3)
    ]
    return rows


def arrow_tables(rows: Rows) -> dict[str, Any]:
    return {name: pa.Table.from_pylist(each, arrow_schema(TABLES[name])) for name, each in rows.items() if each}


def sample_tables(rows: Rows | None = None) -> Tables:
    return read_tables(arrow_tables(sample_rows() if rows is None else rows).get)


def write_lake(root: Path, rows: Rows) -> None:
    """A lake with these rows, as the pipeline leaves one behind."""
    parts: dict[str, tuple[LakePart, ...]] = {}
    for name, table in arrow_tables(rows).items():
        partitions = TABLES[name].partitions
        groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for each in table.to_pylist():
            groups.setdefault(tuple(each[column] for column in partitions), []).append(each)
        found = []
        for values, members in groups.items():
            named = dict(zip(partitions, values, strict=True))
            path = "/".join(
                [table_directory(TABLES[name]), "version=1", *(f"{key}={text}" for key, text in named.items())]
            )
            (root / path).mkdir(parents=True)
            stored = pa.Table.from_pylist(members, arrow_schema(TABLES[name])).drop_columns(list(partitions))
            pq.write_table(stored, root / path / "part-0.parquet")
            found.append(LakePart(path, named, len(members)))
        parts[name] = tuple(found)
    (root / CURRENT).write_text(as_json(LakeSnapshot(root, 1, parts=parts)))


def distance_rows() -> Rows:
    """A run of one channel over a distance: two queue managers, one, and how full batches were."""
    name, run = "dq-distance", "dq-distance-1"
    rows: Rows = {"run": [_run(run, name, 0)], "point": [], "peak": [], "cost": [], "comparison": []}
    for step, trip, rate in ((0, 0, 5000.0), (1, 10, 4000.0)):
        series = f"batch_size=50, messages=nonpersistent, NORMAL, round_trip_ms={trip}"
        contestants = [("Ostler", rate), (ONE_QUEUE_MANAGER, 9000.0)][: 2 - step]
        for contestant, found in contestants:
            rows["point"].append(
                point(
                    run, name, contestant, "ostler", series=series, step=step, rate=found, clients=40, operation="get"
                )
            )
            peak = row("peak", run=run, scenario=name, contestant=contestant, kind="ostler", series=series)
            rows["peak"].append(peak | {"message_bytes": 2048, "peak_rate": found, "peak_clients": 40, "steps": 1})
        for verb, count in (("message", 40_000.0), ("batch", 1000.0)):
            cost = row("cost", run=run, scenario=name, contestant="Ostler", step=step, verb=verb, count=count)
            rows["cost"].append(cost | {"scope": "message channels", "object": "LAB0"})
    told = {"kind": "option", "subject": "two queue managers to one", "metric": "rate", "verdict": "worse"}
    sides = {"left_name": ONE_QUEUE_MANAGER, "right_name": "Ostler", "left_run": run, "right_run": run}
    values = {"left_value": 9000.0, "right_value": 5000.0, "change_percent": -44.4}
    rows["comparison"].append(row("comparison", scenario=name, **told, **sides, **values))
    return rows
