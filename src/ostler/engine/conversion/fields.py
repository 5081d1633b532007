"""Conversion of the fields of MQ's structures between encodings and code pages.

A structure is described by a layout: which bytes are text, which are integers, which are left alone.
ConversionFailedError has the reason code that MQGET returns.
"""

from __future__ import annotations

from array import array
from typing import Final

from ostler.engine.conversion.code_pages import (
    MalformedTextError,
    convert_text,
    decode,
    depends_on_encoding,
    holds_names,
    is_known,
    whole_characters,
)
from ostler.model import constants as mq
from ostler.model.structures.layout import CHAR, INT32, LETTER, Layout

TEXT: Final = 1
INTEGER: Final = 2
BYTES: Final = 3


class ConversionFailedError(Exception):
    """A part of the message cannot be converted and stays as it is; `reason` is the reason code of MQGET."""

    def __init__(self, reason: int) -> None:
        super().__init__(reason)
        self.reason = reason


class LayoutField:
    """One field of a structure, or several consecutive integers or bytes."""

    def __init__(self, kind: int, offset: int, length: int) -> None:
        self.kind = kind
        self.offset = offset
        self.length = length


def layout(description: str) -> list[LayoutField]:
    """Return a layout from words like "c48" (48 bytes of text), "i11" (11 integers) and "b24" (24 bytes left alone)."""
    fields: list[LayoutField] = []
    offset = 0
    for word in description.split():
        count = int(word[1:])
        if word[0] == "c":
            field = LayoutField(TEXT, offset, count)
        elif word[0] == "i":
            field = LayoutField(INTEGER, offset, 4 * count)
        else:
            field = LayoutField(BYTES, offset, count)
        fields.append(field)
        offset += field.length
    return fields


def layout_of(structure: Layout, version: int, start: int = 0) -> list[LayoutField]:
    """Return the layout of a version of an MQ structure at offset `start`; consecutive integers become one field."""
    fields: list[LayoutField] = []
    for row in structure.fields:
        if row.version > version:
            continue
        kind = INTEGER if row.kind == INT32 else TEXT if row.kind in (CHAR, LETTER) else BYTES
        if kind == INTEGER and fields and fields[-1].kind == INTEGER:
            fields[-1].length += row.length
        else:
            fields.append(LayoutField(kind, start + row.offset, row.length))
    return fields


def layout_length(fields: list[LayoutField]) -> int:
    return fields[-1].offset + fields[-1].length


