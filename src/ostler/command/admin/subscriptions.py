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
from ostler.engine.pubsub.retained_delivery import DEFINED, RETAINED_AT_ONCE, begin_retained, send_retained
from ostler.engine.pubsub.subscription import Subscription
from ostler.engine.pubsub.topic_strings import CharacterPattern, join_topic_strings
from ostler.engine.pubsub.topic_tree import DEFAULT_SUBSCRIPTION
from ostler.engine.queue.queue import Queue
from ostler.engine.selectors.selector import compile_selector
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value, defaults
from ostler.model.authorities import PUT, SUB
from ostler.model.definitions import Definition
from ostler.model.errors import MQError

_SLICE: Final = 200
# Up to this many are sorted by name; more are returned in the order of the tree.
_SORTED_MAX: Final = 10_000
NO_IDENTIFIER: Final = "0" * 48
SUBTYPES: Final[dict[str, tuple[int, ...]]] = {
    "USER": (mq.MQSUBTYPE_ADMIN, mq.MQSUBTYPE_API),
    "ALL": (mq.MQSUBTYPE_ADMIN, mq.MQSUBTYPE_API, mq.MQSUBTYPE_PROXY),
    "ADMIN": (mq.MQSUBTYPE_ADMIN,),
    "API": (mq.MQSUBTYPE_API,),
    "PROXY": (mq.MQSUBTYPE_PROXY,),
}
DURABLE: Final[dict[str, tuple[int, ...]]] = {
    "ALL": (mq.MQSUB_DURABLE_YES, mq.MQSUB_DURABLE_NO),
    "YES": (mq.MQSUB_DURABLE_YES,),
    "NO": (mq.MQSUB_DURABLE_NO,),
}


@dataclass(frozen=True)
class SubscriptionFilter:
    """Selects subscriptions by name, identifier, type and durability."""

    pattern: str = "*"  # a generic name
    identifier: str = ""
    types: str = "USER"
    durable: str = "ALL"

    def accepts(self, definition: Definition) -> bool:
        attributes = definition.attributes
        return (
            attributes.get("SUBTYPE", mq.MQSUBTYPE_ADMIN) in SUBTYPES[self.types]
            and attributes.get("DURABLE", mq.MQSUB_DURABLE_YES) in DURABLE[self.durable]
            and (not self.identifier or attributes.get("SUBID", NO_IDENTIFIER) == self.identifier)
            and matches(definition.name, self.pattern)
        )


SelectedSubscription = tuple[Definition, Subscription | None]
"""A definition and its live subscription; None for the default subscription, which has none."""


def find_subscription(engine: Engine, name: str, identifier: str) -> SelectedSubscription:
    """Returns the subscription with this name, identifier, or both. Raises MQError if there is none."""
    live = engine.topics.by_name.get(name) if name else _by_identifier(engine, identifier)
    definition = live.definition if live is not None else engine.of_type(ObjectType.SUB).get(name)
    if definition is None or (identifier and definition.attributes.get("SUBID") != identifier):
        raise MQError(mq.MQRC_NO_SUBSCRIPTION, f"There is no subscription {name or identifier}.")
    return definition, live


def _by_identifier(engine: Engine, identifier: str) -> Subscription | None:
    return engine.topics.subscriptions.get(bytes.fromhex(identifier))


def select_subscriptions(context: CommandContext, choice: SubscriptionFilter) -> Iterator[list[SelectedSubscription]]:
    """Yields the selected subscriptions in slices: sorted by name unless there are too many."""
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
    """Returns the default subscription, if it is selected: a definition without a live subscription."""
    definition = engine.of_type(ObjectType.SUB).get(DEFAULT_SUBSCRIPTION)
    return [(definition, None)] if definition is not None and choice.accepts(definition) else []


def _slices(context: CommandContext, choice: SubscriptionFilter) -> Iterator[list[SelectedSubscription]]:
    """Yields slices from the end: a subscription removed meanwhile is replaced by one that was read already."""
    at = context.query(_count)
    while at > 0:
        yield context.query(partial(_slice, choice, at))
        at -= _SLICE


