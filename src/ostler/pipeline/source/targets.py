"""The target of a release: a queue, or the topics of the messages."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Final

from ostler.client.api.connection import Connection
from ostler.client.api.queue import Queue
from ostler.client.api.topic import Topic
from ostler.client.session.session import StoredMessage
from ostler.engine.pubsub.publication_properties import topic_in
from ostler.model import constants as mq
from ostler.pipeline.source.links import error_context, open_queue
from ostler.pipeline.source.windows import put_all

# Of the 256 handles that a connection may have.
_TOPICS_MAX: Final = 100


def open_topic(connection: Connection, topic: str) -> Topic:
    with error_context(f"Opening topic {topic[:256]} of {connection.name}"):
        return connection.topic(topic)


class WriteTarget:
    """A queue, or topics, opened by a release."""

    def __init__(self, connection: Connection, queue: str, topic: str, is_retained: bool) -> None:
        self.name = queue or f"topic {topic[:256]}"
        self._connection = connection
        self._first: Queue | Topic = open_topic(connection, topic) if topic else open_queue(connection, queue, "w")
        self._topic = topic
        self._topics: dict[str, Topic] = {}
        self._options = mq.MQPMO_RETAIN if is_retained else 0

    def __enter__(self) -> WriteTarget:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            # Otherwise the connection ends, and all of them with it.
            self.close()

    def put_all(self, messages: Iterable[StoredMessage]) -> int:
        """Put or publish messages in the unit of work, and return their number."""
        return put_all(self._first, messages, self._handle_for if self._topic else None, self._options)

    def _handle_for(self, message: StoredMessage) -> int:
        """Return the handle for the topic of a message."""
        topic = topic_in(message.property_block)
        if topic in ("", self._topic):
            return self._first.hobj
        opened = self._topics.pop(topic, None)
        if opened is None:
            if len(self._topics) >= _TOPICS_MAX:
                # The least recently used one. Puts in flight to it are completed before it is closed.
                self._topics.pop(next(iter(self._topics))).close()
            opened = open_topic(self._connection, topic)
        self._topics[topic] = opened
        return opened.hobj

    def close(self) -> None:
        for each in (self._first, *self._topics.values()):
            each.close()
