"""BACKUP and RECOVER CFSTRUCT in a simulated group: what is lost with the facility comes back from the logs, once."""

from __future__ import annotations

import pytest
from tests.world.group.group_world import GroupWorld, MemberWorld

from ostler.engine.handle import Handle
from ostler.engine.recovery.backup_records import DOWN
from ostler.engine.syncpoint import prepare_work
from ostler.log import LogSettings, LogType
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.errors import MQError

LINEAR = LogSettings(primary_files=3, secondary_files=3, file_pages=64, log_type=LogType.LINEAR)
INPUT_OUTPUT = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_BROWSE


@pytest.fixture
def group() -> GroupWorld:
    made = GroupWorld("QM1", "QM2", "QM3", log=LINEAR)
    made.define_structure("APP1")
    made.define_structure("APP2")
    made.define_queue("Q", "APP1")
    made.define_queue("R", "APP2")
    return made


class Application:
    def __init__(self, member: MemberWorld) -> None:
        self.member = member
        self.connection = member.connect()
        self.handles: dict[str, Handle] = {}

    def handle(self, name: str) -> Handle:
        if name not in self.handles:
            self.handles[name] = self.member.open(self.connection, name, INPUT_OUTPUT)
        return self.handles[name]

    def put(
        self, body: bytes, name: str = "Q", syncpoint: bool = False, persistence: int = 1, priority: int = 0
    ) -> int:
        done = self.member.put(
            self.connection,
            self.handle(name),
            body,
            syncpoint=syncpoint,
            persistence=persistence,
            priority=priority,
        )
        return done.reason

    def get(self, name: str = "Q", syncpoint: bool = False) -> bytes:
        options = mq.MQGMO_SYNCPOINT if syncpoint else mq.MQGMO_NO_SYNCPOINT
        request = self.member.get(self.connection, self.handle(name), options)
        assert request.reason == 0
        return request.body


def rejoin(group: GroupWorld) -> None:
    for member in group.members:
        if member.is_up and not member.port.is_joined():
            assert member.join() == cf.OK
    group.settle()


def lose(group: GroupWorld, seed: int = 2) -> None:
    group.lose_facility(seed)
    rejoin(group)


def state(group: GroupWorld, name: str = "APP1") -> str:
    return cf.STRUCTURE_STATES[int(group.facility.machine.state.structures[name].state)]


def test_messages_come_back_from_logs_alone(group: GroupWorld) -> None:
    one, two = Application(group.members[0]), Application(group.members[1])
    for number in range(6):
        one.put(b"a%d" % number)
        two.put(b"b%d" % number, syncpoint=True)
    group.members[1].commit(two.connection)
    assert one.get() == b"a0"
    one.put(b"gone", persistence=0)
    lose(group)
    assert state(group) == "FAILED"
    with pytest.raises(MQError) as failed:
        group.members[2].open(group.members[2].connect(), "Q", INPUT_OUTPUT)
    assert failed.value.reason == mq.MQRC_CF_STRUC_FAILED
    assert one.put(b"late") == mq.MQRC_CF_STRUC_FAILED
    recovery = group.recover(group.members[2])
    assert recovery.failure is None
    assert state(group) == "ACTIVE"
    bodies = group.members[2].bodies("Q")
    assert sorted(bodies) == sorted([b"a%d" % n for n in range(1, 6)] + [b"b%d" % n for n in range(6)])
    assert [body for body in bodies if body.startswith(b"a")] == [b"a%d" % n for n in range(1, 6)]
    assert one.put(b"after") == 0  # by a handle that was open before
    assert two.get() in bodies


def test_a_backup_and_the_logs_since(group: GroupWorld) -> None:
    one, two = Application(group.members[0]), Application(group.members[1])
    for number in range(5):
        one.put(b"old%d" % number, priority=number % 3)
    two.put(b"open", syncpoint=True)
    before = group.members[0].bodies("Q")
    backup = group.back_up(group.members[1])
    assert backup.failure is None
    assert backup.messages == 6  # with the one whose unit is open
    assert state(group) == "ACTIVE"
    group.members[1].commit(two.connection)
    first = two.get()
    one.put(b"new")
    lose(group)
    assert group.recover(group.members[0]).failure is None
    bodies = group.members[0].bodies("Q")
    assert bodies == [body for body in before if body != first] + [b"open", b"new"]


