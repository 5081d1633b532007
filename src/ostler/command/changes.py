"""DEFINE, ALTER, DELETE and CLEAR."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

from ostler.command import administration
from ostler.command.arguments import Options, find_attribute, given_attributes, object_name, value_of
from ostler.command.nouns import PRODUCT, Noun, message
from ostler.command.statements import Statement
from ostler.command.target import CommandRefused, Target
from ostler.command.words import SyntaxProblem
from ostler.engine import objects
from ostler.engine.core import Engine
from ostler.model.attributes import ObjectType, Value, has_subtypes, subtype_of
from ostler.model.constants import MQRC_OBJECT_ALREADY_EXISTS, MQRC_UNKNOWN_OBJECT_NAME
from ostler.model.errors import MQError

Action: TypeAlias = Callable[[Target], Iterator[str]]
"""A command that was understood. Called with a queue manager it is done, and gives the lines of its answer."""

_SUBTYPE_KEYWORDS = {ObjectType.CHANNEL: "CHLTYPE", ObjectType.AUTHINFO: "AUTHTYPE", ObjectType.LISTENER: "TRPTYPE"}


def _subtype_given(statement: Statement, kind: ObjectType) -> str:
    """The subtype that the command names. It is looked for first: other keywords depend on it."""
    keyword = _SUBTYPE_KEYWORDS.get(kind, "")
    argument = statement.argument(keyword)
    if argument is None:
        return ""
    attribute = find_attribute((kind,), argument.keyword)
    return subtype_of(kind, {attribute.name: value_of(attribute, argument)})


def define(statement: Statement, noun: Noun) -> Action:
    kind = noun.types[0]
    name = object_name(statement, kind)
    options = Options(statement)
    replace = options.switch("REPLACE", "NOREPLACE")
    like = options.text("LIKE")
    if kind in (ObjectType.QLOCAL, ObjectType.QALIAS, ObjectType.QREMOTE):
        options.switch("FORCE", "NOFORCE")
    subtype = _subtype_given(statement, kind)
    if has_subtypes(kind) and kind != ObjectType.LISTENER and not subtype and not like:
        raise SyntaxProblem(statement.end, f"{_SUBTYPE_KEYWORDS[kind]} is missing: it says what the {noun.label} is")
    given = given_attributes(kind, options.rest, subtype, ("REPLACE", "NOREPLACE", "LIKE"))
    return partial(_define, noun, kind, name, given, like or None, replace)


def _define(
    noun: Noun, kind: ObjectType, name: str, given: dict[str, Value], like: str | None, replace: bool, target: Target
) -> Iterator[str]:
    def change(engine: Engine) -> int:
        return administration.define_anew(engine, kind, name, given, like, replace)

    try:
        target.change(change)
    except MQError as error:
        if error.reason == MQRC_OBJECT_ALREADY_EXISTS:
            what = f"{PRODUCT} {noun.label} {name} exists already. Use ALTER, or DEFINE with REPLACE."
            raise CommandRefused(noun.exists, what) from None
        raise _unknown(error, like or name) from None
    yield message(noun.created, f"{PRODUCT} {noun.label} created.")


def alter(statement: Statement, noun: Noun) -> Action:
    kind = noun.types[0]
    if kind == ObjectType.QMGR:
        if statement.name is not None:
            raise SyntaxProblem(statement.name.end, "QMGR takes no name: it is the one that hears the command")
        name = ""
    else:
        name = object_name(statement, kind)
    options = Options(statement)
    options.switch("FORCE", "NOFORCE")
    given = given_attributes(kind, options.rest, _subtype_given(statement, kind))
    return partial(_alter, noun, kind, name, given)


def _alter(noun: Noun, kind: ObjectType, name: str, given: dict[str, Value], target: Target) -> Iterator[str]:
    def change(engine: Engine) -> int:
        return administration.alter(engine, kind, name or engine.name, given)

    try:
        target.change(change)
    except MQError as error:
        raise _unknown(error, name) from None
    yield message(noun.changed, f"{PRODUCT} {noun.label} changed.")


def delete(statement: Statement, noun: Noun) -> Action:
    kind = noun.types[0]
    name = object_name(statement, kind)
    options = Options(statement)
    purge = kind == ObjectType.QLOCAL and options.switch("PURGE", "NOPURGE")
    ignores = options.choice("IGNSTATE", "NO", "YES") == "YES"
    if kind == ObjectType.CHANNEL and options.choice("CHLTABLE", "QMGRTBL", "CLNTTBL") == "CLNTTBL":
        kind = ObjectType.CLNTCONN
    options.choice("AUTHREC", "YES", "NO")
    options.finish()
    return partial(_delete, noun, kind, name, purge, ignores)


def _delete(noun: Noun, kind: ObjectType, name: str, purge: bool, ignores: bool, target: Target) -> Iterator[str]:
    def change(engine: Engine) -> int:
        return objects.delete(engine, kind, name, purge)

    if _is_running(kind, name, target):
        raise CommandRefused("AMQ8148E", f"{PRODUCT} {noun.label} {name} is in use. Stop it first.")
    try:
        target.change(change)
    except MQError as error:
        if not ignores or error.reason != MQRC_UNKNOWN_OBJECT_NAME:
            raise _unknown(error, name) from None
    yield message(noun.deleted, f"{PRODUCT} {noun.label} deleted.")


def _is_running(kind: ObjectType, name: str, target: Target) -> bool:
    if kind == ObjectType.LISTENER:
        return any(status.name == name for status in target.listener_status())
    if kind == ObjectType.CHANNEL:
        return any(status.name == name and status.status != "STOPPED" for status in target.channel_status())
    return False


def clear(statement: Statement, noun: Noun) -> Action:
    name = object_name(statement, noun.types[0])
    Options(statement).finish()
    return partial(_clear, noun, name)


def _clear(noun: Noun, name: str, target: Target) -> Iterator[str]:
    def change(engine: Engine) -> int:
        return objects.clear(engine, name)

    try:
        target.change(change)
    except MQError as error:
        raise _unknown(error, name) from None
    yield message("AMQ8022I", f"{PRODUCT} {noun.label} cleared.")


def not_found(name: str) -> CommandRefused:
    return CommandRefused("AMQ8147E", f"{PRODUCT} object {name} not found.")


def _unknown(error: MQError, name: str) -> Exception:
    """The same error, but for an unknown object with the number that commands have for that."""
    return not_found(name) if error.reason == MQRC_UNKNOWN_OBJECT_NAME else error
