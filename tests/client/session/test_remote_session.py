"""Remote connections against a queue manager that answers wrongly: programs get an error, and nothing hangs."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

import ostler
from ostler.engine.message.message import PERSISTENCE_AT
from ostler.model import constants as mq
from ostler.wire.connect_frames import ConnectReply, decode_hello
from ostler.wire.frames import (
    CLOSE,
    COMMIT,
    CONNECT,
    DISCONNECT,
    GET,
    HELLO,
    INQUIRE,
    OPEN,
    PUT,
    REPLY,
    SETTLE,
    FrameReader,
    frame,
)
from ostler.wire.object_frames import OpenReply
from ostler.wire.put_get_frames import GOT_FIXED_BYTES, MD_BYTES
from ostler.wire.replies import failure_frame, reply_frame

SECONDS_MAX = 60.0
GOOD = bytes(8)


class WrongManager(threading.Thread):
    """Lets clients connect and open; all else is answered with what the test says, by type."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.replies: dict[int, bytes] = {}
        self.series: dict[int, list[bytes]] = {}  # one after the other, before those
        self.start()

    @property
    def address(self) -> str:
        return f"127.0.0.1({self._server.getsockname()[1]})"

    def stop(self) -> None:
        self._server.close()

    def run(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        reader = FrameReader(1 << 30)
        with suppress(OSError), client:
            while data := client.recv(1 << 16):
                reader.feed(data)
                while reader.next():
                    payload = reader.buffer[reader.start : reader.end]
                    answer = self._answer(int(reader.type), payload)
                    if reader.request and answer is not None:
                        client.sendall(frame(reader.type | REPLY, reader.conversation, reader.request, answer))

    def _answer(self, kind: int, payload: bytes) -> bytes | None:
        if self.series.get(kind):
            return self.series[kind].pop(0)
        if kind in self.replies:
            return self.replies[kind]
        if kind == HELLO:
            return GOOD + decode_hello(payload).encode()
        if kind == CONNECT:
            told = ConnectReply()
            told.queue_manager = "WRONG"
            return GOOD + told.encode()
        if kind == OPEN:
            opened = OpenReply()
            opened.hobj = 2
            opened.name = "Q1"
            return GOOD + opened.encode()
        return GOOD if kind in (DISCONNECT, CLOSE, SETTLE, COMMIT) else None


@pytest.fixture
def manager() -> Iterator[WrongManager]:
    made = WrongManager()
    yield made
    made.stop()


def got(block_bytes: int, body: bytes) -> bytes:
    """A message with a length of its properties that need not be true."""
    return GOOD + bytes(24) + block_bytes.to_bytes(4, "little", signed=True) + bytes(MD_BYTES) + body


@pytest.mark.parametrize(
    ("kind", "reply"),
    [
        (PUT, b""),
        (PUT, b"\0\0\0"),
        (PUT, GOOD),
        (PUT, GOOD + bytes(MD_BYTES - 1)),
        (GET, b""),
        (GET, bytes(7)),
        (GET, GOOD + bytes(GOT_FIXED_BYTES - 9)),
        (GET, got(-1, b"x")),
        (GET, got(1000, b"x")),
        (INQUIRE, GOOD),
        (INQUIRE, GOOD + b"\xff\xff\xff\xff"),
        (INQUIRE, GOOD + bytes(4) + b"\1\0\0\0\xff\xff\xff\x7f"),
    ],
)
@pytest.mark.parametrize("flavour", ["threads", "tasks"])
def test_a_wrong_reply_is_an_error(manager: WrongManager, kind: int, reply: bytes, flavour: str) -> None:
    manager.replies[kind] = reply

    def blocking() -> object:
        with ostler.connect("", manager.address, channel="C") as qm, qm.open("Q1") as queue:
            if kind == PUT:
                return queue.put("x")
            return queue.get() if kind == GET else queue.depth

    async def awaited() -> object:
        async with asyncio.timeout(SECONDS_MAX):
            async with await ostler.aio.connect("", manager.address, channel="C") as qm, await qm.open("Q1") as queue:
                if kind == PUT:
                    return await queue.put("x")
                return await queue.get() if kind == GET else await queue.depth()

    with pytest.raises(ostler.MQError) as caught:
        _ = blocking() if flavour == "threads" else asyncio.run(awaited())
    assert caught.value.reason == mq.MQRC_CONNECTION_BROKEN


@pytest.mark.parametrize("kind", [HELLO, CONNECT, OPEN])
@pytest.mark.parametrize("reply", [b"", GOOD, GOOD + b"nonsense", b"\2\0\0\0\x22\x08\0\0because"])
@pytest.mark.parametrize("flavour", ["threads", "tasks"])
def test_a_wrong_beginning_is_an_error(manager: WrongManager, kind: int, reply: bytes, flavour: str) -> None:
    manager.replies[kind] = reply

    def blocking() -> None:
        ostler.connect("", manager.address, channel="C").open("Q1")

    async def awaited() -> None:
        async with asyncio.timeout(SECONDS_MAX):
            qm = await ostler.aio.connect("", manager.address, channel="C")
            await qm.open("Q1")

    with pytest.raises(ostler.MQError) as caught:
        blocking() if flavour == "threads" else asyncio.run(awaited())
    if reply.endswith(b"because"):
        assert (caught.value.reason, caught.value.detail) == (2082, "because")


def test_failures_come_with_their_texts(manager: WrongManager) -> None:
    manager.replies[PUT] = failure_frame(PUT, 1, 1, 2, mq.MQRC_Q_FULL, "Full up.")[16:]
    manager.replies[GET] = reply_frame(GET, 1, 1, 2, mq.MQRC_NO_MSG_AVAILABLE)[16:]
    with ostler.connect("", manager.address, channel="C") as qm, qm.open("Q1") as queue:
        assert queue.get(wait=1) is None
        with pytest.raises(ostler.MQError) as caught:
            queue.put("x")
        assert (caught.value.reason, caught.value.detail) == (mq.MQRC_Q_FULL, "Full up.")


def persistent(body: bytes) -> bytes:
    md = bytearray(MD_BYTES)
    md[PERSISTENCE_AT] = mq.MQPER_PERSISTENT
    return GOOD + bytes(28) + bytes(md) + body


def failed(kind: int, reason: int) -> bytes:
    return reply_frame(kind, 1, 1, mq.MQCC_FAILED, reason)[16:]


@pytest.mark.parametrize("flavour", ["threads", "tasks"])
@pytest.mark.parametrize("reason", [0, mq.MQRC_BACKED_OUT, mq.MQRC_CONNECTION_STOPPING])
def test_a_message_counts_when_the_queue_manager_has_confirmed_its_removal(
    manager: WrongManager, reason: int, flavour: str
) -> None:
    manager.series[GET] = [persistent(b"first"), persistent(b"second")]
    manager.series[SETTLE] = [failed(SETTLE, reason)] if reason else []
    manager.replies[GET] = failed(GET, mq.MQRC_NO_MSG_AVAILABLE)

    def blocking() -> list[bytes | str]:
        with ostler.connect("", manager.address, channel="C") as qm, qm.open("Q1") as queue:
            return [message.body for message in queue]

    async def awaited() -> list[bytes | str]:
        async with asyncio.timeout(SECONDS_MAX):
            async with await ostler.aio.connect("", manager.address, channel="C") as qm, await qm.open("Q1") as queue:
                return [message.body async for message in queue]

    if reason == mq.MQRC_CONNECTION_STOPPING:
        with pytest.raises(ostler.MQError) as caught:
            _ = blocking() if flavour == "threads" else asyncio.run(awaited())
        assert caught.value.reason == reason
        return
    bodies = blocking() if flavour == "threads" else asyncio.run(awaited())
    assert bodies == ([b"first", b"second"] if reason == 0 else [b"second"])
