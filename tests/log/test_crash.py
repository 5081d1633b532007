"""Crashes at any point over several lives: what was acknowledged is there, what is there was appended, in order."""

from __future__ import annotations

import contextlib
import dataclasses
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.searching import examples

from ostler.log import LogManagement, LogSettings, LogSpace, LogType, WriteIntegrity
from ostler.testing.simulation.crashing_disk import PowerLost, SimulatedDisk

CIRCULAR = LogSettings(primary_files=3, secondary_files=8, file_pages=3)
PACKED = dataclasses.replace(CIRCULAR, write_integrity=WriteIntegrity.SINGLE_WRITE)
COPIED = dataclasses.replace(CIRCULAR, write_integrity=WriteIntegrity.DOUBLE_WRITE)
LINEAR = dataclasses.replace(CIRCULAR, log_type=LogType.LINEAR)
ARCHIVE = dataclasses.replace(LINEAR, management=LogManagement.ARCHIVE)


def survives_spoiled_pages(settings_: LogSettings) -> bool:
    return settings_.write_integrity is not WriteIntegrity.SINGLE_WRITE


class Account:
    """What the log may and must hold, kept beside it over all lives."""

    def __init__(self) -> None:
        self.records: list[tuple[int, int, bytes]] = []
        self.acknowledged_lsn = 0
        self.restart_lsns = {0}
        self.number = 0

    def next_payload(self, size: int) -> bytes:
        self.number += 1
        return (self.number.to_bytes(4, "little") * (size // 4 + 1))[: max(size, 4)]

    def check(self, life) -> None:
        """Acknowledged is a part of replayed is a part of appended; none twice, none out of order."""
        report = life.log.restart_report
        assert report.restart_lsn in self.restart_lsns
        assert life.log.durable_lsn() >= self.acknowledged_lsn
        last = life.seen[-1][1] if life.seen else max(report.restart_lsn, self.acknowledged_lsn)
        assert last >= self.acknowledged_lsn
        assert life.seen == [record for record in self.records if report.restart_lsn < record[1] <= last]
        # What was not there at this restart must never come back. What was there now counts as acknowledged.
        self.records = [record for record in self.records if record[1] <= last]
        self.acknowledged_lsn = last
        self.restart_lsns = {report.restart_lsn}


def run_life(log_life, disk, settings_, account: Account, steps) -> None:
    life = log_life(disk, settings_)
    account.check(life)
    for step, number in steps:
        if step == "append":
            if life.log.room_bytes() > number:
                payload = account.next_payload(number)
                account.records.append((1, life.append(payload), payload))
        elif step == "commit":
            batch = life.log.take_batch()
            if batch is not None:
                life.writer.write_batch(batch)
                life.log.batch_durable(batch)
                account.acknowledged_lsn = batch.end_lsn
        elif step == "checkpoint":
            # Back to one of the last few records, as a running unit of work would hold it.
            candidates = [lsn for _, lsn, _ in account.records if lsn <= account.acknowledged_lsn]
            restart = candidates[-1 - number % len(candidates)] if candidates else 0
            if restart >= max(account.restart_lsns):
                account.restart_lsns.add(restart)
                life.checkpoint(restart)
                account.restart_lsns = {restart}
                if settings_.log_type is LogType.LINEAR:
                    life.writer.set_media_lsn(restart)
        elif step == "note":
            life.writer.note_end()
        else:
            life.writer.allocate_ahead()


APPEND = st.tuples(st.just("append"), st.one_of(st.integers(0, 300), st.integers(0, 9000)))
OTHER = st.tuples(st.sampled_from(["commit", "commit", "checkpoint", "allocate_ahead", "note"]), st.integers(0, 3))
STEPS = st.lists(st.one_of(APPEND, OTHER), max_size=25)
LIFE = st.tuples(STEPS, st.integers(0, 60), st.integers(0, 2**32), st.sampled_from(["power", "kill", "stop"]))


@settings(max_examples=examples(150), deadline=None)
@given(
    lives=st.lists(LIFE, min_size=2, max_size=5),
    settings_=st.sampled_from([CIRCULAR, PACKED, COPIED, LINEAR, ARCHIVE]),
    garbage=st.booleans(),
)
def test_several_lives_with_a_crash_at_the_end_of_each(log_life, lives, settings_, garbage):
    garbage = garbage and survives_spoiled_pages(settings_)
    disk = SimulatedDisk()
    log_life(disk, settings_)
    account = Account()
    for steps, changes, seed, ending in lives:
        if ending == "power":
            disk.lose_power_after(changes)
        # The log may fill up: the steps have no sense for when a checkpoint is due.
        with contextlib.suppress(PowerLost, LogSpace):
            run_life(log_life, disk, settings_, account, steps)
        disk.lose_power_after(-1)
        if ending != "kill":
            disk = disk.crash(seed, garbage=garbage)
    account.check(log_life(disk, settings_))


def random_steps(chance: random.Random) -> list[tuple[str, int]]:
    weights = {"append": 10, "commit": 6, "checkpoint": chance.choice([1, 4]), "allocate_ahead": 4, "note": 3}
    steps = []
    for step in chance.choices(list(weights), list(weights.values()), k=chance.randrange(50)):
        small = chance.random() < 0.7
        steps.append((step, chance.randrange(600 if small else 9000) if step == "append" else chance.randrange(4)))
    return steps


@pytest.mark.parametrize("seed", range(60))
def test_many_lives_from_a_seed(log_life, seed):
    chance = random.Random(seed)
    choices = chance.choice(
        [[CIRCULAR], [PACKED], [COPIED], [LINEAR], [ARCHIVE], [CIRCULAR, PACKED], [CIRCULAR, COPIED, PACKED]]
    )
    settings_ = choices[0]
    # A device that spoils what it writes needs pages that are final, or copied before.
    garbage_is_safe = True
    disk = SimulatedDisk()
    log_life(disk, settings_)
    account = Account()
    for _ in range(12):
        settings_ = chance.choice(choices)
        garbage_is_safe = garbage_is_safe and survives_spoiled_pages(settings_)
        disk.lose_power_after(chance.choice([-1, chance.randrange(12), chance.randrange(150)]))
        with contextlib.suppress(PowerLost, LogSpace):
            run_life(log_life, disk, settings_, account, random_steps(chance))
        disk.lose_power_after(-1)
        if chance.random() < 0.7:
            disk = disk.crash(chance.randrange(1 << 30), garbage=garbage_is_safe and chance.random() < 0.5)
            garbage_is_safe = True
    account.check(log_life(disk, settings_))
    assert account.number > 0


STORY = [
    ("append", 200),
    ("append", 5000),
    ("commit", 0),
    ("append", 9000),
    ("append", 10),
    ("commit", 0),
    ("note", 0),
    ("allocate_ahead", 0),
    ("append", 3000),
    ("commit", 0),
    ("checkpoint", 0),
    ("allocate_ahead", 0),
    ("append", 9000),
    ("append", 7000),
    ("commit", 0),
    ("checkpoint", 1),
    ("allocate_ahead", 0),
    ("append", 8000),
    ("commit", 0),
    ("note", 0),
    ("append", 100),
    ("commit", 0),
    ("note", 0),
]


@pytest.mark.parametrize(
    "settings_", [CIRCULAR, PACKED, COPIED, LINEAR], ids=["circular", "packed", "copied", "linear"]
)
def test_power_fails_at_every_change_to_the_disk(log_life, settings_):
    changes = 0
    came_through = False
    while not came_through:
        disk = SimulatedDisk()
        log_life(disk, settings_)
        account = Account()
        disk.lose_power_after(changes)
        try:
            run_life(log_life, disk, settings_, account, STORY)
            came_through = True
        except PowerLost:
            pass
        disk.lose_power_after(-1)
        for seed in range(6):
            garbage = seed > 3 and survives_spoiled_pages(settings_)
            survivor = disk.crash(seed, garbage=garbage) if seed else disk.crash_losing_all()
            check_two_more_lives(log_life, survivor, settings_, account)
        check_two_more_lives(log_life, disk.crash_keeping_all(), settings_, account)
        changes += 1
    assert changes > 30


def check_two_more_lives(log_life, disk, settings_, account: Account) -> None:
    copy = Account()
    copy.records = list(account.records)
    copy.acknowledged_lsn = account.acknowledged_lsn
    copy.restart_lsns = set(account.restart_lsns)
    copy.number = account.number
    run_life(log_life, disk, settings_, copy, [("append", 700), ("commit", 0), ("append", 50)])
    copy.check(log_life(disk.crash_losing_all(), settings_))


def test_power_fails_while_a_log_is_made(log_life):
    changes = 0
    while True:
        disk = SimulatedDisk()
        disk.lose_power_after(changes)
        try:
            log_life(disk)
            break
        except PowerLost:
            pass
        disk.lose_power_after(-1)
        killed = disk.copy()
        for survivor in [killed, disk.crash_losing_all(), disk.crash_keeping_all(), disk.crash(1), disk.crash(2)]:
            life = log_life(survivor)
            assert life.seen == []
            life.commit(b"works")
            assert log_life(life.disk.crash_losing_all()).payloads == [b"works"]
        changes += 1
    assert changes > 10


def test_a_killed_process_leaves_writes_that_the_next_life_makes_durable(log_life):
    disk = SimulatedDisk()
    life = log_life(disk)
    life.commit(b"one")
    life.append(b"two")
    batch = life.log.take_batch()
    assert batch is not None
    disk.lose_power_after(1)
    with pytest.raises(PowerLost):
        life.writer.write_batch(batch)
    disk.lose_power_after(-1)
    assert log_life(disk.crash_losing_all()).payloads == [b"one"]
    # The same machine goes on: the page cache still has the write, the next life shows it to everybody.
    assert log_life(disk).payloads == [b"one", b"two"]
    assert log_life(disk.crash_losing_all()).payloads == [b"one", b"two"]


def test_a_control_slot_left_by_a_killed_process_is_forced_before_the_other_is_written(log_life):
    disk = SimulatedDisk()
    life = log_life(disk)
    life.commit(b"one")
    disk.lose_power_after(1)
    with pytest.raises(PowerLost):
        life.checkpoint(0)
    for changes in range(12):
        twin = disk.copy()
        twin.lose_power_after(changes)
        with contextlib.suppress(PowerLost):
            log_life(twin)
        twin.lose_power_after(-1)
        for seed in range(20):
            assert log_life(twin.crash(seed, garbage=True)).payloads == [b"one"]
