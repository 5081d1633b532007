"""The file of a queue: it holds messages beyond the buffers, and from each checkpoint on the persistent ones.

The file is divided into segments. Messages are appended to the current segment; a message larger than a segment takes a
run of whole ones. A segment without messages is free again, unless the last durable snapshot of the slots still refers
to it: a restart may need it until the next snapshot is durable; or unless it is pinned, because another thread reads
the messages that the queue had a while ago. Free segments at the end are given back to the file system.
"""

from __future__ import annotations

import heapq
from typing import Final, final
from zlib import crc32

from librt.strings import BytesWriter, read_i32_le, read_i64_le, write_i32_le, write_i64_le
from librt.vecs import append, vec
from mypy_extensions import i32, i64

from ostler.engine.message.message import MD_BYTES, Message
from ostler.engine.queue.slots import NONE, extent_length, extent_offset, pack_extent
from ostler.model import constants as mq
from ostler.model.disk import DescriptorsExhausted, Disk, DiskFailed, DiskFull, File
from ostler.model.errors import MQError

SEGMENT_BYTES: Final = 1 << 20
PAGE_BYTES: Final = 4096
RECORD_HEADER_BYTES: Final = 32
_MAGIC: Final = 0x524D514F  # "OQMR"
_READ_SEPARATELY_BYTES: Final = 256 * 1024
# Longer records are not read from the page cache under the engine's lock: copies and checksum take 1 ns a byte.
CACHED_READ_BYTES_MAX: Final = 64 * 1024
# To free space takes a file system long: a file is shortened by so much at once.
_TRIMMED_BYTES_MAX: Final = 64 << 20
# Messages with at most this much between them are read at once.
_GAP_BYTES: Final = 4096

# Marks of segments that a snapshot refers to, or that a capture of the queue is read from.
_IN_SNAPSHOT: Final = 1
_IN_NEXT_SNAPSHOT: Final = 2
_PINNED: Final = 4


# Until the limit of descriptors is known.
_OPEN_DEFAULT: Final = 1 << 30


class QueueFileDamaged(Exception):
    """A stored message does not read back as it was written."""


@final
class OpenFiles:
    """The open queue files, within a limit: beyond it the least recently used one is closed.

    A file with unforced writes is closed only when there is no other, and is forced first: the kernel need not report
    an error of these writes on a new descriptor. All methods require that the engine stands still.
    """

    def __init__(self) -> None:
        self.limit: i64 = _OPEN_DEFAULT
        self.clock: i64 = 0
        self.open: list[QueueFile] = []

    def close_one(self) -> bool:
        """Close the least needed file. Returns False when none can be closed."""
        chosen: QueueFile | None = None
        for each in self.open:
            if each.is_pinned or each.readers > 0:
                continue
            if chosen is None or each.is_evicted_before(chosen):
                chosen = each
        if chosen is None:
            return False
        chosen.close_durably()
        return True


