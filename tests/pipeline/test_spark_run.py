"""From runs to tables: points against those of the laboratory, incremental, idempotent, and nothing lost on the way."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.pipeline.lab_run_samples import (
    SCENARIO,
    change_manifest,
    make_part_of_run,
    make_run,
    resume_run,
)
from tests.pipeline.lake.test_run_files import rewrite

from ostler.lab.runner import contract
from ostler.lab.runner import point_measurement as measuring
from ostler.lab.store.points import measured_points
from ostler.lab.store.run_reader import read_run
from ostler.pipeline.errors import PipelineError
from ostler.pipeline.lake.lake import CURRENT, LakeSnapshot, open_lake
from ostler.pipeline.lake.tables import BRONZE, CONTESTANT, DISCLOSURE, PEAK, POINT, PUBLISHED, REJECTED, RUN
from ostler.pipeline.lake.validation import validate_runs, violations_in
from ostler.pipeline.run import PipelineOutcome, run_pipeline
from ostler.pipeline.spark.spark_errors import spark_sentence
from ostler.pipeline.steps import points
from ostler.pipeline.steps.gold import CURVE_STEPS, GOLD_STEPS, Frames, GoldStep
from ostler.pipeline.steps.peaks import peaks

Row = dict[str, object]


class Site:
    """A directory of runs, and the lake that follows it."""

    def __init__(self, root: Path, spark: SparkSession) -> None:
        self.runs = root / "runs"
        self.lake = root / "lake"
        self.spark = spark

    def run_pipeline(self, gold: Sequence[GoldStep] = ()) -> PipelineOutcome:
        return run_pipeline(lambda rows: self.spark, self.lake, [self.runs], gold=gold)


def no_spark(rows: int) -> SparkSession:
    raise AssertionError("Spark is not needed")


@pytest.fixture(scope="module")
def taken(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Site, PipelineOutcome]:
    """A lake with a whole run, one that was given up, and one that cannot be read. Not to be changed."""
    site = Site(tmp_path_factory.mktemp("site"), spark)
    make_run(site.runs, "run-1")
    make_part_of_run(site.runs, "run-2", points=3)
    change_manifest(make_part_of_run(site.runs, "run-3", points=1), schema_version=99)
    return site, site.run_pipeline(GOLD_STEPS)


@pytest.fixture
def copied(spark: SparkSession, taken: tuple[Site, PipelineOutcome], tmp_path: Path) -> Site:
    """The same, to be changed."""
    shutil.copytree(taken[0].runs.parent, tmp_path / "site")
    return Site(tmp_path / "site", spark)


def spoil_rows(segment: Path) -> None:
    """Files that are what their segment says, with a kind that there is none of, and with one operation too many."""

    def changed(column: str, of: Callable[[Row], object]) -> Callable[[pa.Table], pa.Table]:
        def change(table: pa.Table) -> pa.Table:
            rows = [row | {column: of(row)} for row in table.to_pylist()]
            return pa.Table.from_pylist(rows, table.schema)

        return change

    rewrite(segment / "event.parquet", changed("kind", lambda row: "rumour" if row["kind"] == "note" else row["kind"]))
    first = pq.read_table(segment / "latency.parquet", partitioning=None).to_pylist()[0]
    rewrite(segment / "latency.parquet", changed("count", lambda row: int(str(row["count"])) + (row == first)))


def rows_by_key(lake: LakeSnapshot, runs: list[str]) -> dict[tuple[object, ...], Row]:
    rows = [row for row in lake.read(POINT).to_pylist() if row["run"] in runs]
    return {tuple(row[name] for name in POINT.key): row for row in rows}


def test_words_are_those_of_the_laboratory() -> None:
    assert points.OPERATION_PARAMETER == measuring.OPERATION_PARAMETER
    assert points.USUAL_OPERATIONS == (
        contract.ROUND_TRIP,
        contract.SESSION,
        contract.GET,
        contract.PUT,
        contract.CONNECT,
    )


def test_all_runs_that_can_be_read_are_taken(taken: tuple[Site, PipelineOutcome]) -> None:
    site, outcome = taken
    assert outcome.is_changed
    assert outcome.taken == ("run-1", "run-2")
    assert [each.directory.name for each in outcome.refused] == ["run-3"]
    assert outcome.rejected == 0
    lake = open_lake(site.lake)
    assert lake == outcome.snapshot
    assert lake.rows(PUBLISHED) == 1613
    conditions = {row["run"]: row["condition"] for row in lake.read(RUN).to_pylist()}
    assert conditions == {"run-1": "complete", "run-2": "partial"}
    first = lake.read(RUN).to_pylist()[0]
    assert first["machine"] == "Sample processor, 2 cores, 4 GiB"
    assert first["disk"] == "ext4 on /dev/vda"
    assert (first["noise_percent"], first["compiled"], first["revision"]) == (4.5, True, "abc")
    assert first["command"] == f"ostler lab run {SCENARIO}"
    assert dict(first["parameters"]) == {"is_quick": "true", "repetitions": "2", "peers": ""}
    assert first["flags"] == ["noise: The same work took longer."]
    assert json.loads(first["environment"])["kernel"] == {"release": "6.1"}
    assert lake.rows(CONTESTANT) == 4
    drivers = {row["contestant"]: row["driver"] for row in lake.read(CONTESTANT).to_pylist()}
    assert drivers == {"Ostler": "lean", "bare ping-pong": "probe"}
    told = [row for row in lake.read(DISCLOSURE).to_pylist() if row["run"] == "run-1"]
    assert {(row["kind"], row["position"], row["name"], row["text"]) for row in told} == {
        ("stand-in", 0, "standard-bindings", "A Unix socket takes the place of shared memory."),
        ("left-out", 0, "a part", "clusters, tracing"),
        ("deviation", 0, "a smaller log", "there is no room"),
        ("configuration", 0, "QM1", "Log:\n  LogPrimaryFiles=3"),
        ("workload", 0, "", json.dumps({"id": SCENARIO})),
    }


def test_bronze_has_every_row_as_it_was_measured(taken: tuple[Site, PipelineOutcome]) -> None:
    site, outcome = taken
    run = read_run(site.runs / "run-1")
    for name, table in BRONZE.items():
        measured = run.table(name).to_pylist()
        found = outcome.snapshot.read(table, run=["run-1"]).to_pylist()
        assert measured
        assert sorted(found, key=repr) == sorted(measured, key=repr), name


def test_points_are_those_of_the_laboratory(taken: tuple[Site, PipelineOutcome]) -> None:
    site, outcome = taken
    found = rows_by_key(outcome.snapshot, ["run-1", "run-2"])
    expected = {
        (name, point.contestant, point.step, point.repetition, operation): (point, timed)
        for name in ("run-1", "run-2")
        for point in measured_points(read_run(site.runs / name))
        for operation, timed in point.operations.items()
    }
    assert set(found) == set(expected)
    for key, (point, timed) in expected.items():
        row = found[key]
        names = ("count", "failed", "late", "rate", "mean_ns", "max_ns")
        assert [row[name] for name in names] == [
            *(timed.count, timed.failed, timed.late, timed.rate_per_second, timed.mean_ns, timed.highest_ns)
        ]
        assert [row[name] for name in ("p50_ns", "p90_ns", "p99_ns", "p999_ns")] == list(timed.percentiles_ns.values())
        assert (row["clients"], row["message_bytes"], row["persistent"]) == (
            *(point.clients, point.message_bytes, point.persistent),
        )
        assert row["steal_percent"] == pytest.approx(point.steal_percent)
        assert row["is_main"] == (key[-1] == "round trip")
        role = "queue-manager" if point.contestant == "Ostler" else "probe"
        costs = [point.cpu_us_per_operation(each, "round trip") for each in (role, "driver")]
        found_costs = [row["broker_cpu_us"], row["driver_cpu_us"]]
        assert found_costs == (pytest.approx(costs) if row["is_main"] else [None, None])


def test_points_have_what_stands_beside(taken: tuple[Site, PipelineOutcome]) -> None:
    lake = taken[1].snapshot
    ours = rows_by_key(lake, ["run-1"])["run-1", "Ostler", 1, 0, "round trip"]
    assert (ours["scenario"], ours["kind"], ours["series"], ours["clients"]) == (SCENARIO, "ostler", "", 4)
    # Forces went from 100 to 150, and after a new start to 20.
    assert (ours["log_forces"], ours["log_bytes"]) == (70, 70_000)
    assert ours["log_cpu_us"] == 50 / 80
    assert ours["broker_user_us"] == 660 / 80
    assert ours["broker_core_percent"] == pytest.approx(100 * 1100 / 2_000_000)
    assert ours["broker_memory_bytes"] == 3 << 20
    assert ours["machine_busy_percent"] == pytest.approx(100 * 800 / 2000)
    assert (ours["disk_written_bytes"], ours["loopback_bytes"]) == (2 * 8192, 2 * 4096)
    assert ours["disk_busy_percent"] == pytest.approx(0.5)
    assert ours["noise_percent"] == 4.5
    assert ours["flags"] == ["counts-differ", "steal"]
    limit = rows_by_key(lake, ["run-1"])["run-1", "bare ping-pong", 1, 0, "round trip"]
    assert (limit["kind"], limit["log_forces"], limit["log_cpu_us"]) == ("limit", None, None)


def test_gold_is_made_of_points(taken: tuple[Site, PipelineOutcome]) -> None:
    lake = taken[1].snapshot
    for step in GOLD_STEPS:
        assert lake.rows(step.table) == lake.read(step.table).num_rows
    peaks = {(row["run"], row["contestant"]): row for row in lake.read(PEAK).to_pylist()}
    assert {run for run, _ in peaks} == {"run-1", "run-2"}
    assert peaks["run-1", "Ostler"]["steps"] == 2


def test_nothing_new_changes_nothing(taken: tuple[Site, PipelineOutcome]) -> None:
    site, before = taken
    text = (site.lake / CURRENT).read_text()
    outcome = run_pipeline(no_spark, site.lake, [site.runs])
    assert not outcome.is_changed
    assert outcome.known == ("run-1", "run-2")
    assert outcome.snapshot == before.snapshot
    assert (site.lake / CURRENT).read_text() == text


def test_a_run_that_went_on_is_taken_again_and_damage_is_set_aside(copied: Site) -> None:
    before = open_lake(copied.lake)
    resume_run(copied.runs / "run-2")
    run = make_run(copied.runs, "run-4", seed=4)
    segment = sorted((run / "segments").iterdir())[-1]
    (segment / "latency.parquet").write_bytes(b"nothing that was written")
    spoil_rows(sorted((run / "segments").iterdir())[1])
    outcome = copied.run_pipeline()
    assert outcome.taken == ("run-2", "run-4")
    assert outcome.known == ("run-1",)
    lake = outcome.snapshot
    assert rows_by_key(lake, ["run-1"]) == rows_by_key(before, ["run-1"])
    assert len(rows_by_key(lake, ["run-2"])) == len(rows_by_key(lake, ["run-1"]))
    # Two operations of the point whose file is damaged, and one whose histogram is.
    assert len(rows_by_key(lake, ["run-4"])) == len(rows_by_key(lake, ["run-1"])) - 3
    assert lake.parts_of(BRONZE["latency"], run=["run-1"]) == before.parts_of(BRONZE["latency"], run=["run-1"])
    rejected = lake.read(REJECTED).to_pylist()
    assert {row["run"] for row in rejected} == {"run-4"}
    rules = {(row["table"], row["rule"]) for row in rejected}
    others = {(name, "segment") for name in set(BRONZE) - {"latency", "statistic"}}
    assert rules == others | {("latency", "file"), ("event", "kind-unknown"), ("point", "histogram-total")}
    rumour = next(json.loads(row["row"]) for row in rejected if row["rule"] == "kind-unknown")
    assert (rumour["kind"], rumour["text"]) == ("rumour", "as it should be")
    assert lake.read(BRONZE["event"], ["kind"], run=["run-4"])["kind"].to_pylist().count("rumour") == 0
    assert outcome.rejected == sum(row["rows"] for row in rejected)
    told = violations_in(lake)
    assert told.by_rule["latency", "file"] == next(row["rows"] for row in rejected if row["table"] == "latency")
    assert not told.is_sound
    assert not run_pipeline(no_spark, copied.lake, [copied.runs]).is_changed


def test_tables_that_other_steps_made_are_made_again(copied: Site) -> None:
    """Without the runs, which may be gone. The first steps had the version of the lake in place of that of a run."""
    before = open_lake(copied.lake)
    whole = [before.read(table).to_pylist() for table in (RUN, CONTESTANT)]
    assert {row["version"] for row in whole[0]} == {"0.1.0"}
    for table in (RUN, CONTESTANT):
        (part,) = before.parts_of(table)
        (path,) = (copied.lake / part.path).glob("*.parquet")
        path.with_name(f".{path.name}.crc").unlink()
        stored = pq.read_table(path, partitioning=None)
        place = stored.column_names.index("version")
        pq.write_table(stored.set_column(place, "version", pa.array(["1"] * stored.num_rows)), path)
    content = json.loads((copied.lake / CURRENT).read_text())
    content["made_from"]["steps"] = "1"
    (copied.lake / CURRENT).write_text(json.dumps(content))
    shutil.rmtree(copied.runs)
    told: list[str] = []
    copied.runs.mkdir()
    outcome = run_pipeline(lambda rows: copied.spark, copied.lake, [copied.runs], report=told.append, gold=())
    assert (outcome.is_changed, outcome.taken, told[0].partition(":")[0]) == (True, (), "Tables are made again")
    after = outcome.snapshot
    for rows, table in zip(whole, (RUN, CONTESTANT), strict=True):
        assert sorted(after.read(table).to_pylist(), key=repr) == sorted(rows, key=repr)
    assert rows_by_key(after, ["run-1", "run-2"]) == rows_by_key(before, ["run-1", "run-2"])
    told_before, told_after = (sorted(each.read(DISCLOSURE).to_pylist(), key=repr) for each in (before, after))
    assert told_after == told_before
    assert not run_pipeline(no_spark, copied.lake, [copied.runs]).is_changed


def test_what_fails_on_the_way_leaves_the_tables(copied: Site) -> None:
    before = open_lake(copied.lake)
    make_run(copied.runs, "run-4", seed=4)

    def fail(tables: Frames) -> DataFrame:
        return peaks(tables[CURVE_STEPS], tables["run"]).withColumn("kind", F.raise_error(F.lit("no")).cast("string"))

    broken = GoldStep(PEAK, (RUN,), fail, uses=(CURVE_STEPS,))
    with pytest.raises(PipelineError, match=r"The pipeline stopped: .* Tables are as they were\."):
        copied.run_pipeline([step if step.table != PEAK else broken for step in GOLD_STEPS])
    assert open_lake(copied.lake) == before
    assert before.read(POINT).num_rows
    assert len(list((copied.lake / "bronze" / "phase").iterdir())) == 1


def test_violations_of_runs_are_told_with_run_and_row(spark: SparkSession, tmp_path: Path) -> None:
    run = make_run(tmp_path, "run-1")
    segment = sorted((run / "segments").iterdir())[0]
    (segment / "event.parquet").write_bytes(b"")
    found = validate_runs(lambda rows: spark, [run], shown=3)
    assert found.runs == ("run-1",)
    assert not found.is_sound
    assert [each.run for each in found.violations] == ["run-1"] * 3
    assert {rule for _, rule in found.by_rule} == {"file", "segment"}
    assert found.rows == sum(found.by_rule.values())
    assert str(found.violations[0].row["file"]).startswith(str(segment))


def test_spark_is_quoted_in_one_sentence() -> None:
    told = spark_sentence(
        "An error occurred while calling o80.count.\n"
        ": org.apache.spark.SparkException: [FAILED_READ_FILE.FILE_NOT_EXIST] File a is gone. SQLSTATE: KD001\n\tat x"
    )
    assert told == "File a is gone."
    assert spark_sentence("") == "Spark failed."
