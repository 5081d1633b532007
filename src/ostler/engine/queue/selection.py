"""Selection of the message that answers a request. Nothing is removed here.

Expired messages are skipped and left in `engine.expired` for the caller to discard.

A scan of a queue may be long. The scan of a request that `may_pause` returns PAUSED when `engine.work_left` is used up,
and the next call continues it behind `request.scan_slot`. From then on the request waits on the queue: messages that
arrive before that slot are offered to it, and those behind it are found by the scan.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.groups import groups
from ostler.engine.groups.selection import PAUSED as PAUSED
from ostler.engine.groups.selection import pause, pause_for_read
from ostler.engine.message.message import CORRELATION_ID_AT, MESSAGE_ID_AT, hash_id
from ostler.engine.queue.get_request import (
    ANY,
    BY_BOTH,
    BY_CORRELATION_ID,
    BY_MESSAGE_ID,
    BY_SCAN,
    UNDER_CURSOR,
    GetRequest,
)
from ostler.engine.queue.get_request import GROUP_OPTIONS as GROUP_OPTIONS
from ostler.engine.queue.matching import is_eligible, load_charged, matches
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.reads import ReadPending
from ostler.engine.queue.slots import AVAILABLE, NONE, STATE_MASK, IdIndex, Slots
from ostler.model import constants as mq

# Messages of one hash chain to examine before a request may pause.
_CHAIN_MAX: Final = 4_000


def select(engine: Engine, request: GetRequest, queue: Queue) -> i64:
    """Return the slot that answers the request, NONE or PAUSED. `request.slots` holds segments to be joined."""
    slots = queue.slots
    if request.kind == ANY:
        slot: i64 = slots.first()
        if slot == NONE or is_eligible(engine, request, queue, slot):
            return slot
        return scan(engine, request, queue)
    if request.kind == BY_CORRELATION_ID:
        return _by_id(engine, request, queue, slots.by_correlation_id, request.correlation_id, CORRELATION_ID_AT)
    if request.kind == BY_MESSAGE_ID or request.kind == BY_BOTH:
        return _by_id(engine, request, queue, slots.by_message_id, request.message_id, MESSAGE_ID_AT)
    if request.options & GROUP_OPTIONS:
        return groups.select(engine, request, queue)
    if request.options & UNDER_CURSOR:
        return _under_cursor(request, slots)
    return scan(engine, request, queue)


def _by_id(engine: Engine, request: GetRequest, queue: Queue, index: IdIndex, wanted: bytes, at: i64) -> i64:
    slots = queue.slots
    best: i64 = NONE
    slot: i64 = index.first(hash_id(wanted, 0))
    hash_correlation: i64 = hash_id(request.correlation_id, 0) if request.kind == BY_BOTH else 0
    examined: i64 = 0
    while slot != NONE:
        examined += 1
        if request.may_pause and (examined > _CHAIN_MAX or engine.work_left <= 0):
            return pause(engine, request, queue, NONE)
        is_better: bool = (best == NONE or slots.priority(slot) > slots.priority(best)) and (
            request.kind != BY_BOTH or slots.by_correlation_id.hashes[slot] == hash_correlation
        )
        if is_better and is_eligible(engine, request, queue, slot):
            md = load_charged(engine, queue, slot).md
            if md[at : at + 24] == wanted and (request.kind != BY_BOTH or md[72:96] == request.correlation_id):
                if slots.filled & (slots.filled - 1) == 0:
                    return slot  # with one priority only, the oldest comes first
                best = slot
        slot = index.following(slot)
    return best


def _under_cursor(request: GetRequest, slots: Slots) -> i64:
    handle = request.handle
    if handle.cursor == NONE or handle.cursor_message_gone:
        return NONE
    return handle.cursor if slots.flags[handle.cursor] & STATE_MASK == AVAILABLE else NONE


def scan(engine: Engine, request: GetRequest, queue: Queue) -> i64:
    """Scan the queue in delivery order, from its start or behind the browse cursor, or continue a paused scan."""
    slots = queue.slots
    handle = request.handle
    last: i64 = request.scan_slot
    slot: i64 = NONE
    if last != NONE:
        slot = slots.following(last)
    elif request.options & mq.MQGMO_BROWSE_NEXT and handle.cursor_set and handle.cursor != NONE:
        slot = slots.following(handle.cursor)
    else:
        slot = slots.first()
    may_pause: bool = request.may_pause
    hash_message: i64 = hash_id(request.message_id, 0) if request.match & mq.MQMO_MATCH_MSG_ID else 0
    hash_correlation: i64 = hash_id(request.correlation_id, 0) if request.match & mq.MQMO_MATCH_CORREL_ID else 0
    try:
        while slot != NONE:
            if may_pause and engine.work_left <= 0:
                return pause(engine, request, queue, last)
            engine.work_left -= 1
            if (
                (hash_message == 0 or slots.by_message_id.hashes[slot] == hash_message)
                and (hash_correlation == 0 or slots.by_correlation_id.hashes[slot] == hash_correlation)
                and is_eligible(engine, request, queue, slot)
                and matches(engine, request, queue, slot)
            ):
                return slot
            last = slot
            slot = slots.following(slot)
    except ReadPending as pending:
        return pause_for_read(engine, request, queue, pending.read, last)
    return NONE


def select_loaded(engine: Engine, request: GetRequest, queue: Queue) -> i64:
    """As `select`, and the message can be loaded at once. PAUSED: it is being read."""
    reads = engine.reads
    reads.is_deferring = True
    reads.tries_cache = True
    reads.is_ahead = request.kind == ANY or (request.kind == BY_SCAN and not request.options & UNDER_CURSOR)
    try:
        slot: i64 = select(engine, request, queue)
        if slot >= 0:
            if request.slots:
                queue.load_all(request.slots)
            elif queue.slots.resident[slot] is None:
                queue.load(slot)
        return slot
    except ReadPending as pending:
        return pause_for_read(engine, request, queue, pending.read, request.scan_slot)
    finally:
        reads.is_deferring = False
        reads.tries_cache = False
        reads.is_ahead = False
        if reads.wanted:
            engine.signal_reader()
