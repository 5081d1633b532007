"""Frames as a broken or hostile peer would send them, from a seed, for tests and for `make fuzz`.

`corpus` has a correct frame of every type for a connection that has one queue open; `Mangler` makes wrong ones of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

from ostler.engine.properties.properties import Property
from ostler.engine.properties.property_block import encode_block
from ostler.model.constants import (
    MQGMO_BROWSE_NEXT,
    MQGMO_NO_SYNCPOINT,
    MQGMO_SYNCPOINT,
    MQGMO_WAIT,
    MQOO_BROWSE,
    MQOO_INPUT_SHARED,
    MQOO_INQUIRE,
    MQOO_OUTPUT,
    MQOO_SET,
    MQOT_Q,
    MQOT_TOPIC,
    MQPMO_RETAIN,
    MQPMO_SYNCPOINT,
    MQSO_CREATE,
    MQSO_DURABLE,
    MQSO_MANAGED,
    MQSO_PUBLICATIONS_ON_REQUEST,
    MQSO_RESUME,
    MQSO_WILDCARD_CHAR,
    MQTYPE_STRING,
)
from ostler.model.structures.md import MQMD
from ostler.wire import frames as wire
from ostler.wire.connect_frames import ConnectArguments, Hello
from ostler.wire.object_frames import InquireArguments, OpenArguments, Put1Arguments
from ostler.wire.payload_codec import numbers_payload
from ostler.wire.put_get_frames import (
    HELD,
    WANTS_PROPERTIES,
    WANTS_TOKEN,
    get_any_payload,
    get_payload,
    publish_payload,
    put_payload,
)
from ostler.wire.subscribe_frames import SubscribeArguments

CONVERSATION: Final = 1
HOBJ: Final = 2  # the first handle of a connection
ALL_OPTIONS: Final = MQOO_INPUT_SHARED | MQOO_BROWSE | MQOO_OUTPUT | MQOO_INQUIRE | MQOO_SET
_CURRENT_DEPTH: Final = 3
_DURABLE: Final = MQSO_CREATE | MQSO_RESUME | MQSO_DURABLE | MQSO_MANAGED | MQSO_WILDCARD_CHAR
_HEADER: Final = wire.HEADER_BYTES


def descriptor() -> bytes:
    return bytes(MQMD.default(2))


def get(options: int, wait_ms: int = 0, flags: int = 0, selector: bytes = b"") -> bytes:
    zero = bytes(24)
    return get_payload(HOBJ, options, wait_ms, 0, 65536, 546, 1208, flags, zero, zero, zero, 1, 0, bytes(16), selector)


def greeting(channel: str = "") -> bytes:
    """HELLO, as the first frame of a link."""
    hello = Hello(channel)
    hello.message_bytes_max = 1 << 20
    hello.conversations_max = 10
    return wire.frame(wire.HELLO, 0, 1, hello.encode())


def connecting() -> bytes:
    asked = ConnectArguments()
    asked.application = "hostile"
    return wire.frame(wire.CONNECT, CONVERSATION, 2, asked.encode())


def opening(queue: str) -> bytes:
    asked = OpenArguments(MQOT_Q, queue, ALL_OPTIONS)
    return wire.frame(wire.OPEN, CONVERSATION, 3, asked.encode())


def topic(options: int) -> OpenArguments:
    asked = OpenArguments(MQOT_TOPIC, "", options)
    asked.object_string = "a/b"
    return asked


def subscribing(options: int, topic_string: str, name: str = "", destination: int = 0) -> bytes:
    asked = SubscribeArguments(options)
    asked.topic_string = topic_string
    asked.name = name
    asked.destination = destination
    asked.user_data = "some data"
    asked.selection = "colour = 'red'"
    return asked.encode()


def corpus(queue: str) -> list[bytes]:
    """A correct frame of every type, some of them in several shapes."""
    md = descriptor()
    block = encode_block([Property("usr.colour", MQTYPE_STRING, "red", 1, 0, 22, "")])
    target = OpenArguments(MQOT_Q, queue, 0)
    waiting = get(MQGMO_WAIT | MQGMO_NO_SYNCPOINT, 60_000)
    shapes: list[tuple[int, bytes]] = [
        (wire.HELLO, Hello().encode()),
        (wire.CONNECT, ConnectArguments().encode()),
        (wire.OPEN, OpenArguments(MQOT_Q, queue, ALL_OPTIONS).encode()),
        (wire.OPEN, OpenArguments(MQOT_Q, "SYSTEM.DEFAULT.MODEL.QUEUE", ALL_OPTIONS).encode()),
        (wire.CLOSE, numbers_payload([HOBJ, 0])),
        (wire.PUT, put_payload(HOBJ, 0, 0, md, b"", b"some data")),
        (wire.PUT, put_payload(HOBJ, MQPMO_SYNCPOINT, 0, md, block, b"some data")),
        (wire.PUT1, Put1Arguments(target, 0, 0, md, block, b"some data").encode()),
        (wire.GET, get(MQGMO_NO_SYNCPOINT)),
        (wire.GET, waiting),
        (wire.GET, get(MQGMO_NO_SYNCPOINT, 0, HELD | WANTS_TOKEN)),
        (wire.GET, get(MQGMO_SYNCPOINT, 0, WANTS_PROPERTIES, b"colour = 'red'")),
        (wire.CANCEL, numbers_payload([77])),
        (wire.SETTLE, numbers_payload([77, 1])),
        (wire.COMMIT, b""),
        (wire.BACK, b""),
        (wire.BEGIN, b""),
        (wire.INQUIRE, InquireArguments(HOBJ, [_CURRENT_DEPTH], [], b"").encode()),
        (wire.SET, InquireArguments(HOBJ, [10], [1], b"").encode()),
        (wire.STATUS, numbers_payload([0])),
        (wire.GET_ANY, get_any_payload(60_000, [waiting, get(MQGMO_BROWSE_NEXT)])),
        (wire.STREAM, numbers_payload([10]) + get(MQGMO_NO_SYNCPOINT)),
        (wire.CREDIT, numbers_payload([77, 5])),
        (wire.UNSTREAM, numbers_payload([77])),
        (wire.COMMAND, b'{"action": "nothing"}'),
        (wire.OPEN, topic(MQOO_OUTPUT).encode()),
        (wire.PUT1, Put1Arguments(topic(0), MQPMO_RETAIN, 0, md, b"", b"some data").encode()),
        (wire.SUBSCRIBE, subscribing(MQSO_CREATE | MQSO_MANAGED, "a/#")),
        (wire.SUBSCRIBE, subscribing(MQSO_CREATE | MQSO_PUBLICATIONS_ON_REQUEST, "a/+", destination=HOBJ)),
        (wire.SUBSCRIBE, subscribing(_DURABLE, "nobody/publishes/*", "HOSTILE")),
        (wire.SUBSCRIPTION_REQUEST, numbers_payload([HOBJ, 1, 0])),
        (wire.PUBLISH, publish_payload(4, HOBJ, 0, 0, md, block, b"some data")),
        (
            wire.PUBLISH1,
            numbers_payload([4]) + Put1Arguments(topic(0), MQPMO_SYNCPOINT, 0, md, block, b"some data").encode(),
        ),
        (wire.HEARTBEAT, b""),
        (wire.HEARTBEAT | wire.REPLY, b""),
        (wire.NOTICE, b""),
        (wire.FAREWELL, numbers_payload([2009, 0])),
        (wire.DISCONNECT, numbers_payload([1])),
    ]
    return [wire.frame(kind, CONVERSATION, 77, payload) for kind, payload in shapes]


def truncations(whole: bytes) -> Iterator[bytes]:
    """A frame cut off at every byte: as it is, and with a header that says it is whole."""
    for size in range(len(whole)):
        yield whole[:size]
        if size >= _HEADER:
            yield size.to_bytes(4, "little") + whole[4:size]


class Mangler:
    """Wrong frames, one after the other, the same ones for the same seed."""

    def __init__(self, queue: str, seed: int) -> None:
        self._corpus = corpus(queue)
        self._random = random.Random(seed)
        self.frames_made = 0
        self._opening = [greeting(), connecting(), opening(queue)]

    def conversation(self) -> bytes:
        """What a hostile peer sends from the first byte to the last: mostly a good beginning, then nonsense."""
        chance = self._random
        start = b"".join(self._opening[: chance.choice((0, 1, 2, 3, 3, 3, 3, 3))])
        return start + b"".join(self.frame() for _ in range(chance.randint(1, 4)))

    def frame(self) -> bytes:
        chance = self._random
        self.frames_made += 1
        data = bytearray(chance.choice(self._corpus))
        for _ in range(chance.randint(0, 3)):
            data = self._mangled(data)
        return bytes(data)

    def _mangled(self, data: bytearray) -> bytearray:
        chance = self._random
        at = chance.randrange(len(data)) if data else 0
        match chance.randrange(8):
            case 0:
                data[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                data[at : at + 4] = chance.choice((-1, 0, 1, 0x7FFFFFFF, -(1 << 31), 77)).to_bytes(
                    4, "little", signed=True
                )
            case 2:
                del data[at:]
                return _with_length(data)
            case 3:
                data[at:at] = chance.randbytes(chance.randint(1, 64))
                return _with_length(data)
            case 4:
                data[0:4] = chance.randbytes(4)
            case 5:
                data[4:16] = chance.randbytes(12)
            case 6:
                if len(data) > 5:
                    data[5] ^= wire.MORE
            case _:
                data[4:5] = bytes([chance.randrange(256)])
        return data


def _with_length(data: bytearray) -> bytearray:
    """The header says how long the frame now is."""
    if len(data) >= _HEADER:
        data[0:4] = len(data).to_bytes(4, "little")
    return data
