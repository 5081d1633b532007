"""A lean client of an MQTT 5 broker, without a library.

A requester sends its own topic and a number with each request; responders of one topic share its requests. QoS 0:
nothing is acknowledged. QoS 1, for persistent messages: sessions survive a lost connection, a request counts when it is
acknowledged and its reply has arrived, and a responder acknowledges a request when its reply is acknowledged.
"""

from __future__ import annotations

from ostler.lab.load.client import LoadFailed, Pace, PairedClient, reply_for
from ostler.lab.load.mqtt import packets as mqtt
from ostler.lab.load.receive_buffer import ReceiveBuffer

SESSION_SECONDS = 3600
_PACKET_IDS = 65_535
SUBSCRIBED = 1


class MqttClient(PairedClient):
    """A requester that goes through the topics in turn, or a responder of one of them."""

    def __init__(
        self,
        pace: Pace,
        is_requester: bool,
        number: int,
        pairs: int,
        body_bytes: int,
        qos: int,
        goes_round: bool = True,
    ) -> None:
        super().__init__(pace, is_requester, number, pairs, body_bytes, goes_round)
        self._qos = qos
        self._requests = [b"lab/%d/request/%d" % (qos, pair) for pair in range(pairs)]
        self._own = b"lab/%d/reply/%d" % (qos, number)
        self._properties = mqtt.request_properties(self._own)
        self._client_id = b"lab-%d-%b-%d" % (qos, b"requester" if is_requester else b"responder", number)
        self._buffer = ReceiveBuffer()
        self._correlation = b""
        self._packet_id = 0
        self._waits_for_ack = False
        self._waits_for_reply = False
        # Replies of a responder that are not acknowledged, with the request to acknowledge then.
        self._unacknowledged: dict[int, int] = {}

    def opening(self) -> bytes:
        topic = self._own if self.is_requester else b"$share/W/" + self._requests[self._pair]
        seconds = SESSION_SECONDS if self._qos else 0
        return mqtt.connect(self._client_id, seconds) + mqtt.subscribe(SUBSCRIBED, topic, self._qos)

    def closing(self) -> bytes:
        # A session that stays would get a share of the next load's requests.
        return mqtt.disconnect()

    def _next_packet_id(self) -> int:
        if not self._qos:
            return 0
        self._packet_id = self._packet_id + 1 if self._packet_id < _PACKET_IDS else 1
        return self._packet_id

    def begin(self, now_ns: int) -> bytes:
        self._begin_next(now_ns)
        self._correlation = b"%d" % self._sequence
        self._waits_for_ack = self._qos > 0
        self._waits_for_reply = True
        body = reply_for(self._sequence, self._body_bytes)
        topic = self._requests[self._pair]
        return mqtt.publish(topic, self._next_packet_id(), self._properties, self._correlation, body)

    def receive(self, data: bytes, now_ns: int) -> bytes:
        data = self._buffer.add(data)
        if not data:
            return b""
        answers: list[bytes] = []
        at, length = 0, len(data)
        while True:
            first, begin, end = mqtt.read_packet(data, at)
            if end < 0:
                break
            at = end
            kind = first & 0xF0
            if kind == mqtt.PUBLISH:
                answers.append(self._message(mqtt.read_published(data, first, begin, end), now_ns))
            elif kind == mqtt.PUBACK:
                answers.append(self._acknowledged(mqtt.read_acknowledged(data, begin, end), now_ns))
            else:
                answers.append(self._control(kind, data, begin, end, now_ns))
        if at < length:
            self._buffer.keep(data[at:], -end)
        return answers[0] if len(answers) == 1 else b"".join(answers)

    def _control(self, kind: int, data: bytes, begin: int, end: int, now_ns: int) -> bytes:
        if kind == mqtt.CONNACK:
            mqtt.check_connected(data, begin)
        elif kind == mqtt.SUBACK:
            mqtt.check_subscribed(data, end)
            self.is_ready = True
        elif kind == mqtt.DISCONNECT:
            raise LoadFailed(f"the MQTT broker disconnected a client with reason {data[begin] if end > begin else 0}")
        elif kind != mqtt.PINGRESP:
            raise LoadFailed(f"the MQTT broker sent a packet of kind {kind >> 4}")
        return b""

    def _message(self, found: mqtt.Published, now_ns: int) -> bytes:
        if self.is_requester:
            if found.correlation != self._correlation or not self._waits_for_reply:
                raise LoadFailed(f"MQTT delivered {found.correlation!r}, and {self._correlation!r} was due")
            if len(found.body) != self._body_bytes:
                raise LoadFailed(f"MQTT delivered {len(found.body)} bytes, and {self._body_bytes} were due")
            self._waits_for_reply = False
            done = mqtt.acknowledge(found.packet_id) if found.packet_id else b""
            return done if self._waits_for_ack else done + self.replied(now_ns)
        packet_id = self._next_packet_id()
        if packet_id:
            self._unacknowledged[packet_id] = found.packet_id
        return mqtt.publish(found.response_topic, packet_id, b"", found.correlation, found.body)

    def _acknowledged(self, packet_id: int, now_ns: int) -> bytes:
        if not self.is_requester:
            return mqtt.acknowledge(self._unacknowledged.pop(packet_id))
        self._waits_for_ack = False
        return b"" if self._waits_for_reply else self.replied(now_ns)
