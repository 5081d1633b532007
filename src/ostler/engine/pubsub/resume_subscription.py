"""MQSUB with MQSO_RESUME or MQSO_ALTER on an existing subscription, and the handles of MQSUB."""

from __future__ import annotations

from mypy_extensions import i64

from ostler.engine import authority, statistics
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.handle import QUEUE, SUBSCRIPTION, Handle
from ostler.engine.objects import change
from ostler.engine.open import close_object, open_managed
from ostler.engine.pubsub.open_topic import named_topic, require_on_topic
from ostler.engine.pubsub.subscribe_request import (
    SubscribeRequest,
    SubscribeResult,
    alterable_attributes,
    date_and_time,
    owner_of,
)
from ostler.engine.pubsub.subscription import ENDS, Subscription
from ostler.engine.pubsub.subscription_definitions import resolve_destination
from ostler.engine.queue.queue import Queue
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.authorities import PUT, RESUME, SETID, SUB
from ostler.model.definitions import Definition
from ostler.model.errors import MQError


def resume(
    engine: Engine, connection: Connection, request: SubscribeRequest, known: Subscription, user: str
) -> SubscribeResult:
    """Resume a subscription that is not open. `user` is checked for authority; empty for no check."""
    if 0 < known.ends_ms <= engine.now_ms:
        raise MQError(mq.MQRC_INVALID_SUBSCRIPTION, f"The subscription {known.name} has expired.")
    if known.connection != 0:
        raise MQError(mq.MQRC_SUBSCRIPTION_IN_USE, f"The subscription {known.name} is in use.")
    who = owner_of(connection, request)
    is_other: bool = known.user != who
    if is_other and not known.is_for_any_user and not connection.is_privileged:
        raise MQError(mq.MQRC_IDENTITY_MISMATCH, f"The subscription {known.name} belongs to user {known.user}.")
    require_on_topic(engine, user, known.topic, SUB if is_other and known.is_for_any_user else RESUME)
    _check_same(engine, request, known)
    queue = _destination(engine, request, known, user)
    changes: dict[str, Value] = {}
    if known.is_for_any_user and is_other:
        changes["SUBUSER"] = who  # user identifier of the copies from now on
    if request.options & mq.MQSO_ALTER:
        _alter(engine, request, known, user, who, changes)
    made = open_handles(engine, connection, request, known, queue)
    if changes:
        try:
            made.after_lsn = _change(engine, known, changes)
        except MQError:
            close_object(engine, connection, made.handle, 0)
            if made.destination is not None:
                close_object(engine, connection, made.destination, 0)
            raise
    made.is_resumed = True
    return made


def _destination(engine: Engine, request: SubscribeRequest, known: Subscription, user: str) -> Queue | None:
    """Return the queue to open a handle for; None if the subscriber passed its own queue handle."""
    if request.destination is None or known.is_managed:
        if resolve_destination(engine, known) != 0 or known.queue is None:
            raise MQError(mq.MQRC_INVALID_DESTINATION, f"The queue {known.destination} of {known.name} is gone.")
        return known.queue
    if not request.options & mq.MQSO_ALTER:
        destination, manager = provided_destination(engine, request, user, known.is_durable)
        if (destination, manager) != (known.destination, known.destination_manager or engine.name):
            raise MQError(
                mq.MQRC_ALTER_SUB_ERROR,
                f"The destination of {known.name} is {known.destination}; MQSO_ALTER changes it.",
            )
    return None


def _check_same(engine: Engine, request: SubscribeRequest, known: Subscription) -> None:
    """Raise MQError if the request contradicts an unalterable attribute. Topic and selector may be omitted."""
    options: i64 = request.options
    if request.object_name or request.topic_string:
        if named_topic(engine, request.object_name, request.topic_string) != known.topic:
            raise MQError(mq.MQRC_TOPIC_NOT_ALTERABLE, f"{known.name} is a subscription to {known.topic[:256]}.")
        is_wild: bool = known.fixed_levels >= 0 or known.is_character_wild
        is_other_scheme: bool = known.is_character_scheme != (options & mq.MQSO_WILDCARD_CHAR != 0)
        if is_wild and is_other_scheme:
            raise MQError(mq.MQRC_TOPIC_NOT_ALTERABLE, f"{known.name} has wildcards of another scheme.")
    if options & mq.MQSO_CREATE and known.is_durable != (options & mq.MQSO_DURABLE != 0):
        raise MQError(mq.MQRC_DURABILITY_NOT_ALTERABLE, f"{known.name} is {'' if known.is_durable else 'not '}durable.")
    if options & mq.MQSO_ALTER:
        if known.is_grouped != (options & mq.MQSO_GROUP_SUB != 0):
            raise MQError(mq.MQRC_GROUPING_NOT_ALTERABLE)
        if request.level != known.level:
            raise MQError(mq.MQRC_SUBLEVEL_NOT_ALTERABLE, f"The level of {known.name} is {known.level}.")
        selector = known.selector
        if request.selection and request.selection != (selector.text if selector is not None else ""):
            raise MQError(mq.MQRC_SELECTOR_NOT_ALTERABLE, f"The selector of {known.name} cannot be changed.")
        if known.is_managed != (options & mq.MQSO_MANAGED != 0):
            raise MQError(
                mq.MQRC_DEST_CLASS_NOT_ALTERABLE,
                "A subscription cannot be changed between managed and provided destinations.",
            )


