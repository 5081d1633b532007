"""DISPLAY by QSGDISP: objects of this queue manager, and group objects from the shared repository.

LIVE      objects of this queue manager, its copies, and shared queues: what applications can use
ALL       those, and group objects
PRIVATE   QMGR and COPY
QMGR, COPY, GROUP, SHARED    those alone
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.command.admin.objects import matches
from ostler.command.group.facility import refresh_queues
from ostler.command.group.row_keys import disposition_of
from ostler.engine.core import Engine
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.shared_repository import OBJECTS

Row = Mapping[str, Value]
DISPLAYED: Final = {
    "LIVE": mq.MQQSGD_LIVE,
    "ALL": mq.MQQSGD_ALL,
    "PRIVATE": mq.MQQSGD_PRIVATE,
    "QMGR": mq.MQQSGD_Q_MGR,
    "COPY": mq.MQQSGD_COPY,
    "GROUP": mq.MQQSGD_GROUP,
    "SHARED": mq.MQQSGD_SHARED,
}
_WORDS: Final = {number: word for word, number in DISPLAYED.items()}
_QUEUES: Final = (ObjectType.QLOCAL, ObjectType.QALIAS, ObjectType.QREMOTE, ObjectType.QMODEL)
_PRIVATE: Final = (mq.MQQSGD_Q_MGR, mq.MQQSGD_COPY)
_REFRESHED_MAX: Final = 100
"""Displays of more queues show depths that were told last."""


def displayed_word(number: int) -> str:
    """Returns the word of a QSGDISP number; empty for others."""
    return _WORDS.get(number, "")


def is_displayed(row: Row, disposition: str) -> bool:
    """Returns whether an object of this queue manager belongs to a display."""
    if disposition in ("LIVE", "ALL"):
        return True
    own = disposition_of(dict(row)) if "QSGDISP" in row else mq.MQQSGD_Q_MGR
    return own in _PRIVATE if disposition == "PRIVATE" else own == DISPLAYED[disposition]


def group_rows(
    context: CommandContext, kinds: tuple[ObjectType, ...], pattern: str, name_attribute: str, disposition: str
) -> Iterator[tuple[ObjectType, Row]]:
    """Yields group objects with all their attributes, for displays that show them. Raises MQError."""
    group = context.group
    if group is None or disposition not in ("ALL", "GROUP"):
        return
    wanted = (*kinds, ObjectType.CLNTCONN) if ObjectType.CHANNEL in kinds else kinds
    for key, definition in group.definitions(OBJECTS):
        found = key.local()
        if found is None or found[0] not in wanted or not matches(found[1], pattern):
            continue
        row: dict[str, Value] = {**definition.attributes, name_attribute: definition.name}
        kind = definition.object_type
        if kind in _QUEUES:
            row["TYPE"] = kind.value
        elif kind == ObjectType.NAMELIST:
            names = row.get("NAMES", ())
            row["NAMCOUNT"] = len(names) if isinstance(names, tuple) else 0
        yield kind, row


def refresh_shared(context: CommandContext, names: list[tuple[ObjectType, list[str]]]) -> None:
    """Has depths and open counts of shared queues brought up to date, if few are displayed."""
    if context.group is None:
        return
    queues = [name for kind, each in names if kind == ObjectType.QLOCAL for name in each]
    shared = context.query(lambda engine: _shared(engine, queues))
    if shared and len(shared) <= _REFRESHED_MAX:
        refresh_queues(context, shared)


def _shared(engine: Engine, names: list[str]) -> list[str]:
    return [name for name in names if name in engine.queues and engine.queues[name].is_shared]
