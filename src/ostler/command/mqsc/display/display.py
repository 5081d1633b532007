"""DISPLAY of objects: parses the request, selects objects and yields their attributes in two columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from heapq import merge
from itertools import islice
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.command.admin.objects import live_value, matches
from ostler.command.admin.permissions import mqot
from ostler.command.group.changes import check_disposition
from ostler.command.group.displays import DISPLAYED, group_rows, is_displayed, refresh_shared
from ostler.command.mqsc.arguments import CommandOptions, find_attribute, value_of
from ostler.command.mqsc.define_alter_delete import Action, not_found
from ostler.command.mqsc.display.attribute_groups import group, group_words, may_be_generic, selecting_attribute
from ostler.command.mqsc.display.attribute_order import in_order, lone_heads
from ostler.command.mqsc.display.filters import Filter, parse_filter
from ostler.command.mqsc.display.layout import bracketed, bracketed_list, columns
from ostler.command.mqsc.grammar import QUEUE_TYPES, Noun, message
from ostler.command.mqsc.statements import Argument, Statement
from ostler.command.mqsc.tokens import MqscSyntaxError
from ostler.engine.core import Engine
from ostler.engine.inquire import identifier
from ostler.model import constants as mq
from ostler.model.attributes import (
    Attribute,
    ObjectType,
    Value,
    ValueKind,
    find,
    has_subtypes,
    subtype_of,
    to_text,
)
from ostler.model.authorities import DSP
from ostler.model.definitions import Definition

Row = Mapping[str, Value]
"""The values of an object by the names of its attributes."""

_CHUNK_OBJECTS: Final = 100
_NAMELESS: Final = (ObjectType.QMGR, ObjectType.QMSTATUS, ObjectType.PUBSUB)


@dataclass(frozen=True)
class DisplayRequest:
    """A parsed DISPLAY."""

    noun: Noun
    pattern: str
    names: tuple[str, ...]  # attributes named in the command
    shows_all: bool
    filter: Filter | None
    selectors: tuple[tuple[str, str], ...] = ()  # attributes that must have a value, which may be generic

    @property
    def is_generic(self) -> bool:
        return "*" in self.pattern


def parse_display_request(
    statement: Statement, noun: Noun, options: CommandOptions, shows_all_of_one: bool = True
) -> DisplayRequest:
    """Parses the rest of a DISPLAY: ALL, WHERE, attributes, groups of attributes, and values that select objects.

    A display of one object by its full name without attributes shows all of them, if `shows_all_of_one`.
    """
    kinds = noun.types
    shows_all = options.switch("ALL")
    words = options.values("WHERE")
    names: list[str] = []
    selectors: dict[str, str] = {}
    seen: set[str] = set()
    for argument in options.rest:
        word = argument.keyword
        if word.text in seen:
            raise MqscSyntaxError(word.end, f"{word.text} is given twice")
        seen.add(word.text)
        if argument.values is not None:
            name, value = _selector(noun, argument)
            selectors[name] = value
        else:
            names += group(kinds, word.text) or [_requested_attribute(kinds, argument).name]
    condition = parse_filter(_queryable_types(kinds), words) if words is not None else None
    if condition is not None:
        if condition.attribute.name in selectors:
            raise MqscSyntaxError(words[0].end if words else 0, f"{condition.attribute.name} selects objects already")
        names.append(condition.attribute.name)
    pattern = _pattern(statement, noun, selectors)
    wants_all = shows_all or (shows_all_of_one and not names and "*" not in pattern)
    kept = tuple((name, value) for name, value in selectors.items() if value)
    return DisplayRequest(noun, pattern, tuple(names), wants_all, condition, kept)


def _queryable_types(kinds: tuple[ObjectType, ...]) -> tuple[ObjectType, ...]:
    """Returns the types whose attributes may be named. A queue shows nothing for attributes of other queue types."""
    return (*kinds, *(kind for kind in QUEUE_TYPES if kind not in kinds)) if kinds[0] in QUEUE_TYPES else kinds


def _requested_attribute(kinds: tuple[ObjectType, ...], argument: Argument) -> Attribute:
    for kind in _queryable_types(kinds):
        attribute = find(kind, argument.keyword.text)
        if attribute is not None:
            return attribute
    return find_attribute(kinds, argument.keyword, ("ALL", "WHERE", *group_words(kinds)))


def _pattern(statement: Statement, noun: Noun, selectors: Collection[str]) -> str:
    word = statement.name
    if noun.types[0] in _NAMELESS:
        if word is not None:
            raise MqscSyntaxError(word.end, f"{noun.word} takes no name")
        return ""
    if word is None:
        if "SUBID" in selectors:
            return "*"
        raise MqscSyntaxError(statement.noun.end, f"{statement.noun.text} needs a name in brackets, such as (*)")
    text = word.text.strip()
    if not text or "*" in text[:-1]:
        raise MqscSyntaxError(word.end, "give a name, or a generic one that ends with an asterisk")
    return text


def _selector(noun: Noun, argument: Argument) -> tuple[str, str]:
    """Parses a selector such as CHLTYPE(SVRCONN) or CLUSTER(A*). An empty value selects all."""
    word = argument.keyword
    assert argument.values is not None
    name = selecting_attribute(noun.types, word.text)
    if not name or all(find(kind, name) is None for kind in noun.types):
        attribute = find_attribute(noun.types, word)
        raise MqscSyntaxError(argument.end, f"{attribute.name} takes no value here; use WHERE to choose by value")
    attribute = _attribute(noun.types, name)
    texts = [value.text for value in argument.values]
    if texts in (["ALL"], ["*"]):
        return name, ""
    if may_be_generic(name) and len(texts) == 1 and "*" in texts[0]:
        if "*" in texts[0][:-1]:
            raise MqscSyntaxError(argument.values[0].end, "the asterisk of a generic value is its last character")
        return name, texts[0]
    return name, to_text(attribute, value_of(attribute, argument))


def _attribute(kinds: tuple[ObjectType, ...], name: str) -> Attribute:
    for kind in kinds:
        attribute = find(kind, name)
        if attribute is not None:
            return attribute
    raise AssertionError(f"no type among {kinds} has {name}")


# -- objects -----------------------------------------------------------------------------------------------------------


def display(statement: Statement, noun: Noun) -> Action:
    options = CommandOptions(statement)
    disposition = "LIVE"
    given = statement.argument("QSGDISP")
    if given is not None and given.values is not None:
        disposition = options.choice("QSGDISP", *DISPLAYED)
    request = parse_display_request(statement, noun, options)
    return partial(_display, request, disposition)


def _display(request: DisplayRequest, disposition: str, context: CommandContext) -> Iterator[str]:
    """Yields objects in chunks, so that a long display holds the engine's lock briefly and needs little memory."""
    check_disposition(context, DISPLAYED[disposition])
    names = context.query(partial(_names, request))
    refresh_shared(context, names)
    if not request.is_generic:
        for kind, one in names:
            context.authorize(mqot(kind), one[0], DSP)
    keys = merge(*[_visible_names(context, sorted(each), kind) for kind, each in names], key=_name_and_type)
    found = False
    while chunk := list(islice(keys, _CHUNK_OBJECTS)):
        for kind, row in context.query(partial(_rows, request, chunk)):
            if is_displayed(row, disposition):
                found = True
                yield from display_lines(request, kind, row)
    for kind, row in group_rows(context, request.noun.types, request.pattern, request.noun.name_attribute, disposition):
        if is_selected(request, kind, row) and context.is_authorized(mqot(kind), request.pattern, DSP):
            found = True
            yield from display_lines(request, kind, row)
    if not found:
        raise not_found(request.pattern)


