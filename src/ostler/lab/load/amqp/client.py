"""A lean client of RabbitMQ: AMQP 0-9-1 without a library.

AMQP has no get by correlation id, so every requester has a reply queue of its own, as is usual there, and compares the
id itself. Durable: durable queues and messages; a request counts when it is confirmed and its reply has arrived; a
responder acknowledges a request when its reply is confirmed. Transient: nothing is confirmed or acknowledged.

Where responders are at another node, requests go to one of several exchanges that lead there. The reply-to of a request
begins with the number of the exchange through which the reply comes back.
"""

from __future__ import annotations

from ostler.lab.load.amqp import frames as amqp
from ostler.lab.load.amqp.queue_names import REPLY, REQUEST, queue_name
from ostler.lab.load.client import LoadFailed, Pace, PairedClient, reply_for
from ostler.lab.load.spec import AMQP

CHANNEL = 1
_CHANNELS_MAX = 16

_ROUTE_END = b"/"

Step = tuple[tuple[int, int], bytes]
"""The method to wait for, and the bytes to send then."""


def connection_steps() -> list[Step]:
    """Return the steps to an open channel. Later steps begin with `CHANNEL_OPEN_OK`."""
    return [
        (amqp.CONNECTION_START, amqp.start_ok(b"guest", b"guest")),
        (amqp.CONNECTION_TUNE, amqp.tune_ok(_CHANNELS_MAX, amqp.FRAME_BYTES_MAX) + amqp.open_connection(b"/")),
        (amqp.CONNECTION_OPEN_OK, amqp.open_channel(CHANNEL)),
    ]


class AmqpRoutes:
    """Exchanges that lead to another node: their number, and the prefix of their names. Without any, all clients are at
    one node."""

    def __init__(self, count: int = 0, line: bytes = b"") -> None:
        self.count = count
        self.line = line

    def exchange(self, route: int) -> bytes:
        return b"%b.%d" % (self.line, route) if self.count else b""