@final
class QueueFile:
    def __init__(self, disk: Disk, path: str, files: OpenFiles) -> None:
        self.disk = disk
        self.path = path
        self.files = files
        self.file: File | None = None
        self.used: i64 = 0  # last time, by the clock of `OpenFiles`
        self.is_pinned = False  # while another thread forces it
        self.readers: i64 = 0  # reads that other threads make
        self.pins: i64 = 0  # captures whose messages are still read
        self._left_open: list[File] = []  # files that were closed meanwhile: the last reader closes them
        self.is_dirty = False  # it has unforced writes
        self.failure = ""  # of a force: what was written stays uncertain for good
        self.was_opened = False
        self.needs_truncate = False  # it may be longer than its segments
        self.discarded: set[int] = set()  # free segments whose space was given back to the disk
        # End of the snapshot's records in each segment. Anything behind was written before the last restart.
        self.ends: vec[i64] = vec[i64]()
        self.live: vec[i64] = vec[i64]()  # messages in each segment
        self.marks: vec[i64] = vec[i64]()
        self.free: list[int] = []  # heap of free segments, the lowest first
        self.current: i64 = NONE
        self.fill: i64 = 0  # bytes used of the current segment
        self.name_is_durable = False

    # -- space ---------------------------------------------------------------

    def allocate(self, size_bytes: i64) -> i64:
        """Allocate space for a record and return its offset."""
        padded: i64 = (size_bytes + 7) & ~7
        if padded > SEGMENT_BYTES:
            return self._allocate_run(padded)
        if self.current == NONE or self.fill + padded > SEGMENT_BYTES:
            self._next_segment()
        offset: i64 = self.current * SEGMENT_BYTES + self.fill
        self.fill += padded
        self.live[self.current] += 1
        return offset

    def _next_segment(self) -> None:
        done: i64 = self.current
        self.fill = 0
        if self.free:
            self.current = heapq.heappop(self.free)
            if self.discarded:
                self.discarded.discard(self.current)
            self._reuse(self.current)
        else:
            self.current = len(self.live)
            self._add_segment()
        if done != NONE and self.live[done] == 0:
            self._free_if_unmarked(done)

    def _reuse(self, segment: i64) -> None:
        if segment < len(self.ends):
            self.ends[segment] = 0

    def _add_segment(self) -> None:
        self._reuse(len(self.live))
        self.live = append(self.live, 0)
        self.marks = append(self.marks, 0)

    def _allocate_run(self, padded: i64) -> i64:
        segments: i64 = (padded + SEGMENT_BYTES - 1) // SEGMENT_BYTES
        first: i64 = self._free_run(segments)
        if first == NONE:
            first = len(self.live)
            added: i64 = 0
            while added < segments:
                self._add_segment()
                added += 1
        segment: i64 = first
        while segment < first + segments:
            self.live[segment] += 1
            self._reuse(segment)
            segment += 1
        return first * SEGMENT_BYTES

    def _free_run(self, segments: i64) -> i64:
        """Take the lowest run of so many free segments off the free list, or return NONE."""
        if len(self.free) < segments:
            return NONE
        ordered = sorted(self.free)
        start: i64 = 0
        index: i64 = 0
        while index < len(ordered):
            if ordered[index] - ordered[start] != index - start:
                start = index
            if index - start + 1 == segments:
                first: i64 = ordered[start]
                self.free = [number for number in ordered if number < first or number >= first + segments]
                self.discarded.difference_update(ordered[start : index + 1])
                return first
            index += 1
        return NONE

    def release(self, extent: i64) -> None:
        """Free the extent of a message that is gone for good."""
        offset: i64 = extent_offset(extent)
        segment: i64 = offset // SEGMENT_BYTES
        last: i64 = (offset + extent_length(extent) - 1) // SEGMENT_BYTES
        while segment <= last:
            self.live[segment] -= 1
            if self.live[segment] == 0:
                if segment != self.current:
                    self._free_if_unmarked(segment)
                elif self.marks[segment] == 0:
                    self.fill = 0
            segment += 1

    def release_all(self) -> None:
        """Free the extents of all messages: they are gone for good."""
        segment: i64 = 0
        while segment < len(self.live):
            if self.live[segment] != 0:
                self.live[segment] = 0
                if segment != self.current:
                    self._free_if_unmarked(segment)
                elif self.marks[segment] == 0:
                    self.fill = 0
            segment += 1

    def _free_if_unmarked(self, segment: i64) -> None:
        if self.marks[segment] == 0:
            heapq.heappush(self.free, segment)

    def claim(self, extent: i64) -> None:
        """Count a record found in a snapshot at restart."""
        offset: i64 = extent_offset(extent)
        segment: i64 = offset // SEGMENT_BYTES
        last: i64 = (offset + extent_length(extent) - 1) // SEGMENT_BYTES
        while len(self.live) <= last:
            self._add_segment()
        while segment <= last:
            self.live[segment] += 1
            self.marks[segment] = _IN_SNAPSHOT
            segment += 1
        while len(self.ends) <= last:
            self.ends = append(self.ends, 0)
        end: i64 = offset + extent_length(extent) - last * SEGMENT_BYTES
        if end > self.ends[last]:
            self.ends[last] = end

    def finish_claims(self) -> None:
        """Free the segments that no record of the snapshot is in. Call it after the last `claim`."""
        segment: i64 = 0
        while segment < len(self.live):
            if self.live[segment] == 0:
                self._free_if_unmarked(segment)
            segment += 1

    def begin_snapshot(self) -> None:
        """Note that a snapshot of the slots is taken now: it keeps live messages until the next snapshot is durable.

        Later messages begin on a new page, as a device may destroy the page that it is writing. Raises DiskFull.
        """
        rest: i64 = -self.fill & (PAGE_BYTES - 1)
        if rest != 0:
            self._write_at(self.current * SEGMENT_BYTES + self.fill, [bytes(rest)])
            self.fill += rest
        if not self.was_opened:
            self.needs_truncate = True  # more may have been written before a crash than any snapshot refers to
        segment: i64 = 0
        while segment < len(self.live):
            if self.live[segment] > 0:
                self.marks[segment] |= _IN_NEXT_SNAPSHOT
            segment += 1

    def on_snapshot_durable(self) -> None:
        segment: i64 = 0
        while segment < len(self.live):
            was: i64 = self.marks[segment]
            self.marks[segment] = (was & ~_PINNED) >> 1 | was & _PINNED
            if was != 0 and self.marks[segment] == 0 and self.live[segment] == 0 and segment != self.current:
                heapq.heappush(self.free, segment)
            segment += 1
        self.trim()

    def pin(self) -> None:
        """Keep all messages that the file has now readable until `unpin`, whatever happens to them."""
        self.pins += 1
        segment: i64 = 0
        while segment < len(self.live):
            if self.live[segment] > 0:
                self.marks[segment] |= _PINNED
            segment += 1

    def unpin(self) -> None:
        """Undo one `pin`. With the last one, segments without messages are free again."""
        self.pins -= 1
        if self.pins > 0:
            return
        segment: i64 = 0
        while segment < len(self.live):
            if self.marks[segment] & _PINNED:
                self.marks[segment] &= ~_PINNED
                if self.live[segment] == 0 and segment != self.current:
                    self._free_if_unmarked(segment)
            segment += 1

    def trim(self) -> None:
        """Shorten the file by the free segments at its end, or by some of them: then `needs_truncate` stays True."""
        current: i64 = self.current
        if current != NONE and self.live[current] == 0 and self.marks[current] == 0:
            heapq.heappush(self.free, current)
            self.current = NONE
            self.fill = 0
        if self.free:
            self._drop_free_tail()
        if self.needs_truncate:
            self._truncate()

    def _drop_free_tail(self) -> None:
        free = set(self.free)
        count: i64 = len(self.live)
        while count > 0 and count - 1 in free:
            count -= 1
        if count == len(self.live):
            return
        self.free = [segment for segment in self.free if segment < count]
        heapq.heapify(self.free)
        self.discarded = {segment for segment in self.discarded if segment < count}
        self.live = self.live[:count]
        self.marks = self.marks[:count]
        if len(self.ends) > count:
            self.ends = self.ends[:count]  # the numbers will be used again
        self.needs_truncate = True

    def discard_free(self) -> None:
        """Give the space of all free segments back to a full disk, not only of those at the end."""
        if not self.was_opened:
            self.needs_truncate = True  # more may have been written before a crash than any snapshot refers to
        self.trim()
        try:
            for segment in self.free:
                if segment not in self.discarded:
                    self.open_file().discard(segment * SEGMENT_BYTES, SEGMENT_BYTES)
                    self.discarded.add(segment)
            self._discard_ends()
        except DiskFull:
            return  # it is tried again behind the next checkpoint

    def _discard_ends(self) -> None:
        """Discard records written after the last snapshot before a restart: they were replayed and are written anew."""
        segment: i64 = 0
        for end in self.ends:
            begin: i64 = (end + PAGE_BYTES - 1) // PAGE_BYTES * PAGE_BYTES
            if segment < len(self.live) and self.live[segment] > 0 and begin > 0 and begin < SEGMENT_BYTES:
                self.open_file().discard(segment * SEGMENT_BYTES + begin, SEGMENT_BYTES - begin)
            segment += 1
        self.ends = vec[i64]()

    def _truncate(self) -> None:
        size: i64 = len(self.live) * SEGMENT_BYTES
        try:
            if self.file is None and not self.disk.exists(self.path):
                self.needs_truncate = False
                return
            file = self.open_file()
            is_last = True
            found: i64 = file.size_bytes()
            if found - _TRIMMED_BYTES_MAX > size:
                size = found - _TRIMMED_BYTES_MAX
                is_last = False
            if found > size:
                file.truncate(size)
            self.needs_truncate = not is_last
        except DiskFull:
            return  # it is tried again behind the next checkpoint

    # -- records ---------------------------------------------------------------

    def open_file(self) -> File:
        """Return the file, opened if need be. Raises DescriptorsExhausted when no other file can be closed for it."""
        file = self.file
        if file is None:
            file = self._open()
        files = self.files
        files.clock += 1
        self.used = files.clock
        return file

    def _open(self) -> File:
        files = self.files
        while len(files.open) >= files.limit and files.close_one():
            pass
        if not self.was_opened:
            slash = self.path.rfind("/")
            if slash > 0:
                self.disk.make_directory(self.path[:slash])
        while True:
            try:
                file = self.disk.open(self.path, True)
                break
            except DescriptorsExhausted:
                if not files.close_one():
                    raise
        self.was_opened = True
        self.file = file
        files.open.append(self)
        return file

    def is_evicted_before(self, other: QueueFile) -> bool:
        """Return True when this file is to be closed rather than the other."""
        if self.is_dirty != other.is_dirty:
            return other.is_dirty
        return self.used < other.used

    def _write_at(self, offset: i64, parts: list[bytes]) -> None:
        file = self.open_file()
        file.write_at(offset, parts)
        self.is_dirty = True  # set after the write, which a force under way meanwhile need not have covered

    def read(self, extent: i64) -> Message:
        """Read a message. Raises QueueFileDamaged when there is none or it cannot be read."""
        return self._read_from(self._open_to_read(), extent)

    def _open_to_read(self) -> File:
        try:
            return self.open_file()
        except DescriptorsExhausted as exhausted:
            raise MQError(mq.MQRC_RESOURCE_PROBLEM, str(exhausted)) from None

    def read_cached(self, extents: list[int]) -> list[Message]:
        """Read a message that is in memory already, without waiting, and those of the next extents that lie behind it.

        One call reads them all. Nothing is returned when the first one, or one that lies next to it, must be read by
        another thread. A damaged message ends the list: whoever reads it then reports or repairs it.
        """
        found: list[Message] = []
        count: i64 = _count_adjacent(extents, 0, CACHED_READ_BYTES_MAX)
        start: i64 = extent_offset(extents[0])
        size: i64 = extent_offset(extents[count - 1]) + extent_length(extents[count - 1]) - start
        data = self._open_to_read().read_cached(start, size) if size <= CACHED_READ_BYTES_MAX else None
        if data is None:
            return found
        try:
            while len(found) < count:
                found.append(self._decode_part(data, start, extents[len(found)]))
        except QueueFileDamaged:
            pass
        return found

    def _decode_part(self, data: bytes, start: i64, extent: i64) -> Message:
        """Return the message of one extent from data that was read from offset `start` on."""
        at: i64 = extent_offset(extent) - start
        length: i64 = extent_length(extent)
        return decode_record(data[at : at + length], self.path, start + at, length)

    def begin_read(self) -> File:
        """Return the file for reads by another thread. It stays open until `end_read`."""
        file = self._open_to_read()
        self.readers += 1
        return file

    def end_read(self) -> None:
        self.readers -= 1
        if self.readers == 0 and self._left_open:
            for file in self._left_open:
                file.close()
            self._left_open = []

    def read_many(self, file: File, extents: list[int], needed: i64) -> list[Message | None]:
        """Read messages, those that lie next to each other at once. The engine need not stand still.

        The first `needed` ones raise QueueFileDamaged as `read` does; of the others None is returned then.
        """
        found: list[Message | None] = []
        index: i64 = 0
        while index < len(extents):
            first: i64 = extents[index]
            last: i64 = index + _count_adjacent(extents, index, _READ_SEPARATELY_BYTES)
            try:
                if last == index + 1:
                    found.append(self._read_from(file, first))
                else:
                    start: i64 = extent_offset(first)
                    end: i64 = extent_offset(extents[last - 1]) + extent_length(extents[last - 1])
                    data = _read_at(file, start, end - start)
                    while index < last:
                        found.append(self._decode_part(data, start, extents[index]))
                        index += 1
            except QueueFileDamaged:
                if len(found) < needed:
                    raise
                while len(found) < last:
                    found.append(None)
            index = last
        return found

    def _read_from(self, file: File, extent: i64) -> Message:
        offset: i64 = extent_offset(extent)
        length: i64 = extent_length(extent)
        if length > _READ_SEPARATELY_BYTES:
            return self._read_long(file, offset, length)
        return decode_record(_read_at(file, offset, length), self.path, offset, length)

    def _read_long(self, file: File, offset: i64, length: i64) -> Message:
        """Read a long message. Its data is read separately, to save a copy."""
        head = _read_at(file, offset, RECORD_HEADER_BYTES + MD_BYTES)
        is_one: bool = len(head) == RECORD_HEADER_BYTES + MD_BYTES and read_i32_le(head, 0) == _MAGIC
        properties_bytes: i64 = read_i64_le(head, 16) if is_one else -1
        body_at: i64 = RECORD_HEADER_BYTES + MD_BYTES + properties_bytes
        if not is_one or i64(read_i32_le(head, 4)) != length or properties_bytes < 0 or body_at > length:
            raise QueueFileDamaged(f"{self.path}: no message at offset {offset}, where {length} bytes were expected")
        properties = _read_at(file, offset + RECORD_HEADER_BYTES + MD_BYTES, properties_bytes)
        body = _read_at(file, offset + body_at, length - body_at)
        checksum: i64 = crc32(body, crc32(properties, crc32(memoryview(head)[16:])))
        if len(body) != length - body_at or read_i64_le(head, 8) != checksum:
            raise QueueFileDamaged(f"{self.path}: the message at offset {offset} does not match its checksum")
        return Message(head[RECORD_HEADER_BYTES:], properties, body, read_i64_le(head, 24))

    def write(self, messages: list[Message]) -> list[int]:
        """Write messages and return their extents. On a full disk nothing is allocated."""
        extents: list[int] = []
        runs: list[tuple[int, list[bytes]]] = []
        run_end: i64 = NONE
        current: i64 = self.current
        fill: i64 = self.fill
        for message in messages:
            length: i64 = RECORD_HEADER_BYTES + message.size_bytes()
            offset: i64 = self.allocate(length)
            extents.append(pack_extent(offset, length))
            if offset != run_end:
                runs.append((offset, []))
            parts = runs[-1][1]
            _add_record(parts, message, length)
            run_end = offset + ((length + 7) & ~7)
            if run_end > offset + length:
                parts.append(bytes(run_end - offset - length))
        try:
            for offset_first, parts in runs:
                self._write_at(offset_first, parts)
        except BaseException:
            for extent in extents:
                self.release(extent)
            if current != NONE and self.current == current:
                self.fill = fill  # another try writes to the same offset and needs no more space
            raise
        return extents

    def force(self) -> None:
        """Make all writes durable, and the directory entry of a new file. Raises DiskFailed.

        The engine need not stand still while the file is pinned; writes made meanwhile may or may not be durable.
        """
        if self.failure:
            raise DiskFailed(self.failure)
        file = self.file
        if file is not None and self.is_dirty:
            self.is_dirty = False
            try:
                file.force()
            except DiskFailed as failed:
                self.failure = str(failed)
                raise
        if self.was_opened and not self.name_is_durable:
            self.disk.force_directory(self.path[: max(self.path.rfind("/"), 0)])
            self.name_is_durable = True

    def close_durably(self) -> None:
        """Force and close the file for now. If that force fails, the next `force` raises."""
        file = self.file
        if file is not None and self.is_dirty:
            self.is_dirty = False
            try:
                file.force()
            except DiskFailed as failed:
                self.failure = str(failed)
        self.close()

    def close(self) -> None:
        file = self.file
        if file is not None:
            self.file = None
            self.files.open.remove(self)
            if self.readers > 0:
                self._left_open.append(file)
            else:
                file.close()

    def reset(self) -> None:
        """Begin with an empty file, after the old one was removed."""
        self.live = vec[i64]()
        self.marks = vec[i64]()
        self.free = []
        self.current = NONE
        self.fill = 0
        self.name_is_durable = False
        self.was_opened = False
        self.is_dirty = False
        self.needs_truncate = False
        self.discarded = set()
        self.ends = vec[i64]()

    def size_bytes(self) -> i64:
        return len(self.live) * SEGMENT_BYTES