def _names(request: DisplayRequest, engine: Engine) -> list[tuple[ObjectType, list[str]]]:
    """Returns the matching names of each type of object, to be sorted without the lock."""
    found: list[tuple[ObjectType, list[str]]] = []
    for kind in request.noun.types:
        if kind == ObjectType.QMGR:
            return [(kind, [engine.name])]
        kept = (kind, ObjectType.CLNTCONN) if kind == ObjectType.CHANNEL else (kind,)
        for each in kept:
            known = engine.of_type(each)
            if request.is_generic:
                stem = request.pattern[:-1]
                found.append((each, [name for name in known if name.startswith(stem)]))
            elif request.pattern in known:
                found.append((each, [request.pattern]))
    return found


def _visible_names(context: CommandContext, names: list[str], kind: ObjectType) -> Iterator[tuple[str, ObjectType]]:
    """Yields the names that the user may display."""
    object_type = mqot(kind)
    for name in names:
        if context.is_authorized(object_type, name, DSP):
            yield name, kind


def _name_and_type(key: tuple[str, ObjectType]) -> tuple[str, str]:
    return key[0], key[1].value


def _rows(request: DisplayRequest, keys: list[tuple[str, ObjectType]], engine: Engine) -> list[tuple[ObjectType, Row]]:
    rows: list[tuple[ObjectType, Row]] = []
    for name, kind in keys:
        definition = engine.manager if kind == ObjectType.QMGR else engine.of_type(kind).get(name)
        if definition is not None:
            row = object_row(engine, definition, request.noun.name_attribute)
            if is_selected(request, definition.object_type, row):
                rows.append((definition.object_type, row))
    return rows