def test_a_message_got_before_the_backup_does_not_come_back(group: GroupWorld) -> None:
    """Its put is in a log that is read from before, its get in one that is not."""
    one, two, three = [Application(member) for member in group.members]
    two.put(b"keeps the log of QM2", "R", syncpoint=True)
    two.put(b"early")
    assert one.get() == b"early"
    assert group.back_up(group.members[2]).failure is None
    group.members[1].back_out(two.connection)
    lose(group)
    assert group.recover(group.members[2]).failure is None
    assert group.members[2].bodies("Q") == []
    assert three.put(b"x") == 0


def test_only_one_backs_up_and_only_one_recovers(group: GroupWorld) -> None:
    first, second = group.members[0].recoveries, group.members[1].recoveries
    Application(group.members[0]).put(b"m")
    with group.hold():
        backups = [first.begin_backup("APP1"), second.begin_backup("APP1")]
    for _ in range(3):
        group.ticks()
    reasons = [each.failure.reason if each.failure else 0 for each in backups]
    assert sorted(reasons) == [0, mq.MQRC_CF_STRUC_IN_USE]
    lose(group)
    with group.hold():
        recoveries = [each.begin_recovery(["APP1"], False) for each in (first, second)]
    for _ in range(3):
        group.ticks()
    reasons = [each.failure.reason if each.failure else 0 for each in recoveries]
    assert sorted(reasons) == [0, mq.MQRC_CF_STRUC_IN_USE]
    assert group.members[2].bodies("Q") == [b"m"]


def test_a_recoverer_that_dies_leaves_the_structure_to_another(group: GroupWorld) -> None:
    Application(group.members[0]).put(b"m")
    lose(group)
    with group.hold():
        group.members[1].recoveries.begin_recovery(["APP1"], False)
        while state(group) == "FAILED":
            group.members[1].step()
    assert state(group) == "INRECOVER"
    group.members[1].die()
    group.settle()
    assert state(group) == "FAILED"
    assert group.recover(group.members[2]).failure is None
    assert group.members[2].bodies("Q") == [b"m"]


def test_members_that_are_down_are_read(group: GroupWorld) -> None:
    one = Application(group.members[0])
    one.put(b"forced")
    one.put(b"in flight", syncpoint=True)
    group.members[0].die(seed=3)
    group.settle()
    assert group.back_up(group.members[1]).failure is None
    group.members[0].come_back()
    Application(group.members[0]).put(b"behind the backup")
    group.members[0].die()
    group.settle()
    lose(group)
    assert group.recover(group.members[2]).failure is None
    assert group.members[2].bodies("Q") == [b"forced", b"behind the backup"]


def test_a_log_that_cannot_be_read_is_named(group: GroupWorld) -> None:
    one = Application(group.members[0])
    one.put(b"m")
    group.members[0].die()
    group.settle()
    disk = group.members[0].disk
    for path in list(disk.names("log/active")):
        disk.remove(f"log/active/{path}")
    lose(group)
    failure = group.recover(group.members[1]).failure
    assert failure is not None
    assert "QM1" in failure.detail
    assert state(group) == "FAILED"
    assert group.recover(group.members[1], purge=True).failure is None
    assert group.members[1].bodies("Q") == []


def test_a_queue_manager_that_runs_must_have_joined(group: GroupWorld) -> None:
    Application(group.members[0]).put(b"m")
    group.lose_facility()
    for member in group.members[1:]:
        member.join()
    group.settle()
    recovery = group.members[1].recoveries.begin_recovery(["APP1"], False)
    for _ in range(3):
        group.ticks()
    assert not recovery.is_done
    rejoin(group)
    group.ticks()
    assert recovery.failure is None
    assert group.members[2].bodies("Q") == [b"m"]


def test_a_commit_without_an_answer_is_settled_by_the_recovery(group: GroupWorld) -> None:
    a = group.members[0]
    a.define_queue("PRIVATE")
    one = Application(a)
    one.put(b"shared", syncpoint=True)
    one.put(b"private", "PRIVATE", syncpoint=True)
    with group.hold():
        outcome = a.commit_later(one.connection)
        a.force()  # SHARED_PREPARE is durable, DECIDE is not sent
    lose(group)
    assert outcome.reason == mq.MQRC_CALL_INTERRUPTED
    assert a.bodies("PRIVATE") == []
    assert group.recover(group.members[1]).failure is None
    assert group.members[1].bodies("Q") == [b"shared"]
    assert a.bodies("PRIVATE") == [b"private"]


