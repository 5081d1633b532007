"""Runs in their directories: written, left, resumed, read."""

from __future__ import annotations

import errno
import gc
import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from tests.lab.store.store_samples import PHASE, manifest, measure, samples

from ostler.lab.store.environment import describe_environment, revision
from ostler.lab.store.manifest import MANIFEST, PlannedPoint, RunState, RunUnreadable, read_manifest, write_manifest
from ostler.lab.store.rows import StatisticRow
from ostler.lab.store.run_reader import RunCondition, read_run, stored_runs
from ostler.lab.store.run_writer import RunWriter, is_owned, new_run_name
from ostler.lab.store.schema import SCHEMA_VERSION, TABLES
from ostler.lab.store.segments import (
    CALIBRATION,
    COOL_DOWN,
    MEASURED,
    UNFINISHED,
    WARM_UP,
    RunNotWritten,
    explain_errors,
)
from ostler.lab.store.validation import validate

FIRST = PlannedPoint("ostler", 0)


def test_a_finished_run_reads_back_as_it_was_written(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, manifest()) as run:
        for point in run.remaining():
            measure(run, point)
        run.finish()
    found = read_run(run.directory)
    assert found.condition == RunCondition.COMPLETE
    assert found.manifest == run.manifest
    assert found.remaining() == []
    assert len(found.keys) == 12
    assert validate(found) == []
    phases = found.table("phase").to_pylist()
    assert [(row["contestant"], row["step"], row["phase"]) for row in phases[:3]] == [
        ("ostler", 0, WARM_UP),
        ("ostler", 0, MEASURED),
        ("peer", 0, WARM_UP),
    ]
    assert phases[0]["began"] == PHASE.began
    assert phases[0]["parameters"] == [("think_time", "0")]
    assert {name: found.table(name).num_rows > 0 for name in TABLES} == dict.fromkeys(TABLES, True)


def test_samples_come_back_to_the_digit(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, manifest()) as run:
        measure(run, FIRST)
    rows = samples()
    for name in TABLES:
        if name != "phase":
            expected = [row for row in rows if type(row).__name__ == f"{name.capitalize()}Row"]
            found = [
                tuple(row.values())[5:]
                for row in read_run(run.directory).table(name).slice(0, len(expected)).to_pylist()
            ]
            assert found == [tuple(row) for row in expected], name


def test_a_run_that_is_being_written_can_be_read(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, manifest()) as run:
        measure(run, FIRST)
        unfinished = run.begin(FIRST, COOL_DOWN)
        unfinished.add(samples())
        found = read_run(run.directory)
        assert found.condition == RunCondition.RUNNING
        assert [key.phase for key in found.keys] == [WARM_UP, MEASURED], "an open segment is not part of the run"
        assert validate(found) == []
        run.stop("that is all")
    assert not is_owned(run.directory)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (KeyboardInterrupt(), "it was interrupted from the keyboard"),
        (RuntimeError("the broker died."), "the broker died"),
        (None, "it was left before it was finished"),
    ],
)
def test_a_run_left_early_is_partial_flagged_and_can_be_resumed(
    tmp_path: Path, error: BaseException | None, reason: str
) -> None:
    run = RunWriter.create(tmp_path, manifest())
    measure(run, FIRST)
    run.begin(PlannedPoint("peer", 0), WARM_UP).add(samples())
    run.__exit__(type(error) if error else None, error, None)
    found = read_run(run.directory)
    assert (found.condition, found.manifest.reason) == (RunCondition.PARTIAL, reason)
    assert [flag.name for flag in found.manifest.flags] == ["partial"]
    assert validate(found) == []
    assert list((run.directory / UNFINISHED).iterdir()) == []
    with RunWriter.resume(run.directory) as again:
        assert [point.key for point in again.remaining()][:2] == [("peer", 0, 0), ("ostler", 1, 0)]
        for point in again.remaining():
            measure(again, point)
        again.finish()
    found = read_run(run.directory)
    assert found.condition == RunCondition.COMPLETE
    assert validate(found) == []
    assert [flag.name for flag in found.manifest.flags] == ["partial"], "that it was cut stays known"
    assert len(found.manifest.resumed) == 1


def test_finishing_too_early_makes_a_run_partial(tmp_path: Path) -> None:
    run = RunWriter.create(tmp_path, manifest())
    measure(run, FIRST)
    run.finish()
    assert read_manifest(run.directory).state == RunState.PARTIAL
    assert read_manifest(run.directory).reason == "5 of 6 points were not measured"


def test_points_after_a_stop_rule_are_not_missed(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, manifest()) as run:
        measure(run, FIRST)
        run.plan([FIRST, PlannedPoint("ostler", 9)])
        assert len(run.manifest.points) == 7, "a planned point is not planned twice"
        for point in run.remaining():
            run.skip(point, "the response time passed a second")
        run.finish()
    assert read_run(run.directory).condition == RunCondition.COMPLETE
    assert read_run(run.directory).remaining() == []


