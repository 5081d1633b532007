"""MQTT through paho-mqtt, version 5 of the protocol, each client with a loop in its own thread."""

from __future__ import annotations

import socket
import time
from typing import Any, Final

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from ostler.lab.load.client import LoadFailed
from ostler.lab.load.drivers.threaded_driver import ThreadedDriver
from ostler.lab.load.libraries.adapter import PRODUCER, REQUESTER, LibraryAdapter
from ostler.lab.load.libraries.patterns import threaded_driver
from ostler.lab.load.spec import LoadSpec, host_and_port

_SERVE_SECONDS: Final = 1.0
_REPLY_SECONDS_MAX: Final = 30.0
_SESSION_SECONDS: Final = 3600
# With QoS 0 a put is a write to a socket: a producer this far ahead of consumers waits, or the broker would drop
# messages.
_AHEAD_MAX: Final = 1000
# What a client waits for.
_READY: Final = "ready"
_REPLY: Final = "reply"
_PUBLISHED: Final = "published"


def _properties(kind: int) -> Any:
    """Typed as Any: its attributes are created when they are set."""
    return Properties(kind)  # type: ignore[no-untyped-call]


def _session(seconds: int, kind: int) -> Properties:
    found = _properties(kind)
    found.SessionExpiryInterval = seconds
    assert isinstance(found, Properties)
    return found


class PahoAdapter(LibraryAdapter[None]):
    """Replies go to a topic of each requester, other topics are shared. With QoS 1 a request is acknowledged when its
    reply is."""

    def __init__(self, spec: LoadSpec, number: int, role: str) -> None:
        super().__init__(spec, number, role)
        self._qos = 1 if spec.persistent else 0
        self.window = 0 if self._qos else _AHEAD_MAX
        self._missing: set[str] = set()
        self._awaited = b""
        # Requests to acknowledge, by the packet id of the reply.
        self._unacknowledged: dict[int, MQTTMessage] = {}

    def queue(self, purpose: str, number: int) -> str:
        return f"paho/{self._qos}/{purpose}/{number}"

    def connect(self) -> None:
        host, port = host_and_port(self.spec)
        self._own = self.own_queue
        self._client = Client(
            CallbackAPIVersion.VERSION2,
            client_id=f"paho-{self._qos}-{self.role}-{self.number}",
            protocol=MQTTProtocolVersion.MQTTv5,
            manual_ack=self.spec.persistent,
        )
        self._client.on_subscribe = self._subscribed
        self._client.on_connect = self._connected
        self._client.on_message = self._take_reply if self.role == REQUESTER else self._take
        self._client.on_publish = self._published
        self._missing = {_READY}
        kept = _session(_SESSION_SECONDS if self.spec.persistent else 0, PacketTypes.CONNECT)
        # Without keep-alive: nobody answers it while others are measured.
        self._client.connect(host, port, keepalive=0, clean_start=True, properties=kept)
        sock = self._client.socket()
        assert isinstance(sock, socket.socket)
        # All other clients have this too; otherwise acknowledgements delay the sends that follow them.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._loop_until_complete()

    def _connected(self, client: Client, data: object, flags: object, reason: Any, more: object) -> None:
        if reason.is_failure:
            raise LoadFailed(f"the MQTT broker refused a connection: {reason}")
        if self.role == PRODUCER:
            self._missing.discard(_READY)
        else:
            client.subscribe(self._own if self.role == REQUESTER else f"$share/W/{self._own}", self._qos)

    def _subscribed(self, client: Client, data: object, packet_id: int, reasons: list[Any], more: object) -> None:
        if any(reason.is_failure for reason in reasons):
            raise LoadFailed(f"the MQTT broker refused a subscription: {reasons[0]}")
        self._missing.discard(_READY)

    def _loop_until_complete(self) -> None:
        deadline = time.monotonic() + _REPLY_SECONDS_MAX
        while self._missing:
            self.serve()
            if time.monotonic() > deadline:
                raise LoadFailed("paho-mqtt had no answer in time")

    def request(self, pair: int, sequence: int, body: bytes) -> None:
        properties = _properties(PacketTypes.PUBLISH)
        properties.ResponseTopic = self._own
        properties.CorrelationData = self._awaited = b"%d" % sequence
        self._missing = {_REPLY, _PUBLISHED} if self.spec.persistent else {_REPLY}
        self._client.publish(self.queue("request", pair), body, self._qos, properties=properties)
        self._loop_until_complete()

    def _take_reply(self, client: Client, data: object, message: MQTTMessage) -> None:
        if getattr(message.properties, "CorrelationData", b"") != self._awaited:
            raise LoadFailed("paho-mqtt delivered a reply to another request")
        self.acknowledge(message)
        self._missing.discard(_REPLY)

    def _take(self, client: Client, data: object, message: MQTTMessage) -> None:
        self.received(bytes(message.payload), message)

    def reply(self, body: bytes, message: Any) -> None:
        asked = message.properties
        properties = _properties(PacketTypes.PUBLISH)
        properties.CorrelationData = asked.CorrelationData
        sent = self._client.publish(asked.ResponseTopic, body, self._qos, properties=properties)
        if self.spec.persistent:
            self._unacknowledged[sent.mid] = message

    def send(self, body: bytes) -> None:
        self._missing = {_PUBLISHED}
        self._client.publish(self._own, body, self._qos)
        self._loop_until_complete()

    def _published(self, client: Client, data: object, packet_id: int, reason: Any, more: object) -> None:
        self._missing.discard(_PUBLISHED)
        if packet_id in self._unacknowledged:
            self.acknowledge(self._unacknowledged.pop(packet_id))

    def acknowledge(self, message: Any) -> None:
        if self.spec.persistent:
            self._client.ack(message.mid, message.qos)

    def serve(self) -> None:
        code = self._client.loop(_SERVE_SECONDS)
        if code != MQTTErrorCode.MQTT_ERR_SUCCESS:
            raise LoadFailed(f"paho-mqtt lost its connection: {code.name}")

    def close(self) -> None:
        self._client.disconnect(properties=_session(0, PacketTypes.DISCONNECT))
        self._client.loop(0.0)


def paho_driver(spec: LoadSpec) -> ThreadedDriver:
    return threaded_driver(PahoAdapter, spec)
