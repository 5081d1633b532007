"""DISPLAY TPSTATUS, SBSTATUS and PUBSUB: the tree of topics as it is defined, and who has subscribed to what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace as replaced
from functools import partial
from typing import Final

from ostler.command.arguments import Options
from ostler.command.changes import Action, not_found
from ostler.command.display import Row, Wish, is_wanted, read_wish, show
from ostler.command.nouns import Noun
from ostler.command.permissions import authorize
from ostler.command.statements import Statement
from ostler.command.subscriptions import matching, named_or_all, subscription_choice
from ostler.command.target import Target
from ostler.command.words import SyntaxProblem, Word, WordKind
from ostler.engine.core import Engine
from ostler.model.attributes import ObjectType, Value, find, to_text
from ostler.model.constants import MQCLROUTE_NONE
from ostler.model.definitions import Definition

_BASE: Final = "SYSTEM.BASE.TOPIC"
_DEFAULT: Final = "SYSTEM.DEFAULT.TOPIC"
# What a topic takes from above when nobody says anything at its own place.
_INHERITED: Final = (
    "CAPEXPRY",
    "CLUSTER",
    "COMMINFO",
    "DEFPRESP",
    "DEFPRTY",
    "DEFPSIST",
    "DURSUB",
    "MCAST",
    "MDURMDL",
    "MNDURMDL",
    "NPMSGDLV",
    "PMSGDLV",
    "PUB",
    "PUBSCOPE",
    "SUB",
    "SUBSCOPE",
    "USEDLQ",
)
_NO_CONNECTION: Final = "0" * 48


class TopicTree:
    """The places of topic objects and subscriptions, and all places above them. The root is the empty text."""

    def __init__(self, engine: Engine) -> None:
        self.objects: dict[str, Definition] = {}
        self.subscriptions: dict[str, list[Definition]] = {}
        for definition in engine.of_type(ObjectType.TOPIC).values():
            if definition.name != _DEFAULT:
                self.objects[_text(definition, "TOPICSTR")] = definition
        base = engine.of_type(ObjectType.TOPIC).get(_BASE)
        if base is not None:
            self.objects[""] = base
        for definition in engine.of_type(ObjectType.SUB).values():
            place = full_topic(engine, definition)
            if place:
                self.subscriptions.setdefault(place, []).append(definition)
        self.places: set[str] = {""}
        for place in (*self.objects, *self.subscriptions):
            self._add(place)

    def _add(self, place: str) -> None:
        while place not in self.places:
            self.places.add(place)
            place = parent(place)

    def resolved(self, place: str, name: str) -> Value:
        """An attribute as it counts at a place: of the nearest object that does not leave it to its parent."""
        while True:
            definition = self.objects.get(place)
            value = definition.attributes.get(name) if definition is not None else None
            if value is not None and not _is_left_open(name, value):
                return value
            if not place:
                return value if value is not None else ""
            place = parent(place)


def parent(place: str) -> str:
    """The place above one; above the first level is the root."""
    return place.rpartition("/")[0]


def full_topic(engine: Engine, subscription: Definition) -> str:
    """The whole topic string of a subscription: that of its topic object, and what it has of its own below it."""
    own = _text(subscription, "TOPICSTR")
    topic = engine.of_type(ObjectType.TOPIC).get(_text(subscription, "TOPICOBJ"))
    above = _text(topic, "TOPICSTR") if topic is not None else ""
    return f"{above}/{own}" if above and own else above or own


def _text(definition: Definition, name: str) -> str:
    value = definition.attributes.get(name, "")
    return value if isinstance(value, str) else ""


def _is_left_open(name: str, value: Value) -> bool:
    attribute = find(ObjectType.TOPIC, name)
    return value == "" or (attribute is not None and to_text(attribute, value) == "ASPARENT")


def topic_matches(place: str, pattern: str) -> bool:
    """Whether a topic string fits one with wildcards: + is one level, # any number of them."""
    return _levels_match(place.split("/") if place else [], pattern.split("/") if pattern else [])


def _levels_match(levels: list[str], wanted: list[str]) -> bool:
    # One row of a table per level: which beginnings of the pattern the levels so far can be.
    reached = [True] + [False] * len(wanted)
    for at, word in enumerate(wanted):
        reached[at + 1] = reached[at] and word == "#"
    for level in levels:
        following = [False] * (len(wanted) + 1)
        for at, word in enumerate(wanted):
            if word == "#":
                following[at + 1] = following[at] or reached[at] or reached[at + 1]
            else:
                following[at + 1] = reached[at] and word in ("+", level)
        reached = following
    return reached[-1]


# -- DISPLAY TPSTATUS --------------------------------------------------------------------------------------------------


