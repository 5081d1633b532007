"""Inquire commands about objects, and about names of objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.command.admin.objects import matches
from ostler.command.admin.permissions import authorize, may_see
from ostler.command.group.changes import check_disposition
from ostler.command.group.displays import DISPLAYED, displayed_word, group_rows, is_displayed
from ostler.command.mqsc.display.attribute_groups import group
from ostler.command.mqsc.display.display import object_row
from ostler.command.pcf.command import (
    PcfCommand,
    PcfField,
    PcfRequest,
    Reply,
    Selection,
    constant,
    number,
    numbers,
    text,
)
from ostler.command.pcf.errors import PcfRefused
from ostler.command.pcf.kinds import CHANNELS, KINDS, QUEUE_TYPES, QUEUES, STORAGE_CLASSES, PcfKind
from ostler.command.pcf.values import names_parameter, parameter_of
from ostler.engine.core import Engine
from ostler.model import constants as mq
from ostler.model.attributes import (
    Attribute,
    ObjectType,
    Shown,
    Value,
    attributes_of,
    find,
    has,
    has_subtypes,
    subtype_of,
)
from ostler.model.pcf import IntegerList

Row = Mapping[str, Value]

_CHUNK_OBJECTS: Final = 100
_ANY_TYPE: Final = {"MQIA_Q_TYPE": ("MQQT_ALL", "MQQT_CLUSTER"), "MQIACH_CHANNEL_TYPE": ("MQCHT_ALL",)}
_MANAGER: Final = (ObjectType.QMGR,)
_MANAGER_GROUPS: Final = {
    mq.MQIACF_Q_MGR_CLUSTER: " ".join(group(_MANAGER, "CLUSTER")),
    mq.MQIACF_Q_MGR_DQM: " ".join(group(_MANAGER, "CHINIT")),
    mq.MQIACF_Q_MGR_EVENT: " ".join(group(_MANAGER, "EVENT")),
    mq.MQIACF_Q_MGR_PUBSUB: " ".join(group(_MANAGER, "PUBSUB")),
    mq.MQIACF_Q_MGR_SYSTEM: " ".join(group(_MANAGER, "SYSTEM")),
    mq.MQIACF_Q_MGR_VERSION: "VERSION",
}
_SELECTABLE: Final = (Shown.ALWAYS, Shown.MASKED)


def reply_row(kind: ObjectType, row: Row, selection: Selection, heads: tuple[str, ...]) -> Reply:
    """Returns the parameters of one object: those of every reply, then the selected ones."""
    subtype = subtype_of(kind, dict(row)) if has_subtypes(kind) else ""
    key = (kind, subtype, heads)
    columns = selection.columns.get(key)
    if columns is None:
        columns = selection.columns[key] = _columns(kind, subtype, selection, heads)
    reply: Reply = []
    for attribute in columns:
        value = row.get(attribute.name)
        if value is not None:
            parameter = parameter_of(attribute, value)
            if parameter is not None:
                reply.append(parameter)
    return reply


def _columns(kind: ObjectType, subtype: str, selection: Selection, heads: tuple[str, ...]) -> list[Attribute]:
    """Returns the attributes of a reply, without duplicate parameters."""
    wanted = [each for name in heads if (each := find(kind, name)) is not None]
    for attribute in attributes_of(kind):
        shown = attribute.shown in _SELECTABLE and not attribute.zos_only
        if attribute.name not in heads and has(attribute, subtype) and selection.wants(attribute.name, shown):
            wanted.append(attribute)
    columns: dict[int, Attribute] = {}
    for attribute in wanted:
        if attribute.shown != Shown.NEVER:
            columns.setdefault(attribute.pcf, attribute)
    return list(columns.values())


# -- objects -----------------------------------------------------------------------------------------------------------


def _inquire(about: PcfKind, context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    pattern = request.text(about.name_parameter)
    kinds = about.types
    subtype = None
    if about.subtype is not None and request.has(about.subtype.number):
        subtype = request.number(about.subtype.number)
    if about is QUEUES and subtype not in (None, mq.MQQT_ALL):
        kinds = tuple(kind for name, kind in QUEUE_TYPES.items() if constant(name) == subtype)
        subtype = None
    elif subtype in (mq.MQQT_ALL, mq.MQCHT_ALL):
        subtype = None
    disposition = displayed_word(request.number(mq.MQIA_QSG_DISP, mq.MQQSGD_LIVE))
    check_disposition(context, DISPLAYED[disposition])
    selection = request.selected(constant(about.attributes), about.types)
    if context.group is not None:
        selection.extra.add("QSGDISP")
    keys = context.query(partial(_keys, kinds, pattern))
    if "*" not in pattern:
        authorize(context, "DISPLAY", keys[0][1] if keys else about.types[0], pattern)
    found = False
    for at in range(0, len(keys), _CHUNK_OBJECTS):
        for kind, row in context.query(partial(_rows, about.name, keys[at : at + _CHUNK_OBJECTS])):
            if subtype is not None and _subtype_number(about, kind, row) != subtype:
                continue
            if request.condition is not None and not request.condition.accepts(kind, row):
                continue
            if about is QUEUES and not _is_in_cluster(request, row):
                continue
            if not may_see(context, _authority_type(kind, row), str(row[about.name])):
                continue
            if not is_displayed(row, disposition):
                continue
            found = True
            yield reply_row(kind, row, selection, about.heads)
    for kind, row in group_rows(context, kinds, pattern, about.name, disposition):
        if subtype is not None and _subtype_number(about, kind, row) != subtype:
            continue
        if request.condition is not None and not request.condition.accepts(kind, row):
            continue
        if may_see(context, _authority_type(kind, row), str(row[about.name])):
            found = True
            yield reply_row(kind, row, selection, about.heads)
    if not found:
        raise PcfRefused(mq.MQRCCF_CHANNEL_NOT_FOUND if about is CHANNELS else mq.MQRC_UNKNOWN_OBJECT_NAME)


def _authority_type(kind: ObjectType, row: Row) -> ObjectType:
    """Returns the type whose authorities apply: client channels have their own."""
    return ObjectType.CLNTCONN if kind == ObjectType.CHANNEL and row.get("CHLTYPE") == mq.MQCHT_CLNTCONN else kind


def _is_in_cluster(request: PcfRequest, row: Row) -> bool:
    """Returns whether a queue has the cluster and the cluster namelist of the request."""
    for parameter, name in ((mq.MQCA_CLUSTER_NAME, "CLUSTER"), (mq.MQCA_CLUSTER_NAMELIST, "CLUSNL")):
        if request.has(parameter) and not matches(str(row.get(name, "")), request.text(parameter)):
            return False
    return True


def _subtype_number(about: PcfKind, kind: ObjectType, row: Row) -> Value | None:
    """Returns the subtype of an object as a number."""
    assert about.subtype is not None
    for attribute in attributes_of(kind):
        if attribute.pcf == about.subtype.number:
            return row.get(attribute.name)
    return None


def _keys(kinds: tuple[ObjectType, ...], pattern: str, engine: Engine) -> list[tuple[str, ObjectType]]:
    keys: list[tuple[str, ObjectType]] = []
    for kind in kinds:
        kept = (kind, ObjectType.CLNTCONN) if kind == ObjectType.CHANNEL else (kind,)
        for each in kept:
            table = engine.of_type(each)
            if "*" in pattern:
                keys += [(name, each) for name in table if matches(name, pattern)]
            elif pattern in table:
                keys.append((pattern, each))
    return sorted(keys, key=_name_and_type)


def _name_and_type(key: tuple[str, ObjectType]) -> tuple[str, str]:
    return key[0], key[1].value


def _rows(name_attribute: str, keys: list[tuple[str, ObjectType]], engine: Engine) -> list[tuple[ObjectType, Row]]:
    rows: list[tuple[ObjectType, Row]] = []
    for name, kept in keys:
        definition = engine.of_type(kept).get(name)
        if definition is not None:
            rows.append((definition.object_type, object_row(engine, definition, name_attribute)))
    return rows


def _inquire_manager(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    authorize(context, "DISPLAY", ObjectType.QMGR, "")
    selection = request.selected(mq.MQIACF_Q_MGR_ATTRS, _MANAGER, _MANAGER_GROUPS)
    row = context.query(_manager_row)
    yield reply_row(ObjectType.QMGR, row, selection, ("QMNAME",))


def _manager_row(engine: Engine) -> Row:
    return object_row(engine, engine.manager, "QMNAME")


# -- names -------------------------------------------------------------------------------------------------------------


def _inquire_names(about: PcfKind, context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    pattern = request.text(about.name_parameter)
    subtype = request.number(about.subtype.number, mq.MQQT_ALL) if about.subtype is not None else mq.MQQT_ALL
    kinds = about.types
    if about is QUEUES and subtype != mq.MQQT_ALL:
        kinds = tuple(kind for name, kind in QUEUE_TYPES.items() if constant(name) == subtype)
    found = context.query(partial(_typed_names, about, kinds, pattern))
    visible = [(name, kind, number) for name, kind, number in found if may_see(context, kind, name)]
    if about is not QUEUES and about.subtype is not None and subtype not in (mq.MQQT_ALL, mq.MQCHT_ALL):
        visible = [each for each in visible if each[2] == subtype]
    reply: Reply = [names_parameter(constant(about.names), [name for name, _, _ in visible], about.name_length)]
    if about is QUEUES or about is CHANNELS:
        parameter = constant("MQIACF_Q_TYPES" if about is QUEUES else "MQIACH_CHANNEL_TYPES")
        reply.append(IntegerList(parameter, tuple(number for _, _, number in visible)))
    yield reply


def _typed_names(
    about: PcfKind, kinds: tuple[ObjectType, ...], pattern: str, engine: Engine
) -> list[tuple[str, ObjectType, int]]:
    """Returns names with the number of their type, which is 0 without types."""
    found: list[tuple[str, ObjectType, int]] = []
    for name, kept in _keys(kinds, pattern, engine):
        definition = engine.of_type(kept)[name]
        value: Value | None = 0
        if about is QUEUES:
            value = constant(next(word for word, kind in QUEUE_TYPES.items() if kind == kept))
        elif about.subtype is not None:
            value = _subtype_number(about, definition.object_type, definition.attributes)
        found.append((name, kept, value if isinstance(value, int) else 0))
    return found


# -- the table ---------------------------------------------------------------------------------------------------------


def _type_field(about: PcfKind) -> tuple[PcfField, ...]:
    """Returns the type as an optional parameter of Inquire, where it may also be "all"."""
    if about.subtype is None:
        return ()
    values = (*about.subtype.values, *_ANY_TYPE.get(about.subtype.constant, ()))
    return (number(about.subtype.constant, *values),)


def _disposition(about: PcfKind) -> tuple[PcfField, ...]:
    """Returns the parameter for QSGDISP of types that have it."""
    if find(about.types[0], "QSGDISP") is None or about is STORAGE_CLASSES:
        return ()
    words = [f"MQQSGD_{'Q_MGR' if word == 'QMGR' else word}" for word in DISPLAYED]
    return (number("MQIA_QSG_DISP", *words),)


def _commands() -> Iterator[PcfCommand]:
    for about in KINDS:
        fields = (about.name_field, *_type_field(about), numbers(about.attributes), *_disposition(about))
        if about is QUEUES:
            fields += (number("MQIACF_CLUSTER_INFO"), text("MQCA_CLUSTER_NAME"), text("MQCA_CLUSTER_NAMELIST"))
        yield PcfCommand(f"MQCMD_INQUIRE_{about.word}", partial(_inquire, about), fields, filtered=about.types)
        if about.names:
            yield PcfCommand(
                f"MQCMD_INQUIRE_{about.word}_NAMES",
                partial(_inquire_names, about),
                (about.name_field, *_type_field(about)),
            )
    yield PcfCommand("MQCMD_INQUIRE_Q_MGR", _inquire_manager, (numbers("MQIACF_Q_MGR_ATTRS"),))


COMMANDS: Final = tuple(_commands())
