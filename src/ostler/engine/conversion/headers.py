"""The headers that may stand before a message's data, from one encoding and code page into another.

Every header names the format, encoding and code page of what follows it. A converter returns the header converted, but
still describing what follows as it is at the source; whoever converts what follows calls `describe`.
"""

from __future__ import annotations

from typing import Final

from ostler.engine.conversion.code_pages import depends_on_encoding
from ostler.engine.conversion.fields import (
    Change,
    ConversionFailedError,
    Field,
    convert_fields,
    layout,
    layout_length,
    layout_of,
)
from ostler.engine.conversion.pcf import convert_pcf
from ostler.model.constants import (
    MQCIH_STRUC_ID,
    MQCIH_VERSION_1,
    MQCIH_VERSION_2,
    MQDLH_VERSION_1,
    MQEPH_STRUC_ID,
    MQEPH_VERSION_1,
    MQFMT_CICS,
    MQFMT_DEAD_LETTER_HEADER,
    MQFMT_EMBEDDED_PCF,
    MQFMT_IMS,
    MQFMT_MD_EXTENSION,
    MQFMT_RF_HEADER,
    MQFMT_RF_HEADER_2,
    MQFMT_WORK_INFO_HEADER,
    MQFMT_XMIT_Q_HEADER,
    MQIIH_VERSION_1,
    MQMD_VERSION_1,
    MQMDE_VERSION_2,
    MQRC_FORMAT_ERROR,
    MQRFH_STRUC_ID,
    MQRFH_VERSION_1,
    MQRFH_VERSION_2,
    MQWIH_STRUC_ID,
    MQWIH_VERSION_1,
    MQXQH_STRUC_ID,
    MQXQH_VERSION_1,
)
from ostler.model.structures.headers import MQDLH, MQIIH, MQMDE, MQRFH2, MQXQH
from ostler.model.structures.layout import Layout
from ostler.model.structures.md import MQMD


class Shape:
    """What a header looks like: its identifier and version, its fields, and where it says what follows.

    `length_at` is where it tells its own length, -1 if it does not. `shares_page`: what follows is in the header's own
    encoding and code page, whatever its fields say (MQCIH and MQIIH).
    """

    def __init__(
        self, identifier: bytes, version: int, fields: list[Field], encoding_at: int, length_at: int, shares_page: bool
    ) -> None:
        self.identifier = identifier
        self.version = version
        self.fields = fields
        self.length = layout_length(fields)
        self.encoding_at = encoding_at
        self.length_at = length_at
        self.shares_page = shares_page


class Header:
    """A converted header. `length` counts the source's bytes; `complete` is False when the message was cut in it."""

    def __init__(self, shape: Shape, change: Change, converted: bytearray, length: int, complete: bool) -> None:
        self.shape = shape
        self.change = change
        self.converted = converted
        self.length = length
        self.complete = complete
        self.next_format = b""
        self.next_change = change

    def describe(self, encoding: int, ccsid: int) -> None:
        """Say what the data that follows is in, in the fields of the converted header."""
        at = self.shape.encoding_at
        self.converted[at : at + 4] = self.change.packed(encoding)
        self.converted[at + 4 : at + 8] = self.change.packed(ccsid)


_DESCRIPTION: Final = "c4 i4 c8 i1"
_CIH_FIELDS: Final = f"{_DESCRIPTION} i11 b8 c4 c4 c8 c8 c8 c4 c4 c4 c4 c4 c4 c4 c4 c8 c8"
_WIH_FIELDS: Final = f"{_DESCRIPTION} c32 c8 b16 c32"
_MD_AT: Final = MQXQH.offset("MsgDesc")
# The descriptor in the header is bytes to others; here its fields count.
_XQH_FIELDS: Final = layout_of(MQXQH, MQXQH_VERSION_1)[:-1] + layout_of(MQMD, MQMD_VERSION_1, _MD_AT)


def _described(structure: Layout, version: int, shares_page: bool) -> Shape:
    """A header that tells its length and what follows, all in its own fields."""
    length_at = structure.offset("StrucLength") if "StrucLength" in structure.by_name else -1
    fields = layout_of(structure, version)
    return Shape(structure.identifier, version, fields, structure.offset("Encoding"), length_at, shares_page)


_DLH: Final = _described(MQDLH, MQDLH_VERSION_1, False)
_MDE: Final = _described(MQMDE, MQMDE_VERSION_2, False)
_IIH: Final = _described(MQIIH, MQIIH_VERSION_1, True)
_XQH: Final = Shape(MQXQH_STRUC_ID, MQXQH_VERSION_1, _XQH_FIELDS, _MD_AT + MQMD.offset("Encoding"), -1, False)
_CIH: Final = Shape(MQCIH_STRUC_ID, MQCIH_VERSION_1, layout(_CIH_FIELDS), 12, 8, True)
_CIH_2: Final = Shape(MQCIH_STRUC_ID, MQCIH_VERSION_2, layout(f"{_CIH_FIELDS} i4"), 12, 8, True)
_WIH: Final = Shape(MQWIH_STRUC_ID, MQWIH_VERSION_1, layout(_WIH_FIELDS), 12, 8, False)
# These have a part of varying length; the fields are those before it.
_RFH: Final = Shape(MQRFH_STRUC_ID, MQRFH_VERSION_1, layout(_DESCRIPTION), 12, 8, False)
_RFH_2: Final = _described(MQRFH2, MQRFH_VERSION_2, False)
_EPH: Final = Shape(MQEPH_STRUC_ID, MQEPH_VERSION_1, layout(_DESCRIPTION), 12, 8, False)

