"""The keywords of a get: conversion to MQGET's parameters and the engine's request, and of the result to a message."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from ostler.client.api.keywords import check_keywords
from ostler.client.api.message import Message, identifier, unpack_message
from ostler.client.api.property_types import PropertyValue, property_values
from ostler.client.api.transaction import is_in_unit
from ostler.client.session.session import GetOptions, Session, StoredMessage
from ostler.engine import get as getting
from ostler.engine.connection import Connection
from ostler.engine.conversion.conversion import convert_message
from ostler.engine.handle import Handle
from ostler.engine.properties.property_block import PUBLICATION_LAYOUT, decode_block
from ostler.engine.properties.property_control import properties_on_get, starts_with_rfh2
from ostler.engine.pubsub import publication_properties
from ostler.engine.queue.get_request import BROWSE_OPTIONS, BY_SCAN, UNLIMITED, GetRequest
from ostler.engine.selectors.selector import compile_selector
from ostler.model import constants as mq
from ostler.model.errors import MQError

_BYTES_MAX: Final = 1 << 40
_MILLISECONDS_MAX: Final = (1 << 31) - 1
_SYNCPOINTS: Final = mq.MQGMO_SYNCPOINT | mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT
_UTF_8: Final = 1208
_BLOCKS_KEPT: Final = 256
# Options that are applied here, to a message that is already removed from the queue, and not by the engine.
_DONE_HERE: Final = mq.MQGMO_CONVERT | mq.MQGMO_ACCEPT_TRUNCATED_MSG


_GET_KEYWORDS: Final = frozenset(GetOptions.__annotations__)
_CONSUME_KEYWORDS: Final = _GET_KEYWORDS | {"threads"}


def normalize_options(asked: GetOptions, for_consumers: bool = False) -> GetOptions:
    """Return the keywords with `timeout` renamed to `wait`. Raises TypeError for an unknown keyword."""
    if not asked.keys() <= _GET_KEYWORDS:
        check_keywords(asked.keys(), _CONSUME_KEYWORDS if for_consumers else _GET_KEYWORDS)
    if "timeout" in asked:
        if "wait" in asked:
            raise TypeError("timeout is another name of wait; give one of them")
        renamed = asked.copy()
        renamed["wait"] = renamed.pop("timeout")
        return renamed
    return asked


def wait_seconds(asked: GetOptions) -> float | None:
    wait = asked.get("wait", 0)
    if wait is not None and wait < 0:
        raise MQError(mq.MQRC_WAIT_INTERVAL_ERROR, "A wait is a number of seconds, or None to wait for ever.")
    return wait


class GetParameters(NamedTuple):
    """The parameters of MQGET for the keywords of a get."""

    options: int
    match: int
    message_id: bytes
    correlation_id: bytes
    group_id: bytes
    sequence_number: int
    wait_ms: int


def get_parameters(session: Session, asked: GetOptions, browse: int) -> GetParameters:
    """Return the parameters of MQGET. `browse` is an MQGMO_BROWSE option, or 0 to remove the message."""
    wait = wait_seconds(asked)
    options = asked.get("options", 0) & ~_DONE_HERE | mq.MQGMO_FAIL_IF_QUIESCING | browse
    if wait != 0:
        options |= mq.MQGMO_WAIT
    if not options & (_SYNCPOINTS | BROWSE_OPTIONS):
        in_unit = is_in_unit(session, asked.get("syncpoint"))
        options |= mq.MQGMO_SYNCPOINT if in_unit else mq.MQGMO_NO_SYNCPOINT
    message_id = asked.get("message_id")
    correlation_id = asked.get("correlation_id")
    group_id = asked.get("group_id")
    sequence_number = asked.get("sequence_number")
    match = mq.MQMO_MATCH_MSG_ID if message_id else 0
    match |= mq.MQMO_MATCH_CORREL_ID if correlation_id else 0
    match |= mq.MQMO_MATCH_GROUP_ID if group_id else 0
    match |= mq.MQMO_MATCH_MSG_SEQ_NUMBER if sequence_number is not None else 0
    return GetParameters(
        options,
        match,
        identifier(message_id or b""),
        identifier(correlation_id or b""),
        identifier(group_id or b""),
        1 if sequence_number is None else sequence_number,
        UNLIMITED if wait is None else min(max(1, int(wait * 1000)), _MILLISECONDS_MAX) if wait else 0,
    )


def engine_request(
    session: Session, connection: Connection, handle: Handle, asked: GetOptions, browse: int = 0
) -> GetRequest:
    """Return the engine's request for the keywords of a get."""
    options, match, message_id, correlation_id, group_id, sequence_number, wait_ms = get_parameters(
        session, asked, browse
    )
    request = getting.new_request(connection, handle, options, match, message_id, correlation_id, length_limit(asked))
    request.wait_ms = wait_ms
    request.group_id = group_id
    request.sequence_number = sequence_number
    selector = asked.get("selector")
    if selector:
        request.selector = compile_selector(selector)
        request.kind = BY_SCAN
    return request


def _truncates(asked: GetOptions) -> bool:
    return asked.get("truncate", False) or bool(asked.get("options", 0) & mq.MQGMO_ACCEPT_TRUNCATED_MSG)


def length_limit(asked: GetOptions) -> int:
    """Return the length of the longest message that the get accepts."""
    limit = asked.get("max_bytes")
    return _BYTES_MAX if limit is None or _truncates(asked) else limit


def to_message(taken: StoredMessage, asked: GetOptions) -> Message:
    """Return the message for the program: properties apart from the data, converted and truncated as asked for."""
    md, body, property_block, token, warning = taken
    values: dict[str, PropertyValue] = {}
    has_headers = starts_with_rfh2(md)
    if property_block and property_block[0] == PUBLICATION_LAYOUT and not has_headers:
        values = dict(_publication(property_block))
    elif property_block or has_headers:
        view = properties_on_get(md, body, property_block, mq.MQPROP_ALL, mq.MQGMO_PROPERTIES_IN_HANDLE, True)
        md, body = view.md, view.body
        values = property_values(view.property_set.properties) if view.property_set is not None else {}
    if asked.get("convert", False) or asked.get("options", 0) & mq.MQGMO_CONVERT:
        converted = convert_message(
            md[32:40], body, _number(md, 24), _number(md, 28), mq.MQENC_NATIVE, _UTF_8, _BYTES_MAX, False
        )
        body = converted.body
        warning = converted.reason or warning
        md = md[:24] + converted.encoding.to_bytes(4, "little") + _signed(converted.ccsid) + md[32:]
    limit = asked.get("max_bytes")
    if limit is not None and len(body) > limit and _truncates(asked):
        body = body[:limit]
        warning = mq.MQRC_TRUNCATED_MSG_ACCEPTED
    topic = values.pop(publication_properties.TOPIC, "")
    message = unpack_message(md, body, values, warning)
    message.token = token
    if isinstance(topic, str) and topic:
        message.topic = topic
        message.user_data = str(values.pop(publication_properties.USER_DATA, ""))
        message.is_retained = bool(values.pop(publication_properties.RETAINED, False))
    return message


@lru_cache(_BLOCKS_KEPT)
def _publication(property_block: bytes) -> dict[str, PropertyValue]:
    """Decode the properties of a publication, which are the same for many publications."""
    return property_values(decode_block(property_block))


def _number(md: bytes, at: int) -> int:
    return int.from_bytes(md[at : at + 4], "little", signed=True)


def _signed(value: int) -> bytes:
    return value.to_bytes(4, "little", signed=True)
