"""Structures as the packages pass them: bytes of exactly the size that C gives them."""

from __future__ import annotations

from typing import Final

from ostler.model.constants import MQPMO_SET_ALL_CONTEXT, MQPMO_SET_IDENTITY_CONTEXT
from ostler.model.structures.md import MQMD
from ostler.model.structures.pmo import MQPMO

_SIZES: Final = {
    "MQCBD": 168,
    "MQCMHO": 12,
    "MQCTLO": 24,
    "MQDMHO": 12,
    "MQDMPO": 12,
    "MQGMO": 112,
    "MQIMPO": 64,
    "MQMD": 364,
    "MQOD": 424,
    "MQPD": 24,
    "MQPMO": 184,
    "MQSD": 344,
    "MQSMPO": 20,
    "MQSRO": 16,
    "MQSTS": 280,
}

# Text that a program may set in a descriptor and that no verb looks at more closely.
_CONTEXT_TEXTS: Final = [
    MQMD.by_name[name]
    for name in ("UserIdentifier", "ApplIdentityData", "PutApplName", "PutDate", "PutTime", "ApplOriginData")
]
_FORMAT: Final = MQMD.by_name["Format"]
_FORMAT_END: Final = _FORMAT.offset + _FORMAT.length


def sized(name: str, given: bytes, error: type[Exception]) -> bytearray:
    """A copy of a structure that a verb may change; `error` when it has not the size that it must have."""
    if len(given) != _SIZES[name]:
        raise error(f"{name} wrong size. Given: {len(given)}, expected {_SIZES[name]}")
    return bytearray(given)


def property_name(name: str | bytes) -> str:
    return name if isinstance(name, str) else bytes(name).decode("utf-8", "replace")


def put_descriptor(md: bytes, pmo: bytearray, error: type[Exception]) -> bytearray:
    """A descriptor to put with. The packages fill texts up with nulls; what follows a null counts as blanks."""
    made = sized("MQMD", md, error)
    _pad(made, _FORMAT.offset, _FORMAT_END)
    if MQPMO.read_int(pmo, "Options") & (MQPMO_SET_ALL_CONTEXT | MQPMO_SET_IDENTITY_CONTEXT):
        for field in _CONTEXT_TEXTS:
            _pad(made, field.offset, field.offset + field.length)
    return made


def _pad(structure: bytearray, start: int, end: int) -> None:
    null = structure.find(b"\0", start, end)
    if null >= 0:
        structure[null:end] = b" " * (end - null)
