"""The dead-letter header, MQDLH: the reason why a message could not be delivered, and its destination.

`add_header` makes a dead letter, as an application does that gives up on a message. `DeadLetterHeader.of` reads the
header, `remove_header` restores the message.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ostler.client.api.message import Message, parse_put_time
from ostler.client.session.session import Session
from ostler.engine.conversion.code_pages import MalformedTextError, UnknownCodePageError, decode
from ostler.engine.message.message import (
    CCSID_AT,
    ENCODING_AT,
    FLAGS_AT,
    FORMAT_AT,
    GROUP_ID_AT,
    NULL_ID,
    PRIORITY_AT,
)
from ostler.engine.message.timestamps import PutClock
from ostler.model import constants
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.reasons import TABLE
from ostler.model.structures.headers import MQDLH, MQMDE

# The version 2 part of the descriptor of a message that is in no group.
_NO_GROUP: Final = NULL_ID + b"\1\0\0\0" + bytes(8) + b"\xff\xff\xff\xff"
_APPLICATION_BYTES: Final = 28
# Offsets of encoding, code page and format, which are adjacent, and of the group fields of an extension.
_HEADER_CONTENT_AT: Final = MQDLH.offset("Encoding")
_EXTENSION_CONTENT_AT: Final = MQMDE.offset("Encoding")
_EXTENSION_GROUP_AT: Final = MQMDE.offset("GroupId")
HEADER_BYTES: Final = MQDLH.size()
_EXTENSION_BYTES: Final = MQMDE.size()
_FORMAT_BYTES: Final = 8
_UTF_8: Final = 1208
_FEEDBACKS: Final = {
    value: name for name, value in vars(constants).items() if name.startswith("MQFB_") and isinstance(value, int)
}


def add_header(md: bytes, body: bytes, queue: str, session: Session, reason: int) -> tuple[bytes, bytes]:
    """Return descriptor and body of a message of this queue with a dead-letter header in front."""
    content = md[ENCODING_AT:PRIORITY_AT]
    group = md[GROUP_ID_AT:]
    extension = b""
    if int.from_bytes(md[FLAGS_AT : FLAGS_AT + 4], "little") & (mq.MQMF_SEGMENT | mq.MQMF_LAST_SEGMENT):
        # Behind the header it is no segment any more: its segment fields move into a descriptor extension (MQMDE).
        extension = _extension(content, group)
        content = _native(session.ccsid, mq.MQFMT_MD_EXTENSION)
        group = _NO_GROUP
    header = MQDLH.default()
    MQDLH.patch(header, "Reason", reason)
    MQDLH.patch(header, "DestQName", queue)
    MQDLH.patch(header, "DestQMgrName", session.name)
    header[_HEADER_CONTENT_AT : _HEADER_CONTENT_AT + len(content)] = content
    MQDLH.patch(header, "PutApplType", mq.MQAT_UNIX)
    MQDLH.patch(header, "PutApplName", session.application.encode("utf-8")[-_APPLICATION_BYTES:])
    stamp = PutClock().stamp(int(time.time() * 1000))
    MQDLH.patch(header, "PutDate", stamp[:8])
    MQDLH.patch(header, "PutTime", stamp[8:])
    outer = _native(session.ccsid, mq.MQFMT_DEAD_LETTER_HEADER)
    dead_md = md[:ENCODING_AT] + outer + md[PRIORITY_AT:GROUP_ID_AT] + group
    return dead_md, bytes(header) + extension + body


def _native(ccsid: int, format: bytes) -> bytes:
    """Return encoding, code page and format of native data, as a descriptor has them side by side."""
    return mq.MQENC_NATIVE.to_bytes(4, "little") + ccsid.to_bytes(4, "little", signed=True) + format


def _extension(content: bytes, group: bytes) -> bytes:
    extension = MQMDE.default()
    extension[_EXTENSION_CONTENT_AT : _EXTENSION_CONTENT_AT + len(content)] = content
    extension[_EXTENSION_GROUP_AT : _EXTENSION_GROUP_AT + len(group)] = group
    return bytes(extension)


# -- reading the header ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeadLetterHeader:
    """The fields of an MQDLH. Text has no trailing blanks."""

    version: int
    reason: int
    queue: str  # DestQName
    manager: str  # DestQMgrName
    encoding: int
    ccsid: int
    format: str
    application_type: int
    application: str
    put_time: datetime | None  # of the dead letter

    @property
    def reason_name(self) -> str:
        """The name of the reason, an MQRC or MQFB constant; its number, if it has none."""
        return reason_name(self.reason)

    @property
    def destination(self) -> str:
        """Queue and queue manager, as in ORDERS@QM2."""
        return f"{self.queue}@{self.manager}" if self.manager else self.queue

    @classmethod
    def of(cls, message: Message) -> DeadLetterHeader:
        """Read the header of a message of format MQDEAD. Raises MQRC_DLH_ERROR when it has none."""
        return cls.read(message.format or "", message.data, message.encoding, message.ccsid)

    @classmethod
    def read(cls, format: str, data: bytes, encoding: int, ccsid: int) -> DeadLetterHeader:
        """Read the header in front of message data that has the given format, encoding and code page."""
        if format != mq.MQFMT_DEAD_LETTER_HEADER.decode().rstrip():
            raise MQError(
                mq.MQRC_DLH_ERROR, f"The message has format {format or 'MQFMT_NONE'}, and no dead-letter header."
            )
        is_little = encoding & mq.MQENC_INTEGER_MASK != mq.MQENC_INTEGER_NORMAL
        if len(data) < HEADER_BYTES or _text(data[:4], ccsid, encoding) != "DLH":
            raise MQError(mq.MQRC_DLH_ERROR, "The message does not begin with a dead-letter header.")

        def number(name: str) -> int:
            return MQDLH.read_int(data, name, is_little)

        def words(name: str) -> str:
            return _text(MQDLH.read_bytes(data, name), ccsid, encoding)

        inner_ccsid = number("CodedCharSetId")
        return cls(
            version=number("Version"),
            reason=number("Reason"),
            queue=words("DestQName"),
            manager=words("DestQMgrName"),
            encoding=number("Encoding"),
            ccsid=ccsid if inner_ccsid == mq.MQCCSI_INHERIT else inner_ccsid,
            format=words("Format"),
            application_type=number("PutApplType"),
            application=words("PutApplName"),
            put_time=parse_put_time(words("PutDate"), words("PutTime")),
        )


def reason_name(number: int) -> str:
    """Return the name of a reason in MQDLH: an MQRC, or an MQFB of channels and trigger monitors."""
    known = TABLE.get(number)
    return known.name if known is not None else _FEEDBACKS.get(number, str(number))


def reason_number(name: str) -> int | None:
    """Return the number of a reason, given as number or name, with or without MQRC_ or MQFB_; None if it is unknown."""
    word = name.strip().upper()
    if word.isascii() and word.isdigit():
        return int(word)
    for prefix in ("", "MQRC_", "MQFB_"):
        found = getattr(constants, prefix + word, None)
        if isinstance(found, int) and (prefix or word.startswith(("MQRC_", "MQRCCF_", "MQFB_"))):
            return found
    return None


def remove_header(md: bytes, body: bytes) -> tuple[bytes, bytes]:
    """Return descriptor and body as they were before the message became a dead letter.

    Encoding, code page and format come from the header. The fields of a segment are restored. Raises MQRC_DLH_ERROR
    when the message has no header.
    """
    header = DeadLetterHeader.read(format_of(md), body, number_at(md, ENCODING_AT), number_at(md, CCSID_AT))
    body = body[HEADER_BYTES:]
    content = _content(header.encoding, header.ccsid, header.format)
    group = md[GROUP_ID_AT:]
    if header.format == mq.MQFMT_MD_EXTENSION.decode().rstrip():
        content, group = _read_extension(header, body)
        body = body[_EXTENSION_BYTES:]
    return md[:ENCODING_AT] + content + md[PRIORITY_AT:GROUP_ID_AT] + group, body


def _read_extension(header: DeadLetterHeader, data: bytes) -> tuple[bytes, bytes]:
    """Return the content fields and the group fields of a descriptor extension (MQMDE)."""
    is_little = header.encoding & mq.MQENC_INTEGER_MASK != mq.MQENC_INTEGER_NORMAL
    if len(data) < _EXTENSION_BYTES or _text(data[:4], header.ccsid, header.encoding) != "MDE":
        raise MQError(mq.MQRC_DLH_ERROR, "The message has no descriptor extension behind its dead-letter header.")
    ccsid = MQMDE.read_int(data, "CodedCharSetId", is_little)
    content = _content(
        MQMDE.read_int(data, "Encoding", is_little),
        header.ccsid if ccsid == mq.MQCCSI_INHERIT else ccsid,
        _text(MQMDE.read_bytes(data, "Format"), header.ccsid, header.encoding),
    )
    numbers = ("MsgSeqNumber", "Offset", "MsgFlags", "OriginalLength")
    group = MQMDE.read_bytes(data, "GroupId")
    return content, group + b"".join(_signed(MQMDE.read_int(data, name, is_little)) for name in numbers)


def _content(encoding: int, ccsid: int, format: str) -> bytes:
    return _signed(encoding) + _signed(ccsid) + format.encode("ascii", "replace")[:_FORMAT_BYTES].ljust(_FORMAT_BYTES)


def _text(data: bytes, ccsid: int, encoding: int) -> str:
    """Decode text of a header; as ASCII when its code page is unknown."""
    try:
        decoded = decode(data, ccsid if ccsid > 0 else _UTF_8, encoding)
    except (UnknownCodePageError, MalformedTextError):
        decoded = data.decode("ascii", "replace")
    return decoded.partition("\0")[0].rstrip(" ")


def format_of(md: bytes) -> str:
    return md[FORMAT_AT : FORMAT_AT + _FORMAT_BYTES].partition(b"\0")[0].rstrip().decode("ascii", "replace")


def number_at(md: bytes, at: int) -> int:
    return int.from_bytes(md[at : at + 4], "little", signed=True)


def _signed(value: int) -> bytes:
    return value.to_bytes(4, "little", signed=True)
