"""MQSUB and MQSUBRQ: creating subscriptions and requesting retained publications."""

from __future__ import annotations

from mypy_extensions import i64

from ostler.engine import authority
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.handle import Handle
from ostler.engine.objects import create_dynamic, define, delete_queue
from ostler.engine.open import close_object
from ostler.engine.outcomes import RetainedOutcome
from ostler.engine.pubsub import resume_subscription, subscription_calls
from ostler.engine.pubsub.end_subscription import MANAGED_DURABLE, MANAGED_NON_DURABLE, end_subscription
from ostler.engine.pubsub.open_topic import check_enabled, check_node_limit, named_topic, require_on_topic
from ostler.engine.pubsub.retained_delivery import (
    CREATING,
    REQUESTED,
    RETAINED_AT_ONCE,
    add_pending,
    begin_retained,
    send_retained,
)
from ostler.engine.pubsub.retained_delivery import RetainedDelivery as RetainedDelivery
from ostler.engine.pubsub.subscribe_request import SubscribeRequest as SubscribeRequest
from ostler.engine.pubsub.subscribe_request import SubscribeResult as SubscribeResult
from ostler.engine.pubsub.subscribe_request import check_options, subscription_definition
from ostler.engine.pubsub.subscription import Subscription
from ostler.engine.pubsub.topic_settings import TopicSettings
from ostler.engine.pubsub.topic_strings import CharacterPattern
from ostler.engine.pubsub.topic_tree import DEFAULT_SUBSCRIPTION
from ostler.engine.queue.queue import Queue
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.authorities import SUB
from ostler.model.definitions import Definition
from ostler.model.errors import LogFull, MQError


def subscribe(engine: Engine, connection: Connection, request: SubscribeRequest) -> SubscribeResult:
    """MQSUB. If it raises MQError, nothing has changed.

    With `request.may_pause` the result may have a task: `finish_subscribe` must be called when it is done.
    """
    try:
        made = _subscribe(engine, connection, request)
    except LogFull:
        raise  # it is tried again and not counted
    except MQError:
        subscription_calls.count_subscribe_failed(engine, connection)
        raise
    if made.task is None:
        subscription_calls.count_subscribed(engine, connection, request, made)
    return made


def _subscribe(engine: Engine, connection: Connection, request: SubscribeRequest) -> SubscribeResult:
    options: i64 = request.options
    engine.check_state(options & mq.MQSO_FAIL_IF_QUIESCING != 0)
    check_options(request)
    check_enabled(engine)
    if len(connection.handles) + 2 > engine.handles_max:
        raise MQError(mq.MQRC_HANDLE_NOT_AVAILABLE)
    bits: i64 = mq.MQOO_ALTERNATE_USER_AUTHORITY if options & mq.MQSO_ALTERNATE_USER_AUTHORITY else 0
    user = authority.user_of_open(engine, connection, bits, request.alternate_user)
    if request.name == DEFAULT_SUBSCRIPTION:
        raise MQError(
            mq.MQRC_INVALID_SUBSCRIPTION,
            f"{DEFAULT_SUBSCRIPTION} holds default attributes only and cannot be subscribed with.",
        )
    known = engine.topics.by_name.get(request.name) if request.name else None
    if known is not None and options & (mq.MQSO_RESUME | mq.MQSO_ALTER):
        if known.is_pending:
            raise MQError(mq.MQRC_SUBSCRIPTION_IN_USE, f"The subscription {known.name} is being made.")
        return resume_subscription.resume(engine, connection, request, known, user)
    if not options & mq.MQSO_CREATE:
        raise MQError(mq.MQRC_NO_SUBSCRIPTION, f"There is no subscription {request.name}.")
    if known is not None:
        if known.connection != 0 or not 0 < known.ends_ms <= engine.now_ms:
            raise MQError(mq.MQRC_SUB_ALREADY_EXISTS, f"There is a subscription {request.name} already.")
        end_subscription(engine, known)
    return _create(engine, connection, request, user)


