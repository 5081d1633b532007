"""The page of the wire protocol says what the code does: types, offsets, flags, limits."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from types import ModuleType

import pytest
from tests.docs.protocol_page import ProtocolPage, number, value, walk

import ostler.testing
from ostler.engine import get as getting
from ostler.engine.selectors import selector
from ostler.engine.selectors import tokens as selector_tokens
from ostler.model import constants
from ostler.model.structures.md import MQMD
from ostler.server.net import link as server_link
from ostler.server.net import link_limits, reactor
from ostler.server.verbs import consume as looks
from ostler.wire import (
    connect_frames,
    frames,
    object_frames,
    payload_codec,
    put_get_frames,
    replies,
    segments,
    subscribe_frames,
)
from ostler.wire.server_names import SUFFIX, server_name

PAGE = ProtocolPage(Path(__file__).resolve().parents[2] / "docs" / "reference" / "wire-protocol.md")

pytestmark = pytest.mark.skipif(not PAGE.path.exists(), reason="the documentation is not beside the tests")

MD = bytes(range(256)) + bytes(range(108))
NAMES = b"RESOLVED.QUEUE".ljust(48) + b"RESOLVED.MANAGER".ljust(48)
BLOCK = b"\1 some properties"
REPLY = b"\1\0\0\0\7\0\0\0"


# -- samples of every payload ------------------------------------------------------------------------------------------


def hello() -> connect_frames.Hello:
    made = connect_frames.Hello("TO.QM1")
    made.version, made.segment_bytes, made.message_bytes_max = 11, 12, 13
    made.heartbeat_seconds, made.conversations_max = 14, 15
    return made


HELLO_FIELDS: dict[str, object] = {
    "magic": frames.MAGIC,
    "version": 11,
    "segment bytes": 12,
    "message bytes max": 13,
    "heartbeat seconds": 14,
    "conversations max": 15,
    "channel": "TO.QM1",
}
CODES: dict[str, object] = {"completion": 1, "reason": 7}


def connect() -> bytes:
    made = connect_frames.ConnectArguments()
    made.options, made.application_type, made.queue_manager = 1, 2, "QM1"
    made.application, made.user, made.password = "the application", "fred", "secret"
    return made.encode()


def connected() -> bytes:
    made = connect_frames.ConnectReply()
    made.connection_id, made.queue_manager, made.ccsid = bytes(range(24)), "QM1", 1208
    made.message_bytes_max, made.handles_max, made.user = 3, 4, "fred"
    return REPLY + made.encode()


def target() -> object_frames.OpenArguments:
    made = object_frames.OpenArguments(1, "QUEUE", 2)
    made.manager_name, made.dynamic_name, made.alternate_user = "MANAGER", "DYNAMIC", "mary"
    made.selection, made.object_string = "a > 1", "a/b"
    return made


TARGET_FIELDS: dict[str, object] = {
    "object type": 1,
    "name": "QUEUE",
    "manager name": "MANAGER",
    "dynamic name": "DYNAMIC",
    "alternate user": "mary",
    "selection": "a > 1",
    "object string": "a/b",
}


def opened() -> bytes:
    made = object_frames.OpenReply()
    made.hobj, made.flags, made.object_type, made.name = 2, 3, 4, "QUEUE"
    made.resolved_names, made.default_persistence, made.default_priority = NAMES, 5, 6
    made.backout_threshold, made.backout_queue = 8, "BACKOUT"
    made.object_string = "a/b"
    return REPLY + made.encode()


def subscribe() -> bytes:
    made = subscribe_frames.SubscribeArguments(1)
    made.destination, made.expiry, made.priority, made.level = 2, 3, 4, 5
    made.object_name, made.alternate_user, made.application_data = "TOPIC", "mary", "identity"
    made.correlation_id, made.accounting_token = b"C" * 24, b"T" * 32
    made.topic_string, made.name, made.user_data, made.selection = "a/b", "the name", "mine", "a > 1"
    return made.encode()


def subscribed() -> bytes:
    made = subscribe_frames.SubscribeReply()
    made.hsub, made.options, made.expiry, made.priority, made.level = 2, 1, 3, 4, 5
    made.correlation_id, made.accounting_token, made.application_data = b"C" * 24, b"T" * 32, "identity"
    made.topic, made.name, made.user_data, made.selection = "a/b", "the name", "mine", "a > 1"
    return REPLY + made.encode()


SUBSCRIPTION_FIELDS: dict[str, object] = {
    "options": 1,
    "expiry": 3,
    "priority": 4,
    "level": 5,
    "correlation id": b"C" * 24,
    "accounting token": b"T" * 32,
    "application data": "identity",
    "name": "the name",
    "user data": "mine",
    "selection": "a > 1",
}


def put_status() -> bytes:
    made = object_frames.StatusReply()
    made.succeeded, made.warned, made.failed, made.completion, made.reason = 1, 2, 3, 4, 5
    made.object_type, made.object_name, made.object_string = 6, "QUEUE", "a/b"
    return REPLY + made.encode()


def get() -> bytes:
    message, correlation, group = (bytes([fill]) * 24 for fill in (9, 10, 11))
    return put_get_frames.get_payload(1, 2, 3, 4, 5, 6, 7, 8, message, correlation, group, 12, 13, b"T" * 16, b"a > 1")


def got() -> bytes:
    return put_get_frames.get_reply_head(1, 7, 2, 3, 4, 5, b"T" * 16, BLOCK, MD) + b"data"


def inquired() -> bytes:
    """As the queue manager's INQUIRE reply is put together."""
    numbers = b"".join(each.to_bytes(4, "little") for each in (2, 8, 9, 2, 3))
    return REPLY + numbers + b"abc" + (1).to_bytes(4, "little") + b"d"


