"""`ostler pipeline compare`: which comparisons are told, and how it ends."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from ostler.cli.framework.commands import CommandParser
from ostler.cli.main import main
from ostler.cli.pipeline import compare as pipeline_compare
from ostler.pipeline.lake.tables import COMPARISON

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def _row(kind: str, subject: str, **others: Any) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(COMPARISON.names)
    texts = ("scenario", "series", "left_name", "right_name", "left_run", "right_run")
    row |= dict.fromkeys(texts, "") | {"kind": kind, "subject": subject, "metric": "rate", "verdict": "same"}
    row |= {"left_value": 100.0, "right_value": 90.0, "change_percent": -10.0, "noise_percent": 0.0}
    return row | {"tolerance_percent": 6.0} | others


_ROWS = [
    _row("ratio", "TLS to plain", published_ratio=0.66, our_ratio=0.5, published_source="A report", verdict="worse"),
    _row("ratio", "size to size", published_ratio=0.25, verdict="not comparable", scenario="appl-c1"),
    _row(
        "release",
        "Ostler: 2 after 1",
        verdict="worse",
        left_run="a",
        right_run="b",
        low_percent=-12.0,
        high_percent=-8.0,
    ),
    _row("release", "Ostler: 2 after 1", clients=4, left_run="a", right_run="b"),
    _row("product", "Ostler to RabbitMQ", metric="p99 response time, us"),
]


def _lake(root: Path, rows: list[dict[str, Any]]) -> Path:
    """A lake with these comparisons."""
    from ostler.pipeline.lake.arrow_schemas import arrow_schema
    from ostler.pipeline.lake.lake import LakePart, LakeSnapshot, as_json

    directory = root / "gold" / "comparison" / "version=1"
    directory.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=arrow_schema(COMPARISON)), directory / "part.parquet")
    part = LakePart("gold/comparison/version=1", {}, len(rows))
    (root / "current.json").write_text(as_json(LakeSnapshot(root, 1, parts={COMPARISON.name: (part,)})))
    return root


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return _lake(tmp_path / "lake", _ROWS)


def _run(*words: str) -> int:
    parser: argparse.ArgumentParser = CommandParser()
    pipeline_compare.add_command(parser.add_subparsers())
    arguments = parser.parse_args(["compare", *words])
    return int(arguments.run(arguments))


def test_rates_at_peaks_are_told(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("--lake", str(lake)) == 0
    told = capsys.readouterr().out
    assert "Ostler: 2 after 1" in told
    assert "0.660  0.500" in told
    assert "A report" in told
    assert "-12" in told
    assert "RabbitMQ" not in told
    assert "size to size" not in told
    assert "2 comparisons with figures of ours: 0 better, 2 worse, 0 same, 0 not comparable." in told
    assert "Not shown: 1 published ratio without one of ours. --published shows it." in told
    assert "Not shown: 2 figures other than rates at peaks. --all shows them." in told
    assert "--history" not in told
    assert told.index("Release to release") < told.index("Ratios of published reports")


def test_all_and_filters(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def subjects(*words: str) -> list[str]:
        assert _run("--lake", str(lake), "--json", *words) == 0
        return [row["subject"] for row in json.loads(capsys.readouterr().out)["comparisons"]]

    assert len(subjects("--all")) == 4
    assert len(subjects("--all", "--published")) == 5
    assert subjects("--scenario", "appl-c1") == []
    assert subjects("--scenario", "appl-c1", "--published") == ["size to size"]
    assert subjects("--run", "b") == ["Ostler: 2 after 1"]
    assert subjects("--kind", "product", "--all") == ["Ostler to RabbitMQ"]


def _line(kind: str, subject: str, left: str, right: str, **others: Any) -> dict[str, Any]:
    return _row(kind, subject, scenario="s", left_run=f"s-{left}", right_run=f"s-{right}", **others)


_HISTORY = [
    _line("release", "Ostler: 2 after 1", "a", "b", verdict="worse"),
    _line("repeat", "Ostler, the same again", "b", "c"),
    _line("release", "Ostler: 3 after 2", "c", "d", left_repetitions=1, right_repetitions=3),
    _line("repeat", "RabbitMQ, the same again", "a", "c"),
]


def test_the_latest_run_of_each_is_told_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = str(_lake(tmp_path / "lake", _HISTORY))

    def subjects(*words: str) -> list[str]:
        _run("--lake", lake, "--json", *words)
        return [row["subject"] for row in json.loads(capsys.readouterr().out)["comparisons"]]

    # Nobody came after c among those of RabbitMQ.
    assert subjects() == ["Ostler: 3 after 2", "RabbitMQ, the same again"]
    assert len(subjects("--history")) == 4
    assert subjects("--run", "s-b") == ["Ostler: 2 after 1", "Ostler, the same again"]
    # What was worse and has been mended is not held against the latest.
    assert _run("--lake", lake, "--check") == 0
    told = capsys.readouterr()
    assert "c and d" in told.out
    assert "none, measured once" in told.out
    assert "1, 3" in told.out
    assert "Not shown: 2 comparisons of earlier runs. --history shows them." in told.out
    assert told.err == "Check: Of 1 comparison of releases none is worse.\n"
    assert _run("--lake", lake, "--check", "--history") == 1
    assert capsys.readouterr().err == "Check: Of 2 comparisons of releases 1 is worse.\n"


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (-8.0, 12.0, "-8.0 % to +12 %"),
        (-99.7, -60.0, "-99.7 % to -60 %"),
        (-99.999, 5e6, "below -99.9 % to above +1,000 %"),
    ],
)
def test_ends_of_intervals(low: float, high: float, text: str) -> None:
    from ostler.cli.pipeline.compare_view import interval_text

    assert interval_text(_row("release", "", low_percent=low, high_percent=high)) == text


def test_no_interval_of_what_was_measured_once() -> None:
    from ostler.cli.pipeline.compare_view import interval_text

    assert interval_text(_row("release", "", left_repetitions=3, right_repetitions=1)) == "none, measured once"
    assert interval_text(_row("release", "", left_repetitions=3, right_repetitions=3)) == ""


def test_check(lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("--lake", str(lake), "--check") == 1
    for words in (("--kind", "ratio"), ("--scenario", "appl-c1", "--json")):
        capsys.readouterr()
        assert _run("--lake", str(lake), "--check", *words) == 3
        assert "nothing was checked" in capsys.readouterr().err
    unlike = _lake(tmp_path / "unlike", [_row("release", "Ostler: 2 after 1", verdict="not comparable")])
    assert _run("--lake", str(unlike), "--check") == 3


def test_names_that_the_lake_does_not_know_are_refused(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A build that lets 3 pass, for nothing to compare, must not let a slip of the pen pass."""
    assert _run("--lake", str(lake), "--check", "--run", "none") == 2
    assert "The lake has no run 'none'." in capsys.readouterr().err
    assert _run("--lake", str(lake), "--check", "--scenario", "appl-c2") == 2
    assert "The lake has no scenario 'appl-c2'. Was appl-c1 meant?" in capsys.readouterr().err


@pytest.mark.parametrize(("tolerance", "text"), [(6.0, "-5.7 % to +6.0 %"), (248.0, "-71 % to +248 %")])
def test_both_ends_of_a_tolerance(tolerance: float, text: str) -> None:
    from ostler.cli.pipeline.compare_view import tolerance_text

    assert tolerance_text(tolerance) == text


def test_nothing_to_tell(lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("--lake", str(lake), "--scenario", "appl-c1") == 0
    assert "Nothing of ours to compare" in capsys.readouterr().out
    assert _run("--lake", str(tmp_path / "elsewhere")) == 2
    assert "ostler pipeline run RUNS" in capsys.readouterr().err


def test_missing_packages_have_a_status_of_their_own(
    lake: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostler.cli.pipeline.options.find_spec", lambda name: None)
    for words in (["compare", "--check"], ["validate"], ["report"]):
        assert main(["pipeline", *words, "--lake", str(lake)]) == 4
        assert f"ostler pipeline {words[0]}: it needs pyarrow" in capsys.readouterr().err