def _count(engine: Engine) -> int:
    return len(engine.topics.all_subscriptions)


def _slice(choice: SubscriptionFilter, end: int, engine: Engine) -> list[SelectedSubscription]:
    found = engine.topics.all_subscriptions[max(0, end - _SLICE) : end]
    return [(each.definition, each) for each in found if choice.accepts(each.definition)]


# -- rows --------------------------------------------------------------------------------------------------------------


@cache
def _default_values() -> dict[str, Value]:
    return defaults(ObjectType.SUB)


def subscription_row(engine: Engine, selected: SelectedSubscription) -> dict[str, Value]:
    """Returns all attributes of a subscription, with defaults and derived values."""
    definition, live = selected
    row = {**_default_values(), **definition.attributes}
    row["SUB"] = definition.name
    row.setdefault("SUBID", NO_IDENTIFIER)
    if live is not None:
        row["DESTCORL"] = live.correlation_id.hex().upper()
    for changed, made in (("ALTDATE", "CRDATE"), ("ALTTIME", "CRTIME")):
        if made in row:
            row.setdefault(changed, row[made])
    if row.get("DEST") and not row.get("DESTQMGR"):
        row["DESTQMGR"] = engine.name
    row["SELTYPE"] = mq.MQSELTYPE_STANDARD if row.get("SELECTOR") else mq.MQSELTYPE_NONE
    return row


def subscription_rows(found: Iterable[SelectedSubscription], engine: Engine) -> list[dict[str, Value]]:
    return [subscription_row(engine, each) for each in found if each[1] is None or not each[1].is_removed]


# -- define, alter and delete ------------------------------------------------------------------------------------------


# Attributes that cannot change after creation.
_FIXED: Final = ("TOPICSTR", "TOPICOBJ", "DESTCLAS", "SELECTOR", "SUBLEVEL", "SUBSCOPE", "WSCHEMA", "REQONLY")
# Values that the engine keeps in a definition beside the attributes.
_ENGINE_VALUES: Final = ("SUBID", "SUBTYPE", "WHOLETOPIC", "GROUPED")
_USER_LENGTH: Final = 64


def define_subscription(
    context: CommandContext, name: str, given: dict[str, Value], like: str | None, replace: bool
) -> None:
    """Defines a subscription (DEFINE SUB). The user needs SUB on the topic and PUT on the destination."""
    authorize(context, "DEFINE", ObjectType.SUB, name)
    topic, queue = context.query(partial(_topic_and_queue, name, given, like))
    if topic:
        authorize_topic(context, topic, SUB)
    if queue:
        context.authorize(mq.MQOT_Q, queue, PUT)
    context.change(partial(_create, name, given, like, replace, context.user))


def _topic_and_queue(name: str, given: dict[str, Value], like: str | None, engine: Engine) -> tuple[str, str]:
    """Returns the topic and the local destination queue of a new subscription; empty texts for none."""
    existing = engine.of_type(ObjectType.SUB).get(name)
    if existing is not None:
        attributes = {**existing.attributes, **given}
    else:
        attributes = _with_model(engine, given, like)
    above = engine.of_type(ObjectType.TOPIC).get(str(attributes.get("TOPICOBJ", "")))
    of_object = str(above.attributes.get("TOPICSTR", "")) if above is not None else ""
    is_managed = attributes.get("DESTCLAS") == mq.MQDC_MANAGED
    return join_topic_strings(of_object, str(attributes.get("TOPICSTR", ""))), _local_destination(
        engine, attributes, is_managed
    )


def _local_destination(engine: Engine, attributes: dict[str, Value], is_managed: bool) -> str:
    queue = str(attributes.get("DEST", ""))
    return queue if not is_managed and attributes.get("DESTQMGR", "") in ("", engine.name) else ""


