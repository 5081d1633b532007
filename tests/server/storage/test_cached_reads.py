"""Messages of queue files that are in the page cache are read at once; all others by threads."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.world.held_disk import CachedReads, spill
from tests.world.wire_bench import WireBench, get

import ostler
from ostler.engine.queue.queue_file import CACHED_READ_BYTES_MAX, RECORD_HEADER_BYTES
from ostler.engine.queue.slots import extent_length, extent_offset
from ostler.model import constants as mq
from ostler.model.disk import File
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.server.storage import real_disk
from ostler.server.storage.real_disk import RealDisk
from ostler.server.storage.space_quota import QuotaDisk
from ostler.wire import frames as wire

COUNT = 200
QUEUE = "COLD"
_NUMBER_BYTES = 12


# -- the file ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Iterator[File]:
    opened = RealDisk(tmp_path).open("file", create=True)
    yield opened
    opened.close()


def test_what_is_in_the_page_cache_is_read(file: File) -> None:
    file.write_at(0, [b"abcdef"])
    assert file.read_cached(1, 3) in (b"bcd", None)  # None: the file system of the temporary directory cannot tell
    assert file.read_cached(0, 6) == file.read_cached(0, 6)


def test_the_end_of_the_file_is_left_to_another_read(file: File) -> None:
    file.write_at(0, [b"abcdef"])
    assert file.read_cached(4, 3) is None
    assert file.read_cached(6, 1) is None
    assert file.read_at(4, 3) == b"ef"


def test_what_is_not_in_the_page_cache_is_left_to_another_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    data = os.urandom(1 << 20)
    path.write_bytes(data)
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)
    file = RealDisk(tmp_path).open("file", create=False)
    if file.read_cached(0, 4096) is not None:
        pytest.skip("the file system has not dropped the pages from its cache")
    assert file.read_at(0, 4096) == data[:4096]
    assert file.read_cached(0, 4096) in (data[:4096], None)
    file.close()


class FailingReads:
    """Takes the place of os.preadv: each call fails with an error number, or reads so many bytes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: int, bytes_read: int = 0) -> None:
        self.calls = 0
        self._error = error
        self._bytes_read = bytes_read
        monkeypatch.setattr(real_disk, "_NO_WAIT", 8)
        monkeypatch.setattr(os, "preadv", self._read)

    def _read(self, descriptor: int, buffers: list[bytearray], offset: int, flags: int) -> int:
        self.calls += 1
        if self._error:
            raise OSError(self._error, os.strerror(self._error))
        return self._bytes_read


@pytest.mark.parametrize("error", [errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.EIO])
def test_a_file_system_without_the_flag_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    reads = FailingReads(monkeypatch, error)
    file = RealDisk(tmp_path).open("file", create=True)
    file.write_at(0, [b"abcdef"])
    assert [file.read_cached(0, 6) for _ in range(3)] == [None, None, None]
    assert reads.calls == 1
    assert file.read_at(0, 6) == b"abcdef"
    file.close()


@pytest.mark.parametrize(("error", "bytes_read"), [(errno.EAGAIN, 0), (0, 3)])
def test_a_read_that_would_wait_or_is_short_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int, bytes_read: int
) -> None:
    reads = FailingReads(monkeypatch, error, bytes_read)
    file = RealDisk(tmp_path).open("file", create=True)
    file.write_at(0, [b"abcdef"])
    assert [file.read_cached(0, 6) for _ in range(3)] == [None, None, None]
    assert reads.calls == 3
    file.close()


def test_a_disk_with_a_quota_reads_from_the_cache_as_well(tmp_path: Path) -> None:
    plain = RealDisk(tmp_path).open("file", create=True)
    plain.write_at(0, [b"abcdef"])
    expected = plain.read_cached(0, 6)
    plain.close()
    file = QuotaDisk(tmp_path, 1 << 20).open("file", create=False)
    assert file.read_cached(0, 6) == expected
    file.close()


# -- the queue ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[WireBench]:
    manager = QueueManager(create_queue_manager(tmp_path, "COLD", LogSection(primary_files=3, file_pages=1024)))
    manager.engine.disk = CachedReads().on(manager.disk)
    manager.start()
    made = WireBench(manager)
    made.sleep_ms = 1  # a turn waits a little for the threads that read
    made.define(QUEUE)
    yield made
    made.close()


@pytest.fixture
def reads(bench: WireBench) -> CachedReads:
    found = bench.manager.engine.disk
    reads = found._reads  # type: ignore[attr-defined]
    assert isinstance(reads, CachedReads)
    return reads


