"""Broken and hostile partners of message channels: the link is closed with a reason, without other effects."""

from __future__ import annotations

import gc
import getpass
import random
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.server.channels.support.channel_bench import (
    ASKED,
    BACK,
    CONNECTS,
    DEAD,
    FILES_MAX,
    FRAMES,
    IN,
    MEMORY_GROWTH_BYTES_MAX,
    OUT,
    QUEUE,
    SEED,
    ChannelBench,
    channel_bench,
    check_nothing_left,
    define,
    farewell,
    types,
)
from tests.server.net.test_hostile_frames import Bystander, read_all
from tests.world import hostile_channels, hostile_frames
from tests.world.hostile_channels import (
    PARTNER,
    ChannelMangler,
    confirm,
    hello,
    message,
    transmission_body,
)

from ostler.channel.states import NAMES
from ostler.channel.sync_records import RECEIVING, SENDING, SYNC_QUEUE, SyncRecord
from ostler.command.mqsc.script import run_script
from ostler.engine.message.message import CONTEXT_AT
from ostler.model import constants as mq
from ostler.model.structures.md import MQMD
from ostler.server.net.accept import Acceptor
from ostler.wire import frames as wire
from ostler.wire import segments
from ostler.wire.channel_frames import (
    IN_BATCH,
    METHOD_SHIFT,
    PINGS,
    REQUESTS,
    XQH_BYTES,
    decode_channel_hello,
    hello_frame,
    luwid_of,
    message_frame,
    message_head,
    welcome_frame,
)
from ostler.wire.replies import reason_payload


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[ChannelBench]:
    with channel_bench(tmp_path) as made:
        yield made


# -- the receiving end -------------------------------------------------------------------------------------------------


def test_a_partner_that_behaves(bench: ChannelBench) -> None:
    ours, answers, closed = bench.channel(message(QUEUE), message(QUEUE, 0, 0, 0), confirm())
    assert not closed
    assert types(answers) == [wire.CHANNEL_HELLO | 128, wire.CHANNEL_CONFIRM | 128]
    assert bench.manager.engine.queues[QUEUE].depth == 2
    answers, closed = bench.say(ours, wire.frame(wire.CHANNEL_END, 0, 1))
    assert types(answers) == [wire.CHANNEL_END | 128]
    assert closed
    bench.leave(ours)
    check_nothing_left(bench)


def test_frames_of_a_sender_cut_off_at_each_byte(bench: ChannelBench) -> None:
    for whole in hostile_channels.from_sender(IN, QUEUE):
        for cut in hostile_frames.truncations(whole):
            if len(cut) > 64 and len(cut) % 16:
                continue
            ours, _, _ = bench.channel(cut)
            bench.leave(ours)
    check_nothing_left(bench)


def test_mutated_frames_of_senders_harm_nobody(bench: ChannelBench) -> None:
    beginnings = [hello_frame(hello(IN))] * 60 + hostile_channels.odd_hellos(IN, hello_frame)
    beginnings += [hello_frame(hello(IN, purpose=PINGS)), hello_frame(hello(ASKED, purpose=REQUESTS))]
    beginnings += [hello_frame(hello(IN)) + message(QUEUE) + message(QUEUE, 2)] * 40
    mangler = ChannelMangler(beginnings, hostile_channels.from_sender(IN, QUEUE), SEED)
    bystander = Bystander(bench)
    process = psutil.Process()
    memory, descriptors = 0, 0
    while mangler.frames_made < FRAMES:
        for _ in range(50):
            ours, _ = bench.stranger()
            bench.say(ours, mangler.conversation())
            bench.leave(ours)
        bystander.check()
        bench.clear(QUEUE)
        if not memory and mangler.frames_made > FRAMES // 4:
            gc.collect()
            memory, descriptors = process.memory_info().rss, process.num_fds()
    bystander.close()
    gc.collect()
    bench.settle()
    check_nothing_left(bench)
    assert process.num_fds() <= descriptors + FILES_MAX
    assert process.memory_info().rss - memory < MEMORY_GROWTH_BYTES_MAX


