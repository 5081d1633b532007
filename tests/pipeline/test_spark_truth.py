"""All figures again, from the raw files of runs with plain Python: no Spark, and no code of the steps."""

from __future__ import annotations

import csv
import random
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from pyspark.sql import SparkSession
from tests.pipeline.lab_run_samples import clients, manifest, observed_rows, phase_row, timed_rows
from tests.pipeline.lake.test_run_files import rewrite

from ostler.lab.store.histogram import SUB_BUCKETS
from ostler.lab.store.run_writer import RunWriter
from ostler.lab.store.segments import MEASURED, WARM_UP
from ostler.pipeline.lake.lake import LakeSnapshot
from ostler.pipeline.lake.tables import BRONZE, COMPARISON, PEAK, POINT, REJECTED, SECOND, STEP
from ostler.pipeline.run import run_pipeline
from ostler.pipeline.steps.gold import GOLD_STEPS

SCENARIOS = {"nonpersistent": "client-rr-np", "persistent": "client-rr-pm"}
STEPS, REPETITIONS = 3, 3
MAIN = "round trip"
TABLES = (PEAK, COMPARISON, STEP)

Row = dict[str, Any]
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Truth:
    """A lake, and the raw rows of the sound segments of its runs."""

    lake: LakeSnapshot
    raw: dict[str, list[Row]]
    spoiled: Key

    def measured(self, table: str) -> dict[Key, list[Row]]:
        """Rows of measured phases, by run, contestant, step and repetition."""
        found: dict[Key, list[Row]] = defaultdict(list)
        for row in self.raw[table]:
            if row["phase"] == MEASURED:
                found[_key(row)].append(row)
        return found


def _key(row: Row) -> Key:
    return row["run"], row["contestant"], row["step"], row["repetition"]


def _make_run(runs: Path, name: str, scenario: str, seed: int) -> Path:
    """A run whose points all have other counts."""
    chance = random.Random(seed)
    with RunWriter.create(runs, manifest(name, STEPS, REPETITIONS, scenario)) as run:
        for point in run.remaining():
            for phase in (WARM_UP, MEASURED):
                segment = run.begin(point, phase)
                count = chance.randrange(20, 60)
                segment.add([*timed_rows(chance, count=count), *observed_rows(point.contestant)])
                segment.commit(phase_row(point, scenario)._replace(persistent=scenario.endswith("pm")))
        run.finish()
    return run.directory


def _spoil(run: Path) -> Key:
    """A file that is whole and has one operation too many: its point is set aside. Returns its key."""
    for segment in sorted((run / "segments").iterdir()):
        path = segment / "latency.parquet"
        first = next(row for row in pq.read_table(path, partitioning=None).to_pylist() if row["operation"] == MAIN)
        if first["phase"] == MEASURED:
            rewrite(path, lambda table, first=first: _with_one_more(table, first))
            return *_key(first), MAIN
    raise AssertionError("no measured phase")


def _with_one_more(table: Any, first: Row) -> Any:
    rows = [row | {"count": row["count"] + (row == first)} for row in table.to_pylist()]
    return type(table).from_pylist(rows, table.schema)


