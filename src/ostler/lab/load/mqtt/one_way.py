"""Lean producers and consumers of an MQTT 5 broker.

QoS 0 acknowledges nothing, so that a put counts when the ping behind it is answered. With QoS 1 it counts when it is
acknowledged, and consumers acknowledge each message.
"""

from __future__ import annotations

from ostler.lab.load.client import Pace
from ostler.lab.load.mqtt import packets as mqtt
from ostler.lab.load.mqtt.client import SESSION_SECONDS, SUBSCRIBED, MqttClient
from ostler.lab.load.one_way import OneWay


class MqttOneWayClient(MqttClient):
    """A producer or a consumer of one topic. Consumers share the subscription, or each has its own where there are
    `subscribers`."""

    def __init__(
        self, pace: Pace, is_requester: bool, number: int, pairs: int, body_bytes: int, qos: int, subscribers: int = 0
    ) -> None:
        super().__init__(pace, is_requester, number, pairs, body_bytes, qos)
        self._way = OneWay(pace, body_bytes, max(subscribers, 1))
        self._share = b"" if subscribers else b"$share/W/"
        self._topic = b"lab/%d/one-way/%d" % (qos, number % pairs)
        self._client_id = b"lab-%d-%b-%d" % (qos, b"producer" if is_requester else b"consumer", number)

    def opening(self) -> bytes:
        if self.is_requester:
            return mqtt.connect(self._client_id, 0)
        seconds = SESSION_SECONDS if self._qos else 0
        return mqtt.connect(self._client_id, seconds) + mqtt.subscribe(SUBSCRIBED, self._share + self._topic, self._qos)

    def begin(self, now_ns: int) -> bytes:
        self.began_ns = now_ns
        message = mqtt.message(self._topic, self._next_packet_id(), self._way.body(now_ns, self.put_ns))
        return message if self._qos else message + mqtt.ping()

    def _control(self, kind: int, data: bytes, begin: int, end: int, now_ns: int) -> bytes:
        if kind == mqtt.PINGRESP:
            return self.replied(now_ns)
        self._way.start(now_ns)
        answer = super()._control(kind, data, begin, end, now_ns)
        if kind == mqtt.CONNACK and self.is_requester:
            self.is_ready = True
        return answer

    def _message(self, found: mqtt.Published, now_ns: int) -> bytes:
        self._way.got(found.body, now_ns)
        return mqtt.acknowledge(found.packet_id) if found.packet_id else b""

    def _acknowledged(self, packet_id: int, now_ns: int) -> bytes:
        return self.replied(now_ns)