def test_what_a_peer_has_backed_out_stays_backed_out(group: GroupWorld) -> None:
    a = group.members[0]
    a.define_queue("PRIVATE")
    one = Application(a)
    one.put(b"shared", syncpoint=True)
    one.put(b"private", "PRIVATE", syncpoint=True)
    with group.hold():
        a.commit_later(one.connection)
        a.force()
    a.die()
    group.settle()
    lose(group)
    assert group.recover(group.members[1]).failure is None
    a.come_back()
    assert a.bodies("PRIVATE") == []
    assert group.members[1].bodies("Q") == []
    assert not a.engine.units_of_work


def test_units_of_coordinators_are_in_doubt_again(group: GroupWorld) -> None:
    a = group.members[0]
    one = Application(a)
    one.put(b"got")
    one.put(b"put", syncpoint=True)
    assert one.get(syncpoint=True) == b"got"
    unit = one.connection.unit_of_work
    assert unit is not None
    outcome = prepare_work(a.engine, unit, b"xid")
    group.settle()
    a.acknowledge(int(outcome.after_lsn))
    for has_backup in (True, False):
        if has_backup:
            assert group.back_up(group.members[1]).failure is None
        lose(group, 5 + has_backup)
        assert group.recover(group.members[1]).failure is None
        assert group.entries() == {"committed": 0, "uncommitted": 1, "got": 1}
        assert group.units()[1] == ["INDOUBT"]


def test_automatic_recovery(group: GroupWorld) -> None:
    for member in group.members:
        member.recoveries.is_automatic = True
    Application(group.members[0]).put(b"m")
    lose(group)
    for _ in range(3):
        group.ticks()
    assert state(group) == "ACTIVE"
    assert group.members[1].bodies("Q") == [b"m"]


def test_offloaded_messages_are_backed_up_and_stored_again() -> None:
    group = GroupWorld("QM1", "QM2", log=LINEAR)
    group.define_structure("APP1", more={"OFFLOAD": mq.MQCFOFFLD_SMDS, "DSGROUP": "QSG1.*.APP1"})
    group.define_queue("Q", "APP1", {"MAXMSGL": 1 << 20})
    one = Application(group.members[0])
    first, second = b"1" * 100_000, b"2" * 100_000
    one.put(first)
    assert group.back_up(group.members[1]).failure is None
    one.put(second)
    group.bodies.by_reference.clear()  # the data sets are lost, too
    lose(group)
    assert group.recover(group.members[1]).failure is None
    assert group.members[0].bodies("Q") == [first, second]
    assert len(group.members[1].offload.stored) == 2


def test_structures_without_recovery_begin_empty() -> None:
    group = GroupWorld("QM1", log=LINEAR)
    group.define_structure("APP1", recover=False)
    group.define_queue("Q")
    one = Application(group.members[0])
    one.put(b"m", persistence=0)
    with pytest.raises(MQError):
        group.members[0].recoveries.begin_backup("APP1")
    lose(group)
    assert state(group) == "ACTIVE"
    assert group.members[0].bodies("Q") == []


def test_a_backup_ends_with_its_link(group: GroupWorld) -> None:
    """It waits for another member when the facility is lost, and must not go on in the next one."""
    Application(group.members[0]).put(b"m")
    with group.hold():
        backup = group.members[0].recoveries.begin_backup("APP1")
        for _ in range(6):
            group.members[0].step()
        assert not backup.is_done
    lose(group)
    assert backup.failure is not None
    assert backup.failure.reason == mq.MQRC_CF_NOT_AVAILABLE
    assert not group.backups.places


def test_old_puts_of_a_member_that_was_down_do_not_come_back(group: GroupWorld) -> None:
    """It is down while the facility is lost, recovered and backed up: the backup knows it all the same."""
    one, two = Application(group.members[0]), Application(group.members[1])
    one.put(b"early")
    assert two.get() == b"early"
    one.put(b"kept")
    group.members[0].die()
    group.settle()
    lose(group, 5)
    assert group.recover(group.members[1]).failure is None
    assert group.back_up(group.members[1]).failure is None
    assert [mark.number for mark in group.back_up(group.members[1]).marks if mark.kind == DOWN] == [1]
    lose(group, 6)
    assert group.recover(group.members[2]).failure is None
    assert group.members[2].bodies("Q") == [b"kept"]
