"""The bench command: what it lists, what it refuses, and one benchmark through the whole of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ostler.cli.main import main

pytest.importorskip("hdrh", reason="the laboratory's packages are not installed")


def test_list_shows_every_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [
        "put-get-cost", "mqi-verb-timing", "driver-overhead", "mqi-response-time", "mqsc-define", "mqsc-display",
        "topic-matching", "depth", "group-commit", "memory", "chlauth-restart", "chlauth-connect-cost", "connections",
        "request-reply", "restart",
    ]  # fmt: skip


def test_an_unknown_name_is_refused_with_a_hint(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["bench", "dept", "--output", str(tmp_path)]) == 2
    assert "did you mean depth?" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_benchmark_shows_a_table_and_writes_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    place, scratch = tmp_path / "results", tmp_path / "scratch"
    assert main(["bench", "depth", "--quick", "--output", str(place), "--scratch", str(scratch)]) == 0
    out = capsys.readouterr().out
    assert "by correlation id" in out
    assert "The bare probe took" in out
    read = json.loads((place / "depth.json").read_text())
    assert read["parameters"]["quick"] is True
    assert set(read["noise"]) == {"bare_pair_first_ns", "bare_pair_last_ns", "difference_percent"}
    assert read["cpu"]["steal_seconds_after"] >= read["cpu"]["steal_seconds_before"]
    assert (place / "depth.svg").read_text().startswith("<svg")
    assert list(scratch.iterdir()) == [], "queue managers that were measured are gone"