def _create(name: str, given: dict[str, Value], like: str | None, replace: bool, user: str, engine: Engine) -> int:
    """Creates or replaces a subscription and returns the LSN. A new one gets retained publications at once."""
    known = engine.topics.by_name.get(name)
    existing = engine.of_type(ObjectType.SUB).get(name)
    if known is not None and not known.is_durable:
        raise MQError(mq.MQRC_OBJECT_ALREADY_EXISTS, f"A program has a subscription {name} that is not durable.")
    if known is not None and known.is_pending:
        raise MQError(mq.MQRC_OBJECT_ALREADY_EXISTS, f"A program is making a subscription {name}.")
    if existing is not None and not replace:
        raise MQError(mq.MQRC_OBJECT_ALREADY_EXISTS, f"{name} exists already.")
    if given.get("DURABLE") == mq.MQSUB_DURABLE_NO:
        raise MQError(mq.MQRCCF_ATTR_VALUE_ERROR, "DURABLE: a subscription made by a command is durable.")
    attributes = _with_model(engine, given, like)
    attributes.setdefault("SUBUSER", user[:_USER_LENGTH])
    if name == DEFAULT_SUBSCRIPTION:
        return admin_objects.define_object(engine, ObjectType.SUB, name, attributes, None, replace)
    if existing is not None:
        _keep_fixed(existing, given, attributes)
        check_destination(engine, attributes)
        return admin_objects.define_object(engine, ObjectType.SUB, name, attributes, None, True)
    return _create_new(engine, name, attributes)


def _with_model(engine: Engine, given: dict[str, Value], like: str | None) -> dict[str, Value]:
    """Returns the given attributes on top of those of the LIKE subscription."""
    if like is None:
        return dict(given)
    model = find_subscription(engine, like, "")[0]
    attributes = {key: value for key, value in model.attributes.items() if key not in _ENGINE_VALUES}
    for date_and_time in ("CRDATE", "CRTIME", "ALTDATE", "ALTTIME", "ENDS", "DURABLE", "SUBUSER"):
        attributes.pop(date_and_time, None)
    if attributes.get("DESTCLAS") == mq.MQDC_MANAGED:
        attributes.pop("DEST", None)
        attributes.pop("DESTQMGR", None)
    attributes.update(given)
    return attributes


def _create_new(engine: Engine, name: str, attributes: dict[str, Value]) -> int:
    attributes["SUBTYPE"] = mq.MQSUBTYPE_ADMIN
    # A script that restores a queue manager may give the former identifier.
    attributes.setdefault("SUBID", engine.new_id().hex().upper())
    _check_identifier(engine, attributes["SUBID"])
    wanted = admin_objects.merged_attributes(engine, ObjectType.SUB, name, attributes)
    topic = _check_topic(engine, wanted)
    managed: Queue | None = None
    if wanted.get("DESTCLAS") == mq.MQDC_MANAGED:
        if wanted.get("DEST"):
            raise MQError(mq.MQRCCF_ATTR_VALUE_ERROR, "DEST: with DESTCLAS(MANAGED) the queue manager makes the queue.")
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
    """Sends retained publications to a new subscription, which stays if its queue rejects them; returns the LSN.

    Many come in slices, some of them after this has returned.
    """
    subscription = engine.topics.by_name[name]
    if subscription.definition.attributes.get("REQONLY") == mq.MQRU_PUBLISH_ON_REQUEST:
        return 0
    if engine.topics.retained_count > RETAINED_AT_ONCE:
        begin_retained(engine, subscription, DEFINED)
        return 0
    try:
        return send_retained(engine, subscription).after_lsn
    except MQError as error:
        engine.notice(f"AMQ8101W: Retained publications did not reach the new subscription {name}: {error}")
        return 0


def _check_identifier(engine: Engine, identifier: Value) -> None:
    other = engine.topics.subscriptions.get(bytes.fromhex(str(identifier)))
    if other is not None:
        raise MQError(mq.MQRCCF_ATTR_VALUE_ERROR, f"SUBID({identifier}) is the subscription {other.name}.")


def _keep_fixed(existing: Definition, given: dict[str, Value], attributes: dict[str, Value]) -> None:
    """Copies fixed attributes to a replaced subscription. Raises MQError for a change to one of them."""
    for key in (*_FIXED, *_ENGINE_VALUES):
        value = existing.attributes.get(key)
        if value is None:
            continue
        if given.get(key, value) != value:
            raise MQError(mq.MQRCCF_ATTR_VALUE_FIXED, f"{key} of {existing.name} cannot be changed after creation.")
        attributes[key] = value
    if existing.attributes.get("DESTCLAS") == mq.MQDC_MANAGED:
        _check_no_destination(given)
        for key in ("DEST", "DESTQMGR"):
            attributes[key] = existing.attributes.get(key, "")


