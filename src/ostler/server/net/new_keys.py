"""New TLS keys on the link of a client (SSLRKEYC, KeyResetCount): the client asks for them, the server agrees."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.model.definitions import Definition
from ostler.wire.connect_frames import KEY_RESET_BYTES_MIN, KEY_RESET_VERSION
from ostler.wire.frames import MalformedFrame

# A handshake is expensive, so a client must not ask for one after every few bytes. It counts fewer bytes than the
# server does: those that were sent to it and have not arrived yet are missing.
_BYTES_BETWEEN_MIN: Final = KEY_RESET_BYTES_MIN // 2


def key_reset_bytes(manager: Definition) -> int:
    """Return the number of bytes, both ways, after which keys are changed by SSLRKEYC; 0: never."""
    value = manager.attributes.get("SSLRKEYC", 0)
    return max(value, KEY_RESET_BYTES_MIN) if isinstance(value, int) and value > 0 else 0


def check_rekey(version: i64, has_tls: bool, bytes_under_keys: i64) -> None:
    """Raise MalformedFrame when a client may not ask for new keys: the reply is the last frame under the old ones."""
    if not has_tls:
        raise MalformedFrame("new keys without TLS")
    if version < KEY_RESET_VERSION:
        raise MalformedFrame("new keys, which this version of the protocol does not have")
    if bytes_under_keys < _BYTES_BETWEEN_MIN:
        raise MalformedFrame("new keys again after a few bytes")
