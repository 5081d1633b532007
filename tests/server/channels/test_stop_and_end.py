"""Operator commands on running channels, and the end of a queue manager in any state of its channels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.server.channels.support.channel_bench import (
    ASKED,
    BACK,
    IN,
    OUT,
    QUEUE,
    ChannelBench,
    channel_bench,
    check_nothing_left,
    put_out,
    resynchronize,
)
from tests.server.storage.test_full_disk import LimitedDisk
from tests.world.hostile_channels import PARTNER, confirm, hello, message

from ostler.channel.states import NAMES
from ostler.channel.sync_records import RECEIVING, SYNC_QUEUE
from ostler.command.mqsc.script import ScriptCounts, run_script
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.definitions import new_definition
from ostler.server.config.qm_ini import LogSection
from ostler.wire import frames as wire
from ostler.wire.channel_frames import PINGS, REQUESTS, decode_channel_hello, hello_frame, luwid_of, welcome_frame

ARRIVALS = "ARRIVALS"
MESSAGE, CONFIRM = wire.CHANNEL_MESSAGE, wire.CHANNEL_CONFIRM


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[ChannelBench]:
    with channel_bench(tmp_path) as made:
        yield made


def mqsc(bench: ChannelBench, text: str) -> str:
    lines = [each for each in run_script(bench.server.target, text, echo=False) if not isinstance(each, ScriptCounts)]
    return "\n".join(lines)


def state(bench: ChannelBench, name: str) -> str:
    return NAMES[bench.server.channels.outbound_instances[name].state]


# -- transmission queues and limits ------------------------------------------------------------------------------------


REFUSED = (
    "DELETE QLOCAL(OUT.XMITQ) PURGE",
    "CLEAR QLOCAL(OUT.XMITQ)",
    "ALTER QLOCAL(OUT.XMITQ) USAGE(NORMAL)",
    f"DELETE CHANNEL({OUT})",
    f"DELETE QLOCAL({SYNC_QUEUE}) PURGE",
)


def test_what_a_channel_in_doubt_needs_stays(bench: ChannelBench) -> None:
    put_out(bench, 2)
    ours = bench.call(OUT)
    assert bench.ask(ours, welcome_frame(1, hello(OUT)), count=4)[1:] == [MESSAGE, MESSAGE, CONFIRM]
    for command in REFUSED:
        assert "AMQ8148E" in mqsc(bench, command)
    put_out(bench, 1)
    bench.turn(3)
    assert state(bench, OUT) == "RUNNING"
    bench.leave(ours)
    bench.calm(OUT)
    resynchronize(bench)
    assert bench.manager.engine.queues["OUT.XMITQ"].depth == 3
    check_nothing_left(bench)


def test_a_transmission_queue_that_is_inhibited(bench: ChannelBench) -> None:
    ours = bench.call(OUT)
    bench.say(ours, welcome_frame(1, hello(OUT)))
    mqsc(bench, "ALTER QLOCAL(OUT.XMITQ) GET(DISABLED)")
    put_out(bench, 1)
    assert bench.ask(ours) == [wire.FAREWELL]
    assert state(bench, OUT) == "RETRYING"
    bench.leave(ours)
    bench.calm(OUT)
    assert bench.manager.engine.queues["OUT.XMITQ"].depth == 1
    check_nothing_left(bench)


def test_altering_a_channel_changes_its_next_run(bench: ChannelBench) -> None:
    ours = bench.call(OUT)
    bench.say(ours, welcome_frame(1, hello(OUT)))
    assert "AMQ8016I" in mqsc(bench, f"ALTER CHANNEL({OUT}) CHLTYPE(SDR) XMITQ(SERVES.XMITQ) BATCHSZ(1) SEQWRAP(100)")
    put_out(bench, 2)
    assert bench.ask(ours, count=3) == [MESSAGE, MESSAGE, CONFIRM]
    bench.leave(ours)
    bench.calm(OUT)
    resynchronize(bench)
    ours = bench.call(OUT)
    asked = decode_channel_hello(bench.say(ours)[0][0][1])
    assert (asked.batch_size, asked.sequence_wrap) == (1, 100)
    bench.leave(ours)
    bench.calm(OUT)
    check_nothing_left(bench)


def test_units_of_work_that_are_smaller_than_batches(bench: ChannelBench) -> None:
    """MAXUMSGS below BATCHSZ makes batches shorter, also when it is lowered while they are under way."""
    bench.manager.engine.uncommitted_max = 4
    ours, answers, _ = bench.channel()
    agreed = decode_channel_hello(answers[0][1], 8)
    assert 1 <= agreed.batch_size <= 4
    assert bench.ask(ours, message(QUEUE), confirm()) == [CONFIRM | 128]
    bench.leave(ours)
    put_out(bench, 9)
    ours = bench.call(OUT)
    assert 1 <= decode_channel_hello(bench.say(ours)[0][0][1]).batch_size <= 4
    welcome = hello(OUT)
    welcome.batch_size = 2
    bench.manager.engine.uncommitted_max = 2
    # Messages of further batches may come first: a confirmation waits for the log.
    came = bench.ask(ours, welcome_frame(1, welcome), count=3)
    while CONFIRM not in came:
        more = bench.ask(ours)
        assert more
        came += more
    assert set(came) == {MESSAGE, CONFIRM}
    assert state(bench, OUT) == "RUNNING"
    bench.leave(ours)
    bench.calm(OUT)
    resynchronize(bench)
    check_nothing_left(bench)


# -- the queue of sync records -----------------------------------------------------------------------------------------


def test_a_queue_of_sync_records_that_is_cleared_and_made_anew(bench: ChannelBench) -> None:
    """What runs goes on by what it knows; without the queue nothing is committed; nobody takes another's record."""
    partners = [f"QM{number}" for number in range(6)]
    socks = []
    for partner in partners:
        ours, _ = bench.stranger()
        first = hello_frame(hello(IN, partner))
        assert bench.ask(ours, first, message(QUEUE), confirm(), count=2) == [wire.CHANNEL_HELLO | 128, CONFIRM | 128]
        socks.append(ours)
    for command in ("CLEAR", "DELETE"):
        assert "AMQ8148E" in mqsc(bench, f"{command} QLOCAL({SYNC_QUEUE})")
    bench.server.channels.records.protect(0)  # as if somebody had found a way
    mqsc(bench, f"CLEAR QLOCAL({SYNC_QUEUE})")
    for ours in socks[:3]:
        assert bench.ask(ours, message(QUEUE, 2), confirm(2, luwid=luwid_of(2))) == [CONFIRM | 128]
    mqsc(bench, f"DELETE QLOCAL({SYNC_QUEUE}) PURGE")
    assert bench.ask(socks[3], message(QUEUE, 2), confirm(2, luwid=luwid_of(2))) == [wire.FAREWELL]
    mqsc(bench, f"DEFINE QLOCAL({SYNC_QUEUE})")
    for ours in (socks[4], socks[5], socks[0]):
        sequence = 3 if ours is socks[0] else 2
        assert bench.ask(ours, message(QUEUE, sequence), confirm(sequence, luwid=luwid_of(3))) == [CONFIRM | 128]
    found = [bench.server.channels.records.find(RECEIVING, IN, each).sequence for each in partners]
    assert found == [3, 2, 2, 1, 2, 2]
    assert bench.manager.engine.queues[SYNC_QUEUE].depth == 3
    bench.leave(*socks)
    check_nothing_left(bench)


