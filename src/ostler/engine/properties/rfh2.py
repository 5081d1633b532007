"""The MQRFH2 header: 36 fixed bytes, then folders, each a length and a text padded to four bytes.

The integers are in the encoding named by the preceding descriptor or header; the texts are Unicode. The folder texts
are parsed in `rfh2_folders`.
"""

from __future__ import annotations

import struct
from typing import Final

from librt.strings import read_i32_be, read_i32_le

from ostler.engine.message.descriptor_fields import (
    CCSID_AT,
    ENCODING_AT,
    FORMAT_AT,
    FORMAT_END,
    number_at,
    with_content,
)
from ostler.engine.properties.properties import Property
from ostler.engine.properties.rfh2_folders import folder_head, holds_properties, read_folder
from ostler.model import constants as mq
from ostler.model.errors import MQError

UTF_8: Final = 1208
UTF_16: Final = frozenset({1200, 13488, 17584})
# More headers in a row than applications write; further ones count as message data.
HEADERS_MAX: Final = 64
# The same characters in EBCDIC message data.
_EBCDIC_ID: Final = mq.MQRFH_STRUC_ID.decode().encode("cp500")
_EBCDIC_FORMAT: Final = mq.MQFMT_RF_HEADER_2.decode().encode("cp500")


def is_big_endian(encoding: int) -> bool:
    return encoding & mq.MQENC_INTEGER_MASK == mq.MQENC_INTEGER_NORMAL


def is_rfh2(format: bytes) -> bool:
    return format in (mq.MQFMT_RF_HEADER_2, _EBCDIC_FORMAT)


class Content:
    """Encoding, code page and format of the data behind a descriptor or header."""

    def __init__(self, encoding: int, ccsid: int, format: bytes) -> None:
        self.encoding = encoding
        self.ccsid = ccsid
        self.format = format


class Rfh2:
    """One header. `follows` describes the data behind it; `folders` are the texts as sent.

    `itself` is the description of this header by the preceding descriptor or header.
    """

    def __init__(self, itself: Content, follows: Content, big_endian: bool) -> None:
        self.itself = itself
        self.follows = follows
        self.struc_id: bytes = mq.MQRFH_STRUC_ID
        self.flags: int = mq.MQRFH_NO_FLAGS
        self.name_value_ccsid: int = UTF_8
        self.big_endian = big_endian
        self.folders: list[bytes] = []
        self.length = 0

    def text(self, folder: bytes) -> str:
        try:
            if self.name_value_ccsid == UTF_8:
                return folder.decode("utf-8")
            if self.name_value_ccsid in UTF_16:
                return folder.decode("utf-16-be" if self.big_endian else "utf-16-le")
        except UnicodeDecodeError:
            raise MQError(mq.MQRC_RFH_FORMAT_ERROR, "A folder of an MQRFH2 is not in its code page.") from None
        raise MQError(mq.MQRC_RFH_FORMAT_ERROR, f"NameValueCCSID {self.name_value_ccsid} is not Unicode; use 1208.")

    def data(self, text: str) -> bytes:
        """Encode a folder text in this header's code page, padded with blanks to a multiple of four bytes."""
        if self.name_value_ccsid in UTF_16:
            codec = "utf-16-be" if self.big_endian else "utf-16-le"
            return (text + " " if len(text.encode(codec)) % 4 else text).encode(codec)
        encoded = text.encode()
        return encoded + b" " * (-len(encoded) % 4)

    def pack(self) -> bytes:
        """Encode the header."""
        order = ">" if self.big_endian else "<"
        length = mq.MQRFH_STRUC_LENGTH_FIXED_2 + sum([4 + len(folder) for folder in self.folders])
        # Zero is no valid code page here; inherit that of the preceding header.
        ccsid = self.follows.ccsid if self.follows.ccsid != 0 else mq.MQCCSI_INHERIT
        parts = [
            self.struc_id,
            struct.pack(order + "iiii", mq.MQRFH_VERSION_2, length, self.follows.encoding, ccsid),
            self.follows.format,
            struct.pack(order + "ii", self.flags, self.name_value_ccsid),
        ]
        for folder in self.folders:
            parts.append(struct.pack(order + "i", len(folder)))
            parts.append(folder)
        return b"".join(parts)


