"""RabbitMQ through pika's blocking connection, as its tutorials show request and reply."""

from __future__ import annotations

from typing import Any, Final

import pika

from ostler.lab.load.amqp.queue_names import queue_name
from ostler.lab.load.client import LoadFailed
from ostler.lab.load.drivers.threaded_driver import ThreadedDriver
from ostler.lab.load.libraries.adapter import PRODUCER, REQUESTER, LibraryAdapter
from ostler.lab.load.libraries.patterns import threaded_driver
from ostler.lab.load.spec import ONE_WAY, PIKA, LoadSpec, host_and_port

_SERVE_SECONDS: Final = 1
_REPLY_SECONDS_MAX: Final = 30


class PikaAdapter(LibraryAdapter[None]):
    """Replies go to a queue of each requester. Durable messages are confirmed and acknowledged one by one."""

    def queue(self, purpose: str, number: int) -> str:
        return queue_name(PIKA, self.spec.persistent, purpose, number)

    def connect(self) -> None:
        persistent = self.spec.persistent
        host, port = host_and_port(self.spec)
        # Without heartbeats: nobody answers them while others are measured.
        self._connection = pika.BlockingConnection(pika.ConnectionParameters(host, port, heartbeat=0))
        self._channel = self._connection.channel()
        # One-way messages are always confirmed, or a put would only be a write to a socket.
        if persistent or self.spec.kind == ONE_WAY:
            self._channel.confirm_delivery()
        self._delivery_mode = 2 if persistent else 1
        self._properties = pika.BasicProperties(delivery_mode=self._delivery_mode)
        self._own = self.own_queue
        self._channel.queue_declare(self._own, durable=persistent, arguments=self._arguments())
        if self.role != PRODUCER:
            take = self._take_reply if self.role == REQUESTER else self._take
            self._channel.queue_purge(self._own)
            self._channel.basic_consume(self._own, take, auto_ack=not persistent)

    def _arguments(self) -> dict[str, Any] | None:
        if self.spec.copies == 1:
            return None
        return {"x-queue-type": "quorum", "x-quorum-initial-group-size": self.spec.copies}

    def request(self, pair: int, sequence: int, body: bytes) -> None:
        self._awaited = str(sequence)
        properties = pika.BasicProperties(
            reply_to=self._own, correlation_id=self._awaited, delivery_mode=self._delivery_mode
        )
        self._channel.basic_publish("", self.queue("request", pair), body, properties)
        while self._awaited:
            self._connection.process_data_events(_REPLY_SECONDS_MAX)

    def _take_reply(self, channel: object, method: Any, properties: Any, body: bytes) -> None:
        if properties.correlation_id != self._awaited:
            raise LoadFailed("pika delivered a reply to another request")
        self.acknowledge((method, properties))
        self._awaited = ""

    def _take(self, channel: object, method: Any, properties: Any, body: bytes) -> None:
        self.received(body, (method, properties))

    def reply(self, body: bytes, message: Any) -> None:
        asked = message[1]
        properties = pika.BasicProperties(correlation_id=asked.correlation_id, delivery_mode=self._delivery_mode)
        self._channel.basic_publish("", asked.reply_to, body, properties)
        self.acknowledge(message)

    def send(self, body: bytes) -> None:
        self._channel.basic_publish("", self._own, body, self._properties)

    def acknowledge(self, message: Any) -> None:
        if self.spec.persistent:
            self._channel.basic_ack(message[0].delivery_tag)

    def serve(self) -> None:
        self._connection.process_data_events(_SERVE_SECONDS)

    def close(self) -> None:
        self._connection.close()


def pika_driver(spec: LoadSpec) -> ThreadedDriver:
    return threaded_driver(PikaAdapter, spec)
