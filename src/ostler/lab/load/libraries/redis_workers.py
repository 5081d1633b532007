"""Redis through redis-py: lists in memory, streams with a consumer group for persistent messages."""

from __future__ import annotations

from functools import partial
from typing import Any

import redis

from ostler.lab.load.client import LoadFailed, reply_for
from ostler.lab.load.drivers.threaded_driver import LoadWorker, ThreadedDriver
from ostler.lab.load.libraries.one_way import LibraryOneWay
from ostler.lab.load.spec import ONE_WAY, LoadSpec, host_and_port, pair_of

_GROUP = "W"
_SERVE_SECONDS = 1
_REPLY_SECONDS_MAX = 30
_CONNECT_SECONDS_MAX = 30


def _key(spec: LoadSpec, what: str, number: int) -> str:
    return f"redis-py:{'durable' if spec.persistent else 'transient'}:{what}:{number}"


class _RedisWorker(LoadWorker):
    def __init__(self, spec: LoadSpec, number: int) -> None:
        self._plan = spec
        self._number = number

    def open(self) -> None:
        host, port = host_and_port(self._plan)
        # Typed as Any: the return types of redis-py include those of its asynchronous client.
        self._redis: Any = redis.Redis(host=host, port=port, socket_connect_timeout=_CONNECT_SECONDS_MAX)
        self._redis.ping()

    def _share(self, stream: str) -> None:
        """Create a consumer group for a stream, unless it exists."""
        try:
            self._redis.xgroup_create(stream, _GROUP, id="$", mkstream=True)
        except redis.ResponseError as refusal:
            if not str(refusal).startswith("BUSYGROUP"):
                raise

    def _read(self, stream: str) -> tuple[Any, bytes] | None:
        """Return id and message of the next entry for this consumer; None when there is none within a moment."""
        found = self._redis.xreadgroup(_GROUP, str(self._number), {stream: ">"}, count=1, block=_SERVE_SECONDS * 1000)
        if not found:
            return None
        # A list of pairs, or a dictionary with version 3 of the protocol.
        entries = found[stream.encode()][0] if isinstance(found, dict) else found[0][1]
        entry_id, fields = entries[0]
        return entry_id, fields[b"m"]

    def close(self) -> None:
        self._redis.close()


class RedisRequester(_RedisWorker):
    """Pushes to the request lists, or adds to the streams, in turn, and waits for the reply on a list of its own."""

    def open(self) -> None:
        super().open()
        self._own = _key(self._plan, "reply", self._number)
        self._redis.delete(self._own)
        self._sequence = 0

    def step(self) -> None:
        self._sequence += 1
        request = _key(self._plan, "request", pair_of(self._plan, self._number, self._sequence))
        body = reply_for(self._sequence, self._plan.body_bytes)
        message = f"{self._own} {self._sequence}\n".encode() + body
        if self._plan.persistent:
            self._redis.xadd(request, {"m": message})
        else:
            self._redis.lpush(request, message)
        found = self._redis.brpop([self._own], timeout=_REPLY_SECONDS_MAX)
        if found is None or found[1] != b"%d\n%b" % (self._sequence, body):
            raise LoadFailed("redis-py returned no reply, or one to another request")


class RedisResponder(_RedisWorker):
    """Pops from one request list; or reads from one stream, and replies and acknowledges in one transaction."""

    def open(self) -> None:
        super().open()
        self._request = _key(self._plan, "request", self._number % self._plan.pairs)
        if self._plan.persistent:
            self._share(self._request)

    def step(self) -> None:
        if self._plan.persistent:
            self._serve_stream()
            return
        found = self._redis.brpop([self._request], timeout=_SERVE_SECONDS)
        if found is not None:
            self._redis.lpush(*_reply(found[1]))

    def _serve_stream(self) -> None:
        found = self._read(self._request)
        if found is None:
            return
        entry_id, message = found
        transaction = self._redis.pipeline(transaction=True)
        transaction.lpush(*_reply(message))
        transaction.xack(self._request, _GROUP, entry_id)
        transaction.xdel(self._request, entry_id)
        transaction.execute()


def _reply(message: bytes) -> tuple[bytes, bytes]:
    """Return the list to reply to, and the reply."""
    head, _, body = message.partition(b"\n")
    reply_list, _, sequence = head.rpartition(b" ")
    return reply_list, b"%b\n%b" % (sequence, body)


class RedisProducer(_RedisWorker):
    """Pushes to one list, or adds to one stream."""

    def open(self) -> None:
        super().open()
        self._way = LibraryOneWay(self, self._plan, self._number)
        self._key = _key(self._plan, "one-way", self._way.pair)

    def step(self) -> None:
        if self._plan.persistent:
            self._redis.xadd(self._key, {"m": self._way.body()})
        else:
            self._redis.lpush(self._key, self._way.body())


class RedisConsumer(_RedisWorker):
    """Pops from one list; or reads from one stream, and acknowledges and deletes in one transaction."""

    def open(self) -> None:
        super().open()
        self._way = LibraryOneWay(self, self._plan, self._number)
        self._key = _key(self._plan, "one-way", self._way.pair)
        if self._plan.persistent:
            self._share(self._key)

    def step(self) -> None:
        if not self._plan.persistent:
            popped = self._redis.brpop([self._key], timeout=_SERVE_SECONDS)
            if popped is not None:
                self._way.got(popped[1])
            return
        found = self._read(self._key)
        if found is not None:
            self._way.got(found[1])
            transaction = self._redis.pipeline(transaction=True)
            transaction.xack(self._key, _GROUP, found[0])
            transaction.xdel(self._key, found[0])
            transaction.execute()


def redis_driver(spec: LoadSpec) -> ThreadedDriver:
    if spec.kind == ONE_WAY:
        return ThreadedDriver(
            [partial(RedisProducer, spec, number) for number in spec.requesters],
            [partial(RedisConsumer, spec, number) for number in spec.responders],
        )
    return ThreadedDriver(
        [partial(RedisRequester, spec, number) for number in spec.requesters],
        [partial(RedisResponder, spec, number) for number in spec.responders],
    )
