"""crtmqm -fs with setmqsize, and setmqvar with dspmqvar: what is stored, shown, refused, and what it does."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import SMALL_LOG, Command
from tests.server.channels.support.channel_routes import eventually

from ostler.server.config.directories import QueueManagerDirectory, running_process
from ostler.server.config.qm_ini import QueueManagerIni


@pytest.fixture
def directory(data: Path) -> QueueManagerDirectory:
    return QueueManagerDirectory(data, "QM1")


# -- the size of the file system ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "megabytes"), [("2", 2048), ("2G", 2048), ("300M", 300), ("64g", 65536)])
def test_the_size_is_in_qm_ini(ostler: Command, directory: QueueManagerDirectory, given: str, megabytes: int) -> None:
    assert ostler("crtmqm", "-fs", given, *SMALL_LOG, "QM1").status == 0
    assert QueueManagerIni.read(directory.ini).settings.file_system_megabytes == megabytes


@pytest.mark.parametrize("given", ["0", "-1", "2T", "1.5G", "", "x"])
def test_sizes_that_are_none_exit_39(ostler: Command, data: Path, given: str) -> None:
    done = ostler("crtmqm", "-fs", given, *SMALL_LOG, "QM1")
    assert done.status == 39
    assert not data.exists()


def test_a_size_too_small_for_the_log_exits_69_and_leaves_nothing(
    ostler: Command, directory: QueueManagerDirectory
) -> None:
    done = ostler("crtmqm", "-fs", "4M", "-lp", "3", "-lf", "4096", "QM1")
    assert done.status == 69
    assert done.err.startswith("AMQ7065E: There is not enough space on the disk")
    assert not directory.path.exists()


def test_setmqsize_increases_the_size(ostler: Command, directory: QueueManagerDirectory) -> None:
    ostler("crtmqm", "-fs", "300M", *SMALL_LOG, "QM1")
    done = ostler("setmqsize", "-m", "QM1", "-s", "1")
    assert (done.status, done.out) == (
        0,
        "The file system size of queue manager QM1 is 1 GB when it is started again.\n",
    )
    assert QueueManagerIni.read(directory.ini).settings.file_system_megabytes == 1024
    for size in ("1G", "500M"):
        refused = ostler("setmqsize", "-m", "QM1", "-s", size)
        assert refused.status == 39
        assert "the file system size is 1 GB and can be increased only" in refused.err
    assert ostler("setmqsize", "-m", "NONE", "-s", "1").status == 72


def test_without_fs_there_is_no_size_to_increase(ostler: Command, directory: QueueManagerDirectory) -> None:
    ostler("crtmqm", *SMALL_LOG, "QM1")
    assert "FileSystem" not in directory.ini.read_text()
    refused = ostler("setmqsize", "-m", "QM1", "-s", "64")
    assert refused.status == 39
    assert "was created without -fs" in refused.err


def test_qmstatus_shows_the_size_and_its_use(program: Command) -> None:
    assert program("crtmqm", "-fs", "40M", *SMALL_LOG, "QM1").status == 0
    assert program("strmqm", "QM1").status == 0
    shown = program("runmqsc", "QM1", text="DISPLAY QMSTATUS ALL\n").out
    assert "QMFSSZ(40)" in shown
    assert "QMFSUSE(" in shown
    assert program("endmqm", "-i", "QM1").status == 0


# -- environment variables ---------------------------------------------------------------------------------------------


def test_variables_are_stored_shown_and_removed(ostler: Command, data: Path) -> None:
    ostler("crtmqm", *SMALL_LOG, "QM1")
    assert ostler("setmqvar", "-m", "QM1", "-k", "AMQ_B", "-v", "two words = 1").status == 0
    assert ostler("setmqvar", "-m", "QM1", "-k", "AMQ_A", "-v", "1").status == 0
    assert ostler("setmqvar", "-k", "MQ_ALL", "-v", "x").status == 0
    assert ostler("dspmqvar", "-m", "QM1").out == "AMQ_A=1\nAMQ_B=two words = 1\n"
    assert ostler("dspmqvar", "-m", "QM1", "-k", "AMQ_B").out == "AMQ_B=two words = 1\n"
    assert json.loads(ostler("dspmqvar", "-m", "QM1", "--json").out) == {"AMQ_A": "1", "AMQ_B": "two words = 1"}
    assert ostler("dspmqvar").out == "MQ_ALL=x\n"
    assert ostler("setmqvar", "-m", "QM1", "-k", "AMQ_A", "-v", "2").status == 0
    assert ostler("dspmqvar", "-m", "QM1", "-k", "AMQ_A").out == "AMQ_A=2\n"
    assert ostler("setmqvar", "-m", "QM1", "-k", "AMQ_A", "-d").status == 0
    assert ostler("dspmqvar", "-m", "QM1").out == "AMQ_B=two words = 1\n"
    for command in (("setmqvar", "-m", "QM1", "-k", "AMQ_A", "-d"), ("dspmqvar", "-m", "QM1", "-k", "AMQ_A")):
        done = ostler(*command)
        assert done.status == 44
        assert "There is no variable AMQ_A" in done.err
    assert (data / "mqs.env").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("PATH", "/bin", "does not begin with AMQ, MQ, GSK or OSTLER_"),
        ("LD_PRELOAD", "x.so", "does not begin with"),
        ("AMQ-A", "1", "is not the name of a variable"),
        ("MQ_INSTALLATION_PATH", "/opt", "cannot be set"),
        ("OSTLER_DATA", "/elsewhere", "cannot be set"),
        ("MQ_PASSWORD", "secret", "looks like a password"),
        ("AMQ_A", "one\nAMQ_B=2", "line ends"),
        ("AMQ_A", " 1", "spaces at its ends"),
    ],
)
def test_variables_that_cannot_be_stored(ostler: Command, name: str, value: str, why: str) -> None:
    ostler("crtmqm", *SMALL_LOG, "QM1")
    done = ostler("setmqvar", "-m", "QM1", "-k", name, "-v", value)
    assert done.status == 39
    assert why in done.err
    assert ostler("dspmqvar", "-m", "QM1").out == ""


def test_queue_managers_that_are_not_there(ostler: Command) -> None:
    assert ostler("setmqvar", "-m", "NONE", "-k", "AMQ_A", "-v", "1").status == 72
    assert ostler("dspmqvar", "-m", "NONE").status == 72
    assert ostler("setmqvar", "-m", "NONE", "-k", "AMQ_A").status == 39


def test_the_process_and_its_services_have_them(
    program: Command, directory: QueueManagerDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMQ_SHELL", "from the shell")
    monkeypatch.setenv("AMQ_BOTH", "from the shell")
    assert program("crtmqm", *SMALL_LOG, "QM1").status == 0
    program("setmqvar", "-k", "AMQ_BOTH", "-v", "for all")
    program("setmqvar", "-k", "GSK_ALL", "-v", "for all")
    program("setmqvar", "-m", "QM1", "-k", "AMQ_BOTH", "-v", "for QM1")
    assert program("strmqm", "QM1").status == 0
    process = running_process(directory)[1]
    environment = Path(f"/proc/{process}/environ").read_bytes().decode().split("\0")
    assert {"AMQ_SHELL=from the shell", "AMQ_BOTH=for QM1", "GSK_ALL=for all"} <= set(environment)
    found = tmp_path / "found"
    code = f"import os,pathlib; pathlib.Path({str(found)!r}).write_text(os.environ['AMQ_BOTH'] + os.environ['GSK_ALL'])"
    script = tmp_path / "service.py"
    script.write_text(code)
    define = (
        f"DEFINE SERVICE(S) SERVTYPE(COMMAND) STARTCMD('{sys.executable}') STARTARG('{script}')\nSTART SERVICE(S)\n"
    )
    assert program("runmqsc", "QM1", text=define).status == 0
    eventually(lambda: found.exists() and found.read_text() == "for QM1for all", "the service's environment")
    # Changed while it runs: the next start has it.
    program("setmqvar", "-m", "QM1", "-k", "AMQ_BOTH", "-v", "later")
    assert "AMQ_BOTH=for QM1" in Path(f"/proc/{process}/environ").read_text().split("\0")
    assert program("endmqm", "-i", "QM1").status == 0
