"""DEFINE, ALTER and DELETE by QSGDISP: in this queue manager, or in the shared repository for the whole group.

    QMGR      the object of this queue manager alone
    COPY      its copy of a group object
    GROUP     the row of a group object; members make their copies from it
    SHARED    the row of a shared queue

Structures and their data sets are always those of the group. Without a group there is QMGR only, and structures are
kept by the queue manager.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from ostler.command.admin import objects as admin_objects
from ostler.command.admin.context import CommandContext
from ostler.command.group.catalogue import GroupCatalogue
from ostler.command.group.facility import check_unused
from ostler.command.group.row_keys import (
    RowKey,
    disposition_of,
    object_key,
    queue_key,
    structure_key,
    with_disposition,
)
from ostler.command.group.structure_rules import (
    check_structure,
    check_structure_name,
    with_connection_loss,
    with_offload_defaults,
)
from ostler.engine import objects
from ostler.engine.core import Engine
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value, find, subtype_of
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.model.shared_repository import ABSENT, DATA_SETS, QUEUES, RowChanged

WORDS: Final = {
    "QMGR": mq.MQQSGD_Q_MGR,
    "COPY": mq.MQQSGD_COPY,
    "GROUP": mq.MQQSGD_GROUP,
    "SHARED": mq.MQQSGD_SHARED,
}
_NAMES: Final = {number: word for word, number in WORDS.items()}
_TRIES: Final = 10
_KEPT: Final = ("CRDATE", "CRTIME", "DEFTYPE")
Make = Callable[[Definition | None], Definition]


def _no_group() -> MQError:
    return MQError(mq.MQRCCF_Q_MGR_NOT_IN_QSG, "This queue manager is in no queue-sharing group.")


def check_disposition(context: CommandContext, disposition: int) -> None:
    """Raises MQError for a QSGDISP that needs a group, if there is none."""
    if context.group is None and disposition not in (mq.MQQSGD_Q_MGR, mq.MQQSGD_ALL, mq.MQQSGD_LIVE, mq.MQQSGD_PRIVATE):
        raise _no_group()


def define(
    context: CommandContext,
    kind: ObjectType,
    name: str,
    given: dict[str, Value],
    like: str | None,
    replace: bool,
    force: bool,
) -> None:
    """Creates an object, or replaces it. Raises MQError."""
    group = context.group
    disposition = disposition_of(given)
    check_disposition(context, disposition)
    if group is not None and kind == ObjectType.CFSTRUCT:
        check_structure_name(name)
        change_row(group, structure_key(name), partial(_new_structure, context, name, given, like, replace))
    elif group is not None and disposition == mq.MQQSGD_SHARED:
        _check_shareable(kind)
        change_row(group, queue_key(name), partial(_new_shared, context, name, given, like, replace))
    elif group is not None and disposition == mq.MQQSGD_GROUP:
        table = admin_objects.storage_type(kind, given)
        change_row(group, object_key(table, name), partial(_new_row, context, kind, name, given, like, replace))
    elif group is not None and disposition == mq.MQQSGD_COPY:
        _define_copy(context, group, kind, name, given, replace)
    else:
        context.change(partial(_define_here, kind, name, given, like, replace, force))


def alter(context: CommandContext, kind: ObjectType, name: str, given: dict[str, Value], force: bool) -> None:
    """Alters an object. Raises MQError."""
    group = context.group
    disposition = disposition_of(given)
    check_disposition(context, disposition)
    if group is not None and kind == ObjectType.CFSTRUCT:
        change_row(group, structure_key(name), partial(_altered_structure, context, name, given))
    elif group is not None and disposition == mq.MQQSGD_SHARED:
        _check_shareable(kind)
        change_row(group, queue_key(name), partial(_altered_queue, context, name, given))
    elif group is not None and disposition == mq.MQQSGD_GROUP:
        table = admin_objects.storage_type(kind, given)
        change_row(group, object_key(table, name), partial(_altered, context, kind, name, given))
    else:
        context.change(partial(_alter_here, kind, name, given, force))


def delete(
    context: CommandContext,
    kind: ObjectType,
    name: str,
    disposition: int,
    purge: bool,
    here: Callable[[Engine], int],
) -> None:
    """Deletes an object. `here` deletes that of this queue manager. Raises MQError."""
    group = context.group
    check_disposition(context, disposition)
    if group is not None and kind == ObjectType.CFSTRUCT:
        _delete_structure(context, group, name)
    elif group is not None and disposition == mq.MQQSGD_SHARED:
        _check_shareable(kind)
        _found(group, queue_key(name), name)
        check_unused(context, name, purge)
        _remove_row(group, queue_key(name), name)
    elif group is not None and disposition == mq.MQQSGD_GROUP:
        _remove_row(group, object_key(kind, name), name)
    else:
        context.change(partial(_delete_here, kind, name, disposition, here))


# -- rows --------------------------------------------------------------------------------------------------------------


def change_row(group: GroupCatalogue, key: RowKey, make: Make) -> None:
    """Writes what `make` makes of a row, and tries again when somebody else has changed it meanwhile."""
    for _ in range(_TRIES):
        before, version = group.read(key)
        definition = make(before)
        try:
            group.write(key, definition, version)
        except RowChanged:
            continue
        return
    raise _changes_always(key.name)


def _remove_row(group: GroupCatalogue, key: RowKey, name: str) -> None:
    for _ in range(_TRIES):
        version = _found(group, key, name)
        try:
            group.remove(key, version)
        except RowChanged:
            continue
        return
    raise _changes_always(name)


def _found(group: GroupCatalogue, key: RowKey, name: str) -> int:
    _, version = group.read(key)
    if version == ABSENT:
        raise _unknown(name)
    return version


def _changes_always(name: str) -> MQError:
    return MQError(mq.MQRC_OBJECT_IN_USE, f"Other members change the definition of {name} all the time.")


def _unknown(name: str) -> MQError:
    return MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"The queue-sharing group has no {name}.")


def _check_shareable(kind: ObjectType) -> None:
    if kind != ObjectType.QLOCAL:
        raise MQError(mq.MQRCCF_PARM_CONFLICT, f"QSGDISP(SHARED) is for local queues, not for a {kind.value}.")


def _new_row(
    context: CommandContext,
    kind: ObjectType,
    name: str,
    given: dict[str, Value],
    like: str | None,
    replace: bool,
    before: Definition | None,
) -> Definition:
    if before is not None and not replace:
        raise MQError(mq.MQRC_OBJECT_ALREADY_EXISTS, f"{name} exists already in the queue-sharing group.")
    made = context.query(lambda engine: admin_objects.new_object(engine, kind, name, given, like))
    if find(kind, "QSGDISP") is not None:
        made = with_disposition(made, disposition_of(given))
    if before is None:
        return made
    if subtype_of(kind, before.attributes) != subtype_of(kind, made.attributes):
        raise MQError(mq.MQRCCF_ATTR_VALUE_FIXED, f"{name} is a {subtype_of(kind, before.attributes)}, and stays one.")
    kept: dict[str, Value] = {word: before.attributes[word] for word in _KEPT if word in before.attributes}
    return Definition(kind, name, {**made.attributes, **kept})


def _altered(
    context: CommandContext, kind: ObjectType, name: str, given: dict[str, Value], before: Definition | None
) -> Definition:
    if before is None:
        raise _unknown(name)
    changes = admin_objects.values(kind, given)
    date, time = context.query(lambda engine: admin_objects.date_and_time(engine.wall_ms()))
    return before.with_changes(changes, date, time)


# -- structures and their data sets ------------------------------------------------------------------------------------


def _new_structure(
    context: CommandContext,
    name: str,
    given: dict[str, Value],
    like: str | None,
    replace: bool,
    before: Definition | None,
) -> Definition:
    made = _new_row(context, ObjectType.CFSTRUCT, name, given, like, replace, before)
    if like is None:
        made = with_offload_defaults(made, given, None)
    made = with_connection_loss(made, given, before)
    check_structure(made, before)
    return made


def _altered_structure(
    context: CommandContext, name: str, given: dict[str, Value], before: Definition | None
) -> Definition:
    made = _altered(context, ObjectType.CFSTRUCT, name, given, before)
    made = with_offload_defaults(made, given, before)
    made = with_connection_loss(made, given, before)
    check_structure(made, before)
    return made


def _delete_structure(context: CommandContext, group: GroupCatalogue, name: str) -> None:
    """Deletes a structure whose queues are all empty and closed."""
    _found(group, structure_key(name), name)
    for _, queue in group.definitions(QUEUES):
        if queue.attributes.get("CFSTRUCT") == name:
            check_unused(context, queue.name)
    _remove_row(group, structure_key(name), name)
    for key, _ in group.definitions(DATA_SETS):
        if key.name.startswith(f"{name} "):
            _remove_row(group, key, key.name)


# -- shared queues -----------------------------------------------------------------------------------------------------


def _new_shared(
    context: CommandContext,
    name: str,
    given: dict[str, Value],
    like: str | None,
    replace: bool,
    before: Definition | None,
) -> Definition:
    made = _new_row(context, ObjectType.QLOCAL, name, given, like, replace, before)
    context.query(lambda engine: _check_name_is_free(engine, name))
    _check_queue(context, made, before)
    return made


def _altered_queue(
    context: CommandContext, name: str, given: dict[str, Value], before: Definition | None
) -> Definition:
    made = _altered(context, ObjectType.QLOCAL, name, given, before)
    _check_queue(context, made, before)
    return made


def _check_queue(context: CommandContext, made: Definition, before: Definition | None) -> None:
    structure = str(made.attributes.get("CFSTRUCT", ""))
    if not structure:
        raise MQError(mq.MQRCCF_CF_STRUC_ERROR, f"The shared queue {made.name} needs CFSTRUCT.")
    if not context.query(lambda engine: structure in engine.of_type(ObjectType.CFSTRUCT)):
        raise MQError(mq.MQRCCF_CF_STRUC_ERROR, f"There is no structure {structure} in the queue-sharing group.")
    if before is not None and before.attributes.get("CFSTRUCT") != structure:
        check_unused(context, made.name)


def _check_name_is_free(engine: Engine, name: str) -> None:
    found = objects.queue_definition(engine, name)
    if found is not None and disposition_of(found.attributes) != mq.MQQSGD_SHARED:
        raise MQError(mq.MQRC_OBJECT_ALREADY_EXISTS, f"{name} exists already in this queue manager.")


# -- objects of this queue manager -------------------------------------------------------------------------------------


def _define_copy(
    context: CommandContext, group: GroupCatalogue, kind: ObjectType, name: str, given: dict[str, Value], replace: bool
) -> None:
    """DEFINE QSGDISP(COPY): the group object of the name, with what is given."""
    row, _ = group.read(object_key(admin_objects.storage_type(kind, given), name))
    if row is None:
        raise _unknown(name)
    made = with_disposition(row, mq.MQQSGD_COPY).with_changes(given)

    def change(engine: Engine) -> int:
        existing = engine.of_type(admin_objects.storage_type(kind, made.attributes)).get(name)
        _check_same_disposition(existing, mq.MQQSGD_COPY)
        return admin_objects.apply_definition(engine, made, replace)

    context.change(change)


def _define_here(
    kind: ObjectType,
    name: str,
    given: dict[str, Value],
    like: str | None,
    replace: bool,
    force: bool,
    engine: Engine,
) -> int:
    if engine.sharing is not None:
        existing = engine.of_type(admin_objects.storage_type(kind, given)).get(name)
        if replace:
            _check_same_disposition(existing, mq.MQQSGD_Q_MGR)
        if like is not None and find(kind, "QSGDISP") is not None:
            given = {"QSGDISP": mq.MQQSGD_Q_MGR, **given}  # LIKE a copy makes no copy
    return admin_objects.define_object(engine, kind, name, given, like, replace, force)


def _check_same_disposition(existing: Definition | None, wanted: int) -> None:
    if existing is not None and disposition_of(existing.attributes) != wanted:
        word = _NAMES.get(disposition_of(existing.attributes), "QMGR")
        raise MQError(mq.MQRCCF_DISPOSITION_CONFLICT, f"{existing.name} exists already with QSGDISP({word}).")


def _alter_here(kind: ObjectType, name: str, given: dict[str, Value], force: bool, engine: Engine) -> int:
    _check_is_here(engine, admin_objects.storage_type(kind, given), name, disposition_of(given))
    return admin_objects.alter(engine, kind, name or engine.name, given, force)


def _delete_here(kind: ObjectType, name: str, disposition: int, here: Callable[[Engine], int], engine: Engine) -> int:
    _check_is_here(engine, kind, name, disposition)
    return here(engine)


def _check_is_here(engine: Engine, kind: ObjectType, name: str, disposition: int) -> None:
    """Raises MQError for an object of another disposition: for a command it is not there (MQ: ALTER, DELETE)."""
    found = engine.of_type(kind).get(name) if engine.sharing is not None and kind != ObjectType.QMGR else None
    if found is not None and find(found.object_type, "QSGDISP") is not None:
        known = disposition_of(found.attributes)
        if known != disposition:
            word = _NAMES.get(known, "QMGR")
            raise MQError(
                mq.MQRC_UNKNOWN_OBJECT_NAME, f"There is no {name} of that QSGDISP; it exists with QSGDISP({word})."
            )
