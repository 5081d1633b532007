"""Reading and updating MQOD and MQPMO for the verbs on objects, for every binding."""

from __future__ import annotations

from typing import Final

from ostler.client.mqi.put_get import completion, return_descriptor
from ostler.client.mqi.variable_strings import check_buffer, read_string, write_end
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.layout import trim
from ostler.model.structures.od import MQOD, OD_OBJECT_STRING, OD_RES_OBJECT_STRING, OD_SELECTION_STRING
from ostler.model.structures.pmo import MQPMO
from ostler.wire.object_frames import CREATED, IS_QUEUE, REMOTE, OpenArguments, OpenReply

BLANK_NAMES: Final = b" " * 96
_WORKING: Final = (
    mq.MQOO_INPUT_AS_Q_DEF | mq.MQOO_INPUT_SHARED | mq.MQOO_INPUT_EXCLUSIVE | mq.MQOO_BROWSE | mq.MQOO_OUTPUT
)
OBJECT_STRING_BYTES_MAX: Final = 10240


def open_arguments(od: bytearray, options: int) -> OpenArguments:
    """Convert an object descriptor to the arguments of MQOPEN."""
    version = MQOD.validate_header(od)
    if version > 1 and MQOD.read_int(od, "RecsPresent"):
        raise MQError(mq.MQRC_RECS_PRESENT_ERROR, "Distribution lists are not supported.")
    asked = OpenArguments(MQOD.read_int(od, "ObjectType"), _text(od, "ObjectName"), options)
    asked.manager_name = _text(od, "ObjectQMgrName")
    asked.dynamic_name = _text(od, "DynamicQName")
    asked.alternate_user = _text(od, "AlternateUserId")
    if version >= 4:
        asked.object_string = read_string(od, OD_OBJECT_STRING, OBJECT_STRING_BYTES_MAX, mq.MQRC_OBJECT_STRING_ERROR)
        check_buffer(od, OD_RES_OBJECT_STRING, mq.MQRC_RES_OBJECT_STRING_ERROR)
        asked.selection = read_string(od, OD_SELECTION_STRING, mq.MQ_SELECTOR_LENGTH, mq.MQRC_SELECTION_STRING_ERROR)
    return asked


def _text(od: bytearray, field: str) -> str:
    return trim(MQOD.read_bytes(od, field)).decode("latin-1")


def describe_opened(od: bytearray, asked: OpenArguments, found: OpenReply, queue_manager: str) -> None:
    """Update an object descriptor after MQOPEN."""
    version = MQOD.read_int(od, "Version")
    is_queue = bool(found.flags & IS_QUEUE)
    is_elsewhere = bool(found.flags & REMOTE)
    if found.flags & CREATED:
        MQOD.patch(od, "ObjectName", found.name)
        MQOD.patch(od, "ObjectQMgrName", queue_manager)
    if version >= 2 and is_queue:
        MQOD.patch(od, "KnownDestCount", 0 if is_elsewhere else 1)
        MQOD.patch(od, "UnknownDestCount", 1 if is_elsewhere else 0)
        MQOD.patch(od, "InvalidDestCount", 0)
    if version >= 3:
        names = BLANK_NAMES
        if is_queue and asked.options & _WORKING:
            names = found.resolved_names
            if asked.options & mq.MQOO_RESOLVE_LOCAL_Q:
                names = found.name.encode().ljust(48) + queue_manager.encode().ljust(48)
        MQOD.patch(od, "ResolvedQName", names[:48])
        MQOD.patch(od, "ResolvedQMgrName", names[48:])
    if version >= 4:
        MQOD.patch(od, "ResolvedType", found.object_type)
        if found.object_string:
            write_end(od, OD_RES_OBJECT_STRING, found.object_string)


def describe_put(od: bytearray, md: bytearray, pmo: bytearray, stored: bytes, names: bytes) -> None:
    """Update the structures of MQPUT1 after the put."""
    return_descriptor(md, stored)
    MQPMO.patch(pmo, "ResolvedQName", names[:48])
    MQPMO.patch(pmo, "ResolvedQMgrName", names[48:])
    version = MQOD.read_int(od, "Version")
    if version >= 3:
        MQOD.patch(od, "ResolvedQName", names[:48])
        MQOD.patch(od, "ResolvedQMgrName", names[48:])
    if version >= 4:
        MQOD.patch(od, "ResolvedType", mq.MQOT_Q if names.strip() else mq.MQOT_TOPIC)


def check_put1(pmo: bytearray, buffer: bytes) -> int:
    """Return the version of the put options. Raises MQError when MQPUT1 cannot use them."""
    version = MQPMO.validate_header(pmo)
    if version > 1 and MQPMO.read_int(pmo, "RecsPresent"):
        raise MQError(mq.MQRC_RECS_PRESENT_ERROR, "Distribution lists are not supported.")
    if not isinstance(buffer, bytes):
        raise MQError(mq.MQRC_BUFFER_ERROR, "The message data must be bytes.")
    return version


def check_counts(int_count: int, char_length: int) -> None:
    """Raise MQError for negative sizes of MQINQ."""
    if int_count < 0:
        raise MQError(mq.MQRC_INT_ATTR_COUNT_ERROR)
    if char_length < 0:
        raise MQError(mq.MQRC_CHAR_ATTR_LENGTH_ERROR)


def fit_attributes(
    integers: list[int], texts: list[bytes], reason: int, int_count: int, char_length: int
) -> tuple[list[int], bytes, int, int]:
    """Return as much of an inquiry's answer as there is room for, with completion and reason."""
    if len(integers) > int_count:
        reason = mq.MQRC_INT_ATTR_COUNT_TOO_SMALL
    characters = b""
    for text in texts:
        # Whole attributes only; when one does not fit, the following ones are left out, too.
        if len(characters) + len(text) > char_length:
            reason = mq.MQRC_CHAR_ATTRS_TOO_SHORT
            break
        characters += text
    return integers[:int_count], characters, completion(reason), reason
