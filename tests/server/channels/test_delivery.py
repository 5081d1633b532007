"""Messages after a channel: order, descriptors, names, properties, groups, lengths, reports."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest
from tests.server.channels.support.channel_routes import DEAD, Routes, dead_letter, eventually, queue_managers

from ostler.client.api.message import Message
from ostler.client.api.property_types import PropertyValue
from ostler.model import constants as mq
from ostler.testing import RunningQueueManager


@pytest.fixture(scope="module")
def three() -> Iterator[list[RunningQueueManager]]:
    with queue_managers("NEAR", "FAR", "AWAY") as made:
        yield made


@pytest.fixture
def route(three: list[RunningQueueManager]) -> Iterator[Routes]:
    routes = Routes(three[0], three[1])
    yield routes
    routes.close()


@pytest.fixture
def away(three: list[RunningQueueManager]) -> RunningQueueManager:
    return three[2]


@pytest.mark.parametrize("persistent", [True, False])
def test_messages_arrive_in_their_order(route: Routes, persistent: bool) -> None:
    way = route().run()
    sent = [b"%d" % number for number in range(300)]
    way.put(*sent, persistent=persistent)
    assert way.bodies(300) == sent
    eventually(way.is_empty)


def test_both_kinds_of_messages_on_one_channel(route: Routes) -> None:
    """Persistent ones keep their order, and so do others; these may overtake those."""
    way = route()
    with way.here.connect() as connection:
        for number in range(120):
            connection.put(way.out, b"%d" % number, persistent=number % 3 == 0)
    way.run()
    came = [int(body) for body in way.bodies(120)]
    assert sorted(came) == list(range(120))
    for part in (0, 1):
        kept = [number for number in came if (number % 3 == 0) == (part == 0)]
        assert kept == sorted(kept)


# -- the descriptor ----------------------------------------------------------------------------------------------------


def test_descriptor_and_context_arrive_as_they_were(route: Routes) -> None:
    way = route().run()
    sent = Message(
        b"\1\2\3",
        message_id=b"M" * 24,
        correlation_id=b"C" * 24,
        priority=7,
        persistent=True,
        reply_to="REPLIES",
        reply_to_manager="SOMEWHERE",
        message_type=mq.MQMT_REQUEST,
        format="OWN",
        encoding=273,
        ccsid=500,
        report=mq.MQRO_PASS_MSG_ID | mq.MQRO_PASS_CORREL_ID,
        feedback=4711,
        user="somebody",
        accounting_token=b"token",
        identity_data="identity",
        application="program",
        application_type=mq.MQAT_CICS,
        origin_data="here",
    )
    with way.here.connect() as connection:
        stored = connection.put(way.out, sent, options=mq.MQPMO_SET_ALL_CONTEXT)
    came = way.get()
    assert came.data == b"\1\2\3"
    for name in (
        "message_id", "correlation_id", "priority", "persistent", "expiry", "reply_to", "reply_to_manager",
        "message_type", "format", "encoding", "ccsid", "report", "feedback", "user", "accounting_token",
        "identity_data", "application", "application_type", "origin_data", "put_time", "group_id", "flags",
    ):  # fmt: skip
        assert getattr(came, name) == getattr(stored, name), name
    assert came.backout_count == 0


def test_default_context_is_that_of_who_put(route: Routes) -> None:
    way = route().run()
    stored = way.here.put(way.out, "text")
    came = way.get()
    assert came.text == "text"
    assert (came.user, came.application, came.put_time) == (stored.user, stored.application, stored.put_time)
    assert came.application == "ostler.testing"
    assert (came.message_id, came.format) == (stored.message_id, "MQSTR")


def test_properties_travel_in_a_header(route: Routes) -> None:
    way = route().run()
    properties: dict[str, PropertyValue] = {"colour": "blue", "shop.count": 3, "exact": True, "data": b"\0\1"}
    way.here.put(way.out, "with properties", properties=properties, persistent=True)
    came = way.get()
    assert came.text == "with properties"
    assert dict(came.properties) == properties
    assert came.format == "MQSTR"


def test_groups_stay_groups(route: Routes) -> None:
    way = route().run()
    with way.here.connect() as connection:
        for number in (1, 2, 3):
            flags = mq.MQMF_MSG_IN_GROUP if number < 3 else mq.MQMF_LAST_MSG_IN_GROUP
            connection.put(way.out, b"%d" % number, group_id=b"G" * 24, sequence_number=number, flags=flags)
    came = [way.get() for _ in range(3)]
    assert [each.sequence_number for each in came] == [1, 2, 3]
    assert {each.group_id for each in came} == {b"G" * 24}
    assert came[2].flags & mq.MQMF_LAST_MSG_IN_GROUP
    assert not came[0].flags & mq.MQMF_LAST_MSG_IN_GROUP


def test_segments_are_put_together_at_the_other_side(route: Routes) -> None:
    way = route().run()
    with way.here.connect() as connection:
        for number in range(3):
            last = mq.MQMF_LAST_SEGMENT if number == 2 else 0
            connection.put(
                way.out, b"%d" % number * 10, group_id=b"S" * 24, offset=number * 10, flags=mq.MQMF_SEGMENT | last
            )
    eventually(lambda: way.there.depth(way.target) == 3)
    with way.there.connect() as connection, connection.open(way.target, "r") as queue:
        whole = queue.get(options=mq.MQGMO_COMPLETE_MSG)
    assert whole is not None
    assert whole.data == b"0" * 10 + b"1" * 10 + b"2" * 10


@pytest.mark.parametrize("persistent", [True, False])
def test_long_messages(route: Routes, persistent: bool) -> None:
    way = route("MAXMSGL(104857600)", "MAXMSGL(104857600)")
    for qm, queues in ((way.here, [way.transmission]), (way.there, [way.target, DEAD])):
        qm.mqsc("ALTER QMGR MAXMSGL(104857600)")
        for queue in queues:
            qm.mqsc(f"ALTER QLOCAL({queue}) MAXMSGL(104857600)")
    way.run()
    sent = [b"first", os.urandom(5_000_000), os.urandom(300_000), b"", b"last"]
    way.put(*sent, persistent=persistent)
    assert way.bodies(5) == sent


# -- time --------------------------------------------------------------------------------------------------------------


def test_what_expires_on_the_way_does_not_arrive(route: Routes) -> None:
    way = route()
    with way.here.connect() as connection:
        connection.put(way.out, b"short", expiry=0.1)
        connection.put(way.out, b"long", expiry=60)
        connection.put(way.out, b"for ever")
    end = time.monotonic() + 0.2
    eventually(lambda: time.monotonic() > end)
    way.run()
    came = [way.get(), way.get()]
    assert [each.data for each in came] == [b"long", b"for ever"]
    assert came[0].expiry is not None
    assert 0 < came[0].expiry < 60
    assert came[1].expiry is None


# -- names -------------------------------------------------------------------------------------------------------------


def test_a_queue_manager_may_have_another_name_there(route: Routes) -> None:
    way = route().run()
    way.there.mqsc("DEFINE QREMOTE(FAR.ALIAS) RQMNAME(FAR)")
    way.here.mqsc(f"DEFINE QREMOTE(FAR.ALIAS) RQMNAME(FAR.ALIAS) XMITQ({way.transmission})")
    with way.here.connect() as connection:
        connection.put(way.target, b"by alias", manager="FAR.ALIAS")
    assert way.get().data == b"by alias"


def test_the_default_transmission_queue_takes_what_has_no_other(route: Routes) -> None:
    way = route().run()
    way.there.mqsc("DEFINE QREMOTE(ANYWHERE) RQMNAME(FAR)")
    way.here.mqsc(f"ALTER QMGR DEFXMITQ({way.transmission})")
    try:
        with way.here.connect() as connection:
            connection.put(way.target, b"by default", manager="ANYWHERE")
    finally:
        way.here.mqsc("ALTER QMGR DEFXMITQ('')")
    assert way.get().data == b"by default"


def test_over_a_third_queue_manager(route: Routes, away: RunningQueueManager) -> None:
    first = route().run()
    second = route(here=first.there, there=away).run()
    first.here.mqsc(f"DEFINE QREMOTE(HOP) RNAME({second.target}) RQMNAME(AWAY) XMITQ({first.transmission})")
    first.there.mqsc(f"DEFINE QREMOTE(AWAY) RQMNAME(AWAY) XMITQ({second.transmission})")
    sent = [first.here.put("HOP", b"%d" % number, persistent=number % 2 == 0) for number in range(10)]
    came = {second.get().message_id for _ in range(10)}
    assert came == {each.message_id for each in sent}
    assert first.there.depth(DEAD) == 0


def test_replies_come_back_by_the_alias_of_their_queue(route: Routes) -> None:
    there = route().run()
    back = route(here=there.there, there=there.here).run()
    # Who asks names OWN.ALIAS; who answers sees a queue and a queue manager that lead back.
    there.here.mqsc(f"DEFINE QREMOTE(OWN.ALIAS) RNAME({back.target}) RQMNAME(NEAR.BACK)")
    there.here.mqsc("DEFINE QREMOTE(NEAR.BACK) RQMNAME(NEAR)")
    there.there.mqsc(f"DEFINE QREMOTE(NEAR.BACK) RQMNAME(NEAR.BACK) XMITQ({back.transmission})")
    there.here.put(there.out, b"question", message_type=mq.MQMT_REQUEST, reply_to="OWN.ALIAS")
    asked = there.get()
    assert (asked.reply_to, asked.reply_to_manager) == (back.target, "NEAR.BACK")
    with there.there.connect() as connection:
        connection.reply(asked, b"answer")
    answer = back.get()
    assert answer.data == b"answer"
    assert answer.correlation_id == asked.message_id


def test_replies_find_the_queue_manager_that_asked(route: Routes) -> None:
    there = route().run()
    back = route(here=there.there, there=there.here).run()
    there.there.mqsc(f"DEFINE QREMOTE(NEAR) RQMNAME(NEAR) XMITQ({back.transmission}) REPLACE")
    there.here.put(there.out, b"question", message_type=mq.MQMT_REQUEST, reply_to=back.target)
    asked = there.get()
    assert asked.reply_to_manager == "NEAR"
    with there.there.connect() as connection:
        connection.reply(asked, b"answer")
    assert back.get().data == b"answer"


# -- reports -----------------------------------------------------------------------------------------------------------


def test_reports_of_arrival_and_delivery_come_back(route: Routes) -> None:
    there = route().run()
    back = route(here=there.there, there=there.here).run()
    there.there.mqsc(f"DEFINE QREMOTE(NEAR) RQMNAME(NEAR) XMITQ({back.transmission}) REPLACE")
    sent = there.here.put(there.out, b"news", report=mq.MQRO_COA | mq.MQRO_COD, reply_to=back.target, persistent=True)
    arrived = back.get()
    assert (arrived.feedback, arrived.correlation_id) == (mq.MQFB_COA, sent.message_id)
    assert arrived.is_report
    assert (arrived.reply_to, arrived.reply_to_manager) == ("", "FAR")
    there.get()
    delivered = back.get()
    assert (delivered.feedback, delivered.correlation_id) == (mq.MQFB_COD, sent.message_id)


@pytest.mark.parametrize("persistent", [True, False])
def test_an_exception_is_reported_and_the_message_dead_lettered(route: Routes, persistent: bool) -> None:
    there = route().run()
    back = route(here=there.there, there=there.here).run()
    there.there.mqsc(f"DEFINE QREMOTE(NEAR) RQMNAME(NEAR) XMITQ({back.transmission}) REPLACE")
    there.here.mqsc(f"DEFINE QREMOTE(TO.NOWHERE) RNAME(NOWHERE) RQMNAME(FAR) XMITQ({there.transmission}) REPLACE")
    fields = {"report": mq.MQRO_EXCEPTION_WITH_DATA, "reply_to": back.target, "persistent": persistent}
    sent = there.here.put("TO.NOWHERE", b"lost", **fields)  # type: ignore[arg-type]
    report = back.get()
    assert report.feedback == mq.MQRC_UNKNOWN_OBJECT_NAME
    assert report.correlation_id == sent.message_id
    assert report.data == b"lost"
    dead = dead_letter(there.there)
    assert dead.reason == mq.MQRC_UNKNOWN_OBJECT_NAME
    assert (dead.queue, dead.manager, dead.body) == ("NOWHERE", "FAR", b"lost")
    # The channel goes on.
    there.put(b"next")
    assert there.get().data == b"next"


def test_who_wants_it_discarded_has_it_discarded(route: Routes) -> None:
    there = route().run()
    back = route(here=there.there, there=there.here).run()
    there.there.mqsc(f"DEFINE QREMOTE(NEAR) RQMNAME(NEAR) XMITQ({back.transmission}) REPLACE")
    there.here.mqsc(f"DEFINE QREMOTE(TO.NOTHING) RNAME(NOTHING) RQMNAME(FAR) XMITQ({there.transmission})")
    report = mq.MQRO_EXCEPTION | mq.MQRO_DISCARD_MSG
    there.here.put("TO.NOTHING", b"lost", report=report, reply_to=back.target, persistent=True)
    assert back.get().feedback == mq.MQRC_UNKNOWN_OBJECT_NAME
    assert there.there.depth(DEAD) == 0
    assert there.there.get(DEAD, wait=0) is None
