"""The trigger monitor: real trigger messages, real processes."""

from __future__ import annotations

import json
import logging
import shlex
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import ostler
from ostler.client.api.connection import Connection
from ostler.client.api.trigger_monitor import Trigger, TriggerMonitor, command_of
from ostler.model import constants as mq
from ostler.model.structures.headers import MQTMC2
from ostler.server.config.qm_ini import LogSection

LOG = LogSection(file_pages=64)
SECONDS_MAX = 60.0
WRITE_ARGUMENTS = "import json, sys; json.dump(sys.argv[2:], open(sys.argv[1], 'w'))"


@pytest.fixture
def qm(tmp_path: Path) -> Iterator[Connection]:
    manager = ostler.start("TRIGGER", tmp_path / "data", create=True, log=LOG)
    with ostler.connect(manager) as connection:
        connection.define("QLOCAL", "INITQ")
        yield connection
    manager.end()


def triggered(qm: Connection, program: str, user_data: str = "", environment: str = "") -> None:
    """A queue that triggers a program with its first message."""
    qm.define("PROCESS", "PROC", APPLICID=program, APPLTYPE="UNIX", USERDATA=user_data, ENVRDATA=environment)
    qm.define("QLOCAL", "WORK", TRIGGER=True, TRIGTYPE="FIRST", PROCESS="PROC", INITQ="INITQ", TRIGDATA="trigger data")


class Started(logging.Handler):
    """Tells when the monitor has dealt with a trigger message."""

    def __init__(self) -> None:
        super().__init__()
        self.dealt = threading.Semaphore(0)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())
        self.dealt.release()

    def wait(self) -> None:
        assert self.dealt.acquire(timeout=SECONDS_MAX)


@pytest.fixture
def started() -> Iterator[Started]:
    handler = Started()
    log = logging.getLogger("ostler.trigger_monitor")
    before = log.level
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    yield handler
    log.removeHandler(handler)
    log.setLevel(before)


def finish(monitor: TriggerMonitor, started: Started) -> None:
    started.wait()
    assert monitor.wait_for_programs(SECONDS_MAX)


def test_a_program_is_started_with_the_structure_as_its_argument(
    qm: Connection, started: Started, tmp_path: Path
) -> None:
    out = tmp_path / "out.json"
    program = shlex.join([sys.executable, "-c", WRITE_ARGUMENTS, str(out)])
    triggered(qm, program, user_data='user\'s "data" $(id); x', environment="'last one' &")
    with TriggerMonitor("TRIGGER", "INITQ") as monitor:
        qm.put("WORK", "wake up")
        finish(monitor, started)
    assert (monitor.started, monitor.finished, monitor.unsuccessful, monitor.failed) == (1, 1, 0, 0)
    structure, last = json.loads(out.read_text())
    assert last == "last one"
    data = structure.encode()
    assert len(data) == MQTMC2.size(2)
    assert MQTMC2.validate_header(data) == 2
    fields = {name: MQTMC2.read_bytes(data, name).decode().rstrip() for name in MQTMC2.by_name}
    assert fields == {
        "StrucId": "TMC",
        "Version": "   2",
        "QName": "WORK",
        "ProcessName": "PROC",
        "TriggerData": "trigger data",
        "ApplType": "",
        "ApplId": program,
        "EnvData": "'last one' &",
        "UserData": 'user\'s "data" $(id); x',
        "QMgrName": "TRIGGER",
    }


def test_a_shell_is_used_only_when_asked_for(qm: Connection, started: Started, tmp_path: Path) -> None:
    out = tmp_path / "out"
    triggered(qm, f'shell:printf %s "$1" | wc -c > {shlex.quote(str(out))}', user_data="$(touch never); `x`")
    with TriggerMonitor("TRIGGER", "INITQ") as monitor:
        qm.put("WORK", "wake up")
        finish(monitor, started)
    assert out.read_text().strip() == str(MQTMC2.size(2))
    assert monitor.unsuccessful == 0


