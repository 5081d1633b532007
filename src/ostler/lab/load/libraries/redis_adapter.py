"""Redis through redis-py: lists in memory, streams with a consumer group for persistent messages."""

from __future__ import annotations

from typing import Any, Final

import redis

from ostler.lab.load.client import LoadFailed
from ostler.lab.load.drivers.threaded_driver import ThreadedDriver
from ostler.lab.load.libraries.adapter import CONSUMER, REQUESTER, RESPONDER, LibraryAdapter
from ostler.lab.load.libraries.patterns import threaded_driver
from ostler.lab.load.spec import LoadSpec, host_and_port

_GROUP: Final = "W"
_SERVE_SECONDS: Final = 1
_REPLY_SECONDS_MAX: Final = 30
_CONNECT_SECONDS_MAX: Final = 30


class RedisAdapter(LibraryAdapter[None]):
    """Replies go to a list of each requester. An entry of a stream is acknowledged and deleted in one transaction."""

    def queue(self, purpose: str, number: int) -> str:
        return f"redis-py:{'durable' if self.spec.persistent else 'transient'}:{purpose}:{number}"

    def connect(self) -> None:
        host, port = host_and_port(self.spec)
        # Typed as Any: the return types of redis-py include those of its asynchronous client.
        self._redis: Any = redis.Redis(host=host, port=port, socket_connect_timeout=_CONNECT_SECONDS_MAX)
        self._redis.ping()
        self._own = self.own_queue
        if self.role == REQUESTER:
            self._redis.delete(self._own)
        elif self.spec.persistent and self.role in (RESPONDER, CONSUMER):
            self._create_group()

    def _create_group(self) -> None:
        """Create the consumer group of the stream, unless it exists."""
        try:
            self._redis.xgroup_create(self._own, _GROUP, id="$", mkstream=True)
        except redis.ResponseError as refusal:
            if not str(refusal).startswith("BUSYGROUP"):
                raise

    def _add(self, queue: str, message: bytes) -> None:
        if self.spec.persistent:
            self._redis.xadd(queue, {"m": message})
        else:
            self._redis.lpush(queue, message)

    def request(self, pair: int, sequence: int, body: bytes) -> None:
        self._add(self.queue("request", pair), f"{self._own} {sequence}\n".encode() + body)
        found = self._redis.brpop([self._own], timeout=_REPLY_SECONDS_MAX)
        if found is None or found[1] != b"%d\n%b" % (sequence, body):
            raise LoadFailed("redis-py returned no reply, or one to another request")

    def reply(self, body: bytes, message: Any) -> None:
        head, _, rest = body.partition(b"\n")
        reply_list, _, sequence = head.rpartition(b" ")
        reply = b"%b\n%b" % (sequence, rest)
        if self.spec.persistent:
            transaction = self._redis.pipeline(transaction=True)
            transaction.lpush(reply_list, reply)
            self._delete_entry(transaction, message)
        else:
            self._redis.lpush(reply_list, reply)

    def send(self, body: bytes) -> None:
        self._add(self._own, body)

    def acknowledge(self, message: Any) -> None:
        if self.spec.persistent:
            self._delete_entry(self._redis.pipeline(transaction=True), message)

    def _delete_entry(self, transaction: Any, entry_id: Any) -> None:
        transaction.xack(self._own, _GROUP, entry_id)
        transaction.xdel(self._own, entry_id)
        transaction.execute()

    def serve(self) -> None:
        if not self.spec.persistent:
            popped = self._redis.brpop([self._own], timeout=_SERVE_SECONDS)
            if popped is not None:
                self.received(popped[1], None)
            return
        consumer, wait_ms = str(self.number), _SERVE_SECONDS * 1000
        found = self._redis.xreadgroup(_GROUP, consumer, {self._own: ">"}, count=1, block=wait_ms)
        if found:
            # A list of pairs, or a dictionary with version 3 of the protocol.
            entries = found[self._own.encode()][0] if isinstance(found, dict) else found[0][1]
            entry_id, fields = entries[0]
            self.received(fields[b"m"], entry_id)

    def close(self) -> None:
        self._redis.close()


def redis_driver(spec: LoadSpec) -> ThreadedDriver:
    return threaded_driver(RedisAdapter, spec)
