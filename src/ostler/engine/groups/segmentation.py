"""Splitting a message into segments, and joining segments to one message.

A message is never split within an MQ header, and application data only at multiples of 16 bytes from its beginning.
Each segment's descriptor describes the data that the segment begins with.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.message.message import (
    CCSID_AT,
    ENCODING_AT,
    FLAGS_AT,
    FORMAT_AT,
    MESSAGE_TYPE_AT,
    OFFSET_AT,
    ORIGINAL_LENGTH_AT,
    PRIORITY_AT,
    REPORT_AT,
    Message,
    i32_bytes,
    patch_i32,
    read_i32,
)
from ostler.model import constants as mq

_UNIT_BYTES: Final = 16
# Reports "with data" carry this much of the application data.
_REPORT_DATA_BYTES: Final = 100
_REPORT_KINDS: Final = (
    (mq.MQRO_COA_WITH_DATA, mq.MQRO_COA_WITH_FULL_DATA),
    (mq.MQRO_COD_WITH_DATA, mq.MQRO_COD_WITH_FULL_DATA),
    (mq.MQRO_EXCEPTION_WITH_DATA, mq.MQRO_EXCEPTION_WITH_FULL_DATA),
    (mq.MQRO_EXPIRATION_WITH_DATA, mq.MQRO_EXPIRATION_WITH_FULL_DATA),
)

# A header begins with its identifier and version; most continue with their length, then encoding, code page and format
# of the data that follows. MQDLH and MQXQH have a fixed length, and these fields at other offsets.
_SHORTEST_HEADER_BYTES: Final = 28
_LENGTH_AT: Final = 8
_FOLLOWING_AT: Final = 12
_DEAD_LETTER_BYTES: Final = 172
_DEAD_LETTER_FOLLOWING_AT: Final = 108
_XMIT_BYTES: Final = 428
_XMIT_FOLLOWING_AT: Final = 128
_EBCDIC_BLANKS: Final = b"@" * 8


@final
class Section:
    """A header or the application data: its start, and its description by the header or descriptor before it."""

    def __init__(self, start: i64, encoding: i64, ccsid: i64, format: bytes) -> None:
        self.start: i64 = start
        self.encoding: i64 = encoding
        self.ccsid: i64 = ccsid
        self.format = format


def sections(md: bytes, body: bytes) -> list[Section]:
    """Return the headers at the beginning of a body and, last, the application data, which may be empty.

    Data that is not a valid header of its format counts as application data.
    """
    current = Section(0, read_i32(md, ENCODING_AT), read_i32(md, CCSID_AT), md[FORMAT_AT : FORMAT_AT + 8])
    found = [current]
    while True:
        following = _following(current, body)
        if following is None:
            return found
        found.append(following)
        current = following


def _following(header: Section, body: bytes) -> Section | None:
    order = "big" if header.encoding & mq.MQENC_INTEGER_MASK == mq.MQENC_INTEGER_NORMAL else "little"
    start: i64 = header.start
    available: i64 = len(body) - start
    length: i64 = 0
    at: i64 = _FOLLOWING_AT
    if header.format == mq.MQFMT_DEAD_LETTER_HEADER:
        length = _DEAD_LETTER_BYTES
        at = _DEAD_LETTER_FOLLOWING_AT
    elif header.format == mq.MQFMT_XMIT_Q_HEADER:
        length = _XMIT_BYTES
        at = _XMIT_FOLLOWING_AT
    elif header.format[:3] == b"MQH" or header.format in (mq.MQFMT_CICS, mq.MQFMT_IMS):
        length = _integer(body, start + _LENGTH_AT, order)
    if length < _SHORTEST_HEADER_BYTES or length > available:
        return None
    at += start
    next_format = _name(body[at + 8 : at + 16])
    if header.format in (mq.MQFMT_CICS, mq.MQFMT_IMS):
        # The data after these has their own encoding and code page, whatever their fields say.
        return Section(start + length, header.encoding, header.ccsid, next_format)
    ccsid: i64 = _integer(body, at + 4, order)
    if ccsid == mq.MQCCSI_INHERIT:
        ccsid = header.ccsid
    return Section(start + length, _integer(body, at, order), ccsid, next_format)


def _name(format: bytes) -> bytes:
    """Return a format name in ASCII. Mainframes write it in EBCDIC, where all letters are above 0x80."""
    if format[0] > 0x80 or format == _EBCDIC_BLANKS:
        return format.decode("cp500").encode("ascii", "replace")
    return format


def _integer(body: bytes, at: i64, order: str) -> i64:
    data = body[at : at + 4]
    return int.from_bytes(data, "big" if order == "big" else "little", signed=True) if len(data) == 4 else 0


def split(md: bytes, body: bytes, segment_bytes_max: i64) -> list[tuple[bytes, bytes]]:
    """Return the descriptors and bodies of the segments of a message, none longer than allowed.

    `md` comes from `prepare_put`. A message that fits is returned unchanged; a segment is split into smaller ones. The
    result is empty when the message cannot be split into segments so small.

    All segments have the message id of the message: it was returned to the application, which finds reports about any
    segment by it.
    """
    if len(body) <= segment_bytes_max:
        return [(md, body)]
    layout = sections(md, body)
    offsets = _split_offsets(layout, len(body), segment_bytes_max)
    pieces: list[tuple[bytes, bytes]] = []
    index: i64 = 0
    section: i64 = 0
    while index + 1 < len(offsets):
        start: i64 = offsets[index]
        end: i64 = offsets[index + 1]
        while section + 1 < len(layout) and layout[section + 1].start <= start:
            section += 1
        piece_md = _segment_descriptor(md, layout[section], start, end, len(body), layout[-1].start)
        pieces.append((piece_md, body[start:end]))
        index += 1
    return pieces


def _split_offsets(layout: list[Section], body_bytes: i64, segment_bytes_max: i64) -> list[int]:
    """Return the offsets where segments begin and, last, the end of the body; empty when it cannot be split."""
    offsets: list[int] = [0]
    at: i64 = 0
    data_start: i64 = layout[-1].start
    while body_bytes - at > segment_bytes_max:
        limit: i64 = at + segment_bytes_max
        end: i64 = at
        if limit >= data_start:
            end = data_start + (limit - data_start) // _UNIT_BYTES * _UNIT_BYTES
        else:
            for section in layout:
                if section.start <= limit:
                    end = section.start
        if end <= at:
            return []
        offsets.append(end)
        at = end
    offsets.append(body_bytes)
    return offsets


def _segment_descriptor(md: bytes, section: Section, start: i64, end: i64, body_bytes: i64, data_start: i64) -> bytes:
    flags: i64 = read_i32(md, FLAGS_AT)
    original: i64 = read_i32(md, ORIGINAL_LENGTH_AT)
    was_segment: bool = flags & mq.MQMF_SEGMENT != 0
    length: i64 = end - start
    if end < body_bytes:
        flags &= ~mq.MQMF_LAST_SEGMENT
    else:
        if not was_segment:
            flags |= mq.MQMF_LAST_SEGMENT
        if was_segment and read_i32(md, MESSAGE_TYPE_AT) == mq.MQMT_REPORT:
            length = original - start  # the report represents more bytes than it carries
    offset: i64 = start + (read_i32(md, OFFSET_AT) if was_segment else 0)
    report: i64 = read_i32(md, REPORT_AT)
    if report != 0 and offset - data_start >= _REPORT_DATA_BYTES:
        report = without_report_data(report)
    return b"".join(
        (
            md[:REPORT_AT],
            i32_bytes(report),
            md[MESSAGE_TYPE_AT:ENCODING_AT],
            i32_bytes(section.encoding),
            i32_bytes(section.ccsid),
            section.format,
            md[PRIORITY_AT:OFFSET_AT],
            i32_bytes(offset),
            i32_bytes(flags | mq.MQMF_SEGMENT),
            i32_bytes(length),
        )
    )


def without_report_data(report: i64) -> i64:
    """Return the report options for a segment without any of the first 100 bytes of application data."""
    for with_data, with_full_data in _REPORT_KINDS:
        if report & with_full_data == with_data:
            # The plain option is the lowest bit of the three.
            report = report & ~with_data | with_data & -with_data
    return report


def last_section(md: bytes, body: bytes) -> Section:
    """Return the last section of a segment. The next segment should have the same description."""
    return sections(md, body)[-1]


def joined_descriptor(md: bytes, body_bytes: i64) -> bytes:
    """Return the descriptor of a message joined from segments: that of the first, now the only segment."""
    flags: i64 = read_i32(md, FLAGS_AT) | mq.MQMF_SEGMENT | mq.MQMF_LAST_SEGMENT
    return patch_i32(patch_i32(md, FLAGS_AT, flags), ORIGINAL_LENGTH_AT, body_bytes)


def joined_body(segments: list[Message]) -> bytes:
    """Return the data of a message joined from segments.

    Reports represent segments of a certain length but may carry less of their data, or none: it is padded with nulls.
    """
    pieces: list[bytes] = []
    for segment in segments:
        body = segment.body
        if read_i32(segment.md, MESSAGE_TYPE_AT) == mq.MQMT_REPORT:
            body = body.ljust(read_i32(segment.md, ORIGINAL_LENGTH_AT), b"\0")
        pieces.append(body)
    return b"".join(pieces)
