"""`ostler pipeline compare`: which comparisons are told, and how it ends."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from ostler.cli import pipeline_compare
from ostler.cli.commands import CommandParser
from ostler.pipeline.tables import COMPARISON

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
        "release", "Ostler: 2 to 1", verdict="worse", left_run="a", right_run="b", low_percent=-12.0, high_percent=-8.0
    ),
    _row("release", "Ostler: 2 to 1", clients=4, left_run="a", right_run="b"),
    _row("product", "Ostler to RabbitMQ", metric="p99 response time, us"),
]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    from ostler.pipeline.arrow_schemas import arrow_schema
    from ostler.pipeline.lake import Part, Snapshot, as_json

    directory = tmp_path / "gold" / "comparison" / "version=1"
    directory.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(_ROWS, schema=arrow_schema(COMPARISON)), directory / "part.parquet")
    part = Part("gold/comparison/version=1", {}, len(_ROWS))
    (tmp_path / "current.json").write_text(as_json(Snapshot(tmp_path, 1, parts={COMPARISON.name: (part,)})))
    return tmp_path


def _run(*words: str) -> int:
    parser: argparse.ArgumentParser = CommandParser()
    pipeline_compare.add_command(parser.add_subparsers())
    arguments = parser.parse_args(["compare", *words])
    return int(arguments.run(arguments))


def test_rates_at_peaks_are_told(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("--lake", str(lake)) == 0
    told = capsys.readouterr().out
    assert "Ostler: 2 to 1" in told
    assert "0.660  0.500" in told
    assert "A report" in told
    assert "-12" in told
    assert "RabbitMQ" not in told
    assert "3 comparisons. Where ours are there: 0 better, 2 worse, 0 same, 0 not comparable." in told
    assert told.index("Release to release") < told.index("Ratios of published reports")


def test_all_and_filters(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def subjects(*words: str) -> list[str]:
        assert _run("--lake", str(lake), "--json", *words) == 0
        return [row["subject"] for row in json.loads(capsys.readouterr().out)["comparisons"]]

    assert len(subjects("--all")) == 5
    assert subjects("--scenario", "appl-c1") == ["size to size"]
    assert subjects("--run", "b") == ["Ostler: 2 to 1"]
    assert subjects("--kind", "product", "--all") == ["Ostler to RabbitMQ"]


def test_check(lake: Path) -> None:
    assert _run("--lake", str(lake), "--check") == 1
    assert _run("--lake", str(lake), "--check", "--kind", "ratio") == 0


def test_nothing_to_tell(lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("--lake", str(lake), "--run", "none") == 0
    assert "Nothing to compare" in capsys.readouterr().out
    assert _run("--lake", str(tmp_path / "elsewhere")) == 2
    assert "ostler pipeline run RUNS" in capsys.readouterr().err
