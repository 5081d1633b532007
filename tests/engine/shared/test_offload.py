"""Offloaded shared messages through the verbs: their bodies are outside the structure, and nobody notices."""

from __future__ import annotations

import pytest
from tests.world.group.group_world import GroupWorld, MemberWorld

from ostler.engine import objects
from ostler.engine.connection import Connection
from ostler.engine.handle import Handle
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.coupling import terms as cf
from ostler.model.definitions import new_definition

LONG = bytes(range(256)) * 400  # 100 KB
DATA_SETS: dict[str, Value] = {"DSGROUP": "QSG1.*.APP1", "OFFLOAD": mq.MQCFOFFLD_SMDS}


class Pair:
    def __init__(self, level: int = 5, more: dict[str, Value] | None = None) -> None:
        self.group = GroupWorld("QM1", "QM2")
        self.group.define_structure("APP1", level=level, more=DATA_SETS if more is None else more)
        self.group.define_queue("Q", attributes={"MAXMSGL": 104_857_600})
        self.a, self.b = self.group.members
        self.at_a, self.out = opened(self.a)
        self.at_b, self.into = opened(self.b)

    def stored(self) -> int:
        return len(self.group.bodies.by_reference)

    def references(self) -> int:
        entries = self.group.facility.machine.state.structures["APP1"].entries
        return sum(1 for each in entries.values() if each.entry.reference)


def opened(member: MemberWorld) -> tuple[Connection, Handle]:
    application = member.connect()
    return application, member.open(application, "Q", mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_BROWSE)


@pytest.mark.parametrize("persistence", [0, 1])
@pytest.mark.parametrize("syncpoint", [False, True])
def test_a_long_message_is_put_at_one_member_and_got_at_another(persistence: int, syncpoint: bool) -> None:
    pair = Pair()
    assert pair.a.put(pair.at_a, pair.out, LONG, persistence=persistence, syncpoint=syncpoint).reason == 0
    if syncpoint:
        assert pair.b.get(pair.at_b, pair.into).reason == mq.MQRC_NO_MSG_AVAILABLE
        assert pair.a.commit(pair.at_a)[0] == 0
    assert (pair.stored(), pair.references()) == (1, 1)
    options = mq.MQGMO_SYNCPOINT if syncpoint else mq.MQGMO_NO_SYNCPOINT
    got = pair.b.get(pair.at_b, pair.into, options)
    assert (got.reason, got.body) == (0, LONG)
    if syncpoint:
        assert pair.b.commit(pair.at_b)[0] == 0
    assert pair.group.entries() == {"committed": 0, "uncommitted": 0, "got": 0}
    freed = pair.group.facility.machine.state.structures["APP1"].freed[1]
    assert len(freed.references) == 1, "the owner is told of the body that nobody needs"


def test_a_get_that_is_backed_out_leaves_the_message_whole() -> None:
    pair = Pair()
    pair.a.put(pair.at_a, pair.out, LONG)
    assert pair.b.get(pair.at_b, pair.into, mq.MQGMO_SYNCPOINT).body == LONG
    assert pair.b.back_out(pair.at_b) == 0
    assert pair.a.get(pair.at_a, pair.out).body == LONG


def test_browse_truncation_and_a_buffer_that_is_too_small() -> None:
    pair = Pair()
    pair.a.put(pair.at_a, pair.out, LONG)
    assert pair.b.get(pair.at_b, pair.into, mq.MQGMO_BROWSE_FIRST).body == LONG
    small = pair.b.get(pair.at_b, pair.into, bytes_max=1000)
    assert (small.reason, small.body, small.data_bytes) == (mq.MQRC_TRUNCATED_MSG_FAILED, LONG[:1000], len(LONG))
    accepted = mq.MQGMO_ACCEPT_TRUNCATED_MSG
    cut = pair.b.get(pair.at_b, pair.into, accepted | mq.MQGMO_NO_SYNCPOINT, bytes_max=1000)
    assert (cut.reason, cut.body) == (mq.MQRC_TRUNCATED_MSG_ACCEPTED, LONG[:1000])
    assert pair.group.entries()["committed"] == 0


