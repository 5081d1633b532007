"""Lean producers and consumers of RabbitMQ.

A put counts when it is confirmed: of durable messages when they are forced, of others when they are queued. Consumers
acknowledge durable messages one by one, and others not at all.
"""

from __future__ import annotations

from ostler.lab.load.amqp import frames as amqp
from ostler.lab.load.amqp.client import CHANNEL, AmqpClient, AmqpRoutes, Step, connection_steps
from ostler.lab.load.amqp.queue_names import ONE_WAY_QUEUE, queue_name
from ostler.lab.load.client import Pace
from ostler.lab.load.one_way import OneWay
from ostler.lab.load.spec import AMQP


class AmqpOneWayClient(AmqpClient):
    """A producer or a consumer of one queue."""

    def __init__(
        self,
        pace: Pace,
        is_requester: bool,
        number: int,
        pairs: int,
        body_bytes: int,
        durable: bool,
        routes: AmqpRoutes | None = None,
        copies: int = 1,
    ) -> None:
        super().__init__(pace, is_requester, number, pairs, body_bytes, durable, False, routes, copies)
        self._way = OneWay(pace, body_bytes)
        self._queue = queue_name(AMQP, durable, ONE_WAY_QUEUE, number % pairs).encode()
        exchange = self._routes.exchange(number % max(self._routes.count, 1))
        self._publish = amqp.publish_method(CHANNEL, self._queue, exchange)
        self._steps = self._one_way_setup()

    def _one_way_setup(self) -> list[Step]:
        queue = self._queue
        declared = amqp.declare_queue(CHANNEL, queue, self._durable, self._copies)
        steps = [*connection_steps(), (amqp.CHANNEL_OPEN_OK, declared)]
        if self.is_requester:
            return [
                *steps,
                (amqp.QUEUE_DECLARE_OK, amqp.select_confirms(CHANNEL)),
                (amqp.CONFIRM_SELECT_OK, b""),
            ]
        return [
            *steps,
            (amqp.QUEUE_DECLARE_OK, amqp.consume(CHANNEL, queue, self._durable)),
            (amqp.BASIC_CONSUME_OK, b""),
        ]

    def begin(self, now_ns: int) -> bytes:
        self.began_ns = now_ns
        return amqp.content(CHANNEL, self._durable, b"", b"", self._way.body(now_ns, self.put_ns), self._publish)

    def receive(self, data: bytes, now_ns: int) -> bytes:
        if not self.is_ready:
            # Messages of an earlier load may arrive together with the last answer.
            self._way.start(now_ns)
        return super().receive(data, now_ns)

    def _message(self, body: bytes, now_ns: int) -> bytes:
        self._way.got(body, now_ns)
        return amqp.acknowledge(CHANNEL, self._delivery_tag) if self._durable else b""

    def _confirm(self, tag: int, with_all_before: bool, now_ns: int) -> bytes:
        return self.replied(now_ns)
