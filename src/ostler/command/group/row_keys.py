"""The rows of the shared repository that hold definitions, and the objects of a queue manager that follow from them.

    structures  APPL1            CFSTRUCT APPL1
    data-sets   APPL1 QM1        SMDS APPL1/QM1
    queues      ORDERS           QLOCAL ORDERS, QSGDISP(SHARED)
    objects     QALIAS PAYROLL   QALIAS PAYROLL, QSGDISP(COPY) at members; QSGDISP(GROUP) in the row
    objects     DELETED queues ORDERS    the queue was deleted: members that were down delete theirs

A row has the encoding of a definition that the log has. A row that is there counts more than a note of its deletion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ostler.engine.apply import table_type
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.definitions import Definition
from ostler.model.shared_repository import DATA_SETS, OBJECTS, QUEUES, STRUCTURES

_DELETED: Final = "DELETED "
# The types that may be group objects. The structures, and shared queues, have kinds of rows of their own.
GROUP_TYPES: Final = (
    ObjectType.QLOCAL,
    ObjectType.QALIAS,
    ObjectType.QREMOTE,
    ObjectType.QMODEL,
    ObjectType.PROCESS,
    ObjectType.NAMELIST,
    ObjectType.CHANNEL,
    ObjectType.CLNTCONN,
    ObjectType.TOPIC,
    ObjectType.AUTHINFO,
)
_TYPES: Final = {each.value: each for each in GROUP_TYPES}


@dataclass(frozen=True)
class RowKey:
    """A row that holds a definition."""

    kind: str
    name: str

    @property
    def deletion(self) -> RowKey:
        """The row that notes that this one was deleted."""
        return RowKey(OBJECTS, f"{_DELETED}{self.kind} {self.name}")

    @property
    def deleted(self) -> RowKey | None:
        """The row whose deletion this one notes; None: it notes none."""
        if self.kind != OBJECTS or not self.name.startswith(_DELETED):
            return None
        kind, _, name = self.name[len(_DELETED) :].partition(" ")
        return RowKey(kind, name)

    def local(self) -> tuple[ObjectType, str] | None:
        """Return the type and name of the object of a queue manager; None: this release does not know the type."""
        if self.kind == STRUCTURES:
            return ObjectType.CFSTRUCT, self.name
        if self.kind == QUEUES:
            return ObjectType.QLOCAL, self.name
        word, _, rest = self.name.partition(" ")
        if self.kind == DATA_SETS:
            return ObjectType.SMDS, f"{word}/{rest}"
        found = _TYPES.get(word)
        return (found, rest) if found is not None and rest else None


def structure_key(name: str) -> RowKey:
    return RowKey(STRUCTURES, name)


def queue_key(name: str) -> RowKey:
    return RowKey(QUEUES, name)


def data_set_key(structure: str, manager: str) -> RowKey:
    return RowKey(DATA_SETS, f"{structure} {manager}")


def object_key(table: ObjectType, name: str) -> RowKey:
    """Return the row of a group object. `table` is CLNTCONN for client channels."""
    return RowKey(OBJECTS, f"{table.value} {name}")


def key_of_local(definition: Definition) -> RowKey | None:
    """Return the row that a definition of a queue manager belongs to; None: it is private."""
    kind = definition.object_type
    if kind == ObjectType.CFSTRUCT:
        return structure_key(definition.name)
    if kind == ObjectType.SMDS:
        structure, _, manager = definition.name.partition("/")
        return data_set_key(structure, manager)
    disposition = disposition_of(definition.attributes)
    if disposition == mq.MQQSGD_SHARED:
        return queue_key(definition.name)
    return object_key(table_type(definition), definition.name) if disposition == mq.MQQSGD_COPY else None


def disposition_of(attributes: dict[str, Value]) -> int:
    """Return QSGDISP of an object as a number."""
    value = attributes.get("QSGDISP", mq.MQQSGD_Q_MGR)
    return value if isinstance(value, int) else mq.MQQSGD_Q_MGR


def with_disposition(definition: Definition, disposition: int) -> Definition:
    return Definition(definition.object_type, definition.name, {**definition.attributes, "QSGDISP": disposition})
