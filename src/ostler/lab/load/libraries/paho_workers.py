"""MQTT through paho-mqtt, version 5 of the protocol, each client with a loop in its own thread."""

from __future__ import annotations

import socket
import time
from functools import partial
from typing import Any

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from ostler.lab.load.client import LoadFailed, reply_for
from ostler.lab.load.drivers.threaded_driver import LoadWorker, ThreadedDriver
from ostler.lab.load.libraries.one_way import LibraryOneWay
from ostler.lab.load.spec import ONE_WAY, LoadSpec, host_and_port, pair_of

_SERVE_SECONDS = 1.0
_REPLY_SECONDS_MAX = 30.0
_SESSION_SECONDS = 3600
# With QoS 0 a put is a write to a socket: a producer this far ahead of consumers waits, or the broker would drop
# messages.
_AHEAD_MAX = 1000
_NAP_SECONDS = 0.0005


def _topic(spec: LoadSpec, what: str, number: int) -> str:
    return f"paho/{int(spec.persistent)}/{what}/{number}"


def _properties(kind: int) -> Any:
    """Typed as Any: its attributes are created when they are set."""
    return Properties(kind)  # type: ignore[no-untyped-call]


def _session(seconds: int, kind: int) -> Properties:
    found = _properties(kind)
    found.SessionExpiryInterval = seconds
    assert isinstance(found, Properties)
    return found


class _PahoWorker(LoadWorker):
    def __init__(self, spec: LoadSpec, number: int) -> None:
        self._plan = spec
        self._number = number
        self._qos = 1 if spec.persistent else 0

    def _connect(self, role: str, topic: str) -> None:
        host, port = host_and_port(self._plan)
        self._client = Client(
            CallbackAPIVersion.VERSION2,
            client_id=f"paho-{self._qos}-{role}-{self._number}",
            protocol=MQTTProtocolVersion.MQTTv5,
            manual_ack=self._plan.persistent,
        )
        self._topic = topic
        self._is_ready = False
        self._client.on_subscribe = self._subscribed
        self._client.on_connect = self._connected
        self._client.on_message = self._received
        self._client.on_publish = self._published
        kept = _session(_SESSION_SECONDS if self._plan.persistent else 0, PacketTypes.CONNECT)
        # Without keep-alive: nobody answers it while others are measured.
        self._client.connect(host, port, keepalive=0, clean_start=True, properties=kept)
        sock = self._client.socket()
        assert isinstance(sock, socket.socket)
        # All other clients have this too; otherwise acknowledgements delay the sends that follow them.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._loop_until_ready()

    def _loop_until_ready(self) -> None:
        deadline = time.monotonic() + _REPLY_SECONDS_MAX
        while not self._is_ready:
            self._turn()
            if time.monotonic() > deadline:
                raise LoadFailed("paho-mqtt had no answer in time")

    def _turn(self) -> None:
        code = self._client.loop(_SERVE_SECONDS)
        if code != MQTTErrorCode.MQTT_ERR_SUCCESS:
            raise LoadFailed(f"paho-mqtt lost its connection: {code.name}")

    def _connected(self, client: Client, data: object, flags: object, reason: Any, more: object) -> None:
        if reason.is_failure:
            raise LoadFailed(f"the MQTT broker refused a connection: {reason}")
        if self._topic:
            client.subscribe(self._topic, self._qos)
        else:
            self._is_ready = True

    def _subscribed(self, client: Client, data: object, packet_id: int, reasons: list[Any], more: object) -> None:
        if any(reason.is_failure for reason in reasons):
            raise LoadFailed(f"the MQTT broker refused a subscription: {reasons[0]}")
        self._is_ready = True

    def _received(self, client: Client, data: object, message: MQTTMessage) -> None:
        raise NotImplementedError

    def _published(self, client: Client, data: object, packet_id: int, reason: Any, more: object) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self._client.disconnect(properties=_session(0, PacketTypes.DISCONNECT))
        self._client.loop(0.0)


