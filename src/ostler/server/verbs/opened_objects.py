"""What an application asks to have open, and what it is told of it: the same for every binding."""

from __future__ import annotations

from ostler.engine.core import Engine
from ostler.engine.handle import Handle
from ostler.engine.open import OpenRequest
from ostler.engine.pubsub.publish import refresh_open_topic
from ostler.model.attributes import valid_name
from ostler.model.constants import (
    MQOO_ALTERNATE_USER_AUTHORITY,
    MQOO_NO_READ_AHEAD,
    MQOO_READ_AHEAD,
    MQOT_Q,
    MQOT_TOPIC,
    MQPRT_ASYNC_RESPONSE,
    MQRC_UNKNOWN_OBJECT_NAME,
    MQRC_UNKNOWN_OBJECT_Q_MGR,
    MQREADA_YES,
)
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.wire.object_frames import (
    CREATED,
    IS_QUEUE,
    PUTS_NEED_NO_REPLY,
    READS_AHEAD,
    REMOTE,
    TEMPORARY,
    OpenArguments,
    OpenReply,
)


def make_open_request(engine: Engine, asked: OpenArguments) -> OpenRequest:
    """What an application asks to have open, checked as far as that can be done without the object."""
    request = OpenRequest(asked.object_type, asked.name, asked.options)
    request.manager_name = asked.manager_name
    if asked.manager_name:
        if not valid_name(asked.manager_name):
            raise MQError(MQRC_UNKNOWN_OBJECT_Q_MGR, "The name of the queue manager has characters it cannot have.")
        if asked.object_type != MQOT_Q and asked.manager_name != engine.name:
            raise MQError(MQRC_UNKNOWN_OBJECT_Q_MGR, f"Only queues can be opened on {asked.manager_name}.")
    if asked.name and not valid_name(asked.name):
        raise MQError(MQRC_UNKNOWN_OBJECT_NAME, "The object name has characters that no name has.")
    request.dynamic_name = asked.dynamic_name
    if asked.options & MQOO_ALTERNATE_USER_AUTHORITY:
        request.alternate_user = asked.alternate_user
    request.selection = asked.selection
    if asked.object_type == MQOT_TOPIC:
        request.topic_string = asked.object_string
    return request


def make_open_reply(engine: Engine, handle: Handle, asked: OpenArguments) -> OpenReply:
    """What a client has to know of an opened object."""
    if handle.queue is not None:
        found = make_queue_open_reply(handle)
        found.object_type = asked.object_type
        return found
    found = OpenReply()
    found.hobj = handle.number
    found.object_type = asked.object_type
    found.name = handle.name
    opened = handle.topic
    if opened is not None:
        settings = refresh_open_topic(engine, opened)
        found.object_type = MQOT_TOPIC
        found.object_string = opened.topic
        found.default_persistence = settings.persistence
        found.default_priority = settings.priority
        if settings.response == MQPRT_ASYNC_RESPONSE:
            found.flags = PUTS_NEED_NO_REPLY
    return found


def make_queue_open_reply(handle: Handle) -> OpenReply:
    """The same of a queue."""
    queue = handle.queue
    assert queue is not None, "the handle of a queue"
    found = OpenReply()
    found.hobj = handle.number
    found.object_type = MQOT_Q
    found.flags = IS_QUEUE
    found.name = queue.name
    if handle.created_dynamic:
        found.flags |= CREATED
        if queue.is_temporary:
            found.flags |= TEMPORARY
    if handle.remote_manager:
        found.flags |= REMOTE
    if len(handle.resolved_names) == 96:
        found.resolved_names = handle.resolved_names
    definition = queue.definition
    if handle.default_response == MQPRT_ASYNC_RESPONSE or (
        handle.default_response < 0 and _integer(definition, "DEFPRESP") == MQPRT_ASYNC_RESPONSE
    ):
        found.flags |= PUTS_NEED_NO_REPLY
    if _reads_ahead(handle, definition):
        found.flags |= READS_AHEAD
    found.default_persistence = _integer(definition, "DEFPSIST")
    found.default_priority = _integer(definition, "DEFPRTY")
    found.backout_threshold = queue.backout_threshold
    name = definition.attributes.get("BOQNAME")
    found.backout_queue = name if isinstance(name, str) else ""
    return found


def _reads_ahead(handle: Handle, definition: Definition) -> bool:
    if handle.options & MQOO_NO_READ_AHEAD or not (handle.for_input or handle.for_browse):
        return False
    return bool(handle.options & MQOO_READ_AHEAD) or _integer(definition, "DEFREADA") == MQREADA_YES


def _integer(definition: Definition, name: str) -> int:
    value = definition.attributes.get(name, 0)
    return value if isinstance(value, int) else 0
