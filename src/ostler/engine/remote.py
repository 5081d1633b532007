"""Messages for other queue managers: the transmission header in front, on a transmission queue."""

from __future__ import annotations

from typing import Final

from librt.strings import BytesWriter, read_i32_le, write_i32_le

from ostler.engine.message import CCSID_AT, ENCODING_AT, FORMAT_AT, GROUP_ID_AT
from ostler.engine.property_control import properties_on_get
from ostler.model.constants import MQFMT_MD_EXTENSION, MQFMT_XMIT_Q_HEADER, MQMDE_LENGTH_2, MQPROP_FORCE_MQRFH2

_HEADER_VERSION: Final = 1
_PLAIN_TAIL: Final = bytes(24) + b"\x01\0\0\0" + bytes(8) + b"\xff\xff\xff\xff"


def transmission_message(
    remote_queue: str, remote_manager: str, md: bytes, properties: bytes, body: bytes
) -> tuple[bytes, bytes]:
    """The descriptor and body for the transmission queue: MQXQH with the message's own descriptor, then its data."""
    if properties:
        view = properties_on_get(md, body, properties, MQPROP_FORCE_MQRFH2, 0, False)
        md = view.md
        body = view.body
    inner = _version_1(md[:GROUP_ID_AT])
    if md[GROUP_ID_AT:] != _PLAIN_TAIL:
        body = _extension(md) + body
        inner = inner[:FORMAT_AT] + MQFMT_MD_EXTENSION + inner[FORMAT_AT + 8 :]
    writer = BytesWriter()
    writer.write(b"XQH ")
    write_i32_le(writer, _HEADER_VERSION)
    writer.write(remote_queue.ljust(48).encode("ascii"))
    writer.write(remote_manager.ljust(48).encode("ascii"))
    writer.write(inner)
    writer.write(body)
    outer = md[:FORMAT_AT] + MQFMT_XMIT_Q_HEADER + md[FORMAT_AT + 8 : GROUP_ID_AT] + _PLAIN_TAIL
    return outer, writer.getvalue()


def _version_1(head: bytes) -> bytes:
    return head[:4] + b"\x01\0\0\0" + head[8:]


def _extension(md: bytes) -> bytes:
    """MQMDE: the version 2 fields travel behind the header."""
    writer = BytesWriter()
    writer.write(b"MDE ")
    write_i32_le(writer, 2)
    write_i32_le(writer, MQMDE_LENGTH_2)
    write_i32_le(writer, read_i32_le(md, ENCODING_AT))
    write_i32_le(writer, read_i32_le(md, CCSID_AT))
    writer.write(md[FORMAT_AT : FORMAT_AT + 8])
    write_i32_le(writer, 0)
    writer.write(md[GROUP_ID_AT:])
    return writer.getvalue()
