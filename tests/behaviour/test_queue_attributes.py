"""Attributes of a queue that change what the verbs do."""

from __future__ import annotations

from typing import Any

import pytest

from ostler.engine.open import OpenRequest
from ostler.engine.put import put, put1
from ostler.model import constants as mq
from ostler.model.structures.md import MQMD

INPUT = mq.MQOO_INPUT_SHARED
OUTPUT = mq.MQOO_OUTPUT
BOTH = INPUT | OUTPUT


# -- limits


def test_a_queue_holds_maxdepth_messages_and_refuses_the_next(site: Any, program: Any) -> None:
    name = site.local(MAXDEPTH=3)
    queue = program.open(name, BOTH)
    assert [program.put(queue, b"%d" % i).reason for i in range(4)] == [0, 0, 0, mq.MQRC_Q_FULL]
    assert site.depth(name) == 3
    assert program.get(queue).body == b"0"
    assert program.put(queue, b"again").reason == 0
    assert program.drain(queue) == [b"1", b"2", b"again"]


def test_uncommitted_puts_count_towards_maxdepth(site: Any, program: Any) -> None:
    queue = program.open(site.local(MAXDEPTH=2), BOTH)
    assert program.put(queue, b"1", mq.MQPMO_SYNCPOINT).reason == 0
    assert program.put(queue, b"2", mq.MQPMO_SYNCPOINT).reason == 0
    assert program.put(queue, b"3").reason == mq.MQRC_Q_FULL
    program.back_out()
    assert program.put(queue, b"3").reason == 0


def test_maxdepth_of_zero_takes_nothing(site: Any, program: Any) -> None:
    assert program.put1(site.local(MAXDEPTH=0)).reason == mq.MQRC_Q_FULL


def test_a_lower_maxdepth_keeps_what_is_there(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, BOTH)
    for number in range(5):
        program.put(queue, b"%d" % number)
    site.alter(name, MAXDEPTH=2)
    assert program.put(queue).reason == mq.MQRC_Q_FULL
    assert len(program.drain(queue)) == 5


@pytest.mark.parametrize("extra", [0, 1])
def test_maxmsgl_is_the_longest_message(site: Any, program: Any, extra: int) -> None:
    queue = program.open(site.local(MAXMSGL=100), BOTH)
    assert program.put(queue, b"x" * (100 + extra)).reason == (mq.MQRC_MSG_TOO_BIG_FOR_Q if extra else 0)
    assert len(program.drain(queue)) == 1 - extra


def test_the_queue_manager_has_a_longest_message_too(own_site: Any) -> None:
    own_site.alter_manager(MAXMSGL=32768)
    program = own_site.program()
    queue = program.open(own_site.local(MAXMSGL=100000), BOTH)
    assert program.put(queue, b"x" * 32768).reason == 0
    assert program.put(queue, b"x" * 32769).reason == mq.MQRC_MSG_TOO_BIG_FOR_Q_MGR
    assert own_site.depth(program.handle(queue).name) == 1


def test_a_unit_of_work_takes_maxumsgs_messages(own_site: Any) -> None:
    own_site.alter_manager(MAXUMSGS=3)
    program = own_site.program()
    queue = program.open(own_site.local(), BOTH)
    for _ in range(3):
        assert program.put(queue, b"", mq.MQPMO_SYNCPOINT).reason == 0
    assert program.put(queue, b"", mq.MQPMO_SYNCPOINT).reason == mq.MQRC_SYNCPOINT_LIMIT_REACHED
    assert program.put(queue, b"outside").reason == 0
    assert program.get(queue, mq.MQGMO_SYNCPOINT).reason == mq.MQRC_SYNCPOINT_LIMIT_REACHED
    assert program.get(queue).body == b"outside"
    assert program.commit() == 0
    assert [program.get(queue, mq.MQGMO_SYNCPOINT).reason for _ in range(4)] == [
        0,
        0,
        0,
        mq.MQRC_SYNCPOINT_LIMIT_REACHED,
    ]


def test_a_connection_has_maxhands_handles(own_site: Any) -> None:
    own_site.alter_manager(MAXHANDS=2)
    program = own_site.program()
    name = own_site.local()
    first = program.open(name, OUTPUT)
    program.open(name, OUTPUT)
    assert program.reason_of_open(name, OUTPUT) == mq.MQRC_HANDLE_NOT_AVAILABLE
    assert own_site.program().reason_of_open(name, OUTPUT) == 0
    program.close(first)
    assert program.reason_of_open(name, OUTPUT) == 0


# -- permission


def test_put_inhibited_refuses_puts_and_lets_gets_go_on(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, BOTH)
    program.put(queue, b"before")
    site.alter(name, PUT="DISABLED")
    assert program.put(queue).reason == mq.MQRC_PUT_INHIBITED
    assert program.put1(name).reason == mq.MQRC_PUT_INHIBITED
    assert program.get(queue).body == b"before"
    site.alter(name, PUT="ENABLED")
    assert program.put(queue).reason == 0