def _create(engine: Engine, connection: Connection, request: SubscribeRequest, user: str) -> SubscribeResult:
    options: i64 = request.options
    topic = named_topic(engine, request.object_name, request.topic_string)
    if options & mq.MQSO_WILDCARD_CHAR:
        CharacterPattern(topic)
    settings = engine.topics.settings_of(topic)
    is_durable: bool = options & mq.MQSO_DURABLE != 0
    if not settings.may_subscribe:
        raise MQError(mq.MQRC_SUB_INHIBITED, f"Subscriptions to {topic[:256]} are inhibited (SUB(DISABLED)).")
    if is_durable and not settings.may_be_durable:
        raise MQError(mq.MQRC_DURABILITY_NOT_ALLOWED, f"Subscriptions to {topic[:256]} must not be durable.")
    require_on_topic(engine, user, topic, SUB)
    check_node_limit(engine, topic)
    if request.selection:
        engine.compile_selector(request.selection)
    managed: Queue | None = None
    if options & mq.MQSO_MANAGED:
        managed = managed_queue(engine, settings, is_durable, user)
        destination, manager = managed.name, engine.name
    else:
        destination, manager = resume_subscription.provided_destination(engine, request, user, is_durable)
    if options & mq.MQSO_GROUP_SUB:
        _check_group(engine, request, topic, destination)
    wants_retained: bool = not options & (mq.MQSO_NEW_PUBLICATIONS_ONLY | mq.MQSO_PUBLICATIONS_ON_REQUEST)
    in_slices: bool = wants_retained and request.may_pause and engine.topics.retained_count > RETAINED_AT_ONCE
    try:
        definition = subscription_definition(engine, connection, request, topic, destination, manager)
        if in_slices:
            subscription, lsn = add_pending(engine, definition, topic), 0
        else:
            subscription, lsn = _register(engine, definition, topic)
    except MQError:
        if managed is not None:
            delete_queue(engine, managed)
        raise
    if wants_retained and not in_slices:
        try:
            lsn = max(lsn, send_retained(engine, subscription).after_lsn)
        except MQError:
            end_subscription(engine, subscription)
            raise
    made = resume_subscription.open_handles(engine, connection, request, subscription, managed)
    made.after_lsn = lsn
    if in_slices:
        made.task = begin_retained(engine, subscription, CREATING)
    return made


def finish_subscribe(engine: Engine, connection: Connection, made: SubscribeResult) -> None:
    """Finish an MQSUB whose retained publications were delivered in slices; sets the LSN that its reply waits for.

    If they could not be delivered, there is no subscription any more, its handles are closed and MQError is raised.
    """
    delivery = made.task
    assert isinstance(delivery, RetainedDelivery)
    delivery.check()
    failure = delivery.failure
    if failure is None:
        made.after_lsn = max(made.after_lsn, delivery.lsn)
        subscription_calls.count_created(engine, connection, made)
        return
    abandon_subscribe(engine, connection, made)
    raise failure


def abandon_subscribe(engine: Engine, connection: Connection, made: SubscribeResult) -> None:
    """Close the handles of an MQSUB that has failed, or for which nobody waits any more."""
    subscription_calls.count_subscribe_failed(engine, connection)
    for handle in (made.destination, made.handle):
        if handle is not None and connection.handles.get(handle.number) is handle:
            close_object(engine, connection, handle, 0)


def managed_queue(engine: Engine, settings: TopicSettings, is_durable: bool, user: str) -> Queue:
    """Create the queue of a managed subscription from the model queue of its topic (MDURMDL, MNDURMDL)."""
    name = settings.durable_model if is_durable else settings.non_durable_model
    model = engine.of_type(ObjectType.QMODEL).get(name)
    if model is None:
        raise MQError(mq.MQRC_INVALID_DESTINATION, f"The model queue {name} for managed queues does not exist.")
    if is_durable and model.attributes.get("DEFTYPE") != mq.MQQDT_PERMANENT_DYNAMIC:
        raise MQError(
            mq.MQRC_INVALID_DESTINATION, f"Model queue {name} is not DEFTYPE(PERMDYN), as durable subscriptions need."
        )
    prefix = MANAGED_DURABLE if is_durable else MANAGED_NON_DURABLE
    return create_dynamic(engine, model, f"{prefix}*", user)