LAYOUTS: dict[str, tuple[bytes, dict[str, object]]] = {
    "**HELLO**": (hello().encode(), HELLO_FIELDS),
    "**HELLO reply**": (REPLY + hello().encode(), {**CODES, **HELLO_FIELDS}),
    "**CONNECT** ": (
        connect(),
        {
            "options": 1,
            "application type": 2,
            "queue manager": "QM1",
            "application": "the application",
            "user": "fred",
            "password": "secret",
        },
    ),
    "**CONNECT reply**": (
        connected(),
        {
            **CODES,
            "connection id": bytes(range(24)),
            "queue manager": "QM1",
            "ccsid": 1208,
            "message bytes max": 3,
            "handles max": 4,
            "user": "fred",
        },
    ),
    "**DISCONNECT**": (payload_codec.numbers_payload([1]), {"commits": 1}),
    "**OPEN**": (target().encode(), {**TARGET_FIELDS, "options": 2}),
    "**OPEN reply**": (
        opened(),
        {
            **CODES,
            "handle": 2,
            "flags": 3,
            "object type": 4,
            "name": "QUEUE",
            "resolved names": NAMES,
            "default persistence": 5,
            "default priority": 6,
            "backout threshold": 8,
            "backout queue": "BACKOUT",
            "object string": "a/b",
        },
    ),
    "**CLOSE**": (payload_codec.numbers_payload([2, 1]), {"handle": 2, "options": 1}),
    "**INQUIRE, SET**": (
        object_frames.InquireArguments(2, [3, 4], [5], b"characters").encode(),
        {
            "handle": 2,
            "selector count": 2,
            "selectors": b"\3\0\0\0\4\0\0\0",
            "integer count": 1,
            "integers": b"\5\0\0\0",
            "characters": b"\x0a\0\0\0characters",
        },
    ),
    "**INQUIRE reply**": (
        inquired(),
        {
            **CODES,
            "integer count": 2,
            "integers": b"\x08\0\0\0\x09\0\0\0",
            "text count": 2,
            "texts": b"\3\0\0\0abc\1\0\0\0d",
        },
    ),
    "**PUT**": (
        put_get_frames.put_payload(1, 2, 3, MD, BLOCK, b"data"),
        {
            "handle": 1,
            "options": 2,
            "context handle": 3,
            "property bytes": len(BLOCK),
            "md": MD,
            "properties": BLOCK,
            "data": b"data",
        },
    ),
    "**PUT reply**": (
        put_get_frames.put_reply_frame(1, 1, 1, 7, MD)[frames.HEADER_BYTES :],
        {**CODES, "md": MD},
    ),
    "**PUT1**": (
        object_frames.Put1Arguments(target(), 3, 4, MD, BLOCK, b"data").encode(),
        {
            **TARGET_FIELDS,
            "object options": 2,
            "options": 3,
            "context handle": 4,
            "md": MD,
            "properties": len(BLOCK).to_bytes(4, "little") + BLOCK,
            "data": b"data",
        },
    ),
    "**PUT1 reply**": (REPLY + MD + NAMES, {**CODES, "md": MD, "resolved names": NAMES}),
    "**STATUS**": (
        put_status(),
        {
            **CODES,
            "succeeded": 1,
            "warned": 2,
            "failed": 3,
            "first completion": 4,
            "first reason": 5,
            "object type": 6,
            "object name": "QUEUE",
            "object string": "a/b",
        },
    ),
    "**GET**": (
        get(),
        {
            "handle": 1,
            "options": 2,
            "wait ms": 3,
            "match": 4,
            "buffer bytes": 5,
            "encoding": 6,
            "ccsid": 7,
            "flags": 8,
            "message id": b"\x09" * 24,
            "correlation id": b"\x0a" * 24,
            "group id": b"\x0b" * 24,
            "sequence number": 12,
            "offset": 13,
            "token": b"T" * 16,
            "selector bytes": 5,
            "selector": b"a > 1",
        },
    ),
    "**GET reply, MESSAGE**": (
        got(),
        {
            **CODES,
            "message bytes": 2,
            "group status": 3,
            "segment status": 4,
            "segmentation": 5,
            "blank": b" ",
            "token": b"T" * 16,
            "property bytes": len(BLOCK),
            "md": MD,
            "properties": BLOCK,
            "data": b"data",
        },
    ),
    "**SETTLE**": (payload_codec.numbers_payload([9, 1]), {"request": 9, "keeps": 1}),
    "**GET_ANY**": (
        put_get_frames.get_any_payload(100, [get(), get()]),
        {"wait ms": 100, "get count": 2, "gets": get() + get()},
    ),
    "**GET_ANY reply**": (
        got()[:8] + b"\1\0\0\0" + got()[8:],
        {**CODES, "index": 1, "message": got()[8:]},
    ),
    "**STREAM**": (payload_codec.numbers_payload([100]) + get(), {"credit": 100, "get": get()}),
    "**CREDIT**": (payload_codec.numbers_payload([7, 50]), {"request": 7, "credit": 50}),
    "**SUBSCRIBE**": (
        subscribe(),
        {
            **SUBSCRIPTION_FIELDS,
            "destination": 2,
            "object name": "TOPIC",
            "alternate user": "mary",
            "topic string": "a/b",
        },
    ),
    "**SUBSCRIBE reply**": (
        subscribed(),
        {
            **CODES,
            **SUBSCRIPTION_FIELDS,
            "handle": 2,
            "topic": "a/b",
            "destination": object_frames.OpenReply().encode(1),
        },
    ),
    "**SUBSCRIPTION_REQUEST**": (
        payload_codec.numbers_payload([2, 1, 3]),
        {"handle": 2, "action": 1, "options": 3},
    ),
    "**SUBSCRIPTION_REQUEST reply**": (
        REPLY + payload_codec.numbers_payload([9]),
        {**CODES, "publications": 9},
    ),
    "**PUBLISH, PUBLISH1**": (
        put_get_frames.publish_payload(7, 1, 2, 3, MD, BLOCK, b"data"),
        {"publication level": 7, "put": put_get_frames.put_payload(1, 2, 3, MD, BLOCK, b"data")},
    ),
    "**COUNT_CALL**": (
        payload_codec.numbers_payload([1, 256, 2, 1]),
        {"call": 1, "operation": 256, "handle": 2, "done": 1},
    ),
    "**NOTICE** and **FAREWELL**": (
        replies.reason_payload(2009, "The end."),
        {"reason": 2009, "words": "The end."},
    ),
}


