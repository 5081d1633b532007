"""Which message answers a request: pure look-up, nothing is taken here.

Messages found to have expired are skipped and left in `engine.expired` for the caller to discard.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.engine import groups
from ostler.engine.core import Engine
from ostler.engine.get_request import ANY, BY_BOTH, BY_CORRELATION_ID, BY_MESSAGE_ID, GetRequest
from ostler.engine.matching import is_eligible, matches
from ostler.engine.message import CORRELATION_ID_AT, MESSAGE_ID_AT, hash_id
from ostler.engine.queue import Queue
from ostler.engine.slots import AVAILABLE, NONE, STATE_MASK, IdIndex, Slots
from ostler.model.constants import (
    MQGMO_ALL_MSGS_AVAILABLE,
    MQGMO_ALL_SEGMENTS_AVAILABLE,
    MQGMO_BROWSE_MSG_UNDER_CURSOR,
    MQGMO_BROWSE_NEXT,
    MQGMO_COMPLETE_MSG,
    MQGMO_LOGICAL_ORDER,
    MQGMO_MSG_UNDER_CURSOR,
    MQMO_MATCH_CORREL_ID,
    MQMO_MATCH_MSG_ID,
)

GROUP_OPTIONS: Final = (
    MQGMO_LOGICAL_ORDER | MQGMO_COMPLETE_MSG | MQGMO_ALL_MSGS_AVAILABLE | MQGMO_ALL_SEGMENTS_AVAILABLE
)
_UNDER_CURSOR: Final = MQGMO_MSG_UNDER_CURSOR | MQGMO_BROWSE_MSG_UNDER_CURSOR


def select(engine: Engine, request: GetRequest, queue: Queue) -> i64:
    """The slot that answers the request, or NONE. With segments to be joined, `request.slots` has them all."""
    slots = queue.slots
    if request.kind == ANY:
        slot: i64 = slots.first()
        while slot != NONE and not is_eligible(engine, request, queue, slot):
            slot = slots.following(slot)
        return slot
    if request.kind == BY_CORRELATION_ID:
        return _by_id(engine, request, queue, slots.by_correlation_id, request.correlation_id, CORRELATION_ID_AT)
    if request.kind == BY_MESSAGE_ID or request.kind == BY_BOTH:
        return _by_id(engine, request, queue, slots.by_message_id, request.message_id, MESSAGE_ID_AT)
    if request.options & GROUP_OPTIONS:
        return groups.select(engine, request, queue)
    if request.options & _UNDER_CURSOR:
        return _under_cursor(request, slots)
    return scan(engine, request, queue)


def _by_id(engine: Engine, request: GetRequest, queue: Queue, index: IdIndex, wanted: bytes, at: i64) -> i64:
    slots = queue.slots
    best: i64 = NONE
    slot: i64 = index.first(hash_id(wanted, 0))
    while slot != NONE:
        is_better: bool = best == NONE or slots.priority(slot) > slots.priority(best)
        if is_better and is_eligible(engine, request, queue, slot):
            md = queue.load(slot).md
            if md[at : at + 24] == wanted and (request.kind != BY_BOTH or md[72:96] == request.correlation_id):
                if slots.filled & (slots.filled - 1) == 0:
                    return slot  # one priority only: the oldest is the first
                best = slot
        slot = index.following(slot)
    return best


def _under_cursor(request: GetRequest, slots: Slots) -> i64:
    handle = request.handle
    if handle.cursor == NONE or handle.cursor_message_gone:
        return NONE
    return handle.cursor if slots.flags[handle.cursor] & STATE_MASK == AVAILABLE else NONE


def scan(engine: Engine, request: GetRequest, queue: Queue) -> i64:
    """Walk the queue in delivery order, from the start or from behind the browse cursor."""
    slots = queue.slots
    handle = request.handle
    slot: i64 = NONE
    if request.options & MQGMO_BROWSE_NEXT and handle.cursor_set and handle.cursor != NONE:
        slot = slots.following(handle.cursor)
    else:
        slot = slots.first()
    hash_message: i64 = hash_id(request.message_id, 0) if request.match & MQMO_MATCH_MSG_ID else 0
    hash_correlation: i64 = hash_id(request.correlation_id, 0) if request.match & MQMO_MATCH_CORREL_ID else 0
    while slot != NONE:
        if (
            (hash_message == 0 or slots.by_message_id.hashes[slot] == hash_message)
            and (hash_correlation == 0 or slots.by_correlation_id.hashes[slot] == hash_correlation)
            and is_eligible(engine, request, queue, slot)
            and matches(request, queue, slot)
        ):
            return slot
        slot = slots.following(slot)
    return NONE
