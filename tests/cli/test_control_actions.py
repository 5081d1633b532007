"""What a running queue manager is asked to do: MQSC, media images, applications in its process."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import SMALL_LOG, Command, Said

from ostler.client.link.control import control
from ostler.server.config.directories import QueueManagerDirectory, data_root, queue_managers, running_process

APPLICATION = """
import pathlib
import ostler

def greet(queue, *words):
    with ostler.connect("QM1") as qm:
        for word in words:
            qm.put(queue, word)

def status(number): return int(number)
def fail(): raise RuntimeError("it broke")
def touch(path): pathlib.Path(path).write_text("here")
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueueManagerDirectory]:
    """One queue manager with a linear log for all tests here."""
    root = tmp_path_factory.mktemp("running")
    directory = QueueManagerDirectory(root, "QM1")
    environment = {**os.environ, "OSTLER_DATA": str(root)}
    for command in (["crtmqm", "-z", "-q", "-ll", *SMALL_LOG, "QM1"], ["strmqm", "QM1"]):
        subprocess.run([sys.executable, "-m", "ostler.cli.main", *command], env=environment, check=True, timeout=60)
    yield directory
    is_running, process = running_process(directory)
    if is_running:
        os.kill(process, signal.SIGKILL)


@pytest.fixture
def here(running: QueueManagerDirectory, ostler: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Commands for the one that runs."""
    monkeypatch.setenv("OSTLER_DATA", str(running.root))
    return ostler


@pytest.fixture
def mqsc(here: Command, tmp_path: Path) -> Command:
    """runmqsc with a script."""

    def run(text: str, *options: str) -> Said:
        script = tmp_path / "script.mqsc"
        script.write_text(text)
        return here("runmqsc", "-f", str(script), *options, "QM1")

    return run


# -- runmqsc -----------------------------------------------------------------------------------------------------------


def test_a_script_is_repeated_answered_and_counted(mqsc: Command) -> None:
    done = mqsc("* a comment\nDEFINE QLOCAL(SCRIPT.ONE) +\n  REPLACE\n")
    assert done.status == 0
    assert "1 : DEFINE QLOCAL(SCRIPT.ONE) +" in done.out
    assert "AMQ8006I" in done.out
    assert "One MQSC command read." in done.out


def test_e_does_not_repeat_the_commands(mqsc: Command) -> None:
    assert "DEFINE" not in mqsc("DEFINE QLOCAL(SCRIPT.TWO) REPLACE\n", "-e").out


def test_some_that_fail_exit_10(mqsc: Command) -> None:
    assert mqsc("DISPLAY QLOCAL(NOT.THERE)\n").status == 10
    assert mqsc("NONSENSE\nDISPLAY QMGR\n").status == 10


def test_v_only_checks(mqsc: Command) -> None:
    assert mqsc("DEFINE QLOCAL(ONLY.CHECKED)\n", "-v").status == 0
    assert mqsc("DISPLAY QLOCAL(ONLY.CHECKED)\n").status == 10


def test_commands_come_from_standard_input(running: QueueManagerDirectory) -> None:
    environment = {**os.environ, "OSTLER_DATA": str(running.root)}
    done = subprocess.run(
        [sys.executable, "-m", "ostler.cli.main", "runmqsc"],
        input="DISPLAY QMGR QMNAME\nEND\nNONSENSE\n",
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "QMNAME(QM1)" in done.stdout


def test_commands_are_typed_while_the_report_goes_to_a_file(running: QueueManagerDirectory, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {
        **os.environ,
        "OSTLER_DATA": str(running.root),
        "XDG_STATE_HOME": str(tmp_path),
        "TERM": "dumb",
        "MQPROMPT": "ready> ",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "ostler.cli.main", "runmqsc", "QM1"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        text=True,
    )
    os.close(theirs)
    os.write(ours, b"define qlocal(typed) +\nreplace\nnonsense\ndisplay qlocal(typed)\nend\n")
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == 10, out
    assert "AMQ8006I" in out
    assert "QUEUE(TYPED)" in out
    assert out.count("commands read") == 1, "no summary after each"


def test_what_keeps_runmqsc_from_running_exits_20(here: Command, ostler: Command, tmp_path: Path) -> None:
    assert here("runmqsc", "NOPE").status == 20
    assert here("runmqsc", "-f", str(tmp_path / "missing"), "QM1").status == 20
    for given in (["-w", "0"], ["-w", "1000000"], ["-x"], ["-m", "QM2"], ["-n"], ["--nonsense"]):
        assert here("runmqsc", *given, "QM1").status == 20


def test_runmqsc_on_one_that_does_not_run_exits_20(ostler: Command, tmp_path: Path) -> None:
    ostler("crtmqm", "-z", *SMALL_LOG, "QM2")
    script = tmp_path / "script.mqsc"
    script.write_text("DISPLAY QMGR\n")
    done = ostler("runmqsc", "-f", str(script), "QM2")
    assert done.status == 20
    assert "Start it: ostler strmqm QM2" in done.err


# -- media images ------------------------------------------------------------------------------------------------------


def test_images_are_recorded_and_queues_recovered(here: Command, mqsc: Command) -> None:
    mqsc("DEFINE QLOCAL(IMAGE.ONE) REPLACE\nDEFINE QLOCAL(IMAGE.TWO) REPLACE\n")
    recorded = here("rcdmqimg", "-m", "QM1", "-t", "qlocal", "IMAGE.*")
    assert recorded.status == 0, recorded.err
    assert [line.partition(":")[0] for line in recorded.out.splitlines()] == ["AMQ7459I"] * 3
    recovered = here("rcrmqobj", "-m", "QM1", "-t", "queue", "IMAGE.ONE")
    assert recovered.status == 0, recovered.err
    assert "AMQ7081I: Queue IMAGE.ONE was recovered" in recovered.out


def test_all_images_with_the_extents_still_needed(here: Command) -> None:
    done = here("rcdmqimg", "-t", "all", "-l", "*")
    assert done.status == 0, done.err
    assert "AMQ7467I" in done.out
    assert "AMQ7468I" in done.out


def test_z_is_quiet(here: Command) -> None:
    done = here("rcdmqimg", "-z", "-m", "QM1", "-t", "ql", "SYSTEM.DEFAULT.LOCAL.QUEUE")
    assert (done.status, done.out) == (0, "")


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (["-m", "QM1", "-t", "qlocal", "NOT.THERE"], 128),
        (["-m", "QM1", "-t", "channel", "*"], 128),
        (["-m", "QM1", "-t", "nonsense", "*"], 39),
        (["-m", "QM1", "-t", "qlocal", "a b"], 39),
        (["-m", "NOPE", "-t", "all"], 72),
        (["-m", "QM1"], 36),
        (["-m", "QM1", "-t", "all", "--nonsense"], 36),
    ],
)
@pytest.mark.parametrize("command", ["rcdmqimg", "rcrmqobj"])
def test_what_media_recovery_cannot_do(here: Command, command: str, given: list[str], status: int) -> None:
    done = here(command, *given)
    assert done.status == status
    assert done.err


def test_whole_queues_need_no_recovery_by_pattern(here: Command) -> None:
    assert here("rcrmqobj", "-m", "QM1", "-t", "all", "*").status == 128


def test_a_circular_log_has_no_media_recovery(ostler: Command, program: Command) -> None:
    ostler("crtmqm", "-z", *SMALL_LOG, "QM1")
    assert ostler("rcdmqimg", "-m", "QM1", "-t", "all").status == 40
    assert program("strmqm", "-z", "QM1").status == 0
    for command in ("rcdmqimg", "rcrmqobj"):
        done = ostler(command, "-m", "QM1", "-t", "qlocal", "SYSTEM.DEFAULT.LOCAL.QUEUE")
        assert done.status == 68
        assert done.err.startswith("AMQ7044E")


# -- applications ------------------------------------------------------------------------------------------------------


@pytest.fixture
def module(tmp_path: Path) -> str:
    (tmp_path / "trusted_application.py").write_text(APPLICATION)
    return str(tmp_path)


def depth(mqsc: Command, queue: str) -> str:
    shown = mqsc(f"DISPLAY QLOCAL({queue}) CURDEPTH\n", "-e").out
    return shown[shown.index("CURDEPTH") :].split()[0]


def test_an_application_runs_in_the_queue_managers_process(here: Command, mqsc: Command, module: str) -> None:
    mqsc("DEFINE QLOCAL(TRUSTED) REPLACE\n")
    target = "trusted_application:greet"
    done = here("run-trusted", "-m", "QM1", "--path", module, target, "TRUSTED", "one", "two")
    assert done.status == 0, done.err
    assert "AMQ8025I" in done.out
    assert depth(mqsc, "TRUSTED") == "CURDEPTH(2)"


def test_its_status_becomes_that_of_the_command(here: Command, module: str) -> None:
    assert here("run-trusted", "--path", module, "-z", "trusted_application:status", "7") == Said(7, "", "")


def test_its_failure_is_shown(here: Command, module: str, running: QueueManagerDirectory) -> None:
    done = here("run-trusted", "--path", module, "trusted_application:fail")
    assert done.status == 1
    assert "RuntimeError: it broke" in done.err
    assert "AMQ8026E" in (running.errors / "AMQERR01.LOG").read_text()


def test_in_the_background_nobody_waits_for_it(here: Command, module: str) -> None:
    assert here("run-trusted", "-b", "--path", module, "trusted_application:status", "7").status == 0


@pytest.mark.parametrize("target", ["trusted_application", "no_such_module:run", "trusted_application:nothing"])
def test_what_cannot_be_loaded_exits_39(here: Command, module: str, target: str) -> None:
    done = here("run-trusted", "--path", module, target)
    assert done.status == 39
    assert done.err.startswith("AMQ7076E")


def test_here_is_refused_while_it_runs_elsewhere(here: Command, module: str) -> None:
    assert here("run-trusted", "--here", "--path", module, "trusted_application:status", "0").status == 5


@pytest.mark.parametrize("options", [[], ["--here"]], ids=str)
def test_where_it_does_not_run_it_runs_here_as_long_as_the_application(
    ostler: Command, program: Command, module: str, tmp_path: Path, options: list[str]
) -> None:
    ostler("crtmqm", "-z", *SMALL_LOG, "QM1")
    mark = tmp_path / "mark"
    done = program("run-trusted", "-m", "QM1", *options, "--path", module, "trusted_application:touch", str(mark))
    assert done.status == 0, done.err
    assert mark.read_text() == "here"
    assert "AMQ8004I: Queue manager QM1 ended (quiesce)." in done.out
    assert not queue_managers(data_root(os.environ))[0].running
    failing = program("run-trusted", "-m", "QM1", *options, "--path", module, "trusted_application:status", "3")
    assert failing.status == 3


def test_an_unknown_queue_manager_exits_72(here: Command) -> None:
    assert here("run-trusted", "-m", "NOPE", "a:b").status == 72


# -- status ------------------------------------------------------------------------------------------------------------


def test_the_status_tells_how_it_is(running: QueueManagerDirectory) -> None:
    (status,) = control(running, "status")
    assert (status["name"], status["status"]) == ("QM1", "Running")
    assert status["pid"] == running_process(running)[1]
    assert status["restart_extent"]
