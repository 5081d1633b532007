"""Reading and updating MQSD and MQSRO, for every binding."""

from __future__ import annotations

import struct
from typing import Final

from ostler.client.mqi.object_structures import OBJECT_STRING_BYTES_MAX
from ostler.client.mqi.variable_strings import VariableString, check_buffer, read_string, write_end, write_string
from ostler.model import constants as mq
from ostler.model.structures.consuming import MQSD, MQSRO
from ostler.model.structures.layout import trim
from ostler.wire.subscribe_frames import SubscribeArguments, SubscribeReply

_UTF_8: Final = 1208
_TEXTS_MAX: Final = OBJECT_STRING_BYTES_MAX
# Options that are actions; they are not returned for an existing subscription.
_ACTIONS: Final = mq.MQSO_CREATE | mq.MQSO_RESUME | mq.MQSO_ALTER | mq.MQSO_NEW_PUBLICATIONS_ONLY
# Options that are attributes of a subscription.
_KINDS: Final = (
    mq.MQSO_DURABLE
    | mq.MQSO_MANAGED
    | mq.MQSO_GROUP_SUB
    | mq.MQSO_ANY_USERID
    | mq.MQSO_FIXED_USERID
    | mq.MQSO_PUBLICATIONS_ON_REQUEST
    | mq.MQSO_WILDCARD_CHAR
    | mq.MQSO_WILDCARD_TOPIC
)


def subscribe_arguments(sd: bytearray, destination: int) -> SubscribeArguments:
    """Convert a subscription descriptor to the arguments of MQSUB. `destination` is the queue manager's handle."""
    MQSD.validate_header(sd)
    asked = SubscribeArguments(MQSD.read_int(sd, "Options"))
    asked.destination = max(destination, 0)
    asked.expiry = MQSD.read_int(sd, "SubExpiry")
    asked.priority = MQSD.read_int(sd, "PubPriority")
    asked.level = MQSD.read_int(sd, "SubLevel")
    asked.object_name = _text(sd, "ObjectName")
    asked.alternate_user = _text(sd, "AlternateUserId")
    asked.correlation_id = MQSD.read_bytes(sd, "SubCorrelId")
    asked.accounting_token = MQSD.read_bytes(sd, "PubAccountingToken")
    asked.application_data = _text(sd, "PubApplIdentityData")
    asked.topic_string = _string(sd, "ObjectString", _TEXTS_MAX, mq.MQRC_OBJECT_STRING_ERROR)
    asked.name = _string(sd, "SubName", _TEXTS_MAX, mq.MQRC_SUB_NAME_ERROR)
    asked.user_data = _string(sd, "SubUserData", _TEXTS_MAX, mq.MQRC_SUB_USER_DATA_ERROR)
    asked.selection = _string(sd, "SelectionString", mq.MQ_SELECTOR_LENGTH, mq.MQRC_SELECTION_STRING_ERROR)
    check_buffer(sd, MQSD.offset("ResObjectString"), mq.MQRC_RES_OBJECT_STRING_ERROR)
    return asked


def _text(sd: bytearray, field: str) -> str:
    return trim(MQSD.read_bytes(sd, field)).decode("latin-1")


def _string(sd: bytearray, field: str, bytes_max: int, reason: int) -> str:
    return read_string(sd, MQSD.offset(field), bytes_max, reason)


def describe_subscribed(sd: bytearray, found: SubscribeReply) -> None:
    """Update a subscription descriptor after MQSUB.

    For an existing subscription the options are replaced with its attributes.
    """
    if found.options & mq.MQSO_RESUME:
        options = MQSD.read_int(sd, "Options") & ~(_ACTIONS | _KINDS)
        MQSD.patch(sd, "Options", options | (found.options & ~mq.MQSO_RESUME))
    MQSD.patch(sd, "SubExpiry", found.expiry)
    MQSD.patch(sd, "SubCorrelId", found.correlation_id)
    MQSD.patch(sd, "PubPriority", found.priority)
    MQSD.patch(sd, "PubAccountingToken", found.accounting_token)
    MQSD.patch(sd, "PubApplIdentityData", found.application_data.encode("latin-1", "replace"))
    MQSD.patch(sd, "SubLevel", found.level)
    _give_back(sd, "SubName", found.name)
    _give_back(sd, "SubUserData", found.user_data)
    _give_back(sd, "SelectionString", found.selection)
    write_end(sd, MQSD.offset("ResObjectString"), found.topic)


def _give_back(sd: bytearray, field: str, text: str) -> None:
    """Return a string in its buffer, if it has one."""
    at = MQSD.offset(field)
    if VariableString(sd, at).buffer_bytes > 0:
        write_string(sd, at, text.encode("utf-8", "replace"), _UTF_8)


def request_options(sro: bytearray | None) -> int:
    """Return the options of MQSUBRQ."""
    if sro is None:
        return 0
    MQSRO.validate_header(sro)
    return MQSRO.read_int(sro, "Options")


def describe_request(sro: bytearray | None, count: int) -> None:
    if sro is not None:
        struct.pack_into("<i", sro, MQSRO.offset("NumPubs"), count)
