"""Message handles, and their use in MQPUT, MQPUT1 and MQGET.

A handle belongs to a connection, or to none (MQHC_UNASSOCIATED_HCONN): then any connection of the process may use it.
Numbers are never reused, so the use of a handle with the wrong connection is detected. A connection is represented by
the table of its handles; None is the table of those of no connection.
"""

from __future__ import annotations

import itertools
import struct
import threading
from typing import Final

from ostler.engine.properties.properties import Property, PropertySet
from ostler.engine.properties.property_control import descriptor_for_put, merged_properties, properties_on_put
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.gmo import GMO_BYTES_4, GMO_MSG_HANDLE
from ostler.model.structures.pmo import PMO_OPTIONS, PMO_ORIGINAL_MSG_HANDLE

Handles = dict[int, PropertySet]
"""The message handles of one connection."""

# Handles of no connection live until they are deleted; the limit stops a program that leaks them.
UNASSOCIATED_MAX: Final = 100_000

_HANDLES: Final = struct.Struct("<qqi")  # OriginalMsgHandle, NewMsgHandle and Action of MQPMO
_numbers: Final = itertools.count(1)
_unassociated: Final[dict[int, PropertySet]] = {}
_lock: Final = threading.Lock()
# The name of the last inquiry of each handle: with another name, MQIMPO_INQ_NEXT begins at the first property.
_inquired: Final[dict[int, str]] = {}


def create(own: Handles | None, object_handles: int, handles_max: int, validate: bool) -> int:
    """Create a message handle without properties. `object_handles` are open, too, and count against the limit."""
    with _lock:
        owner = _unassociated if own is None else own
        if len(owner) + object_handles >= handles_max:
            raise MQError(mq.MQRC_HANDLE_NOT_AVAILABLE, f"{handles_max} handles are open already; close some.")
        number = next(_numbers)
        owner[number] = PropertySet(validate)
        return number


def find_owned(own: Handles | None, hmsg: int) -> PropertySet:
    """Return the properties of a handle that was created for this connection, or for none."""
    properties = (_unassociated if own is None else own).get(hmsg)
    if properties is None:
        raise MQError(mq.MQRC_HMSG_ERROR, f"{hmsg} is not a message handle of this connection.")
    return properties


def delete(own: Handles | None, hmsg: int) -> None:
    find_owned(own, hmsg)
    with _lock:
        (_unassociated if own is None else own).pop(hmsg, None)
        _inquired.pop(hmsg, None)


def delete_all(own: Handles) -> None:
    """Delete all message handles of a connection that ends."""
    for hmsg in list(own):
        delete(own, hmsg)


def changes_name(hmsg: int, name: str) -> bool:
    """Record the name of an inquiry. Returns whether it differs from the last one of the handle."""
    before = _inquired.get(hmsg)
    _inquired[hmsg] = name
    return before != name


def find(own: Handles, hmsg: int) -> PropertySet:
    """Return the properties of a handle for a put or get: one of the connection, or of no connection."""
    properties = own.get(hmsg)
    return properties if properties is not None else find_owned(None, hmsg)


def _of_pmo(own: Handles, pmo: bytes) -> tuple[PropertySet | None, PropertySet | None, int]:
    original, new, action = _HANDLES.unpack_from(pmo, PMO_ORIGINAL_MSG_HANDLE)
    return (
        find(own, original) if original != mq.MQHM_NONE else None,
        find(own, new) if new != mq.MQHM_NONE else None,
        action,
    )


def put_properties(own: Handles, pmo: bytes, md: bytes, buffer: bytes) -> tuple[bytes, bytes]:
    """Return the descriptor (version 2) and the property block of a put with an MQPMO of version 3."""
    original, new, action = _of_pmo(own, pmo)
    if int.from_bytes(pmo[PMO_OPTIONS : PMO_OPTIONS + 4], "little") & mq.MQPMO_MD_FOR_OUTPUT_ONLY:
        md = descriptor_for_put(original, new, action)
    return md, properties_on_put(md, buffer, original, new, action)


def complete_put(own: Handles, pmo: bytes, stored_md: bytes) -> None:
    """Update NewMsgHandle after a put: it describes the message as it was put."""
    original, new, action = _of_pmo(own, pmo)
    if new is None:
        return
    properties = merged_properties(original, new, action)
    new.clear()
    for each in properties:
        new.add(each)
    new.descriptor = stored_md


def check_get(own: Handles, gmo: bytes) -> bool:
    """Return whether an MQGMO has a message handle. Raises MQError when the handle cannot be used."""
    hmsg = _of_gmo(gmo)
    if hmsg == mq.MQHM_NONE:
        return False
    find(own, hmsg)
    return True


def fill_handle(own: Handles, found: list[Property], md: bytes, gmo: bytes) -> None:
    """Replace the properties of the handle of an MQGMO with those of the message, after a get."""
    hmsg = _of_gmo(gmo)
    if hmsg == mq.MQHM_NONE:
        return
    properties = find(own, hmsg)
    properties.clear()
    for each in found:
        properties.add(each)
    properties.descriptor = md
    properties.descriptor_set = []


def _of_gmo(gmo: bytes) -> int:
    if len(gmo) < GMO_BYTES_4 or int.from_bytes(gmo[4:8], "little") < 4:
        return mq.MQHM_NONE
    return int.from_bytes(gmo[GMO_MSG_HANDLE : GMO_MSG_HANDLE + 8], "little", signed=True)
