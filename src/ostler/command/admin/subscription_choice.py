"""Which subscriptions a command is about, those of programs included, and what is known of each.

They are gone through in slices, so that neither the engine nor memory feels how many there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

from ostler.command.admin.context import Target
from ostler.command.admin.objects import matches
from ostler.engine.core import Engine
from ostler.engine.pubsub.subscription import Subscription
from ostler.engine.pubsub.topic_tree import DEFAULT_SUBSCRIPTION
from ostler.model.attributes import ObjectType, Value, defaults
from ostler.model.constants import (
    MQRC_NO_SUBSCRIPTION,
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

_SLICE: Final = 200
# So many are shown in the order of their names; more than that as they come.
_SORTED_MAX: Final = 10_000
NO_IDENTIFIER: Final = "0" * 48
SUBTYPES: Final[dict[str, tuple[int, ...]]] = {
    "USER": (MQSUBTYPE_ADMIN, MQSUBTYPE_API),
    "ALL": (MQSUBTYPE_ADMIN, MQSUBTYPE_API, MQSUBTYPE_PROXY),
    "ADMIN": (MQSUBTYPE_ADMIN,),
    "API": (MQSUBTYPE_API,),
    "PROXY": (MQSUBTYPE_PROXY,),
}
DURABLE: Final[dict[str, tuple[int, ...]]] = {
    "ALL": (MQSUB_DURABLE_YES, MQSUB_DURABLE_NO),
    "YES": (MQSUB_DURABLE_YES,),
    "NO": (MQSUB_DURABLE_NO,),
}


@dataclass(frozen=True)
class Choice:
    """What a command says of the subscriptions it is about."""

    pattern: str = "*"  # a generic name
    identifier: str = ""
    types: str = "USER"
    durable: str = "ALL"

    def accepts(self, definition: Definition) -> bool:
        attributes = definition.attributes
        return (
            attributes.get("SUBTYPE", MQSUBTYPE_ADMIN) in SUBTYPES[self.types]
            and attributes.get("DURABLE", MQSUB_DURABLE_YES) in DURABLE[self.durable]
            and (not self.identifier or attributes.get("SUBID", NO_IDENTIFIER) == self.identifier)
            and matches(definition.name, self.pattern)
        )


Chosen = tuple[Definition, Subscription | None]
"""A definition and how it lives; the default subscription does not."""


def find_subscription(engine: Engine, name: str, identifier: str) -> Chosen:
    """The subscription with this name, this identifier, or both. MQError when there is none."""
    living = engine.topics.by_name.get(name) if name else _by_identifier(engine, identifier)
    definition = living.definition if living is not None else engine.of_type(ObjectType.SUB).get(name)
    if definition is None or (identifier and definition.attributes.get("SUBID") != identifier):
        raise MQError(MQRC_NO_SUBSCRIPTION, f"There is no subscription {name or identifier}.")
    return definition, living


def _by_identifier(engine: Engine, identifier: str) -> Subscription | None:
    return engine.topics.subscriptions.get(bytes.fromhex(identifier))


def chosen(target: Target, choice: Choice) -> Iterator[list[Chosen]]:
    """The subscriptions that are meant, some at a time: by name while they are few."""
    if choice.identifier or "*" not in choice.pattern:
        yield target.look(partial(_one, choice))
        return
    held: list[Chosen] | None = target.look(partial(_default, choice))
    for found in _slices(target, choice):
        if held is None:
            yield found
            continue
        held += found
        if len(held) > _SORTED_MAX:
            yield held
            held = None
    if held is not None:
        held.sort(key=_name)
        for at in range(0, len(held), _SLICE):
            yield held[at : at + _SLICE]


def _name(each: Chosen) -> str:
    return each[0].name


def _one(choice: Choice, engine: Engine) -> list[Chosen]:
    name = choice.pattern if "*" not in choice.pattern else ""
    try:
        found = find_subscription(engine, name, choice.identifier)
    except MQError:
        return []
    return [found] if choice.accepts(found[0]) else []


def _default(choice: Choice, engine: Engine) -> list[Chosen]:
    """Definitions that do not live: the one that others are made like."""
    definition = engine.of_type(ObjectType.SUB).get(DEFAULT_SUBSCRIPTION)
    return [(definition, None)] if definition is not None and choice.accepts(definition) else []


def _slices(target: Target, choice: Choice) -> Iterator[list[Chosen]]:
    """From the last one down: what is taken away meanwhile is replaced by one that was seen."""
    at = target.look(_count)
    while at > 0:
        yield target.look(partial(_slice, choice, at))
        at -= _SLICE


def _count(engine: Engine) -> int:
    return len(engine.topics.all_subscriptions)


def _slice(choice: Choice, end: int, engine: Engine) -> list[Chosen]:
    found = engine.topics.all_subscriptions[max(0, end - _SLICE) : end]
    return [(each.definition, each) for each in found if choice.accepts(each.definition)]


# -- what is known of one ----------------------------------------------------------------------------------------------


@cache
def _usual() -> dict[str, Value]:
    return defaults(ObjectType.SUB)


def subscription_row(engine: Engine, chosen_one: Chosen) -> dict[str, Value]:
    """All of a subscription: what it says, what it leaves to the defaults, and what follows from the rest."""
    definition, living = chosen_one
    row = {**_usual(), **definition.attributes}
    row["SUB"] = definition.name
    row.setdefault("SUBID", NO_IDENTIFIER)
    if living is not None:
        row["DESTCORL"] = living.correlation_id.hex().upper()
    for changed, made in (("ALTDATE", "CRDATE"), ("ALTTIME", "CRTIME")):
        if made in row:
            row.setdefault(changed, row[made])
    if row.get("DEST") and not row.get("DESTQMGR"):
        row["DESTQMGR"] = engine.name
    row["SELTYPE"] = MQSELTYPE_STANDARD if row.get("SELECTOR") else MQSELTYPE_NONE
    return row


def subscription_rows(found: Iterable[Chosen], engine: Engine) -> list[dict[str, Value]]:
    return [subscription_row(engine, each) for each in found if each[1] is None or not each[1].is_removed]
