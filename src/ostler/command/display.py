"""DISPLAY of objects: which ones, which attributes, in which order, in two columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from ostler.command.administration import live_value, matches
from ostler.command.arguments import Options, find_attribute, value_of
from ostler.command.changes import Action, not_found
from ostler.command.filters import Filter, read_filter
from ostler.command.layout import bracketed, columns, listed
from ostler.command.nouns import Noun, message
from ostler.command.statements import Argument, Statement
from ostler.command.target import Target
from ostler.command.words import SyntaxProblem
from ostler.engine.core import Engine
from ostler.model.attributes import (
    Attribute,
    ObjectType,
    Shown,
    Value,
    ValueKind,
    attributes_of,
    find,
    has,
    subtype_of,
    to_text,
)
from ostler.model.definitions import Definition

Row = Mapping[str, Value]
"""What is known of an object, by the names of its attributes."""

_CHUNK_OBJECTS: Final = 100
_SUBTYPE_FILTERS: Final = {
    ObjectType.CHANNEL: ("CHLTYPE", "TYPE"),
    ObjectType.AUTHINFO: ("AUTHTYPE",),
    ObjectType.LISTENER: ("TRPTYPE",),
}
# Attributes come in the order of the alphabet, but for these: what each is sorted as.
_SORTED_AS: Final = {
    "CHLAUTH": "CHLEV~",
    "PSCLUS": "PSMODE~",
    "KEYRPWD": "SSLKEYQ",
    "CLCHNAME": "CLUSTER~",
    "DEFPRESP": "DEFPSIST~",
    "PROPCTL": "PUT~",
    "INSTTYPE": "CURRENT",
    "CURSHCNV": "~1",
    "MAXSHCNV": "~2",
    "RVERSION": "~3",
    "RPRODUCT": "~4",
}
# Types of objects whose attributes come in an order of their own; what is not named comes behind.
_OWN_ORDER: Final = {
    ObjectType.LISTENER: "CONTROL TRPTYPE PORT IPADDR BACKLOG DESCR ALTDATE ALTTIME",
    ObjectType.SERVICE: "CONTROL SERVTYPE STARTCMD STARTARG STOPCMD STOPARG STDOUT STDERR DESCR ALTDATE ALTTIME",
    ObjectType.NAMELIST: "NAMCOUNT NAMES DESCR ALTDATE ALTTIME",
    ObjectType.TOPIC: "DESCR CLUSTER CLROUTE DURSUB PUB SUB DEFPSIST DEFPRTY DEFPRESP ALTDATE ALTTIME PMSGDLV NPMSGDLV "
    "PUBSCOPE SUBSCOPE PROXYSUB WILDCARD MDURMDL MNDURMDL MCAST COMMINFO USEDLQ CUSTOM",
    ObjectType.LSSTATUS: "PID STARTDA STARTTI DESCR TRPTYPE CONTROL IPADDR PORT BACKLOG",
    ObjectType.CONN: "PID TID",
}


@dataclass(frozen=True)
class Wish:
    """What a DISPLAY asks for."""

    noun: Noun
    pattern: str
    names: tuple[str, ...]  # attributes asked for by name
    shows_all: bool
    filter: Filter | None
    subtypes: tuple[tuple[str, str], ...] = ()  # attributes that must have this word

    @property
    def is_generic(self) -> bool:
        return "*" in self.pattern


def read_wish(statement: Statement, noun: Noun, options: Options, shows_all_of_one: bool = True) -> Wish:
    """What is left of a DISPLAY when its own options are taken: ALL, WHERE, attributes, and types to look at.

    A display of one object by its full name that asks for nothing shows all of it, unless told otherwise.
    """
    kinds = noun.types
    pattern = _pattern(statement, noun)
    shows_all = options.switch("ALL")
    words = options.values("WHERE")
    condition = read_filter(kinds, words) if words is not None else None
    names: list[str] = []
    subtypes: list[tuple[str, str]] = []
    for argument in options.rest:
        if argument.values is None:
            names.append(_asked(kinds, argument).name)
        else:
            subtypes.append(_subtype(noun, argument))
    if condition is not None:
        names.append(condition.attribute.name)
    wants_all = shows_all or (shows_all_of_one and not names and "*" not in pattern)
    return Wish(noun, pattern, tuple(names), wants_all, condition, tuple(subtypes))


def _asked(kinds: tuple[ObjectType, ...], argument: Argument) -> Attribute:
    return find_attribute(kinds, argument.keyword, ("ALL", "WHERE"))


def _pattern(statement: Statement, noun: Noun) -> str:
    if noun.types[0] in (ObjectType.QMGR, ObjectType.QMSTATUS):
        if statement.name is not None:
            raise SyntaxProblem(statement.name.end, f"{noun.word} takes no name")
        return ""
    word = statement.name
    if word is None:
        raise SyntaxProblem(statement.noun.end, f"{statement.noun.text} needs a name in brackets, such as (*)")
    text = word.text.strip()
    if not text or "*" in text[:-1]:
        raise SyntaxProblem(word.end, "give a name, or a generic one that ends with an asterisk")
    return text


def _subtype(noun: Noun, argument: Argument) -> tuple[str, str]:
    """CHLTYPE(SVRCONN) and the like: only objects of that type."""
    kind = noun.types[0]
    word = argument.keyword
    allowed = ("TYPE", "QTYPE") if kind == ObjectType.QLOCAL else _SUBTYPE_FILTERS.get(kind, ())
    if word.text not in allowed:
        find_attribute(noun.types, word)
        raise SyntaxProblem(argument.end, f"{word.text} takes no value here; use WHERE to choose by value")
    attribute = find(kind, allowed[0])
    assert attribute is not None
    assert argument.values is not None
    if [value.text for value in argument.values] == ["ALL"]:
        return attribute.name, ""
    return attribute.name, to_text(attribute, value_of(attribute, argument))


# -- objects -----------------------------------------------------------------------------------------------------------


def display(statement: Statement, noun: Noun) -> Action:
    wish = read_wish(statement, noun, Options(statement))
    return partial(_display, wish)


def _display(wish: Wish, target: Target) -> Iterator[str]:
    """Objects a few at a time, so that a long display neither holds the engine up nor fills memory."""
    keys = target.look(partial(_keys, wish))
    found = False
    for at in range(0, len(keys), _CHUNK_OBJECTS):
        rows = target.look(partial(_rows, wish, keys[at : at + _CHUNK_OBJECTS]))
        for kind, row in rows:
            found = True
            yield from show(wish, kind, row)
    if not found:
        raise not_found(wish.pattern)


def _keys(wish: Wish, engine: Engine) -> list[tuple[str, ObjectType]]:
    keys: list[tuple[str, ObjectType]] = []
    for kind in wish.noun.types:
        if kind == ObjectType.QMGR:
            return [(engine.name, kind)]
        kept = (kind, ObjectType.CLNTCONN) if kind == ObjectType.CHANNEL else (kind,)
        for each in kept:
            keys += [(name, each) for name in engine.of_type(each) if matches(name, wish.pattern)]
    return sorted(keys, key=_name_and_type)


def _name_and_type(key: tuple[str, ObjectType]) -> tuple[str, str]:
    return key[0], key[1].value


def _rows(wish: Wish, keys: list[tuple[str, ObjectType]], engine: Engine) -> list[tuple[ObjectType, Row]]:
    rows: list[tuple[ObjectType, Row]] = []
    for name, kind in keys:
        definition = engine.manager if kind == ObjectType.QMGR else engine.of_type(kind).get(name)
        if definition is not None:
            row = object_row(engine, definition, wish.noun.name_attribute)
            if is_wanted(wish, definition.object_type, row):
                rows.append((definition.object_type, row))
    return rows


def object_row(engine: Engine, definition: Definition, name_attribute: str) -> Row:
    """All attributes of an object, with those that only the running queue knows."""
    kind = definition.object_type
    row = dict(definition.attributes)
    row[name_attribute] = definition.name
    if kind in (ObjectType.QLOCAL, ObjectType.QALIAS, ObjectType.QREMOTE, ObjectType.QMODEL):
        row["TYPE"] = kind.value
        for name in ("CURDEPTH", "IPPROCS", "OPPROCS"):
            live = live_value(engine, definition, name)
            if live is not None:
                row[name] = live
    elif kind == ObjectType.NAMELIST:
        names = row.get("NAMES", ())
        row["NAMCOUNT"] = len(names) if isinstance(names, tuple) else 0
    return row


def is_wanted(wish: Wish, kind: ObjectType, row: Row) -> bool:
    """Whether an object passes the filter and is of the type asked for."""
    for name, word in wish.subtypes:
        attribute = find(kind, name)
        value = row.get(name)
        if word and (attribute is None or value is None or to_text(attribute, value) != word):
            return False
    if wish.filter is None:
        return True
    name = wish.filter.attribute.name
    return wish.filter.accepts(_number(kind, name, row.get(name)))


def _number(kind: ObjectType, name: str, value: Value | None) -> Value | None:
    """A word in place of its number, as filters compare it."""
    attribute = find(kind, name)
    if attribute is not None and isinstance(value, str):
        for word, number in attribute.words:
            if word == value:
                return number
    return value


# -- rows --------------------------------------------------------------------------------------------------------------


def show(wish: Wish, kind: ObjectType, row: Row, names: Sequence[str] = ()) -> Iterator[str]:
    """An object as DISPLAY writes it. `names` are shown beside what every display of the kind shows."""
    noun = wish.noun
    yield message(noun.displayed, noun.title)
    subtype = subtype_of(kind, dict(row)) if kind in _SUBTYPE_FILTERS else ""
    wanted = {*wish.names, *names}
    rest: list[Attribute] = []
    for attribute in attributes_of(kind):
        if attribute.name in noun.heads or attribute.name not in row or not has(attribute, subtype):
            continue
        shown_always = wish.shows_all and attribute.shown in (Shown.ALWAYS, Shown.MASKED)
        if attribute.name in wanted or shown_always:
            rest.append(attribute)
    rest.sort(key=_order(kind, row))
    heads = [each for name in noun.heads if name in row and (each := find(kind, name)) is not None]
    items = [_item(attribute, row[attribute.name]) for attribute in (*heads, *rest)]
    yield from columns(items, len(heads) if kind == ObjectType.CONN else 0)


def _order(kind: ObjectType, row: Row) -> Callable[[Attribute], tuple[int, str]]:
    own = _OWN_ORDER.get(kind, "").split()

    def key(attribute: Attribute) -> tuple[int, str]:
        if attribute.name in own:
            return own.index(attribute.name), ""
        shown = to_text(attribute, row[attribute.name]) if attribute.kind == ValueKind.FLAG else attribute.name
        return len(own), _SORTED_AS.get(attribute.name, shown)

    return key


def _item(attribute: Attribute, value: Value) -> str:
    if attribute.kind == ValueKind.FLAG or attribute.name == "INSTTYPE":
        return to_text(attribute, value)
    if attribute.kind == ValueKind.NAMES and isinstance(value, tuple):
        return listed(attribute.name, value)
    return bracketed(attribute.name, to_text(attribute, value))
