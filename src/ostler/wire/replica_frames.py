"""Frames between the copies of a queue manager: the leader sends its log, the followers acknowledge what they forced.

    REPLICA_HELLO     who speaks, which log, term, pedigree, where the copy ends; the reply is the follower's own one,
                      or names why it refuses
    REPLICA_LIFE      a life begins here: what earlier lives wrote behind its start is void
    REPLICA_LOG       blocks of the log as they stand in the extents; without blocks it is a sign of life
    REPLICA_LOG_ACK   how far the follower received, forced and applied
    BASE_BEGIN        a base begins: the state of the leader for a follower that cannot catch up from the log, which
                      comes with it from here on
    BASE_OBJECTS      a part of the catalogue
    BASE_QUEUE        a queue begins: identity, LSN and number of messages
    BASE_MESSAGES     a part of the messages of that queue
    BASE_END          the base is whole when the log has reached all that it speaks of
    FETCH             asks for a range of the log, or for a message; the reply has a part of it
    SIDE_FILE         a part of files that are not in the log; since version 3
    PAIR_STATE        what an instance of a pair without arbiter tells the other one; the reply is the other's own

They have the header of all frames (`frames.py`), with conversation 0. HEARTBEAT and FAREWELL are those of channels.
Every frame of a leader has its term, so that one that was deposed is told from the one that leads. All sizes are
checked here; the contents of blocks are checked by the log that takes them.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from itertools import pairwise
from typing import Final, final

from mypy_extensions import i64

from ostler.model.log_life import INSTANCE_BYTES_MAX, Life
from ostler.wire.frames import (
    BASE_BEGIN,
    BASE_END,
    BASE_MESSAGES,
    BASE_OBJECTS,
    BASE_QUEUE,
    FETCH,
    HEADER_BYTES,
    MAGIC,
    PAIR_STATE,
    REPLICA_HELLO,
    REPLICA_LIFE,
    REPLICA_LOG,
    REPLICA_LOG_ACK,
    REPLY,
    SIDE_FILE,
    MalformedFrame,
    frame,
)
from ostler.wire.payload_codec import NAME_BYTES, PayloadReader, PayloadWriter

# Version 2 has the role of the site in a hello of purpose DR, and pairs. Version 3 has SIDE_FILE.
# The hello of a leader, and the state of a pair, name the lowest version that can read them, so that a new release is
# understood by an old one wherever it can be. The reply of a follower names the highest that it knows: a leader sends
# it nothing that came later.
REPLICA_VERSION: Final = 3
VERSION_WITH_SIDE_FILES: Final = 3
_VERSION_WITH_SITES: Final = 2
_VERSION_OF_PAIRS: Final = 2
_VERSION_OF_ALL: Final = 1
# The purposes of a link.
PURPOSE_HA: Final = 1
PURPOSE_DR: Final = 2
PURPOSE_FETCH: Final = 3

# What a site does for disaster recovery, in a hello of purpose DR.
SITE_NONE: Final = 0
SITE_LIVE: Final = 1  # it is to work, and does not yet
SITE_ACTIVE: Final = 2  # it works, and sends its log
SITE_RECOVERY: Final = 3  # it receives
SITE_PENDING_RECOVERY: Final = 4  # it sends the rest of its log, and works no more
SITE_PENDING_LIVE: Final = 5  # it receives the rest, and works then
SITE_MAX: Final = 5

# Why a follower refuses; 0: it does not.
REFUSED_QUEUE_MANAGER: Final = 1
REFUSED_IDENTITY: Final = 2
REFUSED_FILE_PAGES: Final = 3
REFUSED_FORMAT: Final = 4
REFUSED_TERM: Final = 5
REFUSED_PARTITIONED: Final = 6
REFUSED_NAME: Final = 7
REFUSED_STATE: Final = 8
REFUSED_MAX: Final = 8

# The reason of a leader's FAREWELL: its log does not reach back to the end of the follower's.
BASE_NEEDED: Final = 1

# Of a LOG_ACK.
ACK_DISK_FULL: Final = 1  # or so few copies of a recovery group answer: nothing can be acknowledged
ACK_SPACE_SHORT: Final = 2  # its disk has not the space that a leader's next checkpoint may need
ACK_FLAGS_MAX: Final = 3

# Of a FETCH.
FETCH_LOG: Final = 1
FETCH_MESSAGE: Final = 2

# Of a PAIR_STATE.
PAIR_LEADS: Final = 1
PAIR_RESIGNED: Final = 2
PAIR_PARTITIONED: Final = 4
PAIR_RESOLVED: Final = 8
PAIR_FLAGS_MAX: Final = 15
_PAIR_MEMBERS_MAX: Final = 2

IDENTITY_BYTES: Final = 16
SETTINGS_BYTES: Final = 32
DIGEST_BYTES: Final = 32
# A block has up to a megabyte, and its header and padding; a frame has whole blocks only.
IMAGES_BYTES_MAX: Final = (1 << 20) + 8192
DATA_BYTES_MAX: Final = 1 << 20
LIVES_MAX: Final = 4096
SIDE_SET_BYTES_MAX: Final = 33 << 20
REPLICA_FRAME_BYTES_MAX: Final = IMAGES_BYTES_MAX + 4096
_TEXT_BYTES_MAX: Final = 1024
_LIFE_BYTES: Final = 4 * 8 + 4
FIRST_REPLICA_FRAME_BYTES_MAX: Final = 4096 + LIVES_MAX * (_LIFE_BYTES + INSTANCE_BYTES_MAX)


class ReplicaFrame(metaclass=ABCMeta):
    """The base of all frames here. `encode` returns the whole frame, its header included."""

    @abstractmethod
    def encode(self) -> bytes: ...


@final
class ReplicaHello(ReplicaFrame):
    def __init__(self) -> None:
        self.version: i64 = _VERSION_OF_ALL
        self.is_reply = False
        self.purpose: i64 = PURPOSE_HA
        self.refused: i64 = 0
        self.detail = ""
        self.group = ""
        self.queue_manager = ""
        self.instance = ""
        self.identity: bytes = bytes(IDENTITY_BYTES)
        self.file_pages: i64 = 0
        self.log_format: i64 = 0
        self.term: i64 = 0
        """Of a leader: its own. Of a follower: the highest that it has heard."""
        self.lives: list[Life] = []
        self.end_lsn: i64 = 0
        """The end of the chain of blocks: all up to here is forced."""
        self.group_lsn: i64 = 0
        """The LSN up to which enough copies have forced, as this copy knows. Below this nothing is ever dropped."""
        self.needs_base = False
        """The copy is new, damaged or set aside: it has nothing that a log could continue."""
        self.site_role: i64 = SITE_NONE
        """With purpose DR: what the site of the speaker does."""

    def encode(self) -> bytes:
        writer = PayloadWriter()
        writer.fixed(MAGIC)
        has_site: bool = self.purpose == PURPOSE_DR
        writer.integer(max(self.version, _VERSION_WITH_SITES) if has_site else self.version)
        writer.integer(self.purpose)
        writer.integer(self.refused)
        writer.text(self.detail.encode("utf-8")[:_TEXT_BYTES_MAX].decode("utf-8", "ignore"))
        writer.text(self.group)
        writer.name(self.queue_manager, NAME_BYTES)
        writer.text(self.instance)
        writer.fixed(self.identity)
        writer.integer(self.file_pages)
        writer.integer(self.log_format)
        writer.position(self.term)
        writer.position(self.end_lsn)
        writer.position(self.group_lsn)
        writer.position(0)  # older releases count the starts of the instance here, and nobody needs the number
        writer.integer(1 if self.needs_base else 0)
        write_lives(writer, self.lives)
        if has_site:
            writer.integer(self.site_role)
        return frame(REPLICA_HELLO | (REPLY if self.is_reply else 0), 0, 1, writer.getvalue())


def _read_hello(reader: PayloadReader, is_reply: bool) -> ReplicaHello:
    if reader.fixed(4) != MAGIC:
        raise MalformedFrame("the peer does not speak this protocol")
    hello = ReplicaHello()
    hello.is_reply = is_reply
    hello.version = reader.count(1 << 16)
    hello.purpose = reader.count(PURPOSE_FETCH)
    hello.refused = reader.count(REFUSED_MAX)
    hello.detail = reader.text(_TEXT_BYTES_MAX)
    hello.group = reader.text(NAME_BYTES)
    hello.queue_manager = reader.name(NAME_BYTES)
    hello.instance = reader.text(INSTANCE_BYTES_MAX)
    hello.identity = reader.fixed(IDENTITY_BYTES)
    hello.file_pages = reader.count(1 << 17)
    hello.log_format = reader.count(1 << 16)
    hello.term = reader.position()
    hello.end_lsn = reader.position()
    hello.group_lsn = reader.position()
    reader.position()  # nothing, or the starts that an older release has counted
    hello.needs_base = reader.count(1) == 1
    hello.lives = read_lives(reader)
    if hello.purpose == PURPOSE_DR and hello.version >= _VERSION_WITH_SITES:
        hello.site_role = reader.count(SITE_MAX)
    if hello.purpose == 0:
        raise MalformedFrame("a REPLICA_HELLO without a purpose")
    return hello


@final
class LifeFrame(ReplicaFrame):
    """REPLICA_LIFE: the life that all blocks behind this frame belong to."""

    def __init__(self, term: i64, position: i64, previous_epoch: i64, life: Life) -> None:
        self.term: i64 = term
        self.position: i64 = position
        """The blocks behind this position belong to the life; all that the follower has there is void."""
        self.previous_epoch: i64 = previous_epoch
        """The leader's life before; lives between the two are void. 0: there was none."""
        self.life = life

    def encode(self) -> bytes:
        writer = PayloadWriter()
        writer.position(self.term)
        writer.position(self.position)
        writer.position(self.previous_epoch)
        _write_life(writer, self.life)
        return frame(REPLICA_LIFE, 0, 0, writer.getvalue())


