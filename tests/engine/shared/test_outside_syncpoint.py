"""Persistent puts and gets outside units of work: a crash at each step loses nothing that was acknowledged."""

from __future__ import annotations

import pytest
from tests.world.group.group_world import GroupWorld, MemberWorld

from ostler.engine.connection import Connection
from ostler.engine.handle import Handle
from ostler.engine.recovery.shared_records import CANCEL, SHARED_PUT, read_cancel
from ostler.model import constants as mq
from ostler.model.coupling.programs import GetProgram, PutProgram

INPUT_OUTPUT = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_BROWSE


class Alone:
    """One member with a shared queue open."""

    def __init__(self, **attributes: int) -> None:
        self.group = GroupWorld("QM1")
        self.group.define_structure("APP1")
        self.group.define_queue("Q", attributes=dict(attributes))
        (self.a,) = self.group.members
        self.open()

    def open(self) -> None:
        self.application: Connection = self.a.connect()
        self.handle: Handle = self.a.open(self.application, "Q", INPUT_OUTPUT)

    def die_and_return(self, seed: int) -> None:
        self.a.die(seed)
        self.group.settle()
        self.a.come_back()
        self.a.force()
        self.group.ticks()
        self.group.ticks()
        self.open()


def cancelled(member: MemberWorld) -> list[int]:
    """Numbers of puts that this life has cancelled."""
    return [read_cancel(record.head).logged for record in member.records if record.kind == CANCEL]


@pytest.mark.parametrize("seed", range(4))
def test_a_put_whose_record_is_durable_and_that_was_not_sent_is_cancelled(seed: int) -> None:
    alone = Alone()
    with alone.group.hold():
        alone.a.put_later(alone.application, alone.handle, b"lost")
        alone.a.force()
    alone.die_and_return(seed)
    assert cancelled(alone.a) == [1]
    assert alone.a.bodies("Q") == []
    assert alone.a.put(alone.application, alone.handle, b"next").reason == 0
    assert alone.a.bodies("Q") == [b"next"]
    alone.die_and_return(seed)
    assert cancelled(alone.a) == [], "it was cancelled before, and the other one is done"


@pytest.mark.parametrize("seed", range(4))
def test_a_put_that_was_done_is_not_cancelled(seed: int) -> None:
    alone = Alone()
    with alone.group.hold():
        alone.a.put_later(alone.application, alone.handle, b"there")
        alone.a.force()
        alone.a.port.durable_lsn = alone.a.log.durable_lsn()
        assert alone.a.port.send_one()
    alone.die_and_return(seed)
    assert cancelled(alone.a) == []
    assert alone.a.bodies("Q") == [b"there"]


def test_a_persistent_put_is_sent_when_its_record_is_durable() -> None:
    alone = Alone()
    with alone.group.hold():
        outcome = alone.a.put_later(alone.application, alone.handle, b"x")
        assert [record.kind for record in alone.a.records][-1] == SHARED_PUT
        while alone.a.port.send_one() or alone.a.port.hear_one():
            pass
        assert not any(isinstance(program, PutProgram) for program in alone.a.port.sent)
        assert outcome.has_failed()
    alone.group.settle()
    assert not outcome.has_failed()


def test_a_refused_put_is_cancelled_at_once() -> None:
    alone = Alone(MAXDEPTH=1)
    alone.a.put(alone.application, alone.handle, b"fits")
    refused = alone.a.put(alone.application, alone.handle, b"too many")
    assert refused.reason == mq.MQRC_Q_FULL
    assert cancelled(alone.a) == [2]
    assert refused.lsn > 0, "the application is told when the cancellation is durable"
    assert alone.group.facility.machine.state.members[1].refused == []


def test_a_refused_put_whose_cancellation_is_lost_is_cancelled_by_the_restart() -> None:
    alone = Alone(MAXDEPTH=1)
    alone.a.put(alone.application, alone.handle, b"fits")
    with alone.group.hold():
        alone.a.put_later(alone.application, alone.handle, b"too many")
        alone.a.force()
        alone.a.port.durable_lsn = alone.a.log.durable_lsn()
        assert alone.a.port.send_one()
    assert alone.group.facility.machine.state.members[1].refused == [2]
    alone.die_and_return(0)
    assert cancelled(alone.a) == [2]
    assert alone.group.facility.machine.state.members[1].refused == []


@pytest.mark.parametrize("is_done", [True, False])
def test_a_put_without_an_answer_waits_for_the_link(is_done: bool) -> None:
    alone = Alone()
    with alone.group.hold():
        outcome = alone.a.put_later(alone.application, alone.handle, b"once")
        alone.a.force()
        alone.a.port.durable_lsn = alone.a.log.durable_lsn()
        if is_done:
            assert alone.a.port.send_one()
        alone.a.port.lose(unheard=1 if is_done else 0)
    task = outcome.task
    assert task is not None
    assert not task.is_done
    alone.a.join()
    alone.group.settle()
    assert (task.is_done, outcome.reason, outcome.has_failed()) == (True, 0, False)
    assert alone.a.bodies("Q") == [b"once"]


def test_verbs_without_a_link_fail() -> None:
    alone = Alone()
    alone.a.put(alone.application, alone.handle, b"there")
    waiting = alone.a.get(alone.application, alone.handle, mq.MQGMO_WAIT | mq.MQGMO_SYNCPOINT, wait_ms=1000)
    assert waiting.body == b"there"
    waiting = alone.a.get(alone.application, alone.handle, mq.MQGMO_WAIT, wait_ms=1000)
    alone.a.port.lose()
    assert waiting.reason == mq.MQRC_CF_NOT_AVAILABLE
    lost = mq.MQRC_CF_NOT_AVAILABLE
    assert alone.a.put(alone.application, alone.handle, b"x", persistence=0).reason == lost
    assert alone.a.get(alone.application, alone.handle).reason == lost
    alone.a.join()
    alone.group.settle()
    assert alone.a.get(alone.application, alone.handle, mq.MQGMO_NO_SYNCPOINT).body == b"there"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("steps", range(5))
def test_a_get_is_done_once_or_not_at_all(steps: int, seed: int) -> None:
    """The member dies after each step of a get outside syncpoint. What it has not answered may be there again."""
    alone = Alone()
    alone.a.put(alone.application, alone.handle, b"only one")
    with alone.group.hold():
        before = len(alone.a.port.sent)
        request = super(MemberWorld, alone.a).get(alone.application, alone.handle)
        for _ in range(steps):
            alone.a.step()
        programs = [type(program) for program in alone.a.port.sent[before:]]
        assert programs[:1] in ([], [GetProgram])
    was_answered = request.done
    alone.die_and_return(seed)
    left = alone.a.bodies("Q")
    assert left in ([], [b"only one"])
    if was_answered:
        assert left == []
    assert alone.group.entries()["got"] == 0
    assert alone.group.units()[1] == []


def test_the_last_step_answers_a_get() -> None:
    alone = Alone()
    alone.a.put(alone.application, alone.handle, b"only one")
    with alone.group.hold():
        request = super(MemberWorld, alone.a).get(alone.application, alone.handle)
        steps = 0
        while not request.done:
            assert alone.a.step()
            steps += 1
    assert steps == 5, "GET, its answer, the force, DECIDE, its answer"
