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
    """Return a reply with nothing but completion and reason."""
    writer = BytesWriter()
    write_header(writer, HEADER_BYTES + REPLY_FIXED_BYTES, type | REPLY, conversation, request)
    write_number(writer, completion)
    write_number(writer, reason)
    return writer.getvalue()


def failure_frame(type: i64, conversation: i64, request: i64, completion: i64, reason: i64, detail: str) -> bytes:
    """Return a failure with a text for people."""
    text = detail.encode("utf-8")[:512]
    writer = BytesWriter()
    write_header(writer, HEADER_BYTES + REPLY_FIXED_BYTES + len(text), type | REPLY, conversation, request)
    write_number(writer, completion)
    write_number(writer, reason)
    writer.write(text)
    return writer.getvalue()


def reason_payload(reason: i64, text: str) -> bytes:
    """Encode NOTICE or FAREWELL: a reason code for programs, a text for people."""
    writer = PayloadWriter()
    writer.integer(reason)
    writer.text(text[:TEXT_BYTES_MAX])
    return writer.getvalue()


def decode_reason(reader: PayloadReader) -> tuple[int, str]:
    reason: i64 = reader.integer()
    return reason, reader.text(4 * TEXT_BYTES_MAX)


@final
class ReplyHead:
    """Completion and reason of a reply, and a reader for the fields behind them."""

    def __init__(self, completion: i64, reason: i64, reader: PayloadReader) -> None:
        self.completion: i64 = completion
        self.reason: i64 = reason
        self.reader = reader


def decode_reply(buffer: bytes, start: i64 = 0, end: i64 = -1) -> ReplyHead:
    reader = PayloadReader(buffer, start, end)
    completion: i64 = reader.integer()
    return ReplyHead(completion, reader.integer(), reader)