@final
class LogFrame(ReplicaFrame):
    """REPLICA_LOG: whole blocks, one behind the other, with their padding."""

    def __init__(self, term: i64, group_lsn: i64, position: i64, images: bytes) -> None:
        self.term: i64 = term
        self.group_lsn: i64 = group_lsn
        self.position: i64 = position
        """The end of the chain of blocks before these; without blocks, the end of the leader's one."""
        self.images = images

    def encode(self) -> bytes:
        writer = PayloadWriter()
        writer.position(self.term)
        writer.position(self.group_lsn)
        writer.position(self.position)
        writer.fixed(self.images)
        return frame(REPLICA_LOG, 0, 0, writer.getvalue())


@final
class LogAck(ReplicaFrame):
    def __init__(self, term: i64, epoch: i64, received: i64, forced: i64, applied: i64, flags: i64 = 0) -> None:
        self.term: i64 = term
        self.epoch: i64 = epoch
        """The life that the follower is in."""
        self.received: i64 = received
        self.forced: i64 = forced
        self.applied: i64 = applied
        self.flags: i64 = flags

    def encode(self) -> bytes:
        writer = PayloadWriter()
        writer.position(self.term)
        writer.position(self.epoch)
        writer.position(self.received)
        writer.position(self.forced)
        writer.position(self.applied)
        writer.integer(self.flags)
        return frame(REPLICA_LOG_ACK, 0, 0, writer.getvalue())


