"""Pages: many messages in one, as they wait on a staging queue.

A page holds messages byte for byte as the queue manager stored them, descriptors and properties included, so that
what Spark sees of a message does not change while it waits: it neither expires nor gets another descriptor. One page
costs one put and one get, whatever is in it. All of it is little-endian:

    head        "OSTPAGE1", epoch (8 bytes), number (8), count (4), body bytes (8), queue name (48)
    a message   length of its properties (4), of its body (4), descriptor (364), properties, body
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ostler.client.session.session import StoredMessage
from ostler.pipeline.errors import PipelineError

FORMAT: Final = "OSTPAGE"
EPOCH_BYTES: Final = 8
MESSAGES_MAX: Final = 1 << 20
_MAGIC: Final = b"OSTPAGE1"
_HEAD: Final = struct.Struct("<8s8sQIQ48s")
_ENTRY: Final = struct.Struct("<II364s")
HEAD_BYTES: Final = 1024
"""This much of a page, or of any other message on a staging queue, identifies it."""
_READ_ID: Final = b"OSPR"
_WRITE_ID: Final = b"OSPW"
_ID_BYTES: Final = 24


class PageHead(NamedTuple):
    """The head of a page. For a reader, `epoch` is that of the staging queue, and `number` the offset."""

    epoch: bytes
    number: int
    messages: int
    body_bytes: int
    queue: str


def read_page_id(epoch: bytes, number: int) -> bytes:
    """Return the message identifier of a page that waits to be read: a page is found by it at once."""
    return (_READ_ID + epoch + number.to_bytes(8, "big")).ljust(_ID_BYTES, b"\0")


def write_page_id(attempt: bytes, number: int) -> bytes:
    """Return the message identifier of a page that a task wrote."""
    return (_WRITE_ID + attempt + number.to_bytes(4, "big")).ljust(_ID_BYTES, b"\0")


def encode_page(epoch: bytes, number: int, queue: str, messages: Sequence[StoredMessage]) -> bytes:
    parts = [_HEAD.pack(_MAGIC, epoch, number, len(messages), sum(len(each.body) for each in messages), queue.encode())]
    for each in messages:
        parts += (_ENTRY.pack(len(each.property_block), len(each.body), each.md), each.property_block, each.body)
    return b"".join(parts)


def is_page(body: bytes) -> bool:
    return body.startswith(_MAGIC) and len(body) >= _HEAD.size


def head_of(page: bytes) -> PageHead:
    if not is_page(page):
        raise PipelineError("A staging queue has a message that is no page. Staging queues are for the source alone.")
    _, epoch, number, count, body_bytes, queue = _HEAD.unpack_from(page)
    return PageHead(epoch, number, count, body_bytes, queue.rstrip(b"\0").decode())


def stored_messages(page: bytes) -> Iterator[StoredMessage]:
    """Yield the messages of a page, as they were stored."""
    count = head_of(page).messages
    at = _HEAD.size
    for _ in range(count):
        block_bytes, body_bytes, md = _ENTRY.unpack_from(page, at)
        block_at = at + _ENTRY.size
        body_at = block_at + block_bytes
        at = body_at + body_bytes
        yield StoredMessage(md, page[body_at:at], page[block_at:body_at], b"", 0)


def collected(messages: Iterator[StoredMessage], count_max: int, bytes_max: int) -> Iterator[list[StoredMessage]]:
    """Yield messages in portions of a page each."""
    lot: list[StoredMessage] = []
    lot_bytes = 0
    for each in messages:
        size = len(each.body) + len(each.property_block) + _ENTRY.size
        if lot and (len(lot) >= count_max or lot_bytes + size > bytes_max):
            yield lot
            lot, lot_bytes = [], 0
        lot.append(each)
        lot_bytes += size
    if lot:
        yield lot
