"""Units of work: visibility, commit, back-out, and the end of applications."""

from __future__ import annotations

from typing import Any

import pytest

from ostler import mqi
from ostler.model import constants as mq

BOTH = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT
PUT = mq.MQPMO_SYNCPOINT
GET = mq.MQGMO_SYNCPOINT
NOTHING = mq.MQRC_NO_MSG_AVAILABLE
KINDS = pytest.mark.parametrize("persistence", [0, 1])


@KINDS
def test_puts_are_seen_at_commit_only(site: Any, program: Any, persistence: int) -> None:
    name = site.local()
    queue = program.open(name, BOTH | mq.MQOO_BROWSE)
    program.put(queue, b"later", PUT, Persistence=persistence)
    assert site.depth(name) == 1
    assert site.queue(name).uncommitted == 1
    for options in (mq.MQGMO_NO_SYNCPOINT, GET, mq.MQGMO_BROWSE_FIRST):
        assert program.get(queue, options).reason == NOTHING
        other = site.program()
        assert other.get(other.open(name, BOTH | mq.MQOO_BROWSE), options).reason == NOTHING
    assert program.commit() == 0
    assert site.queue(name).uncommitted == 0
    assert program.get(queue).body == b"later"


@KINDS
def test_puts_that_are_backed_out_are_never_seen(site: Any, program: Any, persistence: int) -> None:
    name = site.local()
    queue = program.open(name, BOTH)
    program.put(queue, b"never", PUT, Persistence=persistence)
    assert program.back_out() == 0
    assert (site.depth(name), site.queue(name).uncommitted) == (0, 0)
    assert program.get(queue).reason == NOTHING


@KINDS
def test_what_is_got_is_gone_for_others_at_once_and_for_good_at_commit(
    site: Any, program: Any, persistence: int
) -> None:
    name = site.local()
    queue = program.open(name, BOTH)
    program.put(queue, b"mine", Persistence=persistence)
    assert program.get(queue, GET).body == b"mine"
    assert site.depth(name) == 0
    other = site.program()
    assert other.get(other.open(name, BOTH)).reason == NOTHING
    program.commit()
    program.back_out()
    assert program.get(queue).reason == NOTHING


@KINDS
def test_a_back_out_restores_the_position_and_counts(site: Any, program: Any, persistence: int) -> None:
    name = site.local()
    queue = program.open(name, BOTH)
    for body in (b"1", b"2", b"3"):
        program.put(queue, body, Persistence=persistence)
    for count in range(3):
        got = [program.get(queue, GET) for _ in range(2)]
        assert [each.body for each in got] == [b"1", b"2"]
        assert [each.md["BackoutCount"] for each in got] == [count, count]
        assert program.back_out() == 0
        assert site.depth(name) == 3
    assert site.queue(name).counters.backed_out == 6
    got = [program.get(queue) for _ in range(3)]
    assert [(each.body, each.md["BackoutCount"]) for each in got] == [(b"1", 3), (b"2", 3), (b"3", 0)]


@KINDS
def test_messages_from_the_middle_return_to_the_middle(site: Any, program: Any, persistence: int) -> None:
    queue = program.open(site.local(), BOTH)
    for number in range(8):
        key = b"%d" % (number % 2) * 24
        program.put(queue, b"%d" % number, Persistence=persistence, MsgId=b"%d" % number * 24, CorrelId=key)
    for number in (5, 2, 7, 3):
        assert program.get(queue, GET, MsgId=b"%d" % number * 24).body == b"%d" % number
    program.back_out()
    odd = [program.get(queue, GET, CorrelId=b"1" * 24).body for _ in range(4)]
    assert odd == [b"1", b"3", b"5", b"7"]
    program.back_out()
    assert program.drain(queue) == [b"%d" % number for number in range(8)]


@KINDS
def test_the_position_is_that_of_the_put_not_of_the_commit(site: Any, program: Any, persistence: int) -> None:
    name = site.local()
    queue = program.open(name, BOTH)
    other = site.program()
    theirs = other.open(name, mq.MQOO_OUTPUT)
    program.put(queue, b"first", PUT, Persistence=persistence)
    other.put(theirs, b"second", Persistence=persistence)
    other.put(theirs, b"third", PUT, Persistence=persistence)
    program.put(queue, b"fourth", PUT, Persistence=persistence)
    other.commit()
    program.commit()
    assert program.drain(queue) == [b"first", b"second", b"third", b"fourth"]


def test_a_message_that_is_backed_out_and_one_committed_late_keep_their_order(site: Any, program: Any) -> None:
    queue = program.open(site.local(), BOTH)
    other = site.program()
    theirs = other.open(program.handle(queue).name, BOTH)
    program.put(queue, b"1")
    other.put(theirs, b"2", PUT)
    program.put(queue, b"3")
    assert program.get(queue, GET).body == b"1"
    assert program.get(queue, GET).body == b"3"
    other.commit()
    program.back_out()
    assert program.drain(queue) == [b"1", b"2", b"3"]


def test_found_by_identifier_after_commit_and_back_out(site: Any, program: Any) -> None:
    queue = program.open(site.local(), BOTH)
    key = b"k" * 24
    program.put(queue, b"1", PUT, CorrelId=key)
    program.put(queue, b"2", CorrelId=key)
    program.commit()
    assert program.get(queue, GET, CorrelId=key).body == b"1"
    program.back_out()
    assert [program.get(queue, CorrelId=key).body for _ in range(2)] == [b"1", b"2"]


