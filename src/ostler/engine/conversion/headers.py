"""Conversion of the headers that may precede message data.

Every header names the format, encoding and code page of the data behind it. A converted header still describes that
data as it is at the source; the caller calls `describe` after converting it.
"""

from __future__ import annotations

from typing import Final

from ostler.engine.conversion.code_pages import depends_on_encoding
from ostler.engine.conversion.fields import (
    ConversionFailedError,
    Converter,
    LayoutField,
    convert_fields,
    layout,
    layout_length,
    layout_of,
)
from ostler.engine.conversion.pcf import convert_pcf
from ostler.model import constants as mq
from ostler.model.structures.headers import MQDLH, MQIIH, MQMDE, MQRFH2, MQXQH
from ostler.model.structures.layout import Layout
from ostler.model.structures.md import MQMD


class HeaderLayout:
    """Layout of a header: identifier, version, fields, and the offset of the description of the following data.

    `length_at` is the offset of StrucLength, -1 without it. `shares_page`: the following data is in the header's own
    encoding and code page, whatever its fields are (MQCIH and MQIIH).
    """

    def __init__(
        self,
        identifier: bytes,
        version: int,
        fields: list[LayoutField],
        encoding_at: int,
        length_at: int,
        shares_page: bool,
    ) -> None:
        self.identifier = identifier
        self.version = version
        self.fields = fields
        self.length = layout_length(fields)
        self.encoding_at = encoding_at
        self.length_at = length_at
        self.shares_page = shares_page


class ConvertedHeader:
    """A converted header.

    `length` is the length at the source; `complete` is False if the message was truncated in it.
    """

    def __init__(
        self, header_layout: HeaderLayout, converter: Converter, converted: bytearray, length: int, complete: bool
    ) -> None:
        self.layout = header_layout
        self.converter = converter
        self.converted = converted
        self.length = length
        self.complete = complete
        self.next_format = b""
        self.next_converter = converter

    def describe(self, encoding: int, ccsid: int) -> None:
        """Set encoding and code page of the following data in the converted header."""
        at = self.layout.encoding_at
        self.converted[at : at + 4] = self.converter.pack_integer(encoding)
        self.converted[at + 4 : at + 8] = self.converter.pack_integer(ccsid)


_DESCRIPTION: Final = "c4 i4 c8 i1"
_CIH_FIELDS: Final = f"{_DESCRIPTION} i11 b8 c4 c4 c8 c8 c8 c4 c4 c4 c4 c4 c4 c4 c4 c8 c8"
_WIH_FIELDS: Final = f"{_DESCRIPTION} c32 c8 b16 c32"
_MD_AT: Final = MQXQH.offset("MsgDesc")
# The embedded descriptor is converted field by field.
_XQH_FIELDS: Final = layout_of(MQXQH, mq.MQXQH_VERSION_1)[:-1] + layout_of(MQMD, mq.MQMD_VERSION_1, _MD_AT)


def _layout_of_structure(structure: Layout, version: int, shares_page: bool) -> HeaderLayout:
    """Return the layout of a header that describes the following data in its own fields."""
    length_at = structure.offset("StrucLength") if "StrucLength" in structure.by_name else -1
    fields = layout_of(structure, version)
    return HeaderLayout(structure.identifier, version, fields, structure.offset("Encoding"), length_at, shares_page)


_DLH: Final = _layout_of_structure(MQDLH, mq.MQDLH_VERSION_1, False)
_MDE: Final = _layout_of_structure(MQMDE, mq.MQMDE_VERSION_2, False)
_IIH: Final = _layout_of_structure(MQIIH, mq.MQIIH_VERSION_1, True)
_XQH: Final = HeaderLayout(
    mq.MQXQH_STRUC_ID, mq.MQXQH_VERSION_1, _XQH_FIELDS, _MD_AT + MQMD.offset("Encoding"), -1, False
)
_CIH: Final = HeaderLayout(mq.MQCIH_STRUC_ID, mq.MQCIH_VERSION_1, layout(_CIH_FIELDS), 12, 8, True)
_CIH_2: Final = HeaderLayout(mq.MQCIH_STRUC_ID, mq.MQCIH_VERSION_2, layout(f"{_CIH_FIELDS} i4"), 12, 8, True)
_WIH: Final = HeaderLayout(mq.MQWIH_STRUC_ID, mq.MQWIH_VERSION_1, layout(_WIH_FIELDS), 12, 8, False)
# These have a part of variable length behind the fields.
_RFH: Final = HeaderLayout(mq.MQRFH_STRUC_ID, mq.MQRFH_VERSION_1, layout(_DESCRIPTION), 12, 8, False)
_RFH_2: Final = _layout_of_structure(MQRFH2, mq.MQRFH_VERSION_2, False)
_EPH: Final = HeaderLayout(mq.MQEPH_STRUC_ID, mq.MQEPH_VERSION_1, layout(_DESCRIPTION), 12, 8, False)

_LAYOUTS: Final[dict[bytes, HeaderLayout]] = {
    mq.MQFMT_DEAD_LETTER_HEADER: _DLH,
    mq.MQFMT_XMIT_Q_HEADER: _XQH,
    mq.MQFMT_MD_EXTENSION: _MDE,
    mq.MQFMT_IMS: _IIH,
    mq.MQFMT_CICS: _CIH,
    mq.MQFMT_WORK_INFO_HEADER: _WIH,
    mq.MQFMT_RF_HEADER: _RFH,
    mq.MQFMT_RF_HEADER_2: _RFH_2,
    mq.MQFMT_EMBEDDED_PCF: _EPH,
}


