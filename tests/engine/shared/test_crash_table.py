"""A member is killed at each step of a unit with private and shared messages: both parts have the same outcome.

The cells are those of the table in docs/explanation/shared-queues.md.
"""

from __future__ import annotations

import pytest
from tests.world.group.group_world import GroupWorld

from ostler.engine.syncpoint import prepare_work
from ostler.engine.unit_of_work import PREPARED
from ostler.model import constants as mq

INPUT_OUTPUT = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_BROWSE
SEEDS = [None, 1, 2, 3]
"""kill -9, or a power failure that keeps some of what was not forced."""


class Unit:
    """QM1 has put to a private and to a shared queue, and got a message of each, in one unit of work."""

    def __init__(self, with_peer: bool, persistence: int = 1) -> None:
        self.group = GroupWorld(*(("QM1", "QM2") if with_peer else ("QM1",)))
        self.group.define_structure("APP1")
        self.group.define_queue("Q")
        self.a = self.group.members[0]
        self.a.define_queue("PRIVATE")
        self.application = self.a.connect()
        shared = self.a.open(self.application, "Q", INPUT_OUTPUT)
        private = self.a.open(self.application, "PRIVATE", INPUT_OUTPUT)
        self.a.put(self.application, shared, b"old", persistence=persistence)
        self.a.put(self.application, private, b"old", persistence=1)
        self.a.put(self.application, shared, b"new", syncpoint=True, persistence=persistence)
        self.a.put(self.application, private, b"new", syncpoint=True, persistence=1)
        assert self.a.get(self.application, shared, mq.MQGMO_SYNCPOINT).body == b"old"
        assert self.a.get(self.application, private, mq.MQGMO_SYNCPOINT).body == b"old"

    def die_and_return(self, seed: int | None) -> None:
        self.a.die(seed)
        self.group.settle()
        self.seen_by_peer = self.group.members[1].bodies("Q") if len(self.group.members) > 1 else None
        self.a.come_back()
        self.a.force()
        self.group.ticks()
        self.group.ticks()

    def check(self, committed: bool) -> None:
        wanted = [b"new"] if committed else [b"old"]
        assert self.a.bodies("Q") == wanted
        assert self.a.bodies("PRIVATE") == wanted
        if self.seen_by_peer is not None:
            assert self.seen_by_peer == wanted, "before QM1 was back"
        assert self.group.entries() == {"committed": 1, "uncommitted": 0, "got": 0}
        assert self.group.units()[1] == [], "descriptors are left"
        # Nothing changes by another restart.
        self.die_and_return(None)
        assert self.a.bodies("Q") == wanted
        assert self.a.bodies("PRIVATE") == wanted


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("with_peer", [True, False])
@pytest.mark.parametrize("persistence", [0, 1])
def test_killed_before_the_prepare_is_durable(with_peer: bool, persistence: int, seed: int | None) -> None:
    unit = Unit(with_peer, persistence)
    unit.die_and_return(seed)
    unit.check(committed=False)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("with_peer", [True, False])
@pytest.mark.parametrize("persistence", [0, 1])
def test_killed_with_a_durable_prepare_before_the_decision(with_peer: bool, persistence: int, seed: int | None) -> None:
    unit = Unit(with_peer, persistence)
    with unit.group.hold():
        unit.a.commit_later(unit.application)
        unit.a.force()
    unit.die_and_return(seed)
    unit.check(committed=False)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("with_peer", [True, False])
@pytest.mark.parametrize("persistence", [0, 1])
def test_killed_behind_the_decision(with_peer: bool, persistence: int, seed: int | None) -> None:
    unit = Unit(with_peer, persistence)
    with unit.group.hold():
        outcome = unit.a.commit_later(unit.application)
        unit.a.force()
        unit.a.port.durable_lsn = unit.a.log.durable_lsn()
        assert unit.a.port.send_one()
        assert outcome.task is not None
        assert not outcome.task.is_done
    unit.die_and_return(seed)
    unit.check(committed=True)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("with_peer", [True, False])
def test_killed_behind_the_answer(with_peer: bool, seed: int | None) -> None:
    unit = Unit(with_peer)
    assert unit.a.commit(unit.application)[0] == 0
    assert unit.group.units()[1] == ["COMMITTED"], "its commit record is not durable"
    unit.die_and_return(seed)
    unit.check(committed=True)


def test_tombstones_go_when_the_commit_is_durable() -> None:
    unit = Unit(with_peer=True)
    assert unit.a.commit(unit.application)[0] == 0
    unit.group.ticks()
    assert unit.group.units()[1] == ["COMMITTED"], "nobody has forced the commit record"
    unit.a.force()
    unit.group.ticks()
    unit.group.ticks()
    assert unit.group.units()[1] == []


