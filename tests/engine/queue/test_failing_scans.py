"""Scans and offers without memory or descriptor to read a message: one request fails, no message is lost."""

from __future__ import annotations

import pytest
from tests.world.world import World

from ostler.engine.connection import Connection
from ostler.engine.get import get, new_request, resume_work
from ostler.engine.handle import Handle
from ostler.engine.message.message import NULL_ID
from ostler.engine.queue.get_request import BY_SCAN, GetRequest
from ostler.engine.selectors.selector import compile_selector
from ostler.log import LogSettings
from ostler.model import constants as mq
from ostler.model.disk import DescriptorsExhausted, File
from ostler.testing.simulation.crashing_disk import SimulatedDisk

WAIT = mq.MQGMO_WAIT | mq.MQGMO_NO_SYNCPOINT


class FailingDisk(SimulatedDisk):
    """Queue files cannot be opened or read while `failure` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.failure: Exception | None = None

    def open(self, path: str, create: bool) -> File:
        if isinstance(self.failure, DescriptorsExhausted) and path.endswith("/messages"):
            raise self.failure
        return FailingFile(super().open(path, create), self)


class FailingFile(File):
    def __init__(self, file: File, disk: FailingDisk) -> None:
        self._file = file
        self._disk = disk

    def read_at(self, offset: int, length: int) -> bytes:
        if isinstance(self._disk.failure, MemoryError):
            raise self._disk.failure
        return self._file.read_at(offset, length)

    def write_at(self, offset: int, parts: list[bytes]) -> None:
        self._file.write_at(offset, parts)

    def force(self) -> None:
        self._file.force()

    def size_bytes(self) -> int:
        return int(self._file.size_bytes())

    def truncate(self, size_bytes: int) -> None:
        self._file.truncate(size_bytes)

    def close(self) -> None:
        self._file.close()


class Site:
    """A queue of 20 long messages that are in its file, and an application."""

    def __init__(self) -> None:
        self.disk = FailingDisk()
        settings = LogSettings(primary_files=3, secondary_files=2, file_pages=1024)
        self.world = World.create(disk=self.disk, buffer_bytes=4_096, settings=settings)
        self.engine = self.world.engine
        self.engine.owner_signal.waker = lambda: None
        self.queue = self.world.define_queue("Q")
        self.application: Connection = self.world.connect()
        self.handle: Handle = self.world.open(self.application, "Q", 0x12)

    def put(self, body: bytes) -> None:
        put = self.world.put(self.application, self.handle, body.ljust(50_000))
        assert put.reason == 0
        self.world.acknowledge(put.lsn)

    def fill(self) -> None:
        for number in range(20):
            self.put(b"%d" % number)
        self.forget()

    def forget(self) -> None:
        """Nothing of the queue is in memory, and its file is closed."""
        self.world.checkpoint()
        self.queue.write_spill()
        self.queue.last_read = None
        self.queue.file.close()

    def ask(self, selector: str, options: int, wait_ms: int) -> GetRequest:
        request = new_request(self.application, self.handle, options, 0, NULL_ID, NULL_ID, 1 << 20)
        request.selector = compile_selector(selector)
        request.kind = BY_SCAN
        request.wait_ms = wait_ms
        request.may_pause = True
        get(self.engine, request)
        return request


@pytest.fixture
def site() -> Site:
    return Site()


FAILURES = [
    (MemoryError(), mq.MQRC_STORAGE_NOT_AVAILABLE),
    (DescriptorsExhausted("too many open files"), mq.MQRC_RESOURCE_PROBLEM),
]


@pytest.mark.parametrize(("failure", "reason"), FAILURES)
def test_a_scan_that_cannot_continue_fails(site: Site, failure: Exception, reason: int) -> None:
    site.fill()
    site.engine.slice_cost = site.engine.share_cost = 300
    request = site.ask("Root.MQMD.Priority > 9", mq.MQGMO_NO_SYNCPOINT, 0)
    assert request.is_scanning
    site.forget()
    site.disk.failure = failure
    while site.engine.has_pending_work():
        resume_work(site.engine)
    assert (request.done, request.reason) == (True, reason)
    assert request in site.engine.woken
    assert site.queue.waiting.count == 0
    assert site.engine.answering == 0


@pytest.mark.parametrize(("failure", "reason"), FAILURES)
def test_a_message_that_cannot_be_read_is_offered_later(site: Site, failure: Exception, reason: int) -> None:
    request = site.ask("Root.MQMD.Priority >= 0", WAIT, -1)
    assert request.waiting
    site.engine.share_left = 0
    site.put(b"a")
    site.put(b"b")
    assert site.engine.has_pending_work()
    site.forget()
    site.disk.failure = failure
    for _ in range(3):
        resume_work(site.engine)
    assert (site.engine.answering, request.done, site.queue.depth) == (0, False, 2)
    site.disk.failure = None
    while site.engine.has_pending_work():
        resume_work(site.engine)
    assert request.body.rstrip() == b"a"
    assert request.reason != reason


@pytest.mark.parametrize("is_commit", [True, False])
@pytest.mark.parametrize(("failure", "reason"), FAILURES)
def test_a_unit_of_work_ends_whole_when_its_messages_cannot_be_read(
    site: Site, failure: Exception, reason: int, is_commit: bool
) -> None:
    writer = site.world.connect()
    handle = site.world.open(writer, "Q", 0x12)
    for number in range(3):
        put = site.world.put(writer, handle, (b"%d" % number).ljust(50_000), syncpoint=is_commit)
        assert put.reason == 0
    if not is_commit:
        assert [site.world.get(writer, handle, mq.MQGMO_SYNCPOINT).reason for _ in range(3)] == [0, 0, 0]
    site.forget()
    request = new_request(site.application, site.handle, WAIT, 0, NULL_ID, NULL_ID, 1 << 20)
    request.wait_ms = -1
    assert not get(site.engine, request)
    site.disk.failure = failure
    if is_commit:
        site.world.commit(writer)
    else:
        site.world.back_out(writer)
    assert (request.done, request.reason) == (True, reason)
    site.disk.failure = None
    assert site.engine.units_of_work == {}
    left = [site.world.get(site.application, site.handle).body.rstrip() for _ in range(3)]
    assert left == [b"0", b"1", b"2"]
