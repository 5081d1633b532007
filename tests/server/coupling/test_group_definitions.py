"""Three queue managers as processes with one shared repository: definitions at one member are there at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.coupling.group_processes import LIMIT_SECONDS, MEMBER, Group, GroupProcess, wait_for

from ostler.client.api.connection import Connection
from ostler.client.link.control import control
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.config.directories import QueueManagerDirectory

# A member without definitions of its own.
BARE = MEMBER.replace("if is_new:\n    offload", "if False:\n    offload")
assert BARE != MEMBER


class BareGroup(Group):
    def start(self, name: str, number: int) -> int:
        self.members[name] = GroupProcess(BARE, str(self.root), name, str(number), self.facility.address)
        return number

    def says(self, name: str, command: str) -> str:
        """The answer of a member to a command, in one line."""
        replies = control(QueueManagerDirectory(self.root, name), "mqsc", text=command, echo=False)
        return " ".join(" ".join(str(each["line"]) for each in replies if "line" in each).split())

    @property
    def repository(self) -> Path:
        return self.root / "groups" / "QSG1" / "repository.db"


@pytest.fixture
def group(tmp_path: Path) -> Iterator[BareGroup]:
    made = BareGroup(tmp_path)
    try:
        for number in (1, 2, 3):
            made.start(f"QM{number}", number)
        yield made
    finally:
        made.close()


def _can_put(application: Connection, queue: str) -> bool:
    try:
        application.put(queue, b"message")
    except MQError:
        return False
    return True


def _reason(application: Connection, queue: str) -> int:
    try:
        application.open(queue, "w").close()
    except MQError as error:
        return error.reason
    return 0


def test_a_definition_at_one_member_is_usable_at_another(group: BareGroup) -> None:
    with group.connect("QM1") as one, group.connect("QM2") as two:
        wait_for(lambda: "STATUS(ACTIVE)" in group.says("QM1", "DISPLAY GROUP"), "QM1 has not joined")
        group.says("QM1", "DEFINE CFSTRUCT(APP1) CFLEVEL(4)")
        group.says("QM1", "DEFINE QLOCAL(ORDERS) QSGDISP(SHARED) CFSTRUCT(APP1) SHARE DEFSOPT(SHARED)")
        wait_for(lambda: _can_put(two, "ORDERS"), "the queue is not usable at QM2")
        message = one.open("ORDERS", "r").get(wait=LIMIT_SECONDS)
        assert message is not None
        for number in (1, 2, 3):
            name = f"QMNAME(QM{number})"
            wait_for(lambda name=name: name in group.says("QM2", "DISPLAY GROUP"), f"QM2 does not show {name}")  # type: ignore[misc]


def test_a_member_that_was_down_has_the_definitions_when_it_has_started(group: BareGroup) -> None:
    with group.connect("QM1"):
        wait_for(lambda: "STATUS(ACTIVE)" in group.says("QM1", "DISPLAY GROUP"), "QM1 has not joined")
        group.kill("QM3")
        group.says("QM1", "DEFINE CFSTRUCT(APP1) CFLEVEL(4)")
        group.says("QM1", "DEFINE QLOCAL(ORDERS) QSGDISP(SHARED) CFSTRUCT(APP1)")
        group.says("QM1", "DEFINE QALIAS(PAYROLL) QSGDISP(GROUP) TARGET(ORDERS)")
        group.start("QM3", 3)
        with group.connect("QM3"):
            assert "QSGDISP(COPY)" in group.says("QM3", "DISPLAY QALIAS(PAYROLL) ALL")
            assert "CFSTRUCT(APP1)" in group.says("QM3", "DISPLAY QLOCAL(ORDERS) ALL")


def test_members_work_on_without_the_repository(group: BareGroup) -> None:
    with group.connect("QM1") as one:
        wait_for(lambda: "STATUS(ACTIVE)" in group.says("QM1", "DISPLAY GROUP"), "QM1 has not joined")
        group.says("QM1", "DEFINE CFSTRUCT(APP1) CFLEVEL(4)")
        group.says("QM1", "DEFINE QLOCAL(ORDERS) QSGDISP(SHARED) CFSTRUCT(APP1)")
        assert _reason(one, "UNKNOWN") == mq.MQRC_UNKNOWN_OBJECT_NAME
        away = group.repository.parent / "away"
        away.mkdir()
        for each in list(group.repository.parent.glob("repository.db*")):
            each.rename(away / each.name)
        wait_for(lambda: _reason(one, "UNKNOWN") == mq.MQRC_DB2_NOT_AVAILABLE, "QM1 has not noticed")
        wait_for(lambda: _can_put(one, "ORDERS"), "QM1 does not put to a queue that it knows")
        assert "(2342)" in group.says("QM1", "DEFINE CFSTRUCT(APP2)")
        for each in list(away.glob("repository.db*")):
            each.rename(group.repository.parent / each.name)
        wait_for(lambda: _reason(one, "UNKNOWN") == mq.MQRC_UNKNOWN_OBJECT_NAME, "QM1 has not come back")
        assert "AMQ8890I" in group.says("QM1", "DEFINE CFSTRUCT(APP2)")


def test_a_number_of_another_member_ends_the_start(group: BareGroup, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AssertionError, match="before it was ready"):
        group.start("QM4", 2)
    group.members.pop("QM4", None)
    assert "AMQ7540E: Number 2 in the queue-sharing group belongs to queue manager QM2" in capfd.readouterr().err
