"""Files of a queue manager that do not belong together: older copies, foreign files, missing files.

Each time the start is refused, or the queue is damaged, or everything is there. Never is something missing unsaid.
"""

from __future__ import annotations

import tarfile
from itertools import combinations
from pathlib import Path

import pytest
from tests.world.world import World

from ostler.engine.recovery.snapshot import FilesUnrelated, SnapshotDamaged
from ostler.log import LogDamaged, LogError, LogSettings
from ostler.model.constants import MQGMO_BROWSE_FIRST, MQGMO_BROWSE_NEXT, MQOO_BROWSE, MQOO_INPUT_SHARED, MQOO_OUTPUT
from ostler.model.errors import MQError
from ostler.testing.simulation.audit import audit_engine
from ostler.testing.simulation.crashing_disk import PowerLost, SimulatedDisk

LOG = LogSettings(primary_files=4, secondary_files=2, file_pages=64)
REFUSED = (SnapshotDamaged, FilesUnrelated, LogError)
ALL = MQOO_OUTPUT | MQOO_INPUT_SHARED | MQOO_BROWSE
DATA = Path(__file__).parents[2] / "data"


def put_all(world: World, name: str, bodies: list[bytes]) -> None:
    application = world.connect()
    handle = world.open(application, name, ALL)
    for body in bodies:
        answer = world.put(application, handle, body)
        assert answer.reason == 0
        world.acknowledge(answer.lsn)
    world.disconnect(application)


def take(world: World, name: str, count: int) -> None:
    application = world.connect()
    handle = world.open(application, name, ALL)
    for _ in range(count):
        assert world.get(application, handle).reason == 0
    world.force()
    world.disconnect(application)


class History:
    """Three moments of one queue manager, each right after a crash, with what it had to have then."""

    def __init__(self, seed: int) -> None:
        world = World.create(seed, settings=LOG)
        self.world = world
        self.disks: list[SimulatedDisk] = []
        self.expected: list[dict[str, list[bytes]]] = []
        world.define_queue("OLD")
        world.define_queue("GONE")
        put_all(world, "OLD", [b"old %d" % number for number in range(6)])
        put_all(world, "GONE", [b"gone"])
        world.checkpoint()
        put_all(world, "OLD", [b"behind the first checkpoint"])
        self.moment()
        world.define_queue("NEW")
        put_all(world, "NEW", [b"new %d" % number for number in range(6)])
        take(world, "OLD", 2)
        world.acknowledge(world.delete_queue("GONE", purge=True))
        world.checkpoint()
        put_all(world, "NEW", [b"behind the second checkpoint"])
        self.moment()
        put_all(world, "OLD", [b"the last"])
        take(world, "NEW", 3)
        world.checkpoint()
        put_all(world, "NEW", [b"behind the third checkpoint"])
        world.log.writer.note_end()
        self.moment()

    def moment(self) -> None:
        disk = self.world.disk.copy()
        self.disks.append(disk)
        self.expected.append({name: self.world.bodies(name) for name in self.world.engine.queues})


@pytest.fixture(scope="module")
def history() -> History:
    return History(1)


def paths(disk: SimulatedDisk, directory: str = "") -> list[str]:
    found: list[str] = []
    for name in disk.names(directory):
        path = f"{directory}/{name}" if directory else name
        below = paths(disk, path)
        found += below or [path]
    return found


def take_from(target: SimulatedDisk, source: SimulatedDisk, path: str) -> None:
    """Put the source's file in place of the target's, or remove it when the source has none."""
    target.remove(path)
    if not source.exists(path):
        return
    target.make_directory(path.rpartition("/")[0])
    old = source.open(path, False)
    file = target.open(path, True)
    file.write_at(0, [old.read_at(0, old.size_bytes())])
    file.force()


def start(disk: SimulatedDisk) -> World:
    world = World(disk, LOG, 4096)
    world.restart()
    return world


