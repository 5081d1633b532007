"""Memory for messages on their way: limits of the process, and who waits or is ended when links hold too much."""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path

import pytest
from tests.world.wire_bench import Peer, WireBench, get, put

from ostler.model.constants import (
    MQCC_OK,
    MQGMO_BROWSE_FIRST,
    MQGMO_NO_SYNCPOINT,
    MQGMO_WAIT,
    MQRC_STORAGE_NOT_AVAILABLE,
)
from ostler.server.net.link_limits import LARGE_HIGH_BYTES, NO_PROGRESS_MS, OUT_HIGH_BYTES
from ostler.server.storage.memory_limits import LINK_BYTES_MAX, LINK_BYTES_MIN, allowed_bytes, link_bytes_max
from ostler.wire import frames as wire
from ostler.wire import segments
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.replies import decode_reason

MEGABYTE = 1 << 20
BROWSE = MQGMO_BROWSE_FIRST | MQGMO_NO_SYNCPOINT


# -- what the process may have -----------------------------------------------------------------------------------------


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def test_the_memory_of_the_machine_limits(tmp_path: Path) -> None:
    write(tmp_path, "proc/meminfo", "MemFree: 1 kB\nMemTotal:       2048 kB\nSwapTotal: 9 kB\n")
    assert allowed_bytes(tmp_path) == 2 * MEGABYTE


@pytest.mark.parametrize(
    ("cgroup", "files", "found"),
    [
        ("0::/a/b\n", {"a/b/memory.max": "max\n", "a/memory.max": "5000000\n", "memory.max": "9000000\n"}, 5_000_000),
        ("0::/a/b\n", {"a/b/memory.max": "4000000\n", "a/memory.max": "5000000\n"}, 4_000_000),
        # In a container the path is the host's, and its own group is at the top.
        ("0::/docker/123\n", {"memory.max": "3000000\n"}, 3_000_000),
        ("7:cpu:/x\n4:memory:/a\n", {"memory/a/memory.limit_in_bytes": "2500000\n"}, 2_500_000),
        ("4:cpu,memory:/\n0::/\n", {"memory/memory.limit_in_bytes": "9223372036854771712\n"}, 1 << 30),
        ("0::/../outside\n", {"memory.max": "2200000\n"}, 2_200_000),
        ("nonsense\n", {}, 1 << 30),
    ],
)
def test_control_groups_limit(tmp_path: Path, cgroup: str, files: dict[str, str], found: int) -> None:
    write(tmp_path, "proc/meminfo", f"MemTotal: {1 << 20} kB\n")
    write(tmp_path, "proc/self/cgroup", cgroup)
    for name, text in files.items():
        write(tmp_path, f"sys/fs/cgroup/{name}", text)
    assert allowed_bytes(tmp_path) == found