def test_odd_first_words_of_a_sender(bench: ChannelBench) -> None:
    """Refused with a reason, or taken; whatever they do, the next partner is served."""
    for odd in hostile_channels.odd_hellos(IN, hello_frame):
        ours, answers, closed = bench.channel(first=odd)
        assert types(answers) in (
            [wire.CHANNEL_HELLO | 128],
            [wire.FAREWELL],
            [wire.CHANNEL_HELLO | 128, wire.FAREWELL],
        )
        refused = answers[0][0] == wire.FAREWELL or int.from_bytes(answers[0][1][:4], "little") != mq.MQCC_OK
        assert closed or not refused
        if not refused and answers[0][0] == wire.CHANNEL_HELLO | 128:
            agreed = decode_channel_hello(answers[0][1], 8)
            assert wire.SEGMENT_BYTES_MIN <= agreed.segment_bytes <= wire.SEGMENT_BYTES_MAX
            assert agreed.message_bytes_max <= 1 << 20
            assert 1 <= agreed.batch_size <= 50
            assert 1 <= agreed.window <= 8
        bench.leave(ours)
    check_nothing_left(bench)


def test_a_channel_hello_twice_and_a_clients_on_a_channel(bench: ChannelBench) -> None:
    for second in (hello_frame(hello(IN)), hostile_frames.greeting(), hostile_frames.connecting()):
        ours, answers, closed = bench.channel(message(QUEUE), second)
        assert closed
        assert types(answers) == [wire.CHANNEL_HELLO | 128, wire.FAREWELL]
        bench.leave(ours)
    ours, _ = bench.stranger()
    answers, closed = bench.say(ours, hostile_frames.greeting("SYSTEM.DEF.SVRCONN"), hello_frame(hello(IN)))
    assert closed
    assert wire.CHANNEL_HELLO | 128 not in types(answers)
    bench.leave(ours)
    assert bench.manager.engine.queues[QUEUE].depth == 0
    check_nothing_left(bench)


BROKEN: list[tuple[list[bytes], str]] = [
    ([message(QUEUE, 2)], "1 is next"),
    ([message(QUEUE, 0)], "1 is next"),
    ([message(QUEUE, -1)], "1 is next"),
    ([message(QUEUE), message(QUEUE)], "2 is next"),
    ([confirm()], "that was not received"),
    ([message(QUEUE), confirm(2)], "that was not received"),
    ([message(QUEUE), confirm(1, 2)], "that was not received"),
    ([message(QUEUE), confirm(1, 1, 2)], "that was not received"),
    ([message(QUEUE), confirm(1, 1, -1)], "that was not received"),
    ([message(QUEUE), message(QUEUE, 2, 2), confirm(2, 2)], "before an earlier one"),
    ([message(QUEUE), message(QUEUE, 2, 2), message(QUEUE, 3, 1)], "behind the first of the next"),
    ([message(QUEUE, each, each) for each in range(1, 10)], "more batches at a time"),
    ([message(QUEUE, each) for each in range(1, 52)], "a batch has more messages"),
    ([message_frame(7, 1, -1, 1, -1, XQH_BYTES, transmission_body(QUEUE))], "a wrong length"),
    ([message_frame(7, 1, IN_BATCH, 1, -1, -1, transmission_body(QUEUE))], "a wrong length"),
    ([message_frame(7, 1, IN_BATCH, 1, -1, 0x7FFFFFFF, transmission_body(QUEUE))], "a wrong length"),
    ([message_frame(7, 1, IN_BATCH, 1, -1, 0, transmission_body(QUEUE))], "has no MQXQH"),
    ([message_frame(7, 1, IN_BATCH, 1, -1, XQH_BYTES, bytes(500))], "has no MQXQH"),
    ([message_frame(7, 1, IN_BATCH | 9 << METHOD_SHIFT, 1, -1, XQH_BYTES, transmission_body(QUEUE))], "not negotiated"),
    ([wire.frame(wire.CHANNEL_STOP, 0, 0)], "is not expected now"),
    ([wire.frame(wire.CHANNEL_CONFIRM | wire.REPLY, 0, 1, bytes(20))], "is not expected now"),
    ([wire.frame(wire.CHANNEL_CONFIRM, 0, 1, bytes(21))], "a confirmation of 21 bytes"),
    ([wire.frame(wire.CHANNEL_PING, 0, 1, b"x")], "is not expected now"),
    ([segments.segment(wire.CHANNEL_CONFIRM, 0, 1, True, bytes(10))], "segments where none"),
    ([segments.segment(wire.CHANNEL_MESSAGE, 0, each, True, bytes(10)) for each in (1, 2)], "segments where none"),
]