@pytest.mark.parametrize("title", LAYOUTS)
def test_a_payload_is_laid_out_as_the_page_says(title: str) -> None:
    payload, expected = LAYOUTS[title]
    read = walk(PAGE.layout(title), payload)
    assert {field: value(read[field], expected.get(field)) for field in read} == expected


def test_every_layout_of_the_page_is_held_against_the_code() -> None:
    titles = PAGE.layouts()
    known = [*LAYOUTS, "A link carries frames", "Every reply begins"]
    assert [title for title in titles if not title.startswith(tuple(known))] == []
    assert len(titles) == len(known)


def test_the_header() -> None:
    made = segments.segment(frames.PUT, 0x01020304, 0x05060708, True, b"")
    expected = {
        "length": frames.HEADER_BYTES,
        "type": frames.PUT,
        "flags": frames.MORE,
        "reserved": 0,
        "conversation": 0x01020304,
        "request": 0x05060708,
    }
    read = walk(PAGE.layout("A link carries frames"), made)
    assert {field: number(data) for field, data in read.items()} == expected


def test_what_every_reply_begins_with() -> None:
    made = replies.reply_frame(frames.COMMIT, 1, 1, 1, 7)[frames.HEADER_BYTES :]
    read = walk(PAGE.layout("Every reply begins"), made)
    assert {field: number(data) for field, data in read.items()} == CODES
    assert made[: replies.REPLY_FIXED_BYTES] == REPLY


