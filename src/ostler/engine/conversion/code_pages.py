"""Text conversion between coded character sets (CCSIDs).

Single-byte pages are converted by a table of 256 bytes; the others by way of Python strings. A character missing from
the target page becomes that page's SUB character, as in MQ. Bytes that are no text of the source page are rejected.
"""

from __future__ import annotations

import codecs
from typing import Any, Final

from ostler.engine.conversion.code_page_tables import (
    DIFFERENCES,
    MULTI_BYTE_CODECS,
    SINGLE_BYTE_CODECS,
    UTF_16_BY_ENCODING,
    UTF_16_FIXED,
)
from ostler.model import constants as mq

UTF_8: Final = 1208

# Marks a byte without a character in a table, as Python's charmap codec expects it.
_NO_CHARACTER: Final = "\ufffe"
_SUBSTITUTE: Final = "\x1a"
_SUBSTITUTE_ERRORS: Final = "ostler_substitute"
_EBCDIC_NEW_LINE: Final = 0x15
_NEW_LINE: Final = "\x85"
_LINE_FEED: Final = "\n"


class UnknownCodePageError(Exception):
    """The CCSID `ccsid` is not supported."""

    def __init__(self, ccsid: int) -> None:
        super().__init__(f"the coded character set {ccsid} is not supported")
        self.ccsid = ccsid


class MalformedTextError(Exception):
    """The bytes are not valid text of their code page. `offset` is the first invalid byte."""

    def __init__(self, ccsid: int, offset: int) -> None:
        super().__init__(f"the bytes at offset {offset} are not valid in coded character set {ccsid}")
        self.ccsid = ccsid
        self.offset = offset


class CodePage:
    """One code page. `table` has the 256 characters of a single-byte page and is empty for the others."""

    def __init__(self, ccsid: int, codec: str, table: str) -> None:
        self.ccsid = ccsid
        self.codec = codec
        self.table = table
        self.single_byte = table != ""
        self.ebcdic = table != "" and table[0xC1] == "A"
        self.encoding_map: Any = codecs.charmap_build(table) if table else None


class _Translation:
    """Translation between two single-byte pages: the table, and the bytes whose character the target lacks."""

    def __init__(self, table: bytes, substituted: bytes) -> None:
        self.table = table
        self.substituted = substituted


_pages: Final[dict[int, CodePage]] = {}
_translations: Final[dict[tuple[int, int], _Translation]] = {}


def is_known(ccsid: int) -> bool:
    return (
        ccsid in SINGLE_BYTE_CODECS
        or ccsid in DIFFERENCES
        or ccsid in MULTI_BYTE_CODECS
        or ccsid in UTF_16_BY_ENCODING
        or ccsid in UTF_16_FIXED
    )


def known_ccsids() -> list[int]:
    return sorted({*SINGLE_BYTE_CODECS, *DIFFERENCES, *MULTI_BYTE_CODECS, *UTF_16_BY_ENCODING, *UTF_16_FIXED})


def holds_names(ccsid: int) -> bool:
    """Return whether the letters of object names take one byte each, as the fields of MQ's structures need."""
    return ccsid in SINGLE_BYTE_CODECS or ccsid in DIFFERENCES or ccsid in MULTI_BYTE_CODECS


def depends_on_encoding(ccsid: int) -> bool:
    """Return whether the integer encoding determines the byte order of text."""
    return ccsid in UTF_16_BY_ENCODING


def code_page(ccsid: int) -> CodePage:
    """Return the page of a CCSID. Raises UnknownCodePageError."""
    found = _pages.get(ccsid)
    if found is None:
        found = _make_page(ccsid)
        _pages[ccsid] = found
    return found


def decode(data: bytes, ccsid: int, encoding: int = mq.MQENC_NORMAL) -> str:
    """Decode text. `encoding` matters only for the CCSIDs of UTF-16.

    Raises UnknownCodePageError, and MalformedTextError for invalid bytes of a multi-byte page. An undefined byte of a
    single-byte page becomes U+FFFD.
    """
    page = code_page(ccsid)
    if page.single_byte:
        return codecs.charmap_decode(data, "replace", page.table)[0]
    try:
        return data.decode(_codec(page, encoding))
    except UnicodeDecodeError as error:
        raise MalformedTextError(ccsid, error.start) from None


def encode(characters: str, ccsid: int, encoding: int = mq.MQENC_NORMAL) -> bytes:
    """Encode text; characters that the page lacks become SUB. Raises UnknownCodePageError."""
    return _encode(characters, code_page(ccsid), encoding)[0]


