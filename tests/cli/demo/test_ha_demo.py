"""`ostler ha demo`: it kills leaders, counts, and leaves nothing behind, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

PATIENCE_SECONDS = 180.0


def start(directory: Path, *options: str) -> subprocess.Popen[str]:
    program = [sys.executable, "-m", "ostler.cli.main", "ha", "demo", "--directory", str(directory), *options]
    environment = {**os.environ, "COLUMNS": "160", "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(program, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def read_until(process: subprocess.Popen[str], text: str) -> str:
    assert process.stdout is not None
    found = ""
    for line in process.stdout:
        found += line
        if text in line:
            return found
    raise AssertionError(f"{text!r} was not printed: {found}")


def processes_of(directory: Path) -> list[str]:
    """The processes that have the directory in their command line."""
    found = []
    for each in psutil.process_iter():
        try:
            words = " ".join(each.cmdline())
        except psutil.Error:
            continue
        if str(directory) in words:
            found.append(words)
    return found


def wait_until(is_so: Callable[[], bool], missing: Callable[[], str]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, missing()
        time.sleep(0.02)


@pytest.mark.slow
def test_kills_the_leader_and_loses_nothing(tmp_path: Path) -> None:
    root = tmp_path / "trial"
    process = start(root, "--failovers", "1", "--switches", "1", "--arbiter", "file", "--lease", "2", "--keep")
    shown = read_until(process, "ostler rdqmstatus -m QM1@beta")
    assert "Nothing was lost, and nothing came twice." in shown
    assert f"export OSTLER_DATA={root}" in shown
    assert "alpha is gone, " in shown
    assert [shown.count(each) for each in ("$ kill -9 ", "$ ostler endmqm -s -r -i QM1@")] == [1, 1]
    wait_until(
        lambda: len([each for each in processes_of(root) if "strmqm" in each]) == 3,
        lambda: f"three were to run: {processes_of(root)}",
    )
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_SECONDS) == 0
    wait_until(lambda: not processes_of(root), lambda: f"these go on: {processes_of(root)}")
    assert not root.exists()


@pytest.mark.slow
def test_leaves_nothing_behind_when_it_is_interrupted(tmp_path: Path) -> None:
    root = tmp_path / "trial"
    process = start(root, "--arbiter", "file")
    read_until(process, "$ ostler strmqm QM1@beta")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, "ostler: interrupted" in output) == (130, True), output
    wait_until(lambda: not processes_of(root), lambda: f"these go on: {processes_of(root)}")
    assert not root.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--failovers", "0"), "a number from 1 to 1000"),
        (("--lease", "1"), "a number from 2 to 60"),
        (("--arbiter", "raft"), "invalid choice: 'raft'"),
    ],
)
def test_refuses_options_that_cannot_be(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    process = start(tmp_path / "trial", *options)
    output, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, said in output) == (39, True), output


def test_touches_no_directory_that_is_in_use(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    process = start(tmp_path)
    output, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, "is not an empty directory" in output) == (71, True), output
    assert (tmp_path / "mine").exists()
