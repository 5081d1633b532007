"""A queue manager as a real process: started, looked at, ended in every way, killed, and started again."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from tests.cli.conftest import SMALL_LOG, Command

import ostler as package
from ostler.server.config.directories import QueueManagerDirectory, is_being_killed, running_process
from ostler.server.config.process_file import ManagerState, read_record, state_of


@pytest.fixture
def created(ostler: Command, program: Command, directory: QueueManagerDirectory) -> QueueManagerDirectory:
    assert ostler("crtmqm", "-q", "-z", *SMALL_LOG, "QM1").status == 0
    return directory


@pytest.fixture
def started(created: QueueManagerDirectory, program: Command) -> QueueManagerDirectory:
    done = program("strmqm", "QM1")
    assert done.status == 0, done.err
    return created


def error_log(directory: QueueManagerDirectory) -> str:
    return (directory.errors / "AMQERR01.LOG").read_text()


def process_of(directory: QueueManagerDirectory) -> int:
    is_running, process = running_process(directory)
    assert is_running
    return process


def wait_until_ended(directory: QueueManagerDirectory) -> None:
    """Bounded; a queue manager that does not end fails the test."""
    deadline = time.monotonic() + 60
    while running_process(directory)[0]:
        assert time.monotonic() < deadline, error_log(directory)
        threading.Event().wait(0.005)


# -- start -------------------------------------------------------------------------------------------------------------


def test_it_starts_in_the_background_and_says_so(created: QueueManagerDirectory, program: Command) -> None:
    done = program("strmqm", "QM1")
    process = process_of(created)
    assert done.status == 0
    assert done.out.endswith(f"AMQ8003I: Queue manager QM1 started in process {process}.\n")
    assert "AMQ7230I" in done.out
    assert process != os.getpid()
    record = read_record(created)
    assert record is not None
    assert (record.pid, record.state) == (process, "Running")
    assert "AMQ8003I: Queue manager QM1 started" in error_log(created)


def test_without_a_name_the_default_one_is_meant(created: QueueManagerDirectory, program: Command) -> None:
    assert program("strmqm").status == 0
    assert process_of(created)


def test_without_a_name_and_a_default_it_exits_72(ostler: Command) -> None:
    done = ostler("strmqm")
    assert done.status == 72
    assert done.err.startswith("AMQ9244E")


def test_one_that_runs_is_told_and_exits_5(started: QueueManagerDirectory, ostler: Command) -> None:
    done = ostler("strmqm", "QM1")
    assert done.status == 5
    assert done.err.startswith(f"AMQ7005E: Queue manager QM1 is running already in process {process_of(started)}")


DYING = """
import ctypes, os, platform, sys, threading
from pathlib import Path
from ostler.server.config.directories import InstanceLock, QueueManagerDirectory

