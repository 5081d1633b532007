"""BACKUP and RECOVER CFSTRUCT of queue managers that run, through runmqsc and through PCF: the facility is killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Command
from tests.cli.qsg.test_running_group import RunningGroup, wait_for

from ostler.cli.runmqsc.command_queue import CommandQueue
from ostler.client.api.connection import Connection, connect
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.pcf import Parameter, String

LINEAR_LOG = ("-ll", "-lf", "256", "-lp", "3", "-ls", "2")
DEFINITIONS = """
DEFINE CFSTRUCT(APP1) CFLEVEL(5) RECOVER(YES) RECAUTO(NO) OFFLOAD(SMDS) DSGROUP('QSG1.*.APP1') CFCONLOS(TOLERATE)
DEFINE CFSTRUCT(APP2) CFLEVEL(5) RECOVER(YES) RECAUTO(NO) OFFLOAD(DB2) CFCONLOS(TOLERATE)
DEFINE QLOCAL(OTHER.QUEUE) QSGDISP(SHARED) CFSTRUCT(APP2) SHARE
DEFINE QLOCAL(SHARED.QUEUE) QSGDISP(SHARED) CFSTRUCT(APP1) SHARE
"""
QUEUES = {"APP1": "SHARED.QUEUE", "APP2": "OTHER.QUEUE"}
LONG = bytes(range(256)) * 400  # beyond 63 KB: in a data set, or a blob of the repository


@pytest.fixture
def running(ostler: Command, data: Path) -> Iterator[RunningGroup]:
    group = RunningGroup(ostler, data)
    try:
        group.make(DEFINITIONS, log=LINEAR_LOG)
        for name in ("QM1", "QM2"):  # the loss of the facility ends neither
            group.ok("runmqsc", "-e", name, text="ALTER QMGR CFCONLOS(TOLERATE)\n")
        yield group
    finally:
        group.close()


class Work:
    """Puts and gets at both members; `kept` has the persistent messages that were acknowledged and not got."""

    def __init__(self, group: RunningGroup) -> None:
        self._group = group
        self._number = 0
        self.kept: dict[str, Counter[bytes]] = {name: Counter() for name in QUEUES}

    def connect(self, name: str) -> Connection:
        return connect(name, data=self._group.data, binding="local")

    def do(self) -> None:
        """At each member and queue: put persistent messages short and long, and others; get some in a unit."""
        for manager in ("QM1", "QM2"):
            with self.connect(manager) as application:
                for structure, queue in QUEUES.items():
                    for body in (b"a", b"b", LONG, b"c"):
                        self._put(application, structure, queue, body)
                    application.put(queue, b"not persistent", persistent=False)
                    with application.transaction():
                        self._put(application, structure, queue, b"in a unit")
                        got = application.open(queue, "r").get(wait=5)
                        assert got is not None
                    self.kept[structure][got.data] -= 1

    def _put(self, application: Connection, structure: str, queue: str, body: bytes) -> None:
        self._number += 1
        numbered = b"%d " % self._number + body
        application.put(queue, numbered, persistent=True)
        self.kept[structure][numbered] += 1

    def reason(self, queue: str) -> int:
        """The reason with which a put is refused; 0: it is done."""
        with self.connect("QM2") as application:
            try:
                application.put(queue, b"probe", persistent=False)
            except MQError as error:
                return error.reason
        return 0

    def check(self) -> None:
        """Every acknowledged persistent message is there once, and is left where it is."""
        with self.connect("QM2") as application:
            for structure, queue in QUEUES.items():
                found = Counter(each.data for each in application.open(queue, "b").browse())
                del found[b"probe"], found[b"not persistent"]
                wanted = +self.kept[structure]
                assert wanted
                assert (wanted - found, found - wanted) == (Counter(), Counter()), f"{queue}: lost, and twice"


def lose(group: RunningGroup, work: Work) -> None:
    """The facility is killed, and an operator starts an empty one."""
    group.kill_facility()
    group.ok("strcf", "QSG1")
    for number, name in enumerate(("QM1", "QM2"), 1):
        group.wait_until_shown(f"MEMBER({number}) QMNAME({name}) STATUS(ACTIVE)")
    for queue in QUEUES.values():
        wait_for(
            lambda queue=queue: work.reason(queue) == mq.MQRC_CF_STRUC_FAILED,  # type: ignore[misc]
            lambda queue=queue: f"{queue} was to have failed: {work.reason(queue)}",  # type: ignore[misc]
        )


@pytest.mark.slow
def test_by_runmqsc(running: RunningGroup) -> None:
    work = Work(running)
    work.do()
    said = running.ok("runmqsc", "-e", "QM1", text="BACKUP CFSTRUCT(APP*)\n")
    assert said.count("AMQ7504I") == 2, said
    work.do()
    lose(running, work)
    assert "STATUS(FAILED)" in running.ok("runmqsc", "-e", "QM1", text="DISPLAY CFSTATUS(APP1)\n")
    said = running.ok("runmqsc", "-e", "QM2", text="RECOVER CFSTRUCT(APP1,APP2)\n")
    shown = running.ok("runmqsc", "-e", "QM1", text="DISPLAY CFSTATUS(APP*)\n")
    assert shown.count("STATUS(ACTIVE)") == 2, said + shown
    work.check()
    work.do()
    work.check()
    refused = running.run("runmqsc", "-e", "QM1", text="RECOVER CFSTRUCT(APP1)\n")
    assert refused.status != 0, "a structure that has not failed is not recovered"


@pytest.mark.slow
def test_by_pcf(running: RunningGroup) -> None:
    work = Work(running)

    def ask(manager: str, command: int, structure: str) -> list[int]:
        with work.connect(manager) as application:
            asked: list[Parameter] = [String(mq.MQCA_CF_STRUC_NAME, structure)]
            return [reply.header.reason for reply in CommandQueue(application).request(command, asked)]

    work.do()
    assert ask("QM2", mq.MQCMD_BACKUP_CF_STRUC, "APP*") == [0, 0]
    work.do()
    lose(running, work)
    for structure in QUEUES:
        assert ask("QM1", mq.MQCMD_RECOVER_CF_STRUC, structure) == [0]
    work.check()
    assert ask("QM1", mq.MQCMD_RECOVER_CF_STRUC, "APP1") != [0], "a structure that has not failed is not recovered"
