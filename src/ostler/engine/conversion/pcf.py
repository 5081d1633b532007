"""Conversion of programmable command format (PCF) messages: commands, replies and events.

A message is an MQCFH header followed by parameter structures. Integers follow the encoding; a string follows the code
page of its own structure, or that of the message if the structure has 0. Strings can change their length, and the
structures change with them.
"""

from __future__ import annotations

from typing import Final

from ostler.engine.conversion.fields import ConversionFailedError, Converter
from ostler.model import constants as mq

_TYPE_AND_LENGTH: Final = 8
_FILTER_LENGTH_FIXED: Final = 20
_STRING_FILTER_LENGTH_FIXED: Final = 24


def convert_pcf(converter: Converter, data: bytes, offset: int, end: int, truncated: bool) -> bytes:
    """Convert the message from `offset` to `end`. With `truncated`, an incomplete last structure is omitted."""
    if end - offset < mq.MQCFH_STRUC_LENGTH:
        if truncated:
            return b""
        raise ConversionFailedError(mq.MQRC_FORMAT_ERROR)
    if converter.read_integer(data, offset + 4) != mq.MQCFH_STRUC_LENGTH:
        raise ConversionFailedError(mq.MQRC_FORMAT_ERROR)
    header = converter.convert_integers(data[offset : offset + mq.MQCFH_STRUC_LENGTH])
    return header + convert_parameters(converter, data, offset + mq.MQCFH_STRUC_LENGTH, end, truncated)


def convert_parameters(converter: Converter, data: bytes, offset: int, end: int, truncated: bool) -> bytes:
    """Convert the parameter structures from `offset` to `end`."""
    parts: list[bytes] = []
    while offset < end:
        if end - offset < _TYPE_AND_LENGTH:
            if truncated:
                break
            raise ConversionFailedError(mq.MQRC_FORMAT_ERROR)
        length = converter.read_integer(data, offset + 4)
        if length < _TYPE_AND_LENGTH or (length > end - offset and not truncated):
            raise ConversionFailedError(mq.MQRC_FORMAT_ERROR)
        if length > end - offset:
            break
        parts.append(_convert_parameter(converter, data[offset : offset + length]))
        offset += length
    return b"".join(parts)


def _convert_parameter(converter: Converter, structure: bytes) -> bytes:
    kind = converter.read_integer(structure, 0)
    if kind in (mq.MQCFT_INTEGER, mq.MQCFT_GROUP):
        return _integers_only(converter, structure, mq.MQCFIN_STRUC_LENGTH)
    if kind == mq.MQCFT_STRING:
        return _convert_string(converter, structure, 12, mq.MQCFST_STRUC_LENGTH_FIXED)
    if kind == mq.MQCFT_INTEGER_LIST:
        return _convert_integer_list(converter, structure, mq.MQCFIL_STRUC_LENGTH_FIXED, 4)
    if kind == mq.MQCFT_STRING_LIST:
        return _convert_string_list(converter, structure)
    if kind == mq.MQCFT_BYTE_STRING:
        return _convert_bytes(converter, structure, mq.MQCFBS_STRUC_LENGTH_FIXED)
    if kind == mq.MQCFT_INTEGER_FILTER:
        return _integers_only(converter, structure, _FILTER_LENGTH_FIXED)
    if kind == mq.MQCFT_STRING_FILTER:
        return _convert_string(converter, structure, 16, _STRING_FILTER_LENGTH_FIXED)
    if kind == mq.MQCFT_BYTE_STRING_FILTER:
        return _convert_bytes(converter, structure, _FILTER_LENGTH_FIXED)
    if kind == mq.MQCFT_INTEGER64:
        _check(len(structure) == mq.MQCFIN64_STRUC_LENGTH)
        return converter.convert_integers(structure[:16]) + converter.convert_integers(structure[16:], 8)
    if kind == mq.MQCFT_INTEGER64_LIST:
        return _convert_integer_list(converter, structure, mq.MQCFIL64_STRUC_LENGTH_FIXED, 8)
    raise ConversionFailedError(mq.MQRC_FORMAT_ERROR)


