"""A lean client of NATS with JetStream: requests and replies are kept in streams on disk.

A round trip is the same as for a durable AMQP client: a request counts when the stream has acknowledged it and its
reply has arrived; a responder acknowledges a request when the stream has its reply. The server writes to its files but
does not force them before it acknowledges.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from ostler.lab.load.client import LoadFailed, Pace
from ostler.lab.load.nats.client import CONNECT, END, NatsClient

REQUESTS, REPLIES = "LABREQ", "LABREP"
# Subscription numbers.
API, STORED, DELIVERED = b"1", b"2", b"3"
KEPT: dict[str, object] = {"retention": "workqueue", "storage": "file"}
ACKNOWLEDGE = b"PUB %b 4\r\n+ACK\r\n"
_NUMBER_BYTES = 8
# The server rejects a stream that another connection is just creating as if it were a foreign one (error 10065).
STREAM_OVERLAPS = 10065
_OTHERS_MAKE_IT_WITHIN_NS = 5_000_000_000


def stream_config(name: str, copies: int) -> dict[str, object]:
    """Return the configuration of a stream: all subjects below its name, and as many replicas as there are copies."""
    kept = KEPT if copies == 1 else {**KEPT, "num_replicas": copies}
    return {"name": name, "subjects": [f"{name}.>"], **kept}


class JetStreamClient(NatsClient):
    """A requester that goes through the subjects in turn, or a responder of one of them."""

    def __init__(
        self,
        pace: Pace,
        is_requester: bool,
        number: int,
        pairs: int,
        body_bytes: int,
        goes_round: bool = True,
        copies: int = 1,
    ) -> None:
        super().__init__(pace, is_requester, number, pairs, body_bytes, goes_round)
        if body_bytes < 2 * _NUMBER_BYTES:
            raise LoadFailed(f"a body of {body_bytes} bytes has no room for the numbers that lead a reply back")
        self._number = number
        self._copies = copies
        self._own_inbox = b"_INBOX.%b%d" % (b"q" if is_requester else b"r", number)
        self._steps = self._setup()
        self._asked_since_ns = 0
        self._waits_for_ack = False
        self._waits_for_reply = False
        self._published = 0
        self._unstored: dict[bytes, bytes] = {}
        self._rest = bytes(body_bytes - 2 * _NUMBER_BYTES)

    def _setup(self) -> list[bytes]:
        """Return requests that create streams and consumers; existing ones are not changed."""
        steps = [
            self._ask(f"$JS.API.STREAM.CREATE.{name}", stream_config(name, self._copies))
            for name in (REQUESTS, REPLIES)
        ]
        if self.is_requester:
            stream, name, subject = REPLIES, f"q{self._number}", f"{REPLIES}.{self._number:08d}.*"
            group, deliver = "", f"{self._own_inbox.decode()}.d"
        else:
            stream, name, subject = REQUESTS, f"w{self._pair}", f"{REQUESTS}.{self._pair}"
            group, deliver = "W", f"LABDELIVER.{self._pair}"
        return [*steps, self._ask_for_consumer(stream, name, deliver, subject, group)]

    def _ask_for_consumer(self, stream: str, name: str, deliver: str, subject: str, group: str) -> bytes:
        """Return the request for a push consumer; the members of a group, if it has a name, share its messages."""
        consumer = {"durable_name": name, "deliver_subject": deliver, "filter_subject": subject}
        settings = {"ack_policy": "explicit", "deliver_policy": "all", "replay_policy": "instant"}
        shared = {"deliver_group": group} if group else {}
        asked = {"stream_name": stream, "config": {**consumer, **settings, **shared}}
        return self._ask(f"$JS.API.CONSUMER.DURABLE.CREATE.{stream}.{name}", asked)

    def _ask(self, subject: str, asked: Mapping[str, object]) -> bytes:
        body = json.dumps(asked).encode()
        return b"PUB %b %b.api %d\r\n%b\r\n" % (subject.encode(), self._own_inbox, len(body), body)

    def opening(self) -> bytes:
        inbox = self._own_inbox
        delivered = b"SUB %b.d 3\r\n" % inbox if self.is_requester else b"SUB LABDELIVER.%d W 3\r\n" % self._pair
        return b"".join((CONNECT, b"SUB %b.api 1\r\nSUB %b.s.* 2\r\n" % (inbox, inbox), delivered, self._steps[0]))

    def begin(self, now_ns: int) -> bytes:
        self._begin_next(now_ns)
        self._waits_for_ack = self._waits_for_reply = True
        head = b"%08d%08d" % (self._number, self._sequence)
        self._subject = b"%s.%b.%b" % (REPLIES.encode(), head[:_NUMBER_BYTES], head[_NUMBER_BYTES:])
        subject = b"PUB %s.%d %b.s.%d" % (REQUESTS.encode(), self._pair, self._own_inbox, self._sequence)
        return b"".join((subject, self._size, head, self._rest, END))

    def _message(self, words: list[bytes], body: bytes, now_ns: int) -> bytes:
        which = words[2]
        if which == API:
            return self._answered(body, now_ns)
        if which == STORED:
            if b'"error"' in body:
                raise LoadFailed(f"JetStream did not store a message: {body.decode(errors='replace')}")
            return self._stored(words[1], now_ns)
        acknowledge = ACKNOWLEDGE % words[3]
        if self.is_requester:
            if words[1] != self._subject or not self._waits_for_reply:
                raise LoadFailed(f"JetStream delivered {words[1]!r}, and {self._subject!r} was due")
            self._waits_for_reply = False
            return acknowledge if self._waits_for_ack else acknowledge + self.replied(now_ns)
        self._published += 1
        inbox = b"%b.s.%d" % (self._own_inbox, self._published)
        self._unstored[inbox] = acknowledge
        where = (REPLIES.encode(), body[:_NUMBER_BYTES], body[_NUMBER_BYTES : 2 * _NUMBER_BYTES], inbox, len(body))
        return b"".join((b"PUB %s.%b.%b %b %d\r\n" % where, body, END))

    def _stored(self, subject: bytes, now_ns: int) -> bytes:
        if not self.is_requester:
            return self._unstored.pop(subject)
        self._waits_for_ack = False
        return b"" if self._waits_for_reply else self.replied(now_ns)

    def _answered(self, body: bytes, now_ns: int) -> bytes:
        found = json.loads(body)
        if "error" in found:
            error = found["error"]
            self._asked_since_ns = self._asked_since_ns or now_ns
            if error.get("err_code") == STREAM_OVERLAPS and now_ns - self._asked_since_ns < _OTHERS_MAKE_IT_WITHIN_NS:
                return self._steps[0]
            raise LoadFailed(f"JetStream refused: {error.get('description', error)}")
        del self._steps[0]
        if self._steps:
            return self._steps[0]
        self.is_ready = True
        return b""
