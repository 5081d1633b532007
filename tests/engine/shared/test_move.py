"""MOVE QLOCAL from and to shared queues, by MQSC: what is moved, what is kept, what is refused."""

from __future__ import annotations

import pytest
from tests.command.mqsc.test_in_doubt import run
from tests.world.group.group_world import GroupWorld, MemberWorld
from tests.world.world import descriptor

from ostler.engine.message.message import MESSAGE_ID_AT, NULL_ID, PRIORITY_AT, PUT_DATE_AT, REPORT_AT, patch_i32
from ostler.engine.put import put
from ostler.log import LogSettings
from ostler.model import constants as mq

OUTPUT = mq.MQOO_OUTPUT
COUNT = 120


@pytest.fixture
def group() -> GroupWorld:
    made = GroupWorld("QM1", "QM2", log=LogSettings(primary_files=3, secondary_files=2, file_pages=512))
    made.define_structure("APP1")
    made.define_structure("APP2", recover=False)
    made.define_queue("SHARED")
    made.define_queue("OTHER")
    made.define_queue("LOSSY", "APP2")
    made.members[0].define_queue("PRIVATE")
    made.members[0].define_queue("SMALL", {"MAXDEPTH": 3})
    return made


def fill(member: MemberWorld, queue: str, bodies: list[bytes]) -> None:
    application = member.connect()
    handle = member.open(application, queue, OUTPUT)
    for number, body in enumerate(bodies):
        assert member.put(application, handle, body, persistence=number % 3 != 0, priority=4).reason == 0
    member.close(application, handle)


def numbers(count: int = COUNT) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


@pytest.mark.parametrize(("source", "target"), [("PRIVATE", "SHARED"), ("SHARED", "PRIVATE"), ("SHARED", "OTHER")])
@pytest.mark.parametrize("seed", [None, 3])
def test_all_messages_move_in_their_order_and_stay_moved(
    group: GroupWorld, source: str, target: str, seed: int | None
) -> None:
    a, b = group.members
    fill(a, source, numbers())
    before = [(each.md[MESSAGE_ID_AT:], each.body) for each in a.messages(source)]
    assert "AMQ8022I" in run(a, f"MOVE QLOCAL({source}) TOQLOCAL({target})")
    assert a.bodies(source) == []
    assert [(each.md[MESSAGE_ID_AT:], each.body) for each in a.messages(target)] == before, "identifiers or context"
    assert not a.engine.units_of_work
    assert not a.engine.queues[source].handles
    a.die(seed)
    a.come_back()
    group.ticks()
    kept = [body for number, body in enumerate(numbers()) if number % 3 != 0]
    assert a.bodies(source) == []
    assert a.bodies(target) == (kept if target == "PRIVATE" else numbers())
    if target != "PRIVATE":
        assert b.bodies(target) == numbers()


def test_moved_messages_come_back_once_when_the_facility_is_lost(group: GroupWorld) -> None:
    a, _ = group.members
    fill(a, "PRIVATE", numbers(9))
    run(a, "MOVE QLOCAL(PRIVATE) TOQLOCAL(SHARED)")
    group.lose_facility()
    for member in group.members:
        member.join()
    group.settle()
    group.recover(a)
    assert a.bodies("SHARED") == [body for number, body in enumerate(numbers(9)) if number % 3 != 0]
    assert a.bodies("PRIVATE") == []


def test_properties_priority_and_context_are_kept_and_no_delivery_is_reported(group: GroupWorld) -> None:
    a, _ = group.members
    a.define_queue("REPLY")
    application = a.connect()
    handle = a.open(application, "PRIVATE", OUTPUT)
    md = patch_i32(descriptor(1, 7, -1, NULL_ID, NULL_ID), REPORT_AT, mq.MQRO_COD)
    md = md[:100] + b"REPLY".ljust(48) + md[148:]
    assert put(a.engine, application, handle, md, mq.MQPMO_NO_SYNCPOINT, b"", b"body", None).reason == 0
    a.close(application, handle)
    (before,) = a.messages("PRIVATE")
    for source, target in (("PRIVATE", "SHARED"), ("SHARED", "PRIVATE")):
        run(a, f"MOVE QLOCAL({source}) TOQLOCAL({target})")
    (after,) = a.messages("PRIVATE")
    assert after.md == before.md
    assert after.md[PRIORITY_AT] == 7
    assert after.md[PUT_DATE_AT : PUT_DATE_AT + 8] == before.md[PUT_DATE_AT : PUT_DATE_AT + 8]
    assert a.bodies("REPLY") == []