@pytest.mark.parametrize(
    ("level", "more"), [(3, DATA_SETS), (5, {"OFFLOAD": mq.MQCFOFFLD_NONE}), (2, {"OFFLOAD": mq.MQCFOFFLD_DB2})]
)
def test_long_messages_are_refused_where_nothing_can_be_offloaded(level: int, more: dict[str, Value]) -> None:
    pair = Pair(level, more)
    assert pair.a.put(pair.at_a, pair.out, LONG, persistence=0).reason == mq.MQRC_WRONG_CF_LEVEL
    limit = 63 * 1024 - 364
    assert pair.a.put(pair.at_a, pair.out, bytes(limit), persistence=0).reason == 0
    assert pair.a.put(pair.at_a, pair.out, bytes(limit + 1), persistence=0).reason == mq.MQRC_WRONG_CF_LEVEL


def test_level_4_offloads_to_the_database() -> None:
    pair = Pair(4, {"OFFLOAD": mq.MQCFOFFLD_NONE})
    assert pair.a.put(pair.at_a, pair.out, LONG).reason == 0
    assert pair.b.get(pair.at_b, pair.into).body == LONG


def test_alter_of_the_rules_counts_for_the_next_put() -> None:
    pair = Pair()
    pair.a.put(pair.at_a, pair.out, bytes(2000))
    assert pair.stored() == 0
    rules: dict[str, Value] = {f"OFFLD{number}TH": 0 for number in (1, 2, 3)}
    rules |= {f"OFFLD{number}SZ": "0K" for number in (1, 2, 3)}
    changed = new_definition(ObjectType.CFSTRUCT, "APP1", {"CFLEVEL": 5, "RECOVER": 1, **DATA_SETS, **rules})
    objects.define(pair.a.engine, changed, replace=True)
    pair.a.put(pair.at_a, pair.out, bytes(2000))
    assert pair.stored() == 1
    pair.a.put(pair.at_a, pair.out, bytes(121))
    assert pair.stored() == 1, "it fits beside the header"
    pair.a.put(pair.at_a, pair.out, bytes(122))
    assert pair.stored() == 2
    assert [len(body) for body in pair.b.bodies("Q")] == [2000, 2000, 121, 122]


def test_a_full_data_set_refuses_the_put_and_leaves_no_record() -> None:
    pair = Pair()
    pair.a.offload.is_full = True
    end = pair.a.log.end_lsn()
    assert pair.a.put(pair.at_a, pair.out, LONG).reason == mq.MQRC_STORAGE_MEDIUM_FULL
    assert pair.a.log.end_lsn() == end
    assert pair.a.put(pair.at_a, pair.out, LONG, syncpoint=True).reason == mq.MQRC_STORAGE_MEDIUM_FULL
    pair.a.offload.is_full = False
    assert pair.a.put(pair.at_a, pair.out, LONG, syncpoint=True).reason == 0
    assert pair.a.commit(pair.at_a)[0] == 0
    assert pair.b.bodies("Q") == [LONG]


def test_a_put_that_the_facility_refuses_gives_the_space_back() -> None:
    pair = Pair()
    for member in pair.group.members:
        member.engine.queues["Q"].depth_max = 1
    assert pair.a.put(pair.at_a, pair.out, LONG).reason == 0
    assert pair.a.put(pair.at_a, pair.out, LONG).reason == mq.MQRC_Q_FULL
    assert pair.stored() == 1
    assert pair.a.offload.outcomes[-1][1:] == (True, False)


def fill_behind_the_back_of(pair: Pair) -> bytes:
    """Fill the structure without the knowledge of QM1. Return a message that does not fit any more."""
    for _ in range(5):
        pair.b.put(pair.at_b, pair.into, bytes(20_000))
    structure = pair.group.facility.machine.state.structures["APP1"]
    structure.limit_bytes = structure.used_bytes + 5_000
    return b"\x01" * 40_000


@pytest.mark.parametrize("persistence", [0, 1])
@pytest.mark.parametrize("syncpoint", [False, True])
def test_a_message_is_offloaded_when_the_structure_has_filled_meanwhile(persistence: int, syncpoint: bool) -> None:
    pair = Pair()
    body = fill_behind_the_back_of(pair)
    outcome = pair.a.put(pair.at_a, pair.out, body, persistence=persistence, syncpoint=syncpoint)
    assert outcome.reason == 0
    assert pair.stored() == 1
    if syncpoint:
        assert pair.a.commit(pair.at_a)[0] == 0
    assert pair.b.bodies("Q")[-1] == body
    assert len(pair.b.bodies("Q")) == 6


