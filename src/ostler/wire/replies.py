"""The beginning that all replies share, and the payload of NOTICE and FAREWELL.

Every reply begins with 0 completion code, 4 reason code. A reply with MQCC_FAILED continues with a text for people.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64

from ostler.wire.frames import HEADER_BYTES, REPLY, write_header, write_number
from ostler.wire.payload_codec import PayloadReader, PayloadWriter

REPLY_FIXED_BYTES: Final = 8
TEXT_BYTES_MAX: Final = 512


def reply_frame(type: i64, conversation: i64, request: i64, completion: i64, reason: i64) -> bytes:
    """A reply that says no more than how it went."""
    writer = BytesWriter()
    write_header(writer, HEADER_BYTES + REPLY_FIXED_BYTES, type | REPLY, conversation, request)
    write_number(writer, completion)
    write_number(writer, reason)
    return writer.getvalue()


def failure_frame(type: i64, conversation: i64, request: i64, completion: i64, reason: i64, detail: str) -> bytes:
    """A reply that failed, with a text for people."""
    text = detail.encode("utf-8")[:512]
    writer = BytesWriter()
    write_header(writer, HEADER_BYTES + REPLY_FIXED_BYTES + len(text), type | REPLY, conversation, request)
    write_number(writer, completion)
    write_number(writer, reason)
    writer.write(text)
    return writer.getvalue()


def reason_payload(reason: i64, text: str) -> bytes:
    """NOTICE and FAREWELL: why, for programs and for people."""
    writer = PayloadWriter()
    writer.integer(reason)
    writer.text(text[:TEXT_BYTES_MAX])
    return writer.getvalue()


def decode_reason(reader: PayloadReader) -> tuple[int, str]:
    reason: i64 = reader.integer()
    return reason, reader.text(4 * TEXT_BYTES_MAX)


@final
class ReplyHead:
    """Where a reply's own part begins, behind completion and reason."""

    def __init__(self, completion: i64, reason: i64, reader: PayloadReader) -> None:
        self.completion: i64 = completion
        self.reason: i64 = reason
        self.reader = reader


def decode_reply(buffer: bytes, start: i64 = 0, end: i64 = -1) -> ReplyHead:
    reader = PayloadReader(buffer, start, end)
    completion: i64 = reader.integer()
    return ReplyHead(completion, reader.integer(), reader)
