"""The link of an event loop against a peer that follows a script, byte by byte where that matters."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from ostler.client.link.link import LinkListener, check_reply
from ostler.client.link.loop_link import HIGH_WATER_BYTES, LoopLink
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.wire.connect_frames import Hello
from ostler.wire.frames import (
    CANCEL,
    COMMAND,
    COMMIT,
    FAREWELL,
    GET,
    HEARTBEAT,
    HELLO,
    NOTICE,
    OUTPUT,
    PUT,
    REPLY,
    FrameReader,
    frame,
)
from ostler.wire.replies import failure_frame, reason_payload, reply_frame
from ostler.wire.segments import frames_of

SECONDS_MAX = 60.0
SEGMENT_BYTES = 8192


class Peer:
    """The queue manager's end of a socket, played by the test."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self.end = end
        self._reader = FrameReader(1 << 30)

    async def send(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self.end, data)

    async def next(self) -> tuple[int, int, int, bytes, int]:
        """Type, conversation, request, payload and flags of the next frame."""
        reader = self._reader
        while not reader.next():
            data = await asyncio.get_running_loop().sock_recv(self.end, 1 << 16)
            assert data, "the client closed the connection"
            reader.feed(data)
        payload = reader.buffer[reader.start : reader.end]
        return int(reader.type), int(reader.conversation), int(reader.request), payload, int(reader.flags)

    async def expect(self, type: int) -> tuple[int, int, bytes]:
        found, conversation, request, payload, _ = await self.next()
        assert found == type
        return conversation, request, payload

    async def whole(self, type: int) -> tuple[int, int, bytes]:
        """A payload that may come in segments."""
        parts = b""
        while True:
            found, conversation, request, payload, flags = await self.next()
            assert found == type
            parts += payload
            if not flags:
                return conversation, request, parts


class Ear(LinkListener):
    def __init__(self) -> None:
        self.heard: list[tuple[int, str]] = []
        self.ends: list[MQError] = []

    def on_notice(self, reason: int, text: str) -> None:
        self.heard.append((reason, text))

    def on_link_broken(self, error: MQError) -> None:
        self.ends.append(error)


async def linked(agreed: Hello | None = None) -> tuple[LoopLink, Peer]:
    near, far = socket.socketpair()
    near.setblocking(False)
    loop = asyncio.get_running_loop()
    link = LoopLink(loop, "The peer")
    await loop.create_unix_connection(lambda: link, sock=near)
    peer = Peer(far)
    greeting = asyncio.create_task(link.negotiate(Hello("CHANNEL")))
    conversation, request, _ = await peer.expect(HELLO)
    assert (conversation, request) == (0, 1)
    if agreed is None:
        agreed = Hello("CHANNEL")
        agreed.segment_bytes = SEGMENT_BYTES
        agreed.message_bytes_max = 1 << 24
        agreed.conversations_max = 2
    await peer.send(frame(HELLO | REPLY, 0, 1, bytes(8) + agreed.encode()))
    await greeting
    return link, peer


def scripted(test: Callable[[LoopLink, Peer], Coroutine[Any, Any, None]]) -> None:
    async def script() -> None:
        async with asyncio.timeout(SECONDS_MAX):
            link, peer = await linked()
            try:
                await test(link, peer)
            finally:
                link.close()
                peer.end.close()

    asyncio.run(script())


def test_a_request_gets_its_reply_and_no_other() -> None:
    async def test(link: LoopLink, peer: Peer) -> None:
        one = link.attach(Ear())
        two = link.attach(Ear())
        assert (one, two) == (1, 2)
        assert link.attach(Ear()) is None
        first = asyncio.create_task(link.exchange(1, COMMIT))
        second = asyncio.create_task(link.exchange(2, COMMIT))
        asked = [await peer.expect(COMMIT) for _ in range(2)]
        assert [conversation for conversation, _, _ in asked] == [1, 2]
        for conversation, request, _ in reversed(asked):
            await peer.send(reply_frame(COMMIT, conversation, request, 1, 2000 + conversation))
        assert check_reply(await first).reason == 2001
        assert check_reply(await second).reason == 2002

    scripted(test)


