"""Making, changing and ending subscriptions by command."""

from __future__ import annotations

from functools import partial
from typing import Final

from ostler.command.admin import objects as administration
from ostler.command.admin.context import Target
from ostler.command.admin.permissions import authorize, authorize_topic
from ostler.command.admin.subscription_choice import find_subscription
from ostler.engine import objects
from ostler.engine.core import Engine
from ostler.engine.pubsub.end_subscription import MANAGED_DURABLE, remove_subscription
from ostler.engine.pubsub.open_topic import named_topic
from ostler.engine.pubsub.retained_delivery import send_retained
from ostler.engine.pubsub.topic_strings import CharacterPattern, full_topic
from ostler.engine.pubsub.topic_tree import DEFAULT_SUBSCRIPTION
from ostler.engine.queue.queue import Queue
from ostler.engine.selectors.selector import compile_selector
from ostler.model.attributes import ObjectType, Value
from ostler.model.authorities import PUT, SUB
from ostler.model.constants import (
    MQDC_MANAGED,
    MQOT_Q,
    MQRC_DURABILITY_NOT_ALLOWED,
    MQRC_OBJECT_ALREADY_EXISTS,
    MQRC_SUB_INHIBITED,
    MQRC_UNKNOWN_OBJECT_NAME,
    MQRCCF_ATTR_VALUE_ERROR,
    MQRCCF_ATTR_VALUE_FIXED,
    MQRCCF_PUBSUB_INHIBITED,
    MQRU_PUBLISH_ON_REQUEST,
    MQSUB_DURABLE_NO,
    MQSUBTYPE_ADMIN,
    MQWS_CHAR,
)
from ostler.model.definitions import Definition
from ostler.model.errors import MQError

# What a subscription is made with and keeps.
_LASTING: Final = ("TOPICSTR", "TOPICOBJ", "DESTCLAS", "SELECTOR", "SUBLEVEL", "SUBSCOPE", "WSCHEMA", "REQONLY")
# What the engine keeps in a definition beside the attributes.
_KEPT_BESIDE: Final = ("SUBID", "SUBTYPE", "WHOLETOPIC", "GROUPED")
_USER_LENGTH: Final = 64


def define_subscription(target: Target, name: str, given: dict[str, Value], like: str | None, replace: bool) -> None:
    """DEFINE SUB, by MQSC and by PCF. The user must be one who may subscribe, and put to the destination."""
    authorize(target, "DEFINE", ObjectType.SUB, name)
    topic, queue = target.look(partial(_leading, name, given, like))
    if topic:
        authorize_topic(target, topic, SUB)
    if queue:
        target.authorize(MQOT_Q, queue, PUT)
    target.change(partial(_make, name, given, like, replace, target.user))


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
    return full_topic(of_object, str(attributes.get("TOPICSTR", ""))), _own_queue(engine, attributes, is_managed)


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
        return administration.define_anew(engine, ObjectType.SUB, name, attributes, None, replace)
    if existing is not None:
        _keep(existing, given, attributes)
        check_destination(engine, attributes)
        return administration.define_anew(engine, ObjectType.SUB, name, attributes, None, True)
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
    wanted = administration.merged_attributes(engine, ObjectType.SUB, name, attributes)
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
        lsn = administration.define_anew(engine, ObjectType.SUB, name, attributes, None, False)
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


def alter_subscription(target: Target, name: str, identifier: str, given: dict[str, Value]) -> None:
    """ALTER SUB, by MQSC and by PCF."""
    authorize(target, "ALTER", ObjectType.SUB, name)
    queue = given.get("DEST")
    if isinstance(queue, str) and queue:
        target.authorize(MQOT_Q, queue, PUT)
    target.change(partial(_alter, name, identifier, given))


def _alter(name: str, identifier: str, given: dict[str, Value], engine: Engine) -> int:
    """The LSN behind its record, 0 for a subscription that is not durable."""
    definition, living = find_subscription(engine, name, identifier)
    if definition.attributes.get("DESTCLAS") == MQDC_MANAGED:
        _check_no_destination(given)
    changed = definition.altered(given, *administration.date_and_time(engine.wall_ms()))
    check_destination(engine, changed.attributes)
    if "EXPIRY" in given:
        changed.attributes.pop("ENDS", None)
    if living is not None and not living.is_durable:
        living.configure(changed)
        engine.topics.schedule_expiry(living)
        engine.topics.version += 1
        return 0
    return administration.put_in_place(engine, changed, True)


def delete_subscription(target: Target, name: str, identifier: str) -> None:
    """DELETE SUB, by MQSC and by PCF: not while a program has it open."""
    authorize(target, "DELETE", ObjectType.SUB, name)
    target.change(partial(_remove, name, identifier))


def _remove(name: str, identifier: str, engine: Engine) -> int:
    definition, living = find_subscription(engine, name, identifier)
    if living is None:
        return objects.delete(engine, ObjectType.SUB, definition.name)
    return remove_subscription(engine, living)
