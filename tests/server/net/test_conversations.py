"""Conversations on a link, frame by frame: pipelines, waiting gets, messages on approval, streams, channels."""

from __future__ import annotations

import pytest
from librt.strings import read_i32_le
from tests.world.wire_bench import Answer, Peer, WireBench, get, numbers, put

import ostler
from ostler.model.constants import (
    MQCC_FAILED,
    MQCC_OK,
    MQCC_WARNING,
    MQGMO_BROWSE_FIRST,
    MQGMO_BROWSE_NEXT,
    MQGMO_NO_SYNCPOINT,
    MQGMO_SYNCPOINT,
    MQGMO_WAIT,
    MQPMO_SYNCPOINT,
    MQRC_BACKED_OUT,
    MQRC_CHANNEL_NOT_AVAILABLE,
    MQRC_CONNECTION_QUIESCING,
    MQRC_CONNECTION_STOPPING,
    MQRC_GET_INHIBITED,
    MQRC_HOBJ_ERROR,
    MQRC_MD_ERROR,
    MQRC_MSG_TOO_BIG_FOR_CHANNEL,
    MQRC_NO_MSG_AVAILABLE,
    MQRC_NOT_AUTHORIZED,
    MQRC_OPTIONS_ERROR,
    MQRC_Q_FULL,
    MQRC_Q_MGR_NAME_ERROR,
    MQRC_RESOURCE_PROBLEM,
    MQRC_SELECTOR_SYNTAX_ERROR,
    MQRC_STORAGE_NOT_AVAILABLE,
    MQRC_SYNCPOINT_LIMIT_REACHED,
    MQRC_TRUNCATED_MSG_FAILED,
    MQRC_UOW_IN_PROGRESS,
)
from ostler.server.net.conversation import WaitingGet
from ostler.server.net.link_limits import PENDING_MAX
from ostler.wire import frames as wire
from ostler.wire import segments
from ostler.wire.connect_frames import decode_connect_reply, decode_hello
from ostler.wire.object_frames import decode_status_reply
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.put_get_frames import HELD, HELD_IF_PERSISTENT, get_any_payload
from ostler.wire.replies import decode_reason, decode_reply

WAIT = MQGMO_WAIT | MQGMO_NO_SYNCPOINT


def depth(bench: WireBench, queue: str = "Q") -> int:
    return int(bench.manager.engine.queues[queue].depth)


def reasons(answers: list[Answer]) -> list[tuple[int, int]]:
    return [(answer.request, answer.reason) for answer in answers]


# -- pipelines ---------------------------------------------------------------------------------------------------------