class PahoRequester(_PahoWorker):
    """Publishes to the request topics in turn, and waits for the reply on a topic of its own."""

    def open(self) -> None:
        self._own = _topic(self._plan, "reply", self._number)
        self._sequence = 0
        self._waits_for: set[str] = set()
        self._connect("requester", self._own)

    def step(self) -> None:
        self._sequence += 1
        properties = _properties(PacketTypes.PUBLISH)
        properties.ResponseTopic = self._own
        properties.CorrelationData = b"%d" % self._sequence
        topic = _topic(self._plan, "request", pair_of(self._plan, self._number, self._sequence))
        self._waits_for = {"reply", "acknowledgement"} if self._plan.persistent else {"reply"}
        self._is_ready = False
        body = reply_for(self._sequence, self._plan.body_bytes)
        self._client.publish(topic, body, self._qos, properties=properties)
        self._loop_until_ready()

    def _received(self, client: Client, data: object, message: MQTTMessage) -> None:
        correlation = getattr(message.properties, "CorrelationData", b"")
        if correlation != b"%d" % self._sequence:
            raise LoadFailed("paho-mqtt delivered a reply to another request")
        if self._plan.persistent:
            client.ack(message.mid, message.qos)
        self._came("reply")

    def _published(self, client: Client, data: object, packet_id: int, reason: Any, more: object) -> None:
        self._came("acknowledgement")

    def _came(self, what: str) -> None:
        self._waits_for.discard(what)
        self._is_ready = not self._waits_for


class PahoResponder(_PahoWorker):
    """Shares the requests of one topic, and acknowledges each when its reply is acknowledged."""

    def open(self) -> None:
        self._unacknowledged: dict[int, tuple[int, int]] = {}
        self._connect("responder", f"$share/W/{_topic(self._plan, 'request', self._number % self._plan.pairs)}")

    def step(self) -> None:
        self._turn()

    def _received(self, client: Client, data: object, message: MQTTMessage) -> None:
        asked: Any = message.properties
        properties = _properties(PacketTypes.PUBLISH)
        properties.CorrelationData = asked.CorrelationData
        sent = client.publish(asked.ResponseTopic, message.payload, self._qos, properties=properties)
        if self._plan.persistent:
            self._unacknowledged[sent.mid] = (message.mid, message.qos)

    def _published(self, client: Client, data: object, packet_id: int, reason: Any, more: object) -> None:
        if self._plan.persistent:
            client.ack(*self._unacknowledged.pop(packet_id))


class PahoProducer(_PahoWorker):
    """Publishes to one topic, and waits until it is acknowledged; with QoS 0 until it is sent."""

    def open(self) -> None:
        self._way = LibraryOneWay(self, self._plan, self._number)
        self._connect("producer", "")
        self._to = _topic(self._plan, "one-way", self._way.pair)

    def step(self) -> None:
        while not self._qos and self.tally.outstanding >= _AHEAD_MAX:
            time.sleep(_NAP_SECONDS)
        self._is_ready = False
        self._client.publish(self._to, self._way.body(), self._qos)
        self._loop_until_ready()

    def _published(self, client: Client, data: object, packet_id: int, reason: Any, more: object) -> None:
        self._is_ready = True


class PahoConsumer(_PahoWorker):
    """Shares the messages of one topic, and acknowledges each with QoS 1."""

    def open(self) -> None:
        self._way = LibraryOneWay(self, self._plan, self._number)
        self._connect("consumer", f"$share/W/{_topic(self._plan, 'one-way', self._way.pair)}")

    def step(self) -> None:
        self._turn()

    def _received(self, client: Client, data: object, message: MQTTMessage) -> None:
        self._way.got(bytes(message.payload))
        if self._plan.persistent:
            client.ack(message.mid, message.qos)


def paho_driver(spec: LoadSpec) -> ThreadedDriver:
    if spec.kind == ONE_WAY:
        return ThreadedDriver(
            [partial(PahoProducer, spec, number) for number in spec.requesters],
            [partial(PahoConsumer, spec, number) for number in spec.responders],
        )
    return ThreadedDriver(
        [partial(PahoRequester, spec, number) for number in spec.requesters],
        [partial(PahoResponder, spec, number) for number in spec.responders],
    )