def test_commands_are_never_put_together_from_text() -> None:
    trigger = Trigger("Q", "P", "", 6, "prog 'a b'", "; rm -rf x &", "$(evil)", "QM1")
    words = command_of(trigger)
    assert words[:2] == ["prog", "a b"]
    assert words[3:] == [";", "rm", "-rf", "x"]
    assert len(words[2]) == 732
    shell = command_of(Trigger("Q", "P", "", 6, 'shell:echo "$1"', "ignored", "$(evil)", "QM1"))
    assert shell[:4] == ["/bin/sh", "-c", 'echo "$1"', "sh"]
    assert "$(evil)" in shell[4]
    for bad in ("", "   ", "'open quote"):
        with pytest.raises(ValueError, match=r"APPLICID|quotation"):
            command_of(Trigger("Q", "P", "", 6, bad, "", "", "QM1"))


def test_functions_can_be_programs(qm: Connection, started: Started) -> None:
    seen: list[Trigger] = []

    def program(trigger: Trigger) -> None:
        seen.append(trigger)
        with ostler.connect(trigger.manager) as connection, connection.open(trigger.queue, "r") as work:
            assert [m.body for m in work] == ["wake up"]

    triggered(qm, "my program", user_data="user data")
    with TriggerMonitor(qm.manager, "INITQ", programs={"my program": program}) as monitor:
        qm.put("WORK", "wake up")
        finish(monitor, started)
    assert (monitor.started, monitor.finished, monitor.unsuccessful) == (1, 1, 0)
    assert seen == [Trigger("WORK", "PROC", "trigger data", mq.MQAT_UNIX, "my program", "", "user data", "TRIGGER")]


def test_what_was_there_before_the_monitor_is_served(qm: Connection, started: Started) -> None:
    called = threading.Event()
    triggered(qm, "program")
    qm.put("WORK", "early")
    with TriggerMonitor("TRIGGER", "INITQ", programs={"program": lambda trigger: called.set()}) as monitor:
        finish(monitor, started)
    assert called.is_set()


def test_failures_are_counted_and_the_monitor_goes_on(qm: Connection, started: Started) -> None:
    triggered(qm, "/no/such/program")

    def fail(trigger: Trigger) -> None:
        raise ValueError("no")

    with TriggerMonitor("TRIGGER", "INITQ", programs={"bad function": fail}) as monitor:
        qm.put("WORK", "wake up")
        started.wait()
        assert (monitor.failed, monitor.started) == (1, 0)
        assert "/no/such/program" in started.texts[-1]

        qm.put("INITQ", "this is no trigger message")
        started.wait()
        assert (monitor.failed, monitor.started) == (2, 0)

        qm.clear("WORK")
        qm.alter("PROCESS", "PROC", APPLICID="bad function")
        qm.put("WORK", "wake up")
        started.wait()  # two things are logged, in any order: that it was started, and that it failed
        finish(monitor, started)
        assert (monitor.failed, monitor.started, monitor.unsuccessful) == (2, 1, 1)

        qm.clear("WORK")
        qm.alter("PROCESS", "PROC", APPLICID=f"{sys.executable} -c 'raise SystemExit(3)'")
        qm.put("WORK", "wake up")
        finish(monitor, started)
        assert (monitor.started, monitor.finished, monitor.unsuccessful) == (2, 2, 2)
        states = [monitor.is_running]
    states.append(monitor.is_running)
    assert (states, monitor.error) == ([True, False], None)


def test_it_stops_while_it_waits_and_can_start_again(qm: Connection) -> None:
    monitor = TriggerMonitor("TRIGGER", "INITQ")
    for _ in range(2):
        monitor.start()
        assert qm.display("QLOCAL", "INITQ", "IPPROCS")[0]["IPPROCS"] == 1
        monitor.stop()
        assert qm.display("QLOCAL", "INITQ", "IPPROCS")[0]["IPPROCS"] == 0


def test_it_ends_with_its_queue_manager(tmp_path: Path) -> None:
    manager = ostler.start("TRIGGER2", tmp_path, create=True, log=LOG)
    monitor = TriggerMonitor("TRIGGER2")
    monitor.start()
    manager.end()
    monitor.stop()
    assert monitor.error is None


def test_an_initiation_queue_that_is_not_there(qm: Connection) -> None:
    before = len(qm.manager.engine.connections)
    with pytest.raises(ostler.MQError) as caught:
        TriggerMonitor("TRIGGER", "NO.SUCH.QUEUE").start()
    assert caught.value.reason == mq.MQRC_UNKNOWN_OBJECT_NAME
    assert len(qm.manager.engine.connections) == before
