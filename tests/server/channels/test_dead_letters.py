"""Messages that a channel cannot deliver: retried, dead-lettered, discarded or kept."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.server.channels.support.channel_routes import DEAD, Routes, dead_letter, eventually

from ostler.model import constants as mq
from ostler.testing import RunningQueueManager


@pytest.fixture
def route(pair: list[RunningQueueManager]) -> Iterator[Routes]:
    routes = Routes(*pair)
    yield routes
    routes.close()
    for qm in pair:
        qm.mqsc(f"ALTER QMGR DEADQ({DEAD})")
        qm.mqsc(f"CLEAR QLOCAL({DEAD})")


def test_a_full_queue_is_tried_again_while_the_channel_pauses(route: Routes) -> None:
    way = route("", "MRRTY(1000) MRTMR(20)")
    way.there.mqsc(f"ALTER QLOCAL({way.target}) MAXDEPTH(2)")
    way.run()
    sent = [b"%d" % number for number in range(6)]
    way.put(*sent)
    way.until("PAUSED", way.there)
    assert way.state() == "RUNNING"
    assert "STATUS(PAUSED)" in "\n".join(way.there.mqsc(f"DISPLAY CHSTATUS({way.channel})"))
    way.there.mqsc(f"ALTER QLOCAL({way.target}) MAXDEPTH(100)")
    assert way.bodies(6) == sent
    way.until("RUNNING", way.there)
    assert way.there.depth(DEAD) == 0


def test_messages_are_dead_lettered_when_tries_are_used_up(route: Routes) -> None:
    way = route("", "MRRTY(2) MRTMR(10)")
    way.there.mqsc(f"ALTER QLOCAL({way.target}) MAXDEPTH(1)")
    way.run()
    way.put(b"first", b"second", b"third")
    dead = [dead_letter(way.there), dead_letter(way.there)]
    assert [each.body for each in dead] == [b"second", b"third"]
    assert {each.reason for each in dead} == {mq.MQRC_Q_FULL}
    assert dead[0].queue == way.target
    assert way.get().data == b"first"
    assert f"({mq.MQRC_Q_FULL})" in way.until_noted("AMQ9544W", way.there)
    eventually(way.is_empty)


def test_queues_that_take_no_puts_are_tried_again(route: Routes) -> None:
    way = route("", "MRRTY(1000) MRTMR(20)")
    way.there.mqsc(f"ALTER QLOCAL({way.target}) PUT(DISABLED)")
    way.run()
    way.put(b"patient", persistent=False)
    way.until("PAUSED", way.there)
    way.there.mqsc(f"ALTER QLOCAL({way.target}) PUT(ENABLED)")
    assert way.get().data == b"patient"


def test_a_pausing_channel_can_be_stopped(route: Routes) -> None:
    way = route("", "MRRTY(1000000) MRTMR(1000000)")
    way.there.mqsc(f"ALTER QLOCAL({way.target}) PUT(DISABLED)")
    way.run()
    way.put(b"kept")
    way.until("PAUSED", way.there)
    way.stop("MODE(QUIESCE)", way.there)
    way.until("STOPPED", way.there)
    # It is not tried any more, and not given up either: the partner still has it.
    way.there.mqsc(f"ALTER QLOCAL({way.target}) PUT(ENABLED)\nSTART CHANNEL({way.channel})")
    way.until("RETRYING").start()
    assert way.get().data == b"kept"


def test_other_reasons_are_not_tried_again(route: Routes) -> None:
    way = route("", "MRRTY(1000000) MRTMR(1000000)").run()
    way.there.mqsc(f"DELETE QLOCAL({way.target})")
    way.put(b"nowhere")
    assert dead_letter(way.there).reason == mq.MQRC_UNKNOWN_OBJECT_NAME
    assert way.state(way.there) == "RUNNING"


def test_too_long_for_the_queue(route: Routes) -> None:
    way = route()
    way.there.mqsc(f"ALTER QLOCAL({way.target}) MAXMSGL(10)")
    way.run()
    way.put(b"0123456789", b"0123456789A")
    assert dead_letter(way.there).reason == mq.MQRC_MSG_TOO_BIG_FOR_Q
    assert way.get().data == b"0123456789"


@pytest.mark.parametrize("side", ["sender", "receiver"])
@pytest.mark.parametrize("persistent", [True, False])
def test_too_long_for_the_channel(route: Routes, side: str, persistent: bool) -> None:
    """The smaller MAXMSGL counts; what is longer stays on this side."""
    limits = ("MAXMSGL(1000)", "") if side == "sender" else ("", "MAXMSGL(1000)")
    way = route(*limits).run()
    assert way.chstatus().message_bytes_max == 1000
    assert way.chstatus(way.there).message_bytes_max == 1000
    way.put(bytes(1000), bytes(1001), b"behind", persistent=persistent)
    dead = dead_letter(way.here)
    assert dead.reason == mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL
    assert (dead.queue, dead.manager, len(dead.body)) == (way.target, "FAR", 1001)
    assert way.bodies(2) == [bytes(1000), b"behind"]
    eventually(way.is_empty)


def test_only_messages_that_are_too_long(route: Routes) -> None:
    """A batch of which nothing is sent ends all the same."""
    way = route("MAXMSGL(1000)").run()
    way.put(bytes(2000))
    assert len(dead_letter(way.here).body) == 2000
    eventually(way.is_empty)
    way.put(b"short")
    assert way.get().data == b"short"


def test_what_is_no_message_for_a_channel(route: Routes) -> None:
    way = route()
    way.here.put(way.transmission, b"by hand", persistent=True)
    way.put(b"by the book")
    way.run()
    dead = dead_letter(way.here)
    assert (dead.reason, dead.queue, dead.body) == (mq.MQRC_XQH_ERROR, way.transmission, b"by hand")
    assert way.get().data == b"by the book"


# -- without a dead-letter queue ---------------------------------------------------------------------------------------


def test_without_dead_letters_the_channel_ends_and_the_message_stays(route: Routes) -> None:
    way = route("SHORTRTY(1) SHORTTMR(0) LONGRTY(0)", "USEDLQ(NO) MRRTY(0)")
    way.there.mqsc(f"ALTER QLOCAL({way.target}) PUT(DISABLED)")
    way.put(b"kept")
    way.start().until("STOPPED")
    assert way.there.depth(DEAD) == 0
    note = way.until_noted("AMQ9565E", way.there)
    assert f"({mq.MQRC_PUT_INHIBITED})" in note
    assert "AMQ9565E" in way.notes()
    way.there.mqsc(f"ALTER QLOCAL({way.target}) PUT(ENABLED)")
    way.start()
    assert way.get().data == b"kept"


def test_no_dead_letter_queue_at_all(route: Routes) -> None:
    way = route("SHORTRTY(0) LONGRTY(0)")
    way.there.mqsc("ALTER QMGR DEADQ('')")
    way.there.mqsc(f"ALTER QLOCAL({way.target}) MAXMSGL(1)")
    way.put(b"too long")
    way.start().until("STOPPED")
    way.there.mqsc(f"ALTER QLOCAL({way.target}) MAXMSGL(100)")
    way.run()
    assert way.get().data == b"too long"
    eventually(way.is_empty)
    assert way.there.depth(way.target) == 0


def test_fast_messages_are_discarded_without_a_dead_letter_queue(route: Routes) -> None:
    way = route("", "USEDLQ(NO)")
    way.there.mqsc(f"ALTER QLOCAL({way.target}) MAXMSGL(4)")
    way.run()
    way.put(b"long one", b"ok", persistent=False)
    assert way.get().data == b"ok"
    assert way.state() == "RUNNING"
    assert "discarded" in way.until_noted("AMQ9544", way.there)
    assert way.there.depth(DEAD) == 0


def test_a_sender_without_dead_letters_stops(route: Routes) -> None:
    way = route("MAXMSGL(1000) USEDLQ(NO)")
    way.put(bytes(2000))
    way.start().until("STOPPED")
    assert way.here.depth(way.transmission) == 1
    way.until_noted("AMQ9544E")
    assert way.here.depth(DEAD) == 0
