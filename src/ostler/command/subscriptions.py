"""DEFINE, ALTER, DELETE and DISPLAY SUB: subscriptions, found by their name or by their identifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace as replaced
from functools import partial
from typing import Final

from ostler.command import administration
from ostler.command.arguments import Options, given_attributes, object_name
from ostler.command.changes import Action, not_found, unknown_object
from ostler.command.display import Row, Wish, is_wanted, read_wish, show
from ostler.command.nouns import PRODUCT, SUBSCRIPTION, message
from ostler.command.permissions import authorize
from ostler.command.statements import Statement
from ostler.command.target import CommandRefused, Target
from ostler.command.words import SyntaxProblem, Word, WordKind
from ostler.engine import objects
from ostler.engine.core import Engine
from ostler.model.attributes import ObjectType, Value
from ostler.model.constants import (
    MQDC_MANAGED,
    MQRC_OBJECT_ALREADY_EXISTS,
    MQRC_UNKNOWN_OBJECT_NAME,
    MQRCCF_ATTR_VALUE_ERROR,
    MQRCCF_ATTR_VALUE_FIXED,
    MQSELTYPE_NONE,
    MQSELTYPE_STANDARD,
    MQSUB_DURABLE_NO,
    MQSUB_DURABLE_YES,
    MQSUBTYPE_ADMIN,
    MQSUBTYPE_API,
    MQSUBTYPE_PROXY,
)
from ostler.model.definitions import Definition
from ostler.model.errors import MQError

_CHUNK_OBJECTS: Final = 100
_IDENTIFIER_BYTES: Final = 24
# What a subscription is made with and keeps.
_LASTING: Final = ("TOPICSTR", "TOPICOBJ", "DESTCLAS", "SELECTOR", "SUBLEVEL", "SUBSCOPE", "WSCHEMA", "REQONLY")
_SUBTYPES: Final[dict[str, tuple[int, ...]]] = {
    "USER": (MQSUBTYPE_ADMIN, MQSUBTYPE_API),
    "ALL": (MQSUBTYPE_ADMIN, MQSUBTYPE_API, MQSUBTYPE_PROXY),
    "ADMIN": (MQSUBTYPE_ADMIN,),
    "API": (MQSUBTYPE_API,),
    "PROXY": (MQSUBTYPE_PROXY,),
}
_DURABLE: Final[dict[str, tuple[int, ...]]] = {
    "ALL": (MQSUB_DURABLE_YES, MQSUB_DURABLE_NO),
    "YES": (MQSUB_DURABLE_YES,),
    "NO": (MQSUB_DURABLE_NO,),
}


# -- which one ---------------------------------------------------------------------------------------------------------


def _identifier(options: Options) -> str:
    """The value of SUBID; empty when it is not given."""
    words = options.values("SUBID")
    if words is None:
        return ""
    text = words[0].text.upper()
    if len(words) > 1 or len(text) != 2 * _IDENTIFIER_BYTES or any(each not in "0123456789ABCDEF" for each in text):
        raise SyntaxProblem(words[-1].end, f"SUBID takes {2 * _IDENTIFIER_BYTES} hexadecimal digits")
    return text


def _which(statement: Statement, options: Options) -> tuple[str, str]:
    """The name and the identifier that a command gives: one of them, or both."""
    identifier = _identifier(options)
    if statement.name is None and identifier:
        return "", identifier
    return object_name(statement, ObjectType.SUB), identifier


def find_subscription(engine: Engine, name: str, identifier: str) -> Definition:
    """The subscription with this name, this identifier, or both."""
    known = engine.of_type(ObjectType.SUB)
    if name:
        found = known.get(name)
    else:
        found = next((each for each in known.values() if each.attributes.get("SUBID") == identifier), None)
    if found is None or (identifier and found.attributes.get("SUBID") != identifier):
        raise MQError(MQRC_UNKNOWN_OBJECT_NAME, f"There is no subscription {name or identifier}.")
    return found


# -- changes -----------------------------------------------------------------------------------------------------------


def define(statement: Statement) -> Action:
    name = object_name(statement, ObjectType.SUB)
    options = Options(statement)
    replace = options.switch("REPLACE", "NOREPLACE")
    like = options.text("LIKE")
    given = given_attributes(ObjectType.SUB, options.rest, "", ("REPLACE", "NOREPLACE", "LIKE"))
    subtype = statement.argument("SUBTYPE")
    if subtype is not None and given["SUBTYPE"] != MQSUBTYPE_ADMIN:
        raise SyntaxProblem(subtype.end, "a subscription made by a command is SUBTYPE(ADMIN)")
    return partial(_define, name, given, like or None, replace)


def _define(name: str, given: dict[str, Value], like: str | None, replace: bool, target: Target) -> Iterator[str]:
    authorize(target, "DEFINE", ObjectType.SUB, name)
    try:
        target.change(partial(make_subscription, name, given, like, replace, target.user))
    except MQError as error:
        if error.reason == MQRC_OBJECT_ALREADY_EXISTS:
            what = f"{PRODUCT} subscription {name} exists already. Use ALTER, or DEFINE with REPLACE."
            raise CommandRefused("AMQ8150E", what) from None
        raise unknown_object(error, like or name) if like else error from None
    yield message(SUBSCRIPTION.created, f"{PRODUCT} subscription created.")


def make_subscription(
    name: str, given: dict[str, Value], like: str | None, replace: bool, user: str, engine: Engine
) -> int:
    existing = engine.of_type(ObjectType.SUB).get(name)
    attributes = dict(given)
    attributes["SUBTYPE"] = MQSUBTYPE_ADMIN
    attributes.setdefault("SUBUSER", user[:64])
    if existing is None or not replace:
        # A script that builds a queue manager anew may give the identifier that there was.
        attributes.setdefault("SUBID", engine.new_id().hex().upper())
        _check_identifier(engine, name, attributes["SUBID"])
    else:
        _keep(existing, attributes)
    check_places(engine, attributes)
    return administration.define_anew(engine, ObjectType.SUB, name, attributes, like, replace)


def _check_identifier(engine: Engine, name: str, identifier: Value) -> None:
    for other in engine.of_type(ObjectType.SUB).values():
        if other.name != name and other.attributes.get("SUBID") == identifier:
            raise MQError(MQRCCF_ATTR_VALUE_ERROR, f"SUBID({identifier}) is the subscription {other.name}.")


def _keep(existing: Definition, attributes: dict[str, Value]) -> None:
    """What a subscription that is replaced keeps. Refuse to change it."""
    for key in (*_LASTING, "SUBID"):
        value = existing.attributes.get(key)
        if value is None:
            continue
        if attributes.setdefault(key, value) != value:
            raise MQError(MQRCCF_ATTR_VALUE_FIXED, f"{key} of {existing.name} stays as it was made.")


def check_places(engine: Engine, attributes: dict[str, Value]) -> None:
    """What a subscription starts from and where it leads must exist."""
    topic = attributes.get("TOPICOBJ")
    if isinstance(topic, str) and topic and topic not in engine.of_type(ObjectType.TOPIC):
        raise MQError(MQRC_UNKNOWN_OBJECT_NAME, f"There is no topic object {topic}.")
    queue = attributes.get("DEST")
    is_here = attributes.get("DESTQMGR", "") in ("", engine.name)
    is_named = attributes.get("DESTCLAS") != MQDC_MANAGED
    if is_named and is_here and isinstance(queue, str) and queue and objects.queue_definition(engine, queue) is None:
        raise MQError(MQRC_UNKNOWN_OBJECT_NAME, f"There is no queue {queue}.")


def alter(statement: Statement) -> Action:
    options = Options(statement)
    name, identifier = _which(statement, options)
    given = given_attributes(ObjectType.SUB, options.rest, "")
    return partial(_alter, name, identifier, given)


def _alter(name: str, identifier: str, given: dict[str, Value], target: Target) -> Iterator[str]:
    authorize(target, "ALTER", ObjectType.SUB, name)

    def change(engine: Engine) -> int:
        found = find_subscription(engine, name, identifier)
        check_places(engine, {**found.attributes, **given})
        return administration.alter(engine, ObjectType.SUB, found.name, given)

    try:
        target.change(change)
    except MQError as error:
        raise unknown_object(error, name or identifier) from None
    yield message(SUBSCRIPTION.changed, f"{PRODUCT} subscription changed.")


def delete(statement: Statement) -> Action:
    options = Options(statement)
    name, identifier = _which(statement, options)
    ignores = options.choice("IGNSTATE", "NO", "YES") == "YES"
    options.finish()
    return partial(_delete, name, identifier, ignores)


def _delete(name: str, identifier: str, ignores: bool, target: Target) -> Iterator[str]:
    authorize(target, "DELETE", ObjectType.SUB, name)

    def change(engine: Engine) -> int:
        return objects.delete(engine, ObjectType.SUB, find_subscription(engine, name, identifier).name)

    try:
        target.change(change)
    except MQError as error:
        if not ignores or error.reason != MQRC_UNKNOWN_OBJECT_NAME:
            raise unknown_object(error, name or identifier) from None
    yield message(SUBSCRIPTION.deleted, f"{PRODUCT} subscription deleted.")


# -- displays ----------------------------------------------------------------------------------------------------------


def display(statement: Statement) -> Action:
    options = Options(statement)
    identifier, types, durable = subscription_choice(statement, options)
    wish = read_wish(named_or_all(statement, identifier), SUBSCRIPTION, options)
    return partial(_display, wish, identifier, types, durable)


def subscription_choice(statement: Statement, options: Options) -> tuple[str, str, str]:
    """Which subscriptions a DISPLAY chooses: SUBID, SUBTYPE and DURABLE."""
    identifier = _identifier(options) if _has_value(statement, "SUBID") else ""
    types = options.choice("SUBTYPE", *_SUBTYPES) if _has_value(statement, "SUBTYPE") else "USER"
    durable = options.choice("DURABLE", *_DURABLE) if _has_value(statement, "DURABLE") else "ALL"
    return identifier, types, durable


def _has_value(statement: Statement, keyword: str) -> bool:
    """Whether a word is a filter here, and not a wish to see the attribute."""
    argument = statement.argument(keyword)
    return argument is not None and argument.values is not None


def named_or_all(statement: Statement, identifier: str) -> Statement:
    """The same command; one that gives an identifier alone asks for whatever name that has."""
    if statement.name is not None or not identifier:
        return statement
    return replaced(statement, name=Word(WordKind.WORD, "*", statement.noun.end, statement.noun.end))


def _display(wish: Wish, identifier: str, types: str, durable: str, target: Target) -> Iterator[str]:
    authorize(target, "DISPLAY", ObjectType.SUB, "")
    names = target.look(partial(matching, wish.pattern, identifier, types, durable))
    found = False
    if identifier and not wish.names:
        wish = replaced(wish, shows_all=True)
    for at in range(0, len(names), _CHUNK_OBJECTS):
        for row in target.look(partial(_rows, names[at : at + _CHUNK_OBJECTS])):
            if is_wanted(wish, ObjectType.SUB, row):
                found = True
                yield from show(wish, ObjectType.SUB, row)
    if not found:
        raise not_found(identifier or wish.pattern)


def matching(pattern: str, identifier: str, types: str, durable: str, engine: Engine) -> list[str]:
    """The names of the subscriptions that a DISPLAY is about."""
    names: list[str] = []
    for name, definition in engine.of_type(ObjectType.SUB).items():
        attributes = definition.attributes
        is_one = not identifier or attributes.get("SUBID") == identifier
        is_type = attributes.get("SUBTYPE", MQSUBTYPE_ADMIN) in _SUBTYPES[types]
        is_durable = attributes.get("DURABLE", MQSUB_DURABLE_YES) in _DURABLE[durable]
        if is_one and is_type and is_durable and administration.matches(name, pattern):
            names.append(name)
    return sorted(names)


def _rows(names: list[str], engine: Engine) -> list[Row]:
    known = engine.of_type(ObjectType.SUB)
    return [subscription_row(engine, known[name]) for name in names if name in known]


def subscription_row(engine: Engine, definition: Definition) -> dict[str, Value]:
    """All of a subscription, with what follows from the rest."""
    row = dict(definition.attributes)
    row["SUB"] = definition.name
    row.setdefault("SUBID", "0" * 2 * _IDENTIFIER_BYTES)
    if row.get("DEST") and not row.get("DESTQMGR"):
        row["DESTQMGR"] = engine.name
    row["SELTYPE"] = MQSELTYPE_STANDARD if row.get("SELECTOR") else MQSELTYPE_NONE
    return row


COMMANDS: Final[dict[tuple[str, str], Callable[[Statement], Action]]] = {
    ("DEFINE", "SUB"): define,
    ("ALTER", "SUB"): alter,
    ("DELETE", "SUB"): delete,
    ("DISPLAY", "SUB"): display,
}
