"""The frames of the hot path, PUT and GET and their replies, at fixed offsets; and GET_ANY, which is made of GETs.

    PUT   0 object handle, 4 MQPMO options, 8 context handle, 12 length of the property block, 16 MQMD (364), then the
          property block and the data
    GET   0 object handle, 4 MQGMO options, 8 wait in milliseconds, 12 match options, 16 buffer length, 20 encoding,
          24 CCSID, 28 flags, 32 message id, 56 correlation id, 80 group id, 104 sequence number, 108 offset,
          112 message token, 128 length of the selector, then the selector

Replies begin with completion and reason (`replies.py`).

    PUT reply   8 MQMD as stored
    GET reply   8 length of the whole message, 12 group status, segment status, segmentation, blank; 16 message token,
                32 length of the property block, 36 MQMD, then the property block and the data
"""

from __future__ import annotations

from typing import Final

from librt.strings import BytesWriter, read_i32_le
from mypy_extensions import i64

from ostler.wire.frames import GET, HEADER_BYTES, PUT, REPLY, MalformedFrame, write_header, write_number
from ostler.wire.payload_codec import PayloadWriter
from ostler.wire.replies import REPLY_FIXED_BYTES

MD_BYTES: Final = 364

PUT_HOBJ: Final = 0
PUT_OPTIONS: Final = 4
PUT_CONTEXT: Final = 8
PUT_BLOCK_BYTES: Final = 12
PUT_MD: Final = 16
PUT_FIXED_BYTES: Final = PUT_MD + MD_BYTES

GET_HOBJ: Final = 0
GET_OPTIONS: Final = 4
GET_WAIT: Final = 8
GET_MATCH: Final = 12
GET_LENGTH: Final = 16
GET_ENCODING: Final = 20
GET_CCSID: Final = 24
GET_FLAGS: Final = 28
GET_MESSAGE_ID: Final = 32
GET_CORRELATION_ID: Final = 56
GET_GROUP_ID: Final = 80
GET_SEQUENCE: Final = 104
GET_OFFSET: Final = 108
GET_TOKEN: Final = 112
GET_SELECTOR_BYTES: Final = 128
GET_FIXED_BYTES: Final = 132
SELECTOR_BYTES_MAX: Final = 10240
CONSUMERS_MAX: Final = 256  # gets of one GET_ANY

# Flags of GET.
WANTS_PROPERTIES: Final = 1  # the MQGMO has a message handle: properties are returned as a block
WANTS_TOKEN: Final = 2
VERSION_1: Final = 4  # the application uses MQMD version 1: other fields are returned in an MQMDE
HELD: Final = 8  # the message is removed from the queue only by SETTLE
AS_STORED: Final = 16  # properties are returned as they were put, whatever PROPCTL is
HELD_IF_PERSISTENT: Final = 32  # as HELD for a persistent message; any other is removed at once

GOT_DATA_BYTES: Final = 8
GOT_STATUS: Final = 12
GOT_TOKEN: Final = 16
GOT_BLOCK_BYTES: Final = 32
GOT_MD: Final = 36
GOT_FIXED_BYTES: Final = GOT_MD + MD_BYTES

NO_TOKEN: Final = bytes(16)
NO_GROUP: Final = bytes(24)


def put_frame(
    conversation: i64, request: i64, hobj: i64, options: i64, context: i64, md: bytes, block: bytes, body: bytes
) -> bytes:
    """Return a PUT in one frame. The caller has checked that it fits."""
    writer = BytesWriter()
    length: i64 = HEADER_BYTES + PUT_FIXED_BYTES + len(block) + len(body)
    write_header(writer, length, PUT, conversation, request)
    write_number(writer, hobj)
    write_number(writer, options)
    write_number(writer, context)
    write_number(writer, len(block))
    writer.write(md)
    if block:
        writer.write(block)
    writer.write(body)
    return writer.getvalue()


def publish_payload(level: i64, hobj: i64, options: i64, context: i64, md: bytes, block: bytes, body: bytes) -> bytes:
    """Return the payload of PUBLISH: a publication level, then a PUT."""
    writer = BytesWriter()
    write_number(writer, level)
    writer.write(put_payload(hobj, options, context, md, block, body))
    return writer.getvalue()


def put_head_bytes(payload: bytes) -> i64:
    """Return the offset of the message data in a PUT, given its first segment; 0 if that is too short."""
    if len(payload) < PUT_FIXED_BYTES:
        return 0
    block_bytes: i64 = i64(read_i32_le(payload, PUT_BLOCK_BYTES))
    head_bytes: i64 = PUT_FIXED_BYTES + block_bytes
    return head_bytes if block_bytes >= 0 and head_bytes <= len(payload) else 0


