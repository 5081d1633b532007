"""A blocking client of a coupling facility, for commands and tests. Members use a link of their reactor instead."""

from __future__ import annotations

import socket
from collections import deque
from typing import Final

from ostler.model.coupling.answers import Answer
from ostler.model.coupling.events import Event
from ostler.model.coupling.programs import Program
from ostler.wire.coupling_answers import decode_answer
from ostler.wire.coupling_frames import (
    COUPLING_FRAME_BYTES_MAX,
    CouplingHello,
    decode_coupling_hello,
    decode_event,
)
from ostler.wire.coupling_programs import encode_program
from ostler.wire.frames import (
    CF_END,
    CF_EVENT,
    CF_HELLO,
    CF_PROGRAM,
    FAREWELL,
    HEARTBEAT,
    REPLY,
    FrameReader,
    MalformedFrame,
    frame,
)
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.replies import decode_reason
from ostler.wire.tls_stream import TlsFailed, TlsStream

_RECEIVE_BYTES: Final = 256 << 10


class FacilityLost(Exception):
    """The link has ended. The text gives the reason."""


class FacilityClient:
    """One link. Programs can be sent ahead; their answers come in the same order."""

    def __init__(
        self, sock: socket.socket, facility: str, name: str, tls: TlsStream | None = None, heartbeat_ms: int = 60_000
    ) -> None:
        """Say hello and wait for the reply. Raises FacilityLost. The socket's timeout holds for every wait."""
        self._socket = sock
        self._tls = tls
        self._reader = FrameReader(COUPLING_FRAME_BYTES_MAX)
        self._last_request = 0
        self.events: deque[Event] = deque()
        hello = CouplingHello(facility, name)
        hello.heartbeat_ms = heartbeat_ms
        try:
            if tls is not None:
                self._finish_handshake(tls)
            self._send(hello.encode(1))
            self._await(CF_HELLO | REPLY)
            reader = self._reader
            self.hello = decode_coupling_hello(reader.buffer, reader.start, reader.end, True)
        except BaseException:
            sock.close()
            raise

    def run(self, program: Program) -> Answer:
        """Run one program and return its answer. Raises FacilityLost."""
        self.send([program])
        return self.receive()

    def send(self, programs: list[Program]) -> None:
        """Send programs without waiting."""
        data = []
        for program in programs:
            self._last_request += 1
            data.append(encode_program(program, self._last_request))
        self._send(b"".join(data))

    def receive(self) -> Answer:
        """Return the next answer."""
        self._await(CF_PROGRAM | REPLY)
        reader = self._reader
        return decode_answer(reader.buffer, reader.start, reader.end)

    def receive_event(self) -> Event:
        """Return the next event."""
        while not self.events:
            self._await(CF_EVENT)
        return self.events.popleft()

    def end(self, is_forced: bool) -> str:
        """Ask the facility to end. Returns why it does not; empty: it does."""
        self._send(frame(CF_END, 0, 1, b"\1" if is_forced else b"\0"))
        self._await(CF_END | REPLY)
        return self._reader.buffer[self._reader.start : self._reader.end].decode()

    def close(self) -> None:
        self._socket.close()

    def _finish_handshake(self, tls: TlsStream) -> None:
        try:
            while not tls.is_ready:
                if tls.has_output:
                    self._socket.sendall(tls.take_output())
                data = tls.receive_data(self._receive())
                if data:
                    self._reader.feed(data)
            if tls.has_output:
                self._socket.sendall(tls.take_output())
        except TlsFailed as failure:
            raise FacilityLost(failure.text) from None

    def _send(self, data: bytes) -> None:
        tls = self._tls
        if tls is not None:
            tls.encrypt(data)
            data = tls.take_output()
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise FacilityLost(f"the connection failed: {error.strerror or error}") from None

    def _receive(self) -> bytes:
        try:
            data = self._socket.recv(_RECEIVE_BYTES)
        except TimeoutError:
            raise FacilityLost("the facility did not answer in time") from None
        except OSError as error:
            raise FacilityLost(f"the connection failed: {error.strerror or error}") from None
        if not data:
            raise FacilityLost("the facility closed the connection")
        return data

    def _await(self, wanted: int) -> None:
        """Receive until a frame of a type is there. Events are kept, heartbeats answered."""
        reader = self._reader
        try:
            while True:
                while not reader.next():
                    data = self._receive()
                    reader.feed(data if self._tls is None else self._tls.receive_data(data))
                if reader.type == HEARTBEAT:
                    self._send(frame(HEARTBEAT | REPLY, 0, reader.request))
                elif reader.type == CF_EVENT:
                    self.events.append(decode_event(reader.buffer, reader.start, reader.end))
                elif reader.type == FAREWELL:
                    raise FacilityLost(decode_reason(PayloadReader(reader.buffer, reader.start, reader.end))[1])
                if reader.type == wanted:
                    return
        except MalformedFrame as error:
            raise FacilityLost(f"the facility broke the protocol: {error}") from None