def test_a_queue_of_sync_records_that_is_full(bench: ChannelBench) -> None:
    mqsc(bench, f"ALTER QLOCAL({SYNC_QUEUE}) MAXDEPTH(0)")
    ours, _ = bench.stranger()
    assert bench.ask(ours, hello_frame(hello(IN)), message(QUEUE), confirm(), count=2)[-1] == wire.FAREWELL
    assert bench.manager.engine.queues[QUEUE].depth == 0
    assert bench.server.channels.records.find(RECEIVING, IN, PARTNER).sequence == 0
    bench.leave(ours)
    check_nothing_left(bench)


# -- logs and disks that fill up ---------------------------------------------------------------------------------------


def send_batches(bench: ChannelBench, first: int, batches: int) -> int:
    """Send batches of three long messages until one is not committed: the last number that is."""
    ours, _ = bench.stranger()
    bench.ask(ours, hello_frame(hello(IN)))
    sequence = first
    for number in range(1, batches + 1):
        messages = [message(ARRIVALS, sequence + each, number, data=bytes(20_000)) for each in (1, 2, 3)]
        told = confirm(sequence + 3, number, 3, luwid_of(sequence + 3))
        if bench.ask(ours, *messages, told) != [CONFIRM | 128]:
            break
        sequence += 3
    bench.leave(ours)
    return sequence