def _check(fine: bool) -> None:
    if not fine:
        raise ConversionFailedError(mq.MQRC_FORMAT_ERROR)


def _integers_only(converter: Converter, structure: bytes, length: int) -> bytes:
    _check(len(structure) == length)
    return converter.convert_integers(structure)


def _convert_integer_list(converter: Converter, structure: bytes, fixed: int, width: int) -> bytes:
    _check(len(structure) >= fixed)
    count = converter.read_integer(structure, fixed - 4)
    _check(count >= 0 and len(structure) == fixed + count * width)
    return converter.convert_integers(structure[:fixed]) + converter.convert_integers(structure[fixed:], width)


def _convert_bytes(converter: Converter, structure: bytes, fixed: int) -> bytes:
    """Convert integers; the last one is the length of the bytes that follow, which are not converted."""
    _check(len(structure) >= fixed)
    length = converter.read_integer(structure, fixed - 4)
    _check(0 <= length <= len(structure) - fixed)
    return converter.convert_integers(structure[:fixed]) + structure[fixed:]


def _string_ccsid(converter: Converter, structure: bytes, at: int) -> tuple[int, bytes]:
    """Return the code page of a structure's text, and the converted CCSID field."""
    own = converter.read_integer(structure, at)
    if own == mq.MQCCSI_DEFAULT:
        return converter.ccsid, converter.pack_integer(mq.MQCCSI_DEFAULT)
    return own, converter.pack_integer(converter.wanted_ccsid)


def _padding(length: int) -> bytes:
    return bytes(-length % 4)


def _convert_string(converter: Converter, structure: bytes, ccsid_at: int, fixed: int) -> bytes:
    """Convert a string or string filter: integers, code page, length and text."""
    _check(len(structure) >= fixed)
    length = converter.read_integer(structure, fixed - 4)
    _check(0 <= length <= len(structure) - fixed)
    ccsid, ccsid_field = _string_ccsid(converter, structure, ccsid_at)
    converted = converter.convert_string_from(structure[fixed : fixed + length], ccsid)
    padding = _padding(len(converted))
    return b"".join(
        (
            converter.convert_integers(structure[:4]),
            converter.pack_integer(fixed + len(converted) + len(padding)),
            converter.convert_integers(structure[8:ccsid_at]),
            ccsid_field,
            converter.pack_integer(len(converted)),
            converted,
            padding,
        )
    )


def _convert_string_list(converter: Converter, structure: bytes) -> bytes:
    fixed = mq.MQCFSL_STRUC_LENGTH_FIXED
    _check(len(structure) >= fixed)
    count = converter.read_integer(structure, 16)
    length = converter.read_integer(structure, 20)
    _check(count >= 0 and length >= 0 and count * length <= len(structure) - fixed)
    # Empty strings can be claimed in any number; there is nothing to convert.
    strings = [structure[fixed + length * at : fixed + length * (at + 1)] for at in range(count if length else 0)]
    ccsid, ccsid_field = _string_ccsid(converter, structure, 12)
    converted = [converter.convert_string_from(string, ccsid) for string in strings]
    longest = max([len(string) for string in converted], default=length)
    blank = converter.target_blank()
    joined = b"".join([_fill(string, longest, blank) for string in converted])
    padding = _padding(len(joined))
    return b"".join(
        (
            converter.convert_integers(structure[:4]),
            converter.pack_integer(fixed + len(joined) + len(padding)),
            converter.convert_integers(structure[8:12]),
            ccsid_field,
            converter.pack_integer(count),
            converter.pack_integer(longest),
            joined,
            padding,
        )
    )


def _fill(string: bytes, length: int, blank: bytes) -> bytes:
    """Pad a string of a list, whose strings have one length, with blanks, which may take two bytes."""
    return string + blank * ((length - len(string)) // len(blank))