def test_what_is_there_already_needs_type_add(group: GroupWorld) -> None:
    a, _ = group.members
    fill(a, "PRIVATE", [b"new"])
    fill(a, "SHARED", [b"old"])
    assert "AMQ8143E" in run(a, "MOVE QLOCAL(PRIVATE) TOQLOCAL(SHARED)")
    run(a, "MOVE QLOCAL(PRIVATE) TOQLOCAL(SHARED) TYPE(ADD)")
    assert a.bodies("SHARED") == [b"old", b"new"]


def test_nothing_moves_when_there_is_no_room_for_all(group: GroupWorld) -> None:
    a, _ = group.members
    fill(a, "SHARED", numbers(4))
    assert "MQRC_Q_FULL" in run(a, "MOVE QLOCAL(SHARED) TOQLOCAL(SMALL)")
    assert a.bodies("SHARED") == numbers(4)


@pytest.mark.parametrize("queue", ["SHARED", "PRIVATE"])
@pytest.mark.parametrize("order", ["MOVE QLOCAL(SHARED) TOQLOCAL(PRIVATE)", "MOVE QLOCAL(PRIVATE) TOQLOCAL(SHARED)"])
def test_a_queue_that_is_open_is_not_moved(group: GroupWorld, queue: str, order: str) -> None:
    a, b = group.members
    fill(a, "SHARED" if "(SHARED) TO" in order else "PRIVATE", [b"x"])
    where = b if queue == "SHARED" else a
    application = where.connect()
    handle = where.open(application, queue, mq.MQOO_INPUT_SHARED)
    assert "AMQ8148E" in run(a, order)
    where.close(application, handle)
    assert "AMQ8022I" in run(a, order)


def test_the_move_ends_at_a_message_that_the_target_does_not_take(group: GroupWorld) -> None:
    """Persistent messages do not go to a structure without RECOVER(YES): the unit with it is backed out."""
    a, _ = group.members
    fill(a, "PRIVATE", numbers(2))
    assert "2048" in run(a, "MOVE QLOCAL(PRIVATE) TOQLOCAL(LOSSY)")
    assert sorted(a.bodies("PRIVATE") + a.bodies("LOSSY")) == numbers(2)
    assert not a.engine.units_of_work
    assert "AMQ8022I" in run(a, "MOVE QLOCAL(LOSSY) TOQLOCAL(PRIVATE) TYPE(ADD)")
    assert sorted(a.bodies("PRIVATE")) == numbers(2)


def test_qsgdisp_names_the_disposition_of_the_source(group: GroupWorld) -> None:
    a, _ = group.members
    fill(a, "SHARED", [b"x"])
    assert "AMQ8147E" in run(a, "MOVE QLOCAL(SHARED) QSGDISP(PRIVATE) TOQLOCAL(PRIVATE)")
    assert "AMQ8022I" in run(a, "MOVE QLOCAL(SHARED) QSGDISP(SHARED) TOQLOCAL(PRIVATE)")
    assert "AMQ8147E" in run(a, "CLEAR QLOCAL(PRIVATE) QSGDISP(SHARED)")
    assert "AMQ8022I" in run(a, "CLEAR QLOCAL(PRIVATE) QSGDISP(PRIVATE)")
    assert a.bodies("PRIVATE") == []


def test_a_link_that_breaks_ends_the_move_without_loss(group: GroupWorld) -> None:
    a, b = group.members
    fill(a, "PRIVATE", numbers(9))
    a.port.lose()
    assert "2345" in run(a, "MOVE QLOCAL(PRIVATE) TOQLOCAL(SHARED)")
    assert a.bodies("PRIVATE") == numbers(9)
    assert b.bodies("SHARED") == []
