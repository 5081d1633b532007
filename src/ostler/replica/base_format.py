"""The contents of the frames of a base: settings of the log, and messages as a stream that is cut anywhere.

settings   pages of an extent, type of the log (8 bytes each), zeros
message    flags, expiry (8 bytes each), then the record as it stands in a queue's file, with its checksum
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter, read_i64_le, write_i64_le
from mypy_extensions import i64

from ostler.engine.queue.queue_file import QueueFileDamaged, decode_record, encode_record, record_length
from ostler.engine.recovery.queue_capture import CapturedMessage
from ostler.log.settings import LogSettings, LogType
from ostler.wire.replica_frames import SETTINGS_BYTES

_HEAD_BYTES: Final = 16
_PREFIX_BYTES: Final = 24  # up to the length of the record
# A record's length has so many bits in a slot.
_RECORD_BYTES_MAX: Final = 1 << 28


def encode_settings(settings: LogSettings) -> bytes:
    writer = BytesWriter()
    write_i64_le(writer, settings.file_pages)
    write_i64_le(writer, 1 if settings.log_type is LogType.LINEAR else 0)
    return writer.getvalue().ljust(SETTINGS_BYTES, b"\0")


def check_settings(encoded: bytes, own: LogSettings) -> str:
    """Return why a base of a log with these settings cannot be taken here; empty when it can."""
    if read_i64_le(encoded, 0) != own.file_pages:
        return f"LogFilePages is {read_i64_le(encoded, 0)} at the leader and {own.file_pages} here"
    if (read_i64_le(encoded, 8) == 1) != (own.log_type is LogType.LINEAR):
        return f"LogType is not {own.log_type.value} at the leader"
    return ""


def encode_messages(found: list[CapturedMessage]) -> bytes:
    parts: list[bytes] = []
    for each in found:
        head = BytesWriter()
        write_i64_le(head, each.flags)
        write_i64_le(head, each.expiry_ms)
        parts.append(head.getvalue())
        parts += encode_record(each.message)
    return b"".join(parts)


@final
class MessageStream:
    """Puts messages together again from parts that were cut anywhere."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size: i64 = 0
        self._wanted: i64 = _PREFIX_BYTES

    def feed(self, data: bytes) -> list[CapturedMessage]:
        """Return the messages that are whole now. Raises QueueFileDamaged when one is not as it was read."""
        self._parts.append(data)
        self._size += len(data)
        found: list[CapturedMessage] = []
        if self._size < self._wanted:
            return found
        joined = b"".join(self._parts)
        at: i64 = 0
        self._wanted = _PREFIX_BYTES
        while len(joined) - at >= _PREFIX_BYTES:
            length: i64 = record_length(joined[at + _HEAD_BYTES : at + _PREFIX_BYTES])
            if length > _RECORD_BYTES_MAX:
                raise QueueFileDamaged(f"the record of a message with {length} bytes")
            if len(joined) - at < _HEAD_BYTES + length:
                self._wanted = _HEAD_BYTES + length
                break
            record = joined[at + _HEAD_BYTES : at + _HEAD_BYTES + length]
            message = decode_record(record, "the base", at, length)
            found.append(CapturedMessage(message, read_i64_le(joined, at), read_i64_le(joined, at + 8)))
            at += _HEAD_BYTES + length
        rest = joined[at:]
        self._parts = [rest] if rest else []
        self._size = len(rest)
        return found

    def is_at_end(self) -> bool:
        """Return True when nothing is left of a message that is not whole."""
        return self._size == 0
