"""Report messages, and messages for the dead-letter queue.

A message can request reports on arrival (COA), delivery (COD), expiry and exception. Positive and negative action
notifications (PAN, NAN) are sent by applications. The functions return the messages and their destinations; the caller
puts them.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter, read_i32_be, read_i32_le, write_i32_le
from mypy_extensions import i32, i64

from ostler.engine.core import Engine
from ostler.engine.message.message import (
    CONTEXT_AT,
    CORRELATION_ID_AT,
    ENCODING_AT,
    EXPIRY_AT,
    FLAGS_AT,
    FORMAT_AT,
    GROUP_ID_AT,
    MESSAGE_ID_AT,
    NULL_ID,
    ORIGINAL_LENGTH_AT,
    PRIORITY_AT,
    REPLY_MANAGER_AT,
    REPLY_QUEUE_AT,
    REPORT_AT,
    Message,
)
from ostler.engine.message.mqmde import without_extension
from ostler.engine.properties.property_block import decode_block, encode_block
from ostler.model import constants as mq
from ostler.model.errors import MQError

# Report options of each kind: without data, with data, with full data.
ARRIVAL_OPTIONS: Final = mq.MQRO_COA_WITH_FULL_DATA
DELIVERY_OPTIONS: Final = mq.MQRO_COD_WITH_FULL_DATA
EXPIRATION_OPTIONS: Final = mq.MQRO_EXPIRATION_WITH_FULL_DATA
EXCEPTION_OPTIONS: Final = mq.MQRO_EXCEPTION_WITH_FULL_DATA
# These options need a ReplyToQ.
REPLY_OPTIONS: Final = (
    ARRIVAL_OPTIONS
    | DELIVERY_OPTIONS
    | EXPIRATION_OPTIONS
    | EXCEPTION_OPTIONS
    | mq.MQRO_PAN
    | mq.MQRO_NAN
    | mq.MQRO_ACTIVITY
)
_SUPPORTED: Final = (
    REPLY_OPTIONS | mq.MQRO_PASS_MSG_ID | mq.MQRO_PASS_CORREL_ID | mq.MQRO_DISCARD_MSG | mq.MQRO_PASS_DISCARD_AND_EXPIRY
)
# Valid combinations of the three bits of a kind: none, plain, with data, with full data.
_PATTERNS: Final = (0, 1, 3, 7)

# Bytes of application data in a report "with data", behind any MQ headers.
_DATA_BYTES: Final = 100
# Expiry of an expiration report if MQRO_PASS_DISCARD_AND_EXPIRY is set, in tenths of a second.
_EXPIRY_OF_EXPIRATION_REPORT: Final = 600
_BLANK_NAME: Final = b" " * 48
_HEADER_BYTES_MIN: Final = 28
_TRANSMISSION_HEADER_BYTES: Final = 428
_EMBEDDED_AT: Final = 104
DEAD_LETTER_BYTES: Final = 172
# The fields of MQMD version 2 for a message that is in no group.
_NO_GROUP: Final = NULL_ID + b"\1\0\0\0" + bytes(8) + b"\xff\xff\xff\xff"


@final
class Outgoing:
    """A message made by the queue manager, and its destination. A blank queue manager name means this one."""

    def __init__(
        self,
        queue_name: str,
        manager_name: str,
        md: bytes,
        body: bytes,
        may_be_dead_lettered: bool,
        properties: bytes = b"",
    ) -> None:
        self.queue_name = queue_name
        self.manager_name = manager_name
        self.md = md
        self.body = body
        self.may_be_dead_lettered = may_be_dead_lettered
        self.properties = properties
        self.is_for_user = False  # a report: `user` needs authority to put it
        self.user: str = ""


# -- which options are allowed ----------------------------------------------------------------------------------------


def report_options_reason(report: i64, is_remote: bool) -> i64:
    """Return 0, the warning MQRC_UNKNOWN_REPORT_OPTION, or MQRC_REPORT_OPTIONS_ERROR.

    Unknown bits are rejected, accepted, or accepted only if the message goes to another queue manager, which may
    support them; the masks MQRO_REJECT_UNSUP_MASK and following decide.
    """
    unknown: i64 = report & ~_SUPPORTED
    unknown |= _unknown_bits(report, mq.MQRO_COA) | _unknown_bits(report, mq.MQRO_COD)
    unknown |= _unknown_bits(report, mq.MQRO_EXPIRATION) | _unknown_bits(report, mq.MQRO_EXCEPTION)
    if unknown == 0:
        return 0
    if unknown & mq.MQRO_REJECT_UNSUP_MASK:
        return mq.MQRC_REPORT_OPTIONS_ERROR
    if unknown & mq.MQRO_ACCEPT_UNSUP_IF_XMIT_MASK and not is_remote:
        return mq.MQRC_REPORT_OPTIONS_ERROR
    return mq.MQRC_UNKNOWN_REPORT_OPTION


def _unknown_bits(report: i64, plain: i64) -> i64:
    """Return the bits of one kind of report if they are no valid combination; 0 otherwise."""
    bits: i64 = report & plain * 7
    return 0 if bits // plain in _PATTERNS else bits


# -- reports ----------------------------------------------------------------------------------------------------------


def on_arrival(engine: Engine, message: Message, queue_name: str) -> list[Outgoing]:
    """Return the COA reports of a message put on its destination queue.

    Messages on a transmission queue or the dead-letter queue have not arrived.
    """
    if message.md[FORMAT_AT : FORMAT_AT + 8] in (mq.MQFMT_XMIT_Q_HEADER, mq.MQFMT_DEAD_LETTER_HEADER):
        return []
    return _report(engine, message, mq.MQRO_COA, mq.MQFB_COA, 0)


def on_delivery(engine: Engine, message: Message, queue_name: str, expiry_ms: i64 = 0) -> list[Outgoing]:
    """Return the COD reports of a message that was got. `expiry_ms` is its expiry time, or 0."""
    if message.md[FORMAT_AT : FORMAT_AT + 8] == mq.MQFMT_DEAD_LETTER_HEADER:
        return []
    return _report(engine, message, mq.MQRO_COD, mq.MQFB_COD, expiry_ms)


def on_expiry(engine: Engine, message: Message) -> list[Outgoing]:
    """Return the expiration reports of a message; one on a transmission queue is reported as it was put."""
    return _report(engine, _without_transmission_header(message), mq.MQRO_EXPIRATION, mq.MQFB_EXPIRATION, 0)


def _without_transmission_header(message: Message) -> Message:
    """Return a message without its transmission header, as the application put it."""
    body = message.body
    if message.md[FORMAT_AT : FORMAT_AT + 8] != mq.MQFMT_XMIT_Q_HEADER or len(body) < _TRANSMISSION_HEADER_BYTES:
        return message
    try:
        md, data = without_extension(body[_EMBEDDED_AT:_TRANSMISSION_HEADER_BYTES], body[_TRANSMISSION_HEADER_BYTES:])
    except MQError:
        return message
    return Message(md, b"", data, message.seq)


def on_exception(engine: Engine, message: Message, reason: i64) -> list[Outgoing]:
    """Return the exception reports of a message that could not be delivered after its put had completed."""
    return _report(engine, message, mq.MQRO_EXCEPTION, reason, 0)


def _report(engine: Engine, message: Message, plain: i64, feedback: i64, expiry_ms: i64) -> list[Outgoing]:
    """Return the report of one kind. `plain` is its option without data; the two bits above add data."""
    md = message.md
    report: i64 = i64(read_i32_le(md, REPORT_AT))
    queue_name = field_text(md[REPLY_QUEUE_AT:REPLY_MANAGER_AT])
    if not report & plain or queue_name == "":
        return []
    body = b""
    properties = b""
    if report & plain * 4:
        body = message.body
    elif report & plain * 2:
        body = message.body[: headers_length(md, message.body) + _DATA_BYTES]
    if report & plain * 6 and message.properties:
        properties = _properties_for_report(message.properties)
    options: i64 = mq.MQRO_NONE
    expiry: i64 = mq.MQEI_UNLIMITED
    if report & mq.MQRO_PASS_DISCARD_AND_EXPIRY:
        options = report & mq.MQRO_DISCARD_MSG
        expiry = _EXPIRY_OF_EXPIRATION_REPORT if plain == mq.MQRO_EXPIRATION else _expiry_left(engine, md, expiry_ms)
    made = _report_descriptor(engine, message, options, expiry, feedback)
    manager_name = field_text(md[REPLY_MANAGER_AT:CONTEXT_AT])
    item = Outgoing(queue_name, manager_name, made, body, options & mq.MQRO_DISCARD_MSG == 0, properties)
    if engine.guard is not None:
        # Reports must not reach a queue that the user could not put to.
        item.is_for_user = True
        item.user = md[CONTEXT_AT : CONTEXT_AT + 12].decode("utf-8", "replace").rstrip(" \0")
    return [item]


def _expiry_left(engine: Engine, md: bytes, expiry_ms: i64) -> i64:
    if expiry_ms == 0:
        return i64(read_i32_le(md, EXPIRY_AT))
    left: i64 = (expiry_ms - engine.now_ms) // 100
    return left if left > 0 else 1


def _report_descriptor(engine: Engine, message: Message, options: i64, expiry: i64, feedback: i64) -> bytes:
    md = message.md
    report: i64 = i64(read_i32_le(md, REPORT_AT))
    original_bytes: i64 = i64(read_i32_le(md, ORIGINAL_LENGTH_AT))
    if original_bytes == mq.MQOL_UNDEFINED:
        original_bytes = len(message.body)
    writer = BytesWriter()
    writer.write(mq.MQMD_STRUC_ID)
    write_i32_le(writer, mq.MQMD_VERSION_2)
    write_i32_le(writer, i32(options))
    write_i32_le(writer, mq.MQMT_REPORT)
    write_i32_le(writer, i32(expiry))
    write_i32_le(writer, i32(feedback))
    writer.write(md[ENCODING_AT:MESSAGE_ID_AT])  # encoding, code page, format, priority, persistence
    writer.write(md[MESSAGE_ID_AT:CORRELATION_ID_AT] if report & mq.MQRO_PASS_MSG_ID else engine.new_id())
    at: i64 = CORRELATION_ID_AT if report & mq.MQRO_PASS_CORREL_ID else MESSAGE_ID_AT
    writer.write(md[at : at + 24])
    write_i32_le(writer, 0)
    writer.write(_BLANK_NAME)
    writer.write(engine.padded_name)
    writer.write(md[CONTEXT_AT : CONTEXT_AT + 76])  # identity context of the original message
    _write_origin(engine, writer)
    writer.write(md[GROUP_ID_AT:ORIGINAL_LENGTH_AT])
    write_i32_le(writer, i32(original_bytes))
    return writer.getvalue()


def _write_origin(engine: Engine, writer: BytesWriter) -> None:
    """Write the origin context of the queue manager."""
    write_i32_le(writer, mq.MQAT_QMGR)
    writer.write(engine.padded_name[:28])
    writer.write(engine.put_clock.stamp(engine.wall_ms()))
    writer.write(b"    ")


def _properties_for_report(block: bytes) -> bytes:
    """Return the properties that are copied into reports (MQCOPY_REPORT)."""
    copied = [each for each in decode_block(block) if each.is_copied_to(mq.MQCOPY_REPORT)]
    return encode_block(copied) if copied else b""


def headers_length(md: bytes, body: bytes) -> i64:
    """Return the length of the MQ headers at the start of a body. An incomplete header ends them."""
    format_name = md[FORMAT_AT : FORMAT_AT + 8]
    encoding: i64 = i64(read_i32_le(md, ENCODING_AT))
    at: i64 = 0
    while at + _HEADER_BYTES_MIN <= len(body):
        is_big: bool = encoding & mq.MQENC_INTEGER_MASK == mq.MQENC_INTEGER_NORMAL
        encoding_at: i64 = at + 12
        length: i64 = 0
        if format_name == mq.MQFMT_DEAD_LETTER_HEADER:
            length = DEAD_LETTER_BYTES
            encoding_at = at + 108
        elif format_name == mq.MQFMT_XMIT_Q_HEADER:
            length = _TRANSMISSION_HEADER_BYTES
            encoding_at = at + _EMBEDDED_AT + ENCODING_AT
        elif format_name in (mq.MQFMT_CICS, mq.MQFMT_IMS) or format_name.startswith(b"MQH"):
            length = _integer(body, at + 8, is_big)
        if length < _HEADER_BYTES_MIN or at + length > len(body):
            break
        encoding = _integer(body, encoding_at, is_big)
        format_name = body[encoding_at + 8 : encoding_at + 16]
        at += length
    return at


def _integer(data: bytes, at: i64, is_big: bool) -> i64:
    return i64(read_i32_be(data, at)) if is_big else i64(read_i32_le(data, at))


# -- other messages of the queue manager ------------------------------------------------------------------------------


def own_descriptor(engine: Engine, format: bytes, priority: i64, persistence: i64) -> bytes:
    """Return the descriptor of a trigger or event message."""
    writer = BytesWriter()
    writer.write(mq.MQMD_STRUC_ID)
    for number in (mq.MQMD_VERSION_2, mq.MQRO_NONE, mq.MQMT_DATAGRAM, mq.MQEI_UNLIMITED, mq.MQFB_NONE, mq.MQENC_NATIVE):
        write_i32_le(writer, i32(number))
    write_i32_le(writer, i32(engine.ccsid))
    writer.write(format)
    write_i32_le(writer, i32(priority))
    write_i32_le(writer, i32(persistence))
    writer.write(engine.new_id())
    writer.write(NULL_ID)
    write_i32_le(writer, 0)
    writer.write(_BLANK_NAME)
    writer.write(engine.padded_name)
    writer.write(b" " * 12 + bytes(32) + b" " * 32)
    _write_origin(engine, writer)
    writer.write(_NO_GROUP)
    return writer.getvalue()


def dead_letter(engine: Engine, item: Outgoing, reason: i64) -> tuple[bytes, bytes]:
    """Return descriptor and body of a message for the dead-letter queue, with an MQDLH that has the reason."""
    md = item.md
    content = md[ENCODING_AT:PRIORITY_AT]
    group = md[GROUP_ID_AT:]
    extension = b""
    if i64(read_i32_le(md, FLAGS_AT)) & (mq.MQMF_SEGMENT | mq.MQMF_LAST_SEGMENT):
        # With the MQDLH in front it is no segment any more; its segment fields move into an MQMDE behind the header.
        extension = _descriptor_extension(content, group)
        content = _native_content(engine, mq.MQFMT_MD_EXTENSION)
        group = _NO_GROUP
    writer = BytesWriter()
    writer.write(mq.MQDLH_STRUC_ID)
    write_i32_le(writer, mq.MQDLH_VERSION_1)
    write_i32_le(writer, i32(reason))
    writer.write(item.queue_name.encode("ascii", "replace")[:48].ljust(48))
    manager_name = item.manager_name.encode("ascii", "replace")[:48].ljust(48)
    writer.write(manager_name if item.manager_name else engine.padded_name)
    writer.write(content)
    write_i32_le(writer, mq.MQAT_QMGR)
    writer.write(engine.padded_name[:28])
    writer.write(engine.put_clock.stamp(engine.wall_ms()))
    outer = _native_content(engine, mq.MQFMT_DEAD_LETTER_HEADER)
    dead_md = md[:ENCODING_AT] + outer + md[PRIORITY_AT:GROUP_ID_AT] + group
    return dead_md, writer.getvalue() + extension + item.body


def _native_content(engine: Engine, format: bytes) -> bytes:
    """Return encoding, code page and format as consecutive fields, for headers written here."""
    writer = BytesWriter()
    write_i32_le(writer, mq.MQENC_NATIVE)
    write_i32_le(writer, i32(engine.ccsid))
    writer.write(format)
    return writer.getvalue()


def _descriptor_extension(content: bytes, group: bytes) -> bytes:
    writer = BytesWriter()
    writer.write(mq.MQMDE_STRUC_ID)
    write_i32_le(writer, mq.MQMDE_VERSION_2)
    write_i32_le(writer, mq.MQMDE_LENGTH_2)
    writer.write(content)
    write_i32_le(writer, 0)
    writer.write(group)
    return writer.getvalue()


def field_text(field: bytes) -> str:
    """Return a character field without padding. Non-ASCII bytes cannot be part of a name."""
    return field.partition(b"\0")[0].rstrip(b" ").decode("ascii", "replace")
