"""CFCONLOS: members that lose the coupling facility end, or go on with their private queues."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.coupling.group_processes import OwnFacility, wait_for
from tests.server.coupling.members_here import MemberHere
from tests.world.group.group_world import GroupWorld

from ostler.client.api.connection import Connection
from ostler.engine import objects
from ostler.engine.shared.membership import Terminator
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.definitions import new_definition
from ostler.model.errors import MQError
from ostler.server.config.directories import running_process
from ostler.server.coupling.repository.opening import open_repository

TOLERATE, TERMINATE, ASQMGR = mq.MQCFCONLOS_TOLERATE, mq.MQCFCONLOS_TERMINATE, mq.MQCFCONLOS_ASQMGR


class Noted(Terminator):
    def __init__(self) -> None:
        self.causes: list[str] = []

    def terminate(self, why: str) -> None:
        self.causes.append(why)


@pytest.mark.parametrize(
    ("manager", "structure", "level", "cause"),
    [
        (TERMINATE, ASQMGR, 5, "the queue manager has CFCONLOS(TERMINATE)"),
        (TERMINATE, TOLERATE, 5, "the queue manager has CFCONLOS(TERMINATE)"),
        (TOLERATE, ASQMGR, 5, ""),
        (TOLERATE, TOLERATE, 5, ""),
        (TOLERATE, TERMINATE, 5, "structure APP1 has CFCONLOS(TERMINATE)"),
        (TOLERATE, TOLERATE, 4, "structure APP1 has CFLEVEL(4), which implies CFCONLOS(TERMINATE)"),
    ],
)
def test_the_strictest_of_what_is_connected_counts(manager: int, structure: int, level: int, cause: str) -> None:
    group = GroupWorld("QM1")
    (member,) = group.members
    changes: dict[str, Value] = {"CFCONLOS": manager}
    member.acknowledge(int(objects.define(member.engine, member.engine.manager.with_changes(changes), True)))
    group.define_structure("APP1", level=level, more={"CFCONLOS": structure})
    group.define_queue("Q")
    member.open(member.connect(), "Q", mq.MQOO_OUTPUT)
    group.settle()
    noted = member.member.terminator = Noted()
    member.port.lose()
    assert noted.causes == ([cause] if cause else [])


@pytest.fixture
def facility(tmp_path: Path) -> Iterator[OwnFacility]:
    directory = tmp_path / "groups" / "QSG1"
    directory.mkdir(parents=True)
    repository = open_repository(str(directory / "repository.db"), "QSG1")
    repository.create()
    repository.close()
    running = OwnFacility(tmp_path)
    yield running
    running.close()


def noted(member: MemberHere, number: str) -> list[str]:
    return [each for each in member.manager.notices if each.startswith(number)]


def test_terminate_ends_the_queue_manager_and_loses_nothing(tmp_path: Path, facility: OwnFacility) -> None:
    member = MemberHere(tmp_path, "QM1", 1, facility.address, "TERMINATE")
    member.manager.define(new_definition(ObjectType.QLOCAL, "PRIVATE.QUEUE", {"SHARE": 1}))
    with member.connect() as application:
        application.put("SHARED.QUEUE", b"shared", persistent=True)
        application.put("PRIVATE.QUEUE", b"private", persistent=True)
        facility.restart()
        wait_for(lambda: not running_process(member.directory)[0], "QM1 has not ended")
    (line,) = noted(member, "AMQ7499S")
    assert "QM1 ends" in line
    assert "CFCONLOS(TOLERATE)" in line
    member.loss = "TOLERATE"
    member.start()
    with member.connect() as application:
        private = application.open("PRIVATE.QUEUE", "r").get()
        assert private is not None
        assert private.data == b"private"
        wait_for(lambda: _got(application) == b"shared", "the structure has not been recovered")
    member.end()


def _got(application: Connection) -> bytes:
    try:
        message = application.open("SHARED.QUEUE", "r").get()
    except MQError:
        return b""
    return message.data if message is not None else b""


def test_tolerate_keeps_private_work_going(tmp_path: Path, facility: OwnFacility) -> None:
    member = MemberHere(tmp_path, "QM1", 1, facility.address)
    member.manager.define(new_definition(ObjectType.QLOCAL, "PRIVATE.QUEUE", {"SHARE": 1}))
    with member.connect() as application:
        facility.close()
        wait_for(lambda: bool(noted(member, "AMQ7493W")), "the loss was not noticed")
        application.put("PRIVATE.QUEUE", b"private", persistent=True)
        private = application.open("PRIVATE.QUEUE", "r").get()
        assert private is not None
        with pytest.raises(MQError) as refused:
            application.put("SHARED.QUEUE", b"shared")
        assert refused.value.reason == mq.MQRC_CF_NOT_AVAILABLE
    assert noted(member, "AMQ7499S") == []
    member.end()
