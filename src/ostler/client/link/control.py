"""Control actions of a running queue manager over its local socket: MQSC, status, end.

for reply in control(directory, "mqsc", text="DISPLAY QMGR"):
    print(reply["line"])
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Final

from ostler.model import constants as mq
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
    """No process listens on the queue manager's local socket."""

    def __init__(self, name: str) -> None:
        super().__init__(f"queue manager {name} is not running")
        self.name = name

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.name,)


def control(directory: QueueManagerDirectory, action: str, **arguments: object) -> Iterator[Reply]:
    """Request an action; yield each reply as it comes, the last one included.

    Raises NotRunningError when the queue manager does not run, and MQError when the action is refused or the
    connection breaks. A caller that stops iterating closes the connection, which ends the action.
    """
    try:
        link = connect_local(directory, _CONNECT_SECONDS)
    except (FileNotFoundError, ConnectionRefusedError):
        raise NotRunningError(directory.name) from None
    except OSError as error:
        raise MQError(
            mq.MQRC_CONNECTION_BROKEN, f"Queue manager {directory.name} cannot be reached: {error}."
        ) from error
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
            negotiated = self._negotiate()
            payload = json.dumps(request).encode()
            for piece in frames_of(COMMAND, 0, _COMMAND_REQUEST, payload, negotiated.segment_bytes):
                self._link.sendall(piece)
            yield from self._replies()
        except MalformedFrame as error:
            raise MQError(
                mq.MQRC_UNEXPECTED_ERROR, f"Queue manager {self._name} violated the protocol: {error}."
            ) from error
        except OSError as error:
            raise MQError(mq.MQRC_CONNECTION_BROKEN, f"The connection to {self._name} broke: {error}.") from error
        finally:
            self._link.close()

    def _negotiate(self) -> Hello:
        """Exchange HELLO and apply the negotiated limits."""
        proposal = Hello()
        proposal.message_bytes_max = MESSAGE_BYTES_MAX
        self._link.settimeout(_CONNECT_SECONDS)
        self._link.sendall(frame(HELLO, 0, _HELLO_REQUEST, proposal.encode()))
        kind, payload = self._next()
        self._link.settimeout(None)
        if kind != HELLO | REPLY:
            raise MalformedFrame(f"frame type {kind} instead of an answer to HELLO")
        answer = decode_reply(payload)
        if answer.completion == mq.MQCC_FAILED:
            raise MQError(answer.reason, answer.reader.rest().decode("utf-8", "replace"))
        negotiated = decode_hello(answer.reader.rest())
        self._reader.frame_bytes_max = negotiated.segment_bytes
        self._payload_bytes_max = max(negotiated.message_bytes_max, MESSAGE_BYTES_MAX)
        return negotiated

    def _replies(self) -> Iterator[Reply]:
        while True:
            kind, payload = self._next()
            if kind == OUTPUT:
                yield from _split_lines(_decode(payload))
            elif kind == COMMAND | REPLY:
                answer = decode_reply(payload)
                if answer.completion == mq.MQCC_FAILED:
                    raise MQError(answer.reason, answer.reader.rest().decode("utf-8", "replace"))
                rest = answer.reader.rest()
                if rest:
                    last = _decode(rest)
                    if last:
                        yield last
                return
            else:
                raise MalformedFrame(f"unexpected frame type {kind}")

    def _next(self) -> tuple[int, bytes]:
        """Return type and payload of the next frame that is neither a heartbeat nor a notice."""
        while True:
            while not self._reader.next():
                data = self._link.recv(_RECEIVE_BYTES)
                if not data:
                    raise MQError(mq.MQRC_CONNECTION_BROKEN, f"Queue manager {self._name} closed the connection.")
                self._reader.feed(data)
            reader = self._reader
            payload = reader.buffer[reader.start : reader.end]
            if reader.type == HEARTBEAT:
                self._link.sendall(frame(HEARTBEAT | REPLY, 0, reader.request))
            elif reader.type == FAREWELL:
                reason, text = decode_reason(PayloadReader(payload))
                raise MQError(reason or mq.MQRC_CONNECTION_BROKEN, text)
            elif reader.type != NOTICE:
                whole = self._assemble(payload)
                if whole is not None:
                    return reader.type, whole

    def _assemble(self, part: bytes) -> bytes | None:
        """Return the payload when this is its last segment or all of it, else None."""
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


def _split_lines(reply: Reply) -> Iterator[Reply]:
    """Yield a reply; one with several lines as one reply per line."""
    lines = reply.pop("lines", None)
    if isinstance(lines, list):
        for line in lines:
            yield {"line": line}
    if reply:
        yield reply


def _decode(payload: bytes) -> Reply:
    try:
        found = json.loads(payload)
    except ValueError:
        raise MalformedFrame("a reply is not JSON") from None
    if not isinstance(found, dict):
        raise MalformedFrame("a reply is no JSON object")
    return found
