"""DEFINE, ALTER, DELETE and DISPLAY SUB: subscriptions by name or by identifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace as replaced
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext, CommandRefused
from ostler.command.admin.permissions import authorize
from ostler.command.admin.subscriptions import (
    DURABLE,
    SUBTYPES,
    SubscriptionFilter,
    alter_subscription,
    define_subscription,
    delete_subscription,
    select_subscriptions,
    subscription_rows,
)
from ostler.command.mqsc.arguments import CommandOptions, given_attributes, object_name
from ostler.command.mqsc.define_alter_delete import Action, not_found
from ostler.command.mqsc.display.display import DisplayRequest, display_lines, is_selected, parse_display_request
from ostler.command.mqsc.grammar import PRODUCT, SUBSCRIPTION, message
from ostler.command.mqsc.statements import Statement
from ostler.command.mqsc.tokens import MqscSyntaxError, Token, TokenKind
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.errors import MQError

_IDENTIFIER_BYTES: Final = 24


# -- name and identifier -----------------------------------------------------------------------------------------------


def _identifier(options: CommandOptions) -> str:
    """Returns the value of SUBID; empty if it is not given."""
    words = options.values("SUBID")
    if words is None:
        return ""
    text = words[0].text.upper()
    if len(words) > 1 or len(text) != 2 * _IDENTIFIER_BYTES or any(each not in "0123456789ABCDEF" for each in text):
        raise MqscSyntaxError(words[-1].end, f"SUBID takes {2 * _IDENTIFIER_BYTES} hexadecimal digits")
    return text


def _name_and_identifier(statement: Statement, options: CommandOptions) -> tuple[str, str]:
    """Returns the name and the identifier of a command: one of them, or both."""
    identifier = _identifier(options)
    if statement.name is None and identifier:
        return "", identifier
    return object_name(statement, ObjectType.SUB), identifier


# -- changes -----------------------------------------------------------------------------------------------------------


def define(statement: Statement) -> Action:
    name = object_name(statement, ObjectType.SUB)
    options = CommandOptions(statement)
    replace = options.switch("REPLACE", "NOREPLACE")
    like = options.text("LIKE")
    given = given_attributes(ObjectType.SUB, options.rest, "", ("REPLACE", "NOREPLACE", "LIKE"))
    subtype = statement.argument("SUBTYPE")
    if subtype is not None and given["SUBTYPE"] != mq.MQSUBTYPE_ADMIN:
        raise MqscSyntaxError(subtype.end, "a subscription that is defined by command is SUBTYPE(ADMIN)")
    return partial(_define, name, given, like or None, replace)


def _define(
    name: str, given: dict[str, Value], like: str | None, replace: bool, context: CommandContext
) -> Iterator[str]:
    try:
        define_subscription(context, name, given, like, replace)
    except MQError as error:
        if error.reason == mq.MQRC_OBJECT_ALREADY_EXISTS:
            instead = error.detail if replace else "Use ALTER, or DEFINE with REPLACE."
            what = f"{PRODUCT} subscription {name} exists already. {instead}"
            raise CommandRefused("AMQ8150E", what) from None
        raise _unknown(error, like or name) from None
    yield message(SUBSCRIPTION.created, f"{PRODUCT} subscription created.")


def alter(statement: Statement) -> Action:
    options = CommandOptions(statement)
    name, identifier = _name_and_identifier(statement, options)
    given = given_attributes(ObjectType.SUB, options.rest, "")
    return partial(_alter, name, identifier, given)


def _alter(name: str, identifier: str, given: dict[str, Value], context: CommandContext) -> Iterator[str]:
    try:
        alter_subscription(context, name, identifier, given)
    except MQError as error:
        raise _unknown(error, name or identifier) from None
    yield message(SUBSCRIPTION.changed, f"{PRODUCT} subscription changed.")


def _unknown(error: MQError, name: str) -> Exception:
    """Returns the error; for an unknown subscription with the message number of commands."""
    return not_found(name) if error.reason == mq.MQRC_NO_SUBSCRIPTION else error


def delete(statement: Statement) -> Action:
    options = CommandOptions(statement)
    name, identifier = _name_and_identifier(statement, options)
    ignores = options.choice("IGNSTATE", "NO", "YES") == "YES"
    options.finish()
    return partial(_delete, name, identifier, ignores)


def _delete(name: str, identifier: str, ignores: bool, context: CommandContext) -> Iterator[str]:
    try:
        delete_subscription(context, name, identifier)
    except MQError as error:
        if not ignores or error.reason != mq.MQRC_NO_SUBSCRIPTION:
            raise _unknown(error, name or identifier) from None
    yield message(SUBSCRIPTION.deleted, f"{PRODUCT} subscription deleted.")


# -- displays ----------------------------------------------------------------------------------------------------------


def display(statement: Statement) -> Action:
    options = CommandOptions(statement)
    selection = parse_subscription_filter(statement, options)
    request = parse_display_request(with_generic_name(statement, selection.identifier), SUBSCRIPTION, options)
    if selection.identifier and not request.names:
        request = replaced(request, shows_all=True)
    return partial(_display, request, replaced(selection, pattern=request.pattern))


def parse_subscription_filter(statement: Statement, options: CommandOptions) -> SubscriptionFilter:
    """Parses SUBID, SUBTYPE and DURABLE, which select subscriptions for DISPLAY."""
    identifier = _identifier(options) if has_value(statement, "SUBID") else ""
    types = options.choice("SUBTYPE", *SUBTYPES) if has_value(statement, "SUBTYPE") else "USER"
    durable = options.choice("DURABLE", *DURABLE) if has_value(statement, "DURABLE") else "ALL"
    return SubscriptionFilter("*", identifier, types, durable)


def has_value(statement: Statement, keyword: str) -> bool:
    """Returns whether a keyword is given as a filter, and not as an attribute to show."""
    argument = statement.argument(keyword)
    return argument is not None and argument.values is not None


def with_generic_name(statement: Statement, identifier: str) -> Statement:
    """Returns the command, with a generic name if it gives only an identifier."""
    if statement.name is not None or not identifier:
        return statement
    return replaced(statement, name=Token(TokenKind.WORD, "*", statement.noun.end, statement.noun.end))


def _display(request: DisplayRequest, selection: SubscriptionFilter, context: CommandContext) -> Iterator[str]:
    authorize(context, "DISPLAY", ObjectType.SUB, "")
    found = False
    for batch in select_subscriptions(context, selection):
        for row in context.query(partial(subscription_rows, batch)) if batch else ():
            if is_selected(request, ObjectType.SUB, row):
                found = True
                yield from display_lines(request, ObjectType.SUB, row)
    if not found:
        raise not_found(selection.identifier or request.pattern)


COMMANDS: Final[dict[tuple[str, str], Callable[[Statement], Action]]] = {
    ("DEFINE", "SUB"): define,
    ("ALTER", "SUB"): alter,
    ("DELETE", "SUB"): delete,
    ("DISPLAY", "SUB"): display,
}
