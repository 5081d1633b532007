"""Publish/subscribe in a world without threads, real clock or randomness: see `world`."""

from __future__ import annotations

import struct

from tests.world.world import Put, World

from ostler.engine import objects
from ostler.engine.connection import Connection
from ostler.engine.handle import Handle
from ostler.engine.message.message import MD_BYTES, NULL_ID
from ostler.engine.open import OpenRequest, close_object, open_object
from ostler.engine.pubsub.subscribe import SubscribeRequest, SubscribeResult, subscribe
from ostler.engine.pubsub.topic_settings import DURABLE_MODEL, NON_DURABLE_MODEL
from ostler.engine.put import put
from ostler.engine.queue.queue import RETAINED_QUEUE
from ostler.model.attributes import ObjectType, Value
from ostler.model.constants import (
    MQGMO_NO_SYNCPOINT,
    MQOO_INPUT_SHARED,
    MQOO_OUTPUT,
    MQOT_TOPIC,
    MQPMO_NO_SYNCPOINT,
    MQPMO_SYNCPOINT,
    MQQA_SHAREABLE,
    MQQDT_PERMANENT_DYNAMIC,
    MQQDT_TEMPORARY_DYNAMIC,
    MQRC_NO_MSG_AVAILABLE,
    MQSO_CREATE,
    MQSO_MANAGED,
)
from ostler.model.definitions import new_definition
from ostler.model.structures.md import MD_DEFAULT

_ROOM_TRIES = 3
_SHARED: dict[str, Value] = {"SHARE": MQQA_SHAREABLE, "DEFSOPT": MQOO_INPUT_SHARED}


class TopicWorld(World):
    """A world with the objects of publish/subscribe: the queue of retained publications and the model queues."""

    def prepare_topics(self) -> None:
        self.define_queue(RETAINED_QUEUE)
        for name, kind in ((DURABLE_MODEL, MQQDT_PERMANENT_DYNAMIC), (NON_DURABLE_MODEL, MQQDT_TEMPORARY_DYNAMIC)):
            definition = new_definition(ObjectType.QMODEL, name, {"DEFTYPE": kind, **_SHARED})
            self.acknowledge(objects.define(self.engine, definition))

    def define_topic(self, name: str, topic: str, attributes: dict[str, Value] | None = None) -> None:
        definition = new_definition(ObjectType.TOPIC, name, {"TOPICSTR": topic, **(attributes or {})})
        self.acknowledge(objects.define(self.engine, definition, True))

    def subscribe(
        self,
        connection: Connection,
        topic: str,
        options: int = MQSO_CREATE | MQSO_MANAGED,
        name: str = "",
        *,
        destination: Handle | None = None,
        user_data: str = "",
        selection: str = "",
        correlation_id: bytes = NULL_ID,
        expiry: int = -1,
        priority: int = -3,
        level: int = 1,
        object_name: str = "",
    ) -> SubscribeResult:
        self._set_clock()
        request = SubscribeRequest(options)
        request.topic_string = topic
        request.name = name
        request.destination = destination
        request.user_data = user_data
        request.selection = selection
        request.correlation_id = correlation_id
        request.expiry = expiry
        request.priority = priority
        request.level = level
        request.object_name = object_name
        return subscribe(self.engine, connection, request)

    def open_topic(self, connection: Connection, topic: str, object_name: str = "") -> Handle:
        self._set_clock()
        request = OpenRequest(MQOT_TOPIC, object_name, MQOO_OUTPUT)
        request.topic_string = topic
        return open_object(self.engine, connection, request)

    def publish(
        self,
        connection: Connection,
        topic: str,
        body: bytes,
        options: int = 0,
        *,
        syncpoint: bool = False,
        persistence: int = 1,
        priority: int = 0,
        expiry_tenths: int = -1,
        correlation_id: bytes = NULL_ID,
        properties: bytes = b"",
        level: int = 9,
        fields: dict[int, int] | None = None,
    ) -> Put:
        """Open, publish and close; makes room in the log when it is full. `fields`: other integers, by offset."""
        handle = self.open_topic(connection, topic)
        md = bytearray(MD_DEFAULT.ljust(MD_BYTES, b"\0"))
        struct.pack_into("<i", md, 16, expiry_tenths)
        struct.pack_into("<ii24s24s", md, 40, priority, persistence, NULL_ID, correlation_id)
        for offset, value in (fields or {}).items():
            struct.pack_into("<i", md, offset, value)
        options |= MQPMO_SYNCPOINT if syncpoint else MQPMO_NO_SYNCPOINT
        tries = 0
        while True:
            self._set_clock()
            done = put(self.engine, connection, handle, bytes(md), options, properties, body, None, level)
            if not done.wants_log_space or tries == _ROOM_TRIES:
                break
            tries += 1
            self.make_room()
        answer = Put(done.reason, done.after_lsn, done.md if done.reason == 0 else b"")
        close_object(self.engine, connection, handle, 0)
        return answer

    def take_all(self, connection: Connection, handle: Handle | None) -> list[bytes]:
        """Get all messages and return their bodies."""
        assert handle is not None
        found: list[bytes] = []
        while True:
            request = self.get(connection, handle, MQGMO_NO_SYNCPOINT)
            if request.reason == MQRC_NO_MSG_AVAILABLE:
                return found
            assert request.reason == 0, request.reason
            found.append(request.body)
