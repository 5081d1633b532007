"""Message handles, and what they do for MQPUT, MQPUT1 and MQGET.

A handle belongs to a connection, or to none: then any connection of the process may use it. Numbers are never given
twice, so a handle used with the wrong connection is found out.
"""

from __future__ import annotations

import itertools
import struct
import threading
from typing import Final

from ostler.engine.connection import Connection
from ostler.engine.get_request import GetRequest
from ostler.engine.properties import PropertySet
from ostler.engine.property_control import descriptor_for_put, merged_properties, properties_on_put
from ostler.model.constants import (
    MQHM_NONE,
    MQPMO_MD_FOR_OUTPUT_ONLY,
    MQRC_HANDLE_NOT_AVAILABLE,
    MQRC_HMSG_ERROR,
)
from ostler.model.errors import MQError
from ostler.model.structures.gmo import GMO_BYTES_4, GMO_MSG_HANDLE
from ostler.model.structures.pmo import PMO_OPTIONS, PMO_ORIGINAL_MSG_HANDLE

# Handles of no connection are never deleted by themselves; a program that forgets to has an end all the same.
UNASSOCIATED_MAX: Final = 100_000

_HANDLES: Final = struct.Struct("<qqi")  # OriginalMsgHandle, NewMsgHandle and Action of MQPMO
_numbers: Final = itertools.count(1)
_unassociated: Final[dict[int, PropertySet]] = {}
_lock: Final = threading.Lock()
# The name that each handle was last inquired with: with another one, "next" begins at the front.
_inquired: Final[dict[int, str]] = {}


def create(connection: Connection | None, handles_max: int, validate: bool) -> int:
    """A new message handle without properties."""
    with _lock:
        owner = _unassociated if connection is None else connection.message_handles
        in_use = len(owner) + (0 if connection is None else len(connection.handles))
        if in_use >= handles_max:
            raise MQError(MQRC_HANDLE_NOT_AVAILABLE, f"{handles_max} handles are open already; close some.")
        number = next(_numbers)
        owner[number] = PropertySet(validate)
        return number


def owned(connection: Connection | None, hmsg: int) -> PropertySet:
    """The properties behind a handle that was created for this connection, or for none."""
    owner = _unassociated if connection is None else connection.message_handles
    properties = owner.get(hmsg)
    if properties is None:
        raise MQError(MQRC_HMSG_ERROR, f"{hmsg} is no message handle of this connection.")
    return properties


def delete(connection: Connection | None, hmsg: int) -> None:
    owned(connection, hmsg)
    with _lock:
        owner = _unassociated if connection is None else connection.message_handles
        owner.pop(hmsg, None)
        _inquired.pop(hmsg, None)


def delete_all(connection: Connection) -> None:
    """The connection ends, and its message handles with it."""
    for hmsg in list(connection.message_handles):
        delete(connection, hmsg)


def changes_name(hmsg: int, name: str) -> bool:
    """Whether a handle is inquired with another name than the last time."""
    before = _inquired.get(hmsg)
    _inquired[hmsg] = name
    return before != name


def find(connection: Connection, hmsg: int) -> PropertySet:
    """The properties behind a handle that a message is put or got with: the connection's own, or nobody's."""
    properties = connection.message_handles.get(hmsg)
    return properties if properties is not None else owned(None, hmsg)


def _of_pmo(connection: Connection, pmo: bytes) -> tuple[PropertySet | None, PropertySet | None, int]:
    original, new, action = _HANDLES.unpack_from(pmo, PMO_ORIGINAL_MSG_HANDLE)
    return (
        find(connection, original) if original != MQHM_NONE else None,
        find(connection, new) if new != MQHM_NONE else None,
        action,
    )


def put_properties(connection: Connection, pmo: bytes, md: bytes, buffer: bytes) -> tuple[bytes, bytes]:
    """What an MQPMO of version 3 makes of a put: the descriptor (version 2) to use, and the property block to store."""
    original, new, action = _of_pmo(connection, pmo)
    if int.from_bytes(pmo[PMO_OPTIONS : PMO_OPTIONS + 4], "little") & MQPMO_MD_FOR_OUTPUT_ONLY:
        md = descriptor_for_put(original, new, action)
    return md, properties_on_put(md, buffer, original, new, action)


def put_done(connection: Connection, pmo: bytes, stored_md: bytes) -> None:
    """After a successful put: NewMsgHandle shows the message as it was put."""
    original, new, action = _of_pmo(connection, pmo)
    if new is None:
        return
    properties = merged_properties(original, new, action)
    new.clear()
    for each in properties:
        new.add(each)
    new.descriptor = stored_md


def check_get(connection: Connection, gmo: bytes) -> bool:
    """Whether an MQGMO brings a message handle; MQError when it is none that can be used."""
    hmsg = _of_gmo(gmo)
    if hmsg == MQHM_NONE:
        return False
    find(connection, hmsg)
    return True


def fill_handle(connection: Connection, request: GetRequest, gmo: bytes) -> None:
    """After a get: the properties of the message go into the handle of the MQGMO, in place of what it held."""
    found = request.properties
    hmsg = _of_gmo(gmo)
    if found is None or hmsg == MQHM_NONE:
        return
    properties = find(connection, hmsg)
    properties.clear()
    for each in found.properties:
        properties.add(each)
    properties.descriptor = request.md
    properties.descriptor_set = []


def _of_gmo(gmo: bytes) -> int:
    if len(gmo) < GMO_BYTES_4 or int.from_bytes(gmo[4:8], "little") < 4:
        return MQHM_NONE
    return int.from_bytes(gmo[GMO_MSG_HANDLE : GMO_MSG_HANDLE + 8], "little", signed=True)