lock = InstanceLock(QueueManagerDirectory(Path(sys.argv[1]), "QM1"))
lock.__enter__()
threading.Thread(target=lambda: (sys.stdin.readline(), os._exit(0))).start()
print("locked", flush=True)
ctypes.CDLL(None).syscall(ctypes.c_long(93 if platform.machine() == "aarch64" else 60), ctypes.c_long(0))
"""
"""Its main thread ends, as in a process that is being killed; another thread keeps the lock until a line is read."""


def test_a_process_that_is_being_killed_is_waited_for(created: QueueManagerDirectory, program: Command) -> None:
    dying = subprocess.Popen(
        [sys.executable, "-c", DYING, str(created.root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert dying.stdin is not None
    assert dying.stdout is not None
    try:
        assert dying.stdout.readline() == "locked\n"
        deadline = time.monotonic() + 20
        while not is_being_killed(dying.pid):
            assert time.monotonic() < deadline, "the main thread did not end"
            time.sleep(0.01)
        assert running_process(created) == (True, dying.pid)
        threading.Timer(0.5, lambda: (dying.stdin.write("end\n"), dying.stdin.flush())).start()
        done = program("strmqm", "QM1")
        assert done.status == 0, done.err
    finally:
        dying.kill()
        dying.wait()
        dying.stdin.close()
        dying.stdout.close()


def test_an_unknown_name_exits_72(ostler: Command) -> None:
    done = ostler("strmqm", "NOPE")
    assert done.status == 72
    assert done.err.startswith("AMQ7048E")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-z"], []),
        pytest.param(["-d", "none"], [], marks=pytest.mark.slow),
        pytest.param(["-d", "minimal"], ["AMQ8003I"], marks=pytest.mark.slow),
        pytest.param(["-d", "all"], ["AMQ7230I", "AMQ8003I"], marks=pytest.mark.slow),
    ],
)
def test_how_much_it_says(
    created: QueueManagerDirectory, program: Command, options: list[str], words: list[str]
) -> None:
    done = program("strmqm", *options, "QM1")
    assert done.status == 0
    assert [line.partition(":")[0] for line in done.out.splitlines()] == words


@pytest.mark.slow
def test_si_changes_nothing(created: QueueManagerDirectory, program: Command) -> None:
    assert program("strmqm", "-si", "QM1").status == 0


@pytest.mark.parametrize(
    "given", [["-a"], ["-r"], ["-x"], ["-f"], ["-ss"], ["-e", "CMDLEVEL=900"]], ids=lambda given: given[0]
)
def test_options_without_a_meaning_here_are_refused(ostler: Command, given: list[str]) -> None:
    done = ostler("strmqm", *given, "QM1")
    assert done.status == 39
    assert done.err.startswith("AMQ5203E")


def test_wrong_options_exit_39(ostler: Command) -> None:
    assert ostler("strmqm", "--nonsense", "QM1").status == 39
    assert ostler("strmqm", "-d", "some", "QM1").status == 39


def test_c_defines_the_default_objects_anew_and_ends(created: QueueManagerDirectory, ostler: Command) -> None:
    done = ostler("strmqm", "-c", "QM1")
    assert done.status == 0
    assert done.out.startswith("Default objects created")
    assert not running_process(created)[0]


def test_a_damaged_log_exits_23_and_is_in_the_error_log(created: QueueManagerDirectory, program: Command) -> None:
    (created.log / "amqhlctl.lfh").write_bytes(bytes(8192))
    done = program("strmqm", "QM1")
    assert done.status == 23
    assert done.err.startswith("AMQ7017E")
    assert "AMQ7017E" in error_log(created)
    assert not running_process(created)[0]


def test_a_damaged_qm_ini_exits_71_and_names_the_line(created: QueueManagerDirectory, program: Command) -> None:
    created.ini.write_text("Log:\n   LogPrimaryFiles=many\n")
    done = program("strmqm", "QM1")
    assert done.status == 71
    assert done.err.startswith("AMQ9224E")
    assert "qm.ini:2" in done.err


# -- listeners and applications ----------------------------------------------------------------------------------------


def test_ns_starts_no_listeners(ostler: Command, program: Command, directory: QueueManagerDirectory) -> None:
    # A port that cannot be had: somebody would notice if it were tried.
    ostler("crtmqm", "-p", "1", "--address", "203.0.113.1", *SMALL_LOG, "QM1")
    without = program("strmqm", "-ns", "QM1")
    assert without.status == 0
    assert "AMQ9218E" not in without.out + error_log(directory)
    assert program("endmqm", "-i", "QM1").status == 0
    tried = program("strmqm", "QM1")
    assert tried.status == 0, "a listener that cannot listen does not keep the queue manager from starting"
    assert "AMQ9218E" in tried.out


# -- end ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "state"),
    [
        ("-w", ManagerState.ENDED_NORMALLY),
        ("-i", ManagerState.ENDED_IMMEDIATELY),
        ("-p", ManagerState.ENDED_PREEMPTIVELY),
    ],
)
def test_ways_to_end_that_wait(
    started: QueueManagerDirectory, program: Command, option: str, state: ManagerState
) -> None:
    done = program("endmqm", option, "QM1")
    assert done.status == 0, done.err
    assert done.out.splitlines()[-1] == "AMQ8004I: Queue manager QM1 ended."
    assert not running_process(started)[0]
    assert state_of(started) is state
    assert "AMQ8004I: Queue manager QM1 ended" in error_log(started)


@pytest.mark.parametrize("options", [[], ["-c"]], ids=["default", "-c"])
def test_a_controlled_end_does_not_wait(started: QueueManagerDirectory, program: Command, options: list[str]) -> None:
    done = program("endmqm", *options, "QM1")
    assert done.status == 0
    assert "is quiescing" in done.out
    wait_until_ended(started)
    assert state_of(started) is ManagerState.ENDED_NORMALLY


def test_an_application_that_stays_holds_a_controlled_end_until_it_is_hurried(
    started: QueueManagerDirectory, program: Command, ostler: Command
) -> None:
    with package.connect("QM1", data=started.root, binding="local") as connection:
        connection.define("QLOCAL", "LEFT")
        assert program("endmqm", "-c", "QM1").status == 0
        assert "STATUS(Quiescing)" in ostler("dspmq", "-m", "QM1").out
        assert ostler("strmqm", "QM1").status == 49
        assert program("endmqm", "-i", "QM1").status == 0
        with pytest.raises(package.MQError):
            connection.put("LEFT", "too late")
    assert state_of(started) is ManagerState.ENDED_IMMEDIATELY


@pytest.mark.parametrize("options", [["-t", "2"], ["-w", "-t", "2"], ["-tp", "10"]], ids=str)
def test_a_target_time_counts_while_it_quiesces(
    started: QueueManagerDirectory, program: Command, ostler: Command, options: list[str]
) -> None:
    """The application never leaves: in the end it is immediate, in good order, and not preemptive."""
    with package.connect("QM1", data=started.root, binding="local") as connection:
        connection.define("QLOCAL", "LEFT")
        assert program("endmqm", "QM1").status == 0
        assert "STATUS(Quiescing)" in ostler("dspmq", "-m", "QM1").out
        done = program("endmqm", *options, "QM1")
        assert done.status == 0, done.err
        assert done.out.splitlines()[-1] == "AMQ8004I: Queue manager QM1 ended."
        with pytest.raises(package.MQError):
            connection.put("LEFT", "too late")
    assert not running_process(started)[0]
    assert state_of(started) is ManagerState.ENDED_IMMEDIATELY
    assert "is ending (immediate): some applications did not disconnect in time" in error_log(started)


def test_one_that_hangs_while_it_quiesces_is_ended_by_force_in_time(
    started: QueueManagerDirectory, program: Command
) -> None:
    """-tp: quiesce, immediate, preemptive, and in the end its process is killed."""
    with package.connect("QM1", data=started.root, binding="local"):
        assert program("endmqm", "QM1").status == 0
        process = process_of(started)
        os.kill(process, signal.SIGSTOP)
        done = program("endmqm", "-tp", "2", "QM1")
        assert done.status == 0, done.err
    assert not running_process(started)[0]


@pytest.mark.slow
def test_z_says_nothing(started: QueueManagerDirectory, program: Command) -> None:
    done = program("endmqm", "-i", "-z", "QM1")
    assert (done.status, done.out) == (0, "")


@pytest.mark.slow
def test_r_is_taken(started: QueueManagerDirectory, program: Command) -> None:
    assert program("endmqm", "-r", "-i", "QM1").status == 0


@pytest.mark.parametrize(
    "options",
    [
        ["-t", "20"],
        pytest.param(["-tp", "20"], marks=pytest.mark.slow),
        pytest.param(["-w", "-t", "20"], marks=pytest.mark.slow),
        ["-i", "-tp", "20"],
    ],
    ids=str,
)
def test_a_target_time_waits_for_the_end(started: QueueManagerDirectory, program: Command, options: list[str]) -> None:
    assert program("endmqm", *options, "QM1").status == 0
    assert not running_process(started)[0]


def test_ending_one_that_does_not_run_exits_40(created: QueueManagerDirectory, ostler: Command) -> None:
    done = ostler("endmqm", "QM1")
    assert done.status == 40
    assert done.err.startswith("AMQ7028E")


def test_ending_an_unknown_one_exits_16(ostler: Command) -> None:
    assert ostler("endmqm", "NOPE").status == 16


@pytest.mark.parametrize("given", [["-s", "-x"], ["-i", "-w"], ["-t", "soon"], []], ids=str)
def test_wrong_options_of_endmqm_exit_39(ostler: Command, given: list[str]) -> None:
    names = ["QM1"] if given else []
    assert ostler("endmqm", *given, *names).status == 39


def test_one_that_stopped_answering_is_killed_by_a_preemptive_end(
    started: QueueManagerDirectory, program: Command
) -> None:
    process = process_of(started)
    os.kill(process, signal.SIGSTOP)
    done = program("endmqm", "-i", "-tp", "0", "QM1")
    assert done.status == 0, done.err
    assert "It was killed" in done.out
    assert not running_process(started)[0]
    assert state_of(started) is ManagerState.ENDED_UNEXPECTEDLY


# -- signals and kills -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "state"),
    [(signal.SIGTERM, ManagerState.ENDED_NORMALLY), (signal.SIGINT, ManagerState.ENDED_IMMEDIATELY)],
)
def test_signals_end_it_in_good_order(
    started: QueueManagerDirectory, number: signal.Signals, state: ManagerState
) -> None:
    os.kill(process_of(started), number)
    wait_until_ended(started)
    assert state_of(started) is state
    assert f"asked by {number.name}" in error_log(started)


def put_and_be_killed(connection: package.Connection, directory: QueueManagerDirectory) -> None:
    connection.put("KEPT", "not committed")
    os.kill(process_of(directory), signal.SIGKILL)
    wait_until_ended(directory)
    connection.put("KEPT", "too late")


def test_a_killed_one_ended_unexpectedly_and_starts_again(started: QueueManagerDirectory, program: Command) -> None:
    assert program("runmqsc", "QM1", text="DEFINE QLOCAL(KEPT) DEFPSIST(YES)\n").status == 0
    with package.connect("QM1", data=started.root, binding="local") as connection:
        connection.put("KEPT", "committed")
        with pytest.raises(package.MQError), connection.transaction():
            put_and_be_killed(connection, started)
    assert state_of(started) is ManagerState.ENDED_UNEXPECTEDLY
    again = program("strmqm", "QM1")
    assert again.status == 0, again.err
    with package.connect("QM1", data=started.root, binding="local") as connection, connection.open("KEPT") as queue:
        assert [message.text for message in queue.messages()] == ["committed"]


def test_two_starts_at_once_make_one_instance(created: QueueManagerDirectory) -> None:
    command = [sys.executable, "-m", "ostler.cli.main", "strmqm", "QM1"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    for each in both:
        each.communicate(timeout=60)
    assert sorted(each.returncode for each in both) == [0, 5]


def test_nobody_else_reads_the_files(started: QueueManagerDirectory, program: Command) -> None:
    """Directories of mode 700, and files, sockets and locks of 600, whatever the umask was."""
    text = "DEFINE QLOCAL(Q)\nDEFINE SERVICE(S) STARTCMD('/bin/true') STDOUT('out.txt')\nSTART SERVICE(S)\n"
    assert program("runmqsc", "QM1", text=text).status == 0
    assert program("users", "add", "QM1", "ann", "--no-password").status == 0
    assert program("put", "Q", "QM1", "-m", "hello", "--persistent").status == 0
    assert program("endmqm", "-w", "QM1").status == 0
    before = os.umask(0)
    try:
        assert program("strmqm", "QM1").status == 0
    finally:
        os.umask(before)
    modes = {path: path.lstat().st_mode for path in [started.path, *started.path.rglob("*")]}
    assert len(modes) > 10
    wrong = {
        str(path.relative_to(started.root)): oct(mode)
        for path, mode in modes.items()
        if mode & 0o777 != (0o700 if stat.S_ISDIR(mode) else 0o600)
    }
    assert wrong == {}


# -- in the foreground -------------------------------------------------------------------------------------------------


@pytest.fixture
def foreground(created: QueueManagerDirectory) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "ostler.cli.main", "strmqm", "--foreground", "QM1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate(timeout=60)


def read_until(process: subprocess.Popen[str], words: str) -> list[str]:
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if words in line:
            return lines
    raise AssertionError(f"{words!r} never came: {lines} {process.stderr.read() if process.stderr else ''}")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_foreground_shows_the_error_log_and_ends_with_a_signal(
    foreground: subprocess.Popen[str], created: QueueManagerDirectory, number: signal.Signals
) -> None:
    lines = read_until(foreground, "AMQ8003I")
    assert process_of(created) == foreground.pid
    assert all(line[2] == ":" and " AMQ" in line for line in lines)
    assert "\x1b" not in "".join(lines)
    foreground.send_signal(number)
    out, err = foreground.communicate(timeout=60)
    assert foreground.returncode == 0, err
    assert "AMQ8004I: Queue manager QM1 ended" in out


def test_endmqm_ends_the_foreground_too(
    foreground: subprocess.Popen[str], created: QueueManagerDirectory, program: Command
) -> None:
    read_until(foreground, "AMQ8003I")
    assert program("endmqm", "-i", "QM1").status == 0
    foreground.communicate(timeout=60)
    assert foreground.returncode == 0


# -- what is to be seen ------------------------------------------------------------------------------------------------


def test_dspmq_sees_it_run_and_end(started: QueueManagerDirectory, program: Command, ostler: Command) -> None:
    process = process_of(started)
    assert "STATUS(Running)" in ostler("dspmq", "-m", "QM1").out
    assert f"PROCESS({process})" in ostler("dspmq", "-o", "all").out
    assert f"INSTANCE({process}) MODE(Active)" in ostler("dspmq", "-x").out
    found = json.loads(ostler("dspmq", "--json").out)
    assert [(each["name"], each["status"], each["process"], each["default"]) for each in found] == [
        ("QM1", "Running", process, True)
    ]
    active = ostler("dspmq", "-a")
    assert active.status == 5, "as MQ has it"
    assert "QMNAME(QM1)" in active.out
    program("endmqm", "-w", "QM1")
    assert "STATUS(Ended normally)" in ostler("dspmq").out
    ended = ostler("dspmq", "-a")
    assert (ended.status, ended.out) == (0, "")
