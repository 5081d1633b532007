"""Subscriptions by command: which ones a command selects, their rows, and DEFINE, ALTER and DELETE SUB.

Subscriptions of programs are included. They are read in slices, so that neither the engine's lock nor memory grows
with their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

from ostler.command.admin import objects as admin_objects
from ostler.command.admin.context import CommandContext
from ostler.command.admin.objects import matches
from ostler.command.admin.permissions import authorize, authorize_topic
from ostler.engine import objects
from ostler.engine.core import Engine
from ostler.engine.pubsub.end_subscription import MANAGED_DURABLE, remove_subscription
from ostler.engine.pubsub.open_topic import named_topic
from ostler.engine.pubsub.retained_delivery import send_retained
from ostler.engine.pubsub.subscription import Subscription
from ostler.engine.pubsub.topic_strings import CharacterPattern, join_topic_strings
from ostler.engine.pubsub.topic_tree import DEFAULT_SUBSCRIPTION
from ostler.engine.queue.queue import Queue
from ostler.engine.selectors.selector import compile_selector
from ostler.model.attributes import ObjectType, Value, defaults
from ostler.model.authorities import PUT, SUB
from ostler.model.constants import (
    MQDC_MANAGED,
    MQOT_Q,
    MQRC_DURABILITY_NOT_ALLOWED,
    MQRC_NO_SUBSCRIPTION,
    MQRC_OBJECT_ALREADY_EXISTS,
    MQRC_SUB_INHIBITED,
    MQRC_UNKNOWN_OBJECT_NAME,
    MQRCCF_ATTR_VALUE_ERROR,
    MQRCCF_ATTR_VALUE_FIXED,
    MQRCCF_PUBSUB_INHIBITED,
    MQRU_PUBLISH_ON_REQUEST,
    MQSELTYPE_NONE,
    MQSELTYPE_STANDARD,
    MQSUB_DURABLE_NO,
    MQSUB_DURABLE_YES,
    MQSUBTYPE_ADMIN,
    MQSUBTYPE_API,
    MQSUBTYPE_PROXY,
    MQWS_CHAR,
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
class SubscriptionFilter:
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


SelectedSubscription = tuple[Definition, Subscription | None]
"""A definition and how it lives; the default subscription does not."""


def find_subscription(engine: Engine, name: str, identifier: str) -> SelectedSubscription:
    """The subscription with this name, this identifier, or both. MQError when there is none."""
    living = engine.topics.by_name.get(name) if name else _by_identifier(engine, identifier)
    definition = living.definition if living is not None else engine.of_type(ObjectType.SUB).get(name)
    if definition is None or (identifier and definition.attributes.get("SUBID") != identifier):
        raise MQError(MQRC_NO_SUBSCRIPTION, f"There is no subscription {name or identifier}.")
    return definition, living


def _by_identifier(engine: Engine, identifier: str) -> Subscription | None:
    return engine.topics.subscriptions.get(bytes.fromhex(identifier))


def select_subscriptions(context: CommandContext, choice: SubscriptionFilter) -> Iterator[list[SelectedSubscription]]:
    """The subscriptions that are meant, some at a time: by name while they are few."""
    if choice.identifier or "*" not in choice.pattern:
        yield context.query(partial(_one, choice))
        return
    held: list[SelectedSubscription] | None = context.query(partial(_default, choice))
    for found in _slices(context, choice):
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


def _name(each: SelectedSubscription) -> str:
    return each[0].name


def _one(choice: SubscriptionFilter, engine: Engine) -> list[SelectedSubscription]:
    name = choice.pattern if "*" not in choice.pattern else ""
    try:
        found = find_subscription(engine, name, choice.identifier)
    except MQError:
        return []
    return [found] if choice.accepts(found[0]) else []


def _default(choice: SubscriptionFilter, engine: Engine) -> list[SelectedSubscription]:
    """Definitions that do not live: the one that others are made like."""
    definition = engine.of_type(ObjectType.SUB).get(DEFAULT_SUBSCRIPTION)
    return [(definition, None)] if definition is not None and choice.accepts(definition) else []


def _slices(context: CommandContext, choice: SubscriptionFilter) -> Iterator[list[SelectedSubscription]]:
    """From the last one down: what is taken away meanwhile is replaced by one that was seen."""
    at = context.query(_count)
    while at > 0:
        yield context.query(partial(_slice, choice, at))
        at -= _SLICE


def _count(engine: Engine) -> int:
    return len(engine.topics.all_subscriptions)


def _slice(choice: SubscriptionFilter, end: int, engine: Engine) -> list[SelectedSubscription]:
    found = engine.topics.all_subscriptions[max(0, end - _SLICE) : end]
    return [(each.definition, each) for each in found if choice.accepts(each.definition)]


# -- what is known of one ----------------------------------------------------------------------------------------------


@cache
def _usual() -> dict[str, Value]:
    return defaults(ObjectType.SUB)


def subscription_row(engine: Engine, chosen_one: SelectedSubscription) -> dict[str, Value]:
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


def subscription_rows(found: Iterable[SelectedSubscription], engine: Engine) -> list[dict[str, Value]]:
    return [subscription_row(engine, each) for each in found if each[1] is None or not each[1].is_removed]


# -- define, alter and delete ------------------------------------------------------------------------------------------


# What a subscription is made with and keeps.
_LASTING: Final = ("TOPICSTR", "TOPICOBJ", "DESTCLAS", "SELECTOR", "SUBLEVEL", "SUBSCOPE", "WSCHEMA", "REQONLY")
# What the engine keeps in a definition beside the attributes.
_KEPT_BESIDE: Final = ("SUBID", "SUBTYPE", "WHOLETOPIC", "GROUPED")
_USER_LENGTH: Final = 64


def define_subscription(
    context: CommandContext, name: str, given: dict[str, Value], like: str | None, replace: bool
) -> None:
    """DEFINE SUB, by MQSC and by PCF. The user must be one who may subscribe, and put to the destination."""
    authorize(context, "DEFINE", ObjectType.SUB, name)
    topic, queue = context.query(partial(_leading, name, given, like))
    if topic:
        authorize_topic(context, topic, SUB)
    if queue:
        context.authorize(MQOT_Q, queue, PUT)
    context.change(partial(_make, name, given, like, replace, context.user))


def _leading(name: str, given: dict[str, Value], like: str | None, engine: Engine) -> tuple[str, str]:
    """The topic and the queue that a new subscription leads from and to; empty texts for what is not there."""
    existing = engine.of_type(ObjectType.SUB).get(name)
    if existing is not None:
        attributes = {**existing.attributes, **given}
    else:
        attributes = _with_model(engine, given, like)
    above = engine.of_type(ObjectType.TOPIC).get(str(attributes.get("TOPICOBJ", "")))
    of_object = str(above.attributes.get("TOPICSTR", "")) if above is not None else ""
    is_managed = attributes.get("DESTCLAS") == MQDC_MANAGED
    return join_topic_strings(of_object, str(attributes.get("TOPICSTR", ""))), _own_queue(
        engine, attributes, is_managed
    )


def _own_queue(engine: Engine, attributes: dict[str, Value], is_managed: bool) -> str:
    queue = str(attributes.get("DEST", ""))
    return queue if not is_managed and attributes.get("DESTQMGR", "") in ("", engine.name) else ""


def _make(name: str, given: dict[str, Value], like: str | None, replace: bool, user: str, engine: Engine) -> int:
    """The LSN behind all it wrote. Publications come to it from now on, retained ones at once."""
    known = engine.topics.by_name.get(name)
    existing = engine.of_type(ObjectType.SUB).get(name)
    if known is not None and not known.is_durable:
        raise MQError(MQRC_OBJECT_ALREADY_EXISTS, f"A program has a subscription {name} that is not durable.")
    if existing is not None and not replace:
        raise MQError(MQRC_OBJECT_ALREADY_EXISTS, f"{name} exists already.")
    if given.get("DURABLE") == MQSUB_DURABLE_NO:
        raise MQError(MQRCCF_ATTR_VALUE_ERROR, "DURABLE: a subscription made by a command is durable.")
    attributes = _with_model(engine, given, like)
    attributes.setdefault("SUBUSER", user[:_USER_LENGTH])
    if name == DEFAULT_SUBSCRIPTION:
        return admin_objects.define_object(engine, ObjectType.SUB, name, attributes, None, replace)
    if existing is not None:
        _keep(existing, given, attributes)
        check_destination(engine, attributes)
        return admin_objects.define_object(engine, ObjectType.SUB, name, attributes, None, True)
    return _make_anew(engine, name, attributes)


def _with_model(engine: Engine, given: dict[str, Value], like: str | None) -> dict[str, Value]:
    """What is given, on top of the subscription that the new one is to be like."""
    if like is None:
        return dict(given)
    model = find_subscription(engine, like, "")[0]
    attributes = {key: value for key, value in model.attributes.items() if key not in _KEPT_BESIDE}
    for date_and_time in ("CRDATE", "CRTIME", "ALTDATE", "ALTTIME", "ENDS", "DURABLE", "SUBUSER"):
        attributes.pop(date_and_time, None)
    if attributes.get("DESTCLAS") == MQDC_MANAGED:
        attributes.pop("DEST", None)
        attributes.pop("DESTQMGR", None)
    attributes.update(given)
    return attributes


def _make_anew(engine: Engine, name: str, attributes: dict[str, Value]) -> int:
    attributes["SUBTYPE"] = MQSUBTYPE_ADMIN
    # A script that builds a queue manager anew may give the identifier that there was.
    attributes.setdefault("SUBID", engine.new_id().hex().upper())
    _check_identifier(engine, attributes["SUBID"])
    wanted = admin_objects.merged_attributes(engine, ObjectType.SUB, name, attributes)
    topic = _check_topic(engine, wanted)
    managed: Queue | None = None
    if wanted.get("DESTCLAS") == MQDC_MANAGED:
        if wanted.get("DEST"):
            raise MQError(MQRCCF_ATTR_VALUE_ERROR, "DEST: with DESTCLAS(MANAGED) the queue manager makes the queue.")
        managed = _managed_queue(engine, topic)
        attributes["DEST"] = managed.name
        attributes["DESTQMGR"] = engine.name
    else:
        check_destination(engine, wanted)
    try:
        lsn = admin_objects.define_object(engine, ObjectType.SUB, name, attributes, None, False)
    except MQError:
        if managed is not None:
            objects.delete_queue(engine, managed)
        raise
    return max(lsn, _send_retained(engine, name))


def _send_retained(engine: Engine, name: str) -> int:
    """What was retained goes to the new one. The subscription stays when its queue does not take it now."""
    subscription = engine.topics.by_name[name]
    if subscription.definition.attributes.get("REQONLY") == MQRU_PUBLISH_ON_REQUEST:
        return 0
    try:
        return send_retained(engine, subscription)[1]
    except MQError as error:
        engine.notice(f"AMQ8101W: Retained publications did not reach the new subscription {name}: {error}")
        return 0


def _check_identifier(engine: Engine, identifier: Value) -> None:
    other = engine.topics.subscriptions.get(bytes.fromhex(str(identifier)))
    if other is not None:
        raise MQError(MQRCCF_ATTR_VALUE_ERROR, f"SUBID({identifier}) is the subscription {other.name}.")


def _keep(existing: Definition, given: dict[str, Value], attributes: dict[str, Value]) -> None:
    """What a subscription that is replaced keeps. Refuse to change it."""
    for key in (*_LASTING, *_KEPT_BESIDE):
        value = existing.attributes.get(key)
        if value is None:
            continue
        if given.get(key, value) != value:
            raise MQError(MQRCCF_ATTR_VALUE_FIXED, f"{key} of {existing.name} stays as it was made.")
        attributes[key] = value
    if existing.attributes.get("DESTCLAS") == MQDC_MANAGED:
        _check_no_destination(given)
        for key in ("DEST", "DESTQMGR"):
            attributes[key] = existing.attributes.get(key, "")


def _check_no_destination(given: dict[str, Value]) -> None:
    if given.get("DEST") or given.get("DESTQMGR"):
        raise MQError(MQRCCF_ATTR_VALUE_FIXED, "DEST: the queue of a managed subscription is the queue manager's.")


def _check_topic(engine: Engine, attributes: dict[str, Value]) -> str:
    """The whole topic of a new subscription, which must be one that may be subscribed to."""
    if engine.publishing_is_off:
        raise MQError(MQRCCF_PUBSUB_INHIBITED, "Publish/subscribe is off.")
    selector = str(attributes.get("SELECTOR", ""))
    if selector:
        compile_selector(selector)
    topic = named_topic(engine, str(attributes.get("TOPICOBJ", "")), str(attributes.get("TOPICSTR", "")))
    if attributes.get("WSCHEMA") == MQWS_CHAR:
        CharacterPattern(topic)
    settings = engine.topics.settings_of(topic)
    if not settings.may_subscribe:
        raise MQError(MQRC_SUB_INHIBITED, f"Nobody may subscribe to {topic[:256]} now.")
    if not settings.may_be_durable:
        raise MQError(MQRC_DURABILITY_NOT_ALLOWED, f"Subscriptions to {topic[:256]} must not be durable.")
    return topic


def _managed_queue(engine: Engine, topic: str) -> Queue:
    name = engine.topics.settings_of(topic).durable_model
    model = engine.of_type(ObjectType.QMODEL).get(name)
    if model is None:
        raise MQError(MQRC_UNKNOWN_OBJECT_NAME, f"The model queue {name} for managed queues does not exist.")
    return objects.create_dynamic(engine, model, f"{MANAGED_DURABLE}*")


def check_destination(engine: Engine, attributes: dict[str, Value]) -> None:
    """Where a subscription leads must exist, as far as it is here."""
    queue = _own_queue(engine, attributes, attributes.get("DESTCLAS") == MQDC_MANAGED)
    if queue and objects.queue_definition(engine, queue) is None:
        raise MQError(MQRC_UNKNOWN_OBJECT_NAME, f"There is no queue {queue}.")


def alter_subscription(context: CommandContext, name: str, identifier: str, given: dict[str, Value]) -> None:
    """ALTER SUB, by MQSC and by PCF."""
    authorize(context, "ALTER", ObjectType.SUB, name)
    queue = given.get("DEST")
    if isinstance(queue, str) and queue:
        context.authorize(MQOT_Q, queue, PUT)
    context.change(partial(_alter, name, identifier, given))


def _alter(name: str, identifier: str, given: dict[str, Value], engine: Engine) -> int:
    """The LSN behind its record, 0 for a subscription that is not durable."""
    definition, living = find_subscription(engine, name, identifier)
    if definition.attributes.get("DESTCLAS") == MQDC_MANAGED:
        _check_no_destination(given)
    changed = definition.altered(given, *admin_objects.date_and_time(engine.wall_ms()))
    check_destination(engine, changed.attributes)
    if "EXPIRY" in given:
        changed.attributes.pop("ENDS", None)
    if living is not None and not living.is_durable:
        living.configure(changed)
        engine.topics.schedule_expiry(living)
        engine.topics.version += 1
        return 0
    return admin_objects.apply_definition(engine, changed, True)


def delete_subscription(context: CommandContext, name: str, identifier: str) -> None:
    """DELETE SUB, by MQSC and by PCF: not while a program has it open."""
    authorize(context, "DELETE", ObjectType.SUB, name)
    context.change(partial(_remove, name, identifier))


def _remove(name: str, identifier: str, engine: Engine) -> int:
    definition, living = find_subscription(engine, name, identifier)
    if living is None:
        return objects.delete(engine, ObjectType.SUB, definition.name)
    return remove_subscription(engine, living)
