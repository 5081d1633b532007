"""Writes messages as frames: compressed as negotiated, and cut into segments if they are long."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.channel.monitoring import ChannelMonitor
from ostler.channel.negotiation import method_of
from ostler.channel.packing import PackedMessage, pack
from ostler.channel.port import ChannelPort
from ostler.model import constants as mq
from ostler.wire.channel_frames import (
    IN_BATCH,
    MESSAGE_FIXED_BYTES,
    XQH_BYTES,
    ChannelHello,
    message_frame,
    message_head,
)
from ostler.wire.frames import CHANNEL_MESSAGE, HEADER_BYTES
from ostler.wire.segments import OutgoingPayload, frames_of

BACKLOG_BYTES: Final = 256 * 1024  # with more unsent bytes than this no further messages are got
_REQUEST_MASK: Final = 0x7FFFFFFF


@final
class MessageWriter:
    """Writes the messages of one channel to its partner."""

    def __init__(self, port: ChannelPort, agreed: ChannelHello) -> None:
        self.monitor: ChannelMonitor | None = None
        self._port = port
        self._segment_bytes: i64 = agreed.segment_bytes
        self._header_method: i64 = method_of(agreed.header_methods)
        self._method: i64 = method_of(agreed.message_methods)
        self._compresses: bool = self._header_method != mq.MQCOMPRESS_NONE or self._method != mq.MQCOMPRESS_NONE
        self._request: i64 = 0
        self._large: OutgoingPayload | None = None
        self._fast_lsn: i64 = 0  # the LSN that messages outside batches wait for

    def write_in_batch(self, body: bytes, batch: i64, sequence: i64, expiry: i64) -> i64:
        """Send a message of a batch, and return its length on the wire. Call `feed` until it is not busy."""
        flags: i64 = IN_BATCH
        header: i64 = XQH_BYTES
        if self._compresses:
            packed = self._pack(body)
            body = packed.body
            flags |= packed.flags
            header = packed.header_bytes
        self._request = (self._request + 1) & _REQUEST_MASK
        if HEADER_BYTES + MESSAGE_FIXED_BYTES + len(body) <= self._segment_bytes:
            self._port.send(message_frame(self._request, batch, flags, sequence, expiry, header, body))
        else:
            start = message_head(batch, flags, sequence, expiry, header)
            self._large = OutgoingPayload(CHANNEL_MESSAGE, 0, self._request, start, body)
            self.feed()
        return len(body)

    def write_alone(self, body: bytes, expiry: i64, visible_lsn: i64) -> i64:
        """Send a message outside batches (NPMSPEED(FAST)), and return its length on the wire.

        It is sent once its own put is durable, so that a crash cannot undo a put that the partner has already seen;
        later messages do not overtake it.
        """
        flags: i64 = 0
        header: i64 = XQH_BYTES
        if self._compresses:
            packed = self._pack(body)
            body = packed.body
            flags = packed.flags
            header = packed.header_bytes
        self._request = (self._request + 1) & _REQUEST_MASK
        if visible_lsn > self._fast_lsn:
            self._fast_lsn = visible_lsn
        if HEADER_BYTES + MESSAGE_FIXED_BYTES + len(body) <= self._segment_bytes:
            self._send_alone(message_frame(self._request, 0, flags, 0, expiry, header, body))
            return len(body)
        start = message_head(0, flags, 0, expiry, header)
        if self._fast_lsn > 0:
            for data in frames_of(CHANNEL_MESSAGE, 0, self._request, start + body, self._segment_bytes):
                self._send_alone(data)
        else:
            self._large = OutgoingPayload(CHANNEL_MESSAGE, 0, self._request, start, body)
            self.feed()
        return len(body)

    def _pack(self, body: bytes) -> PackedMessage:
        monitor = self.monitor
        if monitor is None:
            return pack(body, self._header_method, self._method)
        began_us: i64 = self._port.now_us()
        packed = pack(body, self._header_method, self._method)
        monitor.on_packed(began_us, len(body), len(packed.body))
        return packed

    def _send_alone(self, data: bytes) -> None:
        if self._fast_lsn > 0:
            self._port.send_after(self._fast_lsn, data)
        else:
            self._port.send(data)

    def is_busy(self) -> bool:
        """Return True while a long message is being sent; nothing else may be sent until it is complete."""
        return self._large is not None

    def feed(self) -> None:
        """Send more of a long message, as far as the backlog allows."""
        large = self._large
        while large is not None and self._port.backlog_bytes() <= BACKLOG_BYTES:
            self._port.send(large.next_frame(self._segment_bytes - HEADER_BYTES))
            if large.is_sent():
                self._large = None
                large = None

    def drop(self) -> None:
        """Drop the rest of a long message."""
        self._large = None
