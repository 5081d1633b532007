"""Units of GROUP disposition (GROUPUR): any member shows and resolves them, whoever prepared them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from tests.command.mqsc.test_in_doubt import INPUT_OUTPUT, NID, XID, MemberCommands
from tests.world.group.group_world import GroupWorld, MemberWorld

from ostler.command.admin.group_scope import GroupCommands, MemberAnswer
from ostler.command.mqsc.interpreter import run_command
from ostler.engine import objects
from ostler.engine.shared.in_doubt import prepare_for_coordinator
from ostler.model import constants as mq
from ostler.model.errors import MQError

SHOW = "DISPLAY THREAD(*) TYPE(INDOUBT)"
COMMIT = f"RESOLVE INDOUBT(*) ACTION(COMMIT) NID({NID})"


class CommandsOfGroup(GroupCommands):
    """Runs commands at the other members, without messages between them."""

    def __init__(self, world: GroupWorld, here: MemberWorld) -> None:
        self._others = {each.name: each for each in world.members if each is not here and each.is_up}
        self._world = world

    @property
    def group(self) -> str:
        return "QSG1"

    def active_members(self) -> list[str]:
        return list(self._others)

    def run_mqsc(self, members: Sequence[str], text: str) -> Iterator[MemberAnswer]:
        for name in members:
            commands = MemberCommands(self._others[name])
            commands.is_asked_by_member = True
            said = "\n".join(run_command(commands, text))
            yield MemberAnswer(name, (said.encode(),), is_done="done" in said)

    def run_pcf(self, members: Sequence[str], message: bytes) -> Iterator[MemberAnswer]:
        raise AssertionError("no PCF here")


def run(member: MemberWorld, text: str) -> str:
    commands = MemberCommands(member)
    commands.others = CommandsOfGroup(member.group, member)
    return "\n".join(run_command(commands, text))


def set_group_units(member: MemberWorld, value: int) -> None:
    definition = member.engine.manager.with_changes({"GROUPUR": value})
    member.acknowledge(int(objects.define(member.engine, definition, True)))


class GroupUnit:
    """QM1 has a prepared unit of a connection to QSG1: a private and a shared message."""

    def __init__(self) -> None:
        self.group = GroupWorld("QM1", "QM2", "QM3")
        self.group.define_structure("APP1")
        self.group.define_queue("Q")
        self.a, self.b, self.c = self.group.members
        self.a.define_queue("PRIVATE")
        for member in (self.a, self.b):
            set_group_units(member, mq.MQGUR_ENABLED)
        application = self.a.connect()
        application.is_of_group = True
        for name in ("Q", "PRIVATE"):
            handle = self.a.open(application, name, INPUT_OUTPUT)
            self.a.put(application, handle, b"new", syncpoint=True)
        prepare_for_coordinator(self.a.engine, application, XID)
        assert application.unit_of_work is None
        self.group.settle()

    def check(self, committed: bool) -> None:
        wanted = [b"new"] if committed else []
        for _ in range(2):
            self.group.ticks()
            self.a.force()
        assert (self.c.bodies("Q"), self.a.bodies("PRIVATE")) == (wanted, wanted)
        assert not self.a.engine.units_of_work
        self.group.ticks()
        assert self.group.units()[1] == [], "descriptors are left"


@pytest.fixture
def unit() -> GroupUnit:
    return GroupUnit()


def test_all_members_with_groupur_show_it(unit: GroupUnit) -> None:
    for member in (unit.a, unit.b):
        shown = run(member, SHOW)
        assert shown.count("AMQ7590I") == 1
        assert all(word in shown for word in (f"NID({NID})", "QMNAME(QM1)", "URDISP(GROUP)"))
    assert "AMQ7591I" in run(unit.c, SHOW), "QM3 has GROUPUR(DISABLED)"
    assert "AMQ7591I" in run(unit.b, "DISPLAY THREAD(QM2) TYPE(INDOUBT)")


@pytest.mark.parametrize("action", ["COMMIT", "BACKOUT"])
@pytest.mark.parametrize("seed", [None, 1])
def test_a_member_resolves_it_when_its_owner_is_dead(unit: GroupUnit, action: str, seed: int | None) -> None:
    unit.a.die(seed)
    unit.group.settle()
    assert f"NID({NID})" in run(unit.b, SHOW)
    run(unit.b, f"RESOLVE INDOUBT(*) ACTION({action}) NID({NID})")
    assert unit.b.bodies("Q") == ([b"new"] if action == "COMMIT" else [])
    assert "AMQ7591I" in run(unit.b, SHOW)
    unit.a.come_back()
    unit.check(action == "COMMIT")


@pytest.mark.parametrize("action", ["COMMIT", "BACKOUT"])
def test_a_member_has_an_active_owner_resolve_it(unit: GroupUnit, action: str) -> None:
    answer = run(unit.b, f"RESOLVE INDOUBT(*) ACTION({action}) NID({NID})")
    assert ("AMQ7593I" if action == "COMMIT" else "AMQ7594I") in answer
    unit.check(action == "COMMIT")


def test_it_keeps_its_disposition_over_a_restart_and_a_lost_facility(unit: GroupUnit) -> None:
    unit.a.die()
    unit.a.come_back()
    assert "URDISP(GROUP)" in run(unit.a, SHOW)
    unit.group.lose_facility()
    for member in unit.group.members:
        member.join()
    unit.group.settle()
    unit.group.recover(unit.a)
    assert "URDISP(GROUP)" in run(unit.b, SHOW)
    assert "AMQ7593I" in run(unit.b, COMMIT)
    unit.check(True)


def test_units_of_others_are_resolved_by_their_identifier_only(unit: GroupUnit) -> None:
    assert "AMQ7591I" in run(unit.b, "RESOLVE INDOUBT(*) ACTION(BACKOUT) NID(*)")
    assert "AMQ7591I" in run(unit.c, COMMIT), "QM3 has GROUPUR(DISABLED)"
    assert unit.group.units()[1] == ["INDOUBT"]


def test_units_of_other_connections_are_their_queue_manager_s(unit: GroupUnit) -> None:
    application = unit.a.connect()
    unit.a.put(application, unit.a.open(application, "Q", INPUT_OUTPUT), b"x", syncpoint=True)
    prepare_for_coordinator(unit.a.engine, application, b"other")
    unit.group.settle()
    assert run(unit.b, SHOW).count("AMQ7590I") == 1
    assert run(unit.a, SHOW).count("AMQ7590I") == 2
    assert "URDISP(QMGR)" in run(unit.a, SHOW)


def test_a_connection_without_work_has_nothing_to_prepare(unit: GroupUnit) -> None:
    with pytest.raises(MQError) as refused:
        prepare_for_coordinator(unit.a.engine, unit.a.connect(), XID)
    assert refused.value.reason == mq.MQRC_UOW_NOT_AVAILABLE
