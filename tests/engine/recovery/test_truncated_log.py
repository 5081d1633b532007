"""A log truncated at every byte: a restart restores the state of the last complete write, and nothing else."""

from __future__ import annotations

from copy import deepcopy

import pytest
from tests.world.model_checked_world import ModelCheckedWorld
from tests.world.world import World

from ostler.log import LogSettings
from ostler.log.stream_format import PAGE_BYTES, next_page
from ostler.model.constants import MQGMO_SYNCPOINT
from ostler.testing.simulation.audit import audit_engine
from ostler.testing.simulation.crashing_disk import PowerLost, SimulatedDisk

LOG = LogSettings(primary_files=2, secondary_files=1, file_pages=24)
FIRST_EXTENT = "log/active/S0000000.LOG"


class Story:
    """A short history, and where each of its writes to the log begins and ends."""

    def __init__(self) -> None:
        self.compared = ModelCheckedWorld(World.create(settings=LOG))
        compared = self.compared
        compared.define("Q", is_fifo=False, keeps=False, depth=5000, is_acknowledged=True)
        compared.put(0, "Q", is_persistent=True)
        compared.put(0, "Q", is_persistent=True)
        compared.checkpoint()
        self.cuts_begin = self.world.log.end_lsn()
        self.writes: list[tuple[int, int]] = []
        compared.put(1, "Q", syncpoint=True)
        compared.get(1, "Q", options=MQGMO_SYNCPOINT)
        self._write()  # neither of them is committed yet
        compared.commit(1, is_acknowledged=False)
        self._write()
        compared.get(0, "Q", is_acknowledged=False)
        compared.put(2, "Q", syncpoint=True, priority=4)
        compared.prepare(2, is_acknowledged=False)
        compared.put(0, "Q", priority=9, is_acknowledged=False)
        self._write()
        compared.put(1, "Q", syncpoint=True)
        compared.get(1, "Q", options=MQGMO_SYNCPOINT)
        compared.back_out(1)
        compared.resolve(0, is_committed=True, is_acknowledged=False)
        self._write()

    @property
    def world(self) -> World:
        return self.compared.world

    def _write(self) -> None:
        begin = next_page(self.world.log.durable_lsn())
        self.writes.append((begin, self.world.force()))

    def restarted(self, disk: SimulatedDisk) -> ModelCheckedWorld:
        """Restart from this disk, and compare the state with its log."""
        world = World(disk, LOG, self.world.buffer_bytes)
        world.restart()
        audit_engine(world.engine)
        after = ModelCheckedWorld(world)
        after.twin = deepcopy(self.compared.twin)
        after.twin.crashed(world.log.restart_report.end_lsn)
        after.look()
        return after


@pytest.fixture(scope="module")
def story() -> Story:
    return Story()


def cut_disk(story: Story, lsn: int, rest: bytes) -> SimulatedDisk:
    """The disk as it would be if the log had been written up to this byte only."""
    disk = story.world.disk.copy()
    end = story.world.log.end_lsn()
    behind = (rest * (end - lsn))[: end - lsn]
    disk.corrupt(FIRST_EXTENT, PAGE_BYTES + lsn, behind)
    return disk


def test_the_story_is_in_one_extent(story: Story) -> None:
    assert story.writes[-1][1] < (LOG.file_pages - 1) * PAGE_BYTES
    assert [begin % PAGE_BYTES for begin, _ in story.writes] == [0, 0, 0, 0]


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("rest", [b"\0", b"\xa5"])
def test_the_log_cut_at_every_byte_of_a_write(story: Story, number: int, rest: bytes) -> None:
    begin, end = story.writes[number]
    before = story.writes[number - 1][1] if number else story.cuts_begin
    written = story.world.disk.open(FIRST_EXTENT, False).read_at(PAGE_BYTES + begin, end - begin)
    last = begin + len(written.rstrip(rest))  # a cut behind this changes nothing
    for lsn in range(begin, last):
        after = story.restarted(cut_disk(story, lsn, rest))
        assert after.world.log.restart_report.end_lsn == next_page(before), f"cut at {lsn}"


def test_a_whole_write_counts_to_its_last_byte(story: Story) -> None:
    for _, end in story.writes:
        after = story.restarted(cut_disk(story, end, b"\0"))
        assert after.world.log.restart_report.end_lsn == next_page(end)


def test_a_restart_cut_off_is_done_again(story: Story) -> None:
    """A power failure during a restart does not change the state that the next restart finds."""
    changes = 0
    while True:
        disk = story.world.disk.copy()
        disk.lose_power_after(changes)
        world = World(disk, LOG, story.world.buffer_bytes)
        try:
            world.restart()
            break
        except PowerLost:
            disk.lose_power_after(-1)
        for seed in range(3):
            story.restarted(disk.crash(seed))
        changes += 1
    assert changes > 3
