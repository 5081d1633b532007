"""A message as an application puts it on the dead-letter queue: behind a header that says why."""

from __future__ import annotations

import time
from typing import Final

from ostler.client.session import Session
from ostler.engine.message import ENCODING_AT, FLAGS_AT, GROUP_ID_AT, NULL_ID, PRIORITY_AT
from ostler.engine.timestamps import PutClock
from ostler.model.constants import (
    MQAT_UNIX,
    MQENC_NATIVE,
    MQFMT_DEAD_LETTER_HEADER,
    MQFMT_MD_EXTENSION,
    MQMF_LAST_SEGMENT,
    MQMF_SEGMENT,
)
from ostler.model.structures.headers import MQDLH, MQMDE

# The part of the descriptor that only version 2 has, as it is for a message that is in no group.
_NO_GROUP: Final = NULL_ID + b"\1\0\0\0" + bytes(8) + b"\xff\xff\xff\xff"
_APPLICATION_BYTES: Final = 28
# Where encoding, code page and format stand side by side, and where a descriptor extension has the group's fields.
_HEADER_CONTENT_AT: Final = MQDLH.offset("Encoding")
_EXTENSION_CONTENT_AT: Final = MQMDE.offset("Encoding")
_EXTENSION_GROUP_AT: Final = MQMDE.offset("GroupId")


def dead_letter(md: bytes, body: bytes, queue: str, session: Session, reason: int) -> tuple[bytes, bytes]:
    """Descriptor and body of a message of this queue as it goes on the dead-letter queue."""
    content = md[ENCODING_AT:PRIORITY_AT]
    group = md[GROUP_ID_AT:]
    extension = b""
    if int.from_bytes(md[FLAGS_AT : FLAGS_AT + 4], "little") & (MQMF_SEGMENT | MQMF_LAST_SEGMENT):
        # With the header in front it is no segment any more; what made it one moves behind the header.
        extension = _extension(content, group)
        content = _native(session.ccsid, MQFMT_MD_EXTENSION)
        group = _NO_GROUP
    header = MQDLH.default()
    MQDLH.patch(header, "Reason", reason)
    MQDLH.patch(header, "DestQName", queue)
    MQDLH.patch(header, "DestQMgrName", session.name)
    header[_HEADER_CONTENT_AT : _HEADER_CONTENT_AT + len(content)] = content
    MQDLH.patch(header, "PutApplType", MQAT_UNIX)
    MQDLH.patch(header, "PutApplName", session.application.encode("utf-8")[-_APPLICATION_BYTES:])
    stamp = PutClock().stamp(int(time.time() * 1000))
    MQDLH.patch(header, "PutDate", stamp[:8])
    MQDLH.patch(header, "PutTime", stamp[8:])
    outer = _native(session.ccsid, MQFMT_DEAD_LETTER_HEADER)
    dead_md = md[:ENCODING_AT] + outer + md[PRIORITY_AT:GROUP_ID_AT] + group
    return dead_md, bytes(header) + extension + body


def _native(ccsid: int, format: bytes) -> bytes:
    """Encoding, code page and format, as a descriptor has them side by side, for what is written here."""
    return MQENC_NATIVE.to_bytes(4, "little") + ccsid.to_bytes(4, "little", signed=True) + format


def _extension(content: bytes, group: bytes) -> bytes:
    extension = MQMDE.default()
    extension[_EXTENSION_CONTENT_AT : _EXTENSION_CONTENT_AT + len(content)] = content
    extension[_EXTENSION_GROUP_AT : _EXTENSION_GROUP_AT + len(group)] = group
    return bytes(extension)