def queue_is_right(world: World, name: str, expected: list[bytes]) -> bool:
    """Return True when a queue is complete or reports damage."""
    try:
        browser = world.connect()
        handle = world.open(browser, name, MQOO_BROWSE)
    except MQError:
        return bool(world.engine.queues[name].damaged)
    found: list[bytes] = []
    request = world.get(browser, handle, MQGMO_BROWSE_FIRST)
    while request.reason == 0:
        found.append(request.body)
        request = world.get(browser, handle, MQGMO_BROWSE_NEXT)
    return found == expected or bool(world.engine.queues[name].damaged)


def start_is_honest(disk: SimulatedDisk, expected: dict[str, list[bytes]]) -> str:
    """Return the outcome of a start: refused, damaged or whole. A silent loss fails the test."""
    try:
        world = start(disk)
    except REFUSED:
        return "refused"
    assert set(world.engine.queues) == set(expected)
    assert all(queue_is_right(world, name, bodies) for name, bodies in expected.items())
    return "damaged" if any(queue.damaged for queue in world.engine.queues_by_id.values()) else "whole"


def test_each_moment_starts(history: History) -> None:
    for disk, expected in zip(history.disks, history.expected, strict=True):
        assert start_is_honest(disk.copy(), expected) == "whole"


GROUPS = ("objects", "checkpoint", "log/amqhlctl.lfh", "log/active", "slots", "messages")


def members(group: str, *disks: SimulatedDisk) -> list[str]:
    known = {path for disk in disks for path in paths(disk)}
    return sorted(p for p in known if p == group or p.startswith(f"{group}/") or p.endswith(f"/{group}"))


@pytest.mark.parametrize("moment", [0, 1])
@pytest.mark.parametrize("count", range(1, len(GROUPS)))
def test_older_copies_of_some_files_never_lose_anything_unsaid(history: History, moment: int, count: int) -> None:
    newest, older = history.disks[-1], history.disks[moment]
    outcomes = {}
    for chosen in combinations(GROUPS, count):
        disk = newest.copy()
        for group in chosen:
            for path in members(group, newest, older):
                take_from(disk, older, path)
        # All that speaks of the state is older: a backup, restored. What is left of the newer one is messages alone.
        is_backup = {"checkpoint", "log/amqhlctl.lfh", "log/active", "slots"} <= set(chosen)
        is_backup = is_backup and (moment == 1 or "objects" in chosen)
        outcomes[chosen] = start_is_honest(disk, history.expected[moment if is_backup else -1])
    if count == 1:
        assert outcomes[("checkpoint",)] == outcomes[("log/active",)] == outcomes[("log/amqhlctl.lfh",)] == "refused"
        # No object changed between the second and the third checkpoint: that catalogue is the same.
        assert outcomes[("objects",)] == ("whole" if moment else "refused")
        assert outcomes[("slots",)] == "damaged"


def test_an_older_catalogue_is_named_with_both_checkpoints(history: History) -> None:
    disk = history.disks[-1].copy()
    take_from(disk, history.disks[0], "objects")
    with pytest.raises(FilesUnrelated, match=r"^objects is older than checkpoint: checkpoint 1 .* of checkpoint 2 "):
        start(disk)


def test_an_older_manifest_is_named_with_both_checkpoints(history: History) -> None:
    disk = history.disks[-1].copy()
    take_from(disk, history.disks[0], "checkpoint")
    with pytest.raises(
        FilesUnrelated, match=r"^checkpoint is older than the log: it has checkpoint 1 .* checkpoint 3 "
    ):
        start(disk)


def test_an_older_log_is_refused_as_older_than_the_checkpoint(history: History) -> None:
    disk = history.disks[-1].copy()
    for group in ("log/amqhlctl.lfh", "log/active"):
        for path in members(group, disk, history.disks[0]):
            take_from(disk, history.disks[0], path)
    with pytest.raises(FilesUnrelated, match=r"^checkpoint is newer than the log"):
        start(disk)


@pytest.mark.parametrize("count", [1, 2])
def test_files_that_are_gone_never_lose_anything_unsaid(history: History, count: int) -> None:
    whole = history.disks[-1]
    for gone in combinations(paths(whole), count):
        disk = whole.copy()
        for path in gone:
            disk.remove(path)
        outcome = start_is_honest(disk, history.expected[-1])
        assert outcome in ("refused", "damaged"), gone