def put_payload(hobj: i64, options: i64, context: i64, md: bytes, block: bytes, body: bytes) -> bytes:
    """Return the payload of a PUT that is sent in segments."""
    writer = BytesWriter()
    write_number(writer, hobj)
    write_number(writer, options)
    write_number(writer, context)
    write_number(writer, len(block))
    writer.write(md)
    writer.write(block)
    writer.write(body)
    return writer.getvalue()


def put_reply_frame(conversation: i64, request: i64, completion: i64, reason: i64, md: bytes, type: i64 = PUT) -> bytes:
    writer = BytesWriter()
    write_header(writer, HEADER_BYTES + REPLY_FIXED_BYTES + MD_BYTES, type | REPLY, conversation, request)
    write_number(writer, completion)
    write_number(writer, reason)
    writer.write(md)
    return writer.getvalue()


def get_payload(
    hobj: i64,
    options: i64,
    wait_ms: i64,
    match: i64,
    length: i64,
    encoding: i64,
    ccsid: i64,
    flags: i64,
    message_id: bytes,
    correlation_id: bytes,
    group_id: bytes,
    sequence: i64,
    offset: i64,
    token: bytes,
    selector: bytes,
) -> bytes:
    writer = BytesWriter()
    write_number(writer, hobj)
    write_number(writer, options)
    write_number(writer, wait_ms)
    write_number(writer, match)
    write_number(writer, length)
    write_number(writer, encoding)
    write_number(writer, ccsid)
    write_number(writer, flags)
    writer.write(message_id)
    writer.write(correlation_id)
    writer.write(group_id)
    write_number(writer, sequence)
    write_number(writer, offset)
    writer.write(token)
    write_number(writer, len(selector))
    writer.write(selector)
    return writer.getvalue()


def get_reply_head(
    completion: i64,
    reason: i64,
    data_bytes: i64,
    group_status: i64,
    segment_status: i64,
    segmentation: i64,
    token: bytes,
    block: bytes,
    md: bytes,
) -> bytes:
    """Return the payload of a GET reply up to the message data."""
    writer = BytesWriter()
    _write_got(writer, completion, reason, data_bytes, group_status, segment_status, segmentation, token, block, md)
    return writer.getvalue()


def _write_got(
    writer: BytesWriter,
    completion: i64,
    reason: i64,
    data_bytes: i64,
    group_status: i64,
    segment_status: i64,
    segmentation: i64,
    token: bytes,
    block: bytes,
    md: bytes,
) -> None:
    write_number(writer, completion)
    write_number(writer, reason)
    write_number(writer, data_bytes)
    write_number(writer, group_status | segment_status << 8 | segmentation << 16 | 0x20000000)
    writer.write(token)
    write_number(writer, len(block))
    writer.write(md)
    if block:
        writer.write(block)


def get_reply_frame(
    type: i64,
    conversation: i64,
    request: i64,
    completion: i64,
    reason: i64,
    data_bytes: i64,
    group_status: i64,
    segment_status: i64,
    segmentation: i64,
    token: bytes,
    block: bytes,
    md: bytes,
    body: bytes,
) -> bytes:
    """Return a GET reply or a MESSAGE in one frame. The caller has checked that it fits."""
    writer = BytesWriter()
    write_header(writer, HEADER_BYTES + GOT_FIXED_BYTES + len(block) + len(body), type, conversation, request)
    _write_got(writer, completion, reason, data_bytes, group_status, segment_status, segmentation, token, block, md)
    writer.write(body)
    return writer.getvalue()


def check_get(buffer: bytes, start: i64, end: i64) -> i64:
    """Return the length of a GET, or of one in a GET_ANY. Raises MalformedFrame if it is incomplete."""
    if end - start < GET_FIXED_BYTES:
        raise MalformedFrame("a GET is too short")
    selector: i64 = i64(read_i32_le(buffer, start + GET_SELECTOR_BYTES))
    if selector < 0 or selector > SELECTOR_BYTES_MAX or start + GET_FIXED_BYTES + selector > end:
        raise MalformedFrame("the selector of a GET has a wrong length")
    return GET_FIXED_BYTES + selector


def get_any_payload(wait_ms: i64, gets: list[bytes]) -> bytes:
    """Return the payload of GET_ANY: gets of several consumers, of which the first that finds a message takes it."""
    writer = PayloadWriter()
    writer.integer(wait_ms)
    writer.integer(len(gets))
    for get in gets:
        writer.fixed(get)
    return writer.getvalue()


def get_frame(conversation: i64, request: i64, payload: bytes) -> bytes:
    writer = BytesWriter()
    write_header(writer, HEADER_BYTES + len(payload), GET, conversation, request)
    writer.write(payload)
    return writer.getvalue()
