"""The disk that crashes: what is forced stays, what is not may go, and nothing else happens."""

from __future__ import annotations

import pytest

from ostler.model.disk import DiskFailed, DiskFull
from ostler.testing.simulation.crashing_disk import PowerLost, SimulatedDisk


def file_with(disk: SimulatedDisk, path: str, content: bytes):
    file = disk.open(path, True)
    file.write_at(0, [content])
    file.force()
    disk.force_directory("")
    return file


def test_reads_see_writes_and_forces_make_them_stay():
    disk = SimulatedDisk()
    file = file_with(disk, "f", b"a" * 2000)
    file.write_at(500, [b"b" * 10, b"c" * 10])
    assert file.read_at(498, 24) == b"aa" + b"b" * 10 + b"c" * 10 + b"aa"
    assert file.read_at(1990, 100) == b"a" * 10
    assert disk.crash_losing_all().open("f", False).read_at(0, 3000) == b"a" * 2000
    assert disk.crash_keeping_all().open("f", False).read_at(498, 4) == b"aabb"
    file.force()
    for seed in range(20):
        assert disk.crash(seed).open("f", False).read_at(0, 3000) == file.read_at(0, 3000)


def test_sectors_are_kept_lost_and_torn_each_on_its_own():
    disk = SimulatedDisk()
    file = file_with(disk, "f", b"o" * 512 * 40)
    file.write_at(0, [b"n" * 512 * 40])
    content = disk.crash(seed=1).open("f", False).read_at(0, 512 * 40)
    sectors = [content[at : at + 512] for at in range(0, len(content), 512)]
    kinds = {"lost" if s == b"o" * 512 else "kept" if s == b"n" * 512 else "torn" for s in sectors}
    assert kinds == {"lost", "kept", "torn"}
    assert set(content) == set(b"on")
    assert disk.crash(seed=1).open("f", False).read_at(0, 512 * 40) == content
    garbage = disk.crash(seed=1, garbage=True).open("f", False).read_at(0, 512 * 40)
    assert set(garbage) - set(b"on")


def test_a_sector_written_twice_may_be_left_in_between():
    disk = SimulatedDisk()
    file = file_with(disk, "f", b"1" * 512)
    file.write_at(0, [b"2" * 512])
    file.write_at(0, [b"3" * 512])
    seen = {disk.crash(seed).open("f", False).read_at(0, 512)[:1] for seed in range(60)}
    assert seen == {b"1", b"2", b"3"}


def test_growth_and_truncation_that_were_not_forced_may_be_lost():
    disk = SimulatedDisk()
    file = file_with(disk, "f", b"x" * 100)
    file.write_at(100, [b"y" * 900])
    assert {disk.crash(seed).open("f", False).size_bytes() for seed in range(30)} == {100, 1000}
    file.force()
    file.truncate(50)
    assert file.size_bytes() == 50
    assert {disk.crash(seed).open("f", False).size_bytes() for seed in range(30)} == {50, 1000}
    file.truncate(70)
    file.force()
    assert disk.crash_losing_all().open("f", False).read_at(0, 100) == b"x" * 50 + bytes(20)


def test_names_that_were_not_forced_may_be_lost():
    disk = SimulatedDisk()
    disk.make_directory("d/e")
    file_with(disk, "f", b"content")
    disk.open("d/new", True).force()
    disk.rename("f", "d/g")
    after = disk.crash_losing_all()
    assert (after.names(""), after.names("d")) == (["d", "f"], ["e"])
    assert after.open("f", False).read_at(0, 10) == b"content"
    assert disk.crash_keeping_all().names("d") == ["e", "g", "new"]
    outcomes = {(disk.crash(seed).exists("d/new"), disk.crash(seed).exists("d/g")) for seed in range(60)}
    assert outcomes == {(False, False), (False, True), (True, False), (True, True)}
    disk.force_directory("d")
    after = disk.crash_losing_all()
    assert (after.names(""), after.names("d")) == (["d"], ["e", "g", "new"])
    disk.remove("d/g")
    assert not disk.exists("d/g")
    assert disk.crash_losing_all().exists("d/g")
    disk.remove("d")
    assert disk.names("") == []
    with pytest.raises(FileNotFoundError):
        disk.open("d/g", True)
    with pytest.raises(FileNotFoundError):
        disk.open("nothing", False)


def test_a_crash_and_a_copy_leave_the_disk_as_it_was():
    disk = SimulatedDisk()
    file = file_with(disk, "f", b"old")
    file.write_at(0, [b"new"])
    disk.crash(seed=3).open("f", False).write_at(0, [b"xyz"])
    twin = disk.copy()
    assert twin.crash_losing_all().open("f", False).read_at(0, 3) == b"old"
    twin.open("f", False).write_at(0, [b"xyz"])
    assert file.read_at(0, 3) == b"new"
    assert disk.crash_losing_all().open("f", False).read_at(0, 3) == b"old"


def test_a_full_disk_writes_what_fits_and_says_so():
    disk = SimulatedDisk()
    file = file_with(disk, "f", b"x" * 100)
    disk.fill(50)
    assert disk.free_bytes() == 50
    with pytest.raises(DiskFull):
        file.write_at(100, [b"y" * 60])
    assert file.size_bytes() == 150
    file.write_at(0, [b"z" * 150])
    disk.remove("f")
    assert disk.free_bytes() == 150


def test_a_failed_force_loses_what_it_should_have_kept_and_the_next_one_does_not_bring_it_back():
    disk = SimulatedDisk()
    file = file_with(disk, "f", b"old")
    file.write_at(0, [b"new"])
    disk.fail_force()
    with pytest.raises(DiskFailed):
        file.force()
    file.force()
    assert file.read_at(0, 3) == b"new"
    assert disk.crash_keeping_all().open("f", False).read_at(0, 3) == b"old"


def test_corruption_is_there_before_and_after_a_crash():
    disk = SimulatedDisk()
    file = file_with(disk, "f", b"good" * 10)
    disk.corrupt("f", 4, b"BAD!")
    assert file.read_at(0, 12) == b"goodBAD!good"
    assert disk.crash_losing_all().open("f", False).read_at(0, 12) == b"goodBAD!good"
    with pytest.raises(AssertionError):
        disk.corrupt("f", 39, b"xx")


def test_power_is_lost_at_the_change_it_was_told():
    disk = SimulatedDisk()
    file = file_with(disk, "f", b"old")
    disk.lose_power_after(1)
    file.write_at(0, [b"new"])
    with pytest.raises(PowerLost):
        file.force()
    assert disk.crash_losing_all().open("f", False).read_at(0, 3) == b"old"
    disk.lose_power_after(-1)
    file.force()
    assert disk.crash_losing_all().open("f", False).read_at(0, 3) == b"new"


def test_a_closed_file_is_not_used_again():
    disk = SimulatedDisk()
    file = disk.open("f", True)
    file.close()
    with pytest.raises(AssertionError):
        file.read_at(0, 1)
