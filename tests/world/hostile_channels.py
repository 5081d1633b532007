"""Frames of message channels as a broken or hostile queue manager would send them, from a seed.

`from_sender` and `from_receiver` have correct frames of all types, as either end of a channel would send them; the
manglers make wrong ones of them, behind a beginning that is mostly good.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from typing import Final

from tests.world.hostile_frames import Mangler

from ostler.channel.compression import METHODS, compress
from ostler.model.structures.md import MQMD
from ostler.wire import frames as wire
from ostler.wire import segments
from ostler.wire.channel_frames import (
    HEADER_COMPRESSED,
    IN_BATCH,
    METHOD_SHIFT,
    SENDS,
    XQH_BYTES,
    ChannelHello,
    confirm_frame,
    hello_frame,
    luwid_of,
    message_frame,
    message_head,
    welcome_frame,
)
from ostler.wire.replies import reason_payload

PARTNER: Final = "STRANGER"
LUWID: Final = luwid_of(77)
SEQUENCE_WRAP: Final = 999_999_999
ALL_METHODS: Final = [number for word, number in METHODS.items() if word not in ("NONE", "ANY")]


def hello(channel: str, partner: str = PARTNER, purpose: int = SENDS) -> ChannelHello:
    """What a partner says first, when it means well."""
    made = ChannelHello()
    made.purpose = purpose
    made.channel = channel
    made.queue_manager = partner
    made.ccsid = 1208
    made.encoding = 546
    made.message_bytes_max = 1 << 20
    made.batch_size = 50
    made.window = 8
    made.heartbeat_seconds = 300
    made.sequence_wrap = SEQUENCE_WRAP
    made.is_fast = True
    made.header_methods = [METHODS["NONE"]]
    made.message_methods = [METHODS["NONE"]]
    return made


def transmission_body(queue: str, data: bytes = b"some data", manager: str = "", md: bytes = b"") -> bytes:
    """A message as it is on a transmission queue: MQXQH with its descriptor, then the data."""
    names = queue.encode("latin-1").ljust(48) + manager.encode("latin-1").ljust(48)
    return b"XQH \x01\0\0\0" + names + (md or persistent()) + data


def persistent() -> bytes:
    made = MQMD.default(1)
    MQMD.patch(made, "Persistence", 1)
    return bytes(made)


def message(queue: str, sequence: int = 1, batch: int = 1, flags: int = IN_BATCH, data: bytes = b"some data") -> bytes:
    return message_frame(7, batch, flags, sequence, -1, XQH_BYTES, transmission_body(queue, data))


def confirm(sequence: int = 1, batch: int = 1, messages: int = 1, luwid: bytes = LUWID) -> bytes:
    return confirm_frame(wire.CHANNEL_CONFIRM, batch, batch, sequence, luwid, messages)


def from_sender(channel: str, queue: str) -> list[bytes]:
    """A correct frame of every type that the sending end of a channel has to say, some of them in several shapes."""
    body = transmission_body(queue)
    small = compress(METHODS["ZLIBFAST"], body[XQH_BYTES:])
    flags = IN_BATCH | METHODS["ZLIBFAST"] << METHOD_SHIFT
    long = message_head(1, IN_BATCH, 1, -1, XQH_BYTES) + transmission_body(queue, bytes(2000))
    return [
        message(queue),
        message(queue),
        message(queue, 2),
        message(queue, 0, 0, 0),
        message("NOBODY.HAS.IT"),
        message("SYSTEM.CHANNEL.SYNCQ", data=bytes(96)),
        message_frame(7, 1, flags, 1, 600, XQH_BYTES, body[:XQH_BYTES] + small),
        message_frame(7, 1, flags | HEADER_COMPRESSED, 1, 0, 20, body[:20] + small),
        segments.segment(wire.CHANNEL_MESSAGE, 0, 9, True, long[:1000]),
        segments.segment(wire.CHANNEL_MESSAGE, 0, 9, False, long[1000:]),
        confirm(),
        confirm(2, 1, 2),
        hello_frame(hello(channel)),
        wire.frame(wire.HELLO, 0, 1, b""),
        wire.frame(wire.CHANNEL_END, 0, 1),
        wire.frame(wire.REKEY, 0, 1),
        wire.frame(wire.CHANNEL_PING, 0, 1, b"are you there"),
        wire.frame(wire.HEARTBEAT, 0, 1),
        wire.frame(wire.HEARTBEAT | wire.REPLY, 0, 1, bytes(8)),
        wire.frame(wire.FAREWELL, 0, 0, reason_payload(2009, "AMQ9999E: so be it")),
    ]


def from_receiver(channel: str) -> list[bytes]:
    """The same of the receiving end."""
    return [
        confirm_frame(wire.CHANNEL_CONFIRM | wire.REPLY, 1, 1, 1, LUWID, 1),
        welcome_frame(1, hello(channel)),
        welcome_frame(1, hello(channel)),
        wire.frame(wire.CHANNEL_STOP, 0, 0),
        wire.frame(wire.CHANNEL_END | wire.REPLY, 0, 1),
        wire.frame(wire.REKEY | wire.REPLY, 0, 1),
        wire.frame(wire.CHANNEL_PING | wire.REPLY, 0, 1, b"are you there"),
        wire.frame(wire.CHANNEL_END, 0, 1),
        wire.frame(wire.HEARTBEAT, 0, 1),
        wire.frame(wire.HEARTBEAT | wire.REPLY, 0, 1, bytes(8)),
        wire.frame(wire.FAREWELL, 0, 0, reason_payload(2009, "AMQ9526E: so be it")),
        segments.segment(wire.CHANNEL_MESSAGE, 0, 9, True, bytes(1000)),
        hello_frame(hello(channel)),
    ]


def odd_hellos(channel: str, shape: Callable[[ChannelHello], bytes]) -> list[bytes]:
    """First words, or answers to them, in which one thing is as nobody would say it."""
    numbers = {
        "version": (0, 2, 65_536),
        "purpose": (0, 1, 2, 3),
        "ccsid": (0, 1, 65_535),
        "encoding": (0, 1 << 20),
        "segment_bytes": (0, 1, 15, 16, 17, 1024, 1 << 30),
        "message_bytes_max": (0, 1, 1 << 30),
        "batch_size": (0, 9999),
        "window": (0, 16),
        "heartbeat_seconds": (0, 999_999),
        "sequence_wrap": (0, 100),
        "is_fast": (False,),
        "is_reset": (True,),
        "sequence": (5, SEQUENCE_WRAP),
        "luwid": (b"\xff" * 8,),
        "header_methods": ([], [-1], [99], [METHODS["RLE"]], [METHODS["ANY"]], list(range(16))),
        "message_methods": ([], [-1], [99], [METHODS["LZ4HIGH"]], [METHODS["ANY"]], list(range(16))),
        "in_doubt": ([(LUWID, 5)] * 16,),
        "channel": ("", "OTHER", "SYSTEM.DEF.SENDER", "\0\0", "A B", "é" * 20, "%s%n*"),
        "queue_manager": ("", "OTHER", "\n\r\x1b[2J", "A B", "é" * 48, "../../etc", "*"),
    }
    made: list[bytes] = []
    for name, values in numbers.items():
        for value in values:
            odd = hello(channel)
            setattr(odd, name, value)
            made.append(shape(odd))
    both = hello(channel)
    both.is_reset = True
    both.in_doubt = [(LUWID, 5)]
    return [*made, shape(both)]


def bombs(size: int = 1 << 20) -> list[tuple[int, bytes]]:
    """Methods, and what becomes far too long when it is expanded by them."""
    zeros = bytes(size)
    made = [(method, compress(method, zeros)) for method in ALL_METHODS]
    made.append((METHODS["ZLIBHIGH"], zlib.compress(bytes(8 * size), 1)))
    made.append((METHODS["LZ4FAST"], (0x7FFFFFFF).to_bytes(4, "little") + bytes(100)))
    made.append((METHODS["LZ4FAST"], (1 << 31).to_bytes(4, "little") + bytes(100)))
    made.append((METHODS["RLE"], b"\0\xff\xff\xff\xff\x7f\0"))
    return made


class ChannelMangler(Mangler):
    """Wrong frames of a channel's end behind its first words, the same ones for the same seed."""

    def __init__(self, beginnings: list[bytes], corpus: list[bytes], seed: int) -> None:
        super().__init__("", seed)
        self._corpus = corpus
        self._beginnings = beginnings
        self._chance = random.Random(seed + 1)

    def conversation(self) -> bytes:
        chance = self._chance
        start = chance.choice(self._beginnings)
        if chance.random() < 0.1:
            start = b""
        # Whole frames in any order get further than those that are broken at once.
        frames = [
            chance.choice(self._corpus) if chance.random() < 0.5 else self.frame() for _ in range(chance.randint(1, 6))
        ]
        self.frames_made += len(frames)
        return start + b"".join(frames)
