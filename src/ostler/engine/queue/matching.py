"""Matching of messages with requests, for selection by order, by identifier and by group."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.engine.core import Engine, ExpiredMessage
from ostler.engine.message.message import (
    CORRELATION_ID_AT,
    GROUP_ID_AT,
    MESSAGE_ID_AT,
    NULL_ID,
    OFFSET_AT,
    SEQUENCE_NUMBER_AT,
    Message,
    i64_pair_bytes,
    read_i32,
)
from ostler.engine.properties.property_control import selector_source, starts_with_rfh2
from ostler.engine.queue.get_request import GetRequest
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.queue_file import CACHED_READ_BYTES_MAX
from ostler.engine.queue.slots import LOCKED, extent_length
from ostler.model import constants as mq

# Costs of examining a message besides its selector, in units of `Engine.work_left`: reading it from the queue's file
# (and bytes per unit), reading properties (bytes per unit), removing it when it has expired.
_READ_COST: Final = 200
_READ_BYTES_PER_UNIT: Final = 100
_BYTES_PER_UNIT: Final = 8
_EXPIRED_COST: Final = 40


def is_eligible(engine: Engine, request: GetRequest, queue: Queue, slot: i64) -> bool:
    """Return True when this request may have the message. An expired message is added to `engine.expired`."""
    slots = queue.slots
    expiry_ms: i64 = slots.expiries[slot]
    if expiry_ms != 0 and expiry_ms <= engine.now_ms:
        engine.expired.append(ExpiredMessage(queue, slot, slots.seqs[slot]))
        engine.work_left -= _EXPIRED_COST
        return False
    if slots.flags[slot] & LOCKED:
        handle = request.handle
        return handle.locked_slot == slot and handle.locked_seq == slots.seqs[slot]
    return True


def matches(engine: Engine, request: GetRequest, queue: Queue, slot: i64) -> bool:
    """Return True when a message meets the match options and the selector of a request."""
    selector = request.selector
    if request.match == 0 and selector is None:
        return True
    message = load_charged(engine, queue, slot)
    if not matches_options(request, queue, slot, message.md):
        return False
    if selector is None:
        return True
    engine.work_left -= selector.cost
    if not selector.descriptor_only:
        engine.work_left -= properties_cost(message)
    return selector.matches(selector_source(message.md, message.body, message.properties))


def load_charged(engine: Engine, queue: Queue, slot: i64) -> Message:
    """Load the message of a slot, and charge a read from the file to `engine.work_left`."""
    if queue.slots.resident[slot] is None:
        engine.work_left -= _READ_COST
        if not queue.is_loaded(slot):
            length: i64 = extent_length(queue.slots.extents[slot])
            engine.work_left -= min(length, CACHED_READ_BYTES_MAX) // _READ_BYTES_PER_UNIT
    return queue.load(slot)


def properties_cost(message: Message) -> i64:
    """Return the cost of reading the properties of a message."""
    size: i64 = len(message.properties)
    if starts_with_rfh2(message.md):
        size += len(message.body)
    return size // _BYTES_PER_UNIT


def matches_options(request: GetRequest, queue: Queue, slot: i64, md: bytes) -> bool:
    """Return True when a message meets the match options of a request."""
    if request.match == 0:
        return True
    if not identifiers_match(request, md) or not numbers_match(request, md):
        return False
    return not request.match & mq.MQMO_MATCH_MSG_TOKEN or request.token == token_of(queue, slot)


def identifiers_match(request: GetRequest, md: bytes) -> bool:
    """Compare message and correlation identifier. Null identifiers match everything."""
    match: i64 = request.match
    if match & mq.MQMO_MATCH_MSG_ID and not _same_id(request.message_id, md, MESSAGE_ID_AT):
        return False
    return not match & mq.MQMO_MATCH_CORREL_ID or _same_id(request.correlation_id, md, CORRELATION_ID_AT)


def _same_id(wanted: bytes, md: bytes, at: i64) -> bool:
    return md[at : at + 24] == wanted or wanted == NULL_ID


def numbers_match(request: GetRequest, md: bytes) -> bool:
    """Compare group identifier, sequence number and offset."""
    match: i64 = request.match
    if match & mq.MQMO_MATCH_GROUP_ID and not _same_id(request.group_id, md, GROUP_ID_AT):
        return False
    if match & mq.MQMO_MATCH_MSG_SEQ_NUMBER and read_i32(md, SEQUENCE_NUMBER_AT) != request.sequence_number:
        return False
    return not match & mq.MQMO_MATCH_OFFSET or read_i32(md, OFFSET_AT) == request.offset


def token_of(queue: Queue, slot: i64) -> bytes:
    """Return the message token, which identifies a message on a queue as long as it is there."""
    return i64_pair_bytes(queue.slots.seqs[slot], slot)
