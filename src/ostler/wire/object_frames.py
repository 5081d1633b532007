"""Payloads of the frames that work on objects: OPEN, PUT1, INQUIRE and SET, STATUS.

Each class has `encode`, which returns the payload. Its `decode_...` function raises MalformedFrame for bytes that no
correct peer sends.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.wire.frames import PROTOCOL_VERSION
from ostler.wire.payload_codec import NAME_BYTES, PayloadReader, PayloadWriter

SELECTION_BYTES_MAX: Final = 10240
ATTRIBUTES_MAX: Final = 1024
CHARACTERS_MAX: Final = 1 << 20


@final
class OpenArguments:
    """The object of MQOPEN and MQPUT1: an MQOD without its pointers."""

    def __init__(self, object_type: i64, name: str, options: i64) -> None:
        self.object_type: i64 = object_type
        self.options: i64 = options
        self.name = name
        self.manager_name = ""
        self.dynamic_name = ""
        self.alternate_user = ""
        self.selection = ""
        self.object_string = ""

    def write(self, writer: PayloadWriter) -> None:
        writer.integer(self.object_type)
        writer.integer(self.options)
        writer.name(self.name, NAME_BYTES)
        writer.name(self.manager_name, NAME_BYTES)
        writer.name(self.dynamic_name, NAME_BYTES)
        writer.name(self.alternate_user, 12)
        writer.text(self.selection)
        writer.text(self.object_string)

    def encode(self) -> bytes:
        writer = PayloadWriter()
        self.write(writer)
        return writer.getvalue()


def read_open_arguments(reader: PayloadReader) -> OpenArguments:
    object_type: i64 = reader.integer()
    options: i64 = reader.integer()
    arguments = OpenArguments(object_type, reader.name(NAME_BYTES), options)
    arguments.manager_name = reader.name(NAME_BYTES)
    arguments.dynamic_name = reader.name(NAME_BYTES)
    arguments.alternate_user = reader.name(12)
    arguments.selection = reader.text(SELECTION_BYTES_MAX)
    arguments.object_string = reader.text(SELECTION_BYTES_MAX)
    return arguments


# Flags of an OPEN reply.
CREATED: Final = 1  # a dynamic queue was created, with the name `name`
REMOTE: Final = 2
IS_QUEUE: Final = 4
TEMPORARY: Final = 8
PUTS_NEED_NO_REPLY: Final = 16  # DEFPRESP(ASYNC), for puts with MQPMO_RESPONSE_AS_Q_DEF
READS_AHEAD: Final = 32  # the queue manager may send messages ahead of requests (read-ahead)


@final
class OpenReply:
    """The reply to OPEN: the properties of the open object."""

    def __init__(self) -> None:
        self.hobj: i64 = 0
        self.flags: i64 = 0
        self.object_type: i64 = 0
        self.name = ""  # of the queue, if it is local
        self.resolved_names = b" " * 96  # ResolvedQName and ResolvedQMgrName
        self.default_persistence: i64 = 0
        self.default_priority: i64 = 0
        self.backout_threshold: i64 = 0
        self.backout_queue = ""
        self.object_string = ""  # the full topic string; from version 2 of the protocol on

    def encode(self, version: i64 = PROTOCOL_VERSION) -> bytes:
        writer = PayloadWriter()
        self.write(writer)
        if version > 1:
            writer.text(self.object_string)
        return writer.getvalue()

    def write(self, writer: PayloadWriter) -> None:
        """Write the fields that every version has."""
        writer.integer(self.hobj)
        writer.integer(self.flags)
        writer.integer(self.object_type)
        writer.name(self.name, NAME_BYTES)
        writer.fixed(self.resolved_names)
        writer.integer(self.default_persistence)
        writer.integer(self.default_priority)
        writer.integer(self.backout_threshold)
        writer.name(self.backout_queue, NAME_BYTES)


def decode_open_reply(reader: PayloadReader, version: i64 = PROTOCOL_VERSION) -> OpenReply:
    """Decode the reply to OPEN of a version of the protocol."""
    reply = read_open_reply(reader)
    if version > 1:
        reply.object_string = reader.text(SELECTION_BYTES_MAX)
    reader.check_end()
    return reply


def read_open_reply(reader: PayloadReader) -> OpenReply:
    reply = OpenReply()
    reply.hobj = reader.integer()
    reply.flags = reader.integer()
    reply.object_type = reader.integer()
    reply.name = reader.name(NAME_BYTES)
    reply.resolved_names = reader.fixed(2 * NAME_BYTES)
    reply.default_persistence = reader.integer()
    reply.default_priority = reader.integer()
    reply.backout_threshold = reader.integer()
    reply.backout_queue = reader.name(NAME_BYTES)
    return reply


@final
class Put1Arguments:
    """PUT1, for MQPUT1: the object and the message."""

    def __init__(self, target: OpenArguments, options: i64, context: i64, md: bytes, block: bytes, body: bytes) -> None:
        self.target = target
        self.options: i64 = options
        self.context: i64 = context
        self.md = md
        self.block = block
        self.body = body

    def encode(self) -> bytes:
        writer = PayloadWriter()
        self.target.write(writer)
        writer.integer(self.options)
        writer.integer(self.context)
        writer.fixed(self.md)
        writer.integer(len(self.block))
        writer.fixed(self.block)
        writer.fixed(self.body)
        return writer.getvalue()


def decode_put1(buffer: bytes, start: i64, end: i64) -> Put1Arguments:
    reader = PayloadReader(buffer, start, end)
    target = read_open_arguments(reader)
    options: i64 = reader.integer()
    context: i64 = reader.integer()
    md = reader.fixed(364)
    block = reader.fixed(reader.count(end - start))
    return Put1Arguments(target, options, context, md, block, reader.rest())


@final
class InquireArguments:
    """INQUIRE for MQINQ; with values, SET for MQSET."""

    def __init__(self, hobj: i64, selectors: list[int], integers: list[int], characters: bytes) -> None:
        self.hobj: i64 = hobj
        self.selectors = selectors
        self.integers = integers
        self.characters = characters

    def encode(self) -> bytes:
        writer = PayloadWriter()
        writer.integer(self.hobj)
        writer.integers(self.selectors)
        writer.integers(self.integers)
        writer.integer(len(self.characters))
        writer.fixed(self.characters)
        return writer.getvalue()


def decode_inquire(reader: PayloadReader) -> InquireArguments:
    hobj: i64 = reader.integer()
    selectors = reader.integers(ATTRIBUTES_MAX)
    integers = reader.integers(ATTRIBUTES_MAX)
    characters = reader.fixed(reader.count(CHARACTERS_MAX))
    reader.check_end()
    return InquireArguments(hobj, selectors, integers, characters)


@final
class StatusReply:
    """The reply to STATUS, for MQSTAT: results of asynchronous puts."""

    def __init__(self) -> None:
        self.succeeded: i64 = 0
        self.warned: i64 = 0
        self.failed: i64 = 0
        self.completion: i64 = 0
        self.reason: i64 = 0
        self.object_type: i64 = 0
        self.object_name = ""
        self.object_string = ""  # from version 2 of the protocol on

    def encode(self, version: i64 = PROTOCOL_VERSION) -> bytes:
        writer = PayloadWriter()
        writer.integer(self.succeeded)
        writer.integer(self.warned)
        writer.integer(self.failed)
        writer.integer(self.completion)
        writer.integer(self.reason)
        writer.integer(self.object_type)
        writer.name(self.object_name, NAME_BYTES)
        if version > 1:
            writer.text(self.object_string)
        return writer.getvalue()


def decode_status_reply(reader: PayloadReader, version: i64 = PROTOCOL_VERSION) -> StatusReply:
    status = StatusReply()
    status.succeeded = reader.integer()
    status.warned = reader.integer()
    status.failed = reader.integer()
    status.completion = reader.integer()
    status.reason = reader.integer()
    status.object_type = reader.integer()
    status.object_name = reader.name(NAME_BYTES)
    if version > 1:
        status.object_string = reader.text(SELECTION_BYTES_MAX)
    reader.check_end()
    return status