class AmqpClient(PairedClient):
    """A requester that goes through the request queues in turn, or a responder of one of them."""

    def __init__(
        self,
        pace: Pace,
        is_requester: bool,
        number: int,
        pairs: int,
        body_bytes: int,
        durable: bool,
        goes_round: bool = True,
        routes: AmqpRoutes | None = None,
        copies: int = 1,
    ) -> None:
        super().__init__(pace, is_requester, number, pairs, body_bytes, goes_round)
        self._copies = copies
        self._routes = routes if routes is not None else AmqpRoutes()
        self._durable = durable
        self._request_queues = [queue_name(AMQP, durable, REQUEST, pair).encode() for pair in range(pairs)]
        self._reply_queue = queue_name(AMQP, durable, REPLY, number).encode()
        self._requests: list[bytes] = []
        self._reply_to: list[bytes] = []
        for pair, queue in enumerate(self._request_queues):
            route = (number + pair if goes_round else number) % max(self._routes.count, 1)
            self._requests.append(amqp.publish_method(CHANNEL, queue, self._routes.exchange(route)))
            back = b"%d%b" % (route, _ROUTE_END) if self._routes.count else b""
            self._reply_to.append(back + self._reply_queue)
        self._replies: dict[bytes, bytes] = {}
        self._steps = self._setup()
        self._correlation_id = b""
        self._waits_for_confirm = False
        self._waits_for_reply = False
        # The tag of the message that is being received.
        self._delivery_tag = 0
        self._body_left = 0
        self._body_parts: list[bytes] = []
        self._received_id = self._received_reply_to = b""
        # Publications of a responder that are not confirmed, with the request to acknowledge then.
        self._published = 0
        self._confirmed = 0
        self._unconfirmed: dict[int, int] = {}

    def _setup(self) -> list[Step]:
        """Return the methods to wait for, with the bytes to send then."""
        steps = connection_steps()
        own = self._reply_queue if self.is_requester else self._request_queues[self._pair]
        steps.append((amqp.CHANNEL_OPEN_OK, amqp.declare_queue(CHANNEL, own, self._durable, self._copies)))
        steps.append((amqp.QUEUE_DECLARE_OK, amqp.purge_queue(CHANNEL, own)))
        last = amqp.QUEUE_PURGE_OK
        if self._durable:
            steps.append((last, amqp.select_confirms(CHANNEL)))
            last = amqp.CONFIRM_SELECT_OK
        steps.append((last, amqp.consume(CHANNEL, own, self._durable)))
        steps.append((amqp.BASIC_CONSUME_OK, b""))
        return steps

    def opening(self) -> bytes:
        return amqp.PROTOCOL_HEADER

    def begin(self, now_ns: int) -> bytes:
        self._begin_next(now_ns)
        self._waits_for_confirm = self._durable
        self._waits_for_reply = True
        self._correlation_id = b"%d" % self._sequence
        body = reply_for(self._sequence, self._body_bytes)
        first = self._requests[self._pair]
        return amqp.content(CHANNEL, self._durable, self._correlation_id, self._reply_to[self._pair], body, first)

    def receive(self, data: bytes, now_ns: int) -> bytes:
        if self.pending:
            data = self.pending + data
        answers: list[bytes] = []
        at = 0
        while True:
            kind, payload, after = amqp.read_frame(data, at)
            if kind == amqp.BODY:
                self._body_left -= after - payload - 1
                body = data[payload : after - 1]
                if self._body_left or self._body_parts:
                    self._body_parts.append(body)
                if self._body_left == 0:
                    if self._body_parts:
                        body = b"".join(self._body_parts)
                        self._body_parts = []
                    answers.append(self._message(body, now_ns))
            elif kind == amqp.METHOD:
                answers.append(self._method(data, payload, now_ns))
            elif kind == amqp.HEADER:
                self._body_left, self._received_id, self._received_reply_to = amqp.read_properties(data, payload)
            elif kind == 0:
                break
            at = after
        self.pending = data[at:] if at < len(data) else b""
        return b"".join(answers)

    def _method(self, data: bytes, at: int, now_ns: int) -> bytes:
        which = amqp.read_method(data, at)
        if which == amqp.BASIC_DELIVER:
            self._delivery_tag = amqp.read_delivery_tag(data, at)
            return b""
        if which == amqp.BASIC_ACK:
            return self._confirm(*amqp.read_confirm(data, at), now_ns)
        if self._steps and which == self._steps[0][0]:
            answer = self._steps.pop(0)[1]
            self.is_ready = not self._steps
            return answer
        text = data[at + 4 : at + 200].decode(errors="replace") if which[1] in (40, 50) else ""
        raise LoadFailed(f"RabbitMQ sent method {which[0]}.{which[1]} {text}")

    def _message(self, body: bytes, now_ns: int) -> bytes:
        if self.is_requester:
            if self._received_id != self._correlation_id or not self._waits_for_reply:
                raise LoadFailed(f"RabbitMQ delivered {self._received_id!r}, and {self._correlation_id!r} was due")
            self._waits_for_reply = False
            done = amqp.acknowledge(CHANNEL, self._delivery_tag) if self._durable else b""
            return done if self._waits_for_confirm else done + self.replied(now_ns)
        first = self._replies.get(self._received_reply_to, b"")
        if not first:
            first = self._replies[self._received_reply_to] = self._reply_method(self._received_reply_to)
        if self._durable:
            self._published += 1
            self._unconfirmed[self._published] = self._delivery_tag
        return amqp.content(CHANNEL, self._durable, self._received_id, b"", body, first)

    def _reply_method(self, reply_to: bytes) -> bytes:
        if not self._routes.count:
            return amqp.publish_method(CHANNEL, reply_to)
        route, _, queue = reply_to.partition(_ROUTE_END)
        return amqp.publish_method(CHANNEL, queue, self._routes.exchange(int(route)))

    def _confirm(self, tag: int, with_all_before: bool, now_ns: int) -> bytes:
        if self.is_requester:
            self._waits_for_confirm = False
            return b"" if self._waits_for_reply else self.replied(now_ns)
        tags = range(self._confirmed + 1, tag + 1) if with_all_before else range(tag, tag + 1)
        if with_all_before:
            self._confirmed = tag
        found = [self._unconfirmed.pop(each) for each in tags if each in self._unconfirmed]
        return b"".join([amqp.acknowledge(CHANNEL, each) for each in found])
