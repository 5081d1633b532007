"""Message handles, and what they do for MQPUT, MQPUT1 and MQGET.

A handle belongs to a connection, or to none: then any connection of the process may use it. Numbers are never given
twice, so a handle used with the wrong connection is found out. What a connection is does not matter here: it is known
by its handles, and None stands for those of no connection.
"""

from __future__ import annotations

import itertools
import struct
import threading
from typing import Final

from ostler.engine.properties.properties import Property, PropertySet
from ostler.engine.properties.property_control import descriptor_for_put, merged_properties, properties_on_put
from ostler.model.constants import (
    MQHM_NONE,
    MQPMO_MD_FOR_OUTPUT_ONLY,
    MQRC_HANDLE_NOT_AVAILABLE,
    MQRC_HMSG_ERROR,
)
from ostler.model.errors import MQError
from ostler.model.structures.gmo import GMO_BYTES_4, GMO_MSG_HANDLE
from ostler.model.structures.pmo import PMO_OPTIONS, PMO_ORIGINAL_MSG_HANDLE

Handles = dict[int, PropertySet]
"""The message handles of one connection."""

# Handles of no connection are never deleted by themselves; a program that forgets to has an end all the same.
UNASSOCIATED_MAX: Final = 100_000

_HANDLES: Final = struct.Struct("<qqi")  # OriginalMsgHandle, NewMsgHandle and Action of MQPMO
_numbers: Final = itertools.count(1)
_unassociated: Final[dict[int, PropertySet]] = {}
_lock: Final = threading.Lock()
# The name that each handle was last inquired with: with another one, "next" begins at the front.
_inquired: Final[dict[int, str]] = {}


def create(own: Handles | None, object_handles: int, handles_max: int, validate: bool) -> int:
    """A new message handle without properties. `object_handles` are open besides, and count against the limit."""
    with _lock:
        owner = _unassociated if own is None else own
        if len(owner) + object_handles >= handles_max:
            raise MQError(MQRC_HANDLE_NOT_AVAILABLE, f"{handles_max} handles are open already; close some.")
        number = next(_numbers)
        owner[number] = PropertySet(validate)
        return number


def owned(own: Handles | None, hmsg: int) -> PropertySet:
    """The properties behind a handle that was created for this connection, or for none."""
    properties = (_unassociated if own is None else own).get(hmsg)
    if properties is None:
        raise MQError(MQRC_HMSG_ERROR, f"{hmsg} is no message handle of this connection.")
    return properties


def delete(own: Handles | None, hmsg: int) -> None:
    owned(own, hmsg)
    with _lock:
        (_unassociated if own is None else own).pop(hmsg, None)
        _inquired.pop(hmsg, None)


def delete_all(own: Handles) -> None:
    """The connection ends, and its message handles with it."""
    for hmsg in list(own):
        delete(own, hmsg)


def changes_name(hmsg: int, name: str) -> bool:
    """Whether a handle is inquired with another name than the last time."""
    before = _inquired.get(hmsg)
    _inquired[hmsg] = name
    return before != name


def find(own: Handles, hmsg: int) -> PropertySet:
    """The properties behind a handle that a message is put or got with: the connection's own, or nobody's."""
    properties = own.get(hmsg)
    return properties if properties is not None else owned(None, hmsg)


def _of_pmo(own: Handles, pmo: bytes) -> tuple[PropertySet | None, PropertySet | None, int]:
    original, new, action = _HANDLES.unpack_from(pmo, PMO_ORIGINAL_MSG_HANDLE)
    return (
        find(own, original) if original != MQHM_NONE else None,
        find(own, new) if new != MQHM_NONE else None,
        action,
    )


def put_properties(own: Handles, pmo: bytes, md: bytes, buffer: bytes) -> tuple[bytes, bytes]:
    """What an MQPMO of version 3 makes of a put: the descriptor (version 2) to use, and the property block to store."""
    original, new, action = _of_pmo(own, pmo)
    if int.from_bytes(pmo[PMO_OPTIONS : PMO_OPTIONS + 4], "little") & MQPMO_MD_FOR_OUTPUT_ONLY:
        md = descriptor_for_put(original, new, action)
    return md, properties_on_put(md, buffer, original, new, action)


def put_done(own: Handles, pmo: bytes, stored_md: bytes) -> None:
    """After a successful put: NewMsgHandle shows the message as it was put."""
    original, new, action = _of_pmo(own, pmo)
    if new is None:
        return
    properties = merged_properties(original, new, action)
    new.clear()
    for each in properties:
        new.add(each)
    new.descriptor = stored_md


def check_get(own: Handles, gmo: bytes) -> bool:
    """Whether an MQGMO brings a message handle; MQError when it is none that can be used."""
    hmsg = _of_gmo(gmo)
    if hmsg == MQHM_NONE:
        return False
    find(own, hmsg)
    return True


def fill_handle(own: Handles, found: list[Property], md: bytes, gmo: bytes) -> None:
    """After a get: the properties of the message go into the handle of the MQGMO, in place of what it held."""
    hmsg = _of_gmo(gmo)
    if hmsg == MQHM_NONE:
        return
    properties = find(own, hmsg)
    properties.clear()
    for each in found:
        properties.add(each)
    properties.descriptor = md
    properties.descriptor_set = []


def _of_gmo(gmo: bytes) -> int:
    if len(gmo) < GMO_BYTES_4 or int.from_bytes(gmo[4:8], "little") < 4:
        return MQHM_NONE
    return int.from_bytes(gmo[GMO_MSG_HANDLE : GMO_MSG_HANDLE + 8], "little", signed=True)
