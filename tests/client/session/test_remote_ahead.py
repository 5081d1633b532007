"""Puts that nobody waits for, and messages that are sent before they are asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import pytest
from tests.client.remote_site import (
    BOTH,
    FAILED,
    OK,
    RawProgram,
    RemoteSite,
    eventually,
    field,
    structure,
)

from ostler import mqi
from ostler.client.session.read_ahead import WINDOW, WINDOW_BYTES
from ostler.model import constants as mqc
from ostler.server.verbs.consume import MessageStream

AHEAD = mqc.MQOO_INPUT_SHARED | mqc.MQOO_READ_AHEAD
ASYNC = mqc.MQPMO_NO_SYNCPOINT | mqc.MQPMO_ASYNC_RESPONSE
WAIT = mqc.MQGMO_WAIT | mqc.MQGMO_NO_SYNCPOINT
NO_MESSAGE = (b"", mqc.MQRC_NO_MSG_AVAILABLE)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteSite]:
    made = RemoteSite(tmp_path_factory.mktemp("ahead"), "AHEAD")
    yield made
    made.end()


@pytest.fixture(params=["local", "client"])
def program(site: RemoteSite, request: pytest.FixtureRequest) -> Iterator[RawProgram]:
    made = site.connect(request.param)
    yield made
    made.leave()


@pytest.fixture
def queue(site: RemoteSite, request: pytest.FixtureRequest) -> str:
    return site.queue(f"Q{abs(hash(request.node.name))}")


def filled(program: RawProgram, queue: str, count: int, persistence: int = 0) -> list[bytes]:
    hobj = program.open(queue, mqc.MQOO_OUTPUT)
    bodies = [b"%d" % number for number in range(count)]
    for body in bodies:
        assert program.put(hobj, body, persistence=persistence) == 0
    return bodies


# -- asynchronous puts -------------------------------------------------------------------------------------------------


def test_nobody_waits_for_an_asynchronous_put(site: RemoteSite, program: RawProgram, queue: str) -> None:
    hobj = program.open(queue)
    with site.manager.lock:
        # The queue manager cannot answer anything now.
        md, pmo = structure("MQMD"), structure("MQPMO", Options=ASYNC | mqc.MQPMO_NEW_CORREL_ID)
        assert mqi.MQPUT(program.hconn, hobj, md, pmo, b"on its way") == OK
    assert field("MQMD", md, "MsgId") != b""
    assert field("MQMD", md, "CorrelId") != b""
    assert field("MQMD", md, "Priority") == 0
    assert field("MQPMO", pmo, "ResolvedQName") == queue.encode()
    got = structure("MQMD")
    gmo = structure("MQGMO", Options=WAIT, WaitInterval=60_000)
    assert mqi.MQGET(program.hconn, hobj, got, gmo, 100)[0] == b"on its way"
    assert [field("MQMD", got, each) for each in ("MsgId", "CorrelId")] == [
        field("MQMD", md, each) for each in ("MsgId", "CorrelId")
    ]


def test_the_queue_may_ask_for_it(site: RemoteSite, program: RawProgram, queue: str) -> None:
    hobj = program.open(site.queue(f"{queue}.ASYNC", DEFPRESP="ASYNC"))
    with site.manager.lock:
        assert program.put(hobj, b"on its way") == 0
    assert program.get(hobj, WAIT, 60_000) == (b"on its way", 0)


def test_mqstat_tells_what_became_of_them(site: RemoteSite, program: RawProgram, queue: str) -> None:
    name = site.queue(f"{queue}.SMALL", MAXDEPTH=3)
    hobj = program.open(name)
    for _ in range(5):
        assert program.put(hobj, b"x", ASYNC) == 0
    sts = structure("MQSTS")
    assert mqi.MQSTAT(program.hconn, mqc.MQSTAT_TYPE_ASYNC_ERROR, sts) == OK
    counts = [field("MQSTS", sts, f"Put{each}Count") for each in ("Success", "Warning", "Failure")]
    assert counts == [3, 0, 2]
    assert field("MQSTS", sts, "Reason") == mqc.MQRC_Q_FULL
    assert field("MQSTS", sts, "ObjectName") == name.encode()


def test_many_asynchronous_puts_come_in_order(program: RawProgram, queue: str) -> None:
    hobj = program.open(queue)
    for number in range(500):
        assert program.put(hobj, b"%d" % number + b"x" * 3000, ASYNC) == 0
    got = [program.get(hobj, WAIT, 60_000)[0].rstrip(b"x") for _ in range(500)]
    assert got == [b"%d" % number for number in range(500)]


# -- read-ahead --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wait", [0, 60_000])
def test_all_messages_come_in_order(program: RawProgram, queue: str, wait: int) -> None:
    bodies = filled(program, queue, 3 * WINDOW + 5)
    hobj = program.open(queue, AHEAD)
    options = WAIT if wait else mqc.MQGMO_NO_SYNCPOINT
    assert [program.get(hobj, options, wait) for _ in bodies] == [(body, 0) for body in bodies]
    assert program.get(hobj) == NO_MESSAGE


def test_messages_leave_the_queue_before_they_are_asked_for(site: RemoteSite, program: RawProgram, queue: str) -> None:
    filled(program, queue, 3 * WINDOW)
    hobj = program.open(queue, AHEAD)
    assert program.get(hobj, WAIT, 60_000) == (b"0", 0)
    eventually(lambda: site.depth(queue) == 3 * WINDOW - 3)
    for _ in range(10):
        assert program.get(hobj, WAIT, 60_000)[1] == 0
    eventually(lambda: 3 * WINDOW - 11 - WINDOW <= site.depth(queue) <= 3 * WINDOW - 11 - WINDOW // 2)


def test_long_messages_do_not_fill_the_memory(site: RemoteSite, program: RawProgram, queue: str) -> None:
    name = site.queue(f"{queue}.LONG")
    sender = program.open(name, mqc.MQOO_OUTPUT)
    for _ in range(12):
        assert program.put(sender, bytes(WINDOW_BYTES // 4)) == 0
    hobj, empty = program.open(name, AHEAD), program.open(queue)
    ahead = []

    def is_all_here(left: int) -> bool:
        # By the answer the queue manager knows what it may send. And a verb reads what has come before its answer: of
        # a message that fills the socket the rest comes only then.
        assert program.get(empty) == NO_MESSAGE
        return _has_sent_all(site, name) and _count(program, hobj) == left - site.depth(name)

    for left in reversed(range(12)):
        assert program.get(hobj, WAIT, 60_000)[1] == 0
        eventually(partial(is_all_here, left))
        ahead.append(_count(program, hobj))
    assert 1 < max(ahead) <= 4


def test_the_definition_of_the_queue_asks_for_it(site: RemoteSite, program: RawProgram, queue: str) -> None:
    name = site.queue(f"{queue}.DEF", DEFREADA="YES")
    filled(program, name, 2)
    hobj = program.open(name, mqc.MQOO_INPUT_SHARED)
    assert program.get(hobj, WAIT, 60_000) == (b"0", 0)
    eventually(lambda: site.depth(name) == 0)  # the second one was sent ahead
    plain = program.open(name, mqc.MQOO_INPUT_SHARED | mqc.MQOO_NO_READ_AHEAD)
    assert program.get(plain) == NO_MESSAGE


def test_a_wait_is_answered_by_what_comes(site: RemoteSite, program: RawProgram, queue: str) -> None:
    hobj = program.open(queue, AHEAD)
    answers: list[tuple[bytes, int]] = []
    wait = threading.Thread(target=lambda: answers.append(program.get(hobj, WAIT, -1)))
    wait.start()
    site.until_waiting(queue)
    other = site.connect("local")
    assert other.put(other.open(queue), b"just in time") == 0
    wait.join()
    assert answers == [(b"just in time", 0)]
    assert program.get(hobj, WAIT, 50) == NO_MESSAGE
    other.leave()


def test_what_is_looked_for_cannot_change(program: RawProgram, queue: str) -> None:
    filled(program, queue, 3)
    hobj = program.open(queue, AHEAD)
    assert program.get(hobj, WAIT, 60_000) == (b"0", 0)
    assert program.get(hobj, CorrelId=b"c" * 24) == (b"", mqc.MQRC_OPTIONS_CHANGED)
    assert program.get(hobj, mqc.MQGMO_SYNCPOINT) == (b"", mqc.MQRC_OPTIONS_CHANGED)
    assert program.get(hobj, WAIT, 60_000) == (b"1", 0)


def test_other_gets_are_not_served_ahead(site: RemoteSite, program: RawProgram, queue: str) -> None:
    filled(program, queue, 3)
    hobj = program.open(queue, AHEAD)
    assert program.get(hobj, mqc.MQGMO_SYNCPOINT) == (b"0", 0)
    assert site.depth(queue) == 2
    assert mqi.MQCMIT(program.hconn) == OK
    assert program.get(hobj) == (b"1", 0)
    assert site.depth(queue) == 1


def test_persistent_messages_are_not_put_at_risk(site: RemoteSite, program: RawProgram, queue: str) -> None:
    filled(program, queue, 2 * WINDOW, persistence=1)
    hobj = program.open(queue, AHEAD)
    assert program.get(hobj, WAIT, 60_000) == (b"0", 0)
    assert site.depth(queue) == 2 * WINDOW - 1
    bodies = [program.get(hobj)[0] for _ in range(2 * WINDOW - 1)]
    assert bodies == [b"%d" % number for number in range(1, 2 * WINDOW)]
    assert program.get(hobj) == NO_MESSAGE
    persistent = site.queue(f"{queue}.DEFPSIST", DEFPSIST="YES")
    filled(program, persistent, 2, persistence=1)
    assert program.get(program.open(persistent, AHEAD)) == (b"0", 0)
    assert site.depth(persistent) == 1


def test_a_buffer_that_is_too_small(program: RawProgram, queue: str) -> None:
    sender = program.open(queue, mqc.MQOO_OUTPUT)
    for body in (b"0123456789", b"abcdefghij"):
        assert program.put(sender, body) == 0
    hobj = program.open(queue, AHEAD)
    assert program.get(hobj, WAIT, 60_000, size=4) == (b"0123", mqc.MQRC_TRUNCATED_MSG_FAILED)
    assert program.get(hobj, WAIT, 60_000, size=10) == (b"0123456789", 0)
    accept = WAIT | mqc.MQGMO_ACCEPT_TRUNCATED_MSG
    assert program.get(hobj, accept, 60_000, size=4) == (b"abcd", mqc.MQRC_TRUNCATED_MSG_ACCEPTED)
    assert program.get(hobj) == NO_MESSAGE


def test_closing_in_two_ways(program: RawProgram, queue: str) -> None:
    filled(program, queue, 3)
    hobj = program.open(queue, AHEAD)
    assert program.get(hobj, WAIT, 60_000) == (b"0", 0)
    ahead = program.remote.handles[hobj].read_ahead
    assert ahead is not None
    eventually(lambda: _count(program, hobj) == 2)
    assert mqi.MQCLOSE(program.hconn, hobj, mqc.MQCO_QUIESCE) == (hobj, mqc.MQCC_WARNING, mqc.MQRC_READ_AHEAD_MSGS)
    assert program.get(hobj) == (b"1", 0)
    assert mqi.MQCLOSE(program.hconn, hobj, mqc.MQCO_IMMEDIATE)[1:] == OK
    assert program.get(hobj) == (b"", mqc.MQRC_HOBJ_ERROR)
    assert program.get(program.open(queue)) == NO_MESSAGE, "what was sent ahead is gone"


def _has_sent_all(site: RemoteSite, queue: str) -> bool:
    """Whether nothing more can be sent ahead from a queue."""
    if not site.depth(queue):
        return True
    conversations = [each for link in list(site.server.reactor.links.values()) for each in link.conversations.values()]
    waiting = [each for conversation in conversations for each in conversation.waiting.values()]
    return not any(isinstance(each, MessageStream) and each.credit > 0 for each in waiting)


def _count(program: RawProgram, hobj: int) -> int:
    program.remote.conversation.link.read_available()
    ahead = program.remote.handles[hobj].read_ahead
    return 0 if ahead is None else ahead.count()


def test_an_inhibited_queue_ends_the_stream_and_a_later_get_begins_another(
    site: RemoteSite, program: RawProgram, queue: str
) -> None:
    name = site.queue(f"{queue}.INHIBITED", GET="DISABLED")
    hobj = program.open(name, AHEAD | mqc.MQOO_SET)
    assert program.get(hobj, WAIT, 60_000) == (b"", mqc.MQRC_GET_INHIBITED)
    assert mqi.MQSET(program.hconn, hobj, [mqc.MQIA_INHIBIT_GET], [mqc.MQQA_GET_ALLOWED], b"") == OK
    filled(program, name, 1)
    assert program.get(hobj, WAIT, 60_000) == (b"0", 0)


def test_a_program_that_writes_much_while_much_is_sent_to_it(site: RemoteSite, program: RawProgram, queue: str) -> None:
    """Neither side may wait for the other to read."""
    sender = program.open(queue, mqc.MQOO_OUTPUT)
    for _ in range(WINDOW):
        assert program.put(sender, b"x" * 500_000) == 0
    hobj = program.open(queue, AHEAD)
    assert program.get(hobj, WAIT, 60_000)[1] == 0
    target = program.open(site.queue(f"{queue}.TARGET"))
    for _ in range(8):
        assert program.put(target, b"y" * 2_000_000, ASYNC) == 0
    assert program.get(target, WAIT, 60_000)[1] == 0
    assert program.get(hobj, WAIT, 60_000)[1] == 0


def test_a_lost_link(site: RemoteSite, queue: str) -> None:
    program = site.connect(sharing_conversations=1)
    hobj = program.open(queue, AHEAD)
    assert program.get(hobj, WAIT, 10) == NO_MESSAGE
    program.break_link()
    assert program.get(hobj, WAIT, 60_000) == (b"", mqc.MQRC_CONNECTION_BROKEN)
    assert mqi.MQCLOSE(program.hconn, hobj, 0)[1:] == (FAILED, mqc.MQRC_CONNECTION_BROKEN)


def test_it_goes_on_after_a_reconnection(site: RemoteSite, queue: str) -> None:
    program = site.connect(sharing_conversations=1, reconnect="yes")
    hobj = program.open(queue, AHEAD | BOTH)
    assert program.get(hobj, WAIT, 10) == NO_MESSAGE
    program.break_link()
    assert program.put(hobj, b"after it") == 0
    assert program.get(hobj, WAIT, 60_000) == (b"after it", 0)
    assert program.leave() == OK