class Converter:
    """Converts from the encoding and code page of some data to the wanted ones."""

    def __init__(
        self, encoding: int, ccsid: int, wanted_encoding: int, wanted_ccsid: int, queue_manager_ccsid: int
    ) -> None:
        self.encoding = encoding
        self.ccsid = ccsid
        self.wanted_encoding = wanted_encoding
        self.wanted_ccsid = wanted_ccsid
        self.queue_manager_ccsid = queue_manager_ccsid

    def is_needed(self) -> bool:
        return self.encoding != self.wanted_encoding or self.ccsid != self.wanted_ccsid

    def for_following_data(self, encoding: int, ccsid: int) -> Converter:
        """Return the converter for the data behind a structure that describes it so."""
        if ccsid == mq.MQCCSI_INHERIT:
            ccsid = self.ccsid
        elif ccsid == mq.MQCCSI_Q_MGR:
            ccsid = self.queue_manager_ccsid
        return Converter(encoding, ccsid, self.wanted_encoding, self.wanted_ccsid, self.queue_manager_ccsid)

    # Integers

    def is_source_reversed(self) -> bool:
        """Return whether the integers of the source are reversed (little-endian)."""
        order = self.encoding & mq.MQENC_INTEGER_MASK
        if order != mq.MQENC_INTEGER_NORMAL and order != mq.MQENC_INTEGER_REVERSED:
            raise ConversionFailedError(mq.MQRC_SOURCE_INTEGER_ENC_ERROR)
        return order == mq.MQENC_INTEGER_REVERSED

    def is_target_reversed(self) -> bool:
        order = self.wanted_encoding & mq.MQENC_INTEGER_MASK
        if order != mq.MQENC_INTEGER_NORMAL and order != mq.MQENC_INTEGER_REVERSED:
            raise ConversionFailedError(mq.MQRC_TARGET_INTEGER_ENC_ERROR)
        return order == mq.MQENC_INTEGER_REVERSED

    def read_integer(self, data: bytes, offset: int, width: int = 4) -> int:
        """Return an integer of the source. The caller ensures that it is complete."""
        if self.is_source_reversed():
            return int.from_bytes(data[offset : offset + width], "little", signed=True)
        return int.from_bytes(data[offset : offset + width], "big", signed=True)

    def pack_integer(self, value: int, width: int = 4) -> bytes:
        """Return a value as an integer of the target."""
        if self.is_target_reversed():
            return value.to_bytes(width, "little", signed=True)
        return value.to_bytes(width, "big", signed=True)

    def convert_integers(self, data: bytes, width: int = 4) -> bytes:
        """Convert consecutive integers."""
        if self.is_source_reversed() == self.is_target_reversed():
            return data
        swapped = array("q" if width == 8 else "i", data)
        swapped.byteswap()
        return swapped.tobytes()

    # Text

    def check_names(self) -> None:
        """Raise if letters of names take more than one byte in a code page, which MQ's structures do not allow."""
        if not holds_names(self.ccsid):
            raise ConversionFailedError(mq.MQRC_SOURCE_CCSID_ERROR)
        if not holds_names(self.wanted_ccsid):
            raise ConversionFailedError(mq.MQRC_TARGET_CCSID_ERROR)

    def read_name(self, field: bytes) -> bytes:
        """Return a structure identifier or format name of the source in ASCII."""
        if not is_known(self.ccsid):
            raise ConversionFailedError(mq.MQRC_SOURCE_CCSID_ERROR)
        try:
            characters = decode(field, self.ccsid, self.encoding)
        except MalformedTextError:
            raise ConversionFailedError(mq.MQRC_FORMAT_ERROR) from None
        # Bytes from the first null on are padding.
        return characters.split("\0")[0].ljust(len(field)).encode("ascii", "replace")

    def convert_string(self, data: bytes) -> bytes:
        """Convert text, which may become longer or shorter."""
        return self.convert_string_from(data, self.ccsid)

    def convert_string_from(self, data: bytes, ccsid: int) -> bytes:
        """Convert text that has a code page of its own."""
        if ccsid == self.wanted_ccsid and not (depends_on_encoding(ccsid) and self.encoding != self.wanted_encoding):
            return data
        if not is_known(ccsid):
            raise ConversionFailedError(mq.MQRC_SOURCE_CCSID_ERROR)
        if not is_known(self.wanted_ccsid):
            raise ConversionFailedError(mq.MQRC_TARGET_CCSID_ERROR)
        try:
            return convert_text(data, ccsid, self.wanted_ccsid, self.encoding, self.wanted_encoding)[0]
        except MalformedTextError:
            raise ConversionFailedError(mq.MQRC_NOT_CONVERTED) from None

    def convert_truncated_string(self, data: bytes) -> bytes:
        """Convert truncated text, without an incomplete last character."""
        if is_known(self.ccsid):
            data = whole_characters(data, self.ccsid, self.encoding)
        return self.convert_string(data)

    def convert_field(self, data: bytes) -> bytes:
        """Convert text of fixed length. If it grows, only trailing blanks and data behind a null are dropped."""
        converted = self.convert_string(data)
        length = len(data)
        if len(converted) == length:
            return converted
        blank = self.target_blank()
        if len(converted) > length:
            converted = converted.partition(b"\0")[0].rstrip(blank)
            if len(converted) > length:
                raise ConversionFailedError(mq.MQRC_CONVERTED_STRING_TOO_BIG)
        return converted.ljust(length, blank)

    def target_blank(self) -> bytes:
        """Return the blank of the target; one byte in every page that `holds_names`."""
        if not is_known(self.wanted_ccsid):
            raise ConversionFailedError(mq.MQRC_TARGET_CCSID_ERROR)
        return convert_text(b" ", 819, self.wanted_ccsid, target_encoding=self.wanted_encoding)[0]


def convert_fields(converter: Converter, data: bytes, offset: int, fields: list[LayoutField]) -> bytearray:
    """Convert the structure at `offset`, as far as the data goes.

    A truncated field is omitted, text is kept up to the end.
    """
    converted = bytearray()
    for field in fields:
        start = offset + field.offset
        piece = data[start : start + field.length]
        if field.kind == INTEGER:
            piece = piece[: len(piece) - len(piece) % 4]
            converted += converter.convert_integers(piece)
        elif field.kind == BYTES:
            converted += piece
        elif len(piece) == field.length:
            converted += converter.convert_field(piece)
        else:
            converted += converter.convert_truncated_string(piece)
        if len(piece) < field.length:
            break
    return converted