def _alter(
    engine: Engine, request: SubscribeRequest, known: Subscription, user: str, who: str, changes: dict[str, Value]
) -> None:
    """Collect the changes of MQSO_ALTER: all fields of the descriptor apply, defaults too."""
    options: i64 = request.options
    changes["USERDATA"] = ""
    changes["EXPIRY"] = mq.MQEI_UNLIMITED
    changes[ENDS] = 0
    changes["PUBPRTY"] = mq.MQPRI_PRIORITY_AS_PUBLISHED
    changes["REQONLY"] = (
        mq.MQRU_PUBLISH_ON_REQUEST if options & mq.MQSO_PUBLICATIONS_ON_REQUEST else mq.MQRU_PUBLISH_ALL
    )
    changes.update(alterable_attributes(engine, request))
    if not known.is_managed and request.destination is not None:
        destination, manager = provided_destination(engine, request, user, known.is_durable)
        changes["DEST"] = destination
        changes["DESTQMGR"] = manager
    if options & mq.MQSO_ANY_USERID:
        changes["VARUSER"] = mq.MQVU_ANY_USER
    elif options & mq.MQSO_FIXED_USERID:
        changes["VARUSER"] = mq.MQVU_FIXED_USER
        changes["SUBUSER"] = who
    day, time = date_and_time(engine.wall_ms())
    changes["ALTDATE"] = day
    changes["ALTTIME"] = time


def _change(engine: Engine, known: Subscription, changes: dict[str, Value]) -> i64:
    """Change a subscription. Returns the LSN that makes it durable, 0 if it is not to be durable."""
    attributes = dict(known.definition.attributes)
    attributes.update(changes)
    definition = Definition(ObjectType.SUB, known.name, attributes)
    if known.is_durable:
        return change(engine, definition)
    known.configure(definition)
    engine.topics.record_change(known)
    return 0


# -- creating and resuming --------------------------------------------------------------------------------------------


def provided_destination(engine: Engine, request: SubscribeRequest, user: str, is_durable: bool) -> tuple[str, str]:
    """Check the subscriber's own queue as a destination; returns the names of the queue and its queue manager."""
    handle: Handle | None = request.destination
    if handle is None or handle.kind != QUEUE or handle.queue is None:
        raise MQError(mq.MQRC_HOBJ_ERROR, "A subscription that is not managed needs the handle of an open queue.")
    if handle.queue.is_temporary and is_durable:
        raise MQError(
            mq.MQRC_INVALID_DESTINATION,
            "A temporary dynamic queue cannot be the destination of a durable subscription.",
        )
    if user:
        needed: i64 = PUT | SETID if request.options & mq.MQSO_SET_IDENTITY_CONTEXT else PUT
        authority.require(engine, user, mq.MQOT_Q, handle.object_name or handle.queue.name, needed)
    if handle.remote_manager:
        return handle.remote_queue, handle.remote_manager
    return handle.queue.name, engine.name


def open_handles(
    engine: Engine,
    connection: Connection,
    request: SubscribeRequest,
    subscription: Subscription,
    queue: Queue | None,
) -> SubscribeResult:
    """Open the subscription handle, and a handle to get from `queue`."""
    destination: Handle | None = None
    if queue is not None:
        opening: i64 = mq.MQOO_INPUT_AS_Q_DEF | mq.MQOO_BROWSE | mq.MQOO_INQUIRE
        if request.options & mq.MQSO_FAIL_IF_QUIESCING:
            opening |= mq.MQOO_FAIL_IF_QUIESCING
        if request.options & mq.MQSO_READ_AHEAD:
            opening |= mq.MQOO_READ_AHEAD
        if request.options & mq.MQSO_NO_READ_AHEAD:
            opening |= mq.MQOO_NO_READ_AHEAD
        destination = open_managed(engine, connection, queue, opening)
        destination.is_managed = subscription.is_managed
    handle = Handle(connection.next_handle, SUBSCRIPTION, subscription.name, 0)
    connection.next_handle += 1
    handle.subscription = subscription
    connection.handles[handle.number] = handle
    subscription.connection = connection.number
    subscription.connection_id = connection.connection_id
    subscription.resumed_ms = engine.wall_ms()
    statistics.count_open(engine, connection, handle)
    return SubscribeResult(handle, destination, subscription)