@final
class BaseBegin(ReplicaFrame):
    def __init__(self, term: i64, base: i64, settings: bytes, queues: i64, size_bytes: i64) -> None:
        self.term: i64 = term
        self.base: i64 = base
        """A number of the leader's for this base, so that parts of an earlier one are not taken for it."""
        self.settings = settings
        """The settings of the log, as `replica.base_format` encodes them."""
        self.queues: i64 = queues
        self.size_bytes: i64 = size_bytes
        """About so much will follow."""
        self.restart_lsn: i64 = 0
        """A start of the copy replays the log from here on."""
        self.position: i64 = 0
        """The log comes from here on: the beginning of the extent with `restart_lsn`."""
        self.lives: list[Life] = []

    def encode(self) -> bytes:
        writer = PayloadWriter()
        writer.position(self.term)
        writer.position(self.base)
        assert len(self.settings) == SETTINGS_BYTES
        writer.fixed(self.settings)
        for number in (self.queues, self.size_bytes, self.restart_lsn, self.position):
            writer.position(number)
        write_lives(writer, self.lives)
        return frame(BASE_BEGIN, 0, 0, writer.getvalue())


@final
class BaseObjects(ReplicaFrame):
    def __init__(self, base: i64, data: bytes) -> None:
        self.base: i64 = base
        self.data = data

    def encode(self) -> bytes:
        writer = PayloadWriter()
        writer.position(self.base)
        writer.fixed(self.data)
        return frame(BASE_OBJECTS, 0, 0, writer.getvalue())