def test_replies_in_single_bytes() -> None:
    async def test(link: LoopLink, peer: Peer) -> None:
        link.attach(Ear())
        waiting = asyncio.create_task(link.exchange(1, COMMIT))
        _, request, _ = await peer.expect(COMMIT)
        for byte in reply_frame(COMMIT, 1, request, 0, 0):
            await peer.send(bytes([byte]))
            await asyncio.sleep(0)
        assert await waiting == bytes(8)

    scripted(test)


def test_a_refusal_is_an_error_with_its_text() -> None:
    async def script() -> None:
        near, far = socket.socketpair()
        near.setblocking(False)
        loop = asyncio.get_running_loop()
        link = LoopLink(loop, "The peer")
        await loop.create_unix_connection(lambda: link, sock=near)
        peer = Peer(far)
        greeting = asyncio.create_task(link.negotiate(Hello("CHANNEL")))
        await peer.expect(HELLO)
        await peer.send(failure_frame(HELLO, 0, 1, 2, mq.MQRC_UNKNOWN_CHANNEL_NAME, "No such channel."))
        with pytest.raises(MQError) as caught:
            await greeting
        assert (caught.value.reason, caught.value.detail) == (mq.MQRC_UNKNOWN_CHANNEL_NAME, "No such channel.")
        assert link.failure is not None
        far.close()

    asyncio.run(script())


def test_large_payloads_go_both_ways_in_segments_and_let_others_in_between() -> None:
    body = bytes(range(256)) * 4096  # 1 MiB

    async def test(link: LoopLink, peer: Peer) -> None:
        link.attach(Ear())
        link.attach(Ear())
        large = asyncio.create_task(link.exchange(1, PUT, body))
        await asyncio.sleep(0)
        small = asyncio.create_task(link.exchange(2, COMMIT))
        parts: list[bytes] = []
        before = after = 0
        while True:
            type, conversation, request, payload, flags = await peer.next()
            if type == COMMIT:
                before = len(parts)
                await peer.send(reply_frame(COMMIT, conversation, request, 0, 0))
                continue
            parts.append(payload)
            if not flags:
                break
        after = len(parts)
        assert await small == bytes(8)
        assert b"".join(parts) == body
        assert all(len(part) <= SEGMENT_BYTES - 16 for part in parts)
        assert before < after
        for piece in frames_of(PUT | REPLY, 1, request, bytes(8) + body, SEGMENT_BYTES):
            await peer.send(piece)
        assert await large == bytes(8) + body

    scripted(test)


def test_requests_wait_while_the_socket_takes_no_more() -> None:
    async def test(link: LoopLink, peer: Peer) -> None:
        link.attach(Ear())
        payload = bytes(SEGMENT_BYTES - 16)
        count = 4 * HIGH_WATER_BYTES // SEGMENT_BYTES
        asking = [asyncio.create_task(link.exchange(1, PUT, payload)) for _ in range(count)]
        cancelled = asyncio.create_task(link.exchange(1, COMMIT))
        for _ in range(10):
            await asyncio.sleep(0)
        # It never asked: the socket was full all the time.
        cancelled.cancel()
        for _ in range(count):
            _, request, _ = await peer.expect(PUT)
            await peer.send(reply_frame(PUT, 1, request, 0, 0))
        assert await asyncio.gather(*asking) == [bytes(8)] * count
        last = asyncio.create_task(link.exchange(1, GET))
        await peer.expect(GET)
        last.cancel()

    scripted(test)


def test_heartbeats_are_answered_and_notices_passed_on() -> None:
    async def test(link: LoopLink, peer: Peer) -> None:
        one, two = Ear(), Ear()
        link.attach(one)
        link.attach(two)
        await peer.send(frame(HEARTBEAT, 0, 77))
        type, conversation, request, _, _ = await peer.next()
        assert (type, conversation, request) == (HEARTBEAT | REPLY, 0, 77)
        await peer.send(frame(NOTICE, 2, 0, reason_payload(mq.MQRC_CONNECTION_QUIESCING, "Soon.")))
        await peer.send(frame(NOTICE, 0, 0, reason_payload(mq.MQRC_Q_MGR_QUIESCING, "All.")))
        await peer.send(frame(HEARTBEAT, 0, 78))
        await peer.next()
        assert one.heard == [(mq.MQRC_Q_MGR_QUIESCING, "All.")]
        assert two.heard == [(mq.MQRC_CONNECTION_QUIESCING, "Soon."), (mq.MQRC_Q_MGR_QUIESCING, "All.")]

    scripted(test)


