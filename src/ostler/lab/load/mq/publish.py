"""Publishers and subscribers of Ostler.

A publisher is a producer whose object is a topic. A subscriber has a queue of its own, subscribes with it as the
destination, without a name and not durably, and then is a consumer of that queue. A subscriber's unit of work of
several messages waits for all of them.
"""

from __future__ import annotations

from typing import Final

from ostler.lab.load.client import Pace
from ostler.lab.load.mq.client import MqTerms
from ostler.lab.load.mq.frames import MqReader, failure
from ostler.lab.load.mq.jms import topic_header
from ostler.lab.load.mq.one_way import MqConsumer, MqProducer
from ostler.model import constants as mq
from ostler.wire import frames, object_frames
from ostler.wire.subscribe_frames import SubscribeArguments

UNIT_WAIT_MS: Final = 500
"""The time that a subscriber waits for the next message of a unit of work, before it commits what it has."""
_SUBSCRIBE_REQUEST: Final = 6
_SUBSCRIBE_REPLY: Final = frames.SUBSCRIBE | frames.REPLY


def topic_of(pair: int) -> str:
    return f"lab/topic/{pair}"


def subscriber_queue(number: int) -> str:
    return f"LAB.SUBSCRIBER.{number}"


class MqPublisher(MqProducer):
    """Publishes to the topic of its pair."""

    def __init__(self, pace: Pace, number: int, terms: MqTerms, conversation: int = 1) -> None:
        super().__init__(pace, number, terms, conversation)
        self._topic = topic_of(terms.pair(number))

    def open_target(self, name: str, options: int) -> object_frames.OpenArguments:
        found = object_frames.OpenArguments(mq.MQOT_TOPIC, "", options)
        found.object_string = self._topic
        return found

    def jms_header(self) -> bytes:
        return topic_header(self._topic, self.terms.persistent)


class MqSubscriber(MqConsumer):
    """Gets what is published to the topic of its pair, from a queue of its own."""

    def __init__(self, pace: Pace, number: int, terms: MqTerms, conversation: int = 1) -> None:
        super().__init__(pace, number, terms, conversation)
        self._topic = topic_of(terms.pair(number))
        self._queue = subscriber_queue(number)
        self.unit_wait_ms = UNIT_WAIT_MS
        self._is_subscribed = False

    def first(self, now_ns: int) -> bytes:
        # Ready only when the subscription exists: earlier publications are not for this client.
        self.is_ready = False
        asked = SubscribeArguments(mq.MQSO_CREATE | mq.MQSO_FAIL_IF_QUIESCING)
        asked.destination = self.handles[0]
        asked.topic_string = self._topic
        return frames.frame(frames.SUBSCRIBE, self.conversation, _SUBSCRIBE_REQUEST, asked.encode())

    def _set_up(self, reader: MqReader, now_ns: int) -> bytes:
        if reader.type != _SUBSCRIBE_REPLY:
            return super()._set_up(reader, now_ns)
        if self._is_subscribed:
            raise failure(reader.type, reader.buffer, reader.start, reader.end)
        self._is_subscribed = True
        self.is_ready = True
        return super().first(now_ns)