def _check_no_destination(given: dict[str, Value]) -> None:
    if given.get("DEST") or given.get("DESTQMGR"):
        raise MQError(mq.MQRCCF_ATTR_VALUE_FIXED, "DEST: the queue of a managed subscription is the queue manager's.")


def _check_topic(engine: Engine, attributes: dict[str, Value]) -> str:
    """Returns the full topic string of a new subscription. Raises MQError if subscribing to it is not allowed."""
    if engine.publishing_is_off:
        raise MQError(mq.MQRCCF_PUBSUB_INHIBITED, "Publish/subscribe is disabled (PSMODE).")
    selector = str(attributes.get("SELECTOR", ""))
    if selector:
        compile_selector(selector)
    topic = named_topic(engine, str(attributes.get("TOPICOBJ", "")), str(attributes.get("TOPICSTR", "")))
    if attributes.get("WSCHEMA") == mq.MQWS_CHAR:
        CharacterPattern(topic)
    settings = engine.topics.settings_of(topic)
    if not settings.may_subscribe:
        raise MQError(mq.MQRC_SUB_INHIBITED, f"Subscribing to {topic[:256]} is inhibited.")
    if not settings.may_be_durable:
        raise MQError(mq.MQRC_DURABILITY_NOT_ALLOWED, f"Subscriptions to {topic[:256]} must not be durable.")
    return topic


def _managed_queue(engine: Engine, topic: str) -> Queue:
    name = engine.topics.settings_of(topic).durable_model
    model = engine.of_type(ObjectType.QMODEL).get(name)
    if model is None:
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"The model queue {name} for managed queues does not exist.")
    return objects.create_dynamic(engine, model, f"{MANAGED_DURABLE}*")


def check_destination(engine: Engine, attributes: dict[str, Value]) -> None:
    """Raises MQError if the destination of a subscription is local and does not exist."""
    queue = _local_destination(engine, attributes, attributes.get("DESTCLAS") == mq.MQDC_MANAGED)
    if queue and objects.queue_definition(engine, queue) is None:
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"There is no queue {queue}.")


def alter_subscription(context: CommandContext, name: str, identifier: str, given: dict[str, Value]) -> None:
    """Alters a subscription (ALTER SUB)."""
    authorize(context, "ALTER", ObjectType.SUB, name)
    queue = given.get("DEST")
    if isinstance(queue, str) and queue:
        context.authorize(mq.MQOT_Q, queue, PUT)
    context.change(partial(_alter, name, identifier, given))


def _alter(name: str, identifier: str, given: dict[str, Value], engine: Engine) -> int:
    """Returns the LSN of the record, 0 for a subscription that is not durable."""
    definition, live = find_subscription(engine, name, identifier)
    if definition.attributes.get("DESTCLAS") == mq.MQDC_MANAGED:
        _check_no_destination(given)
    changed = definition.with_changes(given, *admin_objects.date_and_time(engine.wall_ms()))
    check_destination(engine, changed.attributes)
    if "EXPIRY" in given:
        changed.attributes.pop("ENDS", None)
    if live is not None and not live.is_durable:
        live.configure(changed)
        engine.topics.schedule_expiry(live)
        engine.topics.version += 1
        return 0
    return admin_objects.apply_definition(engine, changed, True)


def delete_subscription(context: CommandContext, name: str, identifier: str) -> None:
    """Deletes a subscription (DELETE SUB). Raises MQError while an application has it open."""
    authorize(context, "DELETE", ObjectType.SUB, name)
    context.change(partial(_remove, name, identifier))


def _remove(name: str, identifier: str, engine: Engine) -> int:
    definition, live = find_subscription(engine, name, identifier)
    if live is None:
        return objects.delete(engine, ObjectType.SUB, definition.name)
    return remove_subscription(engine, live)
