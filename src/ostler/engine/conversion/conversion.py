"""MQGMO_CONVERT: conversion of message data to the encoding and code page requested on MQGET.

A message may begin with headers; each names the format, encoding and code page of the data behind it. Parts are
converted from the front until one cannot be: that one and all after it stay unconverted, and the header before it
describes them so. The fields that describe data are therefore always true.
"""

from __future__ import annotations

from typing import Final

from ostler.engine.conversion.code_pages import UTF_8, cut_text, is_known
from ostler.engine.conversion.fields import (
    ConversionFailedError,
    Converter,
    convert_fields,
    layout_length,
    layout_of,
)
from ostler.engine.conversion.headers import ConvertedHeader, convert_header, is_header
from ostler.engine.conversion.pcf import convert_pcf
from ostler.model import constants as mq
from ostler.model.structures.headers import MQTM

# The largest MQI buffer; for callers without a buffer.
NO_LIMIT: Final = 0x7FFF_FFFF

_TM: Final = layout_of(MQTM, mq.MQTM_VERSION_1)
_TM_LENGTH: Final = layout_length(_TM)
_IMS_SEGMENT_LENGTH_MAX: Final = 0x7FFF
# More headers than any real message has; a longer chain would only keep the queue manager busy.
_HEADERS_MAX: Final = 100


class ConversionResult:
    """The converted message. `reason` is MQRC_NONE or a warning; the other fields describe `body`."""

    def __init__(self, body: bytes, encoding: int, ccsid: int, format: bytes, reason: int) -> None:
        self.body = body
        self.encoding = encoding
        self.ccsid = ccsid
        self.format = format
        self.reason = reason


class _Parts:
    """The parts converted so far, and finally the unconverted rest."""

    def __init__(self) -> None:
        self.headers: list[ConvertedHeader] = []
        self.starts: list[int] = []
        self.body = b""
        self.body_converter: Converter | None = None
        self.rest = b""
        self.reason: int = mq.MQRC_NONE
        self.stopped = False

    def stop(self, data: bytes, offset: int, reason: int) -> None:
        """Leave the data from `offset` on unconverted."""
        self.rest = data[offset:]
        self.reason = reason
        self.stopped = True

    def join(self) -> bytes:
        return b"".join([*[bytes(header.converted) for header in self.headers], self.body, self.rest])


def convert_message(
    format: bytes,
    body: bytes,
    encoding: int,
    ccsid: int,
    wanted_encoding: int,
    wanted_ccsid: int,
    buffer_length: int,
    accept_truncated: bool,
    queue_manager_ccsid: int = UTF_8,
) -> ConversionResult:
    """Convert message data for MQGET. Returns at most `buffer_length` bytes and never raises.

    With `accept_truncated` (MQGMO_ACCEPT_TRUNCATED_MSG) data that does not fit is truncated behind a complete
    character, and the reason is MQRC_TRUNCATED_MSG_ACCEPTED, whatever other reason applies.
    """
    if ccsid in (mq.MQCCSI_Q_MGR, mq.MQCCSI_INHERIT):
        ccsid = queue_manager_ccsid
    if wanted_ccsid == mq.MQCCSI_Q_MGR:
        wanted_ccsid = queue_manager_ccsid
    data = body if len(body) <= buffer_length else body[:buffer_length]
    truncated = len(data) < len(body)
    if truncated and not accept_truncated:
        return ConversionResult(data, encoding, ccsid, format, mq.MQRC_TRUNCATED_MSG_FAILED)
    reason = mq.MQRC_TRUNCATED_MSG_ACCEPTED if truncated else mq.MQRC_NONE
    if (encoding == wanted_encoding and ccsid == wanted_ccsid) or not data or wanted_ccsid == mq.MQCCSI_EMBEDDED:
        return ConversionResult(data, encoding, ccsid, format, reason)
    converter = Converter(encoding, ccsid, wanted_encoding, wanted_ccsid, queue_manager_ccsid)
    parts = _convert_parts(format.split(b"\0")[0].ljust(len(mq.MQFMT_NONE)), converter, data, truncated)
    if parts.stopped and not parts.headers:
        return ConversionResult(data, encoding, ccsid, format, reason or parts.reason)
    converted = parts.join()
    if len(converted) > buffer_length:
        if not accept_truncated:
            return ConversionResult(body, encoding, ccsid, format, mq.MQRC_CONVERTED_MSG_TOO_BIG)
        converted = _cut(parts, converted, buffer_length)
        reason = mq.MQRC_TRUNCATED_MSG_ACCEPTED
    return ConversionResult(converted, wanted_encoding, wanted_ccsid, format, reason or parts.reason)


