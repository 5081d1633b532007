"""RabbitMQ through pika's blocking connection, as its tutorials show request and reply."""

from __future__ import annotations

from functools import partial

import pika

from ostler.lab.load.client import LoadFailed, reply_for
from ostler.lab.load.drivers.threaded_driver import LoadWorker, ThreadedDriver
from ostler.lab.load.libraries.one_way import LibraryOneWay
from ostler.lab.load.spec import ONE_WAY, LoadSpec, host_and_port, pair_of

_SERVE_SECONDS = 1
_REPLY_SECONDS_MAX = 30


def _queue(spec: LoadSpec, what: str, number: int) -> str:
    return f"pika.{'durable' if spec.persistent else 'transient'}.{what}.{number}"


class _PikaWorker(LoadWorker):
    def __init__(self, spec: LoadSpec, number: int) -> None:
        self._plan = spec
        self._number = number

    def open(self) -> None:
        host, port = host_and_port(self._plan)
        # Without heartbeats: nobody answers them while others are measured.
        self._connection = pika.BlockingConnection(pika.ConnectionParameters(host, port, heartbeat=0))
        self._channel = self._connection.channel()
        # One-way messages are always confirmed, or a put would only be a write to a socket.
        if self._plan.persistent or self._plan.kind == ONE_WAY:
            self._channel.confirm_delivery()

    def _declare(self, queue: str) -> None:
        self._channel.queue_declare(queue, durable=self._plan.persistent)

    def _consume(self, queue: str) -> None:
        self._declare(queue)
        self._channel.queue_purge(queue)
        self._channel.basic_consume(queue, self._received, auto_ack=not self._plan.persistent)

    def _received(self, channel: object, method: object, properties: object, body: bytes) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self._connection.close()


class PikaRequester(_PikaWorker):
    """Publishes to the request queues in turn, and waits for the reply on a queue of its own."""

    def open(self) -> None:
        super().open()
        self._own = _queue(self._plan, "reply", self._number)
        self._consume(self._own)
        self._sequence = 0
        self._has_reply = False

    def step(self) -> None:
        self._sequence += 1
        self._has_reply = False
        properties = pika.BasicProperties(
            reply_to=self._own, correlation_id=str(self._sequence), delivery_mode=2 if self._plan.persistent else 1
        )
        pair = pair_of(self._plan, self._number, self._sequence)
        body = reply_for(self._sequence, self._plan.body_bytes)
        self._channel.basic_publish("", _queue(self._plan, "request", pair), body, properties)
        while not self._has_reply:
            self._connection.process_data_events(_REPLY_SECONDS_MAX)

    def _received(self, channel: object, method: object, properties: object, body: bytes) -> None:
        if getattr(properties, "correlation_id", "") != str(self._sequence):
            raise LoadFailed("pika delivered a reply to another request")
        if self._plan.persistent:
            self._channel.basic_ack(getattr(method, "delivery_tag", 0))
        self._has_reply = True


class PikaResponder(_PikaWorker):
    """Consumes from one request queue, replies, and acknowledges when the reply is confirmed."""

    def open(self) -> None:
        super().open()
        self._consume(_queue(self._plan, "request", self._number % self._plan.pairs))

    def step(self) -> None:
        self._connection.process_data_events(_SERVE_SECONDS)

    def _received(self, channel: object, method: object, properties: object, body: bytes) -> None:
        reply = pika.BasicProperties(
            correlation_id=getattr(properties, "correlation_id", ""), delivery_mode=2 if self._plan.persistent else 1
        )
        self._channel.basic_publish("", getattr(properties, "reply_to", ""), body, reply)
        if self._plan.persistent:
            self._channel.basic_ack(getattr(method, "delivery_tag", 0))


class PikaProducer(_PikaWorker):
    """Publishes to one queue, and waits for the confirm."""

    def open(self) -> None:
        super().open()
        self._way = LibraryOneWay(self, self._plan, self._number)
        self._queue = _queue(self._plan, "one-way", self._way.pair)
        self._declare(self._queue)
        self._properties = pika.BasicProperties(delivery_mode=2 if self._plan.persistent else 1)

    def step(self) -> None:
        self._channel.basic_publish("", self._queue, self._way.body(), self._properties)


class PikaConsumer(_PikaWorker):
    """Consumes from one queue, and acknowledges each durable message."""

    def open(self) -> None:
        super().open()
        self._way = LibraryOneWay(self, self._plan, self._number)
        self._consume(_queue(self._plan, "one-way", self._way.pair))

    def step(self) -> None:
        self._connection.process_data_events(_SERVE_SECONDS)

    def _received(self, channel: object, method: object, properties: object, body: bytes) -> None:
        self._way.got(body)
        if self._plan.persistent:
            self._channel.basic_ack(getattr(method, "delivery_tag", 0))


def pika_driver(spec: LoadSpec) -> ThreadedDriver:
    if spec.kind == ONE_WAY:
        return ThreadedDriver(
            [partial(PikaProducer, spec, number) for number in spec.requesters],
            [partial(PikaConsumer, spec, number) for number in spec.responders],
        )
    return ThreadedDriver(
        [partial(PikaRequester, spec, number) for number in spec.requesters],
        [partial(PikaResponder, spec, number) for number in spec.responders],
    )
