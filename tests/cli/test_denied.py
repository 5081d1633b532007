"""Commands of users who may not, and on damaged files, are answered with a message, never with a traceback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import SMALL_LOG, Command, Said

from ostler.cli.framework.exit_statuses import Status
from ostler.server.config.directories import QueueManagerDirectory

# Root may do everything, but for this: without these capabilities it is a user like others.
_LIKE_OTHERS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner"] if os.geteuid() == 0 else []
_PROGRAM = [sys.executable, "-m", "ostler.cli.main"]
COMMANDS = [
    "put Q QM1 -m x",
    "get Q QM1",
    "browse Q QM1",
    "publish t QM1 -m x",
    "stats QM1",
    "strmqm QM1",
    "strmqm --foreground QM1",
    "strmqm -c QM1",
    "endmqm QM1",
    "endmqm -i QM1",
    "dltmqm QM1",
    "crtmqm QM2",
    "dspmq",
    "dspmq -m QM1",
    "dspmqini -m QM1",
    "setmqini -m QM1 -s Log -k LogBufferPages -v 0",
    "runmqsc QM1",
    "setmqaut -m QM1 -t qmgr -p root +connect",
    "dspmqaut -m QM1 -t qmgr -p root",
    "dmpmqaut -m QM1",
    "dmpmqcfg -m QM1",
    "rcdmqimg -m QM1 -t all",
    "run-trusted -m QM1 a:b",
    "users list QM1",
    "users add QM1 ann --no-password",
    "certs show QM1",
    "certs create QM1",
    "dev QM1",
]

pytestmark = pytest.mark.skipif(
    bool(_LIKE_OTHERS) and shutil.which("setpriv") is None, reason="root needs setpriv to be like other users"
)


def run(command: str) -> Said:
    """As a user whom permissions keep out, too."""
    done = subprocess.run(
        [*_LIKE_OTHERS, *_PROGRAM, *command.split()], input="", capture_output=True, text=True, timeout=60, check=False
    )
    return Said(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def created(ostler: Command, program: Command, directory: QueueManagerDirectory) -> QueueManagerDirectory:
    assert ostler("crtmqm", "-z", *SMALL_LOG, "QM1").status == 0
    return directory


def check(said: Said, command: str) -> None:
    text = said.out + said.err
    assert "Traceback" not in text, f"{command}:\n{text}"
    assert said.status != 0, f"{command}:\n{text}"
    assert said.err.strip(), command


@pytest.mark.parametrize("place", ["root", "QM1"])
def test_another_user_is_told_that_it_may_not(created: QueueManagerDirectory, place: str) -> None:
    path = {"root": created.root, "QM1": created.path}[place]
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        for command in COMMANDS:
            if place == "QM1" and command in ("crtmqm QM2", "dspmq"):
                continue
            said = run(command)
            check(said, command)
            assert "ermission denied" in said.err, command
            is_sample = command.split()[0] in ("put", "get", "browse", "publish", "stats")
            expected = "MQRC_NOT_AUTHORIZED (2035)" if is_sample else "AMQ7" if "certs create" not in command else ""
            assert expected in said.err, f"{command}: {said.err}"
            if not is_sample and "certs create" not in command:
                assert said.status == Status.NOT_AUTHORIZED, f"{command}: {said.err}"
    finally:
        path.chmod(mode)


def test_a_running_one_is_somebody_elses_too(created: QueueManagerDirectory, program: Command) -> None:
    assert program("strmqm", "QM1").status == 0
    created.path.chmod(0)
    try:
        for command in ("put Q QM1 -m x", "endmqm -i QM1", "runmqsc QM1", "strmqm QM1"):
            check(run(command), command)
    finally:
        created.path.chmod(0o700)
    assert program("endmqm", "-i", "QM1").status == 0


def _overwritten(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[20:60] = b"\xff" * 40
    path.write_bytes(data)


def _emptied(path: Path) -> None:
    path.write_bytes(b"")


def _a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _unreadable(path: Path) -> None:
    path.chmod(0)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("objects", _emptied),
        ("objects", _unreadable),
        ("checkpoint", _overwritten),
        ("checkpoint", _a_directory),
        ("qm.ini", _overwritten),
        ("qm.ini", _a_directory),
        ("passwords", _overwritten),
        ("passwords", _a_directory),
        ("log/amqhlctl.lfh", _emptied),
        ("log/amqhlctl.lfh", _unreadable),
    ],
)
def test_damage_is_told_in_a_sentence(
    created: QueueManagerDirectory, program: Command, name: str, damage: Callable[[Path], None]
) -> None:
    assert program("strmqm", "QM1").status == 0
    assert program("users", "add", "QM1", "ann", "--no-password").status == 0
    assert program("endmqm", "-w", "QM1").status == 0
    path = created.path / name
    damage(path)
    for command in ("strmqm QM1", "users list QM1", "dspmq"):
        said = run(command)
        assert "Traceback" not in said.out + said.err, command
        if command == "strmqm QM1" and name != "passwords":
            assert said.status != 0
            assert Path(name).name in said.err, said.err
    for log in created.errors.glob("*"):
        assert "Traceback" not in log.read_text(errors="replace"), log.name
    run("endmqm -i QM1")
    if path.exists():
        path.chmod(0o700)
