"""CONVERT(YES): the sending end of a channel converts messages for a partner that cannot."""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.engine.conversion.conversion import convert_message
from ostler.engine.core import Engine
from ostler.engine.events.channel_events import on_channel_conversion_error
from ostler.engine.message.message import CCSID_AT, ENCODING_AT, FORMAT_AT, patch_i32
from ostler.engine.queue.delivery import send_own_messages
from ostler.model.constants import MQFMT_NONE
from ostler.wire.channel_frames import XQH_BYTES, XQH_MD_AT

_LONGEST: Final = 1 << 28


@final
class ConvertedMessage:
    """A transmission message for a partner: with its data converted, or as it was and why."""

    def __init__(self, body: bytes, reason: i64) -> None:
        self.body = body
        self.reason: i64 = reason


def convert_for_partner(engine: Engine, body: bytes, encoding: i64, ccsid: i64) -> ConvertedMessage:
    """The transmission message with its data in another encoding. Data without a format is nobody's to convert."""
    has_encoding: i64 = i64(read_i32_le(body, XQH_MD_AT + ENCODING_AT))
    has_ccsid: i64 = i64(read_i32_le(body, XQH_MD_AT + CCSID_AT))
    described = format_of(body)
    if ccsid == 0 or (has_encoding == encoding and has_ccsid == ccsid) or described == MQFMT_NONE:
        return ConvertedMessage(body, 0)
    made = convert_message(
        described, body[XQH_BYTES:], has_encoding, has_ccsid, encoding, ccsid, _LONGEST, False, engine.ccsid
    )
    if made.reason != 0:
        return ConvertedMessage(body, made.reason)
    head = patch_i32(body[:XQH_BYTES], XQH_MD_AT + ENCODING_AT, made.encoding)
    return ConvertedMessage(patch_i32(head, XQH_MD_AT + CCSID_AT, made.ccsid) + made.body, 0)


def report_conversion_error(engine: Engine, reason: i64, body: bytes, channel: str, transmission_queue: str) -> None:
    """An event says which data a channel could not convert."""
    described = format_of(body).decode("latin-1").rstrip()
    send_own_messages(
        engine, on_channel_conversion_error(engine, reason, channel, described, transmission_queue, ""), None
    )


def format_of(body: bytes) -> bytes:
    """The format of the data that travels in a transmission message."""
    return body[XQH_MD_AT + FORMAT_AT : XQH_MD_AT + FORMAT_AT + 8]