@pytest.mark.parametrize("with_peer", [True, False])
@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("checkpoints", [0, 3])
def test_a_unit_of_a_coordinator_stays_in_doubt(with_peer: bool, committed: bool, checkpoints: int) -> None:
    unit = Unit(with_peer)
    work = unit.application.unit_of_work
    assert work is not None
    outcome = prepare_work(unit.a.engine, work, b"xid of a coordinator")
    unit.group.settle()
    assert outcome.task is not None
    assert outcome.task.is_done
    for _ in range(checkpoints):
        unit.a.checkpoint()
    unit.die_and_return(1)
    assert unit.group.units()[1] == ["INDOUBT"]
    if unit.seen_by_peer is not None:
        assert unit.seen_by_peer == []
    (restored,) = unit.a.engine.units_of_work.values()
    assert (restored.state, restored.xid) == (PREPARED, b"xid of a coordinator")
    if committed:
        assert restored.shared is not None
        restored.shared.commit()
    else:
        unit.a.resolve(restored, False)
    unit.group.settle()
    unit.seen_by_peer = None
    unit.a.force()
    unit.group.ticks()
    unit.group.ticks()
    unit.check(committed)


def test_a_unit_backed_out_by_peers_answers_2003() -> None:
    """The link breaks, peers recover the member, and it comes back: its commit was too late."""
    unit = Unit(with_peer=True)
    with unit.group.hold():
        outcome = unit.a.commit_later(unit.application)
        unit.a.force()
        unit.a.port.lose()
    unit.group.settle()
    assert not outcome.task or not outcome.task.is_done, "nobody knows yet"
    assert unit.a.join() == 0
    unit.group.settle()
    assert outcome.reason == mq.MQRC_BACKED_OUT
    assert unit.a.bodies("PRIVATE") == [b"old"]
    assert unit.a.bodies("Q") == [b"old"]


def test_a_commit_without_an_answer_is_asked_for_again() -> None:
    unit = Unit(with_peer=False)
    with unit.group.hold():
        outcome = unit.a.commit_later(unit.application)
        unit.a.force()
        unit.a.port.durable_lsn = unit.a.log.durable_lsn()
        assert unit.a.port.send_one()
        task = outcome.task
        assert task is not None
        unit.a.port.lose(unheard=1)
    assert not task.is_done
    assert unit.a.join() == 0
    unit.group.settle()
    assert (task.is_done, outcome.reason) == (True, 0)
    assert unit.a.bodies("PRIVATE") == [b"new"]
    assert unit.a.bodies("Q") == [b"new"]


def test_units_that_were_open_when_the_link_broke_are_backed_out() -> None:
    unit = Unit(with_peer=True)
    unit.a.port.lose()
    assert unit.a.bodies("PRIVATE") == [b"old"]
    assert unit.a.join() == 0
    unit.group.settle()
    assert unit.a.commit(unit.application)[0] == mq.MQRC_BACKED_OUT
    assert unit.group.members[1].bodies("Q") == [b"old"]


def test_a_facility_that_is_lost_leaves_commits_in_doubt() -> None:
    unit = Unit(with_peer=True)
    with unit.group.hold():
        outcome = unit.a.commit_later(unit.application)
        unit.a.force()
        unit.group.lose_facility()
    for member in unit.group.members:
        assert member.join() == 0
    unit.group.settle()
    assert outcome.reason == mq.MQRC_CALL_INTERRUPTED
    assert [each.state for each in unit.a.engine.units_of_work.values()] == [PREPARED]
    unit.a.port.lose()
    unit.group.settle()
    assert unit.a.join() == 0
    unit.group.settle()
    assert [notice[:8] for notice in unit.a.engine.notices if "AMQ7490W" in notice] == ["AMQ7490W"]


def test_the_back_out_of_a_restart_waits_for_the_journal_also_after_another_join() -> None:
    """Otherwise a power failure leaves a prepared unit that the facility has forgotten."""
    unit = Unit(with_peer=False)
    with unit.group.hold():
        unit.a.commit_later(unit.application)
        unit.a.force()
    unit.a.die()
    with unit.group.hold():
        unit.a.restart()
        unit.a.begin_membership()
        step_without_force(unit)
        unit.a.port.lose()
        assert unit.a.join() == 0
        step_without_force(unit)
        assert unit.group.units()[1] == ["INFLIGHT"], "the back-out is not durable"
    unit.die_and_return(1)
    unit.check(committed=False)


def step_without_force(unit: Unit) -> None:
    unit.a.port.durable_lsn = unit.a.log.durable_lsn()
    while unit.a.port.send_one() or unit.a.port.hear_one():
        pass
