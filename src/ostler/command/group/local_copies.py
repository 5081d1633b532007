"""Brings the objects of one queue manager to what the shared repository says, through the ordinary path of definitions.

The functions are called with the engine's lock held and never wait. They raise MQError for a definition that cannot be
taken over now: a private queue has the name, or the object is in use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ostler.command.admin import objects as admin_objects
from ostler.command.admin.in_use import check_not_in_use, check_not_open
from ostler.command.group.row_keys import RowKey, disposition_of, key_of_local, with_disposition
from ostler.engine import objects
from ostler.engine.core import Engine
from ostler.engine.shared.structures import connect_structure
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, attributes_of, to_text
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.model.shared_repository import OBJECTS, QUEUES

# Times differ where members have made the same definition by themselves.
_TIMES: Final = frozenset(("CRDATE", "CRTIME", "ALTDATE", "ALTTIME"))


@dataclass(frozen=True)
class LocalChange:
    """A row of one version, to be applied. Without a definition the object is deleted."""

    key: RowKey
    version: int
    definition: Definition | None


def existing_copy(engine: Engine, key: RowKey) -> Definition | None:
    """Return the object that follows from a row, if it is here."""
    found = key.local()
    if found is None:
        return None
    definition = engine.of_type(found[0]).get(found[1])
    return definition if definition is not None and key_of_local(definition) == key else None


def shared_here(engine: Engine) -> dict[RowKey, Definition]:
    """Return the structures, data sets and shared queues that are defined here."""
    found: dict[RowKey, Definition] = {}
    for kind in (ObjectType.CFSTRUCT, ObjectType.SMDS, ObjectType.QLOCAL):
        for definition in engine.of_type(kind).values():
            key = key_of_local(definition)
            if key is not None and key.kind != OBJECTS:
                found[key] = definition
    return found


def wanted_copy(key: RowKey, definition: Definition) -> Definition:
    """Return the definition that members have for a row."""
    return with_disposition(definition, mq.MQQSGD_COPY) if key.kind == OBJECTS else definition


def differences(before: Definition, after: Definition) -> list[str]:
    """Return what changes, as MQSC writes it: `CFLEVEL(3) instead of CFLEVEL(5)`."""
    told: list[str] = []
    for attribute in attributes_of(after.object_type):
        name = attribute.name
        old, new = before.attributes.get(name), after.attributes.get(name)
        if old == new or name in _TIMES:
            continue
        shown = [f"{name}({to_text(attribute, each)})" if each is not None else f"no {name}" for each in (new, old)]
        told.append(f"{shown[0]} instead of {shown[1]}")
    return told


def is_same(before: Definition, after: Definition) -> bool:
    """Return whether two definitions differ in nothing but times."""
    left = {name: value for name, value in before.attributes.items() if name not in _TIMES}
    return left == {name: value for name, value in after.attributes.items() if name not in _TIMES}


def apply_change(engine: Engine, change: LocalChange) -> int:
    """Make the object what a row says, and return the LSN; 0: nothing had to be done. Raises MQError."""
    existing = existing_copy(engine, change.key)
    if change.definition is None:
        return _delete(engine, change.key, existing) if existing is not None else 0
    wanted = wanted_copy(change.key, change.definition)
    if existing is not None and existing.encode() == wanted.encode():
        return 0
    if existing is None:
        _check_free(engine, wanted)
    elif change.key.kind == OBJECTS:
        check_not_in_use(engine, existing, wanted.attributes)
    if wanted.object_type == ObjectType.TOPIC:
        admin_objects.check_topic_string_unused(engine, wanted)
    lsn = admin_objects.apply_definition(engine, wanted, replace=True)
    sharing = engine.sharing
    if sharing is not None:
        if wanted.object_type == ObjectType.CFSTRUCT and wanted.name in sharing.structures:
            connect_structure(engine, sharing, wanted.name)
        elif change.key.kind == QUEUES:
            connect_structure(engine, sharing, str(wanted.attributes.get("CFSTRUCT", "")))
    return lsn


def _check_free(engine: Engine, wanted: Definition) -> None:
    """Raise MQError if a private object has the name."""
    kind = wanted.object_type
    if kind in objects.QUEUE_TYPES:
        other = objects.queue_definition(engine, wanted.name)
    else:
        other = engine.of_type(admin_objects.storage_type(kind, wanted.attributes)).get(wanted.name)
    if other is not None:
        word = {mq.MQQSGD_COPY: "COPY", mq.MQQSGD_SHARED: "SHARED"}.get(disposition_of(other.attributes), "QMGR")
        raise MQError(
            mq.MQRCCF_DISPOSITION_CONFLICT,
            f"This queue manager has a {other.object_type.value} {other.name} with QSGDISP({word}).",
        )


def _delete(engine: Engine, key: RowKey, existing: Definition) -> int:
    kind = admin_objects.storage_type(existing.object_type, existing.attributes)
    if key.kind == QUEUES:
        return int(objects.delete_queue(engine, engine.queues[existing.name]))
    if kind == ObjectType.TOPIC:
        check_not_open(engine, existing.name)
    return int(objects.delete(engine, kind, existing.name))
