"""Broken and hostile peers: the link is closed with a reason, and nothing else notices."""

from __future__ import annotations

import gc
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.world import hostile_frames
from tests.world.hostile_frames import Mangler

from ostler.cli.framework.flavour import is_compiled
from ostler.model.attributes import ObjectType
from ostler.model.definitions import new_definition
from ostler.server.assembly import Server
from ostler.server.config.qm_ini import LogSection
from ostler.server.net.link import ServerLink
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.testing.without_security import disable_security
from ostler.wire import frames as wire
from ostler.wire import segments
from ostler.wire.frames import FrameReader
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.put_get_frames import GOT_FIXED_BYTES, put_payload
from ostler.wire.replies import REPLY_FIXED_BYTES, decode_reason

QUEUE = "TARGET"
# Interpreted, the same run takes ten times as long.
FRAMES = int(os.environ.get("OSTLER_FUZZ_FRAMES", "100000" if is_compiled() else "5000"))
SEED = int(os.environ.get("OSTLER_FUZZ_SEED", "20261115"))
MEMORY_GROWTH_BYTES_MAX = 48 << 20
PATIENCE_SECONDS = 60.0


class Bench:
    """A queue manager whose reactor the test turns by hand."""

    def __init__(self, manager: QueueManager) -> None:
        self.manager = manager
        self.server = Server(disable_security(manager))
        self.reactor = self.server.reactor
        self.reactor.slow.rest_ns_max = 0

    def link(self, is_local: bool = True) -> tuple[socket.socket, ServerLink]:
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        ours.setblocking(False)
        link = ServerLink(self.reactor, theirs, "127.0.0.1(9)", is_local)
        with self.manager.lock:
            self.reactor.add(link)
        return ours, link

    def turn(self, times: int = 1) -> None:
        for _ in range(times):
            self.reactor.run_pass(0)

    def settle(self) -> None:
        """Until nothing more happens by itself."""
        for _ in range(20):
            self.reactor.run_pass(0)

    def converse(self, data: bytes) -> tuple[list[tuple[int, bytes]], bool]:
        """Send bytes on a link of their own: the frames that came back, and whether the link was closed."""
        ours, link = self.link()
        try:
            ours.sendall(data)
        except BlockingIOError:
            pytest.fail("the test sends more than a socket holds")
        self.turn(3)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while link.state < 3 and (link.gated or link.is_deferred):
            assert time.monotonic() < deadline, f"the link has {link.gated} gated replies, or a deferred request"
            self.turn()
        answers, closed = read_all(ours)
        ours.close()
        self.turn(2)
        assert link.fd not in self.reactor.links or link.state < 3
        return answers, closed


def read_all(sock: socket.socket) -> tuple[list[tuple[int, bytes]], bool]:
    reader = FrameReader(1 << 24)
    closed = False
    while True:
        try:
            data = sock.recv(1 << 16)
        except BlockingIOError:
            break
        except ConnectionError:
            closed = True
            break
        if not data:
            closed = True
            break
        reader.feed(data)
    found = []
    while reader.next():
        found.append((int(reader.type), reader.buffer[reader.start : reader.end]))
    return found, closed


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    manager = QueueManager(create_queue_manager(tmp_path, "HOSTILE", LogSection(primary_files=3, file_pages=64)))
    manager.start()
    manager.define(new_definition(ObjectType.QLOCAL, QUEUE, {"MAXDEPTH": 50}))
    made = Bench(manager)
    yield made
    with manager.lock:
        for link in list(made.reactor.links.values()):
            made.reactor.close(link)
    made.reactor.close_all()
    manager.end("immediate")


def opened() -> bytes:
    return hostile_frames.greeting() + hostile_frames.connecting() + hostile_frames.opening(QUEUE)


class Bystander:
    """An application that behaves, and must not notice anything."""

    def __init__(self, bench: Bench) -> None:
        bench.manager.define(new_definition(ObjectType.QLOCAL, "QUIET", {}))
        self._bench = bench
        self._sock, _ = bench.link()
        self._sock.sendall(hostile_frames.greeting() + hostile_frames.connecting() + hostile_frames.opening("QUIET"))
        bench.turn(2)
        answers, _ = read_all(self._sock)
        assert [kind for kind, _ in answers] == [wire.HELLO | 128, wire.CONNECT | 128, wire.OPEN | 128]

    def check(self) -> None:
        put = wire.frame(wire.PUT, 1, 8, put_payload(2, 0, 0, hostile_frames.descriptor(), b"", b"still here"))
        self._sock.sendall(put + wire.frame(wire.GET, 1, 9, hostile_frames.get(0)))
        self._bench.turn(2)
        answers, closed = read_all(self._sock)
        assert not closed
        assert [kind for kind, _ in answers] == [wire.PUT | 128, wire.GET | 128]
        assert answers[1][1][GOT_FIXED_BYTES:] == b"still here"

    def close(self) -> None:
        self._sock.close()
        self._bench.turn(2)


