"""The page of the channel protocol says what the code does: types, offsets, flags, limits, what is agreed on."""

from __future__ import annotations

import re
import socket
import struct
from pathlib import Path

import pytest
from tests.docs.protocol_page import ProtocolPage, number, value, walk

import ostler.testing
from ostler.channel import compression, message_writer
from ostler.channel import negotiation as terms
from ostler.channel.negotiation import ChannelSettings, negotiate
from ostler.model import constants
from ostler.model.attributes import ObjectType
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.model.structures.md import MQMD
from ostler.wire import channel_frames, frames
from ostler.wire.channel_frames import ChannelHello

PAGE = ProtocolPage(Path(__file__).resolve().parents[2] / "docs" / "reference" / "channel-protocol.md")
XQH_BYTES = 428

pytestmark = pytest.mark.skipif(not PAGE.path.exists(), reason="the documentation is not beside the tests")


def hello() -> ChannelHello:
    made = ChannelHello()
    made.version, made.purpose, made.ccsid, made.encoding = 11, 2, 1208, 546
    made.segment_bytes, made.message_bytes_max, made.batch_size, made.window = 12, 13, 14, 15
    made.heartbeat_seconds, made.sequence_wrap, made.is_fast, made.is_reset = 16, 17, True, True
    made.sequence, made.luwid, made.channel, made.queue_manager = 18, b"LLLLLLLL", "TO.QM2", "QM1"
    made.header_methods, made.message_methods = [8], [16, 2]
    made.in_doubt = [(b"DDDDDDDD", 19), (b"EEEEEEEE", 20)]
    return made


HELLO_FIELDS: dict[str, object] = {
    "magic": frames.MAGIC,
    "version": 11,
    "purpose": 2,
    "ccsid": 1208,
    "encoding": 546,
    "segment bytes": 12,
    "message bytes max": 13,
    "batch size": 14,
    "window": 15,
    "heartbeat seconds": 16,
    "sequence wrap": 17,
    "fast": 1,
    "reset": 1,
    "sequence": 18,
    "luwid": b"LLLLLLLL",
    "channel": "TO.QM2",
    "queue manager": "QM1",
    "header method count": 1,
    "header methods": b"\x08\0\0\0",
    "message method count": 2,
    "message methods": b"\x10\0\0\0\x02\0\0\0",
    "doubt count": 2,
    "doubts": b"DDDDDDDD\x13\0\0\0EEEEEEEE\x14\0\0\0",
}
HEADER = bytes(range(256)) + bytes(XQH_BYTES - 256)
LAYOUTS: dict[str, tuple[bytes, dict[str, object]]] = {
    "**CHANNEL_HELLO**": (hello().encode(), HELLO_FIELDS),
    "**CHANNEL_HELLO reply**": (
        channel_frames.welcome_frame(1, hello())[frames.HEADER_BYTES :],
        {"completion": 0, "reason": 0, "agreed": hello().encode()},
    ),
    "**CHANNEL_MESSAGE**": (
        channel_frames.message_frame(1, 2, 3, 4, 5, XQH_BYTES, HEADER + b"data")[frames.HEADER_BYTES :],
        {
            "batch": 2,
            "flags": 3,
            "sequence": 4,
            "expiry": 5,
            "header bytes": XQH_BYTES,
            "header": HEADER,
            "data": b"data",
        },
    ),
    "**CHANNEL_CONFIRM**": (
        channel_frames.confirm_frame(frames.CHANNEL_CONFIRM, 1, 2, 3, b"LLLLLLLL", 4)[frames.HEADER_BYTES :],
        {"batch": 2, "sequence": 3, "luwid": b"LLLLLLLL", "messages": 4},
    ),
}


@pytest.mark.parametrize("title", LAYOUTS)
def test_a_payload_is_laid_out_as_the_page_says(title: str) -> None:
    payload, expected = LAYOUTS[title]
    read = walk(PAGE.layout(title), payload)
    assert {field: value(read[field], expected.get(field)) for field in read} == expected


def test_every_layout_of_the_page_is_held_against_the_code() -> None:
    assert [title for title in PAGE.layouts() if not title.startswith(tuple(LAYOUTS))] == []
    assert len(PAGE.layouts()) == len(LAYOUTS)