@pytest.mark.parametrize("group", ["objects", "checkpoint", "instance", "log/amqhlctl.lfh", "log/active", "slots"])
def test_files_of_another_queue_manager_are_refused(history: History, group: str) -> None:
    other = History(2).disks[-1]
    disk = history.disks[-1].copy()
    for path in members(group, disk, other):
        take_from(disk, other, path)
    assert start_is_honest(disk, history.expected[-1]) == ("damaged" if group == "slots" else "refused")


def test_the_newest_extent_cut_anywhere_is_refused_with_file_and_offset(history: History) -> None:
    whole = history.disks[-1]
    newest = members("log/active", whole)
    for path in newest:
        for size in [*range(0, 64 * 4096, 4096 * 3 + 1), 64 * 4096 - 1]:
            disk = whole.copy()
            disk.open(path, False).truncate(size)
            with pytest.raises(LogDamaged) as refused:
                start(disk)
            assert (refused.value.file, refused.value.offset) == (path, size)


# -- crash points ----------------------------------------------------------------------------------------------------


def busy(seed: int) -> World:
    """A world before a checkpoint that has everything to do: new, changed and deleted queues."""
    world = World.create(seed, settings=LOG)
    world.define_queue("OLD")
    world.define_queue("GONE")
    put_all(world, "OLD", [b"old %d" % number for number in range(4)])
    put_all(world, "GONE", [b"gone"])
    world.checkpoint()
    world.define_queue("NEW")
    put_all(world, "NEW", [b"new"])
    take(world, "OLD", 1)
    world.acknowledge(world.delete_queue("GONE", purge=True))
    return world


def test_a_checkpoint_that_the_power_cut_off_anywhere_starts_again() -> None:
    expected = {"OLD": [b"old 1", b"old 2", b"old 3"], "NEW": [b"new"]}
    changes = 0
    while True:
        world = busy(3)
        world.disk.lose_power_after(changes)
        try:
            world.checkpoint()
            is_through = True
        except PowerLost:
            is_through = False
        world.disk.lose_power_after(-1)
        for disk in [world.disk.copy(), *(world.disk.crash(seed) for seed in range(4))]:
            after = start(disk)
            audit_engine(after.engine)
            assert {name: after.bodies(name) for name in after.engine.queues} == expected, changes
            # The interrupted one does not stand in the way of the next.
            after.checkpoint()
            after.kill()
            after.restart()
            assert {name: after.bodies(name) for name in after.engine.queues} == expected, changes
        if is_through:
            break
        changes += 1
    assert changes > 15


# -- the release before ----------------------------------------------------------------------------------------------


def sample(name: str) -> SimulatedDisk:
    disk = SimulatedDisk()
    with tarfile.open(DATA / f"{name}.tar.xz") as archive:
        for entry in archive.getmembers():
            path = entry.name.partition("/")[2].partition("/")[2]
            if entry.isdir() and path:
                disk.make_directory(path)
            elif entry.isfile():
                content = archive.extractfile(entry)
                assert content is not None
                file = disk.open(path, True)
                file.write_at(0, [content.read()])
                file.force()
                disk.force_directory(path.rpartition("/")[0])
    return disk


@pytest.mark.parametrize("ending", ["ended", "killed"])
def test_a_conversion_that_the_power_cut_off_anywhere_goes_on(ending: str) -> None:
    settings = LogSettings(primary_files=2, secondary_files=1, file_pages=64)
    whole = sample(f"format-1-{ending}")
    changes = 0
    while True:
        disk = whole.copy()
        disk.lose_power_after(changes)
        world = World(disk, settings, 4096)
        world.name = "SAMPLE"
        try:
            world.restart()
            world.checkpoint()
            is_through = True
        except PowerLost:
            is_through = False
        disk.lose_power_after(-1)
        for crashed in [disk, *(disk.crash(seed) for seed in range(3))]:
            after = World(crashed, settings, 4096)
            after.name = "SAMPLE"
            after.restart()
            assert len(after.bodies("ORDERS")) == 14, changes
            assert after.bodies("INVOICES") == [b"long " * 4000]
            assert "DELETED" not in after.engine.queues
        if is_through:
            break
        changes += 1
    assert changes > 15