def test_phases_of_an_unfinished_point_are_set_aside_and_measured_again(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, manifest(points=1)) as run:
        for phase in (CALIBRATION, WARM_UP):
            run.begin(FIRST, phase).commit(PHASE)
    assert [key.phase for key in read_run(run.directory).keys] == [CALIBRATION, WARM_UP], "kept until it is resumed"
    with RunWriter.resume(run.directory) as again:
        assert [key.phase for key in read_run(run.directory).keys] == [CALIBRATION]
        measure(again, FIRST)
    assert [key.phase for key in read_run(run.directory).keys] == [CALIBRATION, WARM_UP, MEASURED]
    assert (run.directory / "abandoned" / "000001" / "phase.parquet").exists()
    assert "repeated" in [flag.name for flag in again.manifest.flags]


def test_one_phase_is_committed_once(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, manifest()) as run:
        first = run.begin(FIRST, WARM_UP)
        with pytest.raises(ValueError, match="begun before"):
            run.begin(FIRST, WARM_UP)
        first.abandon()
        run.begin(FIRST, WARM_UP).commit(PHASE)
        with pytest.raises(ValueError, match="begun before"):
            run.begin(FIRST, WARM_UP)
        with pytest.raises(ValueError, match="lunch is not a phase"):
            run.begin(FIRST, "lunch")


def test_a_row_that_does_not_fit_its_table_leaves_no_trace(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, manifest()) as run:
        segment = run.begin(FIRST, MEASURED)
        with pytest.raises((TypeError, ValueError)):
            segment.commit(PHASE._replace(clients=None))  # type: ignore[arg-type]
        assert read_run(run.directory).keys == []
        assert list((run.directory / UNFINISHED).iterdir()) == []


