"""Reading and writing payloads field by field, for all but the busiest frames.

Every read is checked against the end of the payload: what a peer sends may be short, long or nonsense.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter, read_i32_le
from mypy_extensions import i64

from ostler.wire.frames import MalformedFrame, signed, write_number

# Widths of name fields.
NAME_BYTES: Final = 48
CHANNEL_BYTES: Final = 20
_TEXT_BYTES_MAX = 0xFFFF


@final
class PayloadReader:
    def __init__(self, buffer: bytes, start: i64 = 0, end: i64 = -1) -> None:
        self.buffer = buffer
        self.at: i64 = start
        self.end: i64 = len(buffer) if end < 0 else end

    def integer(self) -> i64:
        """A signed number of 32 bits."""
        at: i64 = self.at
        if at + 4 > self.end:
            raise MalformedFrame("a payload ends inside a number")
        self.at = at + 4
        return i64(read_i32_le(self.buffer, at))

    def count(self, most: i64) -> i64:
        """A number of things that follow."""
        found: i64 = self.integer()
        if found < 0 or found > most:
            raise MalformedFrame(f"a payload announces {found} items; at most {most} are allowed")
        return found

    def integers(self, most: i64) -> list[int]:
        return [self.integer() for _ in range(self.count(most))]

    def fixed(self, size: i64) -> bytes:
        """So many bytes."""
        at: i64 = self.at
        if size < 0 or at + size > self.end:
            raise MalformedFrame("a payload ends inside a field")
        self.at = at + size
        return self.buffer[at : at + size]

    def name(self, size: i64) -> str:
        """Text in a field of fixed width, blank or null padded."""
        return self.fixed(size).rstrip(b" \0").decode("latin-1")

    def text(self, most: i64 = _TEXT_BYTES_MAX) -> str:
        """Text behind its length."""
        try:
            return self.fixed(self.count(most)).decode("utf-8")
        except UnicodeDecodeError:
            raise MalformedFrame("text in a payload is not UTF-8") from None

    def rest(self) -> bytes:
        at: i64 = self.at
        self.at = self.end
        return self.buffer[at : self.end]

    def check_end(self) -> None:
        """Raise MalformedFrame when bytes are left."""
        if self.at != self.end:
            raise MalformedFrame(f"{self.end - self.at} bytes too many in a payload")


@final
class PayloadWriter:
    def __init__(self) -> None:
        self._writer = BytesWriter()

    def integer(self, value: i64) -> None:
        write_number(self._writer, signed(value))

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
    """CLOSE (handle, options), CANCEL (request), SETTLE (request, 1 to keep or 0 to give back), CREDIT (request,
    messages), UNSTREAM (request), STATUS (type), SUBSCRIPTION_REQUEST (handle, action, options)."""
    writer = PayloadWriter()
    for value in values:
        writer.integer(value)
    return writer.getvalue()
