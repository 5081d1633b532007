"""The packets of MQTT 5 that requests and replies need, encoded and decoded by hand."""

from __future__ import annotations

from typing import Final

from ostler.lab.load.client import LoadFailed

CONNACK: Final = 0x20
PUBLISH: Final = 0x30
PUBACK: Final = 0x40
SUBACK: Final = 0x90
PINGRESP: Final = 0xD0
DISCONNECT: Final = 0xE0

_FAILED: Final = 0x80
_VERSION: Final = 5
_CLEAN_START: Final = 0x02
_RESPONSE_TOPIC: Final = 0x08
_CORRELATION_DATA: Final = 0x09
_SESSION_EXPIRY: Final = 0x11
_LENGTH_BYTES_MAX: Final = 4
# Other properties that a broker may put into a message, and their sizes.
_SIZES: Final[dict[int, int]] = {0x01: 1, 0x02: 4, 0x23: 2}


def variable_length(value: int) -> bytes:
    """Return a number in as few bytes as possible, seven bits in each."""
    found = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        if not value:
            found.append(low)
            return bytes(found)
        found.append(low | 0x80)


def read_variable_length(data: bytes, at: int) -> tuple[int, int]:
    """Return the number and its end; the end is -1 when it is incomplete."""
    value = 0
    for shift in range(_LENGTH_BYTES_MAX):
        if at + shift >= len(data):
            return 0, -1
        byte = data[at + shift]
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value, at + shift + 1
    raise LoadFailed("the MQTT broker sent a length of more than four bytes")


def text(value: bytes) -> bytes:
    return len(value).to_bytes(2, "big") + value


def _packet(first: int, *parts: bytes) -> bytes:
    length = 0
    for part in parts:
        length += len(part)
    # Joined once: the last part may be large.
    return b"".join((b"%c" % first, variable_length(length), *parts))


def connect(client_id: bytes, session_seconds: int) -> bytes:
    """Return CONNECT for a new session that outlives its connection by some time. No keep-alive."""
    properties = b"%c%b" % (_SESSION_EXPIRY, session_seconds.to_bytes(4, "big"))
    head = text(b"MQTT") + bytes((_VERSION, _CLEAN_START, 0, 0))
    return _packet(0x10, head, variable_length(len(properties)), properties, text(client_id))


def disconnect() -> bytes:
    """Return DISCONNECT, which also ends the session."""
    properties = b"%c\0\0\0\0" % _SESSION_EXPIRY
    return _packet(DISCONNECT, b"\0", variable_length(len(properties)), properties)


def subscribe(packet_id: int, topic: bytes, qos: int) -> bytes:
    return _packet(0x82, packet_id.to_bytes(2, "big"), b"\0", text(topic), bytes((qos,)))


def request_properties(response_topic: bytes) -> bytes:
    """Return the properties before the correlation data of a request, which is last."""
    return b"%c%b" % (_RESPONSE_TOPIC, text(response_topic))


def publish(topic: bytes, packet_id: int, properties: bytes, correlation: bytes, body: bytes) -> bytes:
    """Return a message with QoS 1, or with QoS 0 without a packet id. Correlation data follow other properties."""
    every = b"%b%c%b" % (properties, _CORRELATION_DATA, text(correlation))
    number = packet_id.to_bytes(2, "big") if packet_id else b""
    first = PUBLISH | 0x02 if packet_id else PUBLISH
    return _packet(first, text(topic), number, variable_length(len(every)), every, body)


def message(topic: bytes, packet_id: int, body: bytes) -> bytes:
    """Return a message without properties, with QoS 1, or with QoS 0 without a packet id."""
    if packet_id:
        return _packet(PUBLISH | 0x02, text(topic), packet_id.to_bytes(2, "big"), b"\0", body)
    return _packet(PUBLISH, text(topic), b"\0", body)


def ping() -> bytes:
    return b"\xc0\0"


def acknowledge(packet_id: int) -> bytes:
    return b"\x40\x02" + packet_id.to_bytes(2, "big")


def read_packet(data: bytes, at: int) -> tuple[int, int, int]:
    """Return the first byte, the begin and the end of the content.

    When the packet is incomplete, the end is negative: minus the number of bytes that the packet has at least.
    """
    if at >= len(data):
        return 0, 0, -1
    length, begin = read_variable_length(data, at + 1)
    if begin < 0:
        return 0, 0, -1
    if begin + length > len(data):
        return 0, 0, at - begin - length
    return data[at], begin, begin + length


class Published:
    """A delivered message. `packet_id` is 0 with QoS 0."""

    def __init__(self, packet_id: int, response_topic: bytes, correlation: bytes, body: bytes) -> None:
        self.packet_id = packet_id
        self.response_topic = response_topic
        self.correlation = correlation
        self.body = body


def read_published(data: bytes, first: int, at: int, end: int) -> Published:
    at += 2 + int.from_bytes(data[at : at + 2], "big")
    packet_id = 0
    if first & 0x06:
        packet_id = int.from_bytes(data[at : at + 2], "big")
        at += 2
    length, at = read_variable_length(data, at)
    properties_end = at + length
    response_topic = correlation = b""
    while at < properties_end:
        kind = data[at]
        at += 1
        if kind == _RESPONSE_TOPIC or kind == _CORRELATION_DATA:
            size = int.from_bytes(data[at : at + 2], "big")
            at += 2
            if kind == _RESPONSE_TOPIC:
                response_topic = data[at : at + size]
            else:
                correlation = data[at : at + size]
            at += size
        elif kind in _SIZES:
            at += _SIZES[kind]
        else:
            raise LoadFailed(f"the MQTT broker sent a message with property {kind}")
    return Published(packet_id, response_topic, correlation, data[properties_end:end])


def read_acknowledged(data: bytes, at: int, end: int) -> int:
    """Return the packet id of a PUBACK. Raises LoadFailed when it reports an error."""
    if end - at > 2 and data[at + 2] >= _FAILED:
        raise LoadFailed(f"the MQTT broker refused a message with reason {data[at + 2]}")
    return int.from_bytes(data[at : at + 2], "big")


def check_connected(data: bytes, at: int) -> None:
    if data[at + 1] >= _FAILED:
        raise LoadFailed(f"the MQTT broker refused a connection with reason {data[at + 1]}")


def check_subscribed(data: bytes, end: int) -> None:
    if data[end - 1] >= _FAILED:
        raise LoadFailed(f"the MQTT broker refused a subscription with reason {data[end - 1]}")