class NoRoom(io.FileIO):
    def write(self, data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_says_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that is given up must not complete its file when it is forgotten."""
    said: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)

    def full(path: Path, mode: str, **options: object) -> object:
        return io.BufferedWriter(NoRoom(path, "wb"), 1 << 20)

    with RunWriter.create(tmp_path, manifest()) as run:
        segment = run.begin(FIRST, MEASURED)
        segment.add(samples())
        with monkeypatch.context() as patch:
            patch.setattr("ostler.lab.store.segments.open", full, raising=False)
            with pytest.raises(RunNotWritten, match="the disk is full"):
                segment.commit(PHASE)
        del segment
    del run
    gc.collect()
    assert said == []


@pytest.mark.parametrize("damage", ["cut", "lost", "another run's"])
def test_damaged_phases_are_set_aside_and_measured_again(tmp_path: Path, damage: str) -> None:
    with RunWriter.create(tmp_path, manifest(points=1)) as run:
        for point in run.remaining():
            measure(run, point)
    file = run.directory / "segments" / "000001" / "operation.parquet"
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:50])
    elif damage == "lost":
        file.unlink()
    else:
        note = file.with_name("segment.json")
        note.write_text(note.read_text().replace(run.manifest.run, "stranger"))
    with RunWriter.resume(run.directory) as again:
        assert again.remaining() == [FIRST]
        measure(again, FIRST)
        again.finish()
    found = read_run(run.directory)
    assert found.condition is RunCondition.COMPLETE
    assert validate(found) == []
    assert "repeated" in [flag.name for flag in found.manifest.flags]


@pytest.mark.parametrize("name", ["environment", "parameters"])
def test_a_manifest_whose_parts_have_no_names_is_damaged(tmp_path: Path, name: str) -> None:
    write_manifest(tmp_path, manifest())
    content = json.loads((tmp_path / MANIFEST).read_text())
    (tmp_path / MANIFEST).write_text(json.dumps({**content, name: [1]}))
    with pytest.raises(RunUnreadable, match=f"is damaged.*{name} has no names"):
        read_manifest(tmp_path)


def test_a_run_has_one_owner(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, manifest()) as run:
        with pytest.raises(RunUnreadable, match="being written by another process"):
            RunWriter.resume(run.directory)
        with pytest.raises(FileExistsError, match="already"):
            RunWriter.create(tmp_path, manifest())
        assert is_owned(run.directory)


def test_a_complete_run_is_not_resumed(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, manifest(points=0)) as run:
        run.finish()
    with pytest.raises(RunUnreadable, match="complete: there is nothing to resume"):
        RunWriter.resume(run.directory)


def test_flags_and_late_findings_reach_the_manifest_at_once(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, manifest()) as run:
        run.flag("noise", "The probe differed by 31 %.")
        run.flag("noise", "The probe differed by 31 %.")
        run.amend_environment({"peers": {"redis": "7.0"}})
        found = read_manifest(run.directory)
    assert [flag.text for flag in found.flags] == ["The probe differed by 31 %."]
    assert found.environment == {"kernel": {"release": "6.1"}, "peers": {"redis": "7.0"}}


def test_a_schema_from_the_future_is_refused_with_advice(tmp_path: Path) -> None:
    write_manifest(tmp_path, replace(manifest(), schema_version=SCHEMA_VERSION + 1))
    with pytest.raises(RunUnreadable, match=r"schema version \d+.*a newer one"):
        read_run(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema_version": 0}', '{"schema_version": 1}', '{"a": "\xff"}'])
def test_a_damaged_manifest_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text, encoding="latin-1")
    with pytest.raises(RunUnreadable, match=MANIFEST):
        read_run(tmp_path)


def test_a_directory_that_is_no_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(RunUnreadable, match="is not the directory of a run"):
        read_run(tmp_path)


def test_manifests_keep_what_later_versions_add_out_of_the_way(tmp_path: Path) -> None:
    write_manifest(tmp_path, manifest())
    content = json.loads((tmp_path / MANIFEST).read_text())
    (tmp_path / MANIFEST).write_text(json.dumps({**content, "colour": "green"}))
    assert read_manifest(tmp_path) == manifest()


def test_a_manifest_is_replaced_and_never_changed(tmp_path: Path) -> None:
    write_manifest(tmp_path, manifest())
    with open(tmp_path / MANIFEST, encoding="utf-8") as old:
        write_manifest(tmp_path, replace(manifest(), reason="another"))
        assert json.load(old)["reason"] == "", "who reads it meanwhile sees the old one whole"
    assert read_manifest(tmp_path).reason == "another"
    assert [path.name for path in tmp_path.iterdir()] == [MANIFEST]


def test_runs_are_listed_and_those_being_made_are_not(tmp_path: Path) -> None:
    names = sorted(new_run_name("rr") for _ in range(3))
    for name in names:
        RunWriter.create(tmp_path, replace(manifest(), run=name)).stop("enough")
    (tmp_path / ".rr.new").mkdir()
    assert [path.name for path in stored_runs(tmp_path)] == names
    assert stored_runs(tmp_path / "nowhere") == []


def test_files_are_plain_parquet_and_tell_their_version(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, manifest()) as run:
        measure(run, FIRST)
    for path in run.directory.glob("segments/*/*.parquet"):
        found = pq.read_schema(path).metadata
        assert found[b"ostler.table"].decode() == path.stem
        assert int(found[b"ostler.schema_version"]) == SCHEMA_VERSION
        kinds = {str(column.physical_type) for column in pq.ParquetFile(path).schema}
        assert "INT96" not in kinds


def test_many_rows_go_to_the_file_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostler.lab.store.segments.BUFFERED_ROWS_MAX", 10)
    with RunWriter.create(tmp_path, manifest()) as run:
        segment = run.begin(FIRST, MEASURED)
        segment.add(StatisticRow(0, "log", number, "", "forces", 0, number) for number in range(25))
        place = segment.commit(PHASE)
    assert pq.ParquetFile(place / "statistic.parquet").num_row_groups == 3
    assert read_run(run.directory).table("statistic")["value"].to_pylist() == list(range(25))


def test_a_place_where_nothing_can_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunNotWritten, match=r"could not be written to .*file"):
        RunWriter.create(tmp_path / "file", manifest())


def test_a_full_disk_is_called_by_its_name(tmp_path: Path) -> None:
    with (
        pytest.raises(RunNotWritten, match=r"the disk is full\. .* Make room there, and resume"),
        explain_errors(tmp_path),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_the_environment_tells_what_bears_on_figures(tmp_path: Path) -> None:
    found = describe_environment(tmp_path)
    wanted = {"machine", "kernel", "disk", "force", "processors", "limits", "versions", "compiled", "revision"}
    assert set(found) == wanted
    assert json.loads(json.dumps(found)) == found, "it goes into a manifest"
    versions, disk = found["versions"], found["disk"]
    assert isinstance(versions, dict)
    assert isinstance(disk, dict)
    assert {"ostler", "python", "pyarrow", "psutil", "openssl"} <= set(versions)
    assert disk["free_bytes"] <= disk["total_bytes"]


def test_the_revision_is_that_of_the_sources(tmp_path: Path) -> None:
    assert revision(tmp_path) == "", "not in a repository"
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    sources = tmp_path / "src"
    sources.mkdir()
    (sources / "a.py").write_text("")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "a"]):
        subprocess.run([*git, *words], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    assert revision(sources) == head
    (sources / "a.py").write_text("changed = True")
    assert revision(sources) == head + "+"
