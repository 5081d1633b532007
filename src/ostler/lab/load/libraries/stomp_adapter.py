"""ActiveMQ through stomp.py, which receives in a thread of its own for each connection."""

from __future__ import annotations

import socket
import threading
from typing import Any, Final

import stomp  # type: ignore[import-untyped]

from ostler.lab.load.client import LoadFailed
from ostler.lab.load.drivers.threaded_driver import ThreadedDriver
from ostler.lab.load.libraries.adapter import PRODUCER, REQUESTER, LibraryAdapter
from ostler.lab.load.libraries.patterns import threaded_driver
from ostler.lab.load.spec import ONE_WAY, LoadSpec, host_and_port

_SERVE_SECONDS: Final = 1.0
_REPLY_SECONDS_MAX: Final = 30.0
_READY: Final = "ready"


class StompAdapter(LibraryAdapter[None]):
    """Messages are replied to and counted in the thread that receives; requests are acknowledged when their replies
    have receipts."""

    def __init__(self, spec: LoadSpec, number: int, role: str) -> None:
        super().__init__(spec, number, role)
        self._failure = ""
        self._arrived = threading.Event()
        # What is still missing, by receipt or correlation, before the client's own thread continues.
        self._missing: set[str] = set()
        self._awaited = ("", b"")
        self._receipts = 0
        # Requests to acknowledge, by the receipt of the reply.
        self._unconfirmed: dict[str, str] = {}

    def queue(self, purpose: str, number: int) -> str:
        return f"/queue/stomp.py.{'durable' if self.spec.persistent else 'transient'}.{purpose}.{number}"

    def connect(self) -> None:
        self._connection: Any = stomp.Connection12([host_and_port(self.spec)], auto_decode=False)
        self._connection.set_listener("", _Listener(self))
        self._connection.connect(wait=True)
        sock = self._connection.transport.socket
        # All other clients have this too; otherwise acknowledgements delay the sends that follow them.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Replies to requests of an earlier load have another prefix.
        self._session = f"{sock.getsockname()[1]}-{id(self):x}"
        self._own = self.own_queue
        if self.role != PRODUCER:
            mode = "client-individual" if self.spec.persistent else "auto"
            self._missing = {_READY}
            self._connection.subscribe(self._own, id=1, ack=mode, headers={"receipt": _READY})
            self._wait()

    def _wait(self) -> None:
        in_time = self._arrived.wait(_REPLY_SECONDS_MAX)
        self._arrived.clear()
        if not in_time or self._failure:
            raise LoadFailed(self._failure or "stomp.py had no answer in time")

    def _next_receipt(self) -> str:
        """Return the receipt to ask for with the next message; empty where none is asked for."""
        if not self.spec.persistent and self.spec.kind != ONE_WAY:
            return ""
        self._receipts += 1
        return str(self._receipts)

    def _send(self, queue: str, body: bytes, headers: dict[str, str], receipt: str) -> None:
        headers["persistent"] = "true" if self.spec.persistent else "false"
        if receipt:
            headers["receipt"] = receipt
        self._connection.send(queue, body, headers=headers)

    def request(self, pair: int, sequence: int, body: bytes) -> None:
        correlation, receipt = f"{self._session}-{sequence}", self._next_receipt()
        self._awaited = (correlation, body)
        self._missing = {correlation, receipt} if receipt else {correlation}
        headers = {"reply-to": self._own, "correlation-id": correlation}
        self._send(self.queue("request", pair), body, headers, receipt)
        self._wait()

    def _take_reply(self, correlation: str, body: bytes) -> None:
        if correlation.rpartition("-")[0] != self._session:
            return
        if (correlation, body) != self._awaited:
            raise LoadFailed("stomp.py delivered a reply to another request")
        self._has(correlation)

    def reply(self, body: bytes, message: Any) -> None:
        receipt = self._next_receipt()
        if receipt:
            # Noted before it is sent: this thread receives the receipt, but only afterwards.
            self._unconfirmed[receipt] = message["ack"]
        self._send(message["reply-to"], body, {"correlation-id": message["correlation-id"]}, receipt)

    def send(self, body: bytes) -> None:
        receipt = self._next_receipt()
        self._missing = {receipt}
        self._send(self._own, body, {}, receipt)
        self._wait()

    def acknowledge(self, message: Any) -> None:
        if self.spec.persistent:
            self._connection.ack(message["ack"])

    def serve(self) -> None:
        if self._arrived.wait(_SERVE_SECONDS) and self._failure:
            raise LoadFailed(self._failure)

    def close(self) -> None:
        self._connection.remove_listener("")
        self._connection.disconnect()

    # -- in the thread that receives -----------------------------------------------------------------------------------

    def on_message(self, headers: dict[str, str], body: bytes) -> None:
        try:
            if self.role == REQUESTER:
                self.acknowledge(headers)
                self._take_reply(headers["correlation-id"], body)
            else:
                self.received(body, headers)
        except LoadFailed as failure:
            self.fail(str(failure))

    def on_receipt(self, receipt: str) -> None:
        if receipt in self._unconfirmed:
            self._connection.ack(self._unconfirmed.pop(receipt))
        else:
            self._has(receipt)

    def _has(self, what: str) -> None:
        self._missing.discard(what)
        if not self._missing:
            self._arrived.set()

    def fail(self, text: str) -> None:
        self._failure = text
        self._arrived.set()


class _Listener(stomp.ConnectionListener):  # type: ignore[misc]
    def __init__(self, adapter: StompAdapter) -> None:
        self._adapter = adapter

    def on_message(self, frame: Any) -> None:
        body = frame.body if isinstance(frame.body, bytes) else frame.body.encode()
        self._adapter.on_message(frame.headers, body)

    def on_receipt(self, frame: Any) -> None:
        self._adapter.on_receipt(frame.headers["receipt-id"])

    def on_error(self, frame: Any) -> None:
        self._adapter.fail(f"ActiveMQ said {frame.headers.get('message', frame.body)}")

    def on_disconnected(self) -> None:
        self._adapter.fail("stomp.py lost its connection")


def stomp_driver(spec: LoadSpec) -> ThreadedDriver:
    return threaded_driver(StompAdapter, spec)
