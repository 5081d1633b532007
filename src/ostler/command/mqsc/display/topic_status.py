"""DISPLAY TPSTATUS, SBSTATUS and PUBSUB: the status of topics, subscriptions and publish/subscribe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace as replaced
from functools import partial

from ostler.command.admin.context import CommandContext
from ostler.command.admin.permissions import authorize
from ostler.command.admin.subscriptions import SUBTYPES, SubscriptionFilter, select_subscriptions
from ostler.command.mqsc.arguments import CommandOptions
from ostler.command.mqsc.define_alter_delete import Action, not_found
from ostler.command.mqsc.display.display import (
    DisplayRequest,
    StatusLines,
    display_lines,
    is_selected,
    parse_display_request,
)
from ostler.command.mqsc.grammar import Noun
from ostler.command.mqsc.statements import Statement
from ostler.command.mqsc.subscriptions import has_value, parse_subscription_filter, with_generic_name
from ostler.command.mqsc.tokens import MqscSyntaxError, Token, TokenKind
from ostler.command.status.topic_rows import TopicRows, pubsub_row, status_rows
from ostler.command.status.topic_walk import TopicPattern
from ostler.model.attributes import ObjectType


def topic_status(statement: Statement, noun: Noun) -> Action:
    word = statement.name
    if word is None:
        raise MqscSyntaxError(
            statement.noun.end, f"{statement.noun.text} needs a topic string in brackets, such as ('#')"
        )
    options = CommandOptions(statement)
    about = options.choice("TYPE", "TOPIC", "SUB", "PUB")
    types = options.choice("SUBTYPE", *SUBTYPES) if has_value(statement, "SUBTYPE") else "USER"
    anything = replaced(statement, name=Token(TokenKind.WORD, "*", word.start, word.end))
    request = parse_display_request(anything, noun, options)
    if not request.names and not TopicPattern(word.text).is_wild:
        request = replaced(request, shows_all=True)
    return partial(_topic_status, request, word.text, about, types)


def _topic_status(
    request: DisplayRequest, pattern: str, about: str, types: str, context: CommandContext
) -> Iterator[str]:
    authorize(context, "DISPLAY", ObjectType.QMGR, "")
    found = False
    shown = StatusLines(request, ObjectType.TPSTATUS)
    is_filtered = request.filter is not None or bool(request.selectors)
    for row in TopicRows(pattern, about, types).rows(context):
        if not is_filtered or is_selected(request, ObjectType.TPSTATUS, row):
            found = True
            yield from shown.lines(row)
    if not found:
        raise not_found(pattern)


def subscription_status(statement: Statement, noun: Noun) -> Action:
    options = CommandOptions(statement)
    selection = parse_subscription_filter(statement, options)
    request = parse_display_request(with_generic_name(statement, selection.identifier), noun, options)
    if selection.identifier and not request.names:
        request = replaced(request, shows_all=True)
    return partial(_subscription_status, request, replaced(selection, pattern=request.pattern))


def _subscription_status(
    request: DisplayRequest, selection: SubscriptionFilter, context: CommandContext
) -> Iterator[str]:
    authorize(context, "DISPLAY", ObjectType.SUB, "")
    found = False
    shown = StatusLines(request, ObjectType.SBSTATUS)
    for batch in select_subscriptions(context, selection):
        for row in context.query(partial(status_rows, batch)) if batch else ():
            if is_selected(request, ObjectType.SBSTATUS, row):
                found = True
                yield from shown.lines(row)
    if not found:
        raise not_found(selection.identifier or request.pattern)


def pubsub_status(statement: Statement, noun: Noun) -> Action:
    options = CommandOptions(statement)
    about = options.choice("TYPE", "ALL", "LOCAL", "PARENT", "CHILD")
    return partial(_pubsub_status, parse_display_request(statement, noun, options), about)


def _pubsub_status(request: DisplayRequest, about: str, context: CommandContext) -> Iterator[str]:
    authorize(context, "DISPLAY", ObjectType.QMGR, "")
    row = context.query(pubsub_row)
    if about in ("PARENT", "CHILD") or not is_selected(request, ObjectType.PUBSUB, row):
        raise not_found(about)
    yield from display_lines(request, ObjectType.PUBSUB, row, ("STATUS",))
