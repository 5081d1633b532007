"""`ostler qsg demo`: it kills a member under load, counts, and leaves nothing behind, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.demo.test_ha_demo import processes_of, read_until, wait_until

from ostler.lab.peers.packages import PeerUnavailable, unpack_packages
from ostler.lab.peers.redis import NAME, PACKAGES, PROOF

PATIENCE_SECONDS = 180.0


def start(directory: Path, *options: str) -> subprocess.Popen[str]:
    program = [sys.executable, "-m", "ostler.cli.main", "qsg", "demo", "--directory", str(directory), *options]
    environment = {**os.environ, "COLUMNS": "160", "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(program, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.mark.slow
def test_kills_a_member_and_loses_nothing(tmp_path: Path) -> None:
    root = tmp_path / "trial"
    process = start(root, "--seconds", "2", "--keep")
    shown = read_until(process, "PING QMGR CMDSCOPE(*)")
    assert "Nothing was lost, and nothing came twice." in shown
    assert "QM2 is dead with 10 messages in a unit of work; others got them " in shown
    assert f"export OSTLER_DATA={root}" in shown
    assert shown.count("$ kill -9 ") == 1
    wait_until(
        lambda: len([each for each in processes_of(root) if "strmqm" in each]) == 3,
        lambda: f"three were to run: {processes_of(root)}",
    )
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_SECONDS) == 0
    wait_until(lambda: not processes_of(root), lambda: f"these go on: {processes_of(root)}")
    assert not root.exists()


@pytest.mark.slow
def test_takes_a_redis_server_as_facility(tmp_path: Path) -> None:
    try:
        unpack_packages(NAME, PACKAGES, PROOF)
    except PeerUnavailable as problem:
        pytest.skip(f"Redis is not here: {problem}")
    root = tmp_path / "trial"
    process = start(root, "--seconds", "2", "--redis")
    output, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, output
    assert "The coupling facility is a Redis server, process " in output
    assert "QM2 is dead with 10 messages in a unit of work; others got them " in output
    assert "Nothing was lost, and nothing came twice." in output
    assert (processes_of(root), root.exists()) == ([], False)


@pytest.mark.slow
def test_leaves_nothing_behind_when_it_is_interrupted(tmp_path: Path) -> None:
    root = tmp_path / "trial"
    process = start(root)
    read_until(process, "$ ostler strmqm QM1")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, "ostler: interrupted" in output) == (130, True), output
    wait_until(lambda: not processes_of(root), lambda: f"these go on: {processes_of(root)}")
    assert not root.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [(("--seconds", "0"), "a number from 1 to 3600"), (("--seconds", "x"), "is not a whole number")],
)
def test_refuses_options_that_cannot_be(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    output, _ = (process := start(tmp_path / "trial", *options)).communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, said in output) == (39, True), output


def test_touches_no_directory_that_is_in_use(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    output, _ = (process := start(tmp_path)).communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, "is not an empty directory" in output) == (71, True), output
    assert (tmp_path / "mine").exists()
