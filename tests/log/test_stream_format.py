"""The bytes on disk, spelled out: a change here is a new format version."""

from __future__ import annotations

import struct
import zlib

import pytest

from ostler.log import LogManagement, LogNewer, LogSettings, LogType
from ostler.log.control_file import ControlState, EndNote, decode_note, decode_slot, encode_note, encode_slot
from ostler.log.stream_format import extent_name, extent_number
from ostler.testing.simulation.crashing_disk import SimulatedDisk

IDENTITY = bytes(range(16))


def test_a_block_byte_by_byte(log_life):
    life = log_life(SimulatedDisk())
    life.log.append(5, b"he", b"ad", b"body")
    life.log.append(255, b"", b"", b"x")
    life.commit()
    page = life.disk.open("log/active/S0000000.LOG", False).read_at(4096, 4096)
    checked = bytes.fromhex(
        "19000000 02000000"  # length 8 + 1 + 2 * 8, count
        "01000000 04000000"  # epoch, control sequence
        "0000000000000000"  # lsn
        "0000000000000000"  # durable lsn
        "03000000 00000000"  # padded, first of its life
        "68656164626f6479 78"  # payloads
        "08000000 05 03 0000"  # eight bytes of kind 5, whole
        "01000000 ff 03 0000"
    )
    checksum = zlib.crc32(checked, zlib.crc32(IDENTITY))
    assert page == (b"OLB1" + struct.pack("<I", checksum) + checked).ljust(4096, b"\0")
    assert life.log.end_lsn() == 8 + len(checked)


def test_an_extent_header_byte_by_byte(log_life):
    life = log_life(SimulatedDisk())
    page = life.disk.open("log/active/S0000002.LOG", False).read_at(0, 4096)
    fields = b"OSTLERLX" + bytes.fromhex("01000000 04000000 0200000000000000") + IDENTITY
    assert page == (fields + struct.pack("<I", zlib.crc32(fields))).ljust(4096, b"\0")


def control_state() -> ControlState:
    settings = LogSettings(4, 5, 64, 18, LogType.LINEAR, LogManagement.ARCHIVE)
    state = ControlState(IDENTITY, settings)
    state.sequence, state.epoch, state.life_start_lsn, state.restart_lsn = 7, 3, 4096, 8192
    state.checkpoint_lsn, state.durable_lsn, state.media_lsn = 9000, 9001, 100
    state.oldest_extent, state.archived_extent = 2, 1
    state.last_extent, state.checkpoint_number = 6, 11
    return state


def test_a_control_slot_byte_by_byte():
    body = IDENTITY + struct.pack("<IIII", 64, 4, 5, 18) + struct.pack("<HHHH", 1, 1, 2, 0)
    body += struct.pack("<II", 7, 3) + struct.pack("<9q", 4096, 8192, 9000, 9001, 100, 2, 1, 6, 11)
    prefix = b"OSTLERLC" + struct.pack("<IIII", 2, len(body), zlib.crc32(body), 0)
    assert encode_slot(control_state()) == (prefix + body).ljust(4096, b"\0")


def test_a_note_of_the_end_byte_by_byte():
    body = IDENTITY + struct.pack("<IIq", 9, 0, 123456)
    prefix = b"OSTLERLN" + struct.pack("<IIII", 2, len(body), zlib.crc32(body), 0)
    page = encode_note(IDENTITY, EndNote(9, 123456))
    assert page == (prefix + body).ljust(4096, b"\0")
    note = decode_note(page, IDENTITY)
    assert note is not None
    assert (note.sequence, note.durable_lsn) == (9, 123456)
    assert decode_note(page, bytes(16)) is None


def test_a_control_slot_comes_back():
    page = encode_slot(control_state())
    state = decode_slot(page)
    assert state is not None
    assert state.settings == control_state().settings
    assert encode_slot(state) == page


def test_a_control_slot_with_any_byte_changed_is_no_slot():
    page = encode_slot(control_state())
    used = len(page.rstrip(b"\0"))
    for at in [*range(8), *range(12, 20), *range(24, used)]:
        changed = bytearray(page)
        changed[at] ^= 1
        assert decode_slot(bytes(changed)) is None


def test_a_newer_format_is_refused_not_called_damaged(log_life):
    life = log_life(SimulatedDisk())
    disk = life.disk.copy()
    for slot in (0, 4096):
        disk.corrupt("log/amqhlctl.lfh", slot + 8, b"\3")
    with pytest.raises(LogNewer, match=r"amqhlctl\.lfh has format version 3; this release reads up to 2"):
        log_life(disk)
    disk = life.disk.copy()
    page = bytearray(disk.open("log/active/S0000000.LOG", False).read_at(0, 44))
    page[8] = 2
    page[40:44] = struct.pack("<I", zlib.crc32(page[:40]))
    disk.corrupt("log/active/S0000000.LOG", 0, bytes(page))
    with pytest.raises(LogNewer, match="has format version 2; this release reads up to 1"):
        log_life(disk)


def test_extent_names():
    assert [extent_name(number) for number in (0, 12, 12345678)] == ["S0000000.LOG", "S0000012.LOG", "S12345678.LOG"]
    assert [extent_number(extent_name(number)) for number in (0, 12, 12345678)] == [0, 12, 12345678]
    assert [extent_number(name) for name in ("NEXT.TMP", "S1.LOG", "S00000x0.LOG", "S0000001.TXT")] == [-1] * 4
