"""Two queue managers and a coupling facility as processes: shared queues through the API, over real sockets."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.coupling.group_processes import LIMIT_SECONDS, Group, OwnFacility, RedisGroupFacility, wait_for

from ostler.model import constants as mq
from ostler.model.errors import MQError


@pytest.fixture(params=["own", "redis"])
def group(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Group]:
    made = Group(tmp_path, RedisGroupFacility() if request.param == "redis" else OwnFacility(tmp_path))
    try:
        made.start("QMA", 1)
        made.start("QMB", 2)
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("persistent", [False, True])
def test_put_at_one_member_and_get_at_another(group: Group, persistent: bool) -> None:
    with group.connect("QMA") as at_a, group.connect("QMB") as at_b:
        at_a.open("SHARED.QUEUE", "w").put(b"outside", persistent=persistent)
        into = at_b.open("SHARED.QUEUE", "rw")
        message = into.get(wait=LIMIT_SECONDS)
        assert message is not None
        assert message.data == b"outside"
        with at_a.transaction():
            at_a.put("SHARED.QUEUE", b"in a unit", persistent=persistent)
            assert into.get() is None
        with at_b.transaction():
            message = into.get(wait=LIMIT_SECONDS)
            assert message is not None
            assert message.data == b"in a unit"
        assert into.get() is None


def test_a_waiting_get_is_woken_by_a_put_at_another_member(group: Group) -> None:
    got: list[bytes] = []

    def wait() -> None:
        with group.connect("QMB") as at_b:
            message = at_b.open("SHARED.QUEUE", "rw").get(wait=LIMIT_SECONDS)
            got.append(message.data if message is not None else b"")

    waiting = threading.Thread(target=wait)
    waiting.start()
    with group.connect("QMA") as at_a:
        at_a.put("SHARED.QUEUE", b"wake up")
        waiting.join(LIMIT_SECONDS)
    assert got == [b"wake up"]


def test_a_member_that_is_killed_in_a_unit_is_recovered_by_its_peer(group: Group) -> None:
    with group.connect("QMB") as at_b:
        into = at_b.open("SHARED.QUEUE", "rw")
        into.put(b"got by QMA", persistent=True)
        at_a = group.connect("QMA")
        transaction = at_a.transaction()
        transaction.__enter__()
        at_a.put("PRIVATE.QUEUE", b"private", persistent=True)
        at_a.put("SHARED.QUEUE", b"put by QMA", persistent=True)
        taken = at_a.open("SHARED.QUEUE", "rw").get(wait=LIMIT_SECONDS)
        assert taken is not None
        assert taken.data == b"got by QMA"
        assert into.get() is None
        group.kill("QMA")
        message = into.get(wait=LIMIT_SECONDS)
        assert message is not None, "the peer has not recovered QMA"
        assert (message.data, message.backout_count) == (b"got by QMA", 1)
        assert into.get() is None
    assert group.start("QMA", 1) == 2
    with group.connect("QMA") as again:
        assert again.open("PRIVATE.QUEUE", "rw").get() is None


def test_a_member_that_leaves_in_order_leaves_nothing_behind(group: Group) -> None:
    with group.connect("QMA") as at_a:
        at_a.put("SHARED.QUEUE", b"stays", persistent=True)
    group.members.pop("QMA").end()
    with group.connect("QMB") as at_b:
        message = at_b.open("SHARED.QUEUE", "rw").get(wait=LIMIT_SECONDS)
        assert message is not None
        assert message.data == b"stays"


def test_acknowledged_messages_come_back_when_the_facility_is_killed(group: Group) -> None:
    """RECAUTO: one member recovers the structure from both logs while an application goes on putting."""
    acknowledged: list[bytes] = []
    reasons: set[int] = set()
    with group.connect("QMA") as at_a, group.connect("QMB") as at_b:
        at_b.open("SHARED.QUEUE", "rw").put(b"not persistent", persistent=False)

        def put_one() -> bool:
            body = b"%d" % len(acknowledged)
            try:
                (at_a if len(acknowledged) % 2 else at_b).put("SHARED.QUEUE", body, persistent=True)
            except MQError as error:
                reasons.add(error.reason)
                return False
            acknowledged.append(body)
            return True

        while len(acknowledged) < 60:
            put_one()
        group.restart_facility()
        wait_for(lambda: not put_one(), "the loss of the facility was not noticed")
        # One after the other at both members: neither is to know less than the other.
        wait_for(lambda: put_one() and put_one(), "the structure was not recovered")
        failed = {mq.MQRC_CF_STRUC_FAILED, mq.MQRC_CF_STRUC_IN_USE}
        assert reasons <= {mq.MQRC_CF_NOT_AVAILABLE, mq.MQRC_OBJECT_CHANGED, *failed}
        at_a.put("PRIVATE.QUEUE", b"private queues go on")
        queue = at_b.open("SHARED.QUEUE", "rw")
        found: list[bytes] = []
        while (message := queue.get()) is not None:
            found.append(message.data)
        assert len(found) == len(set(found)), "a message came back twice"
        assert set(acknowledged) <= set(found)
        assert b"not persistent" not in found
