"""Commands of Redis as bytes."""

from __future__ import annotations

from hiredis import pack_command

Word = bytes | str | int


def pack(*words: Word) -> bytes:
    """Return a command for the server."""
    packed: bytes = pack_command(words)  # type: ignore[arg-type]  # its stub knows commands of one word only
    return packed