def test_every_type_of_frame() -> None:
    told = {row[0]: int(row[1]) for row in PAGE.table("type", "number", "sent by")}
    there = {name: kind for kind, name in frames.TYPE_NAMES.items() if name.startswith("CHANNEL_")}
    assert told == there
    assert {name: getattr(frames, name) for name in there} == told


@pytest.mark.parametrize("columns", ["flag", "purpose"])
def test_flags_and_purposes(columns: str) -> None:
    told = {row[0]: int(row[1]) for row in PAGE.table(columns, "value")}
    assert len(told) >= 2
    assert {name: getattr(channel_frames, name) for name in told} == told


def test_methods() -> None:
    assert 1 << channel_frames.METHOD_SHIFT == 256
    cells = " ".join(row[0] for row in PAGE.table("method", "what is sent"))
    told = {word: int(digits) for word, digits in re.findall(r"(\w+) \((\d+)\)", cells)}
    assert told == {word: method for word, method in compression.METHODS.items() if word not in ("NONE", "ANY")}


LIMITS: dict[str, int] = {
    "first frame": frames.FIRST_FRAME_BYTES_MAX,
    "header": channel_frames.XQH_BYTES,
    "window": channel_frames.WINDOW_MAX,
    "doubts": channel_frames.WINDOW_MAX,
    "methods": channel_frames._METHODS_MAX,
    "ping": channel_frames.PING_BYTES_MAX,
    "backlog": message_writer.BACKLOG_BYTES,
}


def test_limits() -> None:
    told = PAGE.limits()
    assert {name: told[name] for name in LIMITS} == LIMITS
    assert f"our own ends ask for {terms.WINDOW} |" in PAGE.text()


@pytest.mark.parametrize(
    ("limit", "field"), [("batch", "batch_size"), ("sequence", "sequence"), ("heartbeat", "heartbeat_seconds")]
)
def test_limits_of_what_a_hello_may_say(limit: str, field: str) -> None:
    made = ChannelHello()
    setattr(made, field, PAGE.limits()[limit])
    assert getattr(channel_frames.decode_channel_hello(made.encode()), field) == PAGE.limits()[limit]
    setattr(made, field, PAGE.limits()[limit] + 1)
    with pytest.raises(frames.MalformedFrame):
        channel_frames.decode_channel_hello(made.encode())


def test_every_limit_is_held_against_the_code() -> None:
    assert set(PAGE.limits()) == {*LIMITS, "batch", "sequence", "heartbeat"}


def test_the_version() -> None:
    assert f"two queue managers, version {channel_frames.CHANNEL_VERSION}." in PAGE.text()
    assert [int(row[0]) for row in PAGE.table("version", "what it brought")] == [
        *range(1, channel_frames.CHANNEL_VERSION + 1)
    ]


def test_what_is_agreed_on() -> None:
    told = {field: row[1] for row in PAGE.table("field", "is") for field in row[0].split(", ")}
    assert {*told} == {*(row[2] for row in PAGE.layout("**CHANNEL_HELLO**"))} - {
        "magic",
        "channel",
        "header method count",
        "message method count",
        "doubt count",
    }
    attributes = {"BATCHSZ": 50, "MAXMSGL": 1000, "HBINT": 10, "SEQWRAP": 17, "COMPMSG": ("ZLIBFAST",)}
    settings = ChannelSettings(Definition(ObjectType.CHANNEL, "TO.QM2", attributes))
    asked = hello()
    asked.in_doubt = []
    agreed = negotiate(asked, settings, "QM2", 819)
    assert (agreed.version, agreed.purpose, agreed.ccsid, agreed.queue_manager) == (1, 2, 819, "QM2")
    assert (agreed.segment_bytes, agreed.message_bytes_max) == (8192, 13)
    assert (agreed.batch_size, agreed.window, agreed.heartbeat_seconds) == (14, terms.WINDOW, 16)
    assert (agreed.is_fast, agreed.header_methods, agreed.message_methods) == (True, [0], [2])
    assert (agreed.is_reset, agreed.in_doubt) == (False, [])
    with pytest.raises(MQError, match="AMQ9526E"):
        negotiate(hello(), settings, "QM2", 819)  # reset and in doubt


