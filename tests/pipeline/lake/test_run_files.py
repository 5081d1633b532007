"""Runs that are taken and runs that are refused, and the soundness of their files: all without Spark."""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from tests.pipeline.lab_run_samples import change_manifest, make_part_of_run, make_run, resume_run

from ostler.lab.store.schema import TABLES
from ostler.lab.store.segments import crc32_of
from ostler.pipeline.errors import PipelineError
from ostler.pipeline.lake.run_files import FoundRun, check_files, find_runs


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs"), "run-1", steps=1)


@pytest.fixture
def run(whole_run: Path, tmp_path: Path) -> Path:
    """A run that a test may spoil."""
    shutil.copytree(whole_run, tmp_path / "run-1")
    return tmp_path / "run-1"


def only(directory: Path) -> FoundRun:
    (found,), refused = find_runs([directory])
    assert refused == []
    return found


def test_runs_are_found_by_themselves_and_by_their_directory(run: Path) -> None:
    for places in ([run], [run.parent], [run, run.parent, run]):
        found, refused = find_runs(places)
        assert [each.name for each in found] == ["run-1"]
        assert refused == []


def test_a_place_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="There is no directory"):
        find_runs([tmp_path / "none"])


def test_runs_that_cannot_be_taken_are_refused_and_others_found(run: Path) -> None:
    runs = run.parent
    newer, lost, none, same = (runs / name for name in ("newer", "lost", "none", "same"))
    for each in (newer, lost, same):
        shutil.copytree(run, each)
    change_manifest(newer, run="newer", schema_version=99)
    change_manifest(lost, run="lost")
    shutil.rmtree(lost / "segments")
    none.mkdir()
    change_manifest(same, reason="another content under the same name")
    found, refused = find_runs([runs])
    assert [each.name for each in found] == ["run-1"]
    words = {each.directory.name: each.why for each in refused}
    assert "has schema version 99, and this version of ostler knows up to 2" in words["newer"]
    assert "lost its directory" in words["lost"]
    assert "is not the directory of a run" in words["none"]
    assert "is named run-1 inside" in words["same"]
    assert len(words) == 4


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"schema_version": 1, "run": ' + "[" * 100_000, "nested too deep"),
        ('{"schema_version": 1, "run": ' + '{"a":' * 100_000, "nested too deep"),
        ("[" * 100_000 + "]" * 100_000, "nested too deep"),
        ("", "cannot be read"),
        ('{"schema_version": 1, "run": "run', "cannot be read"),
        ("\0" * 100, "cannot be read"),
        ('{"schema_version": true}', "is damaged"),
        ('{"schema_version": 1e300}', "has no schema_version"),
        ('{"schema_version": 1, "run": 7}', "is damaged"),
    ],
)
def test_a_manifest_that_makes_no_sense_refuses_its_run_only(run: Path, content: str, words: str) -> None:
    other = run.parent / "run-2"
    shutil.copytree(run, other)
    (other / "manifest.json").write_text(content)
    found, (refusal,) = find_runs([run.parent])
    assert [each.name for each in found] == ["run-1"]
    assert refusal.directory == other
    assert words in refusal.why
    assert len(refusal.why) < 400


def test_a_manifest_of_a_hundred_megabytes_is_not_read(run: Path) -> None:
    with open(run / "manifest.json", "r+b") as file:
        file.truncate(100 << 20)
    _, (refusal,) = find_runs([run])
    assert "is longer than 32 MiB, and no manifest is" in refusal.why


@pytest.mark.parametrize("name", ["", "__HIVE_DEFAULT_PARTITION__"])
def test_a_run_without_a_name_is_refused(run: Path, name: str) -> None:
    change_manifest(run, run=name)
    _, (refusal,) = find_runs([run])
    assert "does not name its run" in refusal.why


def test_notes_that_are_nested_too_deep_refuse_their_run(run: Path) -> None:
    segment = sorted((run / "segments").iterdir())[0]
    (segment / "segment.json").write_text("[" * 100_000)
    _, (refusal,) = find_runs([run])
    assert "nested too deep" in refusal.why


def test_a_run_that_may_not_be_read_is_refused(run: Path) -> None:
    manifest = run / "manifest.json"
    manifest.unlink()
    manifest.mkdir()
    _, (refusal,) = find_runs([run])
    assert "cannot be read" in refusal.why


