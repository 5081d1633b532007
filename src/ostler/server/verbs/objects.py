"""Requests on objects: OPEN, CLOSE, PUT1, INQUIRE, SET, STATUS and BEGIN."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine import inquire as attributes
from ostler.engine import put as putting
from ostler.engine import statistics
from ostler.engine.connection import PUBLISH_LEVEL_HIGHEST, AsyncStatus
from ostler.engine.core import Engine
from ostler.engine.handle import Handle
from ostler.engine.open import OpenRequest, close_object, complete_open, open_object
from ostler.engine.outcomes import PutOutcome
from ostler.engine.properties.property_block import decode_block
from ostler.engine.pubsub import subscription_calls
from ostler.engine.pubsub.publish import refresh_open_topic
from ostler.engine.shared.opens import refresh_queue
from ostler.model import constants as mq
from ostler.model.attributes import valid_name
from ostler.model.definitions import Definition
from ostler.model.errors import LogFull, MQError
from ostler.server.net.conversation import ServerConversation, TaskReply, completion_code
from ostler.wire.frames import BEGIN, CLOSE, INQUIRE, OPEN, PUT1, REPLY, SET, STATUS, frame
from ostler.wire.object_frames import (
    CREATED,
    IS_QUEUE,
    PUTS_NEED_NO_REPLY,
    READS_AHEAD,
    REMOTE,
    TEMPORARY,
    OpenArguments,
    OpenReply,
    Put1Arguments,
    StatusReply,
    decode_inquire,
    decode_put1,
    read_open_arguments,
)
from ostler.wire.payload_codec import PayloadReader, PayloadWriter
from ostler.wire.replies import reply_frame

_MD_ID: Final = b"MD  \x02\0\0\0"


def object_verb(conversation: ServerConversation, type: i64, number: i64, buffer: bytes, start: i64, end: i64) -> bool:
    """Handle a request of this module. Return False for other types."""
    if type == PUT1:
        put1(conversation, type, number, buffer, start, start, end)
        return True
    if number == 0 or type not in (OPEN, CLOSE, BEGIN, INQUIRE, SET, STATUS):
        return False
    try:
        if type == OPEN:
            _open(conversation, number, PayloadReader(buffer, start, end))
        elif type == CLOSE:
            _close(conversation, number, PayloadReader(buffer, start, end))
        elif type == INQUIRE:
            _inquire(conversation, number, PayloadReader(buffer, start, end))
        elif type == SET:
            _set(conversation, number, PayloadReader(buffer, start, end))
        elif type == STATUS:
            _status(conversation, number, PayloadReader(buffer, start, end))
        else:
            _begin(conversation, number)
    except MQError as error:
        is_full: bool = isinstance(error, LogFull)
        if is_full and conversation.reactor.stall(conversation, type, number, buffer[start:end]):
            return True
        conversation.reply_failure(type, number, error.completion, error.reason, error.detail)
    return True


def _open(conversation: ServerConversation, number: i64, reader: PayloadReader) -> None:
    arguments = read_open_arguments(reader)
    reader.check_end()
    engine = conversation.engine
    handle = open_object(engine, conversation.connection, make_open_request(engine, arguments))
    if handle.opening is not None:
        conversation.reactor.call_when_done(handle.opening, OpenDone(conversation, number, handle, arguments))
        return
    made = handle.queue if handle.created_dynamic else None
    lsn: i64 = engine.journal.end_lsn() if made is not None and not made.is_temporary else 0
    payload = bytes(8) + make_open_reply(engine, handle, arguments).encode(conversation.link.version)
    conversation.reply_long_when_durable(lsn, OPEN, number, payload)


@final
class OpenDone(TaskReply):
    """The reply to an OPEN of a shared queue."""

    def __init__(self, conversation: ServerConversation, number: i64, handle: Handle, arguments: OpenArguments) -> None:
        super().__init__(conversation)
        self.number: i64 = number
        self.handle = handle
        self.arguments = arguments

    def on_done(self) -> None:
        conversation = self.conversation
        try:
            complete_open(conversation.engine, conversation.connection, self.handle)
        except MQError as error:
            conversation.reply_failure(OPEN, self.number, error.completion, error.reason, error.detail)
            return
        reply = make_open_reply(conversation.engine, self.handle, self.arguments)
        conversation.reply_long(OPEN, self.number, bytes(8) + reply.encode(conversation.link.version))


@final
class FrameWhenDone(TaskReply):
    """A reply that waits for a task."""

    def __init__(self, conversation: ServerConversation, lsn: i64, data: bytes) -> None:
        super().__init__(conversation)
        self.lsn: i64 = lsn
        self.data = data

    def on_done(self) -> None:
        self.conversation.reply(self.lsn, self.data)


@final
class Put1Done(TaskReply):
    """The reply to a PUT1 on a shared queue."""

    def __init__(self, conversation: ServerConversation, type: i64, number: i64, outcome: PutOutcome) -> None:
        super().__init__(conversation)
        self.type: i64 = type
        self.number: i64 = number
        self.outcome = outcome

    def on_done(self) -> None:
        conversation = self.conversation
        try:
            self.outcome.check()
        except MQError as error:
            _put1_failed(conversation, self.type, self.number, mq.MQOT_Q, error)
            return
        reply_put1(conversation, self.type, self.number, self.outcome)


@final
class InquireDone(TaskReply):
    """The reply to an INQUIRE of a shared queue, whose depth the coupling facility has told."""

    def __init__(self, conversation: ServerConversation, number: i64, handle: Handle, selectors: list[int]) -> None:
        super().__init__(conversation)
        self.number: i64 = number
        self.handle = handle
        self.selectors = selectors

    def on_done(self) -> None:
        try:
            _reply_inquire(self.conversation, self.number, self.handle, self.selectors)
        except MQError as error:
            self.conversation.reply_failure(INQUIRE, self.number, error.completion, error.reason, error.detail)


def _close(conversation: ServerConversation, number: i64, reader: PayloadReader) -> None:
    hobj: i64 = reader.integer()
    options: i64 = reader.integer()
    reader.check_end()
    engine = conversation.engine
    handle = open_handle(conversation, hobj)
    try:
        closed = close_object(engine, conversation.connection, handle, options)
    except LogFull:
        raise  # it is tried again and not counted
    except MQError:
        statistics.count_close_failed(engine, conversation.connection, handle)
        raise
    reason: i64 = closed.reason
    data = reply_frame(CLOSE, conversation.number, number, completion_code(reason), reason)
    if closed.task is not None:
        conversation.reactor.call_when_done(closed.task, FrameWhenDone(conversation, closed.after_lsn, data))
        return
    conversation.reply(closed.after_lsn, data)


def open_handle(conversation: ServerConversation, hobj: i64) -> Handle:
    handle = conversation.connection.handles.get(hobj)
    if handle is None:
        raise MQError(mq.MQRC_HOBJ_ERROR, f"{hobj} is not an open object handle of this connection.")
    return handle


def put1(
    conversation: ServerConversation,
    type: i64,
    number: i64,
    buffer: bytes,
    start: i64,
    at: i64,
    end: i64,
    publish_level: i64 = PUBLISH_LEVEL_HIGHEST,
) -> None:
    """Handle PUT1, or PUBLISH1, whose payload has a publication level before the put at `at`."""
    arguments = decode_put1(buffer, at, end)
    try:
        _put1(conversation, type, number, arguments, publish_level)
    except MQError as error:
        is_full: bool = isinstance(error, LogFull)
        if is_full and conversation.reactor.stall(conversation, type, number, buffer[start:end]):
            return
        _put1_failed(conversation, type, number, arguments.target.object_type, error)


def _put1_failed(conversation: ServerConversation, type: i64, number: i64, object_type: i64, error: MQError) -> None:
    statistics.count_put1_failed(conversation.engine, conversation.connection, object_type)
    if number == 0:
        conversation.connection.async_status.fail(mq.MQCC_FAILED, error.reason, "")
    conversation.reply_failure(type, number, error.completion, error.reason, error.detail)


def _put1(
    conversation: ServerConversation, type: i64, number: i64, arguments: Put1Arguments, publish_level: i64
) -> None:
    connection = conversation.connection
    engine = conversation.engine
    if arguments.md[:8] != _MD_ID:
        raise MQError(mq.MQRC_MD_ERROR)
    if len(arguments.body) > conversation.link.message_bytes_max:
        raise MQError(mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL)
    decode_block(arguments.block)
    request = make_open_request(engine, arguments.target)
    request.selection = ""
    if arguments.options & mq.MQOO_ALTERNATE_USER_AUTHORITY:
        request.alternate_user = arguments.target.alternate_user
    source = connection.handles.get(arguments.context)
    if number == 0:
        arguments.options = arguments.options & ~mq.MQPMO_SYNC_RESPONSE | mq.MQPMO_ASYNC_RESPONSE
    outcome = putting.put1(
        engine,
        connection,
        request,
        arguments.md,
        arguments.options,
        arguments.block,
        arguments.body,
        source,
        publish_level,
    )
    if outcome.task is not None:
        conversation.reactor.call_when_done(outcome.task, Put1Done(conversation, type, number, outcome))
        return
    outcome.check()
    reply_put1(conversation, type, number, outcome)


def reply_put1(conversation: ServerConversation, type: i64, number: i64, outcome: PutOutcome) -> None:
    """Reply to a PUT1 that is done."""
    if number == 0:
        return  # the engine has counted it for MQSTAT
    writer = PayloadWriter()
    writer.integer(mq.MQCC_OK if outcome.reason == 0 else mq.MQCC_WARNING)
    writer.integer(outcome.reason)
    writer.fixed(outcome.md)
    writer.fixed(outcome.resolved_names[:96].ljust(96))
    conversation.reply(outcome.after_lsn, frame(type | REPLY, conversation.number, number, writer.getvalue()))


def _inquire(conversation: ServerConversation, number: i64, reader: PayloadReader) -> None:
    arguments = decode_inquire(reader)
    handle = open_handle(conversation, arguments.hobj)
    queue = handle.queue
    task = refresh_queue(conversation.engine, queue) if queue is not None and queue.is_shared else None
    if task is not None:
        done = InquireDone(conversation, number, handle, arguments.selectors)
        conversation.reactor.call_when_done(task, done)
        return
    _reply_inquire(conversation, number, handle, arguments.selectors)


def _reply_inquire(conversation: ServerConversation, number: i64, handle: Handle, selectors: list[int]) -> None:
    try:
        integers, texts, reason = attributes.inquire(conversation.engine, handle, selectors)
    except MQError:
        statistics.count_inquire(conversation.engine, conversation.connection, handle, False)
        raise
    statistics.count_inquire(conversation.engine, conversation.connection, handle, True)
    writer = PayloadWriter()
    writer.integer(completion_code(reason))
    writer.integer(reason)
    writer.integers(integers)
    writer.integer(len(texts))
    for text in texts:
        writer.integer(len(text))
        writer.fixed(text)
    conversation.reply_long(INQUIRE, number, writer.getvalue())


def _set(conversation: ServerConversation, number: i64, reader: PayloadReader) -> None:
    arguments = decode_inquire(reader)
    handle = open_handle(conversation, arguments.hobj)
    engine = conversation.engine
    try:
        lsn: i64 = attributes.set_attributes(
            engine, handle, arguments.selectors, arguments.integers, arguments.characters
        )
    except LogFull:
        raise  # it is tried again and not counted
    except MQError:
        statistics.count_set(engine, conversation.connection, handle, False)
        raise
    statistics.count_set(engine, conversation.connection, handle, True)
    conversation.reply(lsn, reply_frame(SET, conversation.number, number, mq.MQCC_OK, mq.MQRC_NONE))


def _status(conversation: ServerConversation, number: i64, reader: PayloadReader) -> None:
    kind: i64 = reader.integer()
    reader.check_end()
    is_valid: bool = kind == mq.MQSTAT_TYPE_ASYNC_ERROR
    subscription_calls.count_status(conversation.engine, conversation.connection, is_valid)
    if kind in (mq.MQSTAT_TYPE_RECONNECTION, mq.MQSTAT_TYPE_RECONNECTION_ERROR):
        raise MQError(
            mq.MQRC_ENVIRONMENT_ERROR, "Reconnections are known to the client only, not to the queue manager."
        )
    if not is_valid:
        raise MQError(mq.MQRC_STAT_TYPE_ERROR, f"{kind} is not a type of status (MQSTAT_TYPE_*).")
    connection = conversation.connection
    counts = connection.async_status
    connection.async_status = AsyncStatus()
    status = StatusReply()
    status.succeeded = counts.succeeded
    status.warned = counts.warned
    status.failed = counts.failed
    status.completion = counts.first_completion
    status.reason = counts.first_reason
    status.object_type = counts.object_type
    status.object_name = counts.object_name
    status.object_string = counts.object_string
    # An application that reads that a put succeeded relies on its record.
    lsn: i64 = conversation.engine.journal.end_lsn() if counts.succeeded + counts.warned > 0 else 0
    payload = bytes(8) + status.encode(conversation.link.version)
    conversation.reply_long_when_durable(lsn, STATUS, number, payload)


def _begin(conversation: ServerConversation, number: i64) -> None:
    if conversation.connection.unit_of_work is not None:
        raise MQError(mq.MQRC_UOW_IN_PROGRESS)
    conversation.engine.unit_of_work_of(conversation.connection)
    data = reply_frame(BEGIN, conversation.number, number, mq.MQCC_WARNING, mq.MQRC_NO_EXTERNAL_PARTICIPANTS)
    conversation.link.send(data)


def make_open_request(engine: Engine, arguments: OpenArguments) -> OpenRequest:
    """Return the request to the engine for an OPEN or MQOPEN. MQError for names that cannot be valid."""
    request = OpenRequest(arguments.object_type, arguments.name, arguments.options)
    request.manager_name = arguments.manager_name
    if arguments.manager_name:
        if not valid_name(arguments.manager_name):
            raise MQError(
                mq.MQRC_UNKNOWN_OBJECT_Q_MGR, "The queue manager name contains characters that are not valid."
            )
        if arguments.object_type != mq.MQOT_Q and arguments.manager_name != engine.name:
            raise MQError(mq.MQRC_UNKNOWN_OBJECT_Q_MGR, f"Only queues can be opened on {arguments.manager_name}.")
    if arguments.name and not valid_name(arguments.name):
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, "The object name contains characters that are not valid.")
    request.dynamic_name = arguments.dynamic_name
    if arguments.options & mq.MQOO_ALTERNATE_USER_AUTHORITY:
        request.alternate_user = arguments.alternate_user
    request.selection = arguments.selection
    if arguments.object_type == mq.MQOT_TOPIC:
        request.topic_string = arguments.object_string
    return request


def make_open_reply(engine: Engine, handle: Handle, arguments: OpenArguments) -> OpenReply:
    """Describe an open object to the client."""
    if handle.queue is not None:
        reply = make_queue_open_reply(handle)
        reply.object_type = arguments.object_type
        return reply
    reply = OpenReply()
    reply.hobj = handle.number
    reply.object_type = arguments.object_type
    reply.name = handle.name
    opened = handle.topic
    if opened is not None:
        settings = refresh_open_topic(engine, opened)
        reply.object_type = mq.MQOT_TOPIC
        reply.object_string = opened.topic
        reply.default_persistence = settings.persistence
        reply.default_priority = settings.priority
        if settings.response == mq.MQPRT_ASYNC_RESPONSE:
            reply.flags = PUTS_NEED_NO_REPLY
    return reply


def make_queue_open_reply(handle: Handle) -> OpenReply:
    """Describe an open queue to the client."""
    queue = handle.queue
    assert queue is not None, "the handle of a queue"
    reply = OpenReply()
    reply.hobj = handle.number
    reply.object_type = mq.MQOT_Q
    reply.flags = IS_QUEUE
    reply.name = queue.name
    if handle.created_dynamic:
        reply.flags |= CREATED
        if queue.is_temporary:
            reply.flags |= TEMPORARY
    if handle.remote_manager:
        reply.flags |= REMOTE
    if len(handle.resolved_names) == 96:
        reply.resolved_names = handle.resolved_names
    definition = queue.definition
    if handle.default_response == mq.MQPRT_ASYNC_RESPONSE or (
        handle.default_response < 0 and _integer(definition, "DEFPRESP") == mq.MQPRT_ASYNC_RESPONSE
    ):
        reply.flags |= PUTS_NEED_NO_REPLY
    if _reads_ahead(handle, definition):
        reply.flags |= READS_AHEAD
    reply.default_persistence = _integer(definition, "DEFPSIST")
    reply.default_priority = _integer(definition, "DEFPRTY")
    reply.backout_threshold = queue.backout_threshold
    name = definition.attributes.get("BOQNAME")
    reply.backout_queue = name if isinstance(name, str) else ""
    return reply


def _reads_ahead(handle: Handle, definition: Definition) -> bool:
    if handle.options & mq.MQOO_NO_READ_AHEAD or not (handle.for_input or handle.for_browse):
        return False
    return bool(handle.options & mq.MQOO_READ_AHEAD) or _integer(definition, "DEFREADA") == mq.MQREADA_YES


def _integer(definition: Definition, name: str) -> int:
    value = definition.attributes.get(name, 0)
    return value if isinstance(value, int) else 0
