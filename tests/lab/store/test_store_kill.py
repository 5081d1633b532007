"""A process that writes a run is killed before each of its file actions in turn: the run is always sound."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.lab.store import store_samples

from ostler.lab.store.run_reader import RunCondition, read_run, stored_runs
from ostler.lab.store.validation import validate

SECONDS_MAX = 60
NEVER = 0
# A phase takes about a dozen actions: from making the run to inside the second phase, and some that come later.
ACTIONS = (*range(1, 12), 17, 18, 19, 20, 21, 22, 23, 24, 25, 40)


def write(runs: Path, action: int) -> tuple[list[str], int]:
    """Run the program; the lines it wrote, and its exit status."""
    command = [sys.executable, store_samples.__file__, str(runs), str(action)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
    return ended.stdout.split(), ended.returncode


def check_cut(runs: Path, told: list[str]) -> None:
    """All that was said to be committed is there, and all that is there is sound."""
    for directory in stored_runs(runs):
        found = read_run(directory)
        assert found.condition == RunCondition.INTERRUPTED
        assert validate(found) == []
        there = [segment.directory.name for segment in found.segments]
        assert there[: len(told)] == told
        assert len(there) <= len(told) + 1, "at most one was committed and not yet told"
        return
    assert told == []


@pytest.mark.slow
@pytest.mark.parametrize("action", ACTIONS)
def test_a_run_survives_a_kill_before_any_file_action(tmp_path: Path, action: int) -> None:
    told, status = write(tmp_path, action)
    assert status == -signal.SIGKILL
    check_cut(tmp_path, told)
    check_finished(tmp_path)


def check_finished(runs: Path) -> None:
    """The next process completes the run."""
    lines, _ = write(runs, NEVER)
    assert lines[-1] == "finished"
    (directory,) = stored_runs(runs)
    found = read_run(directory)
    assert found.condition == RunCondition.COMPLETE
    assert validate(found) == []
    assert found.remaining() == []
    assert len(found.keys) == 12
    assert list((directory / "unfinished").iterdir()) == []


def test_a_run_survives_kill_after_kill(tmp_path: Path) -> None:
    """Each process dies a little later than the one before, the first ones while the run is being made."""
    for action in (2, 9, 30, 31, 44):
        _, status = write(tmp_path, action)
        assert status == -signal.SIGKILL
        for directory in stored_runs(tmp_path):
            found = read_run(directory)
            assert found.condition == RunCondition.INTERRUPTED
            assert validate(found) == []
    check_finished(tmp_path)
    (directory,) = stored_runs(tmp_path)
    assert "interrupted" in [flag.name for flag in read_run(directory).manifest.flags]


def test_what_cannot_be_written_is_told_and_harms_nothing_before(tmp_path: Path) -> None:
    """Files may grow to 4,000 bytes: a manifest fits, the histograms of the first phase do not."""
    command = [sys.executable, store_samples.__file__, str(tmp_path), str(NEVER), "4000"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    assert ended.returncode == 1
    assert "RunNotWritten: Samples could not be written to" in ended.stderr
    assert "Phases written before are complete. Mend that, and resume the run." in ended.stderr
    (directory,) = stored_runs(tmp_path)
    found = read_run(directory)
    assert found.condition == RunCondition.PARTIAL
    assert "File too large" in found.manifest.reason
    assert found.keys == []
    assert list((directory / "unfinished").iterdir()) == []
    check_finished(tmp_path)
