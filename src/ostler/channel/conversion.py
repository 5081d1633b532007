"""CONVERT(YES): the sending end of a channel converts message data for its partner."""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.engine.conversion.conversion import convert_message
from ostler.engine.core import Engine
from ostler.engine.events.channel_events import on_channel_conversion_error
from ostler.engine.message.message import CCSID_AT, ENCODING_AT, FORMAT_AT, patch_i32
from ostler.engine.queue.delivery import send_own_messages
from ostler.model import constants as mq
from ostler.wire.channel_frames import XQH_BYTES, XQH_MD_AT

_LENGTH_MAX: Final = 1 << 28


@final
class ConvertedMessage:
    """A transmission queue message with converted data, or unchanged with the reason of the failure."""

    def __init__(self, body: bytes, reason: i64) -> None:
        self.body = body
        self.reason: i64 = reason


def convert_for_partner(engine: Engine, body: bytes, encoding: i64, ccsid: i64) -> ConvertedMessage:
    """Convert the data of a transmission queue message. Data without a format (MQFMT_NONE) is not converted."""
    encoding_before: i64 = i64(read_i32_le(body, XQH_MD_AT + ENCODING_AT))
    ccsid_before: i64 = i64(read_i32_le(body, XQH_MD_AT + CCSID_AT))
    data_format = format_of(body)
    if ccsid == 0 or (encoding_before == encoding and ccsid_before == ccsid) or data_format == mq.MQFMT_NONE:
        return ConvertedMessage(body, 0)
    converted = convert_message(
        data_format, body[XQH_BYTES:], encoding_before, ccsid_before, encoding, ccsid, _LENGTH_MAX, False, engine.ccsid
    )
    if converted.reason != 0:
        return ConvertedMessage(body, converted.reason)
    head = patch_i32(body[:XQH_BYTES], XQH_MD_AT + ENCODING_AT, converted.encoding)
    return ConvertedMessage(patch_i32(head, XQH_MD_AT + CCSID_AT, converted.ccsid) + converted.body, 0)


def report_conversion_error(engine: Engine, reason: i64, body: bytes, channel: str, transmission_queue: str) -> None:
    """Send the event Channel Conversion Error."""
    data_format = format_of(body).decode("latin-1").rstrip()
    send_own_messages(
        engine, on_channel_conversion_error(engine, reason, channel, data_format, transmission_queue, ""), None
    )


def format_of(body: bytes) -> bytes:
    """Return the format of the data in a transmission queue message."""
    return body[XQH_MD_AT + FORMAT_AT : XQH_MD_AT + FORMAT_AT + 8]
