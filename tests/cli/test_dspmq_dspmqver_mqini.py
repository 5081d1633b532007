"""dspmq, dspmqver, dspmqini and setmqini: every option, every exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from tests.cli.conftest import SMALL_LOG, Command

import ostler as package
from ostler.server.config.directories import InstanceLock, QueueManagerDirectory
from ostler.server.config.process_file import ManagerState, ProcessRecord, write_record
from ostler.server.config.qm_ini import QueueManagerIni


@pytest.fixture
def two(ostler: Command, directory: QueueManagerDirectory) -> QueueManagerDirectory:
    ostler("crtmqm", "-q", "-z", *SMALL_LOG, "QM1")
    ostler("crtmqm", "-z", *SMALL_LOG, "QM.TWO")
    return directory


# -- dspmq -------------------------------------------------------------------------------------------------------------


def test_where_there_is_none_nothing_is_listed(ostler: Command) -> None:
    done = ostler("dspmq")
    assert (done.status, done.out, done.err) == (0, "", "")


@pytest.mark.parametrize("options", [[], ["-s"], ["-o", "status"], ["-n"], ["-s", "-n"]], ids=str)
def test_all_are_listed_with_their_status(two: QueueManagerDirectory, ostler: Command, options: list[str]) -> None:
    assert ostler("dspmq", *options).out.splitlines() == [
        "QMNAME(QM.TWO)".ljust(56) + " STATUS(Ended immediately)",
        "QMNAME(QM1)".ljust(56) + " STATUS(Ended immediately)",
    ]


def test_one_is_chosen(two: QueueManagerDirectory, ostler: Command) -> None:
    assert ostler("dspmq", "-m", "QM.TWO").out.split() == ["QMNAME(QM.TWO)", "STATUS(Ended", "immediately)"]


def test_an_unknown_one_exits_72(two: QueueManagerDirectory, ostler: Command) -> None:
    done = ostler("dspmq", "-m", "NOPE")
    assert done.status == 72
    assert done.err.startswith("AMQ7048E")


@pytest.mark.parametrize(
    ("field", "shown"),
    [
        ("default", "DEFAULT(yes)"),
        ("standby", "STANDBY(Not applicable)"),
        ("installation", f"VERSION({package.__version__})"),
        ("process", "PROCESS() STARTED()"),
    ],
)
def test_fields_are_chosen(two: QueueManagerDirectory, ostler: Command, field: str, shown: str) -> None:
    line = ostler("dspmq", "-m", "QM1", "-o", field).out.strip()
    assert line.endswith(shown)
    assert "STATUS" not in line
    assert shown in ostler("dspmq", "-m", "QM1", "-o", "all").out


def test_one_in_another_program_is_running(two: QueueManagerDirectory, ostler: Command) -> None:
    with InstanceLock(two):
        assert "STATUS(Running)" in ostler("dspmq", "-m", "QM1").out
        assert "STANDBY(Not permitted)" in ostler("dspmq", "-m", "QM1", "-o", "standby").out
        active = ostler("dspmq", "-a", "-m", "QM1")
        assert active.status == 5


def test_one_that_a_program_runs_says_so(two: QueueManagerDirectory, ostler: Command) -> None:
    manager = package.start("QM1", two.root)
    line = ostler("dspmq", "-m", "QM1").out
    program = psutil.Process().name()
    assert line.split("STATUS", 1)[1].strip() == f"(Running) EMBEDDED({program})"
    whole = ostler("dspmq", "-m", "QM1", "-o", "all").out
    assert f"STATUS(Running) EMBEDDED({program}) " in whole
    assert f"PROCESS({os.getpid()}) STARTED(20" in whole
    (found,) = json.loads(ostler("dspmq", "-m", "QM1", "--json").out)
    assert (found["status"], found["embedded_in"]) == ("Running", program)
    manager.end("immediate")
    assert ostler("dspmq", "-m", "QM1").out.strip().endswith("STATUS(Ended immediately)")
    manager = package.start("QM1", two.root)
    manager.end()
    assert ostler("dspmq", "-m", "QM1").out.strip().endswith("STATUS(Ended normally)")


def test_starting_one_that_is_ending_exits_49(two: QueueManagerDirectory, ostler: Command) -> None:
    with InstanceLock(two):
        write_record(two, ProcessRecord(os.getpid(), "", "", "", ManagerState.QUIESCING))
        assert "STATUS(Quiescing)" in ostler("dspmq", "-m", "QM1").out
        done = ostler("strmqm", "QM1")
    assert done.status == 49
    assert "is ending. Start it when" in done.err


def test_json_has_everything(two: QueueManagerDirectory, ostler: Command) -> None:
    found = json.loads(ostler("dspmq", "--json").out)
    assert [each["name"] for each in found] == ["QM.TWO", "QM1"]
    assert found[1] == {
        "name": "QM1",
        "status": "Ended immediately",
        "default": True,
        "path": str(two.path),
        "process": 0,
        "started": "",
        "version": package.__version__,
        "embedded_in": "",
    }


@pytest.mark.parametrize("given", [["-o", "nonsense"], ["--nonsense"], ["-m"], ["-c"]], ids=str)
def test_wrong_options_of_dspmq_exit_36(ostler: Command, given: list[str]) -> None:
    assert ostler("dspmq", *given).status == 36


def test_a_damaged_mqs_ini_is_told(two: QueueManagerDirectory, ostler: Command, data: Path) -> None:
    (data / "mqs.ini").write_text("nonsense\n")
    done = ostler("dspmq")
    assert done.status == 71
    assert "mqs.ini:1" in done.err


# -- dspmqver ----------------------------------------------------------------------------------------------------------


def test_the_version_is_told(ostler: Command) -> None:
    done = ostler("dspmqver")
    assert done.status == 0
    lines = done.out.splitlines()
    assert lines[:2] == ["Name:        Ostler", f"Version:     {package.__version__}"]
    assert len(lines) == 14
    assert ostler("dspmqver", "-i").status == 0


def test_fields_are_a_sum_and_b_leaves_their_names_out(ostler: Command, data: Path) -> None:
    assert ostler("dspmqver", "-f", "2").out == f"Version:     {package.__version__}\n"
    assert ostler("dspmqver", "-b", "-f", "3").out == f"Ostler\n{package.__version__}\n"
    assert ostler("dspmqver", "-b", "-f", "2048").out == f"{data}\n"


def test_components_are_a_sum(ostler: Command) -> None:
    names = ostler("dspmqver", "-p", "65", "-f", "1").out.split("\n\n")
    assert names == ["Name:        Ostler", "Name:        TLS (OpenSSL)\n"]
    everything = ostler("dspmqver", "-a", "-f", "1", "-b").out.split()
    assert {"Ostler", "Python", "psutil"} <= set(everything)


def test_verbose_says_what_runs_it(ostler: Command) -> None:
    assert ostler("dspmqver", "-v").out.startswith("Run by ")


def test_the_version_as_json(ostler: Command) -> None:
    assert json.loads(ostler("dspmqver", "--json", "-f", "2").out) == [{"Version": package.__version__}]


@pytest.mark.parametrize(
    ("given", "status"),
    [(["-p", "3"], 10), (["-f", "65537"], 10), (["-p", "2"], 20), (["-f", "0"], 20), (["-p", "x"], 20), (["-y"], 20)],
)
def test_components_and_fields_that_are_not_there(ostler: Command, given: list[str], status: int) -> None:
    assert ostler("dspmqver", *given).status == status


# -- dspmqini and setmqini ---------------------------------------------------------------------------------------------


def test_the_configuration_is_shown(two: QueueManagerDirectory, ostler: Command) -> None:
    lines = ostler("dspmqini", "-m", "QM1").out.splitlines()
    assert lines[:3] == ["Log:", "   LogPrimaryFiles=2", "   LogSecondaryFiles=1"]
    assert ostler("dspmqini").out.splitlines() == lines, "the default queue manager"


def test_a_stanza_and_an_attribute_are_chosen(two: QueueManagerDirectory, ostler: Command) -> None:
    assert ostler("dspmqini", "-s", "log", "-k", "logtype").out == "LogType=CIRCULAR\n"
    assert json.loads(ostler("dspmqini", "-s", "Log", "--json").out)["Log"]["LogFilePages"] == "64"
    assert json.loads(ostler("dspmqini", "-s", "Log", "-k", "LogType", "--json").out) == {"LogType": "CIRCULAR"}


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (["-s", "TCP"], 44),
        (["-s", "Log", "-k", "Nothing"], 44),
        (["-k", "LogType"], 39),
        (["-m", "NOPE"], 72),
        (["--nonsense"], 39),
    ],
)
def test_what_dspmqini_cannot_show(two: QueueManagerDirectory, ostler: Command, given: list[str], status: int) -> None:
    assert ostler("dspmqini", *given).status == status


def test_a_value_is_set_and_taken_out_again(two: QueueManagerDirectory, ostler: Command) -> None:
    done = ostler("setmqini", "-m", "QM1", "-s", "channels", "-k", "maxchannels", "-v", "500")
    assert done.status == 0
    assert "is set. It takes effect" in done.out
    assert QueueManagerIni.read(two.ini).settings.channels.channels_max == 500
    assert ostler("dspmqini", "-s", "Channels").out == "Channels:\n   MaxChannels=500\n"
    assert ostler("setmqini", "-z", "-m", "QM1", "-s", "Channels", "-k", "MaxChannels", "-d").out == ""
    assert QueueManagerIni.read(two.ini).settings.channels.channels_max == 999_999_999


def test_stanzas_of_others_are_taken_as_they_are(two: QueueManagerDirectory, ostler: Command) -> None:
    assert ostler("setmqini", "-s", "QMErrorLog", "-k", "ErrorLogSize", "-v", "65536").status == 0
    assert QueueManagerIni.read(two.ini).get("QMErrorLog", "ErrorLogSize") == "65536"


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (["-s", "Log", "-k", "LogPrimaryFiles", "-v", "1"], 39),
        (["-s", "Log", "-k", "LogPrimaryFile", "-v", "3"], 39),
        (["-s", "Log", "-k", "LogPath", "-v", "a\nb"], 39),
        (["-s", "Log", "-k", "Nothing", "-d"], 44),
        (["-s", "Log", "-k", "LogType"], 39),
        (["-s", "Log", "-k", "LogType", "-v", "x", "-d"], 39),
        (["-k", "LogType", "-v", "LINEAR"], 39),
        (["-m", "NOPE", "-s", "Log", "-k", "LogType", "-v", "LINEAR"], 72),
    ],
)
def test_what_setmqini_refuses_changes_nothing(
    two: QueueManagerDirectory, ostler: Command, given: list[str], status: int
) -> None:
    before = two.ini.read_bytes()
    done = ostler("setmqini", *given)
    assert done.status == status
    assert done.err
    assert two.ini.read_bytes() == before


# -- the program itself ------------------------------------------------------------------------------------------------


def test_all_commands_are_listed_without_loading_them(ostler: Command) -> None:
    done = ostler("--help")
    assert done.status == 0
    for name in (
        "crtmqm",
        "strmqm",
        "endmqm",
        "dltmqm",
        "dspmq",
        "runmqsc",
        "rcdmqimg",
        "run-trusted",
        "demo",
        "lab",
    ):
        assert name in done.out


def test_without_a_command_help_is_shown(ostler: Command) -> None:
    done = ostler()
    assert done.status == 1
    assert "usage: ostler" in done.out


def test_the_program_tells_its_version(ostler: Command) -> None:
    assert ostler("--version").out.startswith(f"ostler {package.__version__} (")


def test_an_unknown_command_is_told(ostler: Command) -> None:
    done = ostler("strtmqm")
    assert done.status == 2
    assert "strmqm" in done.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk here that is always full")
def test_a_full_disk_is_told() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ostler.cli.main", "dspmqver"],
            env=environment,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (71, b"ostler: writing failed: No space left on device.\n")