def correlation(number: int) -> bytes:
    return b"%024d" % number


def number_of(body: bytes) -> int:
    return int(body[-_NUMBER_BYTES:])


def fill(bench: WireBench, count: int = COUNT, size: int = 100) -> None:
    with ostler.connect(bench.manager) as program, program.open(QUEUE, "rw") as opened:
        for number in range(count):
            opened.put(b"%0*d" % (size, number), correlation_id=correlation(number), properties={"n": number})
    spill(bench.manager, QUEUE)


def threads_of(bench: WireBench) -> int:
    return len(bench.manager.reader._threads)


def test_gets_in_order_by_identifier_and_by_selector_need_no_thread(bench: WireBench, reads: CachedReads) -> None:
    fill(bench)
    with ostler.connect(bench.manager) as program, program.open(QUEUE, "rw") as opened:
        found = [number_of(message.body) for _ in range(5) if (message := opened.get()) is not None]
        assert found == [0, 1, 2, 3, 4]
        chosen = opened.get(correlation_id=correlation(150))
        assert chosen is not None
        assert number_of(chosen.body) == 150
        assert [number_of(message.body) for message in opened.browse()][:3] == [5, 6, 7]
    peer = bench.peer(QUEUE)
    assert number_of(peer.ask(wire.GET, get(2)).body) == 5
    assert number_of(peer.ask(wire.GET, get(2, selector=b"n = 100")).body) == 100
    assert (reads.count, threads_of(bench)) == (0, 0)


def test_gets_in_order_read_many_messages_at_once(bench: WireBench, reads: CachedReads) -> None:
    """Each read gives the interpreter up: beside a thread that computes, a read for each message would take long."""
    fill(bench)
    peer = bench.peer(QUEUE)
    for number in range(COUNT):
        assert number_of(peer.ask(wire.GET, get(2), request=100 + number).body) == number
    assert 1 < reads.cached <= COUNT // 16
    assert bench.manager.engine.queues[QUEUE].counters.spill_reads == COUNT, "each once"


def test_a_get_by_identifier_reads_one_message_from_the_cache(bench: WireBench, reads: CachedReads) -> None:
    fill(bench)
    with ostler.connect(bench.manager) as program, program.open(QUEUE, "rw") as opened:
        for number in (7, 150, 20):
            assert opened.get(correlation_id=correlation(number)) is not None
    assert reads.cached == 3
    assert bench.manager.engine.queues[QUEUE].counters.spill_reads == 3


def test_long_messages_are_read_by_threads(bench: WireBench, reads: CachedReads) -> None:
    fill(bench, 1, CACHED_READ_BYTES_MAX)
    peer = bench.peer(QUEUE)
    assert number_of(peer.ask(wire.GET, get(2)).body) == 0
    assert (reads.cached, threads_of(bench)) == (0, 1)


def test_the_longest_message_for_the_cache_is_read_once(bench: WireBench, reads: CachedReads) -> None:
    fill(bench, 1)
    queue = bench.manager.engine.queues[QUEUE]
    overhead = int(extent_length(queue.slots.extents[0])) - 100
    with ostler.connect(bench.manager) as program:
        program.clear(QUEUE)
    with ostler.connect(bench.manager) as program, program.open(QUEUE, "rw") as opened:
        opened.put(bytes(CACHED_READ_BYTES_MAX - overhead), correlation_id=correlation(0), properties={"n": 0})
        spill(bench.manager, QUEUE)
        assert opened.get() is not None
    assert (reads.cached, reads.count) == (1, 0)


def test_messages_behind_the_cached_ones_are_read_by_threads_and_in_order(bench: WireBench, reads: CachedReads) -> None:
    fill(bench)
    queue = bench.manager.engine.queues[QUEUE]
    reads.missing_from = int(extent_offset(queue.slots.extents[70]))
    peer = bench.peer(QUEUE)
    found = [number_of(peer.ask(wire.GET, get(2), request=100 + n).body) for n in range(COUNT)]
    assert found == list(range(COUNT))
    assert reads.count > 0


def test_threads_read_nothing_ahead_that_is_in_the_cache(bench: WireBench, reads: CachedReads) -> None:
    fill(bench)
    reads.missing_from = 0
    peer = bench.peer(QUEUE)
    assert number_of(peer.ask(wire.GET, get(2), request=100).body) == 0
    reads.missing_from = 1 << 60
    found = [number_of(peer.ask(wire.GET, get(2), request=100 + n).body) for n in range(1, COUNT)]
    assert found == list(range(1, COUNT))
    assert reads.count == 1, "the first message and those behind it, together"