@final
class BaseQueue(ReplicaFrame):
    def __init__(self, base: i64, queue_id: i64, lsn: i64, next_seq: i64, messages: i64) -> None:
        self.base: i64 = base
        self.queue_id: i64 = queue_id
        self.lsn: i64 = lsn
        """The state of the queue is that of this LSN."""
        self.next_seq: i64 = next_seq
        """0: the queue is damaged, and no messages follow."""
        self.messages: i64 = messages

    def encode(self) -> bytes:
        writer = PayloadWriter()
        for number in (self.base, self.queue_id, self.lsn, self.next_seq, self.messages):
            writer.position(number)
        return frame(BASE_QUEUE, 0, 0, writer.getvalue())


@final
class BaseMessages(ReplicaFrame):
    """BASE_MESSAGES: the next bytes of a queue's messages, cut anywhere."""

    def __init__(self, base: i64, queue_id: i64, data: bytes) -> None:
        self.base: i64 = base
        self.queue_id: i64 = queue_id
        self.data = data

    def encode(self) -> bytes:
        writer = PayloadWriter()
        writer.position(self.base)
        writer.position(self.queue_id)
        writer.fixed(self.data)
        return frame(BASE_MESSAGES, 0, 0, writer.getvalue())


@final
class BaseEnd(ReplicaFrame):
    def __init__(self, term: i64, base: i64, next_queue_id: i64, next_unit_of_work: i64) -> None:
        self.term: i64 = term
        self.base: i64 = base
        self.next_queue_id: i64 = next_queue_id
        self.next_unit_of_work: i64 = next_unit_of_work

    def encode(self) -> bytes:
        writer = PayloadWriter()
        for number in (self.term, self.base, self.next_queue_id, self.next_unit_of_work):
            writer.position(number)
        return frame(BASE_END, 0, 0, writer.getvalue())


@final
class Fetch(ReplicaFrame):
    """FETCH: FETCH_LOG with the first LSN and the LSN behind, or FETCH_MESSAGE with queue id and sequence number."""

    def __init__(self, request: i64, kind: i64, first: i64, second: i64) -> None:
        self.request: i64 = request
        self.kind: i64 = kind
        self.first: i64 = first
        self.second: i64 = second

    def encode(self) -> bytes:
        writer = PayloadWriter()
        writer.integer(self.kind)
        writer.position(self.first)
        writer.position(self.second)
        return frame(FETCH, 0, self.request, writer.getvalue())


@final
class Fetched(ReplicaFrame):
    """The reply to a FETCH, in parts; the last one has `is_last`. Without any data the copy does not have it."""

    def __init__(self, request: i64, position: i64, is_last: bool, data: bytes) -> None:
        self.request: i64 = request
        self.position: i64 = position
        self.is_last = is_last
        self.data = data

    def encode(self) -> bytes:
        writer = PayloadWriter()
        writer.position(self.position)
        writer.integer(1 if self.is_last else 0)
        writer.fixed(self.data)
        return frame(FETCH | REPLY, 0, self.request, writer.getvalue())


@final
class SideFile(ReplicaFrame):
    """SIDE_FILE: the next part of a set of files beside the log, such as the passwords of users.

    `replica.side_files` has the sets. Parts come in order, from offset 0 on, and no other set between them.
    """

    def __init__(self, term: i64, name: str, digest: bytes, size: i64, offset: i64, data: bytes) -> None:
        self.term: i64 = term
        self.name = name
        self.digest = digest
        """The SHA-256 of the whole set."""
        self.size: i64 = size
        """The bytes of the whole set."""
        self.offset: i64 = offset
        self.data = data

    def encode(self) -> bytes:
        writer = PayloadWriter()
        writer.position(self.term)
        writer.text(self.name)
        writer.fixed(self.digest)
        writer.position(self.size)
        writer.position(self.offset)
        writer.fixed(self.data)
        return frame(SIDE_FILE, 0, 0, writer.getvalue())


