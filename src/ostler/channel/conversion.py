"""CONVERT(YES): the sending end of a channel converts messages for a partner that cannot."""

from __future__ import annotations

from typing import Final

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.engine.conversion import convert_message
from ostler.engine.core import Engine
from ostler.engine.message import CCSID_AT, ENCODING_AT, FORMAT_AT
from ostler.engine.transfer import patch_i32
from ostler.wire.channel_frames import XQH_BYTES

_MD_AT: Final = 104  # of the descriptor within MQXQH
_LONGEST: Final = 1 << 28


def converted_for(engine: Engine, body: bytes, encoding: i64, ccsid: i64) -> bytes:
    """The transmission message with its data in another encoding. One that cannot be converted goes as it is."""
    has_encoding: i64 = i64(read_i32_le(body, _MD_AT + ENCODING_AT))
    has_ccsid: i64 = i64(read_i32_le(body, _MD_AT + CCSID_AT))
    if ccsid == 0 or (has_encoding == encoding and has_ccsid == ccsid):
        return body
    described = body[_MD_AT + FORMAT_AT : _MD_AT + FORMAT_AT + 8]
    made = convert_message(
        described, body[XQH_BYTES:], has_encoding, has_ccsid, encoding, ccsid, _LONGEST, False, engine.ccsid
    )
    if made.reason != 0:
        return body
    head = patch_i32(body[:XQH_BYTES], _MD_AT + ENCODING_AT, made.encoding)
    return patch_i32(head, _MD_AT + CCSID_AT, made.ccsid) + made.body
