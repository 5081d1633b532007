"""Links: silent, slow and greedy peers, heartbeats, limits both ways, and long messages between short ones.

The reactor's clock is turned by hand: timers fire when the test says that it is late.
"""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from tests.world.wire_bench import Peer, WireBench, get, numbers, put

from ostler.model.constants import (
    MQCC_OK,
    MQGMO_BROWSE_FIRST,
    MQGMO_NO_SYNCPOINT,
    MQGMO_WAIT,
    MQRC_CHANNEL_NOT_AVAILABLE,
    MQRC_CONNECTION_ERROR,
    MQRC_HCONN_ERROR,
    MQRC_NO_MSG_AVAILABLE,
    MQRC_UNEXPECTED_ERROR,
    MQRC_UNKNOWN_CHANNEL_NAME,
)
from ostler.server.assembly import Server
from ostler.server.config.qm_ini import LogSection
from ostler.server.net.conversation import ServerConversation
from ostler.server.net.link import CLOSED, OPEN, ServerLink
from ostler.server.net.link_limits import (
    ADMISSION_TIMEOUT_MS,
    FAREWELL_TIMEOUT_MS,
    HEARTBEAT_TIMEOUT_MS,
    HELLO_TIMEOUT_MS,
    LARGE_HIGH_BYTES,
    OUT_HIGH_BYTES,
    OUT_LOW_BYTES,
    UNADMITTED_FRAME_BYTES,
)
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.testing.without_security import disable_security
from ostler.wire import frames as wire
from ostler.wire import segments
from ostler.wire.connect_frames import Hello, decode_hello
from ostler.wire.object_frames import InquireArguments
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.replies import decode_reason

MEGABYTE = 1 << 20


def farewell(peer: Peer) -> tuple[int, str]:
    answers = peer.answers()
    assert answers[-1].type == wire.FAREWELL
    return decode_reason(PayloadReader(answers[-1].payload))


def only_link(bench: WireBench) -> ServerLink:
    (link,) = bench.reactor.links.values()
    return link


# -- time --------------------------------------------------------------------------------------------------------------


def test_a_peer_that_says_nothing_is_let_go(wire_bench: WireBench) -> None:
    peer, link = wire_bench.link()
    wire_bench.later(HELLO_TIMEOUT_MS - 5_000)
    assert link.state != CLOSED
    wire_bench.later(5_100)
    reason, text = farewell(peer)
    assert reason == MQRC_CONNECTION_ERROR
    assert "HELLO" in text
    assert peer.closed
    wire_bench.check_nothing_left()


def test_a_peer_that_says_half_a_hello_is_let_go(wire_bench: WireBench) -> None:
    peer, _ = wire_bench.link()
    peer.send(wire.frame(wire.HELLO, 0, 1, b"OSTL")[:-1])
    assert peer.answers() == []
    wire_bench.later(HELLO_TIMEOUT_MS + 100)
    farewell(peer)
    assert peer.closed
    wire_bench.check_nothing_left()


def test_heartbeats_keep_a_link_and_their_absence_ends_it(wire_bench: WireBench) -> None:
    peer, link = wire_bench.link()
    agreed = decode_hello(peer.hello(heartbeat_seconds=100).payload[8:])
    assert agreed.heartbeat_seconds == 100
    wire_bench.later(80_000)
    assert peer.answers() == []
    wire_bench.later(20_100)
    (beat,) = peer.answers()
    assert (beat.type, beat.conversation) == (wire.HEARTBEAT, 0)
    peer.send(wire.frame(wire.HEARTBEAT | wire.REPLY, 0, beat.request, bytes(8)))
    assert peer.answers() == []
    # It has answered, so nothing is wrong until it is silent again for as long.
    wire_bench.later(80_000)
    assert peer.answers() == []
    wire_bench.later(20_100)
    (beat,) = peer.answers()
    assert beat.type == wire.HEARTBEAT
    wire_bench.later(HEARTBEAT_TIMEOUT_MS - 20_000)
    assert link.state == OPEN
    wire_bench.later(20_100)
    assert peer.answers() == []
    assert peer.closed
    assert "no heartbeat reply" in link.close_reason
    wire_bench.check_nothing_left()