def read_rfh2(body: bytes, at: int, itself: Content) -> Rfh2:
    """Read the header at an offset. Raises MQRC_RFH_ERROR if it is invalid or does not fit."""
    if len(body) - at < mq.MQRFH_STRUC_LENGTH_FIXED_2:
        raise _error("the message ends inside the fixed part")
    struc_id = body[at : at + 4]
    if struc_id not in (mq.MQRFH_STRUC_ID, _EBCDIC_ID):
        raise _error("StrucId is not 'RFH '")
    big_endian = is_big_endian(itself.encoding)
    if _integer(body, at + 4, big_endian) != mq.MQRFH_VERSION_2:
        raise _error("Version is not 2")
    length = _integer(body, at + 8, big_endian)
    if not mq.MQRFH_STRUC_LENGTH_FIXED_2 <= length <= len(body) - at:
        raise _error(f"StrucLength {length} does not fit the message")
    ccsid = _integer(body, at + 16, big_endian)
    follows = Content(
        _integer(body, at + 12, big_endian),
        itself.ccsid if ccsid == mq.MQCCSI_INHERIT else ccsid,
        body[at + 20 : at + 28],
    )
    header = Rfh2(itself, follows, big_endian)
    header.struc_id = struc_id
    header.flags = _integer(body, at + 28, big_endian)
    header.name_value_ccsid = _integer(body, at + 32, big_endian)
    header.length = length
    header.folders = _pairs(body, at + mq.MQRFH_STRUC_LENGTH_FIXED_2, at + length, big_endian)
    return header


def _pairs(data: bytes, at: int, end: int, big_endian: bool) -> list[bytes]:
    """Return the texts of the pairs of NameValueLength and NameValueData."""
    folders: list[bytes] = []
    while at < end:
        length = _integer(data, at, big_endian) if end - at >= 4 else -1
        if not 0 <= length <= end - at - 4:
            raise _error(f"a NameValueLength of {length} does not fit the header")
        folders.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    return folders


def _integer(data: bytes, at: int, big_endian: bool) -> int:
    return int(read_i32_be(data, at)) if big_endian else int(read_i32_le(data, at))


def _error(problem: str) -> MQError:
    return MQError(mq.MQRC_RFH_ERROR, f"The MQRFH2 is not valid: {problem}.")


def folder_properties(header: Rfh2, folder: bytes) -> list[Property] | None:
    """Return the properties of a folder in message data; None if it holds none. Raises MQError for a faulty folder."""
    text = header.text(folder)
    return read_folder(text) if holds_properties(folder_head(text)) else None


class Chain:
    """The MQRFH2 headers at the start of a message's data, and the offset of the data behind them.

    An invalid header ends the chain and counts as data; `fault` is its error.
    """

    def __init__(self, rest: Content) -> None:
        self.headers: list[Rfh2] = []
        self.rest = rest
        self.data_at = 0
        self.fault: MQError | None = None


def content_of(md: bytes) -> Content:
    """Return the message descriptor's description of the message data."""
    return Content(number_at(md, ENCODING_AT), number_at(md, CCSID_AT), md[FORMAT_AT:FORMAT_END])


def read_chain(md: bytes, body: bytes) -> Chain:
    chain = Chain(content_of(md))
    while is_rfh2(chain.rest.format) and len(chain.headers) < HEADERS_MAX:
        try:
            header = read_rfh2(body, chain.data_at, chain.rest)
        except MQError as error:
            chain.fault = error
            break
        chain.headers.append(header)
        chain.data_at += header.length
        chain.rest = header.follows
    return chain


def replace_headers(md: bytes, body: bytes, chain: Chain, headers: list[Rfh2]) -> tuple[bytes, bytes]:
    """Return descriptor and data of a message with these headers in place of those of its chain.

    A header keeps its byte order, so the preceding header must describe it as before.
    """
    first = headers[0].itself if headers else chain.rest
    parts: list[bytes] = []
    for index, header in enumerate(headers):
        header.follows = headers[index + 1].itself if index + 1 < len(headers) else chain.rest
        parts.append(header.pack())
    parts.append(body[chain.data_at :])
    return with_content(md, first.encoding, first.ccsid, first.format), b"".join(parts)
