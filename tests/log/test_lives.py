"""The lives of a replicated log: appended, read back, torn, damaged, of a newer release."""

from __future__ import annotations

from contextlib import suppress
from zlib import crc32

import pytest

from ostler.log.errors import LogDamaged, LogNewer, LogSpace
from ostler.log.lives import ENTRY_BYTES, HEAD_BYTES, append_life, create_lives, has_lives, read_lives
from ostler.model.log_life import Life
from ostler.testing.simulation.crashing_disk import PowerLost, SimulatedDisk

IDENTITY = bytes(range(16))
LIVES = [
    Life(1, 0, "alpha", 7, 1_700_000_000),
    Life(2, 4096, "bravo", 9, 1_700_000_100),
    Life(5, 9000, "ägypten", 12, 0),
]


def made(count: int = 3) -> SimulatedDisk:
    disk = SimulatedDisk()
    disk.make_directory("log")
    disk.force_directory("")
    create_lives(disk, "log", IDENTITY, LIVES[:1])
    known = LIVES[:1]
    for each in LIVES[1:count]:
        append_life(disk, "log", known, each)
    return disk


def test_lives_are_read_as_they_were_noted() -> None:
    disk = made().crash_losing_all()
    assert has_lives(disk, "log")
    assert read_lives(disk, "log", IDENTITY, 5) == LIVES


def test_a_life_that_the_control_file_does_not_know_never_began() -> None:
    disk = made()
    known = read_lives(disk, "log", IDENTITY, 2)
    assert known == LIVES[:2]
    other = Life(3, 8192, "charlie", 11, 0)
    append_life(disk, "log", known, other)
    assert read_lives(disk, "log", IDENTITY, 3) == [*LIVES[:2], other]


@pytest.mark.parametrize("seed", range(60))
def test_a_crash_while_a_life_is_noted_takes_no_earlier_one(seed: int) -> None:
    disk = made(2)
    known = LIVES[:2]
    disk.lose_power_after(seed % 4)
    with suppress(PowerLost):
        append_life(disk, "log", known, LIVES[2])
    assert read_lives(disk.crash(seed), "log", IDENTITY, 2) == LIVES[:2]
    found = read_lives(disk.crash(seed), "log", IDENTITY, 5)
    assert found in (LIVES[:2], LIVES)


def test_damage_is_told() -> None:
    disk = made()
    disk.corrupt("log/lives", HEAD_BYTES + ENTRY_BYTES + 9, b"\xa5")
    with pytest.raises(LogDamaged, match=f"lives is damaged at offset {HEAD_BYTES + ENTRY_BYTES}: an entry fails"):
        read_lives(disk, "log", IDENTITY, 5)
    with pytest.raises(LogDamaged, match="another log"):
        read_lives(made(), "log", bytes(16), 5)
    disk = made()
    disk.corrupt("log/lives", 3, b"x")
    with pytest.raises(LogDamaged, match="no header"):
        read_lives(disk, "log", IDENTITY, 5)
    disk = made()
    disk.corrupt("log/lives", 14, b"x")
    with pytest.raises(LogDamaged, match="header fails its checksum"):
        read_lives(disk, "log", IDENTITY, 5)


def test_a_newer_format_is_refused_with_both_numbers() -> None:
    disk = made()
    head = b"OSTLERLV" + (9).to_bytes(4, "little") + IDENTITY
    disk.corrupt("log/lives", 0, head + crc32(head).to_bytes(4, "little"))
    with pytest.raises(LogNewer, match=r"format version 9; this release reads up to 1"):
        read_lives(disk, "log", IDENTITY, 5)


def test_lives_that_cannot_follow_each_other_are_damage() -> None:
    disk = SimulatedDisk()
    disk.make_directory("log")
    create_lives(disk, "log", IDENTITY, [LIVES[1], Life(3, 100, "x", 0, 0)])
    with pytest.raises(LogDamaged, match="life 3 cannot follow life 2"):
        read_lives(disk, "log", IDENTITY, 5)


def test_a_full_disk_changes_nothing() -> None:
    disk = made(2)
    disk.fill(10)
    with pytest.raises(LogSpace):
        append_life(disk, "log", LIVES[:2], LIVES[2])
    assert read_lives(disk, "log", IDENTITY, 5) == LIVES[:2]
