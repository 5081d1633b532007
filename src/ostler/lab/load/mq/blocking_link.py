"""A client channel of Ostler frame by frame, over a blocking socket: for operations that no library offers.

Hundreds of conversations on one link, requests whose replies nobody reads, units of work put without an answer each.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Final

from ostler.lab.load.client import LoadFailed
from ostler.lab.load.link import CLOSED, Address, connect_socket
from ostler.lab.load.mq.client import hello_frame, link_answer
from ostler.lab.load.mq.frames import CONNECT_REQUEST, MqReader, failure
from ostler.model import constants as mq
from ostler.wire import connect_frames, frames, object_frames, payload_codec, replies

_APPLICATION: Final = "ostler-lab"
_SECONDS_MAX: Final = 30.0
_READ_BYTES: Final = 262_144
_OPEN_REQUEST: Final = 1
_ASKED: Final = 7
_AT_ONCE: Final = 100


class BlockingMqLink:
    """A link with connected conversations, numbered from 1. Raises LoadFailed, also when an answer does not come."""

    def __init__(
        self, address: Address, channel: str, conversations: int = 1, number: int = 0, seconds_max: float = _SECONDS_MAX
    ) -> None:
        """Connect. The `number` of a link determines its loopback address, in processes that have thousands."""
        self.sock = connect_socket(address, number)
        self._reader = MqReader()
        try:
            self.sock.settimeout(seconds_max)
            self.send(hello_frame(channel, conversations))
            self._await_hello()
            for some in _in_groups(range(1, conversations + 1)):
                self.send(b"".join(_connect(each) for each in some))
                for _ in some:
                    self.reply(frames.CONNECT)
        except BaseException:
            self.sock.close()
            raise

    def send(self, data: bytes) -> None:
        try:
            self.sock.sendall(data)
        except TimeoutError:
            raise LoadFailed("the queue manager takes nothing more") from None
        except OSError:
            raise LoadFailed(CLOSED) from None

    def reply(self, kind: int) -> MqReader:
        """Return the next successful answer to a request of this kind, of any conversation; others are ignored."""
        while True:
            reader = self._frame()
            if reader.type in (frames.NOTICE, frames.FAREWELL):
                raise failure(reader.type, reader.buffer, reader.start, reader.end)
            if reader.type != kind | frames.REPLY:
                continue
            if reader.size == 0 or reader.buffer[reader.start] != mq.MQCC_OK:
                raise failure(reader.type, reader.buffer, reader.start, reader.end)
            return reader

    def ask(self, kind: int, conversation: int, payload: bytes = b"") -> MqReader:
        """Send a request, and return its answer."""
        self.send(frames.frame(kind, conversation, _ASKED, payload))
        return self.reply(kind)

    def open(self, queue: str, options: int, conversations: Sequence[int] = (1,)) -> dict[int, int]:
        """Open a queue in each of these conversations, and return the handles."""
        payload = object_frames.OpenArguments(mq.MQOT_Q, queue, options).encode()
        handles: dict[int, int] = {}
        for some in _in_groups(conversations):
            self.send(b"".join(frames.frame(frames.OPEN, each, _OPEN_REQUEST, payload) for each in some))
            for _ in some:
                reader = self.reply(frames.OPEN)
                replied = replies.decode_reply(reader.buffer, reader.start, reader.end)
                handles[reader.conversation] = object_frames.decode_open_reply(replied.reader).hobj
        return handles

    def leave(self) -> None:
        """Disconnect the first conversation and wait for the answer, then close."""
        try:
            self.ask(frames.DISCONNECT, 1, payload_codec.numbers_payload([1]))
        finally:
            self.close()

    def close(self) -> None:
        self.sock.close()

    def _await_hello(self) -> None:
        while True:
            reader = self._received()
            answer = link_answer(reader)
            if not answer:
                return
            self.send(answer)

    def _frame(self) -> MqReader:
        """Return the next frame of a conversation."""
        while True:
            reader = self._received()
            if reader.type != frames.HEARTBEAT:
                return reader
            self.send(link_answer(reader))

    def _received(self) -> MqReader:
        while not self._reader.next():
            try:
                data = self.sock.recv(_READ_BYTES)
            except TimeoutError:
                raise LoadFailed(f"the queue manager did not answer within {self.sock.gettimeout():.0f} s") from None
            except OSError:
                data = b""
            if not data:
                raise LoadFailed(CLOSED)
            self._reader.feed(data)
        return self._reader


def half_open(address: Address, number: int, first: bytes = b"") -> socket.socket:
    """Return a connected socket on which only these bytes are sent."""
    sock = connect_socket(address, number)
    try:
        if first:
            sock.send(first)
    except OSError:
        sock.close()
        raise
    return sock


def _in_groups(conversations: Sequence[int]) -> list[Sequence[int]]:
    """Yield as many conversations at a time that neither end blocks in sending."""
    return [conversations[at : at + _AT_ONCE] for at in range(0, len(conversations), _AT_ONCE)]


def _connect(conversation: int) -> bytes:
    connect = connect_frames.ConnectArguments()
    connect.application = _APPLICATION
    return frames.frame(frames.CONNECT, conversation, CONNECT_REQUEST, connect.encode())
