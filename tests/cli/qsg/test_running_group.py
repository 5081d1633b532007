"""A group of two members as processes: the facility that they start, CMDSCOPE, and what add and remove allow then."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import SMALL_LOG, Command, Said

from ostler.cli.framework.exit_statuses import Status
from ostler.cli.runmqsc.command_queue import CommandQueue
from ostler.client.api.connection import connect
from ostler.model import constants as mq
from ostler.model.pcf import Parameter, String
from ostler.server.config.directories import QueueManagerDirectory, queue_managers, running_process
from ostler.server.coupling.facility_directory import FacilityDirectory

SECONDS = 120.0
DEFINITIONS = """
DEFINE CFSTRUCT(APP1) CFLEVEL(5) RECOVER(YES) OFFLOAD(SMDS) DSGROUP('QSG1.*.APP1')
DEFINE QLOCAL(SHARED.QUEUE) QSGDISP(SHARED) CFSTRUCT(APP1) SHARE
"""


def wait_for(condition: Callable[[], bool], missing: Callable[[], str]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, missing()
        time.sleep(0.05)


class RunningGroup:
    def __init__(self, command: Command, data: Path) -> None:
        self._command = command
        self.data = data
        self.facility = FacilityDirectory(data, "QSG1")

    def run(self, *arguments: str, text: str = "") -> Said:
        """Run a command in this process; `text` is a script for runmqsc."""
        if text:
            script = self.data / "script.mqsc"
            script.write_text(text)
            arguments = (arguments[0], "-f", str(script), *arguments[1:])
        return self._command(*arguments)

    def ok(self, *arguments: str, text: str = "") -> str:
        done = self.run(*arguments, text=text)
        assert done.status == 0, (arguments, done)
        return done.out

    def shown(self) -> str:
        return self.ok("qsg", "show", "QSG1")

    def wait_until_shown(self, text: str) -> None:
        wait_for(lambda: text in self.shown(), lambda: f"{text} was to be in {self.shown()}")

    def make(self, definitions: str, *options: str, log: tuple[str, ...] = SMALL_LOG) -> None:
        """Create QSG1 with options of `qsg create`, two members that run, and definitions that both know."""
        self.ok("qsg", "create", "QSG1", *options)
        for number, name in enumerate(("QM1", "QM2"), 1):
            self.ok("crtmqm", *log, name)
            self.ok("qsg", "add", "QSG1", name)
            self.start(name, number)
        self.ok("runmqsc", "-e", "QM1", text=definitions)
        wait_for(
            lambda: self.run("runmqsc", "-e", "QM2", text="DISPLAY QLOCAL(SHARED.QUEUE)").status == 0,
            lambda: "QM2 does not know the shared queue",
        )

    def close(self) -> None:
        for entry in queue_managers(self.data):
            if entry.running:
                os.kill(entry.process, signal.SIGKILL)
        self.kill_facility()

    def kill_facility(self) -> None:
        record = self.facility.record()
        if self.facility.is_running() and record is not None:
            os.kill(record.pid, signal.SIGKILL)
            wait_for(lambda: not self.facility.is_running(), lambda: "the facility was to end")

    def start(self, name: str, number: int) -> None:
        self.ok("strmqm", name)
        self.wait_until_shown(f"MEMBER({number}) QMNAME({name}) STATUS(ACTIVE)")

    def kill(self, name: str) -> None:
        directory = QueueManagerDirectory(self.data, name)
        os.kill(running_process(directory)[1], signal.SIGKILL)
        wait_for(lambda: not running_process(directory)[0], lambda: f"{name} was to end")


@pytest.fixture
def running(ostler: Command, data: Path) -> Iterator[RunningGroup]:
    """QM1 and QM2 of QSG1, which run, with a shared queue."""
    group = RunningGroup(ostler, data)
    try:
        group.make(DEFINITIONS)
        yield group
    finally:
        group.close()


def ask_by_pcf(running: RunningGroup) -> None:
    def request(scope: str, command: int = mq.MQCMD_PING_Q_MGR, *others: Parameter) -> list[tuple[str, int, int]]:
        """Queue manager, reason and last of each reply."""
        found = []
        for reply in queue.request(command, [*others, String(mq.MQCACF_COMMAND_SCOPE, scope)]):
            names = [
                each.value
                for each in reply.parameters
                if isinstance(each, String) and each.parameter == mq.MQCACF_RESPONSE_Q_MGR_NAME
            ]
            found.append(("".join(names), reply.header.reason, reply.header.control))
        return found

    with connect("QM1", data=running.data, binding="local") as connection:
        queue = CommandQueue(connection)
        assert request("*") == [("QM1", 0, mq.MQCFC_NOT_LAST), ("QM2", 0, mq.MQCFC_LAST)]
        assert request("QM2") == [("QM2", 0, mq.MQCFC_LAST)]
        assert request("QM1") == [("", 0, mq.MQCFC_LAST)]
        assert request("QM9") == [("", mq.MQRCCF_COMMAND_SCOPE_ERROR, mq.MQCFC_LAST)]
        missing = String(mq.MQCA_Q_NAME, "NO.SUCH.QUEUE")
        (reply,) = request("QM2", mq.MQCMD_INQUIRE_Q, missing)
        assert reply == ("QM2", mq.MQRC_UNKNOWN_OBJECT_NAME, mq.MQCFC_LAST)


def give_commands(running: RunningGroup) -> None:
    everywhere = running.ok("runmqsc", "-e", "QM1", text="DEFINE QLOCAL(ORDERS) CMDSCOPE(*)\n")
    assert [line for line in everywhere.splitlines() if line.startswith("AMQ8")][:4] == [
        "AMQ8945I: Queue manager QM1 answers:",
        "AMQ8006I: Ostler queue created.",
        "AMQ8945I: Queue manager QM2 answers:",
        "AMQ8006I: Ostler queue created.",
    ], everywhere
    there = running.ok("runmqsc", "-e", "QM1", text="DISPLAY QLOCAL(ORDERS) DESCR CMDSCOPE(QM2)\n")
    assert "AMQ8945I: Queue manager QM2 answers:" in there
    assert "QUEUE(ORDERS)" in there
    assert "Queue manager QM1" not in there
    twice = running.run("runmqsc", "-e", "QM1", text="DEFINE QLOCAL(ORDERS) CMDSCOPE(QM2)\n")
    assert "AMQ8150E" in twice.out
    assert "AMQ8947E: The command was not done at QM2." in twice.out
    unknown = running.run("runmqsc", "-e", "QM1", text="PING QMGR CMDSCOPE(QM9)\n")
    expected = "AMQ8948E: CMDSCOPE(QM9) names no active member of queue-sharing group QSG1: active are QM2."
    assert expected in unknown.out
    ask_by_pcf(running)
    # A member that is alive, and answers nothing.
    frozen = running_process(QueueManagerDirectory(running.data, "QM2"))[1]
    os.kill(frozen, signal.SIGSTOP)
    try:
        late = running.run("runmqsc", "-e", "QM1", text="PING QMGR CMDSCOPE(*)\n")
    finally:
        os.kill(frozen, signal.SIGCONT)
    assert "AMQ8946E: Queue manager QM2 did not answer within 5 seconds." in late.out
    assert "AMQ8415I" in late.out
    # Its peers may have given it up meanwhile.
    running.wait_until_shown("MEMBER(2) QMNAME(QM2) STATUS(ACTIVE)")


def share_a_queue_and_leave(running: RunningGroup) -> None:
    log = QueueManagerDirectory(running.data, "QM1").errors / "AMQERR01.LOG"
    started = "AMQ3864I: Queue manager QM1 has started coupling facility QSG1 in process"
    wait_for(lambda: started in log.read_text(), lambda: f"QM1 has not told it: {log.read_text()}")
    running.ok("put", "SHARED.QUEUE", "QM1", "-m", "hello")
    running.wait_until_shown("CFSTRUCT(APP1) STATUS(ACTIVE)")
    refused = running.run("qsg", "remove", "QSG1", "QM2")
    assert (refused.status, "QM2 is running" in refused.err) == (Status.RUNNING, True)

    # The facility outlives the member that started it.
    running.kill("QM1")
    running.wait_until_shown("QMNAME(QM1) STATUS(INACTIVE)")
    assert "hello" in running.ok("get", "SHARED.QUEUE", "QM2")
    assert running.run("endcf", "QSG1").status == Status.OBJECT_IN_USE

    # A queue manager that comes back has its own number again, which is in its log.
    running.ok("qsg", "remove", "QSG1", "QM1")
    assert "is member 1 of" in running.ok("qsg", "add", "QSG1", "QM1")
    running.start("QM1", 1)
    for name in ("QM1", "QM2"):
        running.ok("endmqm", "-w", name)
        running.ok("qsg", "remove", "QSG1", name)
    running.ok("qsg", "create", "QSG2")
    other = running.run("qsg", "add", "QSG2", "QM1")
    assert (other.status, "its log is that of the member there" in other.err) == (Status.EXISTS, True)
    assert running.ok("qsg", "delete", "QSG1") == "AMQ3874I: Queue-sharing group QSG1 deleted.\n"
    wait_for(lambda: not running.facility.is_running(), lambda: "the facility was to end with its group")


@pytest.mark.slow
def test_a_group_on_one_machine(running: RunningGroup) -> None:
    give_commands(running)
    share_a_queue_and_leave(running)


def test_the_process_ends_with_a_status_that_tells_of_it(ostler: Command, data: Path) -> None:
    """With the defaults of MQ: strmqm, qsg add, and the facility that the member has started."""
    facility = FacilityDirectory(data, "QSG1")
    directory = QueueManagerDirectory(data, "QM1")
    try:
        for arguments in (("qsg", "create", "QSG1"), ("crtmqm", *SMALL_LOG, "QM1"), ("qsg", "add", "QSG1", "QM1")):
            assert ostler(*arguments).status == 0
        assert ostler("strmqm", "QM1").status == 0
        wait_for(lambda: "STATUS(ACTIVE)" in ostler("qsg", "show", "QSG1").out, lambda: "QM1 has not joined")
        record = facility.record()
        assert record is not None
        os.kill(record.pid, signal.SIGKILL)
        wait_for(lambda: not running_process(directory)[0], lambda: "QM1 has not ended")
        log = "".join(path.read_text() for path in (directory.path / "errors").glob("*.LOG"))
        assert "AMQ7499S" in log
        assert "ended (immediate)" in log
        assert ostler("strmqm", "QM1").status == 0  # it starts its facility again, and joins
        wait_for(lambda: "STATUS(ACTIVE)" in ostler("qsg", "show", "QSG1").out, lambda: "QM1 has not joined again")
    finally:
        for entry in queue_managers(data):
            if entry.running:
                os.kill(entry.process, signal.SIGKILL)
        record = facility.record()
        if facility.is_running() and record is not None:
            os.kill(record.pid, signal.SIGKILL)
