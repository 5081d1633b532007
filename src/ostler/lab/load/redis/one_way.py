"""Lean producers and consumers of Redis: a list in memory, or a stream that a consumer group shares.

A put counts when Redis answers it. Messages of a list are popped, at most once. A consumer of a stream acknowledges and
deletes each message in one transaction.
"""

from __future__ import annotations

from ostler.lab.load.client import LoadFailed, Pace
from ostler.lab.load.one_way import OneWay
from ostler.lab.load.redis.client import GROUP, RedisClient, RedisError, command, entry_of, popped_message

# Answers to MULTI, to the two commands in it, and to EXEC.
_ANSWERS_TO_TRANSACTION = 4


class RedisOneWayClient(RedisClient):
    """A producer or a consumer of one list or stream."""

    def __init__(self, pace: Pace, is_requester: bool, number: int, pairs: int, body_bytes: int, durable: bool) -> None:
        super().__init__(pace, is_requester, number, pairs, body_bytes, durable)
        self._way = OneWay(pace, body_bytes)
        own = self._key = b"%b:one-way:%d" % (b"durable" if durable else b"transient", number % pairs)
        consumer = b"%d" % number
        self._wait = (
            command(b"XREADGROUP", b"GROUP", GROUP, consumer, b"COUNT", b"1", b"BLOCK", b"0", b"STREAMS", own, b">")
            if durable
            else command(b"BRPOP", own, b"0")
        )

    def opening(self) -> bytes:
        if self.is_requester or not self._durable:
            first = command(b"PING")
        else:
            first = command(b"XGROUP", b"CREATE", self._key, GROUP, b"$", b"MKSTREAM")
        return first if self.is_requester else first + self._wait

    def begin(self, now_ns: int) -> bytes:
        self.began_ns = now_ns
        body = self._way.body(now_ns, self.put_ns)
        if self._durable:
            return command(b"XADD", self._key, b"*", b"m", body)
        return command(b"LPUSH", self._key, body)

    def receive(self, data: bytes, now_ns: int) -> bytes:
        if not self.is_ready:
            self._way.start(now_ns)
        return super().receive(data, now_ns)

    def _reply(self, value: object, now_ns: int) -> bytes:
        if isinstance(value, RedisError):
            raise LoadFailed(f"Redis said {value.text}")
        return self.replied(now_ns)

    def _request(self, value: object, now_ns: int) -> bytes:
        if not self._durable:
            self._way.got(popped_message(value), now_ns)
            return self._wait
        entry_id, body = entry_of(value)
        self._way.got(body, now_ns)
        self._answers_before = _ANSWERS_TO_TRANSACTION
        done = (command(b"XACK", self._key, GROUP, entry_id), command(b"XDEL", self._key, entry_id))
        return b"".join((command(b"MULTI"), *done, command(b"EXEC"), self._wait))