def test_requests_in_a_row_are_executed_in_order(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    row = [wire.frame(wire.PUT, 1, 10 + number, put(2, b"%d" % number)) for number in range(5)]
    row += [wire.frame(wire.GET, 1, 20 + number, get(2)) for number in range(6)]
    peer.send(*row)
    answers = peer.answers()
    assert [answer.request for answer in answers] == [10, 11, 12, 13, 14, 20, 21, 22, 23, 24, 25]
    assert [answer.body for answer in answers[5:10]] == [b"0", b"1", b"2", b"3", b"4"]
    assert (answers[10].completion, answers[10].reason) == (MQCC_FAILED, MQRC_NO_MSG_AVAILABLE)


def test_a_waiting_get_holds_nobody_up(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    peer.send(wire.frame(wire.GET, 1, 10, get(2, WAIT, 60_000)))
    peer.send(wire.frame(wire.GET, 1, 11, get(2, WAIT, -1, selector=b"colour = 'red'")))
    peer.send(wire.frame(wire.GET, 1, 12, get(2)))
    assert reasons(peer.answers()) == [(12, MQRC_NO_MSG_AVAILABLE)]
    peer.send(wire.frame(wire.PUT, 1, 13, put(2, b"for the first")))
    answers = peer.answers()
    assert {answer.request for answer in answers} == {10, 13}
    assert next(answer.body for answer in answers if answer.request == 10) == b"for the first"
    wire_bench.later(61_000)
    assert peer.answers() == []
    peer.close()
    wire_bench.check_nothing_left()


def test_a_wait_ends_when_its_time_is_up(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    peer.send(wire.frame(wire.GET, 1, 10, get(2, WAIT, 60_000)))
    wire_bench.later(40_000)
    assert peer.answers() == []
    wire_bench.later(20_100)
    assert reasons(peer.answers()) == [(10, MQRC_NO_MSG_AVAILABLE)]
    assert wire_bench.reactor.wheel.count() == 0


def test_a_wait_is_answered_by_another_application(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    other = wire_bench.peer("Q")
    peer.send(wire.frame(wire.GET, 1, 10, get(2, WAIT, -1)))
    wire_bench.turn()
    other.ask(wire.PUT, put(2, b"from the other one"))
    assert peer.answer(10).body == b"from the other one"


def test_cancel_answers_once(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    peer.send(wire.frame(wire.GET, 1, 10, get(2, WAIT, -1)), wire.frame(wire.CANCEL, 1, 0, numbers(10)))
    assert reasons(peer.answers()) == [(10, MQRC_NO_MSG_AVAILABLE)]
    peer.send(wire.frame(wire.CANCEL, 1, 0, numbers(10)), wire.frame(wire.CANCEL, 1, 0, numbers(99)))
    assert peer.answers() == []
    # The number is free again, and what was cancelled takes nothing.
    assert peer.ask(wire.PUT, put(2, b"kept"), 10).completion == MQCC_OK
    assert depth(wire_bench) == 1


def test_a_number_that_waits_is_not_used_twice(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    peer.send(wire.frame(wire.GET, 1, 10, get(2, WAIT, -1)) * 2)
    (answer,) = peer.answers()
    assert answer.type == wire.FAREWELL
    assert "10 cannot wait" in decode_reason(PayloadReader(answer.payload))[1]
    wire_bench.check_nothing_left()


def test_so_many_requests_of_a_link_may_wait(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    (link,) = wire_bench.reactor.links.values()
    peer.send(wire.frame(wire.GET, 1, 10, get(2, WAIT, -1)))
    wire_bench.turn()
    link.pending = PENDING_MAX
    assert peer.ask(wire.GET, get(2, WAIT, -1), 11).reason == MQRC_RESOURCE_PROBLEM
    assert peer.ask(wire.GET_ANY, get_any_payload(-1, [get(2, WAIT, -1)]), 12).reason == MQRC_RESOURCE_PROBLEM
    refused = peer.ask(wire.STREAM, numbers(5) + get(2, MQGMO_NO_SYNCPOINT), 13)
    assert (refused.type, refused.completion, refused.reason) == (wire.MESSAGE, MQCC_FAILED, MQRC_RESOURCE_PROBLEM)
    link.pending = 1
    assert peer.ask(wire.PUT, put(2, b"for the one that waits"), 14).completion == MQCC_OK
    assert peer.answer(10).body == b"for the one that waits"
    assert link.pending == 0
    peer.close()
    wire_bench.check_nothing_left()


def test_closing_a_queue_ends_the_waits_on_it(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    look = get_any_payload(-1, [get(2, WAIT, -1)])
    peer.send(wire.frame(wire.GET, 1, 10, get(2, WAIT, -1)))
    peer.send(wire.frame(wire.STREAM, 1, 11, numbers(5) + get(2, MQGMO_NO_SYNCPOINT)))
    peer.send(wire.frame(wire.GET_ANY, 1, 12, look))
    peer.send(wire.frame(wire.CLOSE, 1, 13, numbers(2, 0)))
    found = dict(reasons(peer.answers()))
    assert found == {
        10: MQRC_CONNECTION_STOPPING,
        11: MQRC_CONNECTION_STOPPING,
        12: MQRC_HOBJ_ERROR,
        13: 0,
    }
    peer.close()
    wire_bench.check_nothing_left()


def test_nonsense_is_refused_and_the_link_goes_on(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    wrong = put(2, b"")
    assert peer.ask(wire.PUT, put(99, b"")).reason == MQRC_HOBJ_ERROR
    assert peer.ask(wire.GET, get(99)).reason == MQRC_HOBJ_ERROR
    assert peer.ask(wire.PUT, wrong[:16] + b"XX  " + wrong[20:]).reason == MQRC_MD_ERROR
    assert peer.ask(wire.PUT, wrong[:21] + b"\x01" + wrong[22:]).reason == MQRC_MD_ERROR
    assert peer.ask(wire.GET, get(2, selector=b"((")).reason == MQRC_SELECTOR_SYNTAX_ERROR
    assert peer.ask(wire.GET, get(2, selector=b"(" * 10_000)).reason == MQRC_SELECTOR_SYNTAX_ERROR
    assert peer.ask(wire.GET, get(2, 1 << 30)).reason == MQRC_OPTIONS_ERROR
    assert peer.ask(wire.BEGIN).completion == MQCC_WARNING
    assert peer.ask(wire.BEGIN).reason == MQRC_UOW_IN_PROGRESS
    assert peer.ask(wire.COMMAND, b"[" * 100_000).completion == MQCC_FAILED
    assert peer.ask(wire.COMMAND, b"{").completion == MQCC_FAILED
    assert peer.ask(wire.COMMAND, b"[]").completion == MQCC_FAILED


# -- units of work -----------------------------------------------------------------------------------------------------


def test_units_of_work_of_two_conversations(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    assert peer.connect(2).completion == MQCC_OK
    peer.open("Q", conversation=2)
    peer.ask(wire.PUT, put(2, b"one", MQPMO_SYNCPOINT))
    peer.ask(wire.PUT, put(2, b"two", MQPMO_SYNCPOINT), conversation=2)
    assert peer.ask(wire.GET, get(2)).reason == MQRC_NO_MSG_AVAILABLE
    assert peer.ask(wire.COMMIT, conversation=2).completion == MQCC_OK
    assert peer.ask(wire.GET, get(2)).body == b"two"
    assert peer.ask(wire.BACK).completion == MQCC_OK
    assert depth(wire_bench) == 0


@pytest.mark.parametrize(("commits", "left"), [(1, 1), (0, 0)])
def test_disconnecting_commits_or_backs_out(wire_bench: WireBench, commits: int, left: int) -> None:
    peer = wire_bench.peer("Q")
    peer.ask(wire.PUT, put(2, b"in a unit", MQPMO_SYNCPOINT, persistent=True))
    assert peer.ask(wire.DISCONNECT, numbers(commits)).completion == MQCC_OK
    assert depth(wire_bench) == left


def test_a_link_that_breaks_backs_all_out_and_others_are_served(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    other = wire_bench.peer("Q")
    peer.ask(wire.PUT, put(2, b"taken, and given back"))
    peer.ask(wire.PUT, put(2, b"never there", MQPMO_SYNCPOINT))
    assert peer.ask(wire.GET, get(2, MQGMO_SYNCPOINT)).completion == MQCC_OK
    other.send(wire.frame(wire.GET, 1, 10, get(2, WAIT, -1)))
    assert other.answers() == []
    peer.close()
    assert other.answer(10).body == b"taken, and given back"
    assert depth(wire_bench) == 0


# -- messages on approval ----------------------------------------------------------------------------------------------


def test_a_held_message_is_kept_or_given_back(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    other = wire_bench.peer("Q")
    peer.ask(wire.PUT, put(2, b"on approval"))
    assert peer.ask(wire.GET, get(2, flags=HELD), 10).body == b"on approval"
    assert other.ask(wire.GET, get(2)).reason == MQRC_NO_MSG_AVAILABLE
    peer.send(wire.frame(wire.SETTLE, 1, 0, numbers(10, 0)))
    assert peer.ask(wire.GET, get(2, flags=HELD), 10).body == b"on approval"
    assert peer.ask(wire.SETTLE, numbers(10, 1), 11).completion == MQCC_OK
    assert depth(wire_bench) == 0
    assert wire_bench.manager.engine.units_of_work == {}
    assert peer.ask(wire.SETTLE, numbers(10, 1), 11).completion == MQCC_OK


def test_only_a_persistent_message_is_held_where_that_is_asked_for(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    engine = wire_bench.manager.engine
    for _ in range(2):
        peer.ask(wire.PUT, put(2, b"light"))
        peer.ask(wire.PUT, put(2, b"heavy", persistent=True))
        assert peer.ask(wire.GET, get(2, flags=HELD_IF_PERSISTENT), 10).body == b"light"
        assert engine.units_of_work == {}
        assert peer.ask(wire.GET, get(2, flags=HELD_IF_PERSISTENT), 10).body == b"heavy"
        assert len(engine.units_of_work) == 1
        peer.send(wire.frame(wire.SETTLE, 1, 0, numbers(10, 0)))
        assert peer.ask(wire.GET, get(2, flags=HELD_IF_PERSISTENT), 10).body == b"heavy"
        assert peer.ask(wire.SETTLE, numbers(10, 1), 11).completion == MQCC_OK
        assert depth(wire_bench) == 0
    assert engine.units_of_work == {}
    assert peer.ask(wire.GET, get(2, flags=HELD_IF_PERSISTENT), 10).reason == MQRC_NO_MSG_AVAILABLE
    peer.send(wire.frame(wire.GET, 1, 12, get(2, WAIT, -1, flags=HELD_IF_PERSISTENT)))
    peer.ask(wire.PUT, put(2, b"light"))
    peer.ask(wire.PUT, put(2, b"heavy", persistent=True))
    peer.ask(wire.GET, get(2, flags=HELD_IF_PERSISTENT), 10)
    peer.close()
    wire_bench.check_nothing_left()
    assert depth(wire_bench) == 1


def test_a_held_message_comes_back_when_the_link_breaks(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    peer.ask(wire.PUT, put(2, b"on approval", persistent=True))
    peer.ask(wire.GET, get(2, flags=HELD), 10)
    waiting = wire.frame(wire.GET, 1, 11, get(2, WAIT, -1, flags=HELD))
    peer.send(waiting)
    wire_bench.turn()
    peer.close()
    wire_bench.check_nothing_left()
    assert depth(wire_bench) == 1


def test_a_held_message_that_is_not_persistent_does_not_come_twice_when_the_link_breaks(wire_bench: WireBench) -> None:
    """Its program may have it: the client does not wait for SETTLE."""
    peer = wire_bench.peer("Q")
    peer.ask(wire.PUT, put(2, b"sent"))
    assert peer.ask(wire.GET, get(2, flags=HELD), 10).body == b"sent"
    peer.close()
    wire_bench.check_nothing_left()
    assert depth(wire_bench) == 0


def test_a_held_message_that_was_not_sent_comes_back_when_the_link_breaks(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    peer.send(wire.frame(wire.GET, 1, 10, get(2, WAIT, -1, flags=HELD)))
    wire_bench.turn()
    (link,) = wire_bench.reactor.links.values()
    waiting = link.conversations[1].waiting[10]
    assert isinstance(waiting, WaitingGet)
    other = wire_bench.peer("Q")
    waiting.request.waker = None  # the get is answered, and its reply not made yet
    other.ask(wire.PUT, put(2, b"not sent"))
    assert waiting.request.done
    peer.close()
    wire_bench.turn()
    assert other.ask(wire.GET, get(2)).body == b"not sent"


def test_a_held_message_that_was_too_long_leaves_nothing_to_settle(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    peer.ask(wire.PUT, put(2, bytes(100)))
    answer = peer.ask(wire.GET, get(2, flags=HELD, length=10), 10)
    assert (answer.reason, answer.body) == (MQRC_TRUNCATED_MSG_FAILED, bytes(10))
    assert peer.ask(wire.GET, get(2, flags=HELD), 10).completion == MQCC_OK
    peer.ask(wire.SETTLE, numbers(10, 1), 11)
    assert depth(wire_bench) == 0


def test_a_held_wait_that_finds_nothing(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    assert peer.ask(wire.GET, get(2, flags=HELD), 10).reason == MQRC_NO_MSG_AVAILABLE
    peer.send(wire.frame(wire.GET, 1, 10, get(2, WAIT, 1_000, flags=HELD)))
    wire_bench.later(1_100)
    assert reasons(peer.answers()) == [(10, MQRC_NO_MSG_AVAILABLE)]
    assert peer.ask(wire.GET, get(99, flags=HELD), 10).reason == MQRC_HOBJ_ERROR
    peer.close()
    wire_bench.check_nothing_left()


def test_what_a_get_takes_that_was_settled_while_it_waited_comes_back(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    other = wire_bench.peer("Q")
    peer.send(wire.frame(wire.GET, 1, 10, get(2, WAIT, -1, flags=HELD)))
    assert peer.ask(wire.SETTLE, numbers(10, 1), 11).completion == MQCC_OK
    other.ask(wire.PUT, put(2, b"on approval", persistent=True))
    assert peer.answer(10).body == b"on approval"
    peer.close()
    other.close()
    wire_bench.check_nothing_left()
    assert depth(wire_bench) == 1
    assert wire_bench.manager.engine.units_of_work == {}


def test_a_held_message_that_cannot_be_sent_for_want_of_memory_comes_back(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    peer.ask(wire.PUT, put(2, b"on approval"))
    peer.ask(wire.GET, get(2, flags=HELD), 10)
    (link,) = wire_bench.reactor.links.values()
    with wire_bench.manager.lock:
        link.conversations[1].reply_out_of_memory(wire.GET, 10)
    assert reasons(peer.answers()) == [(10, MQRC_STORAGE_NOT_AVAILABLE)]
    assert depth(wire_bench) == 1
    assert wire_bench.manager.engine.units_of_work == {}


def test_so_many_messages_can_be_held(wire_bench: WireBench) -> None:
    wire_bench.manager.engine.uncommitted_max = 3
    peer = wire_bench.peer("Q")
    for number in range(4):
        peer.ask(wire.PUT, put(2, b"x"))
        reason = peer.ask(wire.GET, get(2, flags=HELD), 100 + number).reason
        assert reason == (0 if number < 3 else MQRC_SYNCPOINT_LIMIT_REACHED)
    assert depth(wire_bench) == 1


# -- GET_ANY -----------------------------------------------------------------------------------------------------------


def test_look_answers_the_first_that_has_a_message(wire_bench: WireBench) -> None:
    wire_bench.define("Q2")
    peer = wire_bench.peer("Q", "Q2")
    other = wire_bench.peer("Q2")
    peer.send(wire.frame(wire.GET_ANY, 1, 10, get_any_payload(60_000, [get(2, WAIT, -1), get(3, WAIT, -1)])))
    assert peer.answers() == []
    other.ask(wire.PUT, put(2, b"for the second"))
    answer = peer.answer(10)
    assert (answer.completion, read_i32_le(answer.payload, 8)) == (MQCC_OK, 1)
    assert answer.payload.endswith(b"for the second")
    assert depth(wire_bench, "Q2") == 0
    # There is a message at once, and only one is taken.
    peer.ask(wire.PUT, put(2, b"a"))
    peer.ask(wire.PUT, put(3, b"b"))
    answer = peer.ask(wire.GET_ANY, get_any_payload(0, [get(2), get(3)]))
    assert read_i32_le(answer.payload, 8) == 0
    assert (depth(wire_bench), depth(wire_bench, "Q2")) == (0, 1)


def test_look_gives_up_in_time_and_when_told(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    look = get_any_payload(5_000, [get(2, WAIT, -1)])
    assert peer.ask(wire.GET_ANY, get_any_payload(0, [get(2)]), 9).reason == MQRC_NO_MSG_AVAILABLE
    peer.send(wire.frame(wire.GET_ANY, 1, 10, look))
    wire_bench.later(5_100)
    assert reasons(peer.answers()) == [(10, MQRC_NO_MSG_AVAILABLE)]
    peer.send(wire.frame(wire.GET_ANY, 1, 10, look), wire.frame(wire.CANCEL, 1, 0, numbers(10)))
    assert reasons(peer.answers()) == [(10, MQRC_NO_MSG_AVAILABLE)]
    peer.close()
    wire_bench.check_nothing_left()


def test_look_takes_nothing_for_a_conversation_that_is_over(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    peer.send(wire.frame(wire.GET_ANY, 1, 10, get_any_payload(-1, [get(2, WAIT, -1)])))
    wire_bench.turn()
    # A message comes for it from within the process, and before it is told so, its conversation ends.
    peer.sock.send(wire.frame(wire.DISCONNECT, 1, 11, numbers(1)))
    with ostler.connect(wire_bench.manager) as program:
        program.put("Q", b"nobody takes it")
    assert reasons(peer.answers()) == [(11, 0)]
    assert depth(wire_bench) == 1


def test_look_says_whose_failure_it_is(wire_bench: WireBench) -> None:
    wire_bench.define("SHUT", GET=1)
    peer = wire_bench.peer("Q", "SHUT")
    answer = peer.ask(wire.GET_ANY, get_any_payload(-1, [get(2, WAIT, -1), get(3, WAIT, -1)]))
    assert (answer.reason, read_i32_le(answer.payload, 8)) == (MQRC_GET_INHIBITED, 1)


# -- STREAM ------------------------------------------------------------------------------------------------------------


def stream(peer: Peer, credit: int, options: int = MQGMO_NO_SYNCPOINT, number: int = 50) -> None:
    peer.send(wire.frame(wire.STREAM, 1, number, numbers(credit) + get(2, options)))


def bodies(answers: list[Answer]) -> list[bytes]:
    return [answer.body for answer in answers if answer.type == wire.MESSAGE]


def test_a_stream_sends_what_it_has_credit_for(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    for number in range(5):
        peer.ask(wire.PUT, put(2, b"%d" % number))
    stream(peer, 2)
    assert bodies(peer.answers()) == [b"0", b"1"]
    peer.send(wire.frame(wire.CREDIT, 1, 0, numbers(50, 2)))
    assert bodies(peer.answers()) == [b"2", b"3"]
    peer.send(wire.frame(wire.CREDIT, 1, 0, numbers(50, 10)))
    assert bodies(peer.answers()) == [b"4"]
    peer.send(wire.frame(wire.PUT, 1, 9, put(2, b"5")))
    assert bodies(peer.answers()) == [b"5"]
    assert peer.ask(wire.UNSTREAM, numbers(50), 51).completion == MQCC_OK
    peer.ask(wire.PUT, put(2, b"stays"))
    assert depth(wire_bench) == 1


def test_a_stream_of_more_messages_than_fit_a_pass(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    for number in range(300):
        peer.ask(wire.PUT, put(2, b"%d" % number))
    stream(peer, 1000)
    assert bodies(peer.answers(12)) == [b"%d" % number for number in range(300)]


def test_a_stream_may_browse(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    for number in range(3):
        peer.ask(wire.PUT, put(2, b"%d" % number))
    stream(peer, 10, MQGMO_BROWSE_FIRST | MQGMO_NO_SYNCPOINT)
    assert bodies(peer.answers()) == [b"0", b"1", b"2"]
    stream(peer, 10, MQGMO_BROWSE_NEXT | MQGMO_NO_SYNCPOINT, 60)
    assert depth(wire_bench) == 3


def test_a_stream_keeps_its_order_when_long_messages_are_among_the_short_ones(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    given = [b"a", b"b" * 200_000, b"c", b"d" * 200_000, b"e" * 150_000, b"f"]
    wire_bench.manager.engine.queues["Q"].buffer_bytes_nonpersistent = 1 << 30  # they need not be read
    for body in given:
        peer.send(*segments.frames_of(wire.PUT, 1, 9, put(2, body), wire.SEGMENT_BYTES))
        assert peer.answer(9).completion == MQCC_OK
    stream(peer, 100)
    peer.send(wire.frame(wire.UNSTREAM, 1, 51, numbers(50)))
    seen: list[Answer] = []
    for _ in range(200):
        seen += peer.answers(1)
        if any(answer.request == 51 for answer in seen):
            break
    # Nothing comes behind the answer to UNSTREAM; what was not sent stays on the queue.
    assert seen[-1].request == 51
    got = bodies(seen)
    assert got == given[: len(got)]
    assert depth(wire_bench) == len(given) - len(got)
    assert len(got) >= 2


def test_a_stream_keeps_its_order_when_some_messages_wait_for_the_log(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    given = [b"p0", b"n1", b"p2", b"n3", b"n4", b"p5"]
    for body in given:
        peer.ask(wire.PUT, put(2, body, persistent=body.startswith(b"p")))
    stream(peer, 100)
    # A persistent message uses up the credit: nothing is sent ahead behind one.
    assert bodies(peer.answers()) == [b"p0"]
    peer.send(wire.frame(wire.CREDIT, 1, 0, numbers(50, 100)))
    assert bodies(peer.answers()) == [b"n1", b"p2"]
    peer.send(wire.frame(wire.CREDIT, 1, 0, numbers(50, 100)))
    assert bodies(peer.answers()) == [b"n3", b"n4", b"p5"]


def test_a_stream_ends_with_what_failed(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    stream(peer, 1, MQGMO_SYNCPOINT)
    (answer,) = peer.answers()
    assert (answer.type, answer.completion, answer.reason) == (wire.MESSAGE, MQCC_FAILED, MQRC_OPTIONS_ERROR)
    peer.ask(wire.PUT, put(2, bytes(100)))
    peer.send(wire.frame(wire.STREAM, 1, 50, numbers(9) + get(2, MQGMO_NO_SYNCPOINT, length=10)))
    (answer,) = peer.answers()
    assert (answer.completion, answer.reason) == (MQCC_FAILED, MQRC_TRUNCATED_MSG_FAILED)
    assert depth(wire_bench) == 1
    peer.close()
    wire_bench.check_nothing_left()


def test_credit_without_end_is_refused(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    stream(peer, 1 << 20)
    peer.send(wire.frame(wire.CREDIT, 1, 0, numbers(50, 1)))
    assert peer.answers()[-1].type == wire.FAREWELL
    wire_bench.check_nothing_left()


def test_credit_and_the_end_of_streams_that_are_not_there(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    peer.send(wire.frame(wire.CREDIT, 1, 0, numbers(50, 1)))
    assert peer.ask(wire.UNSTREAM, numbers(50), 51).completion == MQCC_OK


# -- puts without a reply ----------------------------------------------------------------------------------------------


def test_puts_that_nobody_waits_for_are_counted(wire_bench: WireBench) -> None:
    wire_bench.define("SMALL", MAXDEPTH=2)
    peer = wire_bench.peer("SMALL")
    for _ in range(3):
        peer.send(wire.frame(wire.PUT, 1, 0, put(2, b"x", persistent=True)))
    peer.send(wire.frame(wire.PUT, 1, 0, put(77, b"x")))
    assert peer.answers() == []
    status = decode_status_reply(decode_reply(peer.ask(wire.STATUS, numbers(0)).payload).reader)
    assert (status.succeeded, status.warned, status.failed) == (2, 0, 2)
    assert (status.completion, status.reason) == (MQCC_FAILED, MQRC_Q_FULL)
    assert status.object_name == "SMALL"
    again = decode_status_reply(decode_reply(peer.ask(wire.STATUS, numbers(0)).payload).reader)
    assert (again.succeeded, again.failed, again.reason) == (0, 0, 0)


# -- channels ----------------------------------------------------------------------------------------------------------


def on_channel(bench: WireBench, name: str, host: str = "127.0.0.1", conversations: int = 10) -> tuple[Peer, Answer]:
    peer, _ = bench.link(is_local=False, address=f"{host}(9)")
    return peer, peer.hello(name, conversations=conversations)


def test_maxinst_and_maxinstc(wire_bench: WireBench) -> None:
    wire_bench.define_channel("FEW", MAXINST=3, MAXINSTC=2)
    first, answer = on_channel(wire_bench, "FEW")
    assert answer.completion == MQCC_OK
    second, answer = on_channel(wire_bench, "FEW")
    assert answer.completion == MQCC_OK
    refused = on_channel(wire_bench, "FEW")[1]
    assert refused.reason == MQRC_CHANNEL_NOT_AVAILABLE
    assert "MAXINSTC of 2" in refused.text
    third, answer = on_channel(wire_bench, "FEW", "127.0.0.2")
    assert answer.completion == MQCC_OK
    refused = on_channel(wire_bench, "FEW", "127.0.0.3")[1]
    assert "MAXINST of 3" in refused.text
    first.close()
    assert on_channel(wire_bench, "FEW", "127.0.0.3")[1].completion == MQCC_OK
    assert [second.closed, third.closed] == [False, False]


def test_maxmsgl_both_ways(wire_bench: WireBench) -> None:
    wire_bench.define_channel("SHORT", MAXMSGL=1000)
    peer, answer = on_channel(wire_bench, "SHORT")
    assert decode_hello(answer.payload[8:]).message_bytes_max == 1000
    told = decode_connect_reply(decode_reply(peer.connect().payload).reader)
    assert told.message_bytes_max == 1000
    peer.open("Q")
    assert peer.ask(wire.PUT, put(2, bytes(1001))).reason == MQRC_MSG_TOO_BIG_FOR_CHANNEL
    assert peer.ask(wire.PUT, put(2, bytes(1000))).completion == MQCC_OK
    assert len(peer.ask(wire.GET, get(2)).body) == 1000
    local = wire_bench.peer("Q")
    local.ask(wire.PUT, put(2, bytes(1001)))
    assert peer.ask(wire.GET, get(2)).reason == MQRC_MSG_TOO_BIG_FOR_CHANNEL
    assert peer.ask(wire.GET_ANY, get_any_payload(0, [get(2)])).reason == MQRC_MSG_TOO_BIG_FOR_CHANNEL
    stream(peer, 5)
    (answer,) = peer.answers()
    assert (answer.completion, answer.reason) == (MQCC_FAILED, MQRC_MSG_TOO_BIG_FOR_CHANNEL)
    assert depth(wire_bench) == 1
    assert local.ask(wire.GET, get(2)).completion == MQCC_OK


def test_sharecnv(wire_bench: WireBench) -> None:
    wire_bench.define_channel("SHARED", SHARECNV=2)
    peer, answer = on_channel(wire_bench, "SHARED")
    assert decode_hello(answer.payload[8:]).conversations_max == 2
    assert [peer.connect(number).completion for number in (1, 2)] == [MQCC_OK] * 2
    assert peer.ask(wire.DISCONNECT, numbers(0), conversation=1).completion == MQCC_OK
    assert peer.connect(3).completion == MQCC_OK
    peer.send(wire.frame(wire.CONNECT, 4, 1, b""))
    assert peer.answers()[-1].type == wire.FAREWELL


def test_hbint_is_the_longer_of_both(wire_bench: WireBench) -> None:
    wire_bench.define_channel("BEATS", HBINT=60)
    peer, _ = wire_bench.link(is_local=False)
    assert decode_hello(peer.hello("BEATS", heartbeat_seconds=5).payload[8:]).heartbeat_seconds == 60
    peer, _ = wire_bench.link(is_local=False)
    assert decode_hello(peer.hello("BEATS", heartbeat_seconds=300).payload[8:]).heartbeat_seconds == 300


def test_mcauser_counts_more_than_what_the_client_says(wire_bench: WireBench) -> None:
    wire_bench.define_channel("APP", MCAUSER="appuser")
    wire_bench.define_channel("OPEN")
    for channel, user in (("APP", "appuser"), ("OPEN", "alice")):
        peer, _ = on_channel(wire_bench, channel)
        told = decode_connect_reply(decode_reply(peer.connect(user="alice").payload).reader)
        assert told.user == user


def test_another_queue_manager_was_meant(wire_bench: WireBench) -> None:
    peer, _ = wire_bench.link()
    peer.hello()
    answer = peer.connect(queue_manager="OTHER")
    assert answer.reason == MQRC_Q_MGR_NAME_ERROR
    assert "BENCH" in answer.text
    for name in ("BENCH", "*ANY", ""):
        assert peer.connect(queue_manager=name).completion == MQCC_OK
        peer.ask(wire.DISCONNECT, numbers(0))


def test_a_stopped_channel_lets_nobody_in(wire_bench: WireBench) -> None:
    wire_bench.define_channel("STOPS")
    wire_bench.server.stop_channel("STOPS")
    wire_bench.turn()
    assert on_channel(wire_bench, "STOPS")[1].reason == MQRC_CHANNEL_NOT_AVAILABLE
    assert [status.status for status in wire_bench.server.channel_status()] == ["STOPPED"]
    wire_bench.server.start_channel("STOPS")
    assert on_channel(wire_bench, "STOPS")[1].completion == MQCC_OK


def test_stopping_a_channel_quietly_waits_for_the_last_conversation(wire_bench: WireBench) -> None:
    wire_bench.define_channel("STOPS")
    peer, _ = on_channel(wire_bench, "STOPS")
    idle, _ = on_channel(wire_bench, "STOPS")
    peer.connect(1)
    peer.connect(2)
    peer.open("Q")
    wire_bench.server.stop_channel("STOPS", "QUIESCE")
    (notice,) = peer.answers()
    assert notice.type == wire.NOTICE
    assert decode_reason(PayloadReader(notice.payload))[0] == MQRC_CONNECTION_QUIESCING
    assert [answer.type for answer in idle.answers()] == [wire.FAREWELL]
    assert peer.ask(wire.PUT, put(2, b"still works", MQPMO_SYNCPOINT, persistent=True)).completion == MQCC_OK
    assert peer.connect(3).reason == MQRC_CHANNEL_NOT_AVAILABLE
    peer.ask(wire.DISCONNECT, numbers(1), conversation=2)
    peer.send(wire.frame(wire.DISCONNECT, 1, 90, numbers(1)))
    # The commit waits for the log; its answer comes before the farewell.
    assert [answer.type for answer in peer.answers()] == [wire.DISCONNECT | wire.REPLY, wire.FAREWELL]
    assert peer.closed
    assert depth(wire_bench) == 1
    wire_bench.check_nothing_left()


@pytest.mark.parametrize("mode", ["FORCE", "TERMINATE"])
def test_stopping_a_channel_by_force(wire_bench: WireBench, mode: str) -> None:
    wire_bench.define_channel("STOPS")
    wire_bench.define_channel("STAYS")
    peer, _ = on_channel(wire_bench, "STOPS", "127.0.0.2")
    stays, _ = on_channel(wire_bench, "STAYS")
    peer.connect()
    peer.open("Q")
    peer.ask(wire.PUT, put(2, b"backed out", MQPMO_SYNCPOINT))
    peer.send(wire.frame(wire.GET, 1, 10, get(2, WAIT, -1)))
    wire_bench.server.stop_channel("STOPS", mode, "INACTIVE", "127.0.0.9")
    assert peer.answers() == []
    wire_bench.server.stop_channel("STOPS", mode, "INACTIVE", "127.0.0.2")
    assert [answer.type for answer in peer.answers()] == [wire.FAREWELL]
    assert peer.closed
    assert depth(wire_bench) == 0
    assert stays.connect().completion == MQCC_OK
    assert on_channel(wire_bench, "STOPS")[1].completion == MQCC_OK


def test_commands_come_over_the_local_socket_only(wire_bench: WireBench) -> None:
    wire_bench.define_channel("APP")
    peer, _ = on_channel(wire_bench, "APP")
    answer = peer.ask(wire.COMMAND, b'{"action": "mqsc"}', conversation=0)
    assert answer.reason == MQRC_NOT_AUTHORIZED


# -- the log is full ---------------------------------------------------------------------------------------------------


def test_a_unit_backed_out_by_the_queue_manager(wire_bench: WireBench) -> None:
    from ostler.engine.syncpoint import back_out_oldest

    peer = wire_bench.peer("Q")
    peer.ask(wire.PUT, put(2, b"x", persistent=True))
    peer.send(wire.frame(wire.PUT, 1, 8, put(2, b"y", MQPMO_SYNCPOINT, persistent=True)))
    peer.answer(8)
    peer.send(wire.frame(wire.GET, 1, 9, get(2, flags=HELD)))
    peer.answer(9)
    with wire_bench.manager.lock:
        while back_out_oldest(wire_bench.manager.engine) is not None:
            pass
    assert peer.ask(wire.SETTLE, numbers(9, 1), 10).reason == MQRC_BACKED_OUT
    assert peer.ask(wire.COMMIT).reason == MQRC_BACKED_OUT
    assert depth(wire_bench) == 1
    peer.close()
    wire_bench.check_nothing_left()


# -- calls that clients execute on their own ---------------------------------------------------------------------------


def test_a_call_of_the_client_is_counted_without_a_reply(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    peer.send(
        wire.frame(wire.COUNT_CALL, 1, 0, numbers(1, 256, 2, 1)), wire.frame(wire.COUNT_CALL, 1, 0, numbers(2, 0, 0, 0))
    )
    assert peer.answers() == []
    counted = wire_bench.manager.engine.counters.topic_counters()
    assert (counted.cbs_registered, counted.ctls_failed) == (1, 1)


@pytest.mark.parametrize(
    ("request_number", "payload"), [(7, numbers(1, 256, 2, 1)), (0, numbers(3, 1, 0, 1)), (0, numbers(1, 256, 2))]
)
def test_a_wrong_report_of_a_call_ends_the_link(wire_bench: WireBench, request_number: int, payload: bytes) -> None:
    peer = wire_bench.peer("Q")
    peer.send(wire.frame(wire.COUNT_CALL, 1, request_number, payload))
    assert peer.answers()[-1].type == wire.FAREWELL


def test_a_link_of_an_older_version_reports_no_calls(wire_bench: WireBench) -> None:
    peer, link = wire_bench.link()
    peer.hello()
    peer.connect()
    link.version = 2
    peer.send(wire.frame(wire.COUNT_CALL, 1, 0, numbers(1, 256, 2, 1)))
    assert peer.answers()[-1].type == wire.FAREWELL