def test_a_run_that_is_being_written_waits(run: Path) -> None:
    change_manifest(run, state="running")
    with open(run / "lock", "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found, (refusal,) = find_runs([run])
        assert found == []
        assert "is still being written" in refusal.why
    assert only(run).stored.condition == "interrupted"


def test_content_changes_when_a_run_goes_on(tmp_path: Path) -> None:
    directory = make_part_of_run(tmp_path, "run-2", points=2)
    before = only(directory)
    assert only(directory).content == before.content
    resume_run(directory)
    assert only(directory).content != before.content


def test_sound_files_are_listed_with_their_rows(run: Path) -> None:
    checked = check_files([only(run)])
    assert checked.problems == ()
    for table, paths in checked.sound.items():
        assert paths == tuple(sorted(run.glob(f"segments/*/{table}.parquet")))
        assert checked.rows[table] == sum(pq.read_metadata(path).num_rows for path in paths)
    assert set(checked.sound) == set(TABLES)


def rewrite(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Another file, and a segment that says that it is the right one."""
    table = change(pq.read_table(path, partitioning=None))
    pq.write_table(table, path)
    said = json.loads((path.parent / "segment.json").read_text())
    for stored in said["files"]:
        if stored["table"] == path.stem:
            stored |= {"bytes": path.stat().st_size, "crc32": crc32_of(path), "rows": table.num_rows}
    (path.parent / "segment.json").write_text(json.dumps(said))


def flip_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def say_more_rows(path: Path) -> None:
    note = path.parent / "segment.json"
    said = json.loads(note.read_text())
    for stored in said["files"]:
        stored["rows"] += stored["table"] == path.stem
    note.write_text(json.dumps(said))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def rewrite_bytes(path: Path, content: bytes) -> None:
    """Other bytes, and a segment that says that they are the right ones."""
    path.write_bytes(content)
    said = json.loads((path.parent / "segment.json").read_text())
    for stored in said["files"]:
        if stored["table"] == path.stem:
            stored |= {"bytes": len(content), "crc32": crc32_of(path)}
    (path.parent / "segment.json").write_text(json.dumps(said))


def zero_footer(path: Path) -> None:
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    rewrite_bytes(path, content[: -8 - length] + bytes(length) + content[-8:])


def cut_and_say_so(path: Path) -> None:
    rewrite_bytes(path, path.read_bytes()[:-100])


def empty_and_say_so(path: Path) -> None:
    rewrite_bytes(path, b"")


def footer_longer_than_file(path: Path) -> None:
    rewrite_bytes(path, path.read_bytes()[:-8] + (0x7FFF_FFFF).to_bytes(4, "little") + b"PAR1")


def say_ten_gigabytes(path: Path) -> None:
    note = path.parent / "segment.json"
    said = json.loads(note.read_text())
    for stored in said["files"]:
        stored["bytes"] = 10 << 30 if stored["table"] == path.stem else stored["bytes"]
    note.write_text(json.dumps(said))


def with_another_column(path: Path) -> None:
    rewrite(path, lambda table: table.append_column("colour", pa.array(["red"] * table.num_rows)))


def of_other_types(path: Path) -> None:
    def change(table: pa.Table) -> pa.Table:
        at = table.schema.get_field_index("count")
        return table.set_column(at, "count", table["count"].cast(pa.string()))

    rewrite(path, change)


def without_column(path: Path) -> None:
    rewrite(path, lambda table: table.drop_columns(["second"]))


def of_another_step(path: Path) -> None:
    at = TABLES["operation"].columns.index(next(each for each in TABLES["operation"].columns if each.name == "step"))
    rewrite(
        path, lambda table: table.set_column(at, table.schema.field("step"), pa.array([9] * table.num_rows, "int32"))
    )


@pytest.mark.parametrize(
    ("spoil", "rule", "words"),
    [
        (flip_byte, "file", "is not the file that was written"),
        (cut, "file", "is not the file that was written"),
        (cut_and_say_so, "file", "cannot be read"),
        (empty_and_say_so, "file", "cannot be read"),
        (zero_footer, "file", "cannot be read"),
        (footer_longer_than_file, "file", "cannot be read"),
        (say_ten_gigabytes, "file", "is not the file that was written"),
        (Path.unlink, "file", "cannot be read"),
        (with_another_column, "columns", "does not have the columns of its table"),
        (of_other_types, "columns", "does not have the columns of its table"),
        (without_column, "columns", "does not have the columns of its table"),
        (say_more_rows, "rows", "rows instead of"),
        (of_another_step, "key", "has rows whose step is not 0"),
    ],
)
def test_a_segment_with_a_damaged_file_is_set_aside_whole(
    run: Path, spoil: Callable[[Path], None], rule: str, words: str
) -> None:
    whole = check_files([only(run)])
    segment = sorted((run / "segments").iterdir())[3]
    spoil(segment / "operation.parquet")
    checked = check_files([only(run)])
    assert not [path for paths in checked.sound.values() for path in paths if path.parent == segment]
    assert sum(checked.rows.values()) + sum(each.rows for each in checked.problems) - (rule == "rows") == sum(
        whole.rows.values()
    )
    reasons = {each.table: (each.rule, each.reason) for each in checked.problems}
    assert reasons["operation"][0] == rule
    assert words in reasons["operation"][1]
    assert reasons["latency"][0] == "segment"
    assert words in reasons["latency"][1]
    assert {each.run for each in checked.problems} == {"run-1"}


def test_a_segment_without_words_is_set_aside(run: Path) -> None:
    segment = sorted((run / "segments").iterdir())[0]
    (segment / "segment.json").write_text("{}")
    (problem,) = check_files([only(run)]).problems
    assert (problem.rule, problem.rows) == ("segment", 0)
    assert "does not say what it is" in problem.reason


def test_a_segment_without_its_phase_is_set_aside(run: Path) -> None:
    segment = sorted((run / "segments").iterdir())[0]
    said = json.loads((segment / "segment.json").read_text())
    said["files"] = [each for each in said["files"] if each["table"] != "phase"]
    (segment / "segment.json").write_text(json.dumps(said))
    problems = check_files([only(run)]).problems
    assert "has not exactly one row in the table of phases" in problems[0].reason


def test_a_phase_that_is_there_twice_is_taken_once(run: Path) -> None:
    first, *_, last = sorted((run / "segments").iterdir())
    shutil.copytree(first, last.with_name("000999"))
    checked = check_files([only(run)])
    assert {each.rule for each in checked.problems} == {"once"}
    assert first / "phase.parquet" in checked.sound["phase"]
