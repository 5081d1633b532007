"""Opening: settings that may and may not change, torn slots, what is not there."""

from __future__ import annotations

import dataclasses

import pytest

from ostler.log import LogDamaged, LogRefused, LogSettings, LogType, create_log, open_log
from ostler.testing.simulation.crashing_disk import SimulatedDisk

ANYTHING = b"\xa5\x5a\xff"


def test_a_torn_slot_falls_back_to_the_other(log_life):
    """The write of a slot was under way: nobody was told, no later block knows it."""
    life = log_life(SimulatedDisk())
    life.commit(b"one")
    life.commit(b"two")
    lsn = life.appended[0][1]
    before = life.disk.copy()
    life.checkpoint(lsn)
    assert log_life(life.disk.copy()).payloads == [b"two"]
    slot = life.writer.control_sequence % 2
    outcomes = []
    for offset in range(140):
        disk = life.disk.copy()
        old = before.open("log/amqhlctl.lfh", False).read_at(slot * 4096 + offset, 4096 - offset)
        disk.corrupt("log/amqhlctl.lfh", slot * 4096 + offset, old)
        outcomes.append(log_life(disk).payloads)
    written = outcomes.index([b"two"])
    assert outcomes == [[b"one", b"two"]] * written + [[b"two"]] * (140 - written)
    assert written > 50


def test_two_damaged_slots_are_refused(log_life):
    disk = log_life(SimulatedDisk()).disk
    for slot in (0, 4096):
        disk.corrupt("log/amqhlctl.lfh", slot + 40, ANYTHING)
    with pytest.raises(LogDamaged, match=r"amqhlctl\.lfh is damaged at offset 0"):
        log_life(disk)


def test_no_log_and_a_second_log_are_refused(log_life):
    disk = SimulatedDisk()
    with pytest.raises(LogRefused, match="no log"):
        open_log(disk, "log")
    log_life(disk)
    with pytest.raises(LogRefused, match="already"):
        create_log(disk, "log", LogSettings(), bytes(16))
    with pytest.raises(LogRefused, match="identity"):
        create_log(disk, "other", LogSettings(), b"short")


def test_what_may_change_from_start_to_start_and_what_may_not(log_life):
    disk = log_life(SimulatedDisk()).disk
    more = dataclasses.replace(log_life.SMALL, primary_files=5, secondary_files=7, buffer_pages=20)
    assert log_life(disk, more).log.settings == more
    assert log_life(disk).log.settings == more
    with pytest.raises(LogRefused, match="LogFilePages is 5, but the log was made with 4"):
        log_life(disk, dataclasses.replace(more, file_pages=5))
    with pytest.raises(LogRefused, match="LogType is LINEAR, but the log was made CIRCULAR"):
        log_life(disk, dataclasses.replace(more, log_type=LogType.LINEAR))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"primary_files": 1}, "LogPrimaryFiles is 1; it must be 2 to 510."),
        ({"primary_files": 511}, "LogPrimaryFiles is 511; it must be 2 to 510."),
        ({"secondary_files": 0}, "LogSecondaryFiles is 0; it must be 1 to 509."),
        ({"primary_files": 300, "secondary_files": 212}, "LogPrimaryFiles plus LogSecondaryFiles is 512"),
        ({"file_pages": 63}, "LogFilePages is 63; it must be 64 to 65535."),
        ({"file_pages": 65536}, "LogFilePages is 65536; it must be 64 to 65535."),
        ({"buffer_pages": 17}, "LogBufferPages is 17; it must be 18 to 4096."),
        ({"buffer_pages": 4097}, "LogBufferPages is 4097; it must be 18 to 4096."),
    ],
)
def test_settings_out_of_range_are_refused_by_name(change, sentence):
    settings = dataclasses.replace(LogSettings(), **change)
    with pytest.raises(LogRefused) as refused:
        settings.validate()
    assert sentence in str(refused.value)
    disk = SimulatedDisk()
    with pytest.raises(LogRefused):
        create_log(disk, "log", settings, bytes(16))
    assert disk.names("log") == []


def test_the_defaults_and_the_limits_are_in_range():
    LogSettings().validate()
    LogSettings(2, 509, 64, 18).validate()
    LogSettings(510, 1, 65535, 4096).validate()
    assert LogSettings().buffer_bytes() == 4096 * 4096
    assert LogSettings(buffer_pages=18).buffer_bytes() == 18 * 4096


def test_a_log_is_made_with_its_primary_extents():
    disk = SimulatedDisk()
    create_log(disk, "log", LogSettings(file_pages=64), bytes(16))
    assert disk.names("log") == ["active", "amqhlctl.lfh"]
    assert disk.names("log/active") == ["S0000000.LOG", "S0000001.LOG", "S0000002.LOG"]
    assert disk.open("log/active/S0000002.LOG", False).size_bytes() == 64 * 4096
    settings = LogSettings(file_pages=64)
    assert open_log(disk, "log", settings) is not None