def test_whoever_was_suspended_is_asked_before_it_is_given_up(wire_bench: WireBench) -> None:
    peer, link = wire_bench.link()
    peer.hello(heartbeat_seconds=100)
    wire_bench.later(10_000_000)
    assert link.state == OPEN
    (beat,) = peer.answers()
    assert beat.type == wire.HEARTBEAT


def test_any_frame_is_a_sign_of_life(wire_bench: WireBench) -> None:
    peer, link = wire_bench.link()
    peer.hello(heartbeat_seconds=1)
    wire_bench.later(1_100)
    assert [each.type for each in peer.answers()] == [wire.HEARTBEAT]
    wire_bench.later(HEARTBEAT_TIMEOUT_MS - 20_000)
    peer.send(wire.frame(wire.CANCEL, 1, 0, numbers(5)))
    wire_bench.later(20_100)
    assert link.state == OPEN
    assert [each.type for each in peer.answers()] == [wire.HEARTBEAT]


def test_an_application_may_ask_for_signs_of_life_itself(wire_bench: WireBench) -> None:
    peer, _ = wire_bench.link()
    peer.hello()
    answer = peer.ask(wire.HEARTBEAT, request=9, conversation=0)
    assert (answer.type, answer.completion) == (wire.HEARTBEAT | wire.REPLY, MQCC_OK)


def test_a_last_word_that_nobody_takes(wire_bench: WireBench) -> None:
    wire_bench.define("BIG", MAXMSGL=wire.MESSAGE_BYTES_MAX)
    wire_bench.manager.engine.queues["Q"].buffer_bytes_nonpersistent = 1 << 30  # nothing waits for a read
    wire_bench.manager.engine.queues["Q"].buffer_bytes_persistent = 1 << 30
    peer = wire_bench.peer("Q")
    link = only_link(wire_bench)
    body = bytes(100_000)
    for _ in range(40):
        peer.send(wire.frame(wire.PUT, 1, 9, put(2, body)))
        peer.answer(9)
    peer.send(*(wire.frame(wire.GET, 1, 100 + number, get(2)) for number in range(40)))
    wire_bench.turn(5)
    with wire_bench.manager.lock:
        link.send_farewell(MQRC_CONNECTION_ERROR, "enough")
    wire_bench.turn(3)
    assert link.fd in wire_bench.reactor.links
    wire_bench.later(FAREWELL_TIMEOUT_MS + 100)
    wire_bench.check_nothing_left()


