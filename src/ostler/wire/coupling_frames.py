"""Frames between members of a queue-sharing group and their coupling facility.

A link begins with CF_HELLO and its reply. Then the member sends CF_PROGRAM frames, as many as it likes without waiting;
each is answered by one CF_PROGRAM with REPLY and the same request number, in the order of the programs. CF_EVENT comes
at any time, between answers. HEARTBEAT, with REPLY as answer, proves that the other side lives. FAREWELL says why the
facility closes a link. CF_END asks the facility to end; its owner may send it over the local socket.

`coupling_programs.py` and `coupling_answers.py` have the payloads of CF_PROGRAM.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.model.coupling import events as ev
from ostler.model.coupling import terms as cf
from ostler.wire.coupling_entries import read_bytes, read_flag, write_bytes, write_flag
from ostler.wire.frames import CF_EVENT, CF_HELLO, HEADER_BYTES, MAGIC, REPLY, MalformedFrame, frame
from ostler.wire.payload_codec import PayloadReader, PayloadWriter

COUPLING_VERSION: Final = 3
COUPLING_FRAME_BYTES_MAX: Final = (1 << 20) + HEADER_BYTES
"""Of all frames behind CF_HELLO. Slices of LIST, DUMP and LOAD are the longest."""
HEARTBEAT_MS_MIN: Final = 500
HEARTBEAT_MS_MAX: Final = 600_000
_NAME_BYTES_MAX: Final = 256
_MATCH_BYTES_MAX: Final = 48


@final
class CouplingHello:
    """The first frame of a link, and its reply.

    `facility` is the name of the facility that the member wants; the reply has its name and identity. After
    `heartbeat_ms` of silence a side sends HEARTBEAT, and a link that is silent for twice as long is lost.
    """

    def __init__(self, facility: str, peer: str, is_reply: bool = False) -> None:
        self.version: i64 = COUPLING_VERSION
        self.facility = facility
        self.peer = peer
        """Of the member: the name of its queue manager, for messages to people."""
        self.identity = b""
        self.heartbeat_ms: i64 = 5_000
        self.is_reply = is_reply

    def encode(self, request: i64) -> bytes:
        writer = PayloadWriter()
        writer.fixed(MAGIC)
        writer.integer(self.version)
        writer.text(self.facility)
        writer.text(self.peer)
        write_bytes(writer, self.identity)
        writer.integer(self.heartbeat_ms)
        return frame(CF_HELLO | (REPLY if self.is_reply else 0), 0, request, writer.getvalue())


def decode_coupling_hello(buffer: bytes, start: i64, end: i64, is_reply: bool) -> CouplingHello:
    """Return the hello in a payload. Raises MalformedFrame, also for a version that this release does not speak."""
    reader = PayloadReader(buffer, start, end)
    if reader.fixed(4) != MAGIC:
        raise MalformedFrame("the peer does not speak this protocol")
    version: i64 = reader.count(1 << 16)
    if version != COUPLING_VERSION:
        raise MalformedFrame(f"the peer speaks version {version} of the protocol, this release {COUPLING_VERSION}")
    facility = reader.text(_NAME_BYTES_MAX)
    hello = CouplingHello(facility, reader.text(_NAME_BYTES_MAX), is_reply)
    hello.version = version
    hello.identity = read_bytes(reader, cf.IDENTITY_BYTES)
    hello.heartbeat_ms = reader.count(HEARTBEAT_MS_MAX)
    if hello.heartbeat_ms < HEARTBEAT_MS_MIN:
        raise MalformedFrame(f"a heartbeat each {hello.heartbeat_ms} ms; the least is {HEARTBEAT_MS_MIN}")
    reader.check_end()
    return hello


def encode_event(event: ev.Event) -> bytes:
    """Return the frame of an event."""
    writer = PayloadWriter()
    writer.integer(event.kind)
    if isinstance(event, ev.QueueNotEmpty):
        writer.text(event.structure)
        writer.text(event.queue)
        writer.integer(event.match)
        write_bytes(writer, event.id)
        write_flag(writer, event.triggers)
    elif isinstance(event, ev.MemberChanged):
        writer.integer(event.member)
        writer.text(event.name)
        writer.integer(event.state)
    elif isinstance(event, ev.StructureChanged):
        writer.text(event.structure)
        writer.integer(event.state)
    elif isinstance(event, ev.Threshold):
        writer.text(event.structure)
        writer.integer(event.percent)
        writer.position(event.used_bytes)
        writer.position(event.limit_bytes)
    elif isinstance(event, ev.Freed):
        writer.text(event.structure)
    elif isinstance(event, ev.Announced):
        writer.integer(event.member)
        writer.text(event.text)
    return frame(CF_EVENT, 0, 0, writer.getvalue())


def decode_event(buffer: bytes, start: i64, end: i64) -> ev.Event:
    """Return the event in the payload `buffer[start:end]`. Raises MalformedFrame."""
    reader = PayloadReader(buffer, start, end)
    event = _read_event(reader, reader.integer())
    reader.check_end()
    return event


def _read_event(reader: PayloadReader, kind: i64) -> ev.Event:
    if kind == ev.QUEUE_NOT_EMPTY:
        structure = reader.text(_NAME_BYTES_MAX)
        queue = reader.text(_NAME_BYTES_MAX)
        match: i64 = reader.count(cf.AT_KEY)
        watched = read_bytes(reader, _MATCH_BYTES_MAX)
        return ev.QueueNotEmpty(structure, queue, match, watched, read_flag(reader))
    if kind == ev.MEMBER_CHANGED:
        member: i64 = reader.integer()
        name = reader.text(_NAME_BYTES_MAX)
        return ev.MemberChanged(member, name, reader.count(len(cf.MEMBER_STATES) - 1))
    if kind == ev.STRUCTURE_CHANGED:
        changed = reader.text(_NAME_BYTES_MAX)
        return ev.StructureChanged(changed, reader.count(len(cf.STRUCTURE_STATES) - 1))
    if kind == ev.THRESHOLD:
        filled = reader.text(_NAME_BYTES_MAX)
        percent: i64 = reader.integer()
        used_bytes: i64 = reader.position()
        return ev.Threshold(filled, percent, used_bytes, reader.position())
    if kind == ev.FREED:
        return ev.Freed(reader.text(_NAME_BYTES_MAX))
    if kind == ev.ANNOUNCED:
        teller: i64 = reader.integer()
        return ev.Announced(teller, reader.text(2 * cf.TEXT_BYTES_MAX))
    if kind == ev.FENCED_OUT:
        return ev.FencedOut()
    raise MalformedFrame(f"an event of kind {kind}")