@pytest.mark.parametrize("persistence", [0, 1])
def test_a_message_is_refused_when_the_structure_and_the_data_set_are_full(persistence: int) -> None:
    pair = Pair()
    body = fill_behind_the_back_of(pair)
    pair.a.offload.is_full = True
    outcome = pair.a.put(pair.at_a, pair.out, body, persistence=persistence)
    assert outcome.reason == mq.MQRC_STORAGE_MEDIUM_FULL
    assert pair.stored() == 0
    pair.a.offload.is_full = False
    assert pair.a.put(pair.at_a, pair.out, body, persistence=persistence).reason == 0
    assert len(pair.b.bodies("Q")) == 6


def test_a_unit_that_is_backed_out_while_a_body_is_written_puts_nothing() -> None:
    pair = Pair()
    with pair.group.hold():
        later = pair.a.put_later(pair.at_a, pair.out, LONG, syncpoint=True)
        assert later.task is not None, "the body is not written yet"
        pair.a.port.lose()
        pair.a.join()
    pair.group.settle()
    assert later.task.is_done
    assert later.reason == mq.MQRC_BACKED_OUT
    assert pair.group.entries() == {"committed": 0, "uncommitted": 0, "got": 0}
    assert pair.stored() == 0


def test_a_body_is_kept_when_nobody_knows_whether_its_entry_was_put() -> None:
    pair = Pair()
    with pair.group.hold():
        later = pair.a.put_later(pair.at_a, pair.out, LONG, persistence=0)
        assert pair.a.offload.step()
        assert pair.a.port.send_one(), "the facility has the put"
        pair.a.port.lose(unheard=1)
        pair.a.join()
    pair.group.settle()
    assert later.reason == mq.MQRC_CF_NOT_AVAILABLE
    assert pair.a.offload.outcomes[-1][1:] == (False, False)
    assert pair.b.bodies("Q") == [LONG]


@pytest.mark.parametrize("syncpoint", [False, True])
def test_a_message_that_cannot_be_read_stays_where_it_is(syncpoint: bool) -> None:
    pair = Pair()
    pair.a.put(pair.at_a, pair.out, LONG)
    pair.group.bodies.unreadable.update(pair.group.bodies.by_reference)
    options = mq.MQGMO_SYNCPOINT if syncpoint else mq.MQGMO_NO_SYNCPOINT
    assert pair.b.get(pair.at_b, pair.into, options).reason == mq.MQRC_DATA_SET_NOT_AVAILABLE
    browsed = pair.b.get(pair.at_b, pair.into, mq.MQGMO_BROWSE_FIRST)
    assert browsed.reason == mq.MQRC_DATA_SET_NOT_AVAILABLE
    if syncpoint:
        assert pair.b.commit(pair.at_b)[0] == mq.MQRC_BACKED_OUT
    assert pair.group.entries() == {"committed": 1, "uncommitted": 0, "got": 0}
    pair.group.bodies.unreadable.clear()
    assert pair.b.get(pair.at_b, pair.into).body == LONG


def test_a_browse_goes_on_when_its_message_is_got_meanwhile() -> None:
    pair = Pair()
    pair.a.put(pair.at_a, pair.out, LONG)
    pair.a.put(pair.at_a, pair.out, b"next")
    with pair.group.hold():
        browsed = pair.b.get(pair.at_b, pair.into, mq.MQGMO_BROWSE_FIRST)
        while not pair.b.offload.steps:
            assert pair.b.port.send_one() or pair.b.port.hear_one()
        entry = next(iter(pair.group.facility.machine.state.structures["APP1"].entries.values()))
        assert entry.place == cf.COMMITTED
    pair.group.bodies.by_reference.clear()  # the owner has used its space again
    with pair.group.hold():
        structure = pair.group.facility.machine.state.structures["APP1"]
        structure.remove(structure.headers["Q"], entry)
    pair.group.settle()
    assert (browsed.reason, browsed.body) == (0, b"next")


def test_a_cancelled_get_gives_the_message_back() -> None:
    pair = Pair()
    pair.a.put(pair.at_a, pair.out, LONG)
    with pair.group.hold():
        pair.b.get(pair.at_b, pair.into, mq.MQGMO_SYNCPOINT)
        while not pair.b.offload.steps:
            assert pair.b.port.send_one() or pair.b.port.hear_one()
        pair.b.disconnect(pair.at_b)
    pair.group.settle()
    assert pair.group.entries() == {"committed": 1, "uncommitted": 0, "got": 0}