@final
class PairState(ReplicaFrame):
    """PAIR_STATE: an instance of a pair without arbiter, as it describes itself."""

    def __init__(self) -> None:
        self.version: i64 = _VERSION_OF_PAIRS
        self.is_reply = False
        self.group = ""
        self.queue_manager = ""
        self.instance = ""
        self.identity: bytes = bytes(IDENTITY_BYTES)
        self.flags: i64 = 0
        self.incarnation: i64 = 0
        """The number of starts of the instance. With `sequence` it tells a newer state from an older one."""
        self.sequence: i64 = 0
        self.heard_sequence: i64 = 0
        """The sequence of the newest state that was heard from the receiver of this one."""
        self.term: i64 = 0
        """The highest term that the instance knows; of a leader its own."""
        self.lowest_term: i64 = 0
        """It acknowledges nothing of a lower term."""
        self.in_sync_version: i64 = 0
        self.in_sync_term: i64 = 0
        self.in_sync: list[str] = []
        """The in-sync set that it knows, or that it asks for as the leader; empty: none."""
        self.copies: i64 = 0
        self.resolution: i64 = 0
        """The number of the last decision of a person for this instance."""
        self.settings_version: i64 = 0
        self.settings_writer = ""
        self.preferred = ""
        self.suspended: list[str] = []
        self.founder = ""
        self.end_lsn: i64 = 0
        self.group_lsn: i64 = 0
        self.lives: list[Life] = []

    def encode(self) -> bytes:
        writer = PayloadWriter()
        writer.fixed(MAGIC)
        writer.integer(self.version)
        writer.text(self.group)
        writer.name(self.queue_manager, NAME_BYTES)
        writer.text(self.instance)
        writer.fixed(self.identity)
        writer.integer(self.flags)
        for number in (self.incarnation, self.sequence, self.heard_sequence, self.term, self.lowest_term):
            writer.position(number)
        writer.position(self.in_sync_version)
        writer.position(self.in_sync_term)
        _write_names(writer, self.in_sync)
        writer.integer(self.copies)
        writer.position(self.resolution)
        writer.position(self.settings_version)
        writer.text(self.settings_writer)
        writer.text(self.preferred)
        _write_names(writer, self.suspended)
        writer.text(self.founder)
        writer.position(self.end_lsn)
        writer.position(self.group_lsn)
        write_lives(writer, self.lives)
        return frame(PAIR_STATE | (REPLY if self.is_reply else 0), 0, 1, writer.getvalue())


def _write_names(writer: PayloadWriter, names: list[str]) -> None:
    writer.integer(len(names))
    for name in names:
        writer.text(name)


def _read_names(reader: PayloadReader) -> list[str]:
    return [reader.text(INSTANCE_BYTES_MAX) for _ in range(reader.count(_PAIR_MEMBERS_MAX))]


def _read_pair_state(reader: PayloadReader, is_reply: bool) -> PairState:
    if reader.fixed(4) != MAGIC:
        raise MalformedFrame("the peer does not speak this protocol")
    state = PairState()
    state.is_reply = is_reply
    state.version = reader.count(1 << 16)
    if state.version > REPLICA_VERSION:
        raise MalformedFrame(f"the partner speaks version {state.version}; this release up to {REPLICA_VERSION}")
    state.group = reader.text(NAME_BYTES)
    state.queue_manager = reader.name(NAME_BYTES)
    state.instance = reader.text(INSTANCE_BYTES_MAX)
    state.identity = reader.fixed(IDENTITY_BYTES)
    state.flags = reader.count(PAIR_FLAGS_MAX)
    state.incarnation, state.sequence, state.heard_sequence = reader.position(), reader.position(), reader.position()
    state.term, state.lowest_term = reader.position(), reader.position()
    state.in_sync_version, state.in_sync_term = reader.position(), reader.position()
    state.in_sync = _read_names(reader)
    state.copies = reader.count(_PAIR_MEMBERS_MAX)
    if state.in_sync and not 1 <= state.copies <= len(state.in_sync):
        raise MalformedFrame(f"{state.copies} copies of {len(state.in_sync)} instances")
    state.resolution = reader.position()
    state.settings_version, state.settings_writer = reader.position(), reader.text(INSTANCE_BYTES_MAX)
    state.preferred = reader.text(INSTANCE_BYTES_MAX)
    state.suspended = _read_names(reader)
    state.founder = reader.text(INSTANCE_BYTES_MAX)
    state.end_lsn, state.group_lsn = reader.position(), reader.position()
    state.lives = read_lives(reader)
    return state


def write_lives(writer: PayloadWriter, lives: list[Life]) -> None:
    """Write the newest lives. Copies that have none of so many in common cannot be compared anyway."""
    kept = lives[-LIVES_MAX:]
    writer.integer(len(kept))
    for life in kept:
        _write_life(writer, life)


def _write_life(writer: PayloadWriter, life: Life) -> None:
    writer.position(life.epoch)
    writer.position(life.start_lsn)
    writer.position(life.term)
    writer.position(life.unix_time)
    writer.text(life.instance)


