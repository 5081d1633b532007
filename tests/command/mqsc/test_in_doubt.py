"""DISPLAY THREAD TYPE(INDOUBT) and RESOLVE INDOUBT, at the queue manager itself and at a peer of its group."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest
from tests.command.conftest import LocalCommandContext
from tests.world.group.group_world import GroupWorld, MemberWorld

from ostler.command.admin.group_scope import GroupCommands
from ostler.command.mqsc.interpreter import run_command
from ostler.engine.core import Engine
from ostler.engine.recovery.shared_records import PEER_BACK_OUT, PEER_COMMIT
from ostler.engine.shared.in_doubt import begin_peer_listing, begin_peer_resolution
from ostler.engine.syncpoint import prepare_work
from ostler.model import constants as mq

T = TypeVar("T")
XID = b"\x00\x01transaction"
NID = XID.hex().upper()
INPUT_OUTPUT = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_BROWSE


class MemberCommands(LocalCommandContext):
    """Commands at a member of a simulated group."""

    def __init__(self, member: MemberWorld) -> None:
        self.member = member
        self.others: GroupCommands | None = None
        self.is_asked_by_member = False

    @property
    def is_from_member(self) -> bool:
        return self.is_asked_by_member

    def group_commands(self) -> GroupCommands | None:
        return self.others

    def query(self, read: Callable[[Engine], T]) -> T:
        return read(self.member.engine)

    def change(self, change: Callable[[Engine], int]) -> None:
        change(self.member.engine)
        self.member.force()

    def pause(self) -> None:
        self.member.group.settle()


def run(member: MemberWorld, text: str) -> str:
    return "\n".join(run_command(MemberCommands(member), text))


class InDoubt:
    """QM1 has a prepared unit with a private and a shared message, put and got."""

    def __init__(self) -> None:
        self.group = GroupWorld("QM1", "QM2")
        self.group.define_structure("APP1")
        self.group.define_queue("Q")
        self.a, self.b = self.group.members
        self.a.define_queue("PRIVATE")
        application = self.a.connect()
        shared = self.a.open(application, "Q", INPUT_OUTPUT)
        private = self.a.open(application, "PRIVATE", INPUT_OUTPUT)
        for handle in (shared, private):
            self.a.put(application, handle, b"old")
            self.a.put(application, handle, b"new", syncpoint=True)
            assert self.a.get(application, handle, mq.MQGMO_SYNCPOINT).body == b"old"
        unit = application.unit_of_work
        assert unit is not None
        prepare_work(self.a.engine, unit, XID)
        application.unit_of_work = None
        self.group.settle()

    def check(self, committed: bool) -> None:
        wanted = [b"new"] if committed else [b"old"]
        for _ in range(2):
            self.group.ticks()
            self.a.force()
        assert (self.b.bodies("Q"), self.a.bodies("PRIVATE")) == (wanted, wanted)
        assert not self.a.engine.units_of_work
        self.group.ticks()
        assert self.group.units()[1] == [], "descriptors are left"


@pytest.fixture
def doubt() -> InDoubt:
    return InDoubt()


@pytest.mark.parametrize("action", ["COMMIT", "BACKOUT"])
@pytest.mark.parametrize("nid", [NID, "*"])
def test_the_queue_manager_resolves_its_own_units(doubt: InDoubt, action: str, nid: str) -> None:
    shown = run(doubt.a, "DIS THREAD(*) TYPE(INDOUBT)")
    assert "AMQ7590I" in shown
    assert f"NID({NID})" in shown
    assert "QMNAME(QM1)" in shown
    answer = run(doubt.a, f"RESOLVE INDOUBT(*) ACTION({action}) NID({nid})")
    assert ("AMQ7593I" if action == "COMMIT" else "AMQ7594I") in answer
    doubt.check(action == "COMMIT")
    assert "AMQ7591I" in run(doubt.a, "DIS THD(*) TYPE(INDOUBT)")


def test_a_peer_refuses_while_the_queue_manager_is_active(doubt: InDoubt) -> None:
    for command in (
        "DISPLAY THREAD(*) TYPE(INDOUBT) QMNAME(QM1)",
        "RESOLVE INDOUBT(*) ACTION(COMMIT) NID(*) QMNAME(QM1)",
    ):
        assert "AMQ7592I: QMNAME(QM1) is active, command ignored." in run(doubt.b, command)
    assert doubt.group.units()[1] == ["INDOUBT"]


@pytest.mark.parametrize("action", ["COMMIT", "BACKOUT"])
@pytest.mark.parametrize("seed", [None, 1])
def test_a_peer_resolves_a_unit_of_a_dead_queue_manager(doubt: InDoubt, action: str, seed: int | None) -> None:
    doubt.a.die(seed)
    doubt.group.settle()
    assert doubt.b.bodies("Q") == [], "nobody has decided"
    assert f"NID({NID})" in run(doubt.b, "DISPLAY THREAD(QM1) TYPE(INDOUBT) QMNAME(QM1)")
    before = len(doubt.b.records)
    run(doubt.b, f"RESOLVE IND(QM1) ACTION({action}) NID({NID}) QMNAME(QM1)")
    kinds = [record.kind for record in doubt.b.records[before:]]
    assert kinds == [PEER_COMMIT if action == "COMMIT" else PEER_BACK_OUT]
    assert doubt.b.bodies("Q") == ([b"new"] if action == "COMMIT" else [b"old"])
    doubt.b.die(seed)
    doubt.b.come_back()
    doubt.a.come_back()
    doubt.check(action == "COMMIT")


@pytest.mark.parametrize("action", ["COMMIT", "BACKOUT"])
def test_a_queue_manager_that_had_only_lost_its_link_follows(doubt: InDoubt, action: str) -> None:
    doubt.a.port.lose()
    doubt.group.settle()
    run(doubt.b, f"RESOLVE INDOUBT(*) ACTION({action}) NID(*) QMNAME(QM1)")
    assert doubt.a.join() == 0
    doubt.group.settle()
    doubt.check(action == "COMMIT")


def test_the_decision_of_a_peer_waits_for_its_journal(doubt: InDoubt) -> None:
    """Otherwise a recovery of the structure from all journals would not know it."""
    doubt.a.die()
    doubt.group.settle()
    sharing = doubt.b.member.sharing
    listing = begin_peer_listing(doubt.b.engine, sharing, "QM1")
    doubt.group.settle()
    (unit,) = listing.units
    with doubt.group.hold():
        decision = begin_peer_resolution(doubt.b.engine, sharing, unit.id, True)
        for _ in range(10):
            doubt.b.port.send_one()
            doubt.b.port.hear_one()
        assert doubt.group.units()[1] == ["INDOUBT"]
        doubt.b.force()
    doubt.group.settle()
    assert decision.is_done
    assert doubt.group.units()[1] == ["COMMITTED"]


@pytest.mark.parametrize(
    ("command", "number"),
    [
        ("DISPLAY THREAD(*) TYPE(INDOUBT) QMNAME(QM9)", "AMQ7595E"),
        ("RESOLVE INDOUBT(*) ACTION(COMMIT) NID(ABCD)", "AMQ7591I"),
        ("RESOLVE INDOUBT(*) NID(*)", "AMQ8405I"),
        ("RESOLVE INDOUBT(*) ACTION(COMMIT)", "AMQ8405I"),
        ("DISPLAY THREAD(*)", "AMQ8405I"),
    ],
)
def test_refused_commands(doubt: InDoubt, command: str, number: str) -> None:
    assert number in run(doubt.a, command)
    assert doubt.group.units()[1] == ["INDOUBT"]