def convert_text(
    data: bytes,
    source_ccsid: int,
    target_ccsid: int,
    source_encoding: int = mq.MQENC_NORMAL,
    target_encoding: int = mq.MQENC_NORMAL,
) -> tuple[bytes, bool]:
    """Return the bytes in the target page, and whether any character was substituted.

    EBCDIC new line becomes line feed outside EBCDIC, MQ's default (ConvEBCDICNewline=NL_TO_LF). Raises
    UnknownCodePageError and MalformedTextError.
    """
    source = code_page(source_ccsid)
    target = code_page(target_ccsid)
    if source.single_byte and target.single_byte:
        if source_ccsid == target_ccsid:
            return data, False
        translation = _translation(source, target)
        lost = translation.substituted
        return data.translate(translation.table), lost != b"" and len(data.translate(None, lost)) != len(data)
    characters = decode(data, source_ccsid, source_encoding)
    if source.ebcdic:
        characters = characters.replace(_NEW_LINE, _LINE_FEED)
    converted, substituted = _encode(characters, target, target_encoding)
    return converted, substituted or (source.single_byte and "\ufffd" in characters)


def whole_characters(data: bytes, ccsid: int, encoding: int = mq.MQENC_NORMAL) -> bytes:
    """Return truncated text without an incomplete last character."""
    page = code_page(ccsid)
    if page.single_byte:
        return data
    try:
        data.decode(_codec(page, encoding))
    except UnicodeDecodeError as error:
        # No character of any page is longer than four bytes; errors further ahead do not come from the truncation.
        if len(data) - error.start < 4:
            return data[: error.start]
    return data


def cut_text(data: bytes, ccsid: int, length_max: int, encoding: int = mq.MQENC_NORMAL) -> bytes:
    """Return at most `length_max` bytes of valid text, ending with a complete character."""
    if len(data) <= length_max:
        return data
    return whole_characters(data[:length_max], ccsid, encoding)


def substitute_character(error: UnicodeError) -> tuple[str, int]:
    """Codec error handler: SUB for each character that the page lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _SUBSTITUTE * (error.end - error.start), error.end


codecs.register_error(_SUBSTITUTE_ERRORS, substitute_character)


def _make_page(ccsid: int) -> CodePage:
    if ccsid in SINGLE_BYTE_CODECS or ccsid in DIFFERENCES:
        return CodePage(ccsid, "", _table(ccsid))
    if ccsid in MULTI_BYTE_CODECS:
        return CodePage(ccsid, MULTI_BYTE_CODECS[ccsid], "")
    if ccsid in UTF_16_BY_ENCODING:
        return CodePage(ccsid, "", "")
    if ccsid in UTF_16_FIXED:
        return CodePage(ccsid, UTF_16_FIXED[ccsid], "")
    raise UnknownCodePageError(ccsid)


def _table(ccsid: int) -> str:
    difference = DIFFERENCES.get(ccsid)
    if difference is None:
        return _codec_table(SINGLE_BYTE_CODECS[ccsid])
    base, positions, characters = difference
    table = list(_table(base))
    for position, character in zip(bytes.fromhex(positions), characters, strict=True):
        table[position] = character
    return "".join(table)


def _codec_table(codec: str) -> str:
    table = [bytes([byte]).decode(codec, "replace").replace("\ufffd", _NO_CHARACTER) for byte in range(256)]
    if table[0x41] == "A":
        # One codec (cp864) differs from ASCII in the lower half; IBM's pages do not.
        table[:128] = [chr(byte) for byte in range(128)]
    # Some codecs map bytes without a character to SUB; only one byte of a page is SUB itself.
    substitute = 0x3F if table[0xC1] == "A" else 0x1A
    for byte in range(256):
        if table[byte] == _SUBSTITUTE and byte != substitute:
            table[byte] = _NO_CHARACTER
    if codec.startswith("cp125"):
        # IBM's tables keep control characters where Windows assigns nothing.
        for byte in range(0x80, 0xA0):
            if table[byte] == _NO_CHARACTER:
                table[byte] = chr(byte)
    return "".join(table)


def _codec(page: CodePage, encoding: int) -> str:
    if page.codec:
        return page.codec
    return "utf_16_le" if encoding & mq.MQENC_INTEGER_MASK == mq.MQENC_INTEGER_REVERSED else "utf_16_be"


def _encode(characters: str, page: CodePage, encoding: int) -> tuple[bytes, bool]:
    try:
        return _encode_with(characters, page, encoding, "strict"), False
    except UnicodeEncodeError:
        return _encode_with(characters, page, encoding, _SUBSTITUTE_ERRORS), True


def _encode_with(characters: str, page: CodePage, encoding: int, errors: str) -> bytes:
    if page.single_byte:
        return codecs.charmap_encode(characters, errors, page.encoding_map)[0]
    return characters.encode(_codec(page, encoding), errors)


def _translation(source: CodePage, target: CodePage) -> _Translation:
    key = (source.ccsid, target.ccsid)
    found = _translations.get(key)
    if found is None:
        found = _make_translation(source, target)
        _translations[key] = found
    return found


def _make_translation(source: CodePage, target: CodePage) -> _Translation:
    table = bytearray()
    substituted = bytearray()
    for byte in range(256):
        character = source.table[byte]
        if byte == _EBCDIC_NEW_LINE and source.ebcdic and not target.ebcdic:
            character = _LINE_FEED
        encoded, lost = _encode(character, target, mq.MQENC_NORMAL)
        table += encoded
        if lost:
            substituted.append(byte)
    return _Translation(bytes(table), bytes(substituted))
