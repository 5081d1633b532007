"""Attributes of a queue that the queue manager alters itself: TRIGGER after a trigger message, and event controls."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.engine import apply
from ostler.engine.core import Engine
from ostler.engine.journal_records import append_define
from ostler.engine.queue.queue import Queue
from ostler.model.attributes import ObjectType
from ostler.model.definitions import Definition

# Upper bound of a definition in the journal. With less room there the change is left to the next checkpoint.
_ROOM_BYTES: Final = 64 * 1024


def alter_queue(engine: Engine, queue: Queue, changes: dict[str, int]) -> None:
    """Alter some attributes of a local queue, at once and across restarts.

    It happens within the put or get of an application, so it never fails. With a full journal the change may be lost by
    a crash, which breaks no promise: it has not been acknowledged to anyone.
    """
    attributes = dict(queue.definition.attributes)
    attributes.update(changes)
    definition = Definition(ObjectType.QLOCAL, queue.name, attributes)
    room: i64 = engine.journal.room_bytes()
    if not queue.is_temporary and room >= _ROOM_BYTES:
        append_define(engine, definition, queue.queue_id)
    apply.alter_queue(engine, queue, definition)