def object_row(engine: Engine, definition: Definition, name_attribute: str) -> Row:
    """Returns all attributes of an object, with the current values of a local queue."""
    kind = definition.object_type
    row = dict(definition.attributes)
    row[name_attribute] = definition.name
    if kind in (ObjectType.QLOCAL, ObjectType.QALIAS, ObjectType.QREMOTE, ObjectType.QMODEL):
        row["TYPE"] = kind.value
        for name in ("CURDEPTH", "IPPROCS", "OPPROCS"):
            live = live_value(engine, definition, name)
            if live is not None:
                row[name] = live
    elif kind == ObjectType.QMGR:
        row["QMID"] = identifier(definition)
        if engine.sharing is not None:
            row["QSGNAME"] = engine.sharing.group
    elif kind == ObjectType.NAMELIST:
        names = row.get("NAMES", ())
        row["NAMCOUNT"] = len(names) if isinstance(names, tuple) else 0
    if engine.sharing is not None and find(kind, "QSGDISP") is not None:
        row.setdefault("QSGDISP", mq.MQQSGD_Q_MGR)
    return row


def is_selected(request: DisplayRequest, kind: ObjectType, row: Row) -> bool:
    """Returns whether an object passes the selectors and the filter."""
    for name, word in request.selectors:
        attribute = find(kind, name)
        if attribute is None and name != "TYPE":
            continue  # in MQ objects without the attribute are not excluded
        value = row.get(name)
        if attribute is None or value is None or not matches(to_text(attribute, value), word):
            return False
    if request.filter is None:
        return True
    name = request.filter.attribute.name
    return request.filter.accepts(_number(kind, name, row.get(name)))


def _number(kind: ObjectType, name: str, value: Value | None) -> Value | None:
    """Returns the number of a word, as filters compare numbers."""
    attribute = find(kind, name)
    if attribute is not None and isinstance(value, str):
        for word, number in attribute.words:
            if word == value:
                return number
    return value


# -- rows --------------------------------------------------------------------------------------------------------------


def display_lines(request: DisplayRequest, kind: ObjectType, row: Row, names: Sequence[str] = ()) -> Iterator[str]:
    """Yields the lines of an object. `names` are attributes to show in any case."""
    noun = request.noun
    yield message(noun.displayed, noun.title)
    values = row if isinstance(row, dict) else dict(row)
    subtype = subtype_of(kind, values) if has_subtypes(kind) else ""
    heads = [each for each in _heads(kind, noun.heads) if each.name in values]
    items = [_item(each, values[each.name]) for each in heads]
    wanted = frozenset((*request.names, *names))
    items += [
        _item(each, values[each.name])
        for each in in_order(kind, subtype, values, noun.heads, wanted, request.shows_all)
        if each.name in values
    ]
    yield from columns(items, lone_heads(kind, len(heads)))


class StatusLines:
    """Formats very many rows of a type without subtypes; their order and texts are computed once."""

    def __init__(self, request: DisplayRequest, kind: ObjectType) -> None:
        noun = request.noun
        self._first = message(noun.displayed, noun.title)
        self._alone = lone_heads(kind, len(noun.heads))
        wanted = frozenset(request.names)
        self._attributes = _heads(kind, noun.heads) + in_order(kind, "", {}, noun.heads, wanted, request.shows_all)
        self._texts: dict[tuple[str, Value], str] = {}  # of words, of which there are few

    def lines(self, row: Row) -> list[str]:
        items: list[str] = []
        for attribute in self._attributes:
            name = attribute.name
            value = row.get(name)
            if value is None:
                continue
            text = self._texts.get((name, value))
            if text is None:
                text = _item(attribute, value)
                if attribute.words:
                    self._texts[(name, value)] = text
            items.append(text)
        return [self._first, *columns(items, self._alone)]


@lru_cache(maxsize=64)
def _heads(kind: ObjectType, names: tuple[str, ...]) -> tuple[Attribute, ...]:
    return tuple(each for name in names if (each := find(kind, name)) is not None)


def _item(attribute: Attribute, value: Value) -> str:
    if attribute.kind == ValueKind.FLAG or attribute.name == "INSTTYPE":
        return to_text(attribute, value)
    if attribute.kind == ValueKind.NAMES and isinstance(value, tuple):
        return bracketed_list(attribute.name, value)
    return bracketed(attribute.name, to_text(attribute, value))
