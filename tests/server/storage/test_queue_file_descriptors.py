"""More queue files than descriptors: some are closed for others, and nothing fails or is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.server.storage.small_disk import NAME, SmallDisk, body, drain, number_of
from tests.world.wire_bench import Peer, WireBench, dial
from tests.world.world import World

from ostler.engine.core import Engine
from ostler.engine.message.message import MD_BYTES, Message
from ostler.engine.queue.queue_file import OpenFiles, QueueFile
from ostler.log import LogSettings
from ostler.model.attributes import ObjectType
from ostler.model.constants import MQCC_OK, MQRC_RESOURCE_PROBLEM
from ostler.model.definitions import new_definition
from ostler.model.disk import DescriptorsExhausted, DiskFailed, File
from ostler.server.net.accept import Acceptor
from ostler.server.net.local_socket import socket_path
from ostler.server.storage.descriptor_budget import DescriptorBudget, descriptor_budget
from ostler.testing.simulation.crashing_disk import SimulatedDisk


@pytest.fixture
def few(tmp_path: Path) -> Iterator[list[SmallDisk]]:
    made: list[SmallDisk] = []
    yield made
    for each in made:
        each.close()


def started(few: list[SmallDisk], at: Path, descriptors: int) -> SmallDisk:
    disk = SmallDisk(at / "data", descriptors=descriptors)
    few.append(disk)
    disk.create(primary=3, secondary=5, pages=1024)
    disk.start()
    return disk


def define(disk: SmallDisk, count: int) -> list[str]:
    names = [f"Q.{number}" for number in range(count)]
    for first in range(0, count, 500):
        disk.define(*names[first : first + 500])
    return names


def take_link(disk: SmallDisk, links: list[Peer]) -> bool:
    """One socket more in use, by an application that is connected. False: there is no room for it."""
    peer = dial(str(socket_path(disk.directory)))
    try:
        if peer.hello().completion == MQCC_OK and peer.connect().completion == MQCC_OK:
            links.append(peer)
            return True
    except (AssertionError, OSError):
        pass
    peer.sock.close()
    return False


def test_a_checkpoint_of_more_queues_than_descriptors(few: list[SmallDisk], tmp_path: Path) -> None:
    disk = started(few, tmp_path, 1_024)
    names = define(disk, 1_500)
    with disk.connect() as connection:
        for number, name in enumerate(names):
            connection.put(name, body(number, 50), persistent=True)
    disk.end()
    disk.start()
    with disk.connect() as connection:
        for number, name in enumerate(names):
            with connection.open(name, "r") as queue:
                message = queue.get()
                assert message is not None
                assert number_of(message) == number
    disk.end()


def test_many_files_while_all_links_are_in_use(few: list[SmallDisk], tmp_path: Path) -> None:
    limit = 128
    disk = started(few, tmp_path, limit)
    names = define(disk, 400)
    links: list[Peer] = []
    try:
        with disk.connect() as connection:
            while len(links) < limit and take_link(disk, links):
                pass
            assert len(links) < limit, "there is no end of links"
            for number, name in enumerate(names):
                with connection.open(name, "w") as queue:
                    for part in range(3):
                        queue.put(body(3 * number + part, 100_000), persistent=True, syncpoint=False)
            assert disk.is_alive(), disk.errors()
            for number, name in enumerate(names):
                with connection.open(name, "r") as queue:
                    assert drain(queue) == [3 * number, 3 * number + 1, 3 * number + 2]
        assert len(list(Path(f"/proc/{disk.process}/fd").iterdir())) <= limit
    finally:
        for link in links:
            link.sock.close()
    disk.end()


def test_what_was_put_is_there_after_a_kill(few: list[SmallDisk], tmp_path: Path) -> None:
    disk = started(few, tmp_path, 128)
    names = define(disk, 100)
    with disk.connect() as connection:
        for number, name in enumerate(names):
            with connection.open(name, "w") as queue:
                for part in range(10):
                    queue.put(body(10 * number + part, 60_000), persistent=True, syncpoint=False)
    disk.kill()
    disk.start()
    with disk.connect() as connection:
        for number, name in enumerate(names):
            with connection.open(name, "r") as queue:
                assert drain(queue) == list(range(10 * number, 10 * number + 10))
    done = disk.command("runmqsc", NAME, text="DISPLAY QMGR QMNAME\n")
    assert done.returncode == 0, done.stdout


# -- which file is closed, and what becomes of its writes


class CountingDisk(SimulatedDisk):
    """Lets so many files be open, as a process with few descriptors."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.limit = 1 << 30

    def open(self, path: str, create: bool) -> File:
        if len(self.opened) >= self.limit:
            raise DescriptorsExhausted(f"{path}: too many open files")
        return CountedFile(super().open(path, create), path, self.opened)


