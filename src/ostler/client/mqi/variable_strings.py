"""MQCHARV: variable-length strings, read and written through their pointers.

A string is at an address of this process, or at an offset from the start of its structure. Lengths and offsets are
checked before anything is read; an address cannot be.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Final

from ostler.engine.conversion import code_pages
from ostler.engine.conversion.code_pages import MalformedTextError, UnknownCodePageError
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.layout import CHARV_BYTES, CHARV_CCSID, CHARV_LENGTH

UTF_8: Final = 1208
_FIELDS: Final = struct.Struct("<Qiiii")


class VariableString:
    """The five fields of one MQCHARV."""

    def __init__(self, structure: bytes | bytearray, at: int) -> None:
        self.pointer, self.offset, self.buffer_bytes, self.length, self.ccsid = _FIELDS.unpack_from(structure, at)

    @property
    def is_present(self) -> bool:
        """True when it has a pointer or an offset."""
        return bool(self.pointer or self.offset)


def read_string(structure: bytes | bytearray, at: int, bytes_max: int, reason: int, length_reason: int = 0) -> str:
    """Return the text of the MQCHARV at `at` in a structure; empty when its length is zero.

    Raises MQError with `reason` when the fields do not fit together, and `length_reason` when the string is too long.
    """
    length_reason = length_reason or reason
    assert 0 <= at <= len(structure) - CHARV_BYTES, "the structure was checked before"
    string = VariableString(structure, at)
    if string.length == 0:
        return ""
    if string.length < mq.MQVS_NULL_TERMINATED or string.length > bytes_max:
        raise MQError(length_reason, f"A length of {string.length} is not between 0 and {bytes_max}.")
    if not string.is_present or (string.pointer and string.offset):
        raise MQError(reason, "A variable string needs a pointer or an offset, and not both.")
    ccsid = application_ccsid(string.ccsid)
    data = _data(structure, string, bytes_max, 2 if code_pages.depends_on_encoding(ccsid) else 1, reason, length_reason)
    return decode_text(data, ccsid, mq.MQENC_NATIVE, reason)


def _data(
    structure: bytes | bytearray, string: VariableString, bytes_max: int, width: int, reason: int, length_reason: int
) -> bytes:
    if string.pointer:
        if string.length != mq.MQVS_NULL_TERMINATED:
            return ctypes.string_at(string.pointer, string.length)
        memory = (ctypes.c_char * (bytes_max + width)).from_address(string.pointer)
        for end in range(0, bytes_max + 1, width):
            if all(memory[end + step] == b"\0" for step in range(width)):
                return ctypes.string_at(string.pointer, end)
        raise MQError(length_reason, f"No null ends the string within {bytes_max} bytes.")
    if string.offset < 0 or string.offset > len(structure):
        raise MQError(reason, f"The offset {string.offset} lies outside the structure.")
    behind = bytes(structure[string.offset :])
    if string.length == mq.MQVS_NULL_TERMINATED:
        for end in range(0, min(bytes_max, len(behind) - width) + 1, width):
            if not any(behind[end : end + width]):
                return behind[:end]
        raise MQError(length_reason, f"No null ends the string within {bytes_max} bytes.")
    if string.length > len(behind):
        raise MQError(reason, "The string does not end within the structure's buffer.")
    return behind[: string.length]


def application_ccsid(ccsid: int) -> int:
    """Return the code page of a CCSID. MQCCSI_APPL and MQCCSI_DEFAULT are UTF-8."""
    return UTF_8 if ccsid in (mq.MQCCSI_APPL, mq.MQCCSI_DEFAULT) else ccsid


def decode_text(data: bytes, ccsid: int, encoding: int, malformed_reason: int) -> str:
    try:
        return code_pages.decode(data, application_ccsid(ccsid), encoding)
    except UnknownCodePageError as error:
        raise MQError(mq.MQRC_SOURCE_CCSID_ERROR, f"The coded character set {error.ccsid} is not supported.") from None
    except MalformedTextError as error:
        raise MQError(malformed_reason, str(error)) from None


def write_string(structure: bytearray, at: int, data: bytes, ccsid: int) -> bool:
    """Return a string through an MQCHARV. Returns False when its buffer is too small.

    Length and code page are set even then. An MQCHARV without a buffer is left alone.
    """
    string = VariableString(structure, at)
    if not string.is_present:
        return True
    struct.pack_into("<i", structure, at + CHARV_LENGTH, len(data))
    struct.pack_into("<i", structure, at + CHARV_CCSID, ccsid)
    if len(data) > string.buffer_bytes:
        return False
    if string.pointer:
        ctypes.memmove(string.pointer, data, len(data))
        return True
    end = string.offset + len(data)
    if string.offset < at + CHARV_BYTES or end > len(structure):
        return False
    structure[string.offset : end] = data
    return True


def check_buffer(structure: bytes | bytearray, at: int, reason: int) -> None:
    """Raise MQError with `reason` when an MQCHARV for output has no valid buffer and size."""
    string = VariableString(structure, at)
    if (
        (string.pointer and string.offset)
        or string.buffer_bytes < 0
        or string.is_present != (string.buffer_bytes > 0)
        or (string.offset and not at + CHARV_BYTES <= string.offset <= len(structure) - string.buffer_bytes)
    ):
        raise MQError(reason, "The variable string has no valid buffer: check pointer, offset and buffer size.")


def write_end(structure: bytearray, at: int, text: str) -> None:
    """Return a string through an MQCHARV; when its buffer is too small, as many of the last characters as fit.

    The returned length is that of the whole string.
    """
    data = text.encode("utf-8", "replace")
    string = VariableString(structure, at)
    struct.pack_into("<i", structure, at + CHARV_LENGTH, len(data))
    struct.pack_into("<i", structure, at + CHARV_CCSID, UTF_8)
    if string.buffer_bytes <= 0 or not string.is_present:
        return
    first = max(0, len(data) - string.buffer_bytes)
    while first < len(data) and data[first] & 0xC0 == 0x80:
        first += 1  # not in the middle of a character
    data = data[first:]
    if string.pointer:
        ctypes.memmove(string.pointer, data, len(data))
    else:
        structure[string.offset : string.offset + len(data)] = data
