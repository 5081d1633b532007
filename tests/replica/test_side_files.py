"""Sets of side files as bytes and frames: whole or not at all."""

from __future__ import annotations

import pytest

from ostler.replica import side_files
from ostler.replica.side_files import FILES_MAX, PATH_BYTES_MAX, SideReceiver, SideSet, SideSetRefused, decode_set
from ostler.wire.frames import HEADER_BYTES, SIDE_FILE, MalformedFrame
from ostler.wire.payload_codec import PayloadWriter
from ostler.wire.replica_frames import DATA_BYTES_MAX, SIDE_SET_BYTES_MAX, SideFile, decode_replica_frame

FILES = {"ssl/key/b.crt": b"certificate", "ssl/key/b.key": b"", "ssl/key/ü.crt": bytes(range(256))}


def sent(found: SideSet, term: int = 3) -> list[SideFile]:
    """The frames of a set, as they arrive."""
    arrived = []
    for each in found.frames(term):
        data = each.encode()
        frame = decode_replica_frame(SIDE_FILE, 0, data, HEADER_BYTES, len(data))
        assert isinstance(frame, SideFile)
        arrived.append(frame)
    return arrived


@pytest.mark.parametrize("files", [FILES, {"a": b""}, {"a": bytes(3 * DATA_BYTES_MAX), "b": b"x"}])
def test_a_set_arrives_as_it_was_sent(files: dict[str, bytes]) -> None:
    receiver = SideReceiver()
    frames = sent(SideSet("keys", files))
    assert [receiver.take(each) for each in frames[:-1]] == [None] * (len(frames) - 1)
    found = receiver.take(frames[-1])
    assert found is not None
    assert (found.name, found.files) == ("keys", files)
    assert found.digest == SideSet("keys", files).digest != SideSet("keys", {**files, "c": b""}).digest


def test_a_set_that_begins_again_is_taken_from_its_beginning() -> None:
    receiver = SideReceiver()
    first = sent(SideSet("keys", {"a": bytes(2 * DATA_BYTES_MAX)}))
    second = sent(SideSet("passwords", {"passwords": b"x"}))
    assert receiver.take(first[0]) is None
    found = receiver.take(second[0])
    assert found is not None
    assert found.files == {"passwords": b"x"}
    with pytest.raises(MalformedFrame, match="came behind 0 bytes"):
        receiver.take(first[1])


def test_parts_of_two_sets_are_not_mixed() -> None:
    receiver = SideReceiver()
    one = sent(SideSet("keys", {"a": bytes(2 * DATA_BYTES_MAX)}))
    other = sent(SideSet("keys", {"a": b"\x01" * (2 * DATA_BYTES_MAX)}))
    receiver.take(one[0])
    with pytest.raises(MalformedFrame, match="came behind"):
        receiver.take(other[1])


def test_a_wrong_checksum_is_found() -> None:
    frame = sent(SideSet("passwords", {"passwords": b"secret"}))[0]
    frame.data = frame.data[:-1] + b"?"
    with pytest.raises(MalformedFrame, match="another checksum"):
        SideReceiver().take(frame)


def test_a_format_of_a_newer_release_is_told_from_nonsense() -> None:
    writer = PayloadWriter()
    writer.integer(side_files.FORMAT + 1)
    with pytest.raises(SideSetRefused, match="format 2, and this release knows up to 1"):
        decode_set("keys", writer.getvalue())
    for nonsense in (b"", b"\x01\0\0\0", SideSet("keys", FILES).data[:-1], SideSet("keys", FILES).data + b"x"):
        with pytest.raises(MalformedFrame):
            decode_set("keys", nonsense)


def test_limits() -> None:
    with pytest.raises(SideSetRefused, match="1001 files; 1000 can be copied"):
        SideSet("keys", {f"ssl/{each}": b"" for each in range(FILES_MAX + 1)})
    with pytest.raises(SideSetRefused, match="longer than 512 bytes"):
        SideSet("keys", {"x" * (PATH_BYTES_MAX + 1): b""})
    with pytest.raises(SideSetRefused, match="can be copied"):
        SideSet("keys", {"ssl/x": bytes(SIDE_SET_BYTES_MAX)})
    for size, offset, data in ((1, 0, b""), (1, 1, b"x"), (1, 0, b"xy"), (SIDE_SET_BYTES_MAX + 1, 0, b"x")):
        wrong = SideFile(1, "keys", bytes(32), size, offset, data).encode()
        with pytest.raises(MalformedFrame):
            decode_replica_frame(SIDE_FILE, 0, wrong, HEADER_BYTES, len(wrong))