def read_lives(reader: PayloadReader) -> list[Life]:
    lives = [_read_life(reader) for _ in range(reader.count(LIVES_MAX))]
    for before, after in pairwise(lives):
        if after.epoch <= before.epoch or after.start_lsn < before.start_lsn:
            raise MalformedFrame(f"life {after.epoch} cannot follow life {before.epoch}")
    return lives


def _read_life(reader: PayloadReader) -> Life:
    epoch = reader.position()
    if epoch >= 1 << 32:
        raise MalformedFrame(f"a life with epoch {epoch}")
    start_lsn, term, unix_time = reader.position(), reader.position(), reader.position()
    return Life(epoch, start_lsn, reader.text(INSTANCE_BYTES_MAX), term, unix_time)


def decode_replica_frame(type: i64, request: i64, buffer: bytes, start: i64, end: i64) -> ReplicaFrame:
    """Return the frame with this type, request number and payload. Raises MalformedFrame."""
    if end - start > REPLICA_FRAME_BYTES_MAX - HEADER_BYTES:
        raise MalformedFrame(f"a frame of {end - start} bytes; the limit is {REPLICA_FRAME_BYTES_MAX}")
    reader = PayloadReader(buffer, start, end)
    found = _decode(type, request, reader)
    reader.check_end()
    return found


def _decode(type: i64, request: i64, reader: PayloadReader) -> ReplicaFrame:
    if type == REPLICA_LOG:
        return LogFrame(reader.position(), reader.position(), reader.position(), _rest(reader, IMAGES_BYTES_MAX))
    if type == REPLICA_LOG_ACK:
        numbers = [reader.position() for _ in range(5)]
        return LogAck(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], reader.count(ACK_FLAGS_MAX))
    if type == REPLICA_HELLO or type == REPLICA_HELLO | REPLY:
        return _read_hello(reader, type != REPLICA_HELLO)
    if type == REPLICA_LIFE:
        return LifeFrame(reader.position(), reader.position(), reader.position(), _read_life(reader))
    if type in (BASE_BEGIN, BASE_OBJECTS, BASE_QUEUE, BASE_MESSAGES, BASE_END):
        return _decode_base(type, reader)
    if type == FETCH:
        kind = reader.count(FETCH_MESSAGE)
        return Fetch(request, kind, reader.position(), reader.position())
    if type == FETCH | REPLY:
        return Fetched(request, reader.position(), reader.count(1) == 1, _rest(reader, IMAGES_BYTES_MAX))
    if type == SIDE_FILE:
        return _read_side_file(reader)
    if type == PAIR_STATE or type == PAIR_STATE | REPLY:
        return _read_pair_state(reader, type != PAIR_STATE)
    raise MalformedFrame(f"a frame of type {type} on a link between copies")


def _read_side_file(reader: PayloadReader) -> SideFile:
    term, name, digest = reader.position(), reader.text(_TEXT_BYTES_MAX), reader.fixed(DIGEST_BYTES)
    size, offset = reader.position(), reader.position()
    found = SideFile(term, name, digest, size, offset, _rest(reader, DATA_BYTES_MAX))
    if size > SIDE_SET_BYTES_MAX or offset + len(found.data) > size or not found.data:
        raise MalformedFrame(f"a part of {len(found.data)} bytes at {offset} of a side file of {size} bytes")
    return found


def _decode_base(type: i64, reader: PayloadReader) -> ReplicaFrame:
    if type == BASE_BEGIN:
        term, base, settings = reader.position(), reader.position(), reader.fixed(SETTINGS_BYTES)
        begun = BaseBegin(term, base, settings, reader.position(), reader.position())
        begun.restart_lsn, begun.position = reader.position(), reader.position()
        begun.lives = read_lives(reader)
        return begun
    if type == BASE_OBJECTS:
        return BaseObjects(reader.position(), _rest(reader, DATA_BYTES_MAX))
    if type == BASE_MESSAGES:
        return BaseMessages(reader.position(), reader.position(), _rest(reader, DATA_BYTES_MAX))
    numbers = [reader.position() for _ in range(5 if type == BASE_QUEUE else 4)]
    if type == BASE_QUEUE:
        return BaseQueue(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4])
    return BaseEnd(numbers[0], numbers[1], numbers[2], numbers[3])


def _rest(reader: PayloadReader, most: i64) -> bytes:
    data = reader.rest()
    if len(data) > most:
        raise MalformedFrame(f"{len(data)} bytes of data in a frame; the limit is {most}")
    return data
