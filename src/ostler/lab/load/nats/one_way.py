"""Lean producers and consumers of NATS, with subjects and with streams.

Core NATS acknowledges nothing, so that a put counts when the ping behind it is answered: by then the server has passed
the message on. With a stream a put counts when the stream has acknowledged it, and consumers acknowledge each message.
"""

from __future__ import annotations

from ostler.lab.load.client import LoadFailed, Pace
from ostler.lab.load.nats.client import CONNECT, END, NatsClient
from ostler.lab.load.nats.jetstream import ACKNOWLEDGE, API, REPLIES, REQUESTS, STORED, JetStreamClient, stream_config
from ostler.lab.load.one_way import OneWay
from ostler.lab.load.spec import JETSTREAM, ONE_WAY, LoadSpec

STREAM = "LABONE"
_PING = b"PING\r\n"


def shared_streams(spec: LoadSpec) -> list[str]:
    """Return the streams of a load of lean clients; empty for other protocols."""
    if spec.protocol != JETSTREAM:
        return []
    return [STREAM] if spec.kind == ONE_WAY else [REQUESTS, REPLIES]


class NatsOneWayClient(NatsClient):
    """A producer or a consumer of one subject. Consumers share it as a queue group, or get all where there are
    `subscribers`."""

    def __init__(
        self, pace: Pace, is_requester: bool, number: int, pairs: int, body_bytes: int, subscribers: int = 0
    ) -> None:
        super().__init__(pace, is_requester, number, pairs, body_bytes)
        self._way = OneWay(pace, body_bytes, max(subscribers, 1))
        self._group = b"" if subscribers else b"W "
        self._own_subject = b"ONE.%d" % (number % pairs)
        self._publish = b"PUB %b %d\r\n" % (self._own_subject, body_bytes)

    def opening(self) -> bytes:
        return CONNECT + (b"" if self.is_requester else b"SUB %b %b1\r\n" % (self._own_subject, self._group)) + _PING

    def begin(self, now_ns: int) -> bytes:
        self.began_ns = now_ns
        return b"".join((self._publish, self._way.body(now_ns, self.put_ns), END, _PING))

    def _message(self, words: list[bytes], body: bytes, now_ns: int) -> bytes:
        self._way.got(body, now_ns)
        return b""

    def _control(self, line: bytes, now_ns: int) -> bytes:
        if line == b"PONG" and self.is_ready:
            return self.replied(now_ns)
        return super()._control(line, now_ns)


class JetStreamOneWayClient(JetStreamClient):
    """A producer to one subject of a stream, or one of its consumers, which share the deliveries."""

    def __init__(
        self, pace: Pace, is_requester: bool, number: int, pairs: int, body_bytes: int, copies: int = 1
    ) -> None:
        # Without a reply to route, a body may be shorter.
        super().__init__(pace, is_requester, number, pairs, max(body_bytes, 16), copies=copies)
        self._way = OneWay(pace, body_bytes)
        pair = number % pairs
        self._publish = b"PUB %b.%d %b.s.0 %d\r\n" % (STREAM.encode(), pair, self._own_inbox, body_bytes)
        self._delivery = b"LABONEDELIVER.%d" % pair
        self._steps = self._one_way_setup(pair)

    def _one_way_setup(self, pair: int) -> list[bytes]:
        steps = [self._ask(f"$JS.API.STREAM.CREATE.{STREAM}", stream_config(STREAM, self._copies))]
        if self.is_requester:
            return steps
        subject = f"{STREAM}.{pair}"
        return [*steps, self._ask_for_consumer(STREAM, f"o{pair}", self._delivery.decode(), subject, "W")]

    def opening(self) -> bytes:
        inbox = self._own_inbox
        subscriptions = b"SUB %b.api 1\r\nSUB %b.s.* 2\r\n" % (inbox, inbox)
        if not self.is_requester:
            subscriptions += b"SUB %b W 3\r\n" % self._delivery
        return b"".join((CONNECT, subscriptions, self._steps[0]))

    def begin(self, now_ns: int) -> bytes:
        self.began_ns = now_ns
        return b"".join((self._publish, self._way.body(now_ns, self.put_ns), END))

    def _message(self, words: list[bytes], body: bytes, now_ns: int) -> bytes:
        which = words[2]
        if which == API:
            self._way.start(now_ns)
            return self._answered(body, now_ns)
        if which == STORED:
            if b'"error"' in body:
                raise LoadFailed(f"JetStream did not store a message: {body.decode(errors='replace')}")
            return self.replied(now_ns)
        self._way.got(body, now_ns)
        return ACKNOWLEDGE % words[3]
