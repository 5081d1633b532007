"""MQPUT, MQPUT1 and MQGET as both packages call them."""

from __future__ import annotations

from operator import index
from typing import Final

from ostler import mqi
from ostler.client.mqi.put_get import return_descriptor
from ostler.model.constants import MQPMO_SET_ALL_CONTEXT, MQPMO_SET_IDENTITY_CONTEXT
from ostler.model.structures.md import MQMD
from ostler.model.structures.pmo import MQPMO
from ostler_dropin.buffers import check_size, sized
from ostler_dropin.sharing import verb_lock

PutResult = tuple[bytes, bytes, int, int]
"""Updated descriptor and options, completion and reason."""
GetResult = tuple[bytes, bytes, bytes, int, int, int]
"""Data, updated descriptor and options, full message length, completion and reason."""

# Text fields of a descriptor that programs may set and verbs do not check.
_CONTEXT_TEXTS: Final = [
    MQMD.by_name[name]
    for name in ("UserIdentifier", "ApplIdentityData", "PutApplName", "PutDate", "PutTime", "ApplOriginData")
]
_FORMAT_AT: Final = MQMD.offset("Format")
_FORMAT_END: Final = _FORMAT_AT + MQMD.by_name["Format"].length
_VERSION_AT: Final = MQMD.offset("Version")
_VERSION_2: Final = 2


def put(hconn: int, hobj: int, md: bytes, pmo: bytes, message: bytes, error: type[Exception]) -> PutResult:
    check_size("MQPMO", pmo, error)
    descriptor = _put_descriptor(md, pmo, error)
    with verb_lock(index(hconn)):
        stored, options, code, reason = mqi.put_message(hconn, index(hobj), descriptor, bytes(pmo), bytes(message))
    return _in_version_of(md, stored), options, code, reason


def put1(hconn: int, od: bytes, md: bytes, pmo: bytes, message: bytes, error: type[Exception]) -> PutResult:
    target = sized("MQOD", od, error)
    options = sized("MQPMO", pmo, error)
    descriptor = bytearray(_put_descriptor(md, pmo, error))
    with verb_lock(index(hconn)):
        code, reason = mqi.MQPUT1(hconn, target, descriptor, options, bytes(message))
    return bytes(descriptor), bytes(options), code, reason


def get(hconn: int, hobj: int, md: bytes, gmo: bytes, length: int, error: type[Exception]) -> GetResult:
    check_size("MQMD", md, error)
    check_size("MQGMO", gmo, error)
    if index(length) < 0:
        raise error(f"a message buffer cannot have {length} bytes")
    with verb_lock(index(hconn)):
        data, found, options, whole, code, reason = mqi.get_message(hconn, index(hobj), bytes(md), bytes(gmo), length)
    return data, md if found is None else _in_version_of(md, found), options, whole, code, reason


def _in_version_of(md: bytes, stored: bytes) -> bytes:
    """Return a stored descriptor, which is of version 2, in the version of the program's descriptor."""
    if md[_VERSION_AT] == _VERSION_2:
        return stored
    returned = bytearray(md)
    return_descriptor(returned, stored)
    return bytes(returned)


def _put_descriptor(md: bytes, pmo: bytes, error: type[Exception]) -> bytes:
    """Return a descriptor for a put. The packages pad texts with nulls; a null and all that follows become blanks."""
    check_size("MQMD", md, error)
    has_context = MQPMO.read_int(pmo, "Options") & (MQPMO_SET_ALL_CONTEXT | MQPMO_SET_IDENTITY_CONTEXT)
    if not has_context and md.find(b"\0", _FORMAT_AT, _FORMAT_END) < 0:
        return bytes(md)
    made = bytearray(md)
    _pad(made, _FORMAT_AT, _FORMAT_END)
    if has_context:
        for field in _CONTEXT_TEXTS:
            _pad(made, field.offset, field.offset + field.length)
    return bytes(made)


def _pad(structure: bytearray, start: int, end: int) -> None:
    null = structure.find(b"\0", start, end)
    if null >= 0:
        structure[null:end] = b" " * (end - null)