@pytest.mark.parametrize(
    ("title", "prefix"), [("**PUT**", "PUT_"), ("**GET**", "GET_"), ("**GET reply, MESSAGE**", "GOT_")]
)
def test_fixed_offsets_are_those_the_server_reads_at(title: str, prefix: str) -> None:
    """What the queue manager reads and writes by offset, not only what a client encodes."""
    offsets = {int(row[0]) for row in PAGE.layout(title) if row[0] != "then"}
    names = [name for name in vars(put_get_frames) if name.startswith(prefix)]
    assert len(names) > 5
    assert {getattr(put_get_frames, name) for name in names} <= offsets


# -- what the queue manager answers ------------------------------------------------------------------------------------


class Talk:
    """A client that knows only the page: it sends frames, and reads replies as the tables say."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, 30)
        self.reader = frames.FrameReader(frames.SEGMENT_BYTES)
        self.request = 0

    def ask(self, kind: int, conversation: int, payload: bytes) -> bytes:
        self.request += 1
        self.socket.sendall(frames.frame(kind, conversation, self.request, payload))
        reader = self.reader
        while not reader.next():
            reader.feed(self.socket.recv(65536))
        assert (reader.type, reader.conversation, reader.request) == (kind | frames.REPLY, conversation, self.request)
        return reader.buffer[reader.start : reader.end]


def test_a_real_queue_manager_answers_as_the_page_says() -> None:
    with ostler.testing.queue_manager(mqsc="DEFINE QLOCAL(Q1) DESCR('a queue')") as running:
        talk = Talk((running.host, running.port))
        with talk.socket:
            _talk(talk, running.channel, running.name)


def _talk(talk: Talk, channel: str, manager: str) -> None:
    agreed = walk(PAGE.layout("**HELLO reply**"), talk.ask(frames.HELLO, 0, connect_frames.Hello(channel).encode()))
    assert value(agreed["channel"], channel) == channel
    told = walk(
        PAGE.layout("**CONNECT reply**"), talk.ask(frames.CONNECT, 5, connect_frames.ConnectArguments().encode())
    )
    assert value(told["queue manager"], manager) == manager
    asked = object_frames.OpenArguments(1, "Q1", 0x10 | 0x20 | 0x2)
    found = walk(PAGE.layout("**OPEN reply**"), talk.ask(frames.OPEN, 5, asked.encode()))
    assert value(found["name"], "Q1") == "Q1"
    handle = number(found["handle"])
    selectors = [constants.MQIA_CURRENT_Q_DEPTH, constants.MQCA_Q_DESC]
    answer = talk.ask(frames.INQUIRE, 5, object_frames.InquireArguments(handle, selectors, [], b"").encode())
    inquired = walk(PAGE.layout("**INQUIRE reply**"), answer)
    assert (number(inquired["integers"]), inquired["texts"][4:].rstrip()) == (0, b"a queue")
    md = bytes(MQMD.default(2))
    put = walk(
        PAGE.layout("**PUT reply**"), talk.ask(frames.PUT, 5, put_get_frames.put_payload(handle, 0, 0, md, b"", b"one"))
    )
    assert put["md"][:4] == b"MD  "
    put1 = object_frames.Put1Arguments(object_frames.OpenArguments(1, "Q1", 0), 0, 0, md, b"", b"two").encode()
    assert walk(PAGE.layout("**PUT1 reply**"), talk.ask(frames.PUT1, 5, put1))["resolved names"][:3] == b"Q1 "
    none, zero = bytes(16), bytes(24)
    wanted = put_get_frames.get_payload(handle, 0, 0, 0, 100, 546, 1208, 0, zero, zero, zero, 1, 0, none, b"")
    assert walk(PAGE.layout("**GET reply, MESSAGE**"), talk.ask(frames.GET, 5, wanted))["data"] == b"one"
    looked = talk.ask(frames.GET_ANY, 5, put_get_frames.get_any_payload(0, [wanted]))
    assert walk(PAGE.layout("**GET_ANY reply**"), looked)["message"].endswith(b"two")
    _talk_of_topics(talk, md)
    walk(PAGE.layout("**STATUS**"), talk.ask(frames.STATUS, 5, payload_codec.numbers_payload([0])))
    for kind, payload in ((frames.COMMIT, b""), (frames.DISCONNECT, payload_codec.numbers_payload([1]))):
        walk(PAGE.layout("Every reply begins"), talk.ask(kind, 5, payload))
    walk(PAGE.layout("Every reply begins"), talk.ask(frames.HEARTBEAT, 0, b""))


def _talk_of_topics(talk: Talk, md: bytes) -> None:
    asked = subscribe_frames.SubscribeArguments(constants.MQSO_CREATE | constants.MQSO_MANAGED)
    asked.topic_string = "a/#"
    made = walk(PAGE.layout("**SUBSCRIBE reply**"), talk.ask(frames.SUBSCRIBE, 5, asked.encode()))
    assert value(made["topic"], "a/#") == "a/#"
    topic = object_frames.OpenArguments(constants.MQOT_TOPIC, "", constants.MQOO_OUTPUT)
    topic.object_string = "a/b"
    found = walk(PAGE.layout("**OPEN reply**"), talk.ask(frames.OPEN, 5, topic.encode()))
    assert value(found["object string"], "a/b") == "a/b"
    put = put_get_frames.publish_payload(5, number(found["handle"]), constants.MQPMO_RETAIN, 0, md, b"", b"one")
    assert walk(PAGE.layout("**PUT reply**"), talk.ask(frames.PUBLISH, 5, put))["completion"] == bytes(4)
    put1 = payload_codec.numbers_payload([5]) + object_frames.Put1Arguments(topic, 0, 0, md, b"", b"two").encode()
    assert walk(PAGE.layout("**PUT1 reply**"), talk.ask(frames.PUBLISH1, 5, put1))["completion"] == bytes(4)
    request = payload_codec.numbers_payload([number(made["handle"]), 1, 0])
    answer = walk(PAGE.layout("**SUBSCRIPTION_REQUEST reply**"), talk.ask(frames.SUBSCRIPTION_REQUEST, 5, request))
    assert number(answer["publications"]) == 1


# -- numbers -----------------------------------------------------------------------------------------------------------


def test_every_type_of_frame() -> None:
    """Those of message channels, and those between copies of a queue manager, have pages of their own."""
    told = {row[0]: int(row[1]) for row in PAGE.table("type", "number", "sent by")}
    of_clients = [each for each in frames.TYPE_NAMES.items() if each[0] < frames.REPLICA_HELLO]
    there = {name: kind for kind, name in of_clients if not name.startswith("CHANNEL_")}
    assert told == there
    assert {name: getattr(frames, name) for name in there} == told
    assert f"the type of its request + {frames.REPLY} |" in PAGE.text()


@pytest.mark.parametrize(("index", "module"), [(0, object_frames), (1, put_get_frames)], ids=["OPEN", "GET"])
def test_flags(index: int, module: ModuleType) -> None:
    rows = [rows[1:] for _, rows in PAGE.tables() if rows[0][:2] == ["flag", "value"]][index]
    assert len(rows) >= 5
    assert {row[0]: int(row[1]) for row in rows} == {row[0]: getattr(module, row[0]) for row in rows}


LIMITS: dict[str, list[int]] = {
    "first frame": [frames.FIRST_FRAME_BYTES_MAX],
    "frame": [frames.SEGMENT_BYTES],
    "shortest agreed frame": [frames.SEGMENT_BYTES_MIN],
    "longest agreed frame": [frames.SEGMENT_BYTES_MAX],
    "message": [frames.MESSAGE_BYTES_MAX],
    "payload beyond the message": [frames.PAYLOAD_OVERHEAD_BYTES],
    "selector": [put_get_frames.SELECTOR_BYTES_MAX, object_frames.SELECTION_BYTES_MAX],
    "selector words": [selector_tokens.TOKENS_MAX],
    "selector cost": [selector.COST_MAX],
    "selectors that wait": [getting.SELECTOR_BYTES_MAX],
    "topic": [subscribe_frames.TOPIC_BYTES_MAX],
    "user": [connect_frames.USER_BYTES_MAX, connect_frames.PASSWORD_BYTES_MAX],
    "attributes": [object_frames.ATTRIBUTES_MAX],
    "characters": [object_frames.CHARACTERS_MAX],
    "consumers": [put_get_frames.CONSUMERS_MAX],
    "credit": [looks._CREDIT_MAX],
    "waiting": [link_limits.PENDING_MAX],
    "partial payloads": [server_link._PARTIAL_PAYLOADS_MAX],
    "memory": [reactor.LINK_MEMORY_BYTES_MAX],
    "progress": [link_limits.PROGRESS_BYTES],
    "hello timeout": [link_limits.HELLO_TIMEOUT_MS],
    "admission timeout": [link_limits.ADMISSION_TIMEOUT_MS],
    "frame before admission": [link_limits.UNADMITTED_FRAME_BYTES],
    "heartbeat timeout": [link_limits.HEARTBEAT_TIMEOUT_MS],
    "farewell timeout": [link_limits.FAREWELL_TIMEOUT_MS],
    "high water": [link_limits.OUT_HIGH_BYTES],
    "low water": [link_limits.OUT_LOW_BYTES],
    "high water in segments": [link_limits.LARGE_HIGH_BYTES],
}


def test_limits() -> None:
    told = PAGE.limits()
    assert set(told) == set(LIMITS)
    assert {name: [told[name]] * len(values) for name, values in LIMITS.items()} == LIMITS


def test_the_version_and_the_magic() -> None:
    text = PAGE.text()
    assert f"a queue manager, version {frames.PROTOCOL_VERSION}." in text
    assert [int(row[0]) for row in PAGE.table("version", "added")] == [*range(1, frames.PROTOCOL_VERSION + 1)]
    assert (subscribe_frames.SUBSCRIPTIONS_VERSION, connect_frames.KEY_RESET_VERSION) == (2, 3)
    assert (subscribe_frames.COUNT_CALL_VERSION, connect_frames.LIFE_VERSION) == (3, 4)
    assert frames.PROTOCOL_VERSION == connect_frames.TAG_VERSION
    assert f"`{frames.MAGIC.decode()}`" in text


def test_the_channel_in_sni() -> None:
    text = PAGE.text()
    assert f"`TO.QM1` is `{server_name('TO.QM1')}`" in text
    assert f"`{SUFFIX}` follows" in text


REASONS = {
    2003: "BACKED_OUT",
    2009: "CONNECTION_BROKEN",
    2018: "HCONN_ERROR",
    2024: "SYNCPOINT_LIMIT_REACHED",
    2025: "MAX_CONNS_LIMIT_REACHED",
    2033: "NO_MSG_AVAILABLE",
    2046: "OPTIONS_ERROR",
    2071: "STORAGE_NOT_AVAILABLE",
    2121: "NO_EXTERNAL_PARTICIPANTS",
    2162: "Q_MGR_STOPPING",
    2195: "UNEXPECTED_ERROR",
    2202: "CONNECTION_QUIESCING",
    2218: "MSG_TOO_BIG_FOR_CHANNEL",
    2273: "CONNECTION_ERROR",
    2298: "FUNCTION_NOT_SUPPORTED",
    2393: "SSL_INITIALIZATION_ERROR",
    2537: "CHANNEL_NOT_AVAILABLE",
    2540: "UNKNOWN_CHANNEL_NAME",
}


def test_reasons() -> None:
    told = {int(each) for each in re.findall(r"\b2\d{3}\b", PAGE.text())}
    assert told == set(REASONS)
    known = {name: getattr(constants, f"MQRC_{name}") for name in REASONS.values()}
    assert known == {name: reason for reason, name in REASONS.items()}
