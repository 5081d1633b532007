"""Asking a running queue manager to do something, over its local socket: MQSC, status, its end.

for reply in control(directory, "mqsc", text="DISPLAY QMGR"):
    print(reply["line"])
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Final

from ostler.model.constants import MQCC_FAILED, MQRC_CONNECTION_BROKEN, MQRC_UNEXPECTED_ERROR
from ostler.model.errors import MQError
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.net.local_socket import connect_local
from ostler.wire.connect_frames import Hello, decode_hello
from ostler.wire.frames import (
    COMMAND,
    FAREWELL,
    HEARTBEAT,
    HELLO,
    MESSAGE_BYTES_MAX,
    MORE,
    NOTICE,
    OUTPUT,
    REPLY,
    FrameReader,
    MalformedFrame,
    frame,
)
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.replies import decode_reason, decode_reply
from ostler.wire.segments import IncomingPayload, frames_of

Reply = dict[str, object]

_HELLO_REQUEST: Final = 1
_COMMAND_REQUEST: Final = 2
_RECEIVE_BYTES: Final = 65_536
_CONNECT_SECONDS: Final = 10.0


class NotRunningError(Exception):
    """Nobody listens on the queue manager's local socket."""

    def __init__(self, name: str) -> None:
        super().__init__(f"queue manager {name} is not running")
        self.name = name

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.name,)


def control(directory: QueueManagerDirectory, action: str, **arguments: object) -> Iterator[Reply]:
    """Ask for an action; yields each reply as it comes, the last one included.

    Raises NotRunningError when nobody listens, and MQError when the action is refused or the queue manager goes away.
    Whoever stops iterating breaks the connection, and with it the action.
    """
    try:
        link = connect_local(directory, _CONNECT_SECONDS)
    except (FileNotFoundError, ConnectionRefusedError):
        raise NotRunningError(directory.name) from None
    except OSError as error:
        raise MQError(MQRC_CONNECTION_BROKEN, f"Queue manager {directory.name} cannot be reached: {error}.") from error
    return _Exchange(link, directory.name).run({"action": action, **arguments})


class _Exchange:
    """One request on a connection of its own."""

    def __init__(self, link: socket.socket, name: str) -> None:
        self._link = link
        self._name = name
        self._reader = FrameReader()
        self._payload_bytes_max = 0
        self._assembly: IncomingPayload | None = None

    def run(self, request: Reply) -> Iterator[Reply]:
        try:
            agreed = self._agree()
            payload = json.dumps(request).encode()
            for piece in frames_of(COMMAND, 0, _COMMAND_REQUEST, payload, agreed.segment_bytes):
                self._link.sendall(piece)
            yield from self._replies()
        except MalformedFrame as error:
            raise MQError(MQRC_UNEXPECTED_ERROR, f"Queue manager {self._name} answered nonsense: {error}.") from error
        except OSError as error:
            raise MQError(MQRC_CONNECTION_BROKEN, f"The connection to {self._name} broke: {error}.") from error
        finally:
            self._link.close()

    def _agree(self) -> Hello:
        """Say HELLO, and take over what the queue manager makes of the link."""
        wishes = Hello()
        wishes.message_bytes_max = MESSAGE_BYTES_MAX
        self._link.settimeout(_CONNECT_SECONDS)
        self._link.sendall(frame(HELLO, 0, _HELLO_REQUEST, wishes.encode()))
        kind, payload = self._next()
        self._link.settimeout(None)
        if kind != HELLO | REPLY:
            raise MalformedFrame(f"frame type {kind} instead of an answer to HELLO")
        answer = decode_reply(payload)
        if answer.completion == MQCC_FAILED:
            raise MQError(answer.reason, answer.reader.rest().decode("utf-8", "replace"))
        agreed = decode_hello(answer.reader.rest())
        self._reader.frame_bytes_max = agreed.segment_bytes
        self._payload_bytes_max = max(agreed.message_bytes_max, MESSAGE_BYTES_MAX)
        return agreed

    def _replies(self) -> Iterator[Reply]:
        while True:
            kind, payload = self._next()
            if kind == OUTPUT:
                yield from _each(_decoded(payload))
            elif kind == COMMAND | REPLY:
                answer = decode_reply(payload)
                if answer.completion == MQCC_FAILED:
                    raise MQError(answer.reason, answer.reader.rest().decode("utf-8", "replace"))
                rest = answer.reader.rest()
                if rest:
                    last = _decoded(rest)
                    if last:
                        yield last
                return
            else:
                raise MalformedFrame(f"frame type {kind} was not asked for")

    def _next(self) -> tuple[int, bytes]:
        """The next whole payload that concerns us."""
        while True:
            while not self._reader.next():
                data = self._link.recv(_RECEIVE_BYTES)
                if not data:
                    raise MQError(MQRC_CONNECTION_BROKEN, f"Queue manager {self._name} closed the connection.")
                self._reader.feed(data)
            reader = self._reader
            payload = reader.buffer[reader.start : reader.end]
            if reader.type == HEARTBEAT:
                self._link.sendall(frame(HEARTBEAT | REPLY, 0, reader.request))
            elif reader.type == FAREWELL:
                reason, text = decode_reason(PayloadReader(payload))
                raise MQError(reason or MQRC_CONNECTION_BROKEN, text)
            elif reader.type != NOTICE:
                whole = self._joined(payload)
                if whole is not None:
                    return reader.type, whole

    def _joined(self, part: bytes) -> bytes | None:
        """A payload that came whole, or whose last segment this is."""
        reader = self._reader
        is_last = not reader.flags & MORE
        if self._assembly is None:
            if is_last:
                return part
            self._assembly = IncomingPayload(reader.type, self._payload_bytes_max)
        if self._assembly.type != reader.type:
            raise MalformedFrame("a frame of another type between segments")
        self._assembly.add(part)
        if not is_last:
            return None
        whole = self._assembly.whole()
        self._assembly = None
        return whole


def _each(reply: Reply) -> Iterator[Reply]:
    """A reply; one with several lines as so many replies."""
    lines = reply.pop("lines", None)
    if isinstance(lines, list):
        for line in lines:
            yield {"line": line}
    if reply:
        yield reply


def _decoded(payload: bytes) -> Reply:
    try:
        found = json.loads(payload)
    except ValueError:
        raise MalformedFrame("a reply is not JSON") from None
    if not isinstance(found, dict):
        raise MalformedFrame("a reply is no JSON object")
    return found
