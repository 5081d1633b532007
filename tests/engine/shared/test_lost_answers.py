"""Links that break after the facility has run a program and before the member has its answer; structures that fail.

The member is alone: no peer settles what it left behind. Whatever the program did must have the same outcome as the
rest of its unit, and nothing may stay claimed.
"""

from __future__ import annotations

import pytest
from tests.world.group.group_world import GroupWorld, MemberWorld

from ostler.engine.connection import Connection
from ostler.engine.handle import Handle
from ostler.log import LogSettings, LogType
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.programs import SetStateProgram

INPUT_OUTPUT = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_BROWSE
PERSISTENCE = pytest.mark.parametrize("persistence", [0, 1])


class Alone:
    """One member with a shared queue S and a private queue P."""

    def __init__(self) -> None:
        self.group = GroupWorld("QM1")
        self.group.define_structure("APP1")
        self.group.define_queue("S")
        self.member: MemberWorld = self.group.members[0]
        self.member.define_queue("P")
        self.application: Connection = self.member.connect()
        self.shared: Handle = self.member.open(self.application, "S", INPUT_OUTPUT)
        self.private: Handle = self.member.open(self.application, "P", INPUT_OUTPUT)

    def put(self, handle: Handle, body: bytes, persistence: int, syncpoint: bool = False) -> int:
        return self.member.put(self.application, handle, body, persistence=persistence, syncpoint=syncpoint).reason

    def lose_link(self, has_run: bool = True) -> None:
        """Cut the link after the programs that wait to be sent were run, or before; then join again."""
        port = self.member.port
        sent = 0
        with self.group.hold():
            while has_run and port.outgoing:
                self.member.force()
                port.durable_lsn = self.member.log.durable_lsn()
                assert port.send_one()
                sent += 1
            port.lose(unheard=sent)
        assert self.member.join() == 0
        for _ in range(3):
            self.group.ticks()

    def check_settled(self) -> None:
        entries = self.group.entries()
        assert (entries["got"], entries["uncommitted"]) == (0, 0)
        assert self.group.units() == {1: []}
        assert not self.member.member.sharing.is_unsettled


@PERSISTENCE
def test_a_message_that_was_claimed_for_a_unit_is_back(persistence: int) -> None:
    alone = Alone()
    assert alone.put(alone.shared, b"x", persistence) == 0
    with alone.group.hold():
        request = alone.member.get(alone.application, alone.shared, mq.MQGMO_SYNCPOINT)
    alone.lose_link()
    assert request.reason == mq.MQRC_CF_NOT_AVAILABLE
    alone.check_settled()
    assert alone.member.get(alone.application, alone.shared).body == b"x"


def test_a_persistent_message_that_was_claimed_outside_a_unit_is_back() -> None:
    alone = Alone()
    assert alone.put(alone.shared, b"x", 1) == 0
    with alone.group.hold():
        request = alone.member.get(alone.application, alone.shared)
    alone.lose_link()
    assert request.reason == mq.MQRC_CF_NOT_AVAILABLE
    alone.check_settled()
    assert alone.member.get(alone.application, alone.shared).body == b"x"


@PERSISTENCE
@pytest.mark.parametrize("has_run", [False, True])
def test_the_first_shared_put_of_a_unit_takes_its_private_part_with_it(persistence: int, has_run: bool) -> None:
    alone = Alone()
    assert alone.put(alone.private, b"p", persistence, syncpoint=True) == 0
    with alone.group.hold():
        outcome = alone.member.put_later(alone.application, alone.shared, b"x", syncpoint=True, persistence=persistence)
    alone.lose_link(has_run)
    assert outcome.reason == mq.MQRC_CF_NOT_AVAILABLE
    alone.check_settled()
    assert alone.put(alone.shared, b"y", persistence, syncpoint=True) == mq.MQRC_BACKED_OUT
    assert alone.member.commit(alone.application)[0] == mq.MQRC_BACKED_OUT
    assert alone.member.bodies("P") == []
    assert alone.group.entries()["committed"] == 0
    assert alone.put(alone.shared, b"z", persistence, syncpoint=True) == 0
    assert alone.member.commit(alone.application)[0] == 0
    assert alone.group.entries() == {"committed": 1, "uncommitted": 0, "got": 0}


@pytest.mark.parametrize("has_run", [False, True])
@PERSISTENCE
def test_a_commit_has_one_outcome_for_both_parts(persistence: int, has_run: bool) -> None:
    alone = Alone()
    assert alone.put(alone.private, b"p", persistence, syncpoint=True) == 0
    assert alone.put(alone.shared, b"s", persistence, syncpoint=True) == 0
    with alone.group.hold():
        outcome = alone.member.commit_later(alone.application)
    alone.lose_link(has_run)
    assert outcome.task is not None
    assert outcome.task.is_done
    is_committed = outcome.reason == 0
    assert is_committed or outcome.reason == mq.MQRC_BACKED_OUT
    assert (alone.member.bodies("P"), alone.group.entries()["committed"]) == (([b"p"], 1) if is_committed else ([], 0))


LINEAR = LogSettings(primary_files=3, secondary_files=3, file_pages=64, log_type=LogType.LINEAR)


@pytest.mark.parametrize("is_get", [False, True])
@pytest.mark.parametrize("is_recovered", [False, True])
def test_a_unit_has_one_outcome_when_its_structure_fails_before_the_commit(is_get: bool, is_recovered: bool) -> None:
    group = GroupWorld("QM1", "QM2", log=LINEAR)
    group.define_structure("APP1")
    group.define_queue("S")
    one, two = group.members
    one.define_queue("P")
    application = one.connect()
    shared, private = (one.open(application, name, INPUT_OUTPUT) for name in ("S", "P"))
    assert one.put(application, shared, b"s", syncpoint=not is_get).reason == 0
    if is_get:
        assert one.get(application, shared, mq.MQGMO_SYNCPOINT).body == b"s"
    assert one.put(application, private, b"p", syncpoint=True).reason == 0
    two.member.sharing.submit(SetStateProgram("APP1", 0, cf.STRUCTURE_STATE_FAILED), 0, None)
    group.settle()
    if is_recovered:
        group.recover(two)
    reason, _ = one.commit(application)
    if not is_recovered:
        group.recover(two)
    is_committed = reason == 0
    there = int(is_committed != is_get)
    assert group.entries() == {"committed": there, "uncommitted": 0, "got": 0}
    assert one.bodies("P") == ([b"p"] if is_committed else [])