@pytest.fixture(scope="module")
def truth(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Truth:
    root = tmp_path_factory.mktemp("truth")
    made = [_make_run(root / "runs", name, scenario, len(name)) for name, scenario in SCENARIOS.items()]
    spoiled = _spoil(made[0])
    gold = [step for step in GOLD_STEPS if step.table in TABLES]
    outcome = run_pipeline(lambda rows: spark, root / "lake", [root / "runs"], gold=gold)
    raw: dict[str, list[Row]] = {name: [] for name in BRONZE}
    for run in made:
        for path in sorted(run.glob("segments/*/*.parquet")):
            raw[path.stem] += pq.read_table(path, partitioning=None).to_pylist()
    return Truth(outcome.snapshot, raw, spoiled)


def highest_of(bucket: int) -> int:
    """The highest value of a bucket, by counting: widths double after twice the buckets, and then after each set."""
    highest, width = -1, 1
    for number in range(bucket + 1):
        if number >= 2 * SUB_BUCKETS and number % SUB_BUCKETS == 0:
            width *= 2
        highest += width
    return highest


def percentile(counts: dict[int, int], percent: float, highest: int) -> int:
    passed, total = 0, sum(counts.values())
    for bucket in sorted(counts):
        passed += counts[bucket]
        if passed * 1000 >= total * round(percent * 10):
            return min(highest_of(bucket), highest)
    raise AssertionError("an empty histogram")


def histogram(rows: Sequence[Row], operation: str) -> dict[int, int]:
    counts: dict[int, int] = defaultdict(int)
    for row in rows:
        if row["operation"] == operation:
            counts[row["bucket"]] += row["count"]
    return counts


def rates(truth: Truth) -> dict[Key, float]:
    """The rate of each point that is not set aside."""
    seconds = {key: rows[0]["seconds"] for key, rows in truth.measured("phase").items()}
    return {
        key: sum(row["count"] for row in rows if row["operation"] == MAIN) / seconds[key]
        for key, rows in truth.measured("operation").items()
        if (*key, MAIN) != truth.spoiled
    }


def steps(truth: Truth) -> dict[Key, float]:
    """The median rate of the repetitions of each step: by run, contestant and step."""
    found: dict[Key, list[float]] = defaultdict(list)
    for key, rate in rates(truth).items():
        found[key[:3]].append(rate)
    return {key: statistics.median(values) for key, values in found.items()}


def peaks(truth: Truth) -> dict[Key, tuple[float, int]]:
    """The highest median, and the clients there: by run and contestant."""
    found: dict[Key, tuple[float, int]] = {}
    for (run, contestant, step), rate in sorted(steps(truth).items()):
        if rate > found.get((run, contestant), (0.0, 0))[0]:
            found[run, contestant] = (rate, clients(step))
    return found


def test_what_is_set_aside_is_no_point(truth: Truth) -> None:
    found = {tuple(row[name] for name in POINT.key) for row in truth.lake.read(POINT).to_pylist()}
    operations = {(*key, row["operation"]) for key, rows in truth.measured("operation").items() for row in rows}
    assert found == operations - {truth.spoiled}
    assert [row["rule"] for row in truth.lake.read(REJECTED).to_pylist()] == ["histogram-total"]


def test_points_and_percentiles(truth: Truth) -> None:
    operations, latencies, windows = (truth.measured(name) for name in ("operation", "latency", "phase"))
    names = {"p50_ns": 50.0, "p90_ns": 90.0, "p99_ns": 99.0, "p999_ns": 99.9}
    rows = truth.lake.read(POINT).to_pylist()
    # Two runs, contestants and operations, without what is set aside.
    assert len(rows) == 8 * STEPS * REPETITIONS - 1
    for row in rows:
        key, operation = _key(row), row["operation"]
        timed = [each for each in operations[key] if each["operation"] == operation]
        count, highest = sum(each["count"] for each in timed), max(each["highest_ns"] or 0 for each in timed)
        assert (row["count"], row["failed"]) == (count, sum(each["failed"] for each in timed))
        assert row["rate"] == pytest.approx(count / windows[key][0]["seconds"])
        assert row["mean_ns"] == pytest.approx(sum(each["total_ns"] for each in timed) / count)
        assert row["max_ns"] == highest
        counts = histogram(latencies[key], operation)
        assert {name: row[name] for name in names} == {
            name: percentile(counts, percent, highest) for name, percent in names.items()
        }


def test_processors_disk_and_log(truth: Truth) -> None:
    processes, machines, figures = (truth.measured(name) for name in ("process", "machine", "statistic"))
    windows = truth.measured("phase")
    for row in truth.lake.read(POINT).to_pylist():
        if row["operation"] != MAIN:
            continue
        key, count = _key(row), row["count"]
        seconds, machine = windows[key][0]["seconds"], machines[key]
        brokers = [each for each in processes[key] if each["role"] in ("queue-manager", "probe")]
        covered = sum(
            max(each["interval_us"] for each in processes[key] if each["second"] == second)
            for second in {each["second"] for each in processes[key]}
        )
        share = min(1.0, seconds * 1e6 / covered)
        used = share * sum(each["user_us"] + each["system_us"] for each in brokers)
        assert row["broker_cpu_us"] == pytest.approx(used / count)
        assert row["megabyte_rate"] == pytest.approx(2 * count * 2048 / 1e6 / seconds)
        assert row["broker_cpu_us_per_megabyte"] == pytest.approx(used / (2 * count * 2048 / 1e6))
        requests = sum(each["disk_reads"] + each["disk_writes"] + each["disk_flushes"] for each in machine)
        assert row["disk_wait_us"] == pytest.approx(sum(each["disk_wait_us"] for each in machine) / requests)
        covered = sum(each["interval_us"] for each in machine)
        assert row["disk_queue"] == pytest.approx(sum(each["disk_queue_us"] for each in machine) / covered)
        assert row["disk_busy_percent"] == pytest.approx(100 * sum(each["disk_busy_us"] for each in machine) / covered)
        assert row["disk_written_bytes"] == round(share * sum(each["disk_written_bytes"] for each in machine))
        forces = [each["value"] for each in figures.get(key, []) if (each["source"], each["name"]) == ("log", "forces")]
        grown = [now - before if now >= before else now for before, now in pairwise(forces)]
        assert row["log_forces"] == (round(share * sum(grown)) if grown else None)


def test_steps_and_peaks(truth: Truth) -> None:
    found = {(row["run"], row["contestant"], row["step"]): row for row in truth.lake.read(STEP).to_pylist()}
    expected = steps(truth)
    assert {key: row["rate"] for key, row in found.items()} == pytest.approx(expected)
    by_step: dict[Key, list[float]] = defaultdict(list)
    for row in truth.lake.read(POINT).to_pylist():
        if row["is_main"]:
            by_step[row["run"], row["contestant"], row["step"]].append(row["p90_ns"])
    assert {key: row["p90_ns"] for key, row in found.items()} == {
        key: statistics.median(values) for key, values in by_step.items()
    }
    told = {(row["run"], row["contestant"]): row for row in truth.lake.read(PEAK).to_pylist()}
    assert {key: (row["peak_rate"], row["peak_clients"]) for key, row in told.items()} == peaks(truth)
    assert all(row["single_rate"] == pytest.approx(expected[(*key, 0)]) for key, row in told.items())


def test_seconds(truth: Truth) -> None:
    latencies = truth.measured("latency")
    expected: dict[Key, list[Row]] = defaultdict(list)
    for key, rows in truth.measured("operation").items():
        for row in rows:
            if row["operation"] == MAIN and row["second"] < 2 and (*key, MAIN) != truth.spoiled:
                expected[(*key, row["second"])].append(row)
    spoiled = truth.spoiled[:4]
    rows = [row for row in truth.lake.read(SECOND).to_pylist() if _key(row) != spoiled]
    assert {(*_key(row), row["second"]) for row in rows} == set(expected)
    for row in rows:
        timed = expected[(*_key(row), row["second"])]
        count, highest = sum(each["count"] for each in timed), max(each["highest_ns"] or 0 for each in timed)
        assert (row["operation"], row["count"], row["seconds"], row["rate"]) == (MAIN, count, 1.0, float(count))
        within = [each for each in latencies[_key(row)] if each["second"] == row["second"]]
        assert row["p99_ns"] == percentile(histogram(within, MAIN), 99.0, highest)


def published_ratio() -> float:
    """Persistent to nonpersistent with clients, of the newest release in tables of one machine."""
    text = files("ostler.pipeline").joinpath("data", "published_results.csv").read_text(encoding="utf-8")
    best: dict[Key, dict[str, float]] = defaultdict(dict)
    for row in csv.DictReader(text.splitlines()):
        is_rate = (row["metric"], row["unit"], row["basis"]) == ("round_trips_per_s", "round trips/s", "measured")
        if is_rate and row["scenario"] in SCENARIOS.values() and row["table_or_figure"].startswith("Table"):
            variants = dict(each.partition("=")[::2] for each in row["variants"].split(";"))
            key = (row["product_version"], row["product"], row["platform"], variants.get("api", ""))
            rate = float(row["value"])
            if row["message_bytes"] == "2048":
                best[key][row["scenario"]] = max(rate, best[key].get(row["scenario"], 0.0))
    newest = max(key for key, found in best.items() if len(found) == 2)
    return best[newest]["client-rr-pm"] / best[newest]["client-rr-np"]


def test_ratios(truth: Truth) -> None:
    (row,) = (
        row
        for row in truth.lake.read(COMPARISON).to_pylist()
        if (row["kind"], row["subject"], row["metric"]) == ("ratio", "persistent to nonpersistent", "rate")
        and row["our_ratio"] is not None
    )
    best = peaks(truth)
    left, right = best["nonpersistent", "Ostler"][0], best["persistent", "Ostler"][0]
    assert (row["left_value"], row["right_value"]) == (left, right)
    assert row["our_ratio"] == pytest.approx(right / left)
    assert row["published_ratio"] == pytest.approx(published_ratio())
    assert (row["left_driver"], row["right_driver"], row["is_like_with_like"]) == ("lean", "lean", True)