def test_a_sender_that_breaks_the_rules(bench: ChannelBench) -> None:
    for number, (frames, why) in enumerate(BROKEN):
        ours, answers, closed = bench.channel(*frames, first=hello_frame(hello(IN, f"QM{number}")))
        assert closed, why
        assert why in farewell(answers)
        bench.leave(ours)
        assert bench.manager.engine.queues[QUEUE].depth == 0
        assert bench.server.channels.records.find(RECEIVING, IN, f"QM{number}").sequence == 0
    check_nothing_left(bench)


def test_messages_that_expand_beyond_what_is_agreed(bench: ChannelBench) -> None:
    for method, small in hostile_channels.bombs(2 << 20):
        first = hello(IN)
        first.message_methods = [method]
        body = transmission_body(QUEUE, small)
        bomb = message_frame(7, 1, IN_BATCH | method << METHOD_SHIFT, 1, -1, XQH_BYTES, body)
        ours, answers, closed = bench.channel(bomb, first=hello_frame(first))
        assert closed
        assert types(answers) == [wire.CHANNEL_HELLO | 128, wire.FAREWELL]
        bench.leave(ours)
    check_nothing_left(bench)


def test_segments_of_a_message_that_never_ends(bench: ChannelBench) -> None:
    ours, link = bench.stranger()
    bench.say(ours, hello_frame(hello(IN)), segments.segment(wire.CHANNEL_MESSAGE, 0, 9, True, bytes(30_000)))
    for _ in range(100):
        _, closed = bench.say(ours, segments.segment(wire.CHANNEL_MESSAGE, 0, 9, True, bytes(30_000)))
        if closed:
            break
    assert closed
    assert link.received_bytes < 2 << 20
    bench.leave(ours)
    check_nothing_left(bench)


def test_other_frames_between_the_segments_of_a_message(bench: ChannelBench) -> None:
    long = message_head(1, IN_BATCH, 1, -1, XQH_BYTES) + transmission_body(QUEUE, bytes(2000))
    begin, end = (
        segments.segment(wire.CHANNEL_MESSAGE, 0, 9, True, long[:1000]),
        segments.segment(wire.CHANNEL_MESSAGE, 0, 9, False, long[1000:]),
    )
    beat = wire.frame(wire.HEARTBEAT, 0, 1)
    ours, answers, closed = bench.channel(begin, beat, message(QUEUE, 0, 0, 0), end, confirm())
    assert not closed
    assert types(answers) == [wire.CHANNEL_HELLO | 128, wire.HEARTBEAT | 128, wire.CHANNEL_CONFIRM | 128]
    assert bench.manager.engine.queues[QUEUE].depth == 2
    bench.leave(ours)
    check_nothing_left(bench)


def test_nonsense_in_descriptors(bench: ChannelBench) -> None:
    """Any number in any field: put, dead-lettered or refused."""
    with bench.manager.lock:
        bench.manager.engine.dead_letter_queue = DEAD
    whole = hostile_channels.persistent()
    for at in range(0, len(whole), 4):
        for odd in (b"\xff\xff\xff\xff", b"\x00\x00\x00\x80", b"\xff\xff\xff\x7f", b"A\0 *"):
            body = transmission_body(QUEUE, b"data", md=whole[:at] + odd + whole[at + 4 :])
            partner = f"QM{at}.{odd[0]}.{odd[3]}"
            put_it = message_frame(7, 1, IN_BATCH, 1, -at, XQH_BYTES, body)
            ours, answers, _ = bench.channel(put_it, confirm(), first=hello_frame(hello(IN, partner)))
            assert len(answers) >= 1
            bench.leave(ours)
            bench.clear(QUEUE)
            bench.clear(DEAD)
    check_nothing_left(bench)