class CountedFile(File):
    def __init__(self, file: File, path: str, opened: list[str]) -> None:
        self._file = file
        self._path = path
        self._opened = opened
        opened.append(path)

    def read_at(self, offset: int, length: int) -> bytes:
        return self._file.read_at(offset, length)

    def write_at(self, offset: int, parts: object) -> None:
        self._file.write_at(offset, parts)  # type: ignore[arg-type]

    def force(self) -> None:
        self._file.force()

    def size_bytes(self) -> int:
        return self._file.size_bytes()

    def truncate(self, size_bytes: int) -> None:
        self._file.truncate(size_bytes)

    def close(self) -> None:
        if self._path in self._opened:
            self._opened.remove(self._path)
        self._file.close()


def spilled(disk: CountingDisk, count: int, limit: int) -> tuple[World, list[str]]:
    """A world whose queues all have messages in their files."""
    settings = LogSettings(primary_files=3, secondary_files=2, file_pages=1024)
    world = World.create(disk=disk, buffer_bytes=4_096, settings=settings)
    world.engine.open_files.limit = limit
    names = [f"Q{number}" for number in range(count)]
    application = world.connect()
    for name in names:
        world.define_queue(name)
        handle = world.open(application, name, 0x10)
        for part in range(4):
            put = world.put(application, handle, f"{name}.{part}".encode().ljust(100_000))
            assert put.reason == 0
            world.acknowledge(put.lsn)
            world.housekeep()
    return world, names


def test_no_more_files_are_open_than_the_budget_has() -> None:
    disk = CountingDisk()
    world, names = spilled(disk, 20, 5)
    assert len([path for path in disk.opened if path.endswith("messages")]) <= 5
    assert all(len(world.bodies(name)) == 4 for name in names)
    assert len(world.engine.open_files.open) <= 5
    world.checkpoint()
    world.lose_power(seed=3)
    world.restart()
    assert all(len(world.bodies(name)) == 4 for name in names)


def test_without_a_descriptor_the_file_used_longest_ago_makes_room() -> None:
    disk = CountingDisk()
    world, names = spilled(disk, 6, 1 << 30)
    world.checkpoint()
    disk.limit = len(disk.opened)
    world.engine.queues[names[0]].file.close()
    disk.opened.append("somebody else")
    world.bodies(names[1])
    world.bodies(names[0])
    is_open = [queue.file.file is not None for queue in world.engine.queues_by_id.values()]
    assert is_open[0]
    assert is_open[1]
    assert not is_open[2]


def test_a_get_that_finds_no_descriptor_at_all_is_refused_and_nothing_else() -> None:
    disk = CountingDisk()
    world, names = spilled(disk, 3, 1 << 30)
    world.checkpoint()
    for queue in world.engine.queues_by_id.values():
        queue.file.close()
        queue.last_read = None
    disk.limit = len(disk.opened)
    application = world.connect()
    handle = world.open(application, names[0], 0x2)
    for _ in range(4):
        request = world.get(application, handle)
        if request.reason:
            break
    assert request.reason == MQRC_RESOURCE_PROBLEM
    disk.limit = 1 << 30
    assert world.get(application, handle).reason == 0