def test_a_log_and_a_disk_that_fill_up_under_batches(tmp_path: Path) -> None:
    """What cannot be kept is not confirmed; when there is room again all goes on where it stood."""
    disks: list[LimitedDisk] = []

    def limited(path: Path) -> LimitedDisk:
        disks.append(LimitedDisk(path))
        return disks[0]

    with channel_bench(tmp_path, LogSection(primary_files=2, secondary_files=1, file_pages=64), limited) as bench:
        bench.manager.define(new_definition(ObjectType.QLOCAL, ARRIVALS, {"MAXDEPTH": 100_000}))
        mqsc(bench, f"ALTER CHANNEL({IN}) CHLTYPE(RCVR) MRRTY(0)")
        assert send_batches(bench, 0, 30) == 90
        disks[0].is_full = True
        stood = send_batches(bench, 90, 60)
        assert stood < 90 + 3 * 60
        assert bench.server.channels.records.find(RECEIVING, IN, PARTNER).sequence == stood
        assert bench.manager.engine.queues[ARRIVALS].depth == stood
        disks[0].is_full = False
        bench.manager.make_room()
        assert send_batches(bench, stood, 30) == stood + 90
        assert bench.manager.engine.queues[ARRIVALS].depth == stood + 90
        bench.settle()
        check_nothing_left(bench)


# -- the end -----------------------------------------------------------------------------------------------------------


def half_greeted(bench: ChannelBench) -> None:
    ours, _ = bench.stranger()
    bench.say(ours, hello_frame(hello(IN))[:30])


def receiving(bench: ChannelBench) -> None:
    bench.channel(message(QUEUE))


def pinged(bench: ChannelBench) -> None:
    bench.channel(first=hello_frame(hello(IN, purpose=PINGS)))


def serving(bench: ChannelBench) -> None:
    bench.channel(first=hello_frame(hello(ASKED, purpose=REQUESTS)))


def connecting(bench: ChannelBench) -> None:
    with bench.manager.lock:
        bench.server.channels.start(OUT)


def greeting(bench: ChannelBench) -> None:
    bench.call(OUT)


def waiting(bench: ChannelBench) -> None:
    bench.say(bench.call(OUT), welcome_frame(1, hello(OUT)))


def in_doubt(bench: ChannelBench) -> None:
    put_out(bench, 3)
    bench.say(bench.call(OUT), welcome_frame(1, hello(OUT)))


def in_the_middle_of_a_long_message(bench: ChannelBench) -> None:
    put_out(bench, 1, 3_000_000)
    longest = hello(OUT)
    longest.message_bytes_max = 4 << 20
    bench.call(OUT).sendall(welcome_frame(1, longest))
    bench.turn(2)


def requesting(bench: ChannelBench) -> None:
    bench.say(bench.call(BACK), wire.frame(wire.CHANNEL_END, 0, 1))


def requested(bench: ChannelBench) -> None:
    bench.say(bench.call(BACK), hello_frame(hello(BACK)), message(QUEUE))


def retrying(bench: ChannelBench) -> None:
    bench.leave(bench.call(OUT))


def paused(bench: ChannelBench) -> None:
    bench.manager.define(
        bench.manager.engine.of_type(ObjectType.QLOCAL)[QUEUE].with_changes({"PUT": mq.MQQA_PUT_INHIBITED}), True
    )
    bench.channel(message(QUEUE))


PHASES: list[Callable[[ChannelBench], None]] = [
    half_greeted,
    receiving,
    pinged,
    serving,
    connecting,
    greeting,
    waiting,
    in_doubt,
    in_the_middle_of_a_long_message,
    requesting,
    requested,
    retrying,
    paused,
]


@pytest.mark.parametrize("at_once", [True, False])
def test_the_end_in_the_middle_of_everything(bench: ChannelBench, at_once: bool) -> None:
    """In each phase all channels end, at once or within the seconds that partners have to answer."""
    channels = bench.server.channels
    for phase in PHASES:
        phase(bench)
        with bench.manager.lock:
            channels.end(at_once)
        bench.turn(4)
        bench.reactor.ahead_ms += 6_000
        bench.turn(4)
        bench.reactor.ahead_ms += 11_000
        bench.turn(4)
        assert channels.inbound_instances == {}, phase.__name__
        assert [each.agent for each in channels.outbound_instances.values() if each.agent is not None] == [], (
            phase.__name__
        )
        with bench.manager.lock:
            for link in list(bench.reactor.links.values()):
                bench.reactor.close(link)
        resynchronize(bench)
        channels.is_ending = False
        channels.outbound_instances.clear()
        bench.turn(2)
        check_nothing_left(bench)


# -- triggers ----------------------------------------------------------------------------------------------------------


def test_triggers_for_channels_that_are_not_there(bench: ChannelBench) -> None:
    """Whoever may put to an initiation queue cannot fill the error log with names."""
    before = len(bench.manager.notices)
    with bench.manager.lock:
        for number in range(200):
            bench.server.channels.trigger(f"NONE.{number}")
        bench.server.channels.trigger(ASKED)
    told = bench.manager.notices[before:]
    assert len(told) == 2
    assert "NONE.0 " in told[0]
    assert f"{ASKED} " in told[1]
    check_nothing_left(bench)
