"""ActiveMQ through stomp.py, which receives in a thread of its own for each connection."""

from __future__ import annotations

import socket
import threading
from functools import partial
from typing import Any

import stomp  # type: ignore[import-untyped]

from ostler.lab.load.client import LoadFailed, reply_for
from ostler.lab.load.drivers.threaded_driver import LoadWorker, ThreadedDriver
from ostler.lab.load.libraries.one_way import LibraryOneWay
from ostler.lab.load.spec import ONE_WAY, LoadSpec, host_and_port, pair_of

_SERVE_SECONDS = 1.0
_REPLY_SECONDS_MAX = 30.0
_READY = "ready"


def _queue(spec: LoadSpec, what: str, number: int) -> str:
    return f"/queue/stomp.py.{'durable' if spec.persistent else 'transient'}.{what}.{number}"


class _StompWorker(LoadWorker):
    """A worker that is its own listener: stomp.py calls a listener's methods by name."""

    def __init__(self, spec: LoadSpec, number: int) -> None:
        self._plan = spec
        self._number = number
        self._came = threading.Event()
        self._failure = ""
        self._sent = 0

    def _connect(self, destination: str) -> None:
        self._connection: Any = stomp.Connection12([host_and_port(self._plan)], auto_decode=False)
        self._connection.set_listener("", _Listener(self))
        self._connection.connect(wait=True)
        # All other clients have this too; otherwise acknowledgements delay the sends that follow them.
        self._connection.transport.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not destination:
            return
        mode = "client-individual" if self._plan.persistent else "auto"
        self._connection.subscribe(destination, id=1, ack=mode, headers={"receipt": _READY})
        self._wait()

    def _wait(self) -> None:
        in_time = self._came.wait(_REPLY_SECONDS_MAX)
        self._came.clear()
        if not in_time or self._failure:
            raise LoadFailed(self._failure or "stomp.py had no answer in time")

    def fail(self, words: str) -> None:
        self._failure = words
        self._came.set()

    def _send(self, destination: str, body: bytes, headers: dict[str, str]) -> None:
        headers["persistent"] = "true" if self._plan.persistent else "false"
        if self._plan.persistent or self._plan.kind == ONE_WAY:
            self._sent += 1
            headers["receipt"] = str(self._sent)
        self._connection.send(destination, body, headers=headers)

    def message(self, headers: dict[str, str], body: bytes) -> None:
        raise NotImplementedError

    def receipt(self, receipt: str) -> None:
        if receipt == _READY:
            self._came.set()

    def close(self) -> None:
        self._connection.remove_listener("")
        self._connection.disconnect()


class _Listener(stomp.ConnectionListener):  # type: ignore[misc]
    def __init__(self, worker: _StompWorker) -> None:
        self._worker = worker

    def on_message(self, frame: Any) -> None:
        body = frame.body if isinstance(frame.body, bytes) else frame.body.encode()
        self._worker.message(frame.headers, body)

    def on_receipt(self, frame: Any) -> None:
        self._worker.receipt(frame.headers["receipt-id"])

    def on_error(self, frame: Any) -> None:
        self._worker.fail(f"ActiveMQ said {frame.headers.get('message', frame.body)}")

    def on_disconnected(self) -> None:
        self._worker.fail("stomp.py lost its connection")


class StompRequester(_StompWorker):
    """Sends to the request queues in turn, and waits for the reply on a queue of its own."""

    def open(self) -> None:
        self._own = _queue(self._plan, "reply", self._number)
        self._sequence = 0
        self._correlation = ""
        self._body = b""
        self._waits_for: set[str] = set()
        self._connect(self._own)
        # Replies to requests of an earlier load have another prefix.
        self._session = f"{self._connection.transport.socket.getsockname()[1]}-{id(self):x}"

    def step(self) -> None:
        self._sequence += 1
        self._correlation = f"{self._session}-{self._sequence}"
        self._body = reply_for(self._sequence, self._plan.body_bytes)
        self._waits_for = {"reply", "receipt"} if self._plan.persistent else {"reply"}
        queue = _queue(self._plan, "request", pair_of(self._plan, self._number, self._sequence))
        self._send(queue, self._body, {"reply-to": self._own, "correlation-id": self._correlation})
        self._wait()

    def message(self, headers: dict[str, str], body: bytes) -> None:
        if self._plan.persistent:
            self._connection.ack(headers["ack"])
        if headers["correlation-id"].rpartition("-")[0] != self._session:
            return
        if headers["correlation-id"] != self._correlation or body != self._body:
            self.fail("stomp.py delivered a reply to another request")
            return
        self._has("reply")

    def receipt(self, receipt: str) -> None:
        super().receipt(receipt)
        if receipt == str(self._sent):
            self._has("receipt")

    def _has(self, what: str) -> None:
        self._waits_for.discard(what)
        if not self._waits_for:
            self._came.set()


class StompResponder(_StompWorker):
    """Replies in the thread that receives, and acknowledges a request when its reply has a receipt."""

    def open(self) -> None:
        self._unconfirmed: dict[str, str] = {}
        self._connect(_queue(self._plan, "request", self._number % self._plan.pairs))

    def step(self) -> None:
        if self._came.wait(_SERVE_SECONDS) and self._failure:
            raise LoadFailed(self._failure)

    def message(self, headers: dict[str, str], body: bytes) -> None:
        if self._plan.persistent:
            # Noted before it is sent: this thread receives the receipt, but only afterwards.
            self._unconfirmed[str(self._sent + 1)] = headers["ack"]
        self._send(headers["reply-to"], body, {"correlation-id": headers["correlation-id"]})

    def receipt(self, receipt: str) -> None:
        super().receipt(receipt)
        if receipt in self._unconfirmed:
            self._connection.ack(self._unconfirmed.pop(receipt))


class StompProducer(_StompWorker):
    """Sends to one queue, and waits for the receipt."""

    def open(self) -> None:
        self._way = LibraryOneWay(self, self._plan, self._number)
        self._queue = _queue(self._plan, "one-way", self._way.pair)
        self._connect("")

    def step(self) -> None:
        self._send(self._queue, self._way.body(), {})
        self._wait()

    def receipt(self, receipt: str) -> None:
        self._came.set()


class StompConsumer(_StompWorker):
    """Takes messages in the thread that receives, and acknowledges persistent ones."""

    def open(self) -> None:
        self._way = LibraryOneWay(self, self._plan, self._number)
        self._connect(_queue(self._plan, "one-way", self._way.pair))

    def step(self) -> None:
        if self._came.wait(_SERVE_SECONDS) and self._failure:
            raise LoadFailed(self._failure)

    def message(self, headers: dict[str, str], body: bytes) -> None:
        try:
            self._way.got(body)
        except LoadFailed as failure:
            self.fail(str(failure))
        if self._plan.persistent:
            self._connection.ack(headers["ack"])


def stomp_driver(spec: LoadSpec) -> ThreadedDriver:
    if spec.kind == ONE_WAY:
        return ThreadedDriver(
            [partial(StompProducer, spec, number) for number in spec.requesters],
            [partial(StompConsumer, spec, number) for number in spec.responders],
        )
    return ThreadedDriver(
        [partial(StompRequester, spec, number) for number in spec.requesters],
        [partial(StompResponder, spec, number) for number in spec.responders],
    )
