"""The mark of a queue manager that has been started in a queue-sharing group: its log has a member's number."""

from __future__ import annotations

from ostler.engine.recovery.checkpoint import INSTANCE_PATH, MEMBER_INSTANCE_VERSION
from ostler.server.config.directories import QueueManagerDirectory

_VERSION_AT = 8
_VERSION_BYTES = 8


def has_been_member(directory: QueueManagerDirectory) -> bool:
    """Return True if the queue manager has ever been started as a member, of whichever group."""
    try:
        data = (directory.path / INSTANCE_PATH).read_bytes()
    except FileNotFoundError:
        return False
    version = int.from_bytes(data[_VERSION_AT : _VERSION_AT + _VERSION_BYTES], "little")
    return version >= MEMBER_INSTANCE_VERSION