def test_who_does_not_connect_is_let_go_with_and_without_heartbeats(wire_bench: WireBench) -> None:
    wire_bench.define_channel("IN")
    for heartbeat in (0, 1, 300):
        peer, link = wire_bench.link(is_local=False)
        assert peer.hello("IN", heartbeat_seconds=heartbeat).completion == MQCC_OK
        for _ in range(6):
            wire_bench.later(ADMISSION_TIMEOUT_MS // 6 - 500)
            # However alive it is.
            peer.send(wire.frame(wire.HEARTBEAT | wire.REPLY, 0, 1, bytes(8)) + wire.frame(wire.HEARTBEAT, 0, 5))
            wire_bench.turn(2)
            assert link.state == OPEN
        wire_bench.later(6_000)
        reason, text = farewell(peer)
        assert reason == MQRC_CHANNEL_NOT_AVAILABLE
        assert "No application connected" in text
    wire_bench.check_nothing_left()


def test_who_has_connected_stays(wire_bench: WireBench) -> None:
    wire_bench.define_channel("IN")
    peer, link = wire_bench.link(is_local=False)
    assert peer.hello("IN").completion == MQCC_OK
    assert peer.connect().completion == MQCC_OK
    wire_bench.later(2 * ADMISSION_TIMEOUT_MS)
    assert link.state == OPEN
    assert peer.ask(wire.DISCONNECT, numbers(0)).completion == MQCC_OK
    wire_bench.later(2 * ADMISSION_TIMEOUT_MS)
    assert link.state == OPEN  # it may connect again
    peer.close()
    wire_bench.check_nothing_left()


def test_frames_are_short_until_somebody_is_let_in(wire_bench: WireBench) -> None:
    wire_bench.define_channel("IN")
    peer, _ = wire_bench.link(is_local=False)
    assert peer.hello("IN").completion == MQCC_OK
    peer.send(wire.frame(wire.CONNECT, 1, 2, bytes(UNADMITTED_FRAME_BYTES))[:20])
    reason, text = farewell(peer)
    assert reason == MQRC_CONNECTION_ERROR
    assert str(UNADMITTED_FRAME_BYTES) in text
    wire_bench.check_nothing_left()


def test_a_storm_of_new_links_leaves_room_for_the_others(wire_bench: WireBench) -> None:
    bystander = wire_bench.peer("Q")
    for _ in range(20):
        assert bystander.ask(wire.GET, get(2)).reason == MQRC_NO_MSG_AVAILABLE
    storm = [wire_bench.link()[0] for _ in range(40)]
    wire_bench.reactor.slow.slice_ns_max = 0
    for each in storm:
        each.sock.send(wire.frame(wire.HELLO, 0, 1, Hello("").encode()))
    for number in range(5):
        bystander.sock.send(wire.frame(wire.PUT, 1, 9 + number, put(2, b"in between")))
        wire_bench.turn()
        bystander.read()
        assert [each.request for each in bystander.answers(0)] == [9 + number]
    greeted = sum(link.state == OPEN for link in wire_bench.reactor.links.values()) - 1
    assert 1 <= greeted <= 5
    for each in storm:
        assert each.answer(1, 0).completion == 0


# -- ends --------------------------------------------------------------------------------------------------------------


def test_a_peer_that_is_gone_in_the_middle_of_a_frame(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    peer.send(wire.frame(wire.PUT, 1, 9, put(2, b"half of it"))[:-5])
    wire_bench.turn()
    peer.close()
    wire_bench.check_nothing_left()
    assert wire_bench.manager.engine.queues["Q"].depth == 0


def test_a_peer_that_is_gone_in_the_middle_of_segments(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    payload = put(2, bytes(400_000))
    pieces = segments.frames_of(wire.PUT, 1, 9, payload, wire.SEGMENT_BYTES)
    peer.send(*pieces[:-1])
    wire_bench.turn(10)
    assert wire_bench.reactor.segmented_bytes() > 300_000
    peer.close()
    wire_bench.check_nothing_left()
    assert wire_bench.manager.engine.queues["Q"].depth == 0


def test_a_peer_that_sends_byte_by_byte(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    both = wire.frame(wire.PUT, 1, 9, put(2, b"slowly")) + wire.frame(wire.GET, 1, 10, get(2))
    for at in range(len(both)):
        peer.sock.send(both[at : at + 1])
        wire_bench.turn()
    assert peer.answer(9).completion == MQCC_OK
    assert peer.answer(10).body == b"slowly"


def test_a_peer_that_says_no_more_and_still_listens(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    peer.send(wire.frame(wire.PUT, 1, 9, put(2, b"last", persistent=True)))
    peer.sock.shutdown(socket.SHUT_WR)
    assert [answer.request for answer in peer.answers()] == [9]
    assert peer.closed
    wire_bench.check_nothing_left()
    assert wire_bench.manager.engine.queues["Q"].depth == 1


def test_a_peer_that_says_farewell(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    waiting = wire.frame(wire.GET, 1, 9, get(2, MQGMO_WAIT | MQGMO_NO_SYNCPOINT, -1))
    behind = wire.frame(wire.PUT, 1, 10, put(2, b"nobody hears this"))
    peer.send(waiting + wire.frame(wire.FAREWELL, 0, 0, bytes(8)) + behind)
    assert peer.answers() == []
    assert peer.closed
    wire_bench.check_nothing_left()
    assert wire_bench.manager.engine.queues["Q"].depth == 0


class BrokenServer(Server):
    """One whose code fails on a request that is harmless otherwise."""

    def handle_request(
        self, conversation: ServerConversation, type: int, number: int, buffer: bytes, start: int, end: int
    ) -> None:
        if type == wire.BEGIN:
            raise ZeroDivisionError("what nobody foresaw")
        super().handle_request(conversation, type, number, buffer, start, end)


def test_a_breakdown_ends_one_link_only(tmp_path: Path) -> None:
    manager = QueueManager(create_queue_manager(tmp_path, "BROKEN", LogSection(primary_files=3, file_pages=64)))
    manager.start()
    bench = WireBench(manager, BrokenServer(disable_security(manager)))
    bench.define("Q")
    bystander = bench.peer("Q")
    peer = bench.peer("Q")
    peer.send(wire.frame(wire.BEGIN, 1, 9))
    reason, text = farewell(peer)
    assert (reason, peer.closed) == (MQRC_UNEXPECTED_ERROR, True)
    assert "ZeroDivisionError" in text
    assert bench.reactor.counters.internal_errors == 1
    assert any("could not be handled" in note for note in manager.notices)
    assert bystander.ask(wire.PUT, put(2, b"still here")).completion == MQCC_OK
    bystander.close()
    bench.check_nothing_left()
    bench.close()


# -- limits ------------------------------------------------------------------------------------------------------------


def test_whoever_does_not_read_is_not_read_from(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    link = only_link(wire_bench)
    peer.ask(wire.PUT, put(2, bytes(100_000)))
    browse = MQGMO_BROWSE_FIRST | MQGMO_NO_SYNCPOINT
    asked = 400
    frames = b"".join(wire.frame(wire.GET, 1, 100 + number, get(2, browse)) for number in range(asked))
    at = 0
    for _ in range(200):
        try:
            at += peer.sock.send(frames[at : at + 10_000])
        except BlockingIOError:
            break
        if at == len(frames):
            break
        wire_bench.turn()
    wire_bench.turn(5)
    assert link.is_paused
    # One more reply than the limit at most, and what the kernel holds.
    assert link.unsent_bytes() <= OUT_HIGH_BYTES + 110_000
    seen = set()
    for _ in range(10_000):
        peer.read()
        seen |= {answer.request for answer in peer.answers(1)}
        if at < len(frames):
            at += peer.sock.send(frames[at:])
        if len(seen) == asked:
            break
    assert seen == set(range(100, 100 + asked))
    wire_bench.turn(2)
    assert not link.is_paused


def test_long_replies_that_nobody_reads_stop_the_reading_too(wire_bench: WireBench) -> None:
    wire_bench.define("BIG", MAXMSGL=wire.MESSAGE_BYTES_MAX)
    wire_bench.manager.engine.message_bytes_max = wire.MESSAGE_BYTES_MAX
    peer = wire_bench.peer("BIG", message_bytes_max=wire.MESSAGE_BYTES_MAX)
    link = only_link(wire_bench)
    size = 30 * MEGABYTE
    pieces = segments.frames_of(wire.PUT, 1, 9, put(2, bytes(size)), wire.SEGMENT_BYTES)
    peer.send(*pieces)
    assert peer.answer(9).completion == MQCC_OK
    browse = MQGMO_BROWSE_FIRST | MQGMO_NO_SYNCPOINT
    peer.send(*(wire.frame(wire.GET, 1, 100 + number, get(2, browse)) for number in range(50)))
    wire_bench.turn(10)
    assert link.is_paused
    assert LARGE_HIGH_BYTES < link.large_bytes <= 2 * size + 10_000  # and not a third one
    peer.close()
    wire_bench.check_nothing_left()


def test_empty_segments_are_counted(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    peer.send(segments.segment(wire.PUT, 1, 9, True, b"") * 1000)
    wire_bench.turn(3)
    assert wire_bench.reactor.segmented_bytes() == 1000 * segments.SEGMENT_COST_BYTES
    peer.close()
    wire_bench.check_nothing_left()


def test_a_reply_that_fails_on_the_way_is_let_go(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    peer.send(*segments.frames_of(wire.PUT, 1, 9, put(2, bytes(3 * MEGABYTE)), wire.SEGMENT_BYTES))
    peer.answer(9)
    peer.send(wire.frame(wire.GET, 1, 10, get(2)))
    wire_bench.turn()
    assert wire_bench.reactor.segmented_bytes() == 3 * MEGABYTE
    peer.close()
    wire_bench.turn(3)
    wire_bench.check_nothing_left()


def test_a_reply_to_somebody_who_did_not_wait_for_it(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    peer.send(*segments.frames_of(wire.PUT, 1, 9, put(2, bytes(3 * MEGABYTE)), wire.SEGMENT_BYTES))
    peer.answer(9)
    peer.sock.send(wire.frame(wire.GET, 1, 10, get(2)))
    peer.sock.close()
    wire_bench.turn(3)
    wire_bench.check_nothing_left()


def test_a_slow_reader_of_a_stream_costs_no_passes(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    link = only_link(wire_bench)
    for _ in range(30):
        peer.ask(wire.PUT, put(2, bytes(100_000)))
    peer.send(wire.frame(wire.STREAM, 1, 50, (30).to_bytes(4, "little") + get(2, MQGMO_NO_SYNCPOINT)))
    wire_bench.sleep_ms = 10  # messages beyond the buffers are read by other threads
    for _ in range(1_000):
        wire_bench.turn()
        if link.awaiting_drain:
            break
    assert link.backlog_bytes() > OUT_LOW_BYTES
    assert link.awaiting_drain
    assert wire_bench.reactor.resuming == []
    bodies = 0
    for _ in range(1000):
        bodies += sum(each.type == wire.MESSAGE for each in peer.answers(1))
        if bodies == 30:
            break
    assert bodies == 30
    assert wire_bench.manager.engine.queues["Q"].depth == 0


# -- long messages -----------------------------------------------------------------------------------------------------


def test_the_longest_message_between_short_ones(wire_bench: WireBench) -> None:
    wire_bench.define("BIG", MAXMSGL=wire.MESSAGE_BYTES_MAX)
    wire_bench.manager.engine.message_bytes_max = wire.MESSAGE_BYTES_MAX
    peer = wire_bench.peer("BIG", "Q", message_bytes_max=wire.MESSAGE_BYTES_MAX)
    body = bytes(range(256)) * (wire.MESSAGE_BYTES_MAX // 256)
    assert len(body) == 100 * MEGABYTE
    pieces = segments.frames_of(wire.PUT, 1, 9, put(2, body), wire.SEGMENT_BYTES)
    for number, piece in enumerate(pieces):
        peer.send(piece)
        if number % 200 == 100:
            assert peer.ask(wire.PUT, put(3, b"between"), 20).completion == MQCC_OK
    assert peer.answer(9).completion == MQCC_OK
    assert wire_bench.reactor.segmented_bytes() == 0
    peer.send(wire.frame(wire.GET, 1, 10, get(2)))
    between = 0
    peer.frames_seen.clear()
    while not any(each[2] == 10 for each in peer.frames_seen):
        wire_bench.turn()
        peer.read()
    # The long one is on its way; short ones come and go before it has come whole.
    for _ in range(3):
        assert peer.ask(wire.GET, get(3), 30).body == b"between"
        between += 1
    assert sum(each[2] == 10 for each in peer.frames_seen) < len(pieces)
    assert peer.answer(10).body == body
    assert max(size for *_, size in peer.frames_seen) == wire.SEGMENT_BYTES
    assert between == 3
    peer.close()
    wire_bench.check_nothing_left()


def test_two_long_messages_take_turns(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    bodies = {10: b"a" * 1_000_000, 11: b"b" * 1_000_000}
    for body in bodies.values():
        peer.send(*segments.frames_of(wire.PUT, 1, 9, put(2, body), wire.SEGMENT_BYTES))
        peer.answer(9)
    peer.frames_seen.clear()
    peer.send(wire.frame(wire.GET, 1, 10, get(2)), wire.frame(wire.GET, 1, 11, get(2)))
    assert {number: peer.answer(number).body for number in (10, 11)} == bodies
    order = [request for _, _, request, _ in peer.frames_seen]
    assert order[:4] in ([10, 11, 10, 11], [11, 10, 11, 10])


def test_segments_of_two_messages_mixed(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    first = segments.frames_of(wire.PUT, 1, 8, put(2, b"a" * 300_000), wire.SEGMENT_BYTES_MIN)
    other = segments.frames_of(wire.PUT, 1, 9, put(2, b"b" * 300_000), wire.SEGMENT_BYTES_MIN)
    for one, two in zip(first, other, strict=True):
        peer.send(one, two)
    assert [peer.answer(8).completion, peer.answer(9).completion] == [MQCC_OK, MQCC_OK]
    assert {peer.ask(wire.GET, get(2)).body[:1] for _ in range(2)} == {b"a", b"b"}


@pytest.mark.parametrize("segment_bytes", [1, wire.SEGMENT_BYTES_MIN, wire.SEGMENT_BYTES_MAX, 1 << 29])
def test_frames_are_never_longer_than_agreed(wire_bench: WireBench, segment_bytes: int) -> None:
    peer, _ = wire_bench.link()
    agreed = decode_hello(peer.hello(segment_bytes=segment_bytes).payload[8:])
    assert wire.SEGMENT_BYTES_MIN <= agreed.segment_bytes <= wire.SEGMENT_BYTES_MAX
    peer.connect()
    peer.open("Q")
    body = bytes(2 * MEGABYTE)
    peer.send(*segments.frames_of(wire.PUT, 1, 9, put(2, body), agreed.segment_bytes))
    assert peer.answer(9).completion == MQCC_OK
    assert peer.ask(wire.GET, get(2)).body == body
    # Many attributes at once make a long reply, too.
    many = InquireArguments(2, [2013] * 250, [], b"")
    assert peer.ask(wire.INQUIRE, many.encode()).completion == MQCC_OK
    assert max(size for *_, size in peer.frames_seen) <= agreed.segment_bytes


# -- greeting ----------------------------------------------------------------------------------------------------------


def test_a_channel_that_is_not_there_and_a_name_that_would_forge_the_log(wire_bench: WireBench) -> None:
    peer, _ = wire_bench.link(is_local=False)
    answer = peer.hello("NO\nAMQ0000: forged")
    assert answer.reason == MQRC_UNKNOWN_CHANNEL_NAME
    assert peer.answers() == []
    assert peer.closed
    assert any("NO?AMQ0000" in note for note in wire_bench.manager.notices)
    wire_bench.check_nothing_left()


def test_refused_peers_cannot_fill_the_error_log(wire_bench: WireBench) -> None:
    before = len(wire_bench.manager.notices)
    for number in range(200):
        peer, _ = wire_bench.link(is_local=False)
        peer.hello(f"NO.SUCH.{number}")
        peer.close()
    assert len(wire_bench.manager.notices) - before <= 64
    wire_bench.check_nothing_left()


def test_requests_for_a_conversation_that_has_ended(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    assert peer.ask(wire.DISCONNECT, (1).to_bytes(4, "little")).completion == MQCC_OK
    assert peer.ask(wire.PUT, put(2, b"too late")).reason == MQRC_HCONN_ERROR
    assert peer.connect().completion == MQCC_OK


def test_a_link_that_says_hello_twice(wire_bench: WireBench) -> None:
    peer, _ = wire_bench.link()
    peer.hello()
    peer.send(wire.frame(wire.HELLO, 0, 1, b""))
    assert farewell(peer)[0] == MQRC_CONNECTION_ERROR
    wire_bench.check_nothing_left()