def test_what_comes_before_the_reply_is_passed_on() -> None:
    async def test(link: LoopLink, peer: Peer) -> None:
        link.attach(Ear())
        seen: list[tuple[int, bytes]] = []
        asked = await link.send_request(1, COMMAND, b"{}", lambda *heard: seen.append(heard))
        _, request, _ = await peer.expect(COMMAND)
        for piece in frames_of(OUTPUT, 1, request, b"x" * 20_000, SEGMENT_BYTES):
            await peer.send(piece)
        await peer.send(frame(OUTPUT, 1, request, b"last") + reply_frame(COMMAND, 1, request, 0, 0))
        assert await asked.reply() == bytes(8)
        assert seen == [(OUTPUT, b"x" * 20_000), (OUTPUT, b"last")]

    scripted(test)


def test_a_reply_that_was_not_waited_for_can_be_asked_for_again() -> None:
    async def test(link: LoopLink, peer: Peer) -> None:
        link.attach(Ear())
        asked = await link.send_request(1, GET, b"")
        waiting = asyncio.create_task(asked.reply())
        _, request, _ = await peer.expect(GET)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        link.send(1, CANCEL, b"1234")
        assert await peer.expect(CANCEL) == (1, 0, b"1234")
        await peer.send(reply_frame(GET, 1, request, 2, mq.MQRC_NO_MSG_AVAILABLE))
        assert int.from_bytes((await asked.reply())[4:8], "little") == mq.MQRC_NO_MSG_AVAILABLE

    scripted(test)


@pytest.mark.parametrize("says_farewell", [True, False])
def test_the_end_of_a_link_is_told_to_all(says_farewell: bool) -> None:
    async def test(link: LoopLink, peer: Peer) -> None:
        ear = Ear()
        link.attach(ear)
        waiting = asyncio.create_task(link.exchange(1, COMMIT))
        await peer.expect(COMMIT)
        if says_farewell:
            await peer.send(frame(FAREWELL, 0, 0, reason_payload(mq.MQRC_Q_MGR_STOPPING, "Good bye.")))
        peer.end.close()
        reason = mq.MQRC_Q_MGR_STOPPING if says_farewell else mq.MQRC_CONNECTION_BROKEN
        with pytest.raises(MQError) as caught:
            await waiting
        assert caught.value.reason == reason
        with pytest.raises(MQError) as caught:
            await link.exchange(1, COMMIT)
        assert caught.value.reason == reason
        assert [error.reason for error in ear.ends] == [reason]
        link.send(1, CANCEL, b"")

    scripted(test)


@pytest.mark.parametrize(
    "nonsense",
    [
        b"\xff" * 16,
        frame(COMMIT | REPLY, 1, 999, bytes(8)),
        frame(PUT, 1, 1, b""),
        frame(OUTPUT, 1, 999, b"{}"),
        frame(FAREWELL, 0, 0, b"\0"),
        frame(NOTICE, 0, 0, b""),
        frame(COMMIT, 1, 1)[:5] + b"\x80" + frame(COMMIT, 1, 1)[6:],
    ],
)
def test_nonsense_breaks_the_link(nonsense: bytes) -> None:
    async def test(link: LoopLink, peer: Peer) -> None:
        link.attach(Ear())
        waiting = asyncio.create_task(link.exchange(1, COMMIT))
        await peer.expect(COMMIT)
        await peer.send(nonsense)
        with pytest.raises(MQError) as caught:
            await waiting
        assert caught.value.reason == mq.MQRC_CONNECTION_BROKEN

    scripted(test)


def test_the_last_conversation_closes_the_link() -> None:
    async def test(link: LoopLink, peer: Peer) -> None:
        ear = Ear()
        one, two = link.attach(ear), link.attach(ear)
        assert one is not None
        assert two is not None
        link.detach(one)
        assert [link.failure] == [None]
        link.detach(two)
        assert link.failure is not None
        assert not ear.ends
        with pytest.raises(AssertionError, match="closed"):
            await peer.next()

    scripted(test)