def test_one_unit_over_many_queues_is_all_or_nothing(site: Any, program: Any) -> None:
    sources = [program.open(site.local(), BOTH) for _ in range(5)]
    targets = [program.open(site.local(), BOTH) for _ in range(5)]
    for number, queue in enumerate(sources):
        program.put(queue, b"%d" % number, Persistence=number % 2)
    for attempt in range(2):
        for source, target in zip(sources, targets, strict=True):
            got = program.get(source, GET)
            program.put(target, got.body, PUT, Persistence=got.md["Persistence"])
        if attempt == 0:
            program.back_out()
            assert [site.depth(program.handle(each).name) for each in sources + targets] == [1] * 5 + [0] * 5
    program.commit()
    assert [program.drain(each) for each in sources] == [[]] * 5
    assert [program.drain(each) for each in targets] == [[b"%d" % number] for number in range(5)]


def test_a_message_put_in_the_unit_cannot_be_got_in_it(site: Any, program: Any) -> None:
    queue = program.open(site.local(), BOTH)
    program.put(queue, b"own", PUT)
    assert program.get(queue, GET).reason == NOTHING


def test_syncpoint_if_persistent(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, BOTH)
    program.put(queue, b"light")
    program.put(queue, b"durable", Persistence=1)
    assert program.get(queue, mq.MQGMO_SYNCPOINT_IF_PERSISTENT).body == b"light"
    assert program.get(queue, mq.MQGMO_SYNCPOINT_IF_PERSISTENT).body == b"durable"
    program.back_out()
    assert program.drain(queue) == [b"durable"]


def test_work_outside_the_unit_is_not_backed_out(site: Any, program: Any) -> None:
    queue = program.open(site.local(), BOTH)
    program.put(queue, b"in", PUT)
    program.put(queue, b"out")
    program.back_out()
    assert program.drain(queue) == [b"out"]


def test_put1_takes_part_in_the_unit(site: Any, program: Any) -> None:
    name = site.local()
    assert program.put1(name, b"once", PUT).reason == 0
    assert program.browse(name) == []
    assert not program.connection.handles
    program.commit()
    assert [each.body for each in program.browse(name)] == [b"once"]


def test_disconnecting_commits(site: Any) -> None:
    name = site.local()
    first = site.program()
    queue = first.open(name, BOTH)
    first.put(queue, b"kept", PUT, Persistence=1)
    assert first.disconnect() == 0
    other = site.program()
    assert [each.body for each in other.browse(name)] == [b"kept"]
    assert first.put(queue).reason == mq.MQRC_HCONN_ERROR


def test_ending_without_disconnecting_backs_out(site: Any) -> None:
    name = site.local()
    first = site.program()
    queue = first.open(name, BOTH)
    first.put(queue, b"there")
    first.get(queue, GET)
    first.put(queue, b"gone", PUT)
    first.vanish()
    answers = site.program().browse(name)
    assert [(each.body, each.md["BackoutCount"]) for each in answers] == [(b"there", 1)]
    assert (site.queue(name).uncommitted, site.queue(name).inputs, site.queue(name).outputs) == (0, 0, 0)


def test_closing_the_queue_leaves_the_unit_open(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, BOTH)
    program.put(queue, b"there")
    program.get(queue, GET)
    program.put(queue, b"new", PUT)
    program.close(queue)
    assert program.browse(name) == []
    program.commit()
    assert [each.body for each in program.browse(name)] == [b"new"]


def test_commit_and_back_out_of_nothing(program: Any) -> None:
    assert mqi.MQCMIT(program.hconn) == (mq.MQCC_OK, 0)
    assert mqi.MQBACK(program.hconn) == (mq.MQCC_OK, 0)


def test_units_of_different_connections_do_not_touch(site: Any, program: Any) -> None:
    name = site.local()
    other = site.program()
    program.put(program.open(name, BOTH), b"mine", PUT)
    other.put(other.open(name, BOTH), b"theirs", PUT)
    program.back_out()
    other.commit()
    assert [each.body for each in program.browse(name)] == [b"theirs"]


def test_the_back_out_threshold_is_for_programs_to_keep(site: Any, program: Any) -> None:
    name = site.local(BOTHRESH=1, BOQNAME=site.local())
    queue = program.open(name, BOTH | mq.MQOO_INQUIRE)
    program.put(queue, b"poison")
    for _ in range(3):
        program.get(queue, GET)
        program.back_out()
    assert program.get(queue).md["BackoutCount"] == 3
    numbers, names, _, reason = mqi.MQINQ(
        program.hconn, queue, [mq.MQIA_BACKOUT_THRESHOLD, mq.MQCA_BACKOUT_REQ_Q_NAME], 1, 48
    )
    assert (numbers, reason) == ([1], 0)
    assert names.rstrip() == site.queue(name).definition.attributes["BOQNAME"].encode()


def test_the_oldest_unit_gives_way_when_the_log_fills(own_site: Any) -> None:
    name = own_site.local(MAXDEPTH=100000, MAXMSGL=100000)
    slow, busy = own_site.program(), own_site.program()
    held = slow.open(name, BOTH)
    slow.put(held, b"held", PUT, Persistence=1)
    queue = busy.open(own_site.local(MAXDEPTH=100000), BOTH)
    body = b"x" * 20000
    for _ in range(200):
        assert busy.put(queue, body, Persistence=1).reason == 0
        busy.get(queue)
    for refused in (slow.put(held, b"more", PUT), slow.get(held, GET)):
        assert (refused.code, refused.reason) == (mq.MQCC_FAILED, mq.MQRC_BACKED_OUT)
        assert refused.message_id == bytes(24)
    assert slow.commit() == mq.MQRC_BACKED_OUT
    assert own_site.depth(name) == 0
    assert slow.put(held, b"again", PUT, Persistence=1).reason == 0
    assert slow.commit() == 0
    assert own_site.depth(name) == 1
