"""Payloads of SUBSCRIBE (MQSUB), from version 2 of the protocol on."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.wire.object_frames import SELECTION_BYTES_MAX, OpenReply, read_open_reply
from ostler.wire.payload_codec import NAME_BYTES, PayloadReader, PayloadWriter

SUBSCRIPTIONS_VERSION: Final = 2
# From this version on clients report their calls of MQCB and MQCTL, which they execute on their own.
COUNT_CALL_VERSION: Final = 3
USER_BYTES: Final = 12
IDENTIFIER_BYTES: Final = 24
TOKEN_BYTES: Final = 32
IDENTITY_BYTES: Final = 32
TOPIC_BYTES_MAX: Final = 10240
LEVEL_HIGHEST: Final = 9
NO_IDENTIFIER: Final = bytes(IDENTIFIER_BYTES)
NO_TOKEN: Final = bytes(TOKEN_BYTES)


@final
class SubscribeArguments:
    """SUBSCRIBE: an MQSD without its pointers, and the handle of the destination."""

    def __init__(self, options: i64) -> None:
        self.options: i64 = options
        self.destination: i64 = 0  # the handle of an open queue; 0 if it is managed or does not change
        self.expiry: i64 = -1
        self.priority: i64 = -3
        self.level: i64 = 1
        self.object_name = ""
        self.alternate_user = ""
        self.correlation_id = NO_IDENTIFIER
        self.accounting_token = NO_TOKEN
        self.application_data = ""
        self.topic_string = ""
        self.name = ""
        self.user_data = ""
        self.selection = ""

    def encode(self) -> bytes:
        writer = PayloadWriter()
        writer.integer(self.options)
        writer.integer(self.destination)
        writer.integer(self.expiry)
        writer.integer(self.priority)
        writer.integer(self.level)
        writer.name(self.object_name, NAME_BYTES)
        writer.name(self.alternate_user, USER_BYTES)
        writer.fixed(self.correlation_id)
        writer.fixed(self.accounting_token)
        writer.name(self.application_data, IDENTITY_BYTES)
        writer.text(self.topic_string)
        writer.text(self.name)
        writer.text(self.user_data)
        writer.text(self.selection)
        return writer.getvalue()


def decode_subscribe(reader: PayloadReader) -> SubscribeArguments:
    arguments = SubscribeArguments(reader.integer())
    arguments.destination = reader.integer()
    arguments.expiry = reader.integer()
    arguments.priority = reader.integer()
    arguments.level = reader.integer()
    arguments.object_name = reader.name(NAME_BYTES)
    arguments.alternate_user = reader.name(USER_BYTES)
    arguments.correlation_id = reader.fixed(IDENTIFIER_BYTES)
    arguments.accounting_token = reader.fixed(TOKEN_BYTES)
    arguments.application_data = reader.name(IDENTITY_BYTES)
    arguments.topic_string = reader.text(TOPIC_BYTES_MAX)
    arguments.name = reader.text(TOPIC_BYTES_MAX)
    arguments.user_data = reader.text(TOPIC_BYTES_MAX)
    arguments.selection = reader.text(SELECTION_BYTES_MAX)
    reader.check_end()
    return arguments


@final
class SubscribeReply:
    """The reply to SUBSCRIBE: the handles, and the properties of the subscription."""

    def __init__(self) -> None:
        self.hsub: i64 = 0
        self.options: i64 = 0  # MQSO_* that describe it, with MQSO_RESUME if it existed before
        self.expiry: i64 = 0
        self.priority: i64 = 0
        self.level: i64 = 0
        self.correlation_id = NO_IDENTIFIER
        self.accounting_token = NO_TOKEN
        self.application_data = ""
        self.topic = ""  # the full topic string
        self.name = ""
        self.user_data = ""
        self.selection = ""
        self.destination = OpenReply()  # of a managed subscription; otherwise with handle 0

    def encode(self) -> bytes:
        writer = PayloadWriter()
        writer.integer(self.hsub)
        writer.integer(self.options)
        writer.integer(self.expiry)
        writer.integer(self.priority)
        writer.integer(self.level)
        writer.fixed(self.correlation_id)
        writer.fixed(self.accounting_token)
        writer.name(self.application_data, IDENTITY_BYTES)
        writer.text(self.topic)
        writer.text(self.name)
        writer.text(self.user_data)
        writer.text(self.selection)
        self.destination.write(writer)
        return writer.getvalue()


def decode_subscribe_reply(reader: PayloadReader) -> SubscribeReply:
    reply = SubscribeReply()
    reply.hsub = reader.integer()
    reply.options = reader.integer()
    reply.expiry = reader.integer()
    reply.priority = reader.integer()
    reply.level = reader.integer()
    reply.correlation_id = reader.fixed(IDENTIFIER_BYTES)
    reply.accounting_token = reader.fixed(TOKEN_BYTES)
    reply.application_data = reader.name(IDENTITY_BYTES)
    reply.topic = reader.text(TOPIC_BYTES_MAX)
    reply.name = reader.text(TOPIC_BYTES_MAX)
    reply.user_data = reader.text(TOPIC_BYTES_MAX)
    reply.selection = reader.text(SELECTION_BYTES_MAX)
    reply.destination = read_open_reply(reader)
    reader.check_end()
    return reply