def test_get_inhibited_refuses_gets_and_browses_and_lets_puts_go_on(site: Any, program: Any) -> None:
    name = site.local(GET="DISABLED")
    queue = program.open(name, BOTH | mq.MQOO_BROWSE)
    assert program.put(queue, b"kept").reason == 0
    assert program.get(queue).reason == mq.MQRC_GET_INHIBITED
    assert program.get(queue, mq.MQGMO_BROWSE_FIRST).reason == mq.MQRC_GET_INHIBITED
    site.alter(name, GET="ENABLED")
    assert program.get(queue).body == b"kept"


def test_inhibiting_gets_ends_waits(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, INPUT)
    waiting = site.start(program.get, queue, mq.MQGMO_WAIT, wait=mq.MQWI_UNLIMITED)
    site.until_waiting(name)
    site.alter(name, GET="DISABLED")
    assert waiting.result(60).reason == mq.MQRC_GET_INHIBITED
    assert site.queue(name).waiting.count == 0


# -- defaults


@pytest.mark.parametrize(("persistence", "number"), [("NO", 0), ("YES", 1)])
def test_persistence_as_queue_def_is_defpsist(site: Any, program: Any, persistence: str, number: int) -> None:
    queue = program.open(site.local(DEFPSIST=persistence), BOTH)
    put = program.put(queue, Persistence=mq.MQPER_PERSISTENCE_AS_Q_DEF)
    assert put.md["Persistence"] == number
    assert program.get(queue).md["Persistence"] == number


def test_priority_as_queue_def_is_defprty(site: Any, program: Any) -> None:
    queue = program.open(site.local(DEFPRTY=6), BOTH)
    assert program.put(queue, Priority=mq.MQPRI_PRIORITY_AS_Q_DEF).md["Priority"] == 6
    assert program.put(queue, Priority=2).md["Priority"] == 2
    assert [program.get(queue).md["Priority"] for _ in range(2)] == [6, 2]


def test_defaults_are_those_at_the_time_of_the_put(site: Any, program: Any) -> None:
    name = site.local(DEFPRTY=1)
    queue = program.open(name, BOTH)
    site.alter(name, DEFPRTY=7, DEFPSIST="YES")
    answer = program.put(queue, Priority=-1, Persistence=2)
    assert (answer.md["Priority"], answer.md["Persistence"]) == (7, 1)


# -- order


def test_priority_order(site: Any, program: Any) -> None:
    queue = program.open(site.local(MSGDLVSQ="PRIORITY"), BOTH)
    for priority, body in ((0, b"a"), (9, b"b"), (5, b"c"), (9, b"d"), (0, b"e")):
        program.put(queue, body, Priority=priority)
    assert program.drain(queue) == [b"b", b"d", b"c", b"a", b"e"]


def test_order_of_arrival(site: Any, program: Any) -> None:
    queue = program.open(site.local(MSGDLVSQ="FIFO"), BOTH)
    for priority, body in ((0, b"a"), (9, b"b"), (5, b"c")):
        program.put(queue, body, Priority=priority)
    got = [program.get(queue) for _ in range(3)]
    assert [each.body for each in got] == [b"a", b"b", b"c"]
    assert [each.md["Priority"] for each in got] == [0, 9, 5]


def test_a_fifo_queue_orders_by_the_default_priority_at_the_put(site: Any, program: Any) -> None:
    name = site.local(MSGDLVSQ="FIFO", DEFPRTY=5)
    queue = program.open(name, BOTH)
    program.put(queue, b"as 5", Priority=9)
    program.put(queue, b"as 5, later", Priority=0)
    site.alter(name, MSGDLVSQ="PRIORITY")
    program.put(queue, b"4", Priority=4)
    program.put(queue, b"6", Priority=6)
    got = [program.get(queue) for _ in range(4)]
    assert [each.body for each in got] == [b"6", b"as 5", b"as 5, later", b"4"]
    assert [each.md["Priority"] for each in got] == [6, 9, 0, 4]


def test_by_identifier_the_more_important_message_comes_first(site: Any, program: Any) -> None:
    queue = program.open(site.local(), BOTH)
    same = b"same".ljust(24)
    for priority, body in ((1, b"low"), (8, b"high"), (8, b"high, later")):
        program.put(queue, body, Priority=priority, CorrelId=same)
    assert [program.get(queue, CorrelId=same).body for _ in range(3)] == [b"high", b"high, later", b"low"]


def test_a_priority_beyond_the_maximum_is_kept_but_ordered_as_the_maximum(site: Any, program: Any) -> None:
    queue = program.open(site.local(), BOTH)
    program.put(queue, b"nine", Priority=9)
    answer = program.put(queue, b"more", Priority=77)
    assert (answer.code, answer.reason) == (mq.MQCC_WARNING, mq.MQRC_PRIORITY_EXCEEDS_MAXIMUM)
    assert answer.md["Priority"] == 77
    program.put(queue, b"nine again", Priority=9)
    got = [program.get(queue) for _ in range(3)]
    assert [each.body for each in got] == [b"nine", b"more", b"nine again"]
    assert got[1].md["Priority"] == 77


# -- sharing


