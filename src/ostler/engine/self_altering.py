"""Attributes of a queue that the queue manager itself switches: the trigger after it fired, and event reporting."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.queue.queue import Queue
from ostler.engine.recovery.records import DEFINE, number_head
from ostler.model.attributes import ObjectType
from ostler.model.definitions import Definition

# What a definition may take in the journal, generously. With less room there the change is left to the next checkpoint.
_ROOM_BYTES: Final = 64 * 1024


def alter_queue(engine: Engine, queue: Queue, changes: dict[str, int]) -> None:
    """Give a local queue other values for some attributes: at once, for everybody to see, and over a restart.

    It happens in the middle of somebody else's put or get, so it never fails. A full journal loses nothing that was
    promised: nobody was told of the change yet.
    """
    attributes = dict(queue.definition.attributes)
    attributes.update(changes)
    definition = Definition(ObjectType.QLOCAL, queue.name, attributes)
    queue.configure(definition)
    engine.index_trigger(queue)
    engine.of_type(ObjectType.QLOCAL)[queue.name] = definition
    if queue.is_temporary:
        return
    engine.catalogue_changed = True
    room: i64 = engine.journal.room_bytes()
    if room >= _ROOM_BYTES:
        engine.journal.append(DEFINE, number_head(queue.queue_id), b"", definition.encode())
