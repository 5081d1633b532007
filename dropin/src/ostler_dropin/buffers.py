"""Structures as the packages pass them: bytes of exactly the size that C gives them."""

from __future__ import annotations

from typing import Final

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


def check_size(name: str, given: bytes, error: type[Exception]) -> None:
    """Raise `error` when a structure has not the size that it must have."""
    if len(given) != _SIZES[name]:
        raise error(f"{name} wrong size. Given: {len(given)}, expected {_SIZES[name]}")


def sized(name: str, given: bytes, error: type[Exception]) -> bytearray:
    """Return a copy of a structure for a verb to update."""
    check_size(name, given, error)
    return bytearray(given)


def property_name(name: str | bytes) -> str:
    return name if isinstance(name, str) else bytes(name).decode("utf-8", "replace")