def test_a_file_with_unforced_writes_is_forced_before_it_is_closed() -> None:
    disk = CountingDisk()
    world, names = spilled(disk, 4, 1 << 30)
    file = world.engine.queues[names[0]].file
    assert file.is_dirty
    files = world.engine.open_files
    while files.close_one():
        pass
    assert not file.is_dirty
    assert not files.open
    after = disk.crash_losing_all()
    for queue in world.engine.queues_by_id.values():
        stored = after.open(queue.file.path, False) if after.exists(queue.file.path) else None
        assert stored is None or stored.size_bytes() > 0


def test_a_force_that_failed_when_a_file_was_closed_is_told_by_the_checkpoint() -> None:
    disk = CountingDisk()
    world, _ = spilled(disk, 2, 1 << 30)
    disk.fail_force(2)
    while world.engine.open_files.close_one():
        pass
    with pytest.raises(DiskFailed):
        world.checkpoint()


class ForcedMeanwhile(CountedFile):
    """A checkpoint forces the file while a write to it is under way."""

    force_meanwhile: Callable[[], None] | None = None
    forces = 0

    def write_at(self, offset: int, parts: object) -> None:
        if self.force_meanwhile is not None:
            self.force_meanwhile()
        super().write_at(offset, parts)

    def force(self) -> None:
        self.forces += 1
        super().force()


class DiskOfOne(SimulatedDisk):
    def open(self, path: str, create: bool) -> File:
        self.file = ForcedMeanwhile(super().open(path, create), path, [])
        return self.file


def test_what_is_written_during_a_force_is_forced_by_the_next_one() -> None:
    disk = DiskOfOne()
    file = QueueFile(disk, "queues/Q.1/messages", OpenFiles())
    message = Message(bytes(MD_BYTES), b"", b"first", 1)
    file.write([message])
    disk.file.force_meanwhile = file.force
    file.write([Message(bytes(MD_BYTES), b"", b"second", 2)])
    assert disk.file.forces == 1
    file.force()
    assert disk.file.forces == 2


def test_a_clean_file_is_closed_before_one_that_would_have_to_be_forced() -> None:
    engine = Engine("QM", SimulatedDisk(), World.create().engine.journal, new_definition(ObjectType.QMGR, "QM", {}))
    names = ["A", "B", "C"]
    files = [engine.add_queue(new_definition(ObjectType.QLOCAL, name, {}), ord(name)).file for name in names]
    for file in files:
        file.open_file()
    files[0].is_dirty = True
    files[1].is_pinned = True
    assert engine.open_files.close_one()
    assert [file.file is None for file in files] == [False, False, True]
    assert engine.open_files.close_one()
    assert [file.file is None for file in files] == [True, False, True]
    assert not engine.open_files.close_one()


def test_the_budget_leaves_descriptors_for_everybody() -> None:
    budget = descriptor_budget(128, 8)
    assert budget.queue_files >= 4
    assert budget.links >= 32


def test_queue_files_make_way_for_links_that_borrow_their_descriptors(wire_bench: WireBench) -> None:
    acceptor = Acceptor(wire_bench.server)
    acceptor._budget = DescriptorBudget(limit=100, other=20, log=10, local=10, queue_files=50, links=2)
    acceptor.links_max = 8
    engine = wire_bench.manager.engine
    engine.open_files.limit = 50
    names = [f"Q{number}" for number in range(50)]
    for name in names:
        wire_bench.define(name)
        engine.queues[name].file.open_file()
    peers = [wire_bench.peer() for _ in range(6)]
    acceptor._borrow_descriptors()
    assert (engine.open_files.limit, len(engine.open_files.open)) == (46, 46)
    for peer in peers:
        peer.close()
    wire_bench.turn()
    acceptor._borrow_descriptors()
    assert engine.open_files.limit == 50