def _check_group(engine: Engine, request: SubscribeRequest, topic: str, destination: str) -> None:
    """Raise MQRC_DUPLICATE_GROUP_SUB if the group (destination and correlation identifier) has this topic already."""
    for other in engine.topics.subscribed_to(topic):
        is_same: bool = other.destination == destination and other.correlation_id == request.correlation_id
        if other.is_grouped and is_same:
            raise MQError(mq.MQRC_DUPLICATE_GROUP_SUB, f"The group has a subscription to {topic[:256]} already.")


def _register(engine: Engine, definition: Definition, topic: str) -> tuple[Subscription, int]:
    """Add a subscription to the tree. Returns it, and the LSN that makes it durable if it is to be."""
    if definition.attributes["DURABLE"] == mq.MQSUB_DURABLE_YES:
        lsn = define(engine, definition)
        return engine.topics.by_name[definition.name], lsn
    subscription = Subscription(definition, topic, engine.now_ms)
    engine.topics.add(subscription, engine.now_ms)
    return subscription, 0


def request_publications(
    engine: Engine, connection: Connection, handle: Handle, action: i64, options: i64, may_pause: bool = False
) -> RetainedOutcome:
    """MQSUBRQ: send the retained publications of a subscription. Raises MQRC_NO_RETAINED_MSG if there are none.

    With `may_pause` the outcome may have a task: `finish_request` must be called when it is done.
    """
    try:
        sent = _request_publications(engine, handle, action, options, may_pause)
    except LogFull:
        raise  # it is tried again and not counted
    except MQError:
        subscription_calls.count_request(engine, connection, False)
        raise
    if sent.task is None:
        subscription_calls.count_request(engine, connection, True)
    return sent


def finish_request(engine: Engine, connection: Connection, subscription: Subscription, sent: RetainedOutcome) -> None:
    """Finish an MQSUBRQ whose retained publications were delivered in slices, and its outcome. Raises MQError."""
    delivery = sent.task
    assert isinstance(delivery, RetainedDelivery)
    delivery.check()
    subscription_calls.count_request(engine, connection, delivery.failure is None and delivery.sent > 0)
    if delivery.failure is not None:
        raise delivery.failure
    if delivery.sent == 0:
        raise MQError(mq.MQRC_NO_RETAINED_MSG, f"There is no retained publication for {subscription.topic[:256]}.")
    sent.count = delivery.sent
    sent.after_lsn = delivery.lsn


def _request_publications(
    engine: Engine, handle: Handle, action: i64, options: i64, may_pause: bool
) -> RetainedOutcome:
    engine.check_state(options & mq.MQSRO_FAIL_IF_QUIESCING != 0)
    subscription = handle.subscription
    if subscription is None:
        raise MQError(mq.MQRC_HOBJ_ERROR, "This is not the handle of a subscription.")
    if options & ~mq.MQSRO_FAIL_IF_QUIESCING:
        raise MQError(mq.MQRC_OPTIONS_ERROR)
    if action != mq.MQSR_ACTION_PUBLICATION:
        raise MQError(mq.MQRC_ACTION_ERROR, "The only action is MQSR_ACTION_PUBLICATION.")
    if subscription.is_removed or 0 < subscription.ends_ms <= engine.now_ms:
        raise MQError(mq.MQRC_INVALID_SUBSCRIPTION, f"The subscription {subscription.name} was removed or has expired.")
    if may_pause and engine.topics.retained_count > RETAINED_AT_ONCE:
        outcome = RetainedOutcome()
        outcome.task = begin_retained(engine, subscription, REQUESTED)
        return outcome
    sent = send_retained(engine, subscription)
    if sent.count == 0:
        raise MQError(mq.MQRC_NO_RETAINED_MSG, f"There is no retained publication for {subscription.topic[:256]}.")
    return sent
