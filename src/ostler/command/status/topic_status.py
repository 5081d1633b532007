"""DISPLAY TPSTATUS, SBSTATUS and PUBSUB: the tree of topics as it is now, and who has subscribed to what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace as replaced
from functools import partial

from ostler.command.admin.context import Target
from ostler.command.admin.permissions import authorize
from ostler.command.admin.subscription_choice import SUBTYPES, Choice, chosen
from ostler.command.mqsc.arguments import Options
from ostler.command.mqsc.define_alter_delete import Action, not_found
from ostler.command.mqsc.display.display import StatusLines, Wish, is_wanted, read_wish, show
from ostler.command.mqsc.grammar import Noun
from ostler.command.mqsc.statements import Statement
from ostler.command.mqsc.subscriptions import has_value, named_or_all, subscription_choice
from ostler.command.mqsc.tokens import SyntaxProblem, Word, WordKind
from ostler.command.status.topic_rows import TopicRows, pubsub_row, status_rows
from ostler.command.status.topic_walk import TopicPattern
from ostler.model.attributes import ObjectType


def topic_status(statement: Statement, noun: Noun) -> Action:
    word = statement.name
    if word is None:
        raise SyntaxProblem(
            statement.noun.end, f"{statement.noun.text} needs a topic string in brackets, such as ('#')"
        )
    options = Options(statement)
    about = options.choice("TYPE", "TOPIC", "SUB", "PUB")
    types = options.choice("SUBTYPE", *SUBTYPES) if has_value(statement, "SUBTYPE") else "USER"
    anything = replaced(statement, name=Word(WordKind.WORD, "*", word.start, word.end))
    wish = read_wish(anything, noun, options)
    if not wish.names and not TopicPattern(word.text).is_wild:
        wish = replaced(wish, shows_all=True)
    return partial(_topic_status, wish, word.text, about, types)


def _topic_status(wish: Wish, pattern: str, about: str, types: str, target: Target) -> Iterator[str]:
    authorize(target, "DISPLAY", ObjectType.QMGR, "")
    found = False
    shown = StatusLines(wish, ObjectType.TPSTATUS)
    is_picky = wish.filter is not None or bool(wish.chosen)
    for row in TopicRows(pattern, about, types).rows(target):
        if not is_picky or is_wanted(wish, ObjectType.TPSTATUS, row):
            found = True
            yield from shown.lines(row)
    if not found:
        raise not_found(pattern)


def subscription_status(statement: Statement, noun: Noun) -> Action:
    options = Options(statement)
    choice = subscription_choice(statement, options)
    wish = read_wish(named_or_all(statement, choice.identifier), noun, options)
    if choice.identifier and not wish.names:
        wish = replaced(wish, shows_all=True)
    return partial(_subscription_status, wish, replaced(choice, pattern=wish.pattern))


def _subscription_status(wish: Wish, choice: Choice, target: Target) -> Iterator[str]:
    authorize(target, "DISPLAY", ObjectType.SUB, "")
    found = False
    shown = StatusLines(wish, ObjectType.SBSTATUS)
    for some in chosen(target, choice):
        for row in target.look(partial(status_rows, some)) if some else ():
            if is_wanted(wish, ObjectType.SBSTATUS, row):
                found = True
                yield from shown.lines(row)
    if not found:
        raise not_found(choice.identifier or wish.pattern)


def pubsub_status(statement: Statement, noun: Noun) -> Action:
    options = Options(statement)
    about = options.choice("TYPE", "ALL", "LOCAL", "PARENT", "CHILD")
    return partial(_pubsub_status, read_wish(statement, noun, options), about)


def _pubsub_status(wish: Wish, about: str, target: Target) -> Iterator[str]:
    authorize(target, "DISPLAY", ObjectType.QMGR, "")
    row = target.look(pubsub_row)
    if about in ("PARENT", "CHILD") or not is_wanted(wish, ObjectType.PUBSUB, row):
        raise not_found(about)
    yield from show(wish, ObjectType.PUBSUB, row, ("STATUS",))
