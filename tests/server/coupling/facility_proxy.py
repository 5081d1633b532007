"""A proxy between a member and the coupling facility, which stops at a chosen step of a commit.

    proxy.stop_at("before")    the decision on the next unit does not reach the facility
    proxy.stop_at("behind")    the facility has decided, and the member does not hear of it

`reached` is set when that has happened. The link is then dead in both directions, until the member is.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path

from ostler.model.coupling.programs import DECIDE
from ostler.wire.frames import CF_PROGRAM, HEADER_BYTES, REPLY, FrameReader

_FRAME_BYTES_MAX = 1 << 24
_FENCE_BYTES = 8


class FacilityProxy:
    def __init__(self, directory: Path, facility: str) -> None:
        self.address = str(directory / "proxy.sock")
        self.reached = threading.Event()
        self._facility = facility
        self._step = ""
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(self.address)
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def stop_at(self, step: str) -> None:
        self.reached.clear()
        self._step = step

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                member, _ = self._listening.accept()
                facility = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                facility.connect(self._facility)
                _Link(self, member, facility)

    def take_step(self, step: str) -> bool:
        if self._step != step:
            return False
        self._step = ""
        return True


class _Link:
    """One connection of the member."""

    def __init__(self, proxy: FacilityProxy, member: socket.socket, facility: socket.socket) -> None:
        self._proxy = proxy
        self._member = member
        self._facility = facility
        self._is_dead = False
        self._awaited = -1  # the request whose answer is kept back
        for pump in (self._to_facility, self._to_member):
            threading.Thread(target=pump, daemon=True).start()

    def _to_facility(self) -> None:
        reader = FrameReader(_FRAME_BYTES_MAX)
        with contextlib.suppress(OSError):
            while data := self._member.recv(1 << 16):
                reader.feed(data)
                while reader.next() and not self._is_dead:
                    self._send_program(reader)
        self._facility.close()

    def _send_program(self, reader: FrameReader) -> None:
        whole = reader.buffer[reader.start - HEADER_BYTES : reader.end]
        kind = reader.buffer[reader.start + _FENCE_BYTES : reader.start + _FENCE_BYTES + 4]
        if reader.type == CF_PROGRAM and int.from_bytes(kind, "little") == DECIDE:
            if self._proxy.take_step("before"):
                self._is_dead = True
                self._proxy.reached.set()
                return
            if self._proxy.take_step("behind"):
                self._awaited = int(reader.request)
        self._facility.sendall(whole)

    def _to_member(self) -> None:
        reader = FrameReader(_FRAME_BYTES_MAX)
        with contextlib.suppress(OSError):
            while data := self._facility.recv(1 << 16):
                reader.feed(data)
                while reader.next():
                    if reader.type == CF_PROGRAM | REPLY and reader.request == self._awaited:
                        self._is_dead = True
                        self._proxy.reached.set()
                    if not self._is_dead:
                        self._member.sendall(reader.buffer[reader.start - HEADER_BYTES : reader.end])
        self._member.close()