def test_exclusive_input_keeps_others_out(site: Any, program: Any) -> None:
    name = site.local()
    mine = program.open(name, mq.MQOO_INPUT_EXCLUSIVE)
    other = site.program()
    assert other.reason_of_open(name, INPUT) == mq.MQRC_OBJECT_IN_USE
    assert other.reason_of_open(name, mq.MQOO_INPUT_EXCLUSIVE) == mq.MQRC_OBJECT_IN_USE
    assert program.reason_of_open(name, INPUT) == mq.MQRC_OBJECT_IN_USE
    assert other.reason_of_open(name, mq.MQOO_BROWSE | OUTPUT) == 0
    program.close(mine)
    assert other.reason_of_open(name, INPUT) == 0
    assert program.reason_of_open(name, mq.MQOO_INPUT_EXCLUSIVE) == mq.MQRC_OBJECT_IN_USE
    assert program.reason_of_open(name, INPUT) == 0


def test_a_noshare_queue_makes_shared_input_exclusive(site: Any, program: Any) -> None:
    name = site.local(SHARE="NOSHARE")
    program.open(name, INPUT)
    assert site.program().reason_of_open(name, INPUT) == mq.MQRC_OBJECT_IN_USE


@pytest.mark.parametrize(("default", "second"), [("SHARED", 0), ("EXCL", mq.MQRC_OBJECT_IN_USE)])
def test_input_as_queue_def_is_defsopt(site: Any, program: Any, default: str, second: int) -> None:
    name = site.local(DEFSOPT=default)
    program.open(name, mq.MQOO_INPUT_AS_Q_DEF)
    assert site.program().reason_of_open(name, mq.MQOO_INPUT_AS_Q_DEF) == second


# -- what is taken and changes little here


@pytest.mark.parametrize("index", ["NONE", "MSGID", "CORRELID", "MSGTOKEN", "GROUPID"])
def test_every_index_type_finds_by_every_identifier(site: Any, program: Any, index: str) -> None:
    queue = program.open(site.local(INDXTYPE=index), BOTH)
    program.put(queue, b"other")
    program.put(queue, b"by id", MsgId=b"i" * 24)
    program.put(queue, b"by correlation", CorrelId=b"c" * 24)
    assert program.get(queue, MsgId=b"i" * 24).body == b"by id"
    assert program.get(queue, CorrelId=b"c" * 24).body == b"by correlation"


@pytest.mark.parametrize("ahead", ["NO", "YES", "DISABLED"])
def test_read_ahead_changes_nothing_of_what_is_got(site: Any, program: Any, ahead: str) -> None:
    queue = program.open(site.local(DEFREADA=ahead), BOTH)
    for number in range(10):
        program.put(queue, b"%d" % number)
    assert program.drain(queue) == [b"%d" % number for number in range(10)]


@pytest.mark.parametrize("response", ["SYNC", "ASYNC"])
def test_a_put_with_the_queues_response_type_arrives(site: Any, program: Any, response: str) -> None:
    queue = program.open(site.local(DEFPRESP=response), BOTH)
    assert program.put(queue, b"there", Persistence=1).reason == 0
    assert program.get(queue).body == b"there"


@pytest.mark.parametrize(
    ("default", "options", "waits"),
    [
        ("SYNC", 0, True),
        ("ASYNC", 0, False),
        ("SYNC", mq.MQPMO_ASYNC_RESPONSE, False),
        ("ASYNC", mq.MQPMO_SYNC_RESPONSE, True),
    ],
)
def test_an_asynchronous_put_does_not_wait_for_the_log(
    site: Any, program: Any, default: str, options: int, waits: bool
) -> None:
    handle = program.handle(program.open(site.local(DEFPRESP=default), BOTH))
    md = MQMD.default(2)
    MQMD.patch(md, "Persistence", 1)
    with site.manager.turn as engine:
        outcome = put(engine, program.connection, handle, bytes(md), mq.MQPMO_NO_SYNCPOINT | options, b"", b"", None)
    assert (outcome.after_lsn != 0) == waits


def test_put1_is_synchronous_unless_its_options_say_otherwise(site: Any, program: Any) -> None:
    name = site.local(DEFPRESP="ASYNC")
    md = MQMD.default(2)
    MQMD.patch(md, "Persistence", 1)
    request = OpenRequest(mq.MQOT_Q, name, 0)
    with site.manager.turn as engine:
        outcome = put1(engine, program.connection, request, bytes(md), 0, b"", b"", None)
        assert outcome.after_lsn != 0
        outcome = put1(engine, program.connection, request, bytes(md), mq.MQPMO_ASYNC_RESPONSE, b"", b"", None)
        assert outcome.after_lsn == 0


def test_a_get_of_an_asynchronous_put_shows_nothing_that_a_crash_takes_back(own_site: Any) -> None:
    program = own_site.program()
    name = own_site.local(DEFPRESP="ASYNC")
    queue = program.open(name, BOTH | mq.MQOO_BROWSE)
    program.put(queue, b"seen", Persistence=1)
    assert program.get(queue, mq.MQGMO_BROWSE_FIRST).body == b"seen"
    own_site.crash()
    assert own_site.depth(name) == 1