def damage(bench: WireBench, offset: int, data: bytes) -> None:
    file = bench.manager.engine.queues[QUEUE].file
    bench.manager.disk.open(file.path, create=False).write_at(offset, [data])


def test_damaged_bytes_in_the_cache_damage_the_queue(bench: WireBench, reads: CachedReads) -> None:
    fill(bench)
    extent = bench.manager.engine.queues[QUEUE].slots.extents[0]
    damage(bench, int(extent_offset(extent)) + RECORD_HEADER_BYTES + 3, b"\xff")
    answer = bench.peer(QUEUE).ask(wire.GET, get(2))
    assert answer.reason == mq.MQRC_OBJECT_DAMAGED
    assert "does not match its checksum" in bench.manager.engine.queues[QUEUE].damaged
    assert reads.count == 1, "a thread has tried again, which could have repaired it"


def test_another_message_in_the_place_of_one_damages_the_queue(bench: WireBench, reads: CachedReads) -> None:
    fill(bench)
    slots = bench.manager.engine.queues[QUEUE].slots
    first, second = int(slots.extents[0]), int(slots.extents[1])
    assert extent_length(first) == extent_length(second)
    file = bench.manager.disk.open(bench.manager.engine.queues[QUEUE].file.path, create=False)
    damage(bench, int(extent_offset(first)), file.read_at(extent_offset(second), extent_length(second)))
    assert bench.peer(QUEUE).ask(wire.GET, get(2)).reason == mq.MQRC_OBJECT_DAMAGED
    assert "found message 2 where 1 was expected" in bench.manager.engine.queues[QUEUE].damaged
    assert (reads.count, threads_of(bench)) == (1, 1), "a thread has tried again"


def test_a_message_that_the_cache_had_is_not_read_again_behind_an_expired_one(
    bench: WireBench, reads: CachedReads
) -> None:
    with ostler.connect(bench.manager) as program, program.open(QUEUE, "rw") as opened:
        opened.put(b"old", correlation_id=correlation(1), expiry=0.1)
        opened.put(b"new", correlation_id=correlation(2))
        spill(bench.manager, QUEUE)
        reads.missing_from = 0
        assert [message.body for message in opened.browse(correlation_id=correlation(1))] == [b"old"]
        assert reads.count == 1
        reads.missing_from = 1 << 60
        with bench.manager.turn as engine:
            queue = engine.queues[QUEUE]
            queue.slots.expiries[0] = engine.now_ms
            assert queue.fetched is not None
            engine.reads.forget(queue.fetched, queue.slots.seqs[1])  # it was read ahead
        message = opened.get()
        assert message is not None
        assert message.body == b"new"
    assert bench.manager.engine.queues[QUEUE].counters.expired == 1
    assert reads.count == 1, "the lock was held while a message was read"


def test_a_get_by_both_identifiers_reads_no_message_with_another_one(bench: WireBench, reads: CachedReads) -> None:
    with ostler.connect(bench.manager) as program, program.open(QUEUE, "rw") as opened:
        for number in range(COUNT):
            opened.put(b"%012d" % number, message_id=b"all the same".ljust(24), correlation_id=correlation(number))
        spill(bench.manager, QUEUE)
        message = opened.get(message_id=b"all the same".ljust(24), correlation_id=correlation(COUNT - 1))
        assert message is not None
        assert number_of(message.body) == COUNT - 1
    assert reads.cached == 1


def test_a_waiting_selector_is_offered_a_message_of_the_file(bench: WireBench, reads: CachedReads) -> None:
    """The offer has two slices, and between them the queue reads another message."""
    waiting = bench.peer(QUEUE)
    waiting.send(wire.frame(wire.GET, 1, 10, get(2, mq.MQGMO_WAIT, 60_000, selector=b"n = 1")))
    bench.turn(2)
    queue = bench.manager.engine.queues[QUEUE]
    assert queue.waiting.selective == 1
    with bench.manager.turn as engine:
        engine.slice_cost = engine.share_cost = 100  # less than reading a message costs
        engine.share_left = 0
    with ostler.connect(bench.manager) as program, program.open(QUEUE, "w") as opened:
        opened.put(b"late", properties={"n": 1})
    spill(bench.manager, QUEUE)
    bench.turn()
    with bench.manager.turn:
        assert queue.offers[0].source is not None
        queue.last_read = None
    assert waiting.answer(10).body.endswith(b"late")
    assert (reads.cached, reads.count, threads_of(bench)) == (2, 0, 0)
