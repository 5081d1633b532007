"""A lean client of Redis: its serialization protocol without a library.

Redis has no requests and replies, so they are built as its users build them. In memory: requests are pushed to a list,
popped by the longest waiting client, and the reply is pushed to a list of the requester. Durable: requests are added to
a stream that a consumer group shares; a responder pushes its reply, acknowledges the request and deletes it in one
transaction. A requester sends its push and its wait for the reply together. The reply list and the correlation are a
line before the body of a message.
"""

from __future__ import annotations

from ostler.lab.load.client import LoadFailed, Pace, PairedClient, reply_for
from ostler.lab.load.receive_buffer import ReceiveBuffer

_END = b"\r\n"
GROUP = b"W"
# Answers between a durable reply and the next delivery: to MULTI, to the three commands in it, and to EXEC.
_ANSWERS_TO_TRANSACTION = 5


class RedisError:
    """An error answer of Redis."""

    def __init__(self, text: str) -> None:
        self.text = text


def command(*words: bytes) -> bytes:
    """Return a command as Redis expects it: an array of strings."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        parts += (b"$%d\r\n" % len(word), word, _END)
    return b"".join(parts)


def message_command(words: list[bytes], head: bytes, body: bytes | memoryview, behind: bytes = b"") -> bytes:
    """Return a command whose last string is a line and a body, and the bytes behind it. A large body is copied once."""
    parts: list[bytes | memoryview] = [b"*%d\r\n" % (len(words) + 1)]
    for word in words:
        parts += (b"$%d\r\n" % len(word), word, _END)
    parts += (b"$%d\r\n" % (len(head) + 1 + len(body)), head, b"\n", body, _END, behind)
    return b"".join(parts)


def read_value(data: bytes, at: int) -> tuple[object, int]:
    """Return the answer that begins at an offset, and its end.

    When the answer is incomplete, the end is negative: minus the least offset at which it ends. Strings are bytes,
    numbers are integers, arrays are lists, nothing is None, and errors are `RedisError`.
    """
    line_end = data.find(_END, at)
    if line_end < 0:
        return None, -len(data) - 1
    kind, line, after = data[at : at + 1], data[at + 1 : line_end], line_end + 2
    if kind == b"$":
        length = int(line)
        if length < 0:
            return None, after
        end = after + length
        return (data[after:end], end + 2) if end + 2 <= len(data) else (None, -end - 2)
    if kind == b":":
        return int(line), after
    if kind == b"+":
        return line, after
    if kind == b"-":
        return RedisError(line.decode(errors="replace")), after
    if kind != b"*":
        raise LoadFailed(f"Redis answered with an unknown kind {kind!r}")
    found: list[object] = []
    for _ in range(int(line)):
        value, after = read_value(data, after)
        if after < 0:
            return None, after
        found.append(value)
    return found, after


class RedisClient(PairedClient):
    """A requester that goes through the request lists or streams in turn, or a responder of one of them."""

    def __init__(
        self,
        pace: Pace,
        is_requester: bool,
        number: int,
        pairs: int,
        body_bytes: int,
        durable: bool,
        goes_round: bool = True,
    ) -> None:
        super().__init__(pace, is_requester, number, pairs, body_bytes, goes_round)
        kind = b"durable" if durable else b"transient"
        self._durable = durable
        self._requests = [b"%b:request:%d" % (kind, pair) for pair in range(pairs)]
        self._own_reply = b"%b:reply:%d" % (kind, number)
        self._wait_for_reply = command(b"BRPOP", self._own_reply, b"0")
        own = self._requests[self._pair]
        consumer = b"%d" % number
        self._wait_for_request = (
            command(b"XREADGROUP", b"GROUP", GROUP, consumer, b"COUNT", b"1", b"BLOCK", b"0", b"STREAMS", own, b">")
            if durable
            else command(b"BRPOP", own, b"0")
        )
        self._buffer = ReceiveBuffer()
        # Answers that come before the one with a message.
        self._answers_before = 1

    def opening(self) -> bytes:
        if self.is_requester:
            return command(b"DEL", self._own_reply)
        if self._durable:
            own = self._requests[self._pair]
            return command(b"XGROUP", b"CREATE", own, GROUP, b"$", b"MKSTREAM") + self._wait_for_request
        return command(b"PING") + self._wait_for_request

    def begin(self, now_ns: int) -> bytes:
        self._begin_next(now_ns)
        self._answers_before = 1
        queue = self._requests[self._pair]
        words = [b"XADD", queue, b"*", b"m"] if self._durable else [b"LPUSH", queue]
        head = b"%b %d" % (self._own_reply, self._sequence)
        return message_command(words, head, reply_for(self._sequence, self._body_bytes), self._wait_for_reply)

    def receive(self, data: bytes, now_ns: int) -> bytes:
        data = self._buffer.add(data)
        if not data:
            return b""
        answers: list[bytes] = []
        at, length, wanted = 0, len(data), 0
        while at < length:
            value, after = read_value(data, at)
            if after < 0:
                wanted = -after - at
                break
            at = after
            if self._answers_before:
                self._answered(value)
            elif self.is_requester:
                answers.append(self._reply(value, now_ns))
            else:
                answers.append(self._request(value, now_ns))
        if at < length:
            self._buffer.keep(data[at:], wanted)
        return answers[0] if len(answers) == 1 else b"".join(answers)

    def _answered(self, value: object) -> None:
        found = value if isinstance(value, list) else [value]
        for each in found:
            # The group of a stream exists already, except for the first client.
            if isinstance(each, RedisError) and not each.text.startswith("BUSYGROUP"):
                raise LoadFailed(f"Redis said {each.text}")
        self._answers_before -= 1
        if not self._answers_before:
            self.is_ready = True

    def _reply(self, value: object, now_ns: int) -> bytes:
        message = popped_message(value)
        line_end = message.find(b"\n")
        head = message[: max(line_end, 0)]
        if head != b"%d" % self._sequence or len(message) - line_end - 1 != self._body_bytes:
            raise LoadFailed(f"Redis delivered a reply to {head!r}, and to {self._sequence} was due")
        return self.replied(now_ns)

    def _request(self, value: object, now_ns: int) -> bytes:
        if not self._durable:
            self._answers_before = 1
            return _pushed_reply(popped_message(value), self._wait_for_request)
        self._answers_before = _ANSWERS_TO_TRANSACTION
        entry_id, message = entry_of(value)
        own = self._requests[self._pair]
        done = (command(b"XACK", own, GROUP, entry_id), command(b"XDEL", own, entry_id), command(b"EXEC"))
        return command(b"MULTI") + _pushed_reply(message, b"".join((*done, self._wait_for_request)))


def _pushed_reply(message: bytes, behind: bytes) -> bytes:
    line_end = message.find(b"\n")
    reply_list, _, sequence = message[:line_end].rpartition(b" ")
    return message_command([b"LPUSH", reply_list], sequence, memoryview(message)[line_end + 1 :], behind)


def popped_message(value: object) -> bytes:
    """Return the message of an answer to BRPOP: list and element."""
    if isinstance(value, list) and len(value) == 2:
        message = value[1]
        if isinstance(message, bytes):
            return message
    raise _unexpected(value)


def entry_of(value: object) -> tuple[bytes, bytes]:
    """Return id and message of an answer to XREADGROUP: streams, entries, fields."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        entries = value[0][1]
        if isinstance(entries, list) and len(entries) == 1:
            entry_id, fields = entries[0]
            if isinstance(entry_id, bytes) and isinstance(fields, list) and isinstance(fields[1], bytes):
                return entry_id, fields[1]
    raise _unexpected(value)


def _unexpected(value: object) -> LoadFailed:
    text = value.text if isinstance(value, RedisError) else repr(value)[:80]
    return LoadFailed(f"Redis answered {text} instead of a message")