def test_nonsense_behind_formats(bench: ChannelBench) -> None:
    """Headers in front of the data that are none: extensions of descriptors, properties, other headers."""
    with bench.manager.lock:
        bench.manager.engine.dead_letter_queue = DEAD
    chance = random.Random(SEED)
    shapes = {
        b"MQHMDE  ": b"MDE \x02\0\0\0\x48\0\0\0" + bytes(60),
        b"MQHRF2  ": b"RF2 \x02\0\0\0\x44\0\0\0" + bytes(24) + b"\x1c\0\0\0<usr><a dt='i4'>1</a></usr>  ",
        b"MQDEAD  ": b"DLH \x01\0\0\0" + bytes(164),
        b"MQXMIT  ": transmission_body(QUEUE),
        b"MQADMIN ": bytes(36),
    }
    ours, sequence = None, 0
    for number in range(FRAMES // 8):
        if ours is None:
            ours, sequence = bench.stranger()[0], 0
            bench.say(ours, hello_frame(hello(IN, f"QM{number}")))
        format = chance.choice(list(shapes))
        data = bytearray(shapes[format])
        for _ in range(chance.randint(0, 4)):
            at = chance.randrange(len(data))
            data[at : at + chance.choice((1, 4))] = chance.choice((b"\xff" * 4, bytes(4), b"\x7f", chance.randbytes(3)))
        md = bytearray(hostile_channels.persistent())
        MQMD.patch(md, "Format", format)
        MQMD.patch(md, "CodedCharSetId", chance.choice((0, 1208, 1200, 500, -1, 99_999)))
        MQMD.patch(md, "Encoding", chance.choice((546, 273, 0, -1)))
        sequence += 1
        body = transmission_body(QUEUE, bytes(data[: chance.choice((4, 20, 1000))]), md=bytes(md))
        put_it = message_frame(7, sequence, IN_BATCH, sequence, -1, XQH_BYTES, body)
        answers, closed = bench.say(ours, put_it, confirm(sequence, sequence, 1, luwid_of(sequence)))
        if closed or len(answers) != 1:
            bench.leave(ours)
            ours = None
        if number % 40 == 39 and ours is not None:
            bench.leave(ours)
            ours = None
            bench.clear(QUEUE)
            bench.clear(DEAD)
    if ours is not None:
        bench.leave(ours)
    check_nothing_left(bench)


def test_users_of_messages_that_are_no_users(bench: ChannelBench) -> None:
    define(bench.manager, "CONTEXT", mq.MQCHT_RECEIVER, PUTAUT=mq.MQPA_CONTEXT)
    whole = hostile_channels.persistent()
    for number, user in enumerate((b"a\0b", b"\xff\xfe", b"\0" * 12, b"../../etc", b"a\nb", b"mqm", b"*")):
        md = whole[:CONTEXT_AT] + user.ljust(12) + whole[CONTEXT_AT + 12 :]
        put_it = message_frame(7, 1, IN_BATCH, 1, -1, XQH_BYTES, transmission_body(QUEUE, b"data", md=md))
        ours, answers, _ = bench.channel(put_it, confirm(), first=hello_frame(hello("CONTEXT", f"QM{number}")))
        assert types(answers) in ([168, 170], [168, wire.FAREWELL])
        bench.leave(ours)
    check_nothing_left(bench)


# -- who else uses a channel -------------------------------------------------------------------------------------------


def test_strangers_from_elsewhere_end_nobodys_channel(bench: ChannelBench) -> None:
    ours, _, _ = bench.channel()
    reset = hello(IN)
    reset.is_reset = True
    reset.sequence = 500
    theirs, _ = bench.stranger("192.0.2.1(9)")
    answers, closed = bench.say(theirs, hello_frame(reset))
    assert closed
    assert b"AMQ9514E" in answers[0][1]
    answers, closed = bench.say(ours, message(QUEUE), confirm())
    assert types(answers) == [wire.CHANNEL_CONFIRM | 128]
    assert bench.server.channels.records.find(RECEIVING, IN, PARTNER).sequence == 1
    bench.leave(ours, theirs)
    check_nothing_left(bench)


def test_who_is_refused_ends_nobodys_channel(bench: ChannelBench) -> None:
    ours, _, _ = bench.channel()
    other_wrap, in_doubt = hello(IN), hello(IN)
    other_wrap.sequence_wrap = 100
    in_doubt.is_reset = True
    in_doubt.in_doubt = [(hostile_channels.LUWID, 5)]
    for odd in (other_wrap, in_doubt):
        theirs, answers, closed = bench.channel(first=hello_frame(odd))
        assert closed
        assert int.from_bytes(answers[0][1][:4], "little") == mq.MQCC_FAILED
        bench.leave(theirs)
    answers, _ = bench.say(ours, message(QUEUE), confirm())
    assert types(answers) == [wire.CHANNEL_CONFIRM | 128]
    bench.leave(ours)
    check_nothing_left(bench)


def test_two_ends_never_count_by_one_record(bench: ChannelBench) -> None:
    """A requester that runs is in use, whoever else comes under the same name; but its own partner may come again."""
    ours = bench.call(BACK)
    bench.say(ours, hello_frame(hello(BACK)))
    theirs, _ = bench.stranger("192.0.2.1(9)")
    answers, closed = bench.say(theirs, hello_frame(hello(BACK)), message(QUEUE), confirm())
    assert closed
    assert b"AMQ9514E" in answers[0][1]
    assert types(bench.say(ours, message(QUEUE), confirm())[0]) == [wire.CHANNEL_CONFIRM | 128]
    again, _ = bench.stranger()
    answers, closed = bench.say(again, hello_frame(hello(BACK)), message(QUEUE, 2), confirm(2))
    assert types(answers) == [wire.CHANNEL_HELLO | 128, wire.CHANNEL_CONFIRM | 128]
    assert bench.say(ours, message(QUEUE, 2), confirm(2)) == ([], True)
    assert bench.server.channels.records.find(RECEIVING, BACK, PARTNER).sequence == 2
    bench.leave(ours, theirs, again)
    bench.calm(BACK)
    check_nothing_left(bench)


def test_nobody_forges_sync_records(bench: ChannelBench) -> None:
    forged = SyncRecord(SENDING, OUT, "")
    forged.sequence = 4242
    with bench.manager.lock:
        bench.manager.engine.dead_letter_queue = DEAD
    ours, answers, _ = bench.channel(message(SYNC_QUEUE, data=forged.encode()), confirm())
    assert types(answers) == [wire.CHANNEL_HELLO | 128, wire.CHANNEL_CONFIRM | 128]
    bench.leave(ours)
    assert bench.manager.engine.queues[DEAD].depth == 1
    with bench.manager.lock:
        bench.server.channels.records.load()
        assert bench.server.channels.records.find(SENDING, OUT).sequence == 0
    check_nothing_left(bench)


def test_nobody_forges_sync_records_by_reports(bench: ChannelBench) -> None:
    """A report with all the data of a message that cannot be delivered looks much like a record."""
    forged = SyncRecord(SENDING, OUT, "")
    forged.sequence = 4242
    md = bytearray(hostile_channels.persistent())
    MQMD.patch(md, "Report", mq.MQRO_EXCEPTION_WITH_FULL_DATA)
    MQMD.patch(md, "Format", b"OSTLSYNC")
    MQMD.patch(md, "ReplyToQ", SYNC_QUEUE.encode())
    MQMD.patch(md, "UserIdentifier", getpass.getuser().encode())
    body = transmission_body("NOBODY.HAS.IT", forged.encode(), md=bytes(md))
    with bench.manager.lock:
        bench.manager.engine.dead_letter_queue = DEAD
    ours, answers, _ = bench.channel(message_frame(7, 1, IN_BATCH, 1, -1, XQH_BYTES, body), confirm())
    assert types(answers) == [wire.CHANNEL_HELLO | 128, wire.CHANNEL_CONFIRM | 128]
    bench.leave(ours)
    with bench.manager.lock:
        bench.server.channels.records.load()
        assert bench.server.channels.records.find(SENDING, OUT).sequence == 0
    check_nothing_left(bench)


def test_nobody_fills_the_error_log(bench: ChannelBench) -> None:
    before = len(bench.manager.notices)
    for number in range(200):
        text = f"AMQ{number:04}E: {'x' * 10_000}"
        bye = wire.frame(wire.FAREWELL, 0, 0, reason_payload(2009, text))
        ours, _ = bench.stranger(f"127.0.0.1({number + 1024})")
        bench.say(ours, hello_frame(hello(IN, f"QM{number}")), bye)
        bench.leave(ours)
    told = bench.manager.notices[before:]
    assert len(told) < 10
    assert max(len(note) for note in told) < 2000
    check_nothing_left(bench)


ODD_TEXTS = ("AMQ²²²²: no number", "AMQ٣٣٣٣: none of ours", "AMQ", "AMQ9620E: no TLS", "\n\x1b[2J", "")


def test_odd_farewells(bench: ChannelBench) -> None:
    for text in ODD_TEXTS:
        bye = wire.frame(wire.FAREWELL, 0, 0, reason_payload(-1, text))
        ours, _, closed = bench.channel(message(QUEUE), bye)
        assert closed
        bench.leave(ours)
        for begin in (b"", welcome_frame(1, hello(OUT))):
            ours = bench.call(OUT)
            bench.say(ours, begin, bye)
            bench.leave(ours)
            bench.calm(OUT)
    assert all(note.isprintable() for note in bench.manager.notices)
    check_nothing_left(bench)


def test_thousands_who_come_and_go(bench: ChannelBench) -> None:
    """Half-open handshakes, pings and channels: no thread, descriptor or record stays of them."""
    process = psutil.Process()
    descriptors, threads = process.num_fds(), process.num_threads()
    words = [b"", b"\x16\x03\x01", b"OST", hello_frame(hello(IN))[:30], hello_frame(hello(IN))]
    words += [hello_frame(hello(IN, purpose=PINGS)), hello_frame(hello(ASKED, purpose=REQUESTS))]
    for number in range(CONNECTS // len(words)):
        socks = []
        for word in words:
            ours, _ = bench.stranger()
            ours.sendall(word.replace(b"STRANGER", b"QM%06d" % number))
            socks.append(ours)
        bench.turn(2)
        bench.leave(*socks)
    bench.settle()
    check_nothing_left(bench)
    assert process.num_fds() <= descriptors + FILES_MAX
    assert process.num_threads() <= threads
    assert bench.manager.engine.queues[SYNC_QUEUE].depth == 0


def test_who_only_pings_makes_way_for_others(bench: ChannelBench) -> None:
    pinging, _ = bench.stranger()
    assert types(bench.say(pinging, hello_frame(hello(IN, purpose=PINGS)))[0]) == [wire.CHANNEL_HELLO | 128]
    running, _, _ = bench.channel()
    bench.reactor.ahead_ms += 120_000
    bench.turn()
    with bench.manager.lock:
        Acceptor(bench.server).evict_idle()
    bench.turn(3)
    answers, closed = read_all(pinging)
    assert closed
    assert "The slot of this idle connection is needed" in farewell(answers)
    assert types(bench.say(running, message(QUEUE), confirm())[0]) == [wire.CHANNEL_CONFIRM | 128]
    bench.leave(pinging, running)
    check_nothing_left(bench)


def test_requesters_that_ask_without_end(bench: ChannelBench) -> None:
    """A sender that cannot reach its partner is not tried, and nothing is noted, as often as strangers like."""
    mqsc = "DEFINE CHANNEL(NOWHERE) CHLTYPE(SDR) XMITQ(OUT.XMITQ) CONNAME('127.0.0.1(1)')"
    assert list(run_script(bench.server.target, mqsc, echo=False))
    before = len(bench.manager.notices)
    for _ in range(100):
        ours, _, closed = bench.channel(first=hello_frame(hello("NOWHERE", purpose=REQUESTS)))
        assert closed
        bench.leave(ours)
        for _ in range(200):
            if NAMES[bench.server.channels.outbound_instances["NOWHERE"].state] == "RETRYING":
                break
            bench.reactor.run_pass(2)
    assert len(bench.manager.notices) - before < 10
    bench.calm("NOWHERE")
    check_nothing_left(bench)
