"""Frames of message channels: negotiation, batches of messages, and the end of a channel.

    CHANNEL_HELLO     identity, proposed values and in-doubt batches; the reply has the negotiated values, and the last
                      batch that the receiving end committed
    CHANNEL_MESSAGE   0 number of the batch, 4 flags, 8 sequence number, 12 remaining expiry in tenths of a second,
                      16 length of the header as it is sent, then the header (MQXQH) and the data, compressed or not
    CHANNEL_CONFIRM   0 number of the batch, 4 sequence number of its last message, 8 its LUWID (8 bytes), 16 messages;
                      the reply is the same, and confirms that the batch is committed
    CHANNEL_END       the sending end has finished; after the reply both ends close
    CHANNEL_STOP      the receiving end asks the sending one to end after its batch
    CHANNEL_PING      data to be sent back
    REKEY     both ends start a new TLS session behind this frame and its reply (SSLRKEYC)

They have the same header as those of clients (`frames.py`), with conversation 0.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter, read_i32_le, write_i64_le
from mypy_extensions import i64

from ostler.wire.frames import (
    CHANNEL_HELLO,
    CHANNEL_MESSAGE,
    HEADER_BYTES,
    MAGIC,
    REPLY,
    SEGMENT_BYTES,
    MalformedFrame,
    frame,
    write_header,
    write_number,
)
from ostler.wire.payload_codec import CHANNEL_BYTES, NAME_BYTES, PayloadReader, PayloadWriter

CHANNEL_VERSION: Final = 1
# The purposes of a CHANNEL_HELLO.
SENDS: Final = 1  # the connecting end sends messages
REQUESTS: Final = 2  # the connecting end requests messages
PINGS: Final = 3

# Flags of a message.
IN_BATCH: Final = 1  # it belongs to its batch; without this flag it may be lost (NPMSPEED FAST)
HEADER_COMPRESSED: Final = 2
METHOD_SHIFT: Final = 8  # the bits above are the compression of the data, an MQCOMPRESS number

# Request numbers of heartbeats and their replies.
HEARTBEAT_CHECK: Final = 1
HEARTBEAT_TIMED: Final = 2  # the reply is timed
HEARTBEAT_PAUSED: Final = 3  # an unsolicited reply: the receiving end is alive, but does not read for a while
HEARTBEAT_RESUMED: Final = 4  # an unsolicited reply: the receiving end reads again

MESSAGE_FIXED_BYTES: Final = 20
CONFIRM_BYTES: Final = 20
XQH_BYTES: Final = 428  # MQXQH with the descriptor in it
XQH_MD_AT: Final = 104  # that descriptor
PING_BYTES_MAX: Final = 32_768
WINDOW_MAX: Final = 16
_METHODS_MAX: Final = 16
LUWID_BYTES: Final = 8


@final
class ChannelHello:
    """The first frame of a channel end: proposed values. The reply has the negotiated ones."""

    def __init__(self) -> None:
        self.version: i64 = CHANNEL_VERSION
        self.purpose: i64 = SENDS
        self.channel = ""
        self.queue_manager = ""
        self.ccsid: i64 = 0
        self.encoding: i64 = 0
        self.segment_bytes: i64 = SEGMENT_BYTES
        self.message_bytes_max: i64 = 0
        self.batch_size: i64 = 1
        self.window: i64 = 1  # batches that may be unconfirmed at a time
        self.heartbeat_seconds: i64 = 0
        self.sequence_wrap: i64 = 0
        self.is_fast = False  # non-persistent messages may travel outside batches
        self.header_methods: list[int] = []
        self.message_methods: list[int] = []
        # The position for resynchronisation. Of the sending end: its last committed and its in-doubt batches.
        self.is_reset = False  # the receiving end has to continue from `sequence`
        self.sequence: i64 = 0
        self.luwid: bytes = bytes(LUWID_BYTES)
        self.in_doubt: list[tuple[bytes, int]] = []  # LUWIDs with the sequence number of the last message of each

    def encode(self) -> bytes:
        writer = PayloadWriter()
        writer.fixed(MAGIC)
        for number in (
            self.version,
            self.purpose,
            self.ccsid,
            self.encoding,
            self.segment_bytes,
            self.message_bytes_max,
            self.batch_size,
            self.window,
            self.heartbeat_seconds,
            self.sequence_wrap,
            1 if self.is_fast else 0,
            1 if self.is_reset else 0,
            self.sequence,
        ):
            writer.integer(number)
        writer.fixed(self.luwid)
        writer.name(self.channel, CHANNEL_BYTES)
        writer.name(self.queue_manager, NAME_BYTES)
        writer.integers(self.header_methods)
        writer.integers(self.message_methods)
        writer.integer(len(self.in_doubt))
        for luwid, sequence in self.in_doubt:
            writer.fixed(luwid)
            writer.integer(sequence)
        return writer.getvalue()


def decode_channel_hello(payload: bytes, at: i64 = 0) -> ChannelHello:
    reader = PayloadReader(payload, at)
    if reader.fixed(4) != MAGIC:
        raise MalformedFrame("the peer does not speak this protocol")
    hello = ChannelHello()
    hello.version = reader.count(1 << 16)
    hello.purpose = reader.count(PINGS)
    if hello.purpose == 0:
        raise MalformedFrame("a CHANNEL_HELLO without a purpose")
    hello.ccsid = reader.count(1 << 16)
    hello.encoding = reader.count(1 << 20)
    hello.segment_bytes = reader.count(1 << 30)
    hello.message_bytes_max = reader.count(1 << 30)
    hello.batch_size = reader.count(9999)
    hello.window = reader.count(WINDOW_MAX)
    hello.heartbeat_seconds = reader.count(999_999)
    hello.sequence_wrap = reader.count(999_999_999)
    hello.is_fast = reader.count(1) == 1
    hello.is_reset = reader.count(1) == 1
    hello.sequence = reader.count(999_999_999)
    hello.luwid = reader.fixed(LUWID_BYTES)
    hello.channel = reader.name(CHANNEL_BYTES)
    hello.queue_manager = reader.name(NAME_BYTES)
    hello.header_methods = reader.integers(_METHODS_MAX)
    hello.message_methods = reader.integers(_METHODS_MAX)
    for _ in range(reader.count(WINDOW_MAX)):
        luwid = reader.fixed(LUWID_BYTES)
        hello.in_doubt.append((luwid, reader.count(999_999_999)))
    reader.check_end()
    return hello


def hello_frame(hello: ChannelHello) -> bytes:
    return frame(CHANNEL_HELLO, 0, 1, hello.encode())


def welcome_frame(request: i64, hello: ChannelHello) -> bytes:
    """Return the reply to an accepted CHANNEL_HELLO, with the negotiated values."""
    return frame(CHANNEL_HELLO | REPLY, 0, request, bytes(8) + hello.encode())


def message_head(batch: i64, flags: i64, sequence: i64, expiry: i64, header_bytes: i64) -> bytes:
    writer = BytesWriter()
    write_number(writer, batch)
    write_number(writer, flags)
    write_number(writer, sequence)
    write_number(writer, expiry)
    write_number(writer, header_bytes)
    return writer.getvalue()


def message_frame(number: i64, batch: i64, flags: i64, sequence: i64, expiry: i64, header: i64, body: bytes) -> bytes:
    """Return a message in one frame. `number` is its request number, `header` the length of its MQXQH."""
    writer = BytesWriter()
    write_header(writer, HEADER_BYTES + MESSAGE_FIXED_BYTES + len(body), CHANNEL_MESSAGE, 0, number)
    write_number(writer, batch)
    write_number(writer, flags)
    write_number(writer, sequence)
    write_number(writer, expiry)
    write_number(writer, header)
    writer.write(body)
    return writer.getvalue()


def confirm_frame(type: i64, request: i64, batch: i64, sequence: i64, luwid: bytes, messages: i64) -> bytes:
    writer = BytesWriter()
    write_header(writer, HEADER_BYTES + CONFIRM_BYTES, type, 0, request)
    write_number(writer, batch)
    write_number(writer, sequence)
    writer.write(luwid)
    write_number(writer, messages)
    return writer.getvalue()


@final
class Confirm:
    """A CHANNEL_CONFIRM or its reply: a batch is to be committed, or has been."""

    def __init__(self, buffer: bytes, start: i64, end: i64) -> None:
        if end - start != CONFIRM_BYTES:
            raise MalformedFrame(f"a confirmation of {end - start} bytes")
        self.batch: i64 = i64(read_i32_le(buffer, start))
        self.sequence: i64 = i64(read_i32_le(buffer, start + 4))
        self.luwid: bytes = buffer[start + 8 : start + 8 + LUWID_BYTES]
        self.messages: i64 = i64(read_i32_le(buffer, start + 16))


def luwid_of(number: i64) -> bytes:
    """Return the LUWID with a number, which the caller has not used before."""
    writer = BytesWriter()
    write_i64_le(writer, number)
    return writer.getvalue()