_SHAPES: Final[dict[bytes, Shape]] = {
    MQFMT_DEAD_LETTER_HEADER: _DLH,
    MQFMT_XMIT_Q_HEADER: _XQH,
    MQFMT_MD_EXTENSION: _MDE,
    MQFMT_IMS: _IIH,
    MQFMT_CICS: _CIH,
    MQFMT_WORK_INFO_HEADER: _WIH,
    MQFMT_RF_HEADER: _RFH,
    MQFMT_RF_HEADER_2: _RFH_2,
    MQFMT_EMBEDDED_PCF: _EPH,
}


def is_header(format: bytes) -> bool:
    return format in _SHAPES


def convert_header(format: bytes, change: Change, data: bytes, offset: int, truncated: bool) -> Header:
    """The header at `offset`. Raises ConversionFailedError for one that is not what the format says."""
    shape = _SHAPES[format]
    change.check_names()
    available = len(data) - offset
    if truncated and available < 8:
        return Header(shape, change, bytearray(), available, False)
    shape = _check_start(shape, change, data, offset)
    if available < shape.length:
        if not truncated:
            raise ConversionFailedError(MQRC_FORMAT_ERROR)
        return Header(shape, change, convert_fields(change, data, offset, shape.fields), available, False)
    length = _length(shape, change, data, offset)
    if length > available and not truncated:
        raise ConversionFailedError(MQRC_FORMAT_ERROR)
    complete = length <= available
    end = offset + length if complete else len(data)
    converted = convert_fields(change, data, offset, shape.fields)
    if shape is _RFH:
        _add_name_value_string(change, converted, data, offset, end, complete)
    elif shape is _RFH_2:
        _add_folders(change, converted, data, offset, end, complete)
    elif shape is _EPH:
        converted += convert_pcf(change, data, offset + shape.length, end, not complete)
        _set_length(change, converted, complete)
    header = Header(shape, change, converted, length, complete)
    if complete:
        _read_description(header, data, offset)
    return header


def _check_start(shape: Shape, change: Change, data: bytes, offset: int) -> Shape:
    if len(data) - offset < 8 or change.name(data[offset : offset + 4]) != shape.identifier:
        raise ConversionFailedError(MQRC_FORMAT_ERROR)
    version = change.integer(data, offset + 4)
    if shape is _CIH and version == MQCIH_VERSION_2:
        return _CIH_2
    if version != shape.version:
        raise ConversionFailedError(MQRC_FORMAT_ERROR)
    return shape


def _length(shape: Shape, change: Change, data: bytes, offset: int) -> int:
    if shape.length_at < 0:
        return shape.length
    length = change.integer(data, offset + shape.length_at)
    varies = shape is _RFH or shape is _RFH_2 or shape is _EPH
    if length < shape.length or (length > shape.length and not varies):
        raise ConversionFailedError(MQRC_FORMAT_ERROR)
    return length


def _read_description(header: Header, data: bytes, offset: int) -> None:
    """Find out what follows, and write the true code page in place of "inherited"."""
    shape = header.shape
    change = header.change
    at = offset + shape.encoding_at
    header.next_format = change.name(data[at + 8 : at + 16])
    if shape.shares_page:
        return
    header.next_change = change.following(change.integer(data, at), change.integer(data, at + 4))
    header.describe(header.next_change.encoding, header.next_change.ccsid)


def _set_length(change: Change, converted: bytearray, complete: bool) -> None:
    """Tell the new length. A header that was cut keeps the length it had: its rest is not here to be measured."""
    if complete:
        converted[8:12] = change.packed(len(converted))


def _add_name_value_string(
    change: Change, converted: bytearray, data: bytes, offset: int, end: int, complete: bool
) -> None:
    string = data[offset + _RFH.length : end]
    if not complete:
        converted += change.cut_string(string)
        return
    converted += change.string(string)
    # What follows should stay on a boundary of four bytes.
    converted += change.blank() * (-len(converted) % 4)
    _set_length(change, converted, True)


def _add_folders(change: Change, converted: bytearray, data: bytes, offset: int, end: int, complete: bool) -> None:
    """Lengths are converted, the folders stay in their own Unicode page; UTF-16 follows the encoding of the header."""
    swaps = (
        depends_on_encoding(change.integer(data, offset + _RFH_2.length - 4))
        and change.source_order() != change.target_order()
    )
    at = offset + _RFH_2.length
    while at < end:
        if end - at < 4:
            if complete:
                raise ConversionFailedError(MQRC_FORMAT_ERROR)
            return
        length = change.integer(data, at)
        if length < 0 or (complete and length > end - at - 4):
            raise ConversionFailedError(MQRC_FORMAT_ERROR)
        converted += change.packed(length)
        folder = data[at + 4 : min(at + 4 + length, end)]
        converted += _swapped_pairs(folder) if swaps else folder
        at += 4 + length


def _swapped_pairs(folder: bytes) -> bytes:
    swapped = bytearray(folder[: len(folder) - len(folder) % 2])
    swapped[0::2], swapped[1::2] = swapped[1::2], swapped[0::2]
    return bytes(swapped) + folder[len(swapped) :]