def is_header(format: bytes) -> bool:
    return format in _LAYOUTS


def convert_header(format: bytes, converter: Converter, data: bytes, offset: int, truncated: bool) -> ConvertedHeader:
    """Convert the header at `offset`. Raises ConversionFailedError if it is not of this format."""
    header_layout = _LAYOUTS[format]
    converter.check_names()
    available = len(data) - offset
    if truncated and available < 8:
        return ConvertedHeader(header_layout, converter, bytearray(), available, False)
    header_layout = _check_start(header_layout, converter, data, offset)
    if available < header_layout.length:
        if not truncated:
            raise ConversionFailedError(mq.MQRC_FORMAT_ERROR)
        return ConvertedHeader(
            header_layout, converter, convert_fields(converter, data, offset, header_layout.fields), available, False
        )
    length = _length(header_layout, converter, data, offset)
    if length > available and not truncated:
        raise ConversionFailedError(mq.MQRC_FORMAT_ERROR)
    complete = length <= available
    end = offset + length if complete else len(data)
    converted = convert_fields(converter, data, offset, header_layout.fields)
    if header_layout is _RFH:
        _add_name_value_string(converter, converted, data, offset, end, complete)
    elif header_layout is _RFH_2:
        _add_folders(converter, converted, data, offset, end, complete)
    elif header_layout is _EPH:
        converted += convert_pcf(converter, data, offset + header_layout.length, end, not complete)
        _set_length(converter, converted, complete)
    header = ConvertedHeader(header_layout, converter, converted, length, complete)
    if complete:
        _read_description(header, data, offset)
    return header


def _check_start(header_layout: HeaderLayout, converter: Converter, data: bytes, offset: int) -> HeaderLayout:
    if len(data) - offset < 8 or converter.read_name(data[offset : offset + 4]) != header_layout.identifier:
        raise ConversionFailedError(mq.MQRC_FORMAT_ERROR)
    version = converter.read_integer(data, offset + 4)
    if header_layout is _CIH and version == mq.MQCIH_VERSION_2:
        return _CIH_2
    if version != header_layout.version:
        raise ConversionFailedError(mq.MQRC_FORMAT_ERROR)
    return header_layout


def _length(header_layout: HeaderLayout, converter: Converter, data: bytes, offset: int) -> int:
    if header_layout.length_at < 0:
        return header_layout.length
    length = converter.read_integer(data, offset + header_layout.length_at)
    varies = header_layout is _RFH or header_layout is _RFH_2 or header_layout is _EPH
    if length < header_layout.length or (length > header_layout.length and not varies):
        raise ConversionFailedError(mq.MQRC_FORMAT_ERROR)
    return length


def _read_description(header: ConvertedHeader, data: bytes, offset: int) -> None:
    """Read the description of the following data, and replace MQCCSI_INHERIT by the actual code page."""
    header_layout = header.layout
    converter = header.converter
    at = offset + header_layout.encoding_at
    header.next_format = converter.read_name(data[at + 8 : at + 16])
    if header_layout.shares_page:
        return
    header.next_converter = converter.for_following_data(
        converter.read_integer(data, at), converter.read_integer(data, at + 4)
    )
    header.describe(header.next_converter.encoding, header.next_converter.ccsid)


def _set_length(converter: Converter, converted: bytearray, complete: bool) -> None:
    """Set StrucLength. A truncated header keeps its length, because its rest is not here to be measured."""
    if complete:
        converted[8:12] = converter.pack_integer(len(converted))


def _add_name_value_string(
    converter: Converter, converted: bytearray, data: bytes, offset: int, end: int, complete: bool
) -> None:
    string = data[offset + _RFH.length : end]
    if not complete:
        converted += converter.convert_truncated_string(string)
        return
    converted += converter.convert_string(string)
    # Keep the following data on a four-byte boundary.
    converted += converter.target_blank() * (-len(converted) % 4)
    _set_length(converter, converted, True)


def _add_folders(
    converter: Converter, converted: bytearray, data: bytes, offset: int, end: int, complete: bool
) -> None:
    """Convert the folder lengths; folders stay in their Unicode page. UTF-16 follows the encoding of the header."""
    swaps = (
        depends_on_encoding(converter.read_integer(data, offset + _RFH_2.length - 4))
        and converter.is_source_reversed() != converter.is_target_reversed()
    )
    at = offset + _RFH_2.length
    while at < end:
        if end - at < 4:
            if complete:
                raise ConversionFailedError(mq.MQRC_FORMAT_ERROR)
            return
        length = converter.read_integer(data, at)
        if length < 0 or (complete and length > end - at - 4):
            raise ConversionFailedError(mq.MQRC_FORMAT_ERROR)
        converted += converter.pack_integer(length)
        folder = data[at + 4 : min(at + 4 + length, end)]
        converted += _swap_pairs(folder) if swaps else folder
        at += 4 + length


def _swap_pairs(folder: bytes) -> bytes:
    swapped = bytearray(folder[: len(folder) - len(folder) % 2])
    swapped[0::2], swapped[1::2] = swapped[1::2], swapped[0::2]
    return bytes(swapped) + folder[len(swapped) :]