# -- what the queue manager answers ------------------------------------------------------------------------------------


class Talk:
    """A sending end that knows only the page."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, 30)
        self.reader = frames.FrameReader(frames.SEGMENT_BYTES)

    def ask(self, name: str, request: int, payload: bytes) -> bytes:
        kind = {row[0]: int(row[1]) for row in PAGE.table("type", "number", "sent by")}[name]
        self.socket.sendall(frames.frame(kind, 0, request, payload))
        if not request:
            return b""
        reader = self.reader
        while not reader.next():
            data = self.socket.recv(65536)
            assert data, "the queue manager has closed the connection"
            reader.feed(data)
        assert (reader.type, reader.conversation, reader.request) == (kind | frames.REPLY, 0, request)
        return reader.buffer[reader.start : reader.end]


def transmission_message(queue: str) -> bytes:
    header = b"XQH " + struct.pack("<i", 1) + queue.encode().ljust(48) + b" " * 48
    return header + bytes(MQMD.default(1)) + b"by hand"


def first_words(sequence: int, luwid: bytes) -> bytes:
    made = ChannelHello()
    made.channel, made.queue_manager, made.sequence_wrap, made.batch_size = "TO.HERE", "STRANGER", 999_999_999, 50
    made.message_bytes_max, made.sequence, made.luwid = 4_000_000, sequence, luwid
    return made.encode()


def test_a_real_queue_manager_answers_as_the_page_says() -> None:
    mqsc = "DEFINE QLOCAL(Q1)\nDEFINE CHANNEL(TO.HERE) CHLTYPE(RCVR)"
    with ostler.testing.queue_manager(mqsc=mqsc) as running:
        address = (running.host, running.port)
        talk = Talk(address)
        with talk.socket:
            told = walk(PAGE.layout("**CHANNEL_HELLO reply**"), talk.ask("CHANNEL_HELLO", 1, first_words(0, bytes(8))))
            agreed = walk(PAGE.layout("**CHANNEL_HELLO**"), told["agreed"])
            assert number(agreed["sequence"]) == 0
            body = transmission_message("Q1")
            numbers = struct.pack("<5i", 1, 1, 1, -1, XQH_BYTES)
            talk.ask("CHANNEL_MESSAGE", 0, numbers + body)
            confirm = struct.pack("<2i8si", 1, 1, b"UNIQUE!!", 1)
            assert talk.ask("CHANNEL_CONFIRM", 1, confirm) == confirm
            assert talk.ask("CHANNEL_END", 1, b"") == b""
        with ostler.connect(running.name) as manager, manager.open("Q1") as queue:
            assert queue.get(wait=10).body == b"by hand"
        # As after a cut: what was committed last.
        talk = Talk(address)
        with talk.socket:
            told = walk(PAGE.layout("**CHANNEL_HELLO reply**"), talk.ask("CHANNEL_HELLO", 1, first_words(0, bytes(8))))
            agreed = walk(PAGE.layout("**CHANNEL_HELLO**"), told["agreed"])
            assert (number(agreed["sequence"]), agreed["luwid"]) == (1, b"UNIQUE!!")


REASONS = {
    2035: "NOT_AUTHORIZED",
    2058: "Q_MGR_NAME_ERROR",
    2102: "RESOURCE_PROBLEM",
    2162: "Q_MGR_STOPPING",
    2273: "CONNECTION_ERROR",
    2393: "SSL_INITIALIZATION_ERROR",
    2537: "CHANNEL_NOT_AVAILABLE",
    2540: "UNKNOWN_CHANNEL_NAME",
}


def test_numbers_of_heartbeats() -> None:
    text = " ".join(PAGE.text().split())
    assert f"to measure the network, under request {channel_frames.HEARTBEAT_TIMED}." in text
    assert f"under request {channel_frames.HEARTBEAT_PAUSED} when it begins to wait" in text
    assert f"under request {channel_frames.HEARTBEAT_RESUMED} when it goes on" in text


def test_reasons() -> None:
    assert {int(each) for each in re.findall(r"\b2\d{3}\b", PAGE.text())} == set(REASONS)
    known = {name: getattr(constants, f"MQRC_{name}") for name in REASONS.values()}
    assert known == {name: reason for reason, name in REASONS.items()}
