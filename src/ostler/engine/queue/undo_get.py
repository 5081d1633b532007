"""Returning a message to its position on the queue, for a get that is cancelled.

A get outside syncpoint is complete when the removal of the message is durable. An application that waits for that can
be cancelled, and then the message was delivered to nobody. Its removal is in the journal and cannot be revoked, so the
message is put once more with its old sequence number, which restores its position.
"""

from __future__ import annotations

from ostler.engine import apply
from ostler.engine.core import Engine
from ostler.engine.journal_records import append_put
from ostler.engine.message.message import (
    BACKOUT_COUNT_AT,
    EXPIRY_AT,
    FLAGS_AT,
    GROUP_FLAGS,
    PERSISTENCE_AT,
    PRIORITY_AT,
    REPLY_QUEUE_AT,
    Message,
)
from ostler.engine.properties.property_block import encode_block
from ostler.engine.queue.delivery import deliver_shared
from ostler.engine.queue.get_request import GetRequest
from ostler.engine.queue.slots import BACKOUT_SHIFT, GROUPED, PERSISTENT
from ostler.engine.syncpoint import serve_returned


def undo_get(engine: Engine, request: GetRequest) -> None:
    """Undo an answered get outside syncpoint. The answer must hold the message as it was stored."""
    queue = request.handle.queue
    if queue is None or queue.deleted or not request.returned_token:
        return
    md = request.md
    block = encode_block(request.properties.properties) if request.properties is not None else request.properties_bytes
    if queue.is_shared:
        deliver_shared(engine, queue, md, block, request.body, None)  # as the last one: its place is lost
        return
    seq = int.from_bytes(request.returned_token[:8], "little")
    flags = queue.order_flags(_number(md, PRIORITY_AT)) | _number(md, BACKOUT_COUNT_AT) << BACKOUT_SHIFT
    if _number(md, FLAGS_AT) & GROUP_FLAGS:
        flags |= GROUPED
    tenths = _number(md, EXPIRY_AT)
    expiry_ms = engine.now_ms + tenths * 100 if tenths > 0 else 0
    md = md[:BACKOUT_COUNT_AT] + bytes(4) + md[REPLY_QUEUE_AT:]
    message = Message(md, block, request.body, seq)
    is_persistent = _number(md, PERSISTENCE_AT) == 1
    if is_persistent:
        flags |= PERSISTENT
        message.visible_lsn = append_put(engine, queue, message, flags, expiry_ms, None)
    slot = apply.put(queue, message, flags, expiry_ms, near_head=True)
    _uncount(engine, request, is_persistent)
    serve_returned(engine, queue, slot, seq)


def _uncount(engine: Engine, request: GetRequest, is_persistent: bool) -> None:
    """Take the get out of the counters."""
    queue = request.handle.queue
    assert queue is not None
    size_bytes = len(request.body)
    for verbs in (engine.counters, request.connection.counters):
        verbs.gets -= 1
        verbs.get_bytes -= size_bytes
        verbs.gets_persistent -= int(is_persistent)
        verbs.get_bytes_persistent -= size_bytes * is_persistent
    queue.counters.gets -= 1
    queue.counters.get_bytes -= size_bytes
    queue.counters.gets_persistent -= int(is_persistent)
    queue.counters.get_bytes_persistent -= size_bytes * is_persistent


def _number(md: bytes, at: int) -> int:
    return int.from_bytes(md[at : at + 4], "little", signed=True)
