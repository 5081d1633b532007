"""The simulated channel agent: the port of a channel end over the simulated network.

The server's agent does the same with a socket, a reactor and a clock. Here each possible event is a separate step of
the simulation, so that other events may come in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.world.channel_network import LineEnd

from ostler.channel.port import ChannelPort, EndReason
from ostler.wire.frames import HEARTBEAT, MORE, REPLY, FrameReader, frame
from ostler.wire.segments import IncomingPayload

if TYPE_CHECKING:
    from random import Random

    from tests.world.channel_site import ChannelSite

    from ostler.channel.receiver import ReceivingEnd
    from ostler.channel.sender import SendingEnd
    from ostler.engine.connection import Connection

_PAYLOAD_BYTES_MAX = 1 << 24


class SimulatedAgent(ChannelPort):
    """One end of a channel at a site, for as long as its line lasts."""

    def __init__(self, site: ChannelSite, channel: str, line: LineEnd) -> None:
        self.site = site
        self.channel = channel
        self.line = line
        self.sender: SendingEnd | None = None
        self.receiver: ReceivingEnd | None = None
        self.connection: Connection | None = None
        self.is_over = False
        self.end_reason = EndReason.NORMAL
        self.text = ""
        self.wants_pump = False
        self.wants_room = False
        self.wake_ms = -1
        self.is_paused = False
        self.last_heard_ms = site.now_ms
        self._reader = FrameReader(1 << 21)
        self._assemblies: dict[int, IncomingPayload] = {}
        self._after: list[tuple[int, bytes]] = []

    # -- the port ------------------------------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        self.line.send(data)

    def send_after(self, lsn: int, data: bytes) -> None:
        """Send once durable, as the server does: frames that wait for the log do not delay other frames."""
        self._after.append((lsn, data))
        self._after.sort(key=lambda each: each[0])
        self.log_grew()

    def backlog_bytes(self) -> int:
        return len(self.line.unsent)

    def schedule_pump(self) -> None:
        self.wants_pump = True

    def set_timer(self, milliseconds: int) -> None:
        self.wake_ms = self.site.now_ms + milliseconds

    def pause(self, is_paused: bool) -> None:
        self.is_paused = is_paused

    def make_room(self) -> None:
        self.wants_room = True

    def rekey(self) -> None:
        raise AssertionError("there is no TLS here")

    def traffic_bytes(self) -> int:
        return 0

    def silence_ms(self) -> int:
        return self.site.now_ms - self.last_heard_ms

    def finish(self, end_reason: EndReason, reason: int, text: str) -> None:
        self.is_over = True
        self.end_reason = end_reason
        self.text = text
        # Frames that wait for the log are sent later.
        self.line.close()

    def note(self, text: str) -> None:
        self.site.notes.append(text)

    def notify_changed(self) -> None:
        return None

    # -- steps ---------------------------------------------------------------------------------------------------------

    def end(self) -> SendingEnd | ReceivingEnd | None:
        return self.sender if self.sender is not None else self.receiver

    def log_grew(self) -> None:
        """Send the frames whose LSN is durable now."""
        durable = self.site.log.durable_lsn()
        while self._after and self._after[0][0] <= durable:
            self.line.send(self._after.pop(0)[1])

    def can_receive(self) -> bool:
        return not self.is_paused and not self.is_over and (self.line.can_receive() or self._reader.pending_bytes() > 0)

    def receive(self, chance: Random | None) -> None:
        data = self.line.receive(chance)
        if data:
            self.last_heard_ms = self.site.now_ms
            self._reader.feed(data)
        while not self.is_paused and not self.is_over and self._reader.next():
            self._frame()

    def _frame(self) -> None:
        reader = self._reader
        if reader.flags & MORE or reader.request in self._assemblies:
            assembly = self._assemblies.setdefault(reader.request, IncomingPayload(reader.type, _PAYLOAD_BYTES_MAX))
            assembly.add(reader.buffer[reader.start : reader.end])
            if not reader.flags & MORE:
                whole = self._assemblies.pop(reader.request).whole()
                self._hand_over(reader.type, reader.request, whole, 0, len(whole))
        else:
            self._hand_over(reader.type, reader.request, reader.buffer, reader.start, reader.end)

    def _hand_over(self, type: int, request: int, buffer: bytes, start: int, end: int) -> None:
        if type == HEARTBEAT:
            self.send(frame(HEARTBEAT | REPLY, 0, request))
            return
        self.site.frame_came(self, type, request, buffer, start, end)
