"""Reads and writes payloads field by field, for all frames that are not on the hot path.

Every read is checked against the end of the payload, because a peer may send anything. Texts are UTF-8 behind a length
of four bytes; names are in fields of fixed width, padded with blanks.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter, read_i32_le, read_i64_le, write_i64_le
from mypy_extensions import i64

from ostler.wire.frames import MalformedFrame, signed, write_number

# Widths of name fields.
NAME_BYTES: Final = 48
CHANNEL_BYTES: Final = 20
_TEXT_BYTES_MAX = 0xFFFF


@final
class PayloadReader:
    """Reads `buffer[start:end]`. Every method raises MalformedFrame for bytes that are missing or not valid."""

    def __init__(self, buffer: bytes, start: i64 = 0, end: i64 = -1) -> None:
        self.buffer = buffer
        self.at: i64 = start
        self.end: i64 = len(buffer) if end < 0 else end

    def integer(self) -> i64:
        """Read a signed number of 32 bits."""
        at: i64 = self.at
        if at + 4 > self.end:
            raise MalformedFrame("a payload ends inside a number")
        self.at = at + 4
        return i64(read_i32_le(self.buffer, at))

    def position(self) -> i64:
        """Read a number of 64 bits that is not negative: an LSN, a term, a size."""
        at: i64 = self.at
        if at + 8 > self.end:
            raise MalformedFrame("a payload ends inside a number")
        self.at = at + 8
        found: i64 = read_i64_le(self.buffer, at)
        if found < 0:
            raise MalformedFrame(f"a position of {found} in a payload")
        return found

    def count(self, most: i64) -> i64:
        """Read the number of items that follow."""
        found: i64 = self.integer()
        if found < 0 or found > most:
            raise MalformedFrame(f"a payload announces {found} items; at most {most} are allowed")
        return found

    def integers(self, most: i64) -> list[int]:
        return [self.integer() for _ in range(self.count(most))]

    def fixed(self, size: i64) -> bytes:
        """Read `size` bytes."""
        at: i64 = self.at
        if size < 0 or at + size > self.end:
            raise MalformedFrame("a payload ends inside a field")
        self.at = at + size
        return self.buffer[at : at + size]

    def name(self, size: i64) -> str:
        """Read text from a field of fixed width, padded with blanks or nulls."""
        return self.fixed(size).rstrip(b" \0").decode("latin-1")

    def text(self, most: i64 = _TEXT_BYTES_MAX) -> str:
        """Read text behind its length."""
        try:
            return self.fixed(self.count(most)).decode("utf-8")
        except UnicodeDecodeError:
            raise MalformedFrame("text in a payload is not UTF-8") from None

    def rest(self) -> bytes:
        """Read all remaining bytes."""
        at: i64 = self.at
        self.at = self.end
        return self.buffer[at : self.end]

    def check_end(self) -> None:
        """Raise MalformedFrame when bytes are left."""
        if self.at != self.end:
            raise MalformedFrame(f"{self.end - self.at} bytes too many in a payload")


@final
class PayloadWriter:
    """Writes the fields that PayloadReader reads."""

    def __init__(self) -> None:
        self._writer = BytesWriter()

    def integer(self, value: i64) -> None:
        write_number(self._writer, signed(value))

    def position(self, value: i64) -> None:
        write_i64_le(self._writer, value)

    def integers(self, values: list[int]) -> None:
        write_number(self._writer, len(values))
        for value in values:
            write_number(self._writer, signed(value))

    def fixed(self, value: bytes) -> None:
        self._writer.write(value)

    def name(self, value: str, size: i64) -> None:
        self._writer.write(value.encode("latin-1", "replace")[:size].ljust(size))

    def text(self, value: str) -> None:
        data = value.encode("utf-8")
        write_number(self._writer, len(data))
        self._writer.write(data)

    def getvalue(self) -> bytes:
        return self._writer.getvalue()


def numbers_payload(values: list[int]) -> bytes:
    """Encode a payload of numbers.

    CLOSE (handle, options), CANCEL (request), SETTLE (request, 1 to commit or 0 to back out), CREDIT (request,
    messages), UNSTREAM (request), STATUS (type), SUBSCRIPTION_REQUEST (handle, action, options),
    COUNT_CALL (1 for MQCB or 2 for MQCTL, operation, handle, 1 for done or 0 for failed).
    """
    writer = PayloadWriter()
    for value in values:
        writer.integer(value)
    return writer.getvalue()
