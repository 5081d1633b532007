"""DEFINE, ALTER, DELETE and CLEAR."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, TypeAlias

from ostler.command.admin import objects as admin_objects
from ostler.command.admin.clear import clear_queue
from ostler.command.admin.context import CommandContext, CommandRefused
from ostler.command.admin.in_use import check_not_open
from ostler.command.admin.permissions import authorize, authorize_define
from ostler.command.admin.structures import CIRCULAR_LOGS, check_alteration, recovery_warning
from ostler.command.group import changes as group_changes
from ostler.command.mqsc.arguments import CommandOptions, find_attribute, given_attributes, object_name, value_of
from ostler.command.mqsc.grammar import PRODUCT, Noun, message
from ostler.command.mqsc.statements import Statement
from ostler.command.mqsc.tokens import MqscSyntaxError
from ostler.command.status.channel_status import CURRENT
from ostler.engine import objects
from ostler.engine.core import Engine
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value, has_subtypes, subtype_of
from ostler.model.errors import MQError

Action: TypeAlias = Callable[[CommandContext], Iterator[str]]
"""A parsed command. Calling it runs the command and yields the lines of its answer."""

# Types whose changes may affect open handles; they take FORCE.
_FORCED: Final = (ObjectType.QLOCAL, ObjectType.QALIAS, ObjectType.QREMOTE)
# The object type in authority records, for types that have such records.
_RECORD_TYPES: Final = {
    ObjectType.QLOCAL: mq.MQOT_Q,
    ObjectType.QALIAS: mq.MQOT_Q,
    ObjectType.QREMOTE: mq.MQOT_Q,
    ObjectType.QMODEL: mq.MQOT_Q,
    ObjectType.CHANNEL: mq.MQOT_CHANNEL,
    ObjectType.CLNTCONN: mq.MQOT_CLNTCONN_CHANNEL,
    ObjectType.LISTENER: mq.MQOT_LISTENER,
    ObjectType.SERVICE: mq.MQOT_SERVICE,
    ObjectType.PROCESS: mq.MQOT_PROCESS,
    ObjectType.NAMELIST: mq.MQOT_NAMELIST,
    ObjectType.TOPIC: mq.MQOT_TOPIC,
    ObjectType.AUTHINFO: mq.MQOT_AUTH_INFO,
    ObjectType.COMMINFO: mq.MQOT_COMM_INFO,
}
# The states in which a channel can be deleted.
_NOT_RUNNING: Final = ("INACTIVE", "STOPPED")
_SUBTYPE_KEYWORDS = {ObjectType.CHANNEL: "CHLTYPE", ObjectType.AUTHINFO: "AUTHTYPE", ObjectType.LISTENER: "TRPTYPE"}


def _subtype_given(statement: Statement, kind: ObjectType) -> str:
    """Returns the subtype that a command names, on which its other keywords depend."""
    keyword = _SUBTYPE_KEYWORDS.get(kind, "")
    argument = statement.argument(keyword)
    if argument is None:
        return ""
    attribute = find_attribute((kind,), argument.keyword)
    return subtype_of(kind, {attribute.name: value_of(attribute, argument)})


def define(statement: Statement, noun: Noun) -> Action:
    kind = noun.types[0]
    name = object_name(statement, kind)
    options = CommandOptions(statement)
    replace = options.switch("REPLACE", "NOREPLACE")
    like = options.text("LIKE")
    force = kind not in _FORCED or options.switch("FORCE", "NOFORCE")
    subtype = _subtype_given(statement, kind)
    if has_subtypes(kind) and kind != ObjectType.LISTENER and not subtype and not like:
        raise MqscSyntaxError(
            statement.end, f"{_SUBTYPE_KEYWORDS[kind]} is missing: it is the type of the {noun.label}"
        )
    given = given_attributes(kind, options.rest, subtype, ("REPLACE", "NOREPLACE", "LIKE"))
    return partial(_define, noun, kind, name, given, like or None, replace, force)


def _define(
    noun: Noun,
    kind: ObjectType,
    name: str,
    given: dict[str, Value],
    like: str | None,
    replace: bool,
    force: bool,
    context: CommandContext,
) -> Iterator[str]:
    table = admin_objects.storage_type(kind, given)
    exists = context.query(partial(_exists, table, name))
    model = like or admin_objects.default_object(kind, subtype_of(kind, given))
    authorize_define(context, table, name, exists and replace, model)
    try:
        group_changes.define(context, kind, name, given, like, replace, force)
    except MQError as error:
        if error.reason == mq.MQRC_OBJECT_ALREADY_EXISTS:
            what = f"{PRODUCT} {noun.label} {name} exists already. Use ALTER, or DEFINE with REPLACE."
            raise CommandRefused(noun.exists, what) from None
        raise unknown_object(error, like or name) from None
    yield message(noun.created, f"{PRODUCT} {noun.label} created.")
    yield from _warnings(context, kind, name, given)


def _warnings(context: CommandContext, kind: ObjectType, name: str, given: dict[str, Value]) -> Iterator[str]:
    text = admin_objects.ignored_values_text(kind, given, context.group is not None)
    if text:
        yield message(admin_objects.IGNORED, text)
    text = recovery_warning(context, kind, name, given)
    if text:
        yield message(CIRCULAR_LOGS, text)


def _exists(kind: ObjectType, name: str, engine: Engine) -> bool:
    return name in engine.of_type(kind)


def alter(statement: Statement, noun: Noun) -> Action:
    kind = noun.types[0]
    if kind == ObjectType.QMGR:
        if statement.name is not None:
            raise MqscSyntaxError(
                statement.name.end, "QMGR takes no name: it is the queue manager that runs the command"
            )
        name = ""
    else:
        name = object_name(statement, kind)
    options = CommandOptions(statement)
    force = kind not in _FORCED or options.switch("FORCE", "NOFORCE")
    if kind == ObjectType.QMGR:
        options.switch("FORCE", "NOFORCE")  # only DEFXMITQ would need it, and no handle depends on that
    given = given_attributes(kind, options.rest, _subtype_given(statement, kind))
    return partial(_alter, noun, kind, name, given, force)


def _alter(
    noun: Noun, kind: ObjectType, name: str, given: dict[str, Value], force: bool, context: CommandContext
) -> Iterator[str]:
    authorize(context, "ALTER", admin_objects.storage_type(kind, given), name)
    if kind == ObjectType.CFSTRUCT:
        check_alteration(context, name, given)
    try:
        group_changes.alter(context, kind, name, given, force)
    except MQError as error:
        raise unknown_object(error, name) from None
    yield message(noun.changed, f"{PRODUCT} {noun.label} changed.")
    yield from _warnings(context, kind, name, given)


def delete(statement: Statement, noun: Noun) -> Action:
    kind = noun.types[0]
    name = object_name(statement, kind)
    options = CommandOptions(statement)
    purge = kind == ObjectType.QLOCAL and options.switch("PURGE", "NOPURGE")
    ignores = options.choice("IGNSTATE", "NO", "YES") == "YES"
    if kind == ObjectType.CHANNEL and options.choice("CHLTABLE", "QMGRTBL", "CLNTTBL") == "CLNTTBL":
        kind = ObjectType.CLNTCONN
    deletes_records = kind in _RECORD_TYPES and options.choice("AUTHREC", "YES", "NO") == "YES"
    disposition = group_changes.WORDS[options.choice("QSGDISP", *group_changes.WORDS)]
    options.finish()
    return partial(_delete, noun, kind, name, purge, ignores, deletes_records, disposition)


def _delete(
    noun: Noun,
    kind: ObjectType,
    name: str,
    purge: bool,
    ignores: bool,
    deletes_records: bool,
    disposition: int,
    context: CommandContext,
) -> Iterator[str]:
    authorize(context, "DELETE", kind, name)
    if is_running(kind, name, context):
        raise CommandRefused("AMQ8148E", f"{PRODUCT} {noun.label} {name} is in use. Stop it first.")
    check_not_in_doubt(kind, name, context)
    try:
        here = partial(remove, kind, name, purge, deletes_records)
        group_changes.delete(context, kind, name, disposition, purge, here)
    except MQError as error:
        if not ignores or error.reason != mq.MQRC_UNKNOWN_OBJECT_NAME:
            raise unknown_object(error, name) from None
    yield message(noun.deleted, f"{PRODUCT} {noun.label} deleted.")


def remove(kind: ObjectType, name: str, purge: bool, deletes_records: bool, engine: Engine) -> int:
    """Deletes an object and the authority records with exactly its name; returns the LSN."""
    if kind == ObjectType.CHANNEL and name not in engine.of_type(kind):
        if name in engine.of_type(ObjectType.CLNTCONN):
            raise CommandRefused("AMQ8147E", f"{name} is a client channel: delete it with CHLTABLE(CLNTTBL).")
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"There is no channel called {name}.")
    if kind == ObjectType.TOPIC:
        check_not_open(engine, name)
    lsn = objects.delete(engine, kind, name, purge)
    if kind == ObjectType.CFSTRUCT:
        for data_set in [each for each in engine.of_type(ObjectType.SMDS) if each.startswith(f"{name}/")]:
            lsn = objects.delete(engine, ObjectType.SMDS, data_set)
    if deletes_records:
        for record in list(engine.of_type(ObjectType.AUTHREC).values()):
            attributes = record.attributes
            if attributes.get("PROFILE") == name and attributes.get("OBJTYPE") == _RECORD_TYPES[kind]:
                lsn = max(lsn, objects.delete(engine, ObjectType.AUTHREC, record.name))
    return lsn


def is_running(kind: ObjectType, name: str, context: CommandContext) -> bool:
    if kind == ObjectType.LISTENER:
        return any(status.name == name for status in context.listener_status())
    if kind == ObjectType.CHANNEL:
        return any(
            status.name == name and status.instance == CURRENT and status.status not in _NOT_RUNNING
            for status in context.channel_status()
        )
    if kind == ObjectType.SERVICE:
        return any(status.name == name for status in context.service_status())
    return False


def check_not_in_doubt(kind: ObjectType, name: str, context: CommandContext) -> None:
    """Raises MQError for a channel with an in-doubt batch, which could not be resolved without its definition."""
    if kind == ObjectType.CHANNEL and any(each.name == name and each.in_doubt for each in context.channel_status()):
        raise MQError(
            mq.MQRCCF_CHANNEL_INDOUBT,
            f"Channel {name} is in doubt about a batch. Start it, or use RESOLVE CHANNEL first.",
        )


def clear(statement: Statement, noun: Noun) -> Action:
    name = object_name(statement, noun.types[0])
    options = CommandOptions(statement)
    disposition = options.choice("QSGDISP", "", "PRIVATE", "SHARED")
    options.finish()
    return partial(_clear, noun, name, disposition)


def _clear(noun: Noun, name: str, disposition: str, context: CommandContext) -> Iterator[str]:
    authorize(context, "CLEAR", ObjectType.QLOCAL, name)
    try:
        clear_queue(context, name, disposition)
    except MQError as error:
        raise unknown_object(error, name) from None
    yield message("AMQ8022I", f"{PRODUCT} {noun.label} cleared.")


def not_found(name: str) -> CommandRefused:
    return CommandRefused("AMQ8147E", f"{PRODUCT} object {name} not found.")


def unknown_object(error: MQError, name: str) -> Exception:
    """Returns the error; for an unknown object with the message number of commands."""
    return not_found(name) if error.reason == mq.MQRC_UNKNOWN_OBJECT_NAME else error
