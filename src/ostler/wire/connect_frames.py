"""Payloads of the frames that set up a link and its conversations: HELLO and CONNECT, and their replies.

Each class has `encode`, which returns the payload. Its `decode_...` function raises MalformedFrame for bytes that no
correct peer sends.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.wire.frames import MAGIC, PROTOCOL_VERSION, SEGMENT_BYTES, MalformedFrame
from ostler.wire.payload_codec import CHANNEL_BYTES, NAME_BYTES, PayloadReader, PayloadWriter

KEY_RESET_VERSION: Final = 3  # of the protocol: clients may ask for new keys
KEY_RESET_BYTES_MIN: Final = 32 * 1024  # as in MQ: the least SSLRKEYC and KeyResetCount
KEY_RESET_BYTES_MAX: Final = 999_999_999
_KEY_RESET_FIELD_BYTES: Final = 4
LIFE_VERSION: Final = 4  # of the protocol: a queue manager with copies names its log and its life
LOG_IDENTITY_BYTES: Final = 16
_LIFE_FIELDS_BYTES: Final = _KEY_RESET_FIELD_BYTES + LOG_IDENTITY_BYTES + 8
TAG_VERSION: Final = 5  # of the protocol: CONNECT may have a connection tag
TAG_BYTES: Final = 128
TAG_OPTIONS: Final = 2 | 4 | 8 | 16
"""MQCNO_SERIALIZE_CONN_TAG_* and MQCNO_RESTRICT_CONN_TAG_*: with one of them CONNECT has a tag."""
USER_BYTES_MAX: Final = 1024
PASSWORD_BYTES_MAX: Final = 1024


@final
class Hello:
    """HELLO: the client proposes the values of a link, and the queue manager replies with the negotiated ones."""

    def __init__(self, channel: str = "") -> None:
        self.version: i64 = PROTOCOL_VERSION
        self.segment_bytes: i64 = SEGMENT_BYTES  # the longest frame
        self.message_bytes_max: i64 = 0
        self.heartbeat_seconds: i64 = 0
        self.conversations_max: i64 = 1
        self.channel = channel  # empty on the local socket
        # SSLRKEYC, in replies: after so many bytes the client asks for new keys. 0, never, is not sent.
        self.key_reset_bytes: i64 = 0
        # Of a queue manager with copies, in replies: its log, the same at all copies, and the life of that log, which
        # is higher for each leader. A life of 0 is not sent.
        self.log_identity: bytes = bytes(LOG_IDENTITY_BYTES)
        self.life: i64 = 0

    def encode(self) -> bytes:
        writer = PayloadWriter()
        writer.fixed(MAGIC)
        writer.integer(self.version)
        writer.integer(self.segment_bytes)
        writer.integer(self.message_bytes_max)
        writer.integer(self.heartbeat_seconds)
        writer.integer(self.conversations_max)
        writer.name(self.channel, CHANNEL_BYTES)
        has_life: bool = self.life > 0 and self.version >= LIFE_VERSION
        if has_life or (self.key_reset_bytes > 0 and self.version >= KEY_RESET_VERSION):
            writer.integer(self.key_reset_bytes)
        if has_life:
            writer.fixed(self.log_identity)
            writer.position(self.life)
        return writer.getvalue()


def decode_hello(payload: bytes) -> Hello:
    reader = PayloadReader(payload)
    if reader.fixed(4) != MAGIC:
        raise MalformedFrame("the peer does not speak this protocol")
    hello = Hello()
    hello.version = reader.count(1 << 16)
    hello.segment_bytes = reader.count(1 << 30)
    hello.message_bytes_max = reader.count(1 << 30)
    hello.heartbeat_seconds = reader.count(1 << 30)
    hello.conversations_max = reader.count((1 << 31) - 1)
    hello.channel = reader.name(CHANNEL_BYTES)
    left: i64 = reader.end - reader.at
    has_life: bool = hello.version >= LIFE_VERSION and left == _LIFE_FIELDS_BYTES
    if has_life or (hello.version >= KEY_RESET_VERSION and left == _KEY_RESET_FIELD_BYTES):
        hello.key_reset_bytes = reader.count(KEY_RESET_BYTES_MAX)
    if has_life:
        hello.log_identity = reader.fixed(LOG_IDENTITY_BYTES)
        hello.life = reader.position()
    reader.check_end()
    return hello


@final
class ConnectArguments:
    """CONNECT, for MQCONNX: the application and its credentials."""

    def __init__(self) -> None:
        self.options: i64 = 0
        self.application_type: i64 = 0
        self.application = ""
        self.queue_manager = ""
        self.user = ""
        self.password = ""
        self.tag = b""  # with TAG_OPTIONS

    def encode(self) -> bytes:
        writer = PayloadWriter()
        writer.integer(self.options)
        writer.integer(self.application_type)
        writer.name(self.queue_manager, NAME_BYTES)
        writer.text(self.application)
        writer.text(self.user)
        writer.text(self.password)
        if self.options & TAG_OPTIONS:
            writer.fixed(self.tag)
        return writer.getvalue()


def decode_connect(payload: bytes) -> ConnectArguments:
    reader = PayloadReader(payload)
    arguments = ConnectArguments()
    arguments.options = reader.integer()
    arguments.application_type = reader.integer()
    arguments.queue_manager = reader.name(NAME_BYTES)
    arguments.application = reader.text(USER_BYTES_MAX)
    arguments.user = reader.text(USER_BYTES_MAX)
    arguments.password = reader.text(PASSWORD_BYTES_MAX)
    if arguments.options & TAG_OPTIONS and reader.at < reader.end:
        arguments.tag = reader.fixed(TAG_BYTES)
    reader.check_end()
    return arguments


@final
class ConnectReply:
    """The reply to CONNECT: the properties of the new connection."""

    def __init__(self) -> None:
        self.connection_id = bytes(24)
        self.queue_manager = ""
        self.ccsid: i64 = 0
        self.message_bytes_max: i64 = 0
        self.handles_max: i64 = 0
        self.user = ""

    def encode(self) -> bytes:
        writer = PayloadWriter()
        writer.fixed(self.connection_id)
        writer.name(self.queue_manager, NAME_BYTES)
        writer.integer(self.ccsid)
        writer.integer(self.message_bytes_max)
        writer.integer(self.handles_max)
        writer.text(self.user)
        return writer.getvalue()


def decode_connect_reply(reader: PayloadReader) -> ConnectReply:
    reply = ConnectReply()
    reply.connection_id = reader.fixed(24)
    reply.queue_manager = reader.name(NAME_BYTES)
    reply.ccsid = reader.integer()
    reply.message_bytes_max = reader.integer()
    reply.handles_max = reader.integer()
    reply.user = reader.text(USER_BYTES_MAX)
    reader.check_end()
    return reply
