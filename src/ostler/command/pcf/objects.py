"""Create, Change, Copy and Delete of objects; Clear Queue."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from ostler.command.admin import objects as admin_objects
from ostler.command.admin.clear import clear_queue
from ostler.command.admin.context import CommandContext, CommandRefused
from ostler.command.admin.permissions import authorize, authorize_define, mqot
from ostler.command.admin.structures import CIRCULAR_LOGS, check_alteration, recovery_warning
from ostler.command.group import changes as group_changes
from ostler.command.group.row_keys import object_key
from ostler.command.mqsc.define_alter_delete import check_not_in_doubt, is_running, remove
from ostler.command.pcf.command import NAME_LENGTH, PcfCommand, PcfField, PcfRequest, Reply, constant, number, text
from ostler.command.pcf.errors import PcfRefused, as_pcf_refusal, bad_parameter
from ostler.command.pcf.kinds import CHANNELS, KINDS, QUEUE_TYPES, QUEUES, STORAGE_CLASSES, PcfKind
from ostler.engine import objects
from ostler.engine.core import Engine
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value, by_pcf, find, subtype_of, to_text, valid_name
from ostler.model.errors import MQError

_FORCED: Final = (ObjectType.QLOCAL, ObjectType.QALIAS, ObjectType.QREMOTE)
_RUNNING: Final = {
    ObjectType.CHANNEL: mq.MQRCCF_CHANNEL_IN_USE,
    ObjectType.LISTENER: mq.MQRCCF_LISTENER_STILL_ACTIVE,
}
_REPLACE: Final = number("MQIACF_REPLACE", "MQRP_NO", "MQRP_YES")
_FORCE: Final = number("MQIACF_FORCE", "MQFC_NO", "MQFC_YES")


def _kind_of(about: PcfKind, request: PcfRequest) -> tuple[ObjectType, str, dict[str, Value]]:
    """Returns the object type, the word of its subtype, and the attribute with the subtype."""
    if about.subtype is None:
        return about.types[0], "", {}
    given = request.number(about.subtype.number)
    if about is QUEUES:
        for name, kind in QUEUE_TYPES.items():
            if constant(name) == given:
                return kind, "", {}
        raise bad_parameter(mq.MQRCCF_Q_TYPE_ERROR, mq.MQIA_Q_TYPE)
    attribute = by_pcf(about.types[0], about.subtype.number)
    assert attribute is not None
    return about.types[0], to_text(attribute, given), {attribute.name: given}


def _name(about: PcfKind, request: PcfRequest, parameter: int) -> str:
    """Returns the name of the object to create or change."""
    name = request.text(parameter)
    if not valid_name(name, about.name_length):
        raise bad_parameter(
            mq.MQRCCF_CHANNEL_NAME_ERROR if about is CHANNELS else mq.MQRCCF_OBJECT_NAME_ERROR, parameter
        )
    return name


def _authority_type(kind: ObjectType, subtype: dict[str, Value]) -> ObjectType:
    """Returns the type whose authorities apply: client channels have their own."""
    return ObjectType.CLNTCONN if subtype.get("CHLTYPE") == mq.MQCHT_CLNTCONN else kind


def _given(
    context: CommandContext, request: PcfRequest, kind: ObjectType, subtype: str, is_new: bool
) -> dict[str, Value]:
    """Returns the attributes that a command gives. Without a group QSGDISP must be that of this queue manager."""
    with _refusals(None):
        group_changes.check_disposition(context, request.number(mq.MQIA_QSG_DISP, mq.MQQSGD_Q_MGR))
    return request.given(kind, subtype, is_new, context.group is not None)


@contextmanager
def _refusals(about: PcfKind | None) -> Iterator[None]:
    try:
        yield
    except (MQError, CommandRefused) as error:
        raise as_pcf_refusal(error, about is CHANNELS) from None


# -- create, copy and change -------------------------------------------------------------------------------------------


def _create(about: PcfKind, context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    kind, word, subtype = _kind_of(about, request)
    name = _name(about, request, about.name_parameter)
    given = {**_given(context, request, kind, word, is_new=True), **subtype}
    yield from _define(about, context, request, kind, name, given, None)


def _copy(about: PcfKind, context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    kind, word, subtype = _kind_of(about, request)
    name = _name(about, request, constant(about.copy_to))
    like = request.text(constant(about.copy_from))
    given = {**_given(context, request, kind, word, is_new=True), **subtype}
    yield from _define(about, context, request, kind, name, given, like)


def _define(
    about: PcfKind,
    context: CommandContext,
    request: PcfRequest,
    kind: ObjectType,
    name: str,
    given: dict[str, Value],
    like: str | None,
) -> Iterator[Reply]:
    replace = request.number(mq.MQIACF_REPLACE) == mq.MQRP_YES
    force = kind not in _FORCED or request.number(mq.MQIACF_FORCE, mq.MQFC_YES) == mq.MQFC_YES
    checked = _authority_type(kind, given)
    exists = replace and context.query(partial(_exists, checked, name))
    model = like or admin_objects.default_object(kind, subtype_of(kind, given))
    authorize_define(context, checked, name, exists, model)
    with _refusals(about):
        group_changes.define(context, kind, name, given, like, replace, force)
    _warn(context, kind, name, given)
    yield []


def _exists(kind: ObjectType, name: str, engine: Engine) -> bool:
    return name in engine.of_type(kind)


def _change(about: PcfKind, context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    kind, word, subtype = _kind_of(about, request)
    name = request.text(about.name_parameter)
    given = {**_given(context, request, kind, word, is_new=False), **subtype}
    force = kind not in _FORCED or request.number(mq.MQIACF_FORCE) == mq.MQFC_YES
    authorize(context, "ALTER", _authority_type(kind, subtype), name)
    if kind == ObjectType.CFSTRUCT:
        check_alteration(context, name, given)
    with _refusals(about):
        context.query(partial(_check_type, about, kind, name, given))
        group_changes.alter(context, kind, name, given, force)
    _warn(context, kind, name, given)
    yield []


def _warn(context: CommandContext, kind: ObjectType, name: str, given: dict[str, Value]) -> None:
    """Writes warnings to the error log: programs take a warning in a reply for a failure."""
    text = admin_objects.ignored_values_text(kind, given, context.group is not None)
    if text:
        context.note(f"{admin_objects.IGNORED}: {kind.value} {name}: {text}".replace(" : ", ": "))
    text = recovery_warning(context, kind, name, given)
    if text:
        context.note(f"{CIRCULAR_LOGS}: {text}")


def _check_type(about: PcfKind, kind: ObjectType, name: str, given: dict[str, Value], engine: Engine) -> None:
    if about is QUEUES:
        found = objects.queue_definition(engine, name)
        if found is not None and found.object_type != kind:
            raise MQError(mq.MQRCCF_Q_WRONG_TYPE, f"{name} is a {found.object_type.value}.")
    elif about is CHANNELS:
        channel = engine.of_type(_authority_type(kind, given)).get(name)
        if channel is not None and channel.attributes.get("CHLTYPE") != given.get("CHLTYPE"):
            raise MQError(mq.MQRCCF_WRONG_CHANNEL_TYPE, f"{name} is of another type.")


def _change_manager(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    given = request.given(ObjectType.QMGR, "", is_new=False)
    authorize(context, "ALTER", ObjectType.QMGR, "")
    context.change(partial(_alter_manager, given))
    _warn(context, ObjectType.QMGR, "", given)
    yield []


def _alter_manager(given: dict[str, Value], engine: Engine) -> int:
    return admin_objects.alter(engine, ObjectType.QMGR, engine.name, given)


# -- delete and clear --------------------------------------------------------------------------------------------------


def _delete(about: PcfKind, context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    name = request.text(about.name_parameter)
    kind = about.types[0]
    disposition = request.number(mq.MQIA_QSG_DISP, mq.MQQSGD_Q_MGR)
    if about is QUEUES and disposition == mq.MQQSGD_GROUP:
        kind = _group_queue_to_delete(context, request, name)
    elif about is QUEUES:
        kind = _queue_to_delete(context, request, name)
    elif about is CHANNELS:
        is_client = request.number(mq.MQIACH_CHANNEL_TABLE) == mq.MQCHTAB_CLNTCONN
        is_client |= request.number(mq.MQIACH_CHANNEL_TYPE) == mq.MQCHT_CLNTCONN
        kind = ObjectType.CLNTCONN if is_client else ObjectType.CHANNEL
    authorize(context, "DELETE", kind, name)
    if is_running(kind, name, context):
        raise PcfRefused(_RUNNING.get(kind, mq.MQRCCF_OBJECT_OPEN))
    check_not_in_doubt(kind, name, context)
    purge = request.number(mq.MQIACF_PURGE) == mq.MQPO_YES
    # Only types with authorities of their own have records.
    deletes_records = (
        mqot(kind) != mq.MQOT_Q_MGR and request.number(mq.MQIACF_REMOVE_AUTHREC, mq.MQRAR_YES) == mq.MQRAR_YES
    )
    with _refusals(about):
        here = partial(remove, kind, name, purge, deletes_records)
        group_changes.delete(context, kind, name, disposition, purge, here)
    yield []


def _queue_to_delete(context: CommandContext, request: PcfRequest, name: str) -> ObjectType:
    """Returns the type of the queue, which the command may omit."""
    found = context.query(partial(_queue_type, name))
    if found is None:
        raise bad_parameter(mq.MQRC_UNKNOWN_OBJECT_NAME, mq.MQCA_Q_NAME)
    given = request.number(mq.MQIA_Q_TYPE, -1)
    if given != -1 and given not in (constant(word) for word, kind in QUEUE_TYPES.items() if kind == found):
        raise PcfRefused(mq.MQRCCF_Q_WRONG_TYPE)
    return found


def _group_queue_to_delete(context: CommandContext, request: PcfRequest, name: str) -> ObjectType:
    """Returns the type of a group object."""
    group_changes.check_disposition(context, mq.MQQSGD_GROUP)
    wanted = request.number(mq.MQIA_Q_TYPE, -1)
    for word, kind in QUEUE_TYPES.items():
        key = object_key(kind, name)
        if wanted in (-1, constant(word)) and context.group is not None and context.group.read(key)[0] is not None:
            return kind
    raise bad_parameter(mq.MQRC_UNKNOWN_OBJECT_NAME, mq.MQCA_Q_NAME)


def _queue_type(name: str, engine: Engine) -> ObjectType | None:
    found = objects.queue_definition(engine, name)
    return found.object_type if found is not None else None


_CLEAR_PARAMETERS: Final = (
    text("MQCA_Q_NAME", NAME_LENGTH, required=True),
    number("MQIA_QSG_DISP", "MQQSGD_PRIVATE", "MQQSGD_SHARED"),
)


def disposition_of(request: PcfRequest) -> str:
    """Returns QSGDISP of Clear Queue and Move Queue; empty if it is not given."""
    words = {mq.MQQSGD_PRIVATE: "PRIVATE", mq.MQQSGD_SHARED: "SHARED"}
    return words.get(request.number(mq.MQIA_QSG_DISP, mq.MQQSGD_ALL), "")


def _clear(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    name = request.text(mq.MQCA_Q_NAME)
    kind = context.query(partial(_queue_type, name))
    authorize(context, "CLEAR", ObjectType.QLOCAL, name)
    if kind is None:
        raise PcfRefused(mq.MQRC_UNKNOWN_OBJECT_NAME)
    if kind != ObjectType.QLOCAL:
        raise PcfRefused(mq.MQRCCF_Q_WRONG_TYPE)
    try:
        clear_queue(context, name, disposition_of(request))
    except (MQError, CommandRefused) as error:
        raise as_pcf_refusal(error, False) from None
    yield []


# -- the table ---------------------------------------------------------------------------------------------------------


def _subtype(about: PcfKind) -> tuple[PcfField, ...]:
    return (about.subtype,) if about.subtype is not None else ()


def _commands() -> Iterator[PcfCommand]:
    for about in KINDS:
        subtype = _subtype(about)
        word = about.word
        forced = (_FORCE,) if about is QUEUES else ()
        shared = _disposition(about)
        copying = (
            text(about.copy_from, about.name_length, required=True),
            text(about.copy_to, about.name_length, required=True),
        )
        yield PcfCommand(
            f"MQCMD_CREATE_{word}",
            partial(_create, about),
            (about.name_field, *subtype, *about.made_with, _REPLACE, *forced, *shared),
            about.types,
        )
        yield PcfCommand(
            f"MQCMD_CHANGE_{word}", partial(_change, about), (about.name_field, *subtype, *forced, *shared), about.types
        )
        yield PcfCommand(
            f"MQCMD_COPY_{word}", partial(_copy, about), (*copying, *subtype, _REPLACE, *forced, *shared), about.types
        )
        yield PcfCommand(
            f"MQCMD_DELETE_{word}", partial(_delete, about), (about.name_field, *_delete_fields(about), *shared)
        )
    yield PcfCommand("MQCMD_CHANGE_Q_MGR", _change_manager, (_FORCE,), (ObjectType.QMGR,))
    yield PcfCommand("MQCMD_CLEAR_Q", _clear, _CLEAR_PARAMETERS)


def _disposition(about: PcfKind) -> tuple[PcfField, ...]:
    """Returns the parameter for QSGDISP of types that have it."""
    attribute = find(about.types[0], "QSGDISP")
    if attribute is None or about is STORAGE_CLASSES:
        return ()
    words = [f"MQQSGD_{'Q_MGR' if word == 'QMGR' else word}" for word, _ in attribute.words]
    return (number("MQIA_QSG_DISP", *words),)


def _delete_fields(about: PcfKind) -> tuple[PcfField, ...]:
    records = number("MQIACF_REMOVE_AUTHREC", "MQRAR_NO", "MQRAR_YES")
    if about is QUEUES:
        return (
            number("MQIA_Q_TYPE", *QUEUE_TYPES),
            number("MQIACF_PURGE", "MQPO_NO", "MQPO_YES"),
            records,
        )
    if about is CHANNELS:
        assert about.subtype is not None
        return (
            number("MQIACH_CHANNEL_TYPE", *about.subtype.values),
            number("MQIACH_CHANNEL_TABLE", "MQCHTAB_Q_MGR", "MQCHTAB_CLNTCONN"),
            records,
        )
    return (records,)


COMMANDS: Final = tuple(_commands())
