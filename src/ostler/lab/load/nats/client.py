"""A lean client of NATS: its text protocol without a library.

A requester subscribes to an inbox of its own and sends a subject below it with each request, which identifies the
reply. Responders of one subject share its requests as a queue group.
"""

from __future__ import annotations

from ostler.lab.load.client import LoadFailed, Pace, PairedClient, reply_for
from ostler.lab.load.receive_buffer import ReceiveBuffer

CONNECT = b'CONNECT {"verbose":false,"pedantic":false,"tls_required":false,"headers":false}\r\n'
END = b"\r\n"


def request_subject(pair: int) -> bytes:
    return b"REQ.%d" % pair


class NatsClient(PairedClient):
    """A requester that goes through the subjects in turn, or a responder of one of them."""

    def __init__(
        self, pace: Pace, is_requester: bool, number: int, pairs: int, body_bytes: int, goes_round: bool = True
    ) -> None:
        super().__init__(pace, is_requester, number, pairs, body_bytes, goes_round)
        self._inbox = b"_INBOX.%d" % number
        self._subject = b""
        self._requests = [b"PUB %b " % request_subject(pair) for pair in range(pairs)]
        self._buffer = ReceiveBuffer()
        self._size = b" %d\r\n" % body_bytes

    def opening(self) -> bytes:
        if self.is_requester:
            subscription = b"SUB %b.* 1\r\n" % self._inbox
        else:
            subscription = b"SUB %b W 1\r\n" % request_subject(self._pair)
        return CONNECT + subscription + b"PING\r\n"

    def begin(self, now_ns: int) -> bytes:
        self._begin_next(now_ns)
        self._subject = b"%b.%d" % (self._inbox, self._sequence)
        body = reply_for(self._sequence, self._body_bytes)
        return b"".join((self._requests[self._pair], self._subject, self._size, body, END))

    def receive(self, data: bytes, now_ns: int) -> bytes:
        data = self._buffer.add(data)
        if not data:
            return b""
        answers: list[bytes] = []
        at, length, wanted = 0, len(data), 0
        while at < length:
            line_end = data.find(END, at)
            if line_end < 0:
                break
            if data.startswith(b"MSG ", at):
                words = data[at:line_end].split()
                body = line_end + 2
                after = body + int(words[-1]) + 2
                if after > length:
                    wanted = after - at
                    break
                answers.append(self._message(words, data[body : after - 2], now_ns))
                at = after
            else:
                answers.append(self._control(data[at:line_end], now_ns))
                at = line_end + 2
        if at < length:
            self._buffer.keep(data[at:], wanted)
        return answers[0] if len(answers) == 1 else b"".join(answers)

    def _message(self, words: list[bytes], body: bytes, now_ns: int) -> bytes:
        if not self.is_requester:
            return b"".join((b"PUB ", words[3], b" %d\r\n" % len(body), body, END))
        if words[1] != self._subject or len(body) != self._body_bytes:
            raise LoadFailed(f"NATS delivered {words[1]!r}, and {self._subject!r} was due")
        return self.replied(now_ns)

    def _control(self, line: bytes, now_ns: int) -> bytes:
        if line == b"PONG":
            self.is_ready = True
        elif line == b"PING":
            return b"PONG\r\n"
        elif line.startswith(b"-ERR"):
            raise LoadFailed(f"NATS said {line.decode(errors='replace')}")
        return b""
