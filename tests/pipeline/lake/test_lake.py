"""The lake changes all at once, or not at all."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from ostler.pipeline.errors import PipelineError
from ostler.pipeline.lake.arrow_schemas import arrow_schema
from ostler.pipeline.lake.lake import CURRENT, LakeSnapshot, open_lake, table_directory
from ostler.pipeline.lake.lake_change import LakeChange
from ostler.pipeline.lake.tables import BRONZE, CONTESTANT, TABLES, LakeTable

EVENT = BRONZE["event"]


def write(change: LakeChange, table: LakeTable, rows: list[dict[str, object]], replaced: tuple[str, ...] = ()) -> int:
    """As Spark does: a directory for each value of the partition column, without that column in the files."""
    place = change.directory(table)
    schema = arrow_schema(table)
    stored = [name for name in table.names if name not in table.partitions]
    values = {str(row[table.partitions[0]]) for row in rows} if table.partitions else {""}
    for value in values:
        some = [row for row in rows if not table.partitions or row[table.partitions[0]] == value]
        directory = place / f"{table.partitions[0]}={value}" if table.partitions else place
        directory.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(some, schema).select(stored), directory / "part-0.parquet")
    return change.put(table, replaced)


def event(run: str, second: int = 0) -> dict[str, object]:
    key = {"run": run, "contestant": "ostler", "step": 0, "repetition": 0, "phase": "measured", "second": second}
    return key | {"kind": "note", "name": "lunch", "text": "was good", "value": None}


def contestant(run: str) -> dict[str, object]:
    return {"run": run, "contestant": "ostler", "kind": "ostler", "promise": "", "version": "", "driver": ""}


def change_once(root: Path, *runs: str, replaced: tuple[str, ...] = ()) -> LakeSnapshot:
    with LakeChange(root) as change:
        write(change, EVENT, [event(run, second) for run in runs for second in range(2)], replaced)
        write(change, CONTESTANT, [contestant(run) for run in runs])
        return change.commit({"steps": "1"})


def test_a_lake_that_is_not_there_has_no_rows(tmp_path: Path) -> None:
    lake = open_lake(tmp_path / "none")
    assert lake.version == 0
    for table in TABLES.values():
        assert lake.read(table).schema == arrow_schema(table)
        assert lake.read(table).num_rows == lake.rows(table) == 0


def test_what_was_committed_is_read_back(tmp_path: Path) -> None:
    change_once(tmp_path, "a", "b")
    lake = open_lake(tmp_path)
    assert lake.version == 1
    assert lake.made_from == {"steps": "1"}
    assert sorted(lake.read(EVENT)["run"].to_pylist()) == ["a", "a", "b", "b"]
    assert lake.read(EVENT, run=["b"]).to_pylist() == [event("b", 0), event("b", 1)]
    assert lake.read(EVENT, ["second"], run=["a"]).to_pylist() == [{"second": 0}, {"second": 1}]
    assert lake.read(CONTESTANT).to_pylist() == [contestant("a"), contestant("b")]


def test_a_lake_of_format_1_has_its_contestants_under_their_new_name(tmp_path: Path) -> None:
    change_once(tmp_path, "a", "b")
    current = tmp_path / "current.json"
    content = json.loads(current.read_text())
    assert content["format"] == 2
    # As the release before wrote it.
    content["format"] = 1
    content["tables"]["entrant"] = content["tables"].pop("contestant")
    for part in content["tables"]["entrant"]:
        part["path"] = part["path"].replace("contestant", "entrant")
    current.write_text(json.dumps(content))
    (tmp_path / "bronze" / "contestant").rename(tmp_path / "bronze" / "entrant")
    lake = open_lake(tmp_path)
    assert lake.read(CONTESTANT).to_pylist() == [contestant("a"), contestant("b")]
    change_once(tmp_path, "c")
    assert "entrant" not in json.loads(current.read_text())["tables"]
    lake = open_lake(tmp_path)
    assert lake.read(CONTESTANT).to_pylist() == [contestant("c")], "the table was written again"
    assert [each.split("/")[1] for each in lake.unused] == ["entrant"], "and the old files are removed next time"


def test_partitions_are_replaced_and_others_stay(tmp_path: Path) -> None:
    change_once(tmp_path, "a", "b", "c")
    with LakeChange(tmp_path) as change:
        assert write(change, EVENT, [event("b", 7)], replaced=("b", "c")) == 1
        change.commit({})
    lake = open_lake(tmp_path)
    assert [(row["run"], row["second"]) for row in lake.read(EVENT).to_pylist()] == [("a", 0), ("a", 1), ("b", 7)]
    assert lake.read(CONTESTANT).num_rows == 3


def test_without_commit_nothing_has_changed(tmp_path: Path) -> None:
    before = change_once(tmp_path, "a")
    with LakeChange(tmp_path) as change:
        write(change, EVENT, [event("b")])
        assert change.now.read(EVENT).num_rows == 3
    assert open_lake(tmp_path) == before
    (left,) = (tmp_path / table_directory(EVENT)).iterdir()
    assert before.parts_of(EVENT)[0].path.startswith(str(left.relative_to(tmp_path)))


def test_what_a_cut_change_left_is_removed_by_the_next(tmp_path: Path) -> None:
    change_once(tmp_path, "a")
    left = tmp_path / table_directory(EVENT) / "version=2" / "run=x"
    left.mkdir(parents=True)
    (left / "part-0.parquet").write_bytes(b"half of a")
    change_once(tmp_path, "b")
    assert not left.exists()
    assert sorted(set(open_lake(tmp_path).read(EVENT)["run"].to_pylist())) == ["a", "b"]


def test_a_spark_that_lives_on_does_not_write_where_the_next_change_does(tmp_path: Path) -> None:
    with LakeChange(tmp_path) as cut:
        first = cut.directory(CONTESTANT)
    with LakeChange(tmp_path) as change:
        assert change.directory(CONTESTANT) == change.directory(CONTESTANT) != first
        first.mkdir(parents=True)
        (first / "part-0.parquet").write_bytes(b"late")
        write(change, CONTESTANT, [contestant("b")])
        change.commit({})
    assert open_lake(tmp_path).read(CONTESTANT).to_pylist() == [contestant("b")]
    change_once(tmp_path, "b")
    assert not first.exists()


def test_partitions_that_a_cut_change_should_have_removed_are_removed_by_the_next(tmp_path: Path) -> None:
    first = change_once(tmp_path, "a", "b")
    gone, kept = (tmp_path / part.path for part in first.parts_of(EVENT))
    change_once(tmp_path, "a")
    # As if the change to version 3 had been cut after it was in force, and before it cleared up.
    content = json.loads((tmp_path / CURRENT).read_text())
    (tmp_path / CURRENT).write_text(json.dumps(content | {"unused": []}))
    change_once(tmp_path, "a")
    assert not gone.exists()
    assert kept.exists()
    assert open_lake(tmp_path).read(EVENT).num_rows == 4


def test_who_reads_the_version_before_can_go_on(tmp_path: Path) -> None:
    first = change_once(tmp_path, "a")
    change_once(tmp_path, "a")
    assert first.read(EVENT).num_rows == 2
    assert first.read(CONTESTANT).num_rows == 1
    change_once(tmp_path, "a")
    with pytest.raises(PipelineError, match="cannot be read"):
        first.read(CONTESTANT)
    assert open_lake(tmp_path).read(EVENT).num_rows == 2


def test_only_one_changes_a_lake(tmp_path: Path) -> None:
    with LakeChange(tmp_path), pytest.raises(PipelineError, match="Somebody else is changing"):
        LakeChange(tmp_path)
    change_once(tmp_path, "a")


def test_a_file_is_no_lake(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(PipelineError, match="is a file"):
        open_lake(path)
    with pytest.raises(PipelineError, match="cannot be written"):
        LakeChange(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "Restore the lake"),
        ("[]", "Restore the lake"),
        ('{"format": 1}', "Restore the lake"),
        ('{"format": 1, "version": "7", "tables": {}, "unused": [], "made_from": {}}', "Restore the lake"),
        ("[" * 100_000, "Restore the lake"),
        ("", "Restore the lake"),
        ('{"format": 1, "version": 1, "tables": {"run": 7}, "unused": [], "made_from": {}}', "Restore the lake"),
        ('{"format": 3}', "is a lake of format 3, and this version of ostler knows up to 2"),
    ],
)
def test_what_is_in_force_must_be_readable(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / CURRENT).write_text(content)
    with pytest.raises(PipelineError, match=words):
        open_lake(tmp_path)
    with pytest.raises(PipelineError, match=words):
        LakeChange(tmp_path)


def test_damaged_files_are_told(tmp_path: Path) -> None:
    lake = change_once(tmp_path, "a")
    (part,) = lake.parts_of(EVENT)
    path = tmp_path / part.path / "part-0.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(PipelineError, match="run the pipeline again"):
        lake.read(EVENT)


def test_a_file_that_was_taken_away_is_told(tmp_path: Path) -> None:
    lake = change_once(tmp_path, "a")
    (part,) = lake.parts_of(EVENT)
    (tmp_path / part.path / "part-0.parquet").unlink()
    with pytest.raises(PipelineError, match="has 0 rows instead of 2"):
        lake.read(EVENT)


def test_tables_of_newer_versions_are_left_alone(tmp_path: Path) -> None:
    change_once(tmp_path, "a")
    content = json.loads((tmp_path / CURRENT).read_text())
    content["tables"]["weather"] = [{"path": "gold/weather/version=1", "values": {}, "rows": 3}]
    (tmp_path / CURRENT).write_text(json.dumps(content))
    after = change_once(tmp_path, "b")
    assert [part.path for part in after.parts["weather"]] == ["gold/weather/version=1"]


def test_a_disk_that_is_full_at_the_end_leaves_the_tables(tmp_path: Path) -> None:
    before = change_once(tmp_path, "a")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with LakeChange(tmp_path) as change:
        write(change, EVENT, [event("b")])
        resource.setrlimit(resource.RLIMIT_FSIZE, (16, hard))
        try:
            with pytest.raises(
                PipelineError, match=r"could not be changed: File too large\. Tables are as they were\."
            ):
                change.commit({})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert open_lake(tmp_path) == before
    assert change_once(tmp_path, "b").version == 2


def test_what_was_written_and_cannot_be_read_back_is_told(tmp_path: Path) -> None:
    before = change_once(tmp_path, "a")
    with LakeChange(tmp_path) as change:
        place = change.directory(CONTESTANT)
        place.mkdir(parents=True)
        (place / "part-0.parquet").write_bytes(b"half of a")
        with pytest.raises(PipelineError, match="What was written of contestant cannot be read back"):
            change.put(CONTESTANT)
    assert open_lake(tmp_path) == before
    assert not place.exists()