def test_resource_limits_limit(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    # Far above what this process has: it only has to be told, not to be felt.
    resource.setrlimit(resource.RLIMIT_DATA, (1 << 50, hard))
    try:
        assert allowed_bytes(tmp_path) == 1 << 50
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def test_nothing_is_known(tmp_path: Path) -> None:
    assert allowed_bytes(tmp_path) >= 1 << 40


def test_links_have_a_quarter() -> None:
    assert link_bytes_max(1 << 40) == LINK_BYTES_MAX == 1 << 30
    assert link_bytes_max(400 * MEGABYTE) == 100 * MEGABYTE
    assert link_bytes_max(1 * MEGABYTE) == LINK_BYTES_MIN
    assert LINK_BYTES_MIN <= link_bytes_max() <= LINK_BYTES_MAX


# -- who waits, and who is ended ---------------------------------------------------------------------------------------


def put_long(peer: Peer, size: int, request: int = 9) -> None:
    peer.send(*segments.frames_of(wire.PUT, 1, request, put(2, bytes(size)), wire.SEGMENT_BYTES))
    assert peer.answer(request).completion == MQCC_OK


def browse(peer: Peer, count: int) -> None:
    peer.send(*(wire.frame(wire.GET, 1, 100 + number, get(2, BROWSE)) for number in range(count)))


def test_who_reads_nothing_has_one_reply_made_when_memory_is_not_plentiful(wire_bench: WireBench) -> None:
    wire_bench.reactor.memory.limit(200 * MEGABYTE)
    writer = wire_bench.peer("Q")
    put_long(writer, 4 * MEGABYTE)
    greedy = [wire_bench.peer("Q") for _ in range(12)]
    for each in greedy:
        browse(each, 20)
        wire_bench.turn(3)
    # The first ones may have up to their own limit; then each has one that it has not read.
    assert wire_bench.reactor.segmented_bytes() <= 50 * MEGABYTE + 4 * MEGABYTE * 12
    held = [int(link.outgoing_bytes) for link in wire_bench.reactor.links.values()]
    assert max(held) <= LARGE_HIGH_BYTES + 4 * MEGABYTE
    assert sorted(held)[1] == 4 * MEGABYTE
    # Whoever reads gets all that it asked for.
    got = 0
    for _ in range(100_000):
        got += len(greedy[3].answers(1))
        if got == 20:
            break
    assert got == 20


def test_long_replies_of_all_links_stay_below_the_limit(wire_bench: WireBench) -> None:
    limit = 40 * MEGABYTE
    wire_bench.reactor.memory.limit(limit)
    writer = wire_bench.peer("Q")
    put_long(writer, 4 * MEGABYTE)
    greedy = [wire_bench.peer("Q") for _ in range(20)]
    for each in greedy:
        browse(each, 5)
        wire_bench.turn(2)
        assert wire_bench.reactor.memory.used_bytes() <= limit
    assert len(wire_bench.reactor.memory.waiting) > 5
    # They all stand still: one after the other is ended, so that those who wait are served.
    wire_bench.later(300)
    wire_bench.later(NO_PROGRESS_MS + 300)
    for _ in range(20):
        wire_bench.later(NO_PROGRESS_MS + 300)
        assert wire_bench.reactor.memory.used_bytes() <= limit
    assert len(wire_bench.reactor.links) < 21
    assert any("without progress" in note for note in wire_bench.manager.notices)
    for each in greedy:
        each.close()
    writer.close()
    wire_bench.check_nothing_left()
    assert wire_bench.reactor.memory.used_bytes() == 0


def test_links_that_read_a_little_at_a_time_do_not_hold_others_up(wire_bench: WireBench) -> None:
    wire_bench.reactor.memory.limit(40 * MEGABYTE)
    writer = wire_bench.peer("Q")
    put_long(writer, 4 * MEGABYTE)
    slow = [wire_bench.peer("Q") for _ in range(20)]
    for each in slow:
        browse(each, 5)
        wire_bench.turn(2)
    assert wire_bench.reactor.memory.is_short()
    for _ in range(60):
        if not wire_bench.reactor.memory.is_short():
            break
        for each in slow:
            with contextlib.suppress(OSError):
                each.sock.recv(150_000)  # more than 64 KiB, and far less than a quarter of what is kept for it
        wire_bench.later(NO_PROGRESS_MS // 2 + 300)
    assert any("without progress" in note for note in wire_bench.manager.notices)
    assert not wire_bench.reactor.memory.is_short()


def test_a_long_put_goes_through_while_others_read_nothing(wire_bench: WireBench) -> None:
    wire_bench.reactor.memory.limit(40 * MEGABYTE)
    writer = wire_bench.peer("Q")
    put_long(writer, 4 * MEGABYTE)
    for _ in range(20):
        each = wire_bench.peer("Q")
        browse(each, 5)
        wire_bench.turn(2)
    wire_bench.later(300)
    for _ in range(5):
        wire_bench.later(NO_PROGRESS_MS + 300)
    put_long(writer, 3 * MEGABYTE, 10)
    assert writer.ask(wire.GET, get(2)).completion == MQCC_OK


def test_puts_that_came_in_part_do_not_wait_for_one_another(wire_bench: WireBench) -> None:
    wire_bench.reactor.memory.limit(8 * MEGABYTE)
    peers = [wire_bench.peer("Q") for _ in range(6)]
    size = 2 * MEGABYTE
    whole = b"".join(segments.frames_of(wire.PUT, 1, 9, put(2, bytes(size)), wire.SEGMENT_BYTES))
    left = dict.fromkeys(range(len(peers)), whole)
    waited = 0
    for _ in range(10_000):
        for number, rest in list(left.items()):
            with contextlib.suppress(BlockingIOError):
                left[number] = rest[peers[number].sock.send(rest[: wire.SEGMENT_BYTES]) :]
            if not left[number]:
                del left[number]
        wire_bench.turn()
        waited = max(waited, len(wire_bench.reactor.memory.waiting))
        assert wire_bench.reactor.memory.used_bytes() <= 8 * MEGABYTE
        if not left:
            break
    assert waited >= 4
    for peer in peers:
        assert peer.answer(9).completion == MQCC_OK
    assert wire_bench.manager.engine.queues["Q"].depth == 6
    assert wire_bench.reactor.memory.waiting == []


def test_a_get_among_the_parts_of_a_put_does_not_keep_it_from_coming_whole(wire_bench: WireBench) -> None:
    wire_bench.reactor.memory.limit(8 * MEGABYTE)
    peers = [wire_bench.peer("Q") for _ in range(6)]
    parts = segments.frames_of(wire.PUT, 1, 9, put(2, bytes(2 * MEGABYTE)), wire.SEGMENT_BYTES)
    middle = len(parts) // 2
    whole = b"".join([*parts[:middle], wire.frame(wire.GET, 1, 10, get(2, selector=b"k = 1")), *parts[middle:]])
    left = dict.fromkeys(range(len(peers)), whole)
    for _ in range(2_000):
        for number, rest in list(left.items()):
            with contextlib.suppress(BlockingIOError):
                left[number] = rest[peers[number].sock.send(rest[: wire.SEGMENT_BYTES]) :]
            if not left[number]:
                del left[number]
        wire_bench.turn()
        if not left:
            break
    for peer in peers:
        assert peer.answer(9).completion == MQCC_OK
    assert wire_bench.manager.engine.queues["Q"].depth == 6


def test_a_put_that_stopped_in_the_middle_makes_way(wire_bench: WireBench) -> None:
    wire_bench.reactor.memory.limit(8 * MEGABYTE)
    idle = [wire_bench.peer("Q") for _ in range(4)]
    for peer in idle:
        peer.send(*(segments.segment(wire.PUT, 1, 9, True, bytes(100_000)) for _ in range(9)))
        peer.send(segments.segment(wire.PUT, 1, 9, True, bytes(100_000))[:60_000])  # and stays, while it is told
        wire_bench.turn(12)
    wire_bench.later(300)
    wire_bench.later(NO_PROGRESS_MS + 300)
    innocent = wire_bench.peer("Q")
    put_long(innocent, 3 * MEGABYTE)
    told = [each for peer in idle for each in peer.answers() if each.type == wire.FAREWELL]
    assert told
    assert {decode_reason(PayloadReader(each.payload))[0] for each in told} == {MQRC_STORAGE_NOT_AVAILABLE}
    assert len(wire_bench.reactor.links) >= 2  # no more of them than it needed


def test_waiting_gets_of_who_reads_nothing_take_nothing(wire_bench: WireBench) -> None:
    greedy = wire_bench.peer("Q")
    wait = MQGMO_WAIT | MQGMO_NO_SYNCPOINT
    greedy.send(*(wire.frame(wire.GET, 1, 100 + number, get(2, wait, -1)) for number in range(40)))
    wire_bench.turn(3)
    (link,) = wire_bench.reactor.links.values()
    writer = wire_bench.peer("Q")
    for number in range(40):
        assert writer.ask(wire.PUT, put(2, bytes(100_000)), 200 + number).completion == MQCC_OK
    assert link.unsent_bytes() <= OUT_HIGH_BYTES + 400_000
    left = int(wire_bench.manager.engine.queues["Q"].depth)
    assert left > 20
    assert writer.ask(wire.GET, get(2)).completion == MQCC_OK  # others can have them
    got = 0
    for _ in range(100_000):
        got += len(greedy.answers(1))
        if got == 39:
            break
    assert got == 39
    assert writer.ask(wire.PUT, put(2, b"the last"), 300).completion == MQCC_OK
    assert [each.body for each in greedy.answers()] == [b"the last"]


def test_a_withdrawn_get_ends_when_its_time_is_over(wire_bench: WireBench) -> None:
    greedy = wire_bench.peer("Q")
    wait = MQGMO_WAIT | MQGMO_NO_SYNCPOINT
    greedy.send(*(wire.frame(wire.GET, 1, 100 + number, get(2, wait, 5_000)) for number in range(40)))
    wire_bench.turn(3)
    writer = wire_bench.peer("Q")
    for number in range(40):
        writer.ask(wire.PUT, put(2, bytes(100_000)), 200 + number)
    left = int(wire_bench.manager.engine.queues["Q"].depth)
    assert left > 0
    wire_bench.later(6_000)
    assert wire_bench.manager.engine.queues["Q"].depth == left
    answers: list[int] = []
    for _ in range(100_000):
        answers += [each.completion for each in greedy.answers(1)]
        if len(answers) == 40:
            break
    assert answers.count(MQCC_OK) == 40 - left
    greedy.close()
    writer.close()
    wire_bench.check_nothing_left()
