"""Messages for other queue managers: the transmission header in front, on a transmission queue.

Such a message has two descriptors. The one it was put with is in the header (MQXQH), as version 1; the fields of
version 2 follow the header as an extension (MQMDE). The other is made by the queue manager and goes no further than
the transmission queue: it describes the header, and asks for no reports of arrival or delivery there.
"""

from __future__ import annotations

import hashlib
from typing import Final

from librt.strings import BytesWriter, read_i32_le, write_i32_le
from mypy_extensions import i32, i64

from ostler.engine.core import Engine
from ostler.engine.message.message import (
    CONTEXT_AT,
    CORRELATION_ID_AT,
    ENCODING_AT,
    EXPIRY_AT,
    FEEDBACK_AT,
    GROUP_ID_AT,
    MESSAGE_ID_AT,
    PRIORITY_AT,
    REPLY_QUEUE_AT,
    REPORT_AT,
)
from ostler.engine.message.mqmde import PLAIN_TAIL, content, extension
from ostler.engine.properties.property_control import properties_on_get
from ostler.model import constants as mq

IGQ_QUEUE: Final = "SYSTEM.QSG.TRANSMIT.QUEUE"
"""The shared queue for messages between members of a queue-sharing group (intra-group queuing)."""

_ID_BYTES: Final = 24

# Part of the maximum message length that MQ leaves for headers added on the way.
HEADERS_BYTES: Final = mq.MQ_MSG_HEADER_LENGTH

_HEADER_VERSION: Final = 1
_IDENTITY_BYTES: Final = 76


def igq_correlation_id(manager_name: str) -> bytes:
    """Return the correlation identifier by which the IGQ agent of a queue manager finds its messages."""
    name = manager_name.encode("ascii", "replace")
    if len(name) <= _ID_BYTES:
        return name.ljust(_ID_BYTES)
    return name[:8] + hashlib.sha256(name).digest()[: _ID_BYTES - 8]


def address_intra_group(queue_name: str, remote_manager: str, md: bytes) -> bytes:
    """Return the descriptor of a transmission queue message. On the queue of the group it names the target member."""
    if queue_name != IGQ_QUEUE:
        return md
    after: i64 = CORRELATION_ID_AT + _ID_BYTES
    return md[:CORRELATION_ID_AT] + igq_correlation_id(remote_manager) + md[after:]


def transmission_message(
    engine: Engine, remote_queue: str, remote_manager: str, md: bytes, properties: bytes, body: bytes
) -> tuple[bytes, bytes]:
    """Return descriptor and body for the transmission queue: MQXQH with the message's descriptor, then its data."""
    if properties:
        view = properties_on_get(md, body, properties, mq.MQPROP_FORCE_MQRFH2, 0, False)
        md = view.md
        body = view.body
    described = md[ENCODING_AT:PRIORITY_AT]
    if md[GROUP_ID_AT:] != PLAIN_TAIL:
        body = extension(md) + body
        described = content(engine.ccsid, mq.MQFMT_MD_EXTENSION)
    writer = BytesWriter()
    writer.write(b"XQH ")
    write_i32_le(writer, _HEADER_VERSION)
    writer.write(remote_queue.ljust(48).encode("ascii"))
    writer.write(remote_manager.ljust(48).encode("ascii"))
    writer.write(md[:4] + b"\x01\0\0\0" + md[REPORT_AT:ENCODING_AT])
    writer.write(described)
    writer.write(md[PRIORITY_AT:GROUP_ID_AT])
    writer.write(body)
    return _separate_descriptor(engine, md), writer.getvalue()


def _separate_descriptor(engine: Engine, md: bytes) -> bytes:
    report: i64 = i64(read_i32_le(md, REPORT_AT))
    writer = BytesWriter()
    writer.write(md[:4])
    write_i32_le(writer, mq.MQMD_VERSION_2)
    write_i32_le(writer, i32(report & ~mq.MQRO_ACCEPT_UNSUP_IF_XMIT_MASK))
    write_i32_le(writer, mq.MQMT_DATAGRAM)
    writer.write(md[EXPIRY_AT:FEEDBACK_AT])
    write_i32_le(writer, mq.MQFB_NONE)
    writer.write(content(engine.ccsid, mq.MQFMT_XMIT_Q_HEADER))
    writer.write(md[PRIORITY_AT:MESSAGE_ID_AT])
    engine.write_id(writer)
    writer.write(md[MESSAGE_ID_AT:CORRELATION_ID_AT])  # as correlation id, which relates the two descriptors
    write_i32_le(writer, 0)
    writer.write(md[REPLY_QUEUE_AT : CONTEXT_AT + _IDENTITY_BYTES])
    write_i32_le(writer, mq.MQAT_QMGR)
    writer.write(engine.padded_name[:28])
    writer.write(engine.put_clock.stamp(engine.wall_ms()))
    writer.write(b"    ")
    writer.write(PLAIN_TAIL)
    return writer.getvalue()
