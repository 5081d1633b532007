"""Requests of publish/subscribe: SUBSCRIBE, SUBSCRIPTION_REQUEST, PUBLISH and PUBLISH1; and COUNT_CALL."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.connection import PUBLISH_LEVEL_HIGHEST, Connection
from ostler.engine.core import Engine
from ostler.engine.outcomes import RetainedOutcome
from ostler.engine.pubsub import subscription_calls
from ostler.engine.pubsub.subscribe import (
    SubscribeRequest,
    SubscribeResult,
    finish_request,
    finish_subscribe,
    request_publications,
    subscribe,
)
from ostler.engine.pubsub.subscription import Subscription
from ostler.model import constants as mq
from ostler.model.attributes import valid_name
from ostler.model.errors import LogFull, MQError
from ostler.server.net.conversation import ServerConversation, TaskReply
from ostler.server.verbs.objects import make_queue_open_reply, open_handle, put1
from ostler.wire.frames import (
    COUNT_CALL,
    PUBLISH,
    PUBLISH1,
    REPLY,
    SUBSCRIBE,
    SUBSCRIPTION_REQUEST,
    MalformedFrame,
    frame,
)
from ostler.wire.payload_codec import PayloadReader, PayloadWriter
from ostler.wire.subscribe_frames import (
    COUNT_CALL_VERSION,
    IDENTITY_BYTES,
    SUBSCRIPTIONS_VERSION,
    TOKEN_BYTES,
    SubscribeArguments,
    SubscribeReply,
    decode_subscribe,
)

_USER_BYTES: Final = 12


def topic_verb(conversation: ServerConversation, type: i64, number: i64, buffer: bytes, start: i64, end: i64) -> bool:
    """Handle a request of this module. Return False for other types."""
    if type == COUNT_CALL:
        _count_call(conversation, number, PayloadReader(buffer, start, end))
        return True
    if type not in (SUBSCRIBE, SUBSCRIPTION_REQUEST, PUBLISH, PUBLISH1):
        return False
    if conversation.link.version < SUBSCRIPTIONS_VERSION:
        if type in (PUBLISH, PUBLISH1):
            raise MalformedFrame(f"a frame of type {type}, which version {conversation.link.version} does not have")
        text = "Subscriptions need version 2 of the protocol."
        conversation.reply_failure(type, number, mq.MQCC_FAILED, mq.MQRC_FUNCTION_NOT_SUPPORTED, text)
        return True
    if type in (PUBLISH, PUBLISH1):
        _publish(conversation, type, number, buffer, start, end)
        return True
    if number == 0:
        raise MalformedFrame(f"a frame of type {type} that asks for no reply")
    try:
        if type == SUBSCRIBE:
            _subscribe(conversation, number, PayloadReader(buffer, start, end))
        else:
            _request(conversation, number, PayloadReader(buffer, start, end))
    except MQError as error:
        is_full: bool = isinstance(error, LogFull)
        if is_full and conversation.reactor.stall(conversation, type, number, buffer[start:end]):
            return True
        conversation.reply_failure(type, number, error.completion, error.reason, error.detail)
    return True


def _subscribe(conversation: ServerConversation, number: i64, reader: PayloadReader) -> None:
    arguments = decode_subscribe(reader)
    connection = conversation.connection
    made = subscribe_as_asked(conversation.engine, connection, arguments, True)
    task = made.task
    if task is None:
        _reply_subscribe(conversation, number, made)
    else:
        conversation.reactor.call_when_done(task, PendingSubscribe(conversation, number, made))


def _reply_subscribe(conversation: ServerConversation, number: i64, made: SubscribeResult) -> None:
    writer = PayloadWriter()
    writer.integer(mq.MQCC_OK if made.warning == 0 else mq.MQCC_WARNING)
    writer.integer(made.warning)
    writer.fixed(make_subscribe_reply(made).encode())
    conversation.reply_long_when_durable(made.after_lsn, SUBSCRIBE, number, writer.getvalue())


@final
class PendingSubscribe(TaskReply):
    """The reply to a SUBSCRIBE whose retained publications are delivered in slices."""

    def __init__(self, conversation: ServerConversation, number: i64, made: SubscribeResult) -> None:
        super().__init__(conversation)
        self.number: i64 = number
        self.made = made

    def on_done(self) -> None:
        conversation = self.conversation
        try:
            finish_subscribe(conversation.engine, conversation.connection, self.made)
        except MQError as error:
            conversation.reply_failure(SUBSCRIBE, self.number, error.completion, error.reason, error.detail)
            return
        _reply_subscribe(conversation, self.number, self.made)


@final
class PendingRequest(TaskReply):
    """The reply to a SUBSCRIPTION_REQUEST whose retained publications are delivered in slices."""

    def __init__(
        self, conversation: ServerConversation, number: i64, subscription: Subscription, sent: RetainedOutcome
    ) -> None:
        super().__init__(conversation)
        self.number: i64 = number
        self.subscription = subscription
        self.sent = sent

    def on_done(self) -> None:
        conversation = self.conversation
        try:
            finish_request(conversation.engine, conversation.connection, self.subscription, self.sent)
        except MQError as error:
            conversation.reply_failure(SUBSCRIPTION_REQUEST, self.number, error.completion, error.reason, error.detail)
            return
        _reply_request(conversation, self.number, self.sent)


def _request(conversation: ServerConversation, number: i64, reader: PayloadReader) -> None:
    hsub: i64 = reader.integer()
    action: i64 = reader.integer()
    options: i64 = reader.integer()
    reader.check_end()
    connection = conversation.connection
    handle = open_handle(conversation, hsub)
    sent = request_publications(conversation.engine, connection, handle, action, options, True)
    task = sent.task
    if task is None:
        _reply_request(conversation, number, sent)
    else:
        assert handle.subscription is not None
        reply = PendingRequest(conversation, number, handle.subscription, sent)
        conversation.reactor.call_when_done(task, reply)


def _reply_request(conversation: ServerConversation, number: i64, sent: RetainedOutcome) -> None:
    writer = PayloadWriter()
    writer.integer(mq.MQCC_OK)
    writer.integer(mq.MQRC_NONE)
    writer.integer(sent.count)
    data = frame(SUBSCRIPTION_REQUEST | REPLY, conversation.number, number, writer.getvalue())
    conversation.reply(sent.after_lsn, data)


def _publish(conversation: ServerConversation, type: i64, number: i64, buffer: bytes, start: i64, end: i64) -> None:
    """Handle PUBLISH or PUBLISH1: a publication level, then a PUT or PUT1."""
    level: i64 = PayloadReader(buffer, start, end).integer()
    connection = conversation.connection
    if not 0 <= level <= PUBLISH_LEVEL_HIGHEST:
        if number == 0:
            connection.async_status.fail(mq.MQCC_FAILED, mq.MQRC_PMO_ERROR, "")
        conversation.reply_failure(type, number, mq.MQCC_FAILED, mq.MQRC_PMO_ERROR, "A publication level is 0 to 9.")
        return
    if type == PUBLISH:
        conversation.put(type, number, buffer, start, start + 4, end, b"", level)
    else:
        put1(conversation, type, number, buffer, start, start + 4, end, level)


def _count_call(conversation: ServerConversation, number: i64, reader: PayloadReader) -> None:
    """Handle COUNT_CALL: the client has executed an MQCB or MQCTL. There is no reply."""
    if conversation.link.version < COUNT_CALL_VERSION:
        raise MalformedFrame(f"a COUNT_CALL, which version {conversation.link.version} does not have")
    if number != 0:
        raise MalformedFrame("a COUNT_CALL that asks for a reply")
    call: i64 = reader.integer()
    operation: i64 = reader.integer()
    hobj: i64 = reader.integer()
    is_done: bool = reader.integer() != 0
    reader.check_end()
    if call not in (subscription_calls.CALLBACK, subscription_calls.CONTROL):
        raise MalformedFrame(f"a COUNT_CALL of call {call}")
    subscription_calls.count_call(conversation.engine, conversation.connection, call, operation, hobj, is_done)


def subscribe_as_asked(
    engine: Engine, connection: Connection, arguments: SubscribeArguments, may_pause: bool = False
) -> SubscribeResult:
    """MQSUB with the arguments of a SUBSCRIBE. Raises MQError as `subscribe`."""
    try:
        request = make_subscribe_request(connection, arguments)
        request.may_pause = may_pause
    except MQError:
        subscription_calls.count_subscribe_failed(engine, connection)
        raise
    return subscribe(engine, connection, request)


def make_subscribe_request(connection: Connection, arguments: SubscribeArguments) -> SubscribeRequest:
    """Return the request to the engine for a SUBSCRIBE or MQSUB. MQError for what cannot be valid."""
    if arguments.object_name and not valid_name(arguments.object_name):
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, "The object name contains characters that are not valid.")
    request = SubscribeRequest(arguments.options)
    request.object_name = arguments.object_name
    request.topic_string = arguments.topic_string
    request.name = arguments.name
    request.user_data = arguments.user_data
    request.selection = arguments.selection
    request.correlation_id = arguments.correlation_id
    request.expiry = arguments.expiry
    request.priority = arguments.priority
    request.accounting_token = arguments.accounting_token
    request.application_data = arguments.application_data
    request.level = arguments.level
    if arguments.options & mq.MQSO_ALTERNATE_USER_AUTHORITY:
        request.alternate_user = arguments.alternate_user
    if arguments.destination > 0 and not arguments.options & mq.MQSO_MANAGED:
        request.destination = connection.handles.get(arguments.destination)
        if request.destination is None:
            raise MQError(
                mq.MQRC_HOBJ_ERROR, f"{arguments.destination} is not an open object handle of this connection."
            )
    return request


def make_subscribe_reply(made: SubscribeResult) -> SubscribeReply:
    """Describe a subscription to the client."""
    subscription = made.subscription
    attributes = subscription.definition.attributes
    reply = SubscribeReply()
    reply.hsub = made.handle.number
    reply.options = options_of(subscription) | (mq.MQSO_RESUME if made.is_resumed else 0)
    expiry = attributes.get("EXPIRY", mq.MQEI_UNLIMITED)
    reply.expiry = expiry if isinstance(expiry, int) else mq.MQEI_UNLIMITED
    reply.priority = subscription.priority
    reply.level = subscription.level
    reply.correlation_id = subscription.correlation_id
    reply.accounting_token = subscription.identity[_USER_BYTES : _USER_BYTES + TOKEN_BYTES]
    reply.application_data = subscription.identity[-IDENTITY_BYTES:].rstrip(b" \0").decode("latin-1")
    reply.topic = subscription.topic
    reply.name = subscription.name
    reply.user_data = subscription.user_data
    selector = subscription.selector
    reply.selection = selector.text if selector is not None else ""
    if made.destination is not None:
        reply.destination = make_queue_open_reply(made.destination)
    return reply


def options_of(subscription: Subscription) -> int:
    """Return the MQSO options that describe a subscription."""
    options = mq.MQSO_ANY_USERID if subscription.is_for_any_user else mq.MQSO_FIXED_USERID
    options |= mq.MQSO_WILDCARD_CHAR if subscription.is_character_scheme else mq.MQSO_WILDCARD_TOPIC
    if subscription.is_durable:
        options |= mq.MQSO_DURABLE
    if subscription.is_managed:
        options |= mq.MQSO_MANAGED
    if subscription.is_grouped:
        options |= mq.MQSO_GROUP_SUB | mq.MQSO_SET_CORREL_ID
    if subscription.is_on_request:
        options |= mq.MQSO_PUBLICATIONS_ON_REQUEST
    return options