def topic_status(statement: Statement, noun: Noun) -> Action:
    word = statement.name
    if word is None:
        raise SyntaxProblem(
            statement.noun.end, f"{statement.noun.text} needs a topic string in brackets, such as ('#')"
        )
    options = Options(statement)
    about = options.choice("TYPE", "TOPIC", "SUB", "PUB")
    anything = replaced(statement, name=Word(WordKind.WORD, "*", word.start, word.end))
    wish = read_wish(anything, noun, options)
    has_wildcards = any(level in ("#", "+") for level in word.text.split("/"))
    if not wish.names and not has_wildcards:
        wish = replaced(wish, shows_all=True)
    return partial(_topic_status, wish, word.text, about)


def _topic_status(wish: Wish, pattern: str, about: str, target: Target) -> Iterator[str]:
    authorize(target, "DISPLAY", ObjectType.QMGR, "")
    found = False
    for row in target.look(partial(topic_rows, pattern, about)):
        if is_wanted(wish, ObjectType.TPSTATUS, row):
            found = True
            yield from show(wish, ObjectType.TPSTATUS, row)
    if not found:
        raise not_found(pattern)


def topic_rows(pattern: str, about: str, engine: Engine) -> list[Row]:
    tree = TopicTree(engine)
    places = sorted(place for place in tree.places if topic_matches(place, pattern))
    if about == "TOPIC":
        return [topic_row(tree, place) for place in places]
    if about == "PUB":
        return []  # nobody publishes yet
    return [
        {"TOPICSTR": place, "TYPE": "SUB", **_subscriber(each)}
        for place in places
        for each in tree.subscriptions.get(place, [])
    ]


def topic_row(tree: TopicTree, place: str) -> Row:
    """TPSTATUS TYPE(TOPIC)."""
    definition = tree.objects.get(place)
    row: dict[str, Value] = {"TOPICSTR": place, "TYPE": "TOPIC", "ADMIN": definition.name if definition else ""}
    for name in _INHERITED:
        row[name] = tree.resolved(place, name)
    row["CLROUTE"] = tree.resolved(place, "CLROUTE") if row["CLUSTER"] else MQCLROUTE_NONE
    row["PUBCOUNT"] = 0
    row["RETAINED"] = "NO"
    row["SUBCOUNT"] = len(tree.subscriptions.get(place, []))
    return row


def _subscriber(subscription: Definition) -> Mapping[str, Value]:
    """What TPSTATUS TYPE(SUB) and SBSTATUS both show."""
    attributes = subscription.attributes
    return {
        "SUBID": attributes.get("SUBID", _NO_CONNECTION),
        "SUBUSER": attributes.get("SUBUSER", ""),
        "SUBTYPE": attributes.get("SUBTYPE", "ADMIN"),
        "DURABLE": attributes.get("DURABLE", "YES"),
        "ACTCONN": _NO_CONNECTION,
        "LMSGDATE": "",
        "LMSGTIME": "",
        "MCASTREL": ("", ""),
        "NUMMSGS": 0,
        "RESMDATE": attributes.get("CRDATE", ""),
        "RESMTIME": attributes.get("CRTIME", ""),
    }


# -- DISPLAY SBSTATUS --------------------------------------------------------------------------------------------------


def subscription_status(statement: Statement, noun: Noun) -> Action:
    options = Options(statement)
    identifier, types, durable = subscription_choice(statement, options)
    wish = read_wish(named_or_all(statement, identifier), noun, options)
    if identifier and not wish.names:
        wish = replaced(wish, shows_all=True)
    return partial(_subscription_status, wish, identifier, types, durable)


def _subscription_status(wish: Wish, identifier: str, types: str, durable: str, target: Target) -> Iterator[str]:
    authorize(target, "DISPLAY", ObjectType.SUB, "")
    names = target.look(partial(matching, wish.pattern, identifier, types, durable))
    found = False
    for row in target.look(partial(subscription_rows, names)):
        if is_wanted(wish, ObjectType.SBSTATUS, row):
            found = True
            yield from show(wish, ObjectType.SBSTATUS, row)
    if not found:
        raise not_found(identifier or wish.pattern)


def subscription_rows(names: list[str], engine: Engine) -> list[Row]:
    known = engine.of_type(ObjectType.SUB)
    return [
        {"SUB": name, "TOPICSTR": full_topic(engine, known[name]), **_subscriber(known[name])}
        for name in names
        if name in known
    ]


# -- DISPLAY PUBSUB ----------------------------------------------------------------------------------------------------


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


def pubsub_row(engine: Engine) -> Row:
    # Topics and subscriptions are kept; nothing is published in this release.
    return {
        "QMNAME": engine.name,
        "TYPE": "LOCAL",
        "STATUS": "INACTIVE",
        "SUBCOUNT": len(engine.of_type(ObjectType.SUB)),
        "TPCOUNT": len(TopicTree(engine).places),
    }
