"""What an application asks to be subscribed to, and what it is told of the subscription: the same for every binding."""

from __future__ import annotations

from ostler.engine.connection import Connection
from ostler.engine.pubsub.subscribe import SubscribeRequest, SubscribeResult
from ostler.engine.pubsub.subscription import Subscription
from ostler.model.attributes import valid_name
from ostler.model.constants import (
    MQEI_UNLIMITED,
    MQRC_HOBJ_ERROR,
    MQRC_UNKNOWN_OBJECT_NAME,
    MQSO_ALTERNATE_USER_AUTHORITY,
    MQSO_ANY_USERID,
    MQSO_DURABLE,
    MQSO_FIXED_USERID,
    MQSO_GROUP_SUB,
    MQSO_MANAGED,
    MQSO_PUBLICATIONS_ON_REQUEST,
    MQSO_RESUME,
    MQSO_SET_CORREL_ID,
    MQSO_WILDCARD_CHAR,
    MQSO_WILDCARD_TOPIC,
)
from ostler.model.errors import MQError
from ostler.server.verbs.opened_objects import make_queue_open_reply
from ostler.wire.subscribe_frames import IDENTITY_BYTES, TOKEN_BYTES, SubscribeArguments, SubscribeReply

_USER_BYTES = 12


def make_subscribe_request(connection: Connection, asked: SubscribeArguments) -> SubscribeRequest:
    """What an application asks for, checked as far as that can be done without the topic."""
    if asked.object_name and not valid_name(asked.object_name):
        raise MQError(MQRC_UNKNOWN_OBJECT_NAME, "The object name has characters that no name has.")
    request = SubscribeRequest(asked.options)
    request.object_name = asked.object_name
    request.topic_string = asked.topic_string
    request.name = asked.name
    request.user_data = asked.user_data
    request.selection = asked.selection
    request.correlation_id = asked.correlation_id
    request.expiry = asked.expiry
    request.priority = asked.priority
    request.accounting_token = asked.accounting_token
    request.application_data = asked.application_data
    request.level = asked.level
    if asked.options & MQSO_ALTERNATE_USER_AUTHORITY:
        request.alternate_user = asked.alternate_user
    if asked.destination > 0 and not asked.options & MQSO_MANAGED:
        request.destination = connection.handles.get(asked.destination)
        if request.destination is None:
            raise MQError(MQRC_HOBJ_ERROR, f"{asked.destination} is no open object of this connection.")
    return request


def make_subscribe_reply(made: SubscribeResult) -> SubscribeReply:
    """What a client has to know of its subscription."""
    subscription = made.subscription
    attributes = subscription.definition.attributes
    found = SubscribeReply()
    found.hsub = made.handle.number
    found.options = options_of(subscription) | (MQSO_RESUME if made.is_resumed else 0)
    expiry = attributes.get("EXPIRY", MQEI_UNLIMITED)
    found.expiry = expiry if isinstance(expiry, int) else MQEI_UNLIMITED
    found.priority = subscription.priority
    found.level = subscription.level
    found.correlation_id = subscription.correlation_id
    found.accounting_token = subscription.identity[_USER_BYTES : _USER_BYTES + TOKEN_BYTES]
    found.application_data = subscription.identity[-IDENTITY_BYTES:].rstrip(b" \0").decode("latin-1")
    found.topic = subscription.topic
    found.name = subscription.name
    found.user_data = subscription.user_data
    selector = subscription.selector
    found.selection = selector.text if selector is not None else ""
    if made.destination is not None:
        found.destination = make_queue_open_reply(made.destination)
    return found


def options_of(subscription: Subscription) -> int:
    """The MQSO options that tell what a subscription is."""
    options = MQSO_ANY_USERID if subscription.is_for_any_user else MQSO_FIXED_USERID
    options |= MQSO_WILDCARD_CHAR if subscription.is_character_scheme else MQSO_WILDCARD_TOPIC
    if subscription.is_durable:
        options |= MQSO_DURABLE
    if subscription.is_managed:
        options |= MQSO_MANAGED
    if subscription.is_grouped:
        options |= MQSO_GROUP_SUB | MQSO_SET_CORREL_ID
    if subscription.is_on_request:
        options |= MQSO_PUBLICATIONS_ON_REQUEST
    return options