def check_nothing_left(bench: Bench) -> None:
    engine = bench.manager.engine
    assert bench.reactor.links == {}
    assert engine.connections == {}
    assert engine.units_of_work == {}
    assert all(queue.waiting.count == 0 for queue in engine.queues.values())
    assert bench.reactor.wheel.count() == 0
    queue = engine.queues[QUEUE]
    assert (queue.inputs, queue.outputs) == (0, 0)


@pytest.mark.parametrize("number", range(len(hostile_frames.corpus(QUEUE))))
def test_a_frame_cut_off_at_each_byte(bench: Bench, number: int) -> None:
    whole = hostile_frames.corpus(QUEUE)[number]
    for cut in hostile_frames.truncations(whole):
        bench.converse(opened() + cut)
    bench.settle()
    check_nothing_left(bench)


def test_every_frame_before_hello_is_refused_with_a_reason(bench: Bench) -> None:
    for whole in hostile_frames.corpus(QUEUE):
        if whole[4] == wire.HELLO:
            continue
        answers, closed = bench.converse(whole)
        assert closed
        assert [kind for kind, _ in answers] == [wire.FAREWELL]
        reason, text = decode_reason(PayloadReader(answers[0][1]))
        assert reason == 2273
        assert "broke the protocol" in text
    check_nothing_left(bench)


def test_every_correct_frame_is_answered(bench: Bench) -> None:
    silent = {wire.CANCEL, wire.CREDIT, wire.HEARTBEAT | 128}
    refused = {wire.HELLO, wire.CONNECT, wire.NOTICE, wire.FAREWELL, wire.HEARTBEAT, wire.HEARTBEAT | 128}
    for whole in hostile_frames.corpus(QUEUE):
        kind = whole[4]
        waits = kind in (wire.GET_ANY, wire.STREAM) or (kind == wire.GET and whole[24:28] == b"\x60\xea\0\0")
        answers, closed = bench.converse(opened() + whole)
        replies = answers[3:]
        if kind in refused or (kind | 128) == wire.HELLO | 128:
            assert closed or kind == wire.FAREWELL, wire.TYPE_NAMES.get(kind)
        elif kind in silent or waits:
            assert not closed
        else:
            assert [each for each, _ in replies] == [kind | 128], wire.TYPE_NAMES.get(kind)
            assert len(replies[0][1]) >= REPLY_FIXED_BYTES
    bench.settle()
    check_nothing_left(bench)


def test_frames_longer_than_agreed_end_the_link_before_they_are_read(bench: Bench) -> None:
    for size in (1025, 1 << 20, 0x7FFFFFFF, 0xFFFFFFFF, 15, 0):
        answers, closed = bench.converse(size.to_bytes(4, "little") + bytes(12))
        assert closed
        assert answers[-1][0] == wire.FAREWELL
    for size in ((1 << 17) + 1, 0xFFFFFFFF, 3):
        answers, closed = bench.converse(opened() + size.to_bytes(4, "little") + bytes(12))
        assert closed
        assert answers[-1][0] == wire.FAREWELL
    check_nothing_left(bench)


def test_segments_that_grow_without_end_are_cut_off(bench: Bench) -> None:
    ours, link = bench.link()
    ours.sendall(opened())
    bench.turn(2)
    piece = segments.segment(wire.PUT, 1, 50, True, bytes(60_000))
    for _ in range(200):
        try:
            ours.sendall(piece)
        except ConnectionError:
            break
        bench.turn(2)
        if link.state >= 2:
            break
    answers, closed = read_all(ours)
    assert closed
    assert answers[-1][0] == wire.FAREWELL
    bench.settle()
    check_nothing_left(bench)
    assert bench.reactor.memory.used_bytes() == 0


def test_mutated_frames_harm_nobody(bench: Bench) -> None:
    bystander = Bystander(bench)
    mangler = Mangler(QUEUE, SEED)
    process = psutil.Process()
    for _ in range(FRAMES // 100):
        bench.converse(mangler.conversation())
    gc.collect()
    memory_before = process.memory_info().rss
    descriptors_before = process.num_fds()
    mangler.frames_made = 0
    while mangler.frames_made < FRAMES:
        for _ in range(100):
            bench.converse(mangler.conversation())
        bystander.check()
    gc.collect()
    bystander.close()
    bench.settle()
    check_nothing_left(bench)
    assert process.num_fds() <= descriptors_before
    assert process.memory_info().rss - memory_before < MEMORY_GROWTH_BYTES_MAX