def _convert_parts(first_format: bytes, converter: Converter, data: bytes, truncated: bool) -> _Parts:
    parts = _Parts()
    part_format = first_format
    offset = 0
    try:
        while True:
            if part_format == mq.MQFMT_NONE:
                # MQFMT_NONE is an error only if there is no header before it.
                parts.stop(data, offset, mq.MQRC_NONE if parts.headers else mq.MQRC_FORMAT_ERROR)
                break
            if not is_header(part_format):
                parts.body = _convert_body(part_format, converter, data, offset, truncated)
                parts.body_converter = converter
                break
            if len(parts.headers) == _HEADERS_MAX:
                raise ConversionFailedError(mq.MQRC_FORMAT_ERROR)
            header = convert_header(part_format, converter, data, offset, truncated)
            parts.headers.append(header)
            parts.starts.append(offset)
            if not header.complete:
                break
            offset += header.length
            part_format = header.next_format
            converter = header.next_converter
            if not converter.is_needed() or offset == len(data):
                parts.rest = data[offset:]
                break
    except ConversionFailedError as failure:
        _stop_at(parts, data, offset, failure.reason)
    _describe(parts)
    return parts


def _stop_at(parts: _Parts, data: bytes, offset: int, reason: int) -> None:
    """Stop before `offset`. Headers that share their code page with the following data stay unconverted too."""
    while parts.headers and parts.headers[-1].layout.shares_page:
        parts.headers.pop()
        offset = parts.starts.pop()
    parts.stop(data, offset, reason)


def _describe(parts: _Parts) -> None:
    """Update the headers in front of converted parts; the one in front of the rest keeps describing the source."""
    described = len(parts.headers) - 1 if parts.stopped else len(parts.headers)
    for header in parts.headers[:described]:
        if header.complete and not header.layout.shares_page:
            header.describe(header.converter.wanted_encoding, header.converter.wanted_ccsid)


def _cut(parts: _Parts, converted: bytes, length_max: int) -> bytes:
    """Truncate converted data that is too long for the buffer, without an incomplete character at the end."""
    converter = parts.body_converter
    start = len(converted) - len(parts.body)
    if converter is None or start >= length_max or not is_known(converter.wanted_ccsid):
        return converted[:length_max]
    body = cut_text(parts.body, converter.wanted_ccsid, length_max - start, converter.wanted_encoding)
    return converted[:start] + body


def _convert_body(format: bytes, converter: Converter, data: bytes, offset: int, truncated: bool) -> bytes:
    """Convert the last part: text, a trigger message, a command or an event. Other formats raise MQRC_FORMAT_ERROR."""
    if format == mq.MQFMT_STRING:
        piece = data[offset:] if offset else data
        return converter.convert_truncated_string(piece) if truncated else converter.convert_string(piece)
    if format in (mq.MQFMT_ADMIN, mq.MQFMT_EVENT, mq.MQFMT_PCF):
        return convert_pcf(converter, data, offset, len(data), truncated)
    if format == mq.MQFMT_TRIGGER:
        return _convert_trigger(converter, data, offset, truncated)
    if format == mq.MQFMT_IMS_VAR_STRING:
        return _convert_ims_segments(converter, data, offset, truncated)
    raise ConversionFailedError(mq.MQRC_FORMAT_ERROR)


def _convert_trigger(converter: Converter, data: bytes, offset: int, truncated: bool) -> bytes:
    converter.check_names()
    length = len(data) - offset
    if length > _TM_LENGTH or (length < _TM_LENGTH and not truncated):
        raise ConversionFailedError(mq.MQRC_FORMAT_ERROR)
    if length >= 8 and (
        converter.read_name(data[offset : offset + 4]) != mq.MQTM_STRUC_ID
        or converter.read_integer(data, offset + 4) != mq.MQTM_VERSION_1
    ):
        raise ConversionFailedError(mq.MQRC_FORMAT_ERROR)
    return bytes(convert_fields(converter, data, offset, _TM))


def _convert_ims_segments(converter: Converter, data: bytes, offset: int, truncated: bool) -> bytes:
    """Convert IMS segments: two bytes of length that count themselves, two bytes left alone, and text."""
    parts: list[bytes] = []
    end = len(data)
    while offset < end:
        length = converter.read_integer(data, offset, 2) if end - offset >= 4 else 0
        if truncated and (end - offset < 4 or length > end - offset):
            break
        if length < 4 or length > end - offset:
            raise ConversionFailedError(mq.MQRC_FORMAT_ERROR)
        converted = converter.convert_string(data[offset + 4 : offset + length])
        if len(converted) + 4 > _IMS_SEGMENT_LENGTH_MAX:
            raise ConversionFailedError(mq.MQRC_CONVERTED_STRING_TOO_BIG)
        parts += [converter.pack_integer(len(converted) + 4, 2), data[offset + 2 : offset + 4], converted]
        offset += length
    return b"".join(parts)
