"""`ostler simulate`: seeds, a failing seed with the command that repeats it, and traces."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ostler.cli.main import main
from ostler.testing.simulation.machine import ProcessFile


def test_seeds_without_faults(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--seeds", "2", "--steps", "0"]) == 0
    assert "2 seeds: nothing is wrong." in capsys.readouterr().out


def test_a_seed_prints_its_trace_hash_and_a_trace_file_does_not_change_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", "--seed", "7", "--steps", "1"]) == 0
    first = capsys.readouterr().out
    assert re.search(r"seed 7: nothing is wrong. trace [0-9a-f]{16}, \d+ events", first)
    assert main(["simulate", "--seed", "7", "--steps", "1", "--trace", str(tmp_path / "trace")]) == 0
    assert capsys.readouterr().out == first
    assert "starts life 1" in (tmp_path / "trace").read_text()


def test_a_failing_seed_is_printed_with_the_command_that_repeats_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def force(self: ProcessFile) -> None:
        raise AssertionError("the disk is on fire")

    monkeypatch.setattr(ProcessFile, "force", force)
    assert main(["simulate", "--seeds", "5", "--steps", "1"]) == 1
    printed = capsys.readouterr()
    assert "seed 0 fails" in printed.out
    assert "ostler simulate --seed 0 --steps 1 --trace seed-0.txt" in printed.out
    assert "Traceback" in printed.err


def test_a_trace_is_for_one_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["simulate", "--seeds", "2", "--trace", str(tmp_path / "trace")])
    assert refused.value.code == 36
    assert "single seed" in capsys.readouterr().err
