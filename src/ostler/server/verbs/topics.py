"""The requests of publish/subscribe: SUBSCRIBE, SUBSCRIPTION_REQUEST, and puts with a publication level."""

from __future__ import annotations

from mypy_extensions import i64

from ostler.engine.connection import PUBLISH_LEVEL_HIGHEST
from ostler.engine.pubsub.subscribe import request_publications, subscribe
from ostler.model.constants import (
    MQCC_FAILED,
    MQCC_OK,
    MQCC_WARNING,
    MQRC_FUNCTION_NOT_SUPPORTED,
    MQRC_NONE,
    MQRC_PMO_ERROR,
)
from ostler.model.errors import MQError
from ostler.server.net.conversation import ServerConversation
from ostler.server.verbs.objects import open_handle, put1
from ostler.server.verbs.opened_subscriptions import make_subscribe_reply, make_subscribe_request
from ostler.wire.frames import PUBLISH, PUBLISH1, REPLY, SUBSCRIBE, SUBSCRIPTION_REQUEST, MalformedFrame, frame
from ostler.wire.payload_codec import PayloadReader, PayloadWriter
from ostler.wire.subscribe_frames import SUBSCRIPTIONS_VERSION, decode_subscribe


def topic_verb(conversation: ServerConversation, type: i64, number: i64, buffer: bytes, start: i64, end: i64) -> bool:
    """Handle a request if it is one of those here."""
    if type not in (SUBSCRIBE, SUBSCRIPTION_REQUEST, PUBLISH, PUBLISH1):
        return False
    if conversation.link.version < SUBSCRIPTIONS_VERSION:
        if type in (PUBLISH, PUBLISH1):
            raise MalformedFrame(f"a frame of type {type}, which version {conversation.link.version} does not have")
        text = "Subscriptions need version 2 of the protocol."
        conversation.reply_failure(type, number, MQCC_FAILED, MQRC_FUNCTION_NOT_SUPPORTED, text)
        return True
    if type in (PUBLISH, PUBLISH1):
        _publish(conversation, type, number, buffer, start, end)
        return True
    if number == 0:
        raise MalformedFrame(f"a frame of type {type} that asks for no reply")
    engine = conversation.engine
    engine.journal_full = False
    try:
        if type == SUBSCRIBE:
            _subscribe(conversation, number, PayloadReader(buffer, start, end))
        else:
            _request(conversation, number, PayloadReader(buffer, start, end))
    except MQError as error:
        if engine.journal_full and conversation.reactor.stall(conversation, type, number, buffer[start:end]):
            return True
        conversation.reply_failure(type, number, error.completion, error.reason, error.detail)
    return True


def _subscribe(conversation: ServerConversation, number: i64, reader: PayloadReader) -> None:
    asked = decode_subscribe(reader)
    connection = conversation.connection
    made = subscribe(conversation.engine, connection, make_subscribe_request(connection, asked))
    writer = PayloadWriter()
    writer.integer(MQCC_OK if made.warning == 0 else MQCC_WARNING)
    writer.integer(made.warning)
    writer.fixed(make_subscribe_reply(made).encode())
    conversation.reply_long_when_durable(connection.after_lsn, SUBSCRIBE, number, writer.getvalue())


def _request(conversation: ServerConversation, number: i64, reader: PayloadReader) -> None:
    hsub: i64 = reader.integer()
    action: i64 = reader.integer()
    options: i64 = reader.integer()
    reader.check_end()
    connection = conversation.connection
    handle = open_handle(conversation, hsub)
    count: i64 = request_publications(conversation.engine, connection, handle, action, options)
    writer = PayloadWriter()
    writer.integer(MQCC_OK)
    writer.integer(MQRC_NONE)
    writer.integer(count)
    data = frame(SUBSCRIPTION_REQUEST | REPLY, conversation.number, number, writer.getvalue())
    conversation.reply(connection.after_lsn, data)


def _publish(conversation: ServerConversation, type: i64, number: i64, buffer: bytes, start: i64, end: i64) -> None:
    """A PUT or PUT1 with a level before it."""
    level: i64 = PayloadReader(buffer, start, end).integer()
    connection = conversation.connection
    if not 0 <= level <= PUBLISH_LEVEL_HIGHEST:
        if number == 0:
            connection.async_status.fail(MQCC_FAILED, MQRC_PMO_ERROR, "")
        conversation.reply_failure(type, number, MQCC_FAILED, MQRC_PMO_ERROR, "A publication level is 0 to 9.")
        return
    connection.publish_level = level
    try:
        if type == PUBLISH:
            conversation.put(type, number, buffer, start, start + 4, end)
        else:
            put1(conversation, type, number, buffer, start, start + 4, end)
    finally:
        connection.publish_level = PUBLISH_LEVEL_HIGHEST