def _read_at(file: File, offset: i64, length: i64) -> bytes:
    """Read bytes of a message. A device that cannot is damage of the file."""
    try:
        return file.read_at(offset, length)
    except DiskFailed as failed:
        raise QueueFileDamaged(str(failed)) from None


def _count_adjacent(extents: list[int], index: i64, bytes_max: i64) -> i64:
    """Return the number of extents from one on, at least 1, that one read of so many bytes gets."""
    start: i64 = extent_offset(extents[index])
    end: i64 = start + extent_length(extents[index])
    last: i64 = index + 1
    while last < len(extents):
        offset: i64 = extent_offset(extents[last])
        following: i64 = offset + extent_length(extents[last])
        if offset < end or offset > end + _GAP_BYTES or following - start > bytes_max:
            break
        end = following
        last += 1
    return last - index


def decode_record(data: bytes, path: str, offset: i64, length: i64) -> Message:
    """Return the message of a record of `length` bytes. Raises QueueFileDamaged, which names path and offset."""
    if len(data) != length or read_i32_le(data, 0) != _MAGIC or i64(read_i32_le(data, 4)) != length:
        raise QueueFileDamaged(f"{path}: no message at offset {offset}, where {length} bytes were expected")
    checksum: i64 = crc32(memoryview(data)[16:])
    if read_i64_le(data, 8) != checksum:
        raise QueueFileDamaged(f"{path}: the message at offset {offset} does not match its checksum")
    properties_end: i64 = RECORD_HEADER_BYTES + MD_BYTES + read_i64_le(data, 16)
    return Message(
        data[RECORD_HEADER_BYTES : RECORD_HEADER_BYTES + MD_BYTES],
        data[RECORD_HEADER_BYTES + MD_BYTES : properties_end],
        data[properties_end:],
        read_i64_le(data, 24),
    )


def encode_record(message: Message) -> list[bytes]:
    """Return a message as it stands in the file, in parts."""
    parts: list[bytes] = []
    _add_record(parts, message, RECORD_HEADER_BYTES + message.size_bytes())
    return parts


def record_length(head: bytes) -> i64:
    """Return the length of a record from its first 8 bytes. Raises QueueFileDamaged when it is none."""
    length: i64 = i64(read_i32_le(head, 4))
    if read_i32_le(head, 0) != _MAGIC or length < RECORD_HEADER_BYTES + MD_BYTES:
        raise QueueFileDamaged("there is no record of a message")
    return length


def _add_record(parts: list[bytes], message: Message, length: i64) -> None:
    tail = BytesWriter()
    write_i64_le(tail, len(message.properties))
    write_i64_le(tail, message.seq)
    rest = tail.getvalue()
    checksum: i64 = crc32(message.body, crc32(message.properties, crc32(message.md, crc32(rest))))
    head = BytesWriter()
    write_i32_le(head, _MAGIC)
    write_i32_le(head, i32(length))
    write_i64_le(head, checksum)
    parts.append(head.getvalue())
    parts.append(rest)
    parts.append(message.md)
    if message.properties:
        parts.append(message.properties)
    parts.append(message.body)
