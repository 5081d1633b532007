"""A lean client of ActiveMQ: STOMP 1.2 without a library.

Every requester has a reply queue of its own and compares the correlation id itself. Persistent: a request counts when
its receipt and its reply have arrived; a responder acknowledges a request when it has the receipt of its reply.
Otherwise nothing is confirmed, and messages count as acknowledged when they are delivered.
"""

from __future__ import annotations

from ostler.lab.load.client import LoadFailed, Pace, PairedClient, reply_for
from ostler.lab.load.receive_buffer import ReceiveBuffer

READY = b"ready"
_LENGTH = b"\ncontent-length:"


def frame(verb: bytes, headers: bytes, body: bytes = b"") -> bytes:
    """Return a STOMP frame; each header ends with a new line."""
    return b"%b\n%b\n%b\0" % (verb, headers, body)


class Received:
    """A received frame."""

    def __init__(self, verb: bytes, headers: dict[bytes, bytes], body: bytes) -> None:
        self.verb = verb
        self.headers = headers
        self.body = body


def read_frame(data: bytes, at: int) -> tuple[Received | None, int]:
    """Return the next frame and its end; while it is incomplete, None and its begin."""
    length = len(data)
    while at < length and data[at] in b"\r\n":
        # Heart-beats, and line ends after a frame.
        at += 1
    head_end = data.find(b"\n\n", at)
    if head_end < 0:
        return None, at
    lines = data[at:head_end].split(b"\n")
    headers: dict[bytes, bytes] = {}
    for line in lines[1:]:
        key, _, value = line.partition(b":")
        # The first of repeated headers counts.
        headers.setdefault(key, value)
    body = head_end + 2
    declared = headers.get(b"content-length")
    end = body + int(declared) if declared is not None else data.find(b"\0", body)
    if end < 0 or end >= length:
        return None, at
    return Received(lines[0], headers, data[body:end]), end + 1


def frame_bytes(data: bytes, at: int) -> int:
    """Return the length of the frame at an offset; 0 while it is unknown."""
    head_end = data.find(b"\n\n", at)
    length_at = data.find(_LENGTH, at, head_end) if head_end >= 0 else -1
    if length_at < 0:
        return 0
    line_end = data.find(b"\n", length_at + 1)
    return head_end + 2 + int(data[length_at + len(_LENGTH) : line_end]) + 1 - at


class StompClient(PairedClient):
    """A requester that goes through the request queues in turn, or a responder of one of them."""

    def __init__(
        self,
        pace: Pace,
        is_requester: bool,
        number: int,
        pairs: int,
        body_bytes: int,
        persistent: bool,
        goes_round: bool = True,
    ) -> None:
        super().__init__(pace, is_requester, number, pairs, body_bytes, goes_round)
        kind = b"durable" if persistent else b"transient"
        self._persistent = persistent
        self._requests = [b"/queue/%b.request.%d" % (kind, pair) for pair in range(pairs)]
        self._own = b"/queue/%b.reply.%d" % (kind, number)
        self._keeps = b"persistent:true\n" if persistent else b"persistent:false\n"
        self._session = b""
        self._buffer = ReceiveBuffer()
        self._correlation = b""
        self._waits_for_receipt = False
        self._waits_for_reply = False
        # Replies of a responder without a receipt, with the request to acknowledge then.
        self._sent = 0
        self._unconfirmed: dict[bytes, bytes] = {}

    def opening(self) -> bytes:
        return frame(b"CONNECT", b"accept-version:1.2\nhost:lab\nheart-beat:0,0\n")

    def closing(self) -> bytes:
        return frame(b"DISCONNECT", b"")

    def begin(self, now_ns: int) -> bytes:
        self._begin_next(now_ns)
        self._correlation = b"%b-%d" % (self._session, self._sequence)
        self._waits_for_receipt = self._persistent
        self._waits_for_reply = True
        body = reply_for(self._sequence, self._body_bytes)
        return self._send(self._requests[self._pair], b"reply-to:%b\n" % self._own, self._correlation, body)

    def _send(self, destination: bytes, more: bytes, correlation: bytes, body: bytes) -> bytes:
        if self._persistent:
            self._sent += 1
            more += b"receipt:%d\n" % self._sent
        fields = (destination, more, self._keeps, correlation, len(body))
        return frame(b"SEND", b"destination:%b\n%b%bcorrelation-id:%b\ncontent-length:%d\n" % fields, body)

    def receive(self, data: bytes, now_ns: int) -> bytes:
        data = self._buffer.add(data)
        if not data:
            return b""
        answers: list[bytes] = []
        at = 0
        while True:
            found, at = read_frame(data, at)
            if found is None:
                break
            answers.append(self._received(found, now_ns))
        if at < len(data):
            self._buffer.keep(data[at:], frame_bytes(data, at))
        return answers[0] if len(answers) == 1 else b"".join(answers)

    def _received(self, found: Received, now_ns: int) -> bytes:
        if found.verb == b"MESSAGE":
            return self._reply(found, now_ns) if self.is_requester else self._request(found)
        if found.verb == b"RECEIPT":
            return self._receipt(found.headers[b"receipt-id"], now_ns)
        if found.verb == b"CONNECTED":
            # Only letters and digits, which no header escaping changes.
            self._session = b"".join([b"%c" % each for each in found.headers[b"session"] if chr(each).isalnum()])
            own = self._own if self.is_requester else self._requests[self._pair]
            mode = b"client-individual" if self._persistent else b"auto"
            return frame(b"SUBSCRIBE", b"id:1\ndestination:%b\nack:%b\nreceipt:%b\n" % (own, mode, READY))
        text = found.headers.get(b"message", b"") or found.body[:200]
        raise LoadFailed(f"ActiveMQ sent {found.verb.decode(errors='replace')} {text.decode(errors='replace')}")

    def _reply(self, found: Received, now_ns: int) -> bytes:
        done = frame(b"ACK", b"id:%b\n" % found.headers[b"ack"]) if self._persistent else b""
        correlation = found.headers.get(b"correlation-id", b"")
        if correlation.rpartition(b"-")[0] != self._session:
            # Redelivered, because a responder of an earlier load ended before it could acknowledge.
            return done
        if correlation != self._correlation or not self._waits_for_reply or len(found.body) != self._body_bytes:
            raise LoadFailed(f"ActiveMQ delivered {correlation!r}, and {self._correlation!r} was due")
        self._waits_for_reply = False
        return done if self._waits_for_receipt else done + self.replied(now_ns)

    def _request(self, found: Received) -> bytes:
        headers = found.headers
        reply = self._send(headers[b"reply-to"], b"", headers[b"correlation-id"], found.body)
        if self._persistent:
            self._unconfirmed[b"%d" % self._sent] = headers[b"ack"]
        return reply

    def _receipt(self, receipt: bytes, now_ns: int) -> bytes:
        if receipt == READY:
            self.is_ready = True
            return b""
        if not self.is_requester:
            return frame(b"ACK", b"id:%b\n" % self._unconfirmed.pop(receipt))
        self._waits_for_receipt = False
        return b"" if self._waits_for_reply else self.replied(now_ns)
