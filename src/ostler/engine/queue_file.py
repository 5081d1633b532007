"""The file of a queue: messages beyond the buffers, and at a checkpoint the persistent ones.

The file is cut into segments. Messages are laid one behind the other into the current segment; a message larger
than a segment takes a run of whole ones. A segment whose messages are all gone is free again, unless the last
durable snapshot of the slots still speaks of it: a restart may need it until the next snapshot is durable. Free
segments at the end are given back to the file system.
"""

from __future__ import annotations

import heapq
from typing import Final, final
from zlib import crc32

from librt.strings import BytesWriter, read_i32_le, read_i64_le, write_i32_le, write_i64_le
from librt.vecs import append, vec
from mypy_extensions import i32, i64

from ostler.engine.message import MD_BYTES, Message
from ostler.engine.slots import NONE, place, place_length, place_position
from ostler.model.disk import Disk, File

SEGMENT_BYTES: Final = 1 << 20
PAGE_BYTES: Final = 4096
RECORD_HEADER_BYTES: Final = 32
_MAGIC: Final = 0x524D514F  # "OQMR"

# What refers to a segment besides the messages that are live in memory.
_IN_SNAPSHOT: Final = 1
_IN_NEXT_SNAPSHOT: Final = 2


class QueueFileDamaged(Exception):
    """A stored message does not read back as it was written."""


@final
class QueueFile:
    def __init__(self, disk: Disk, path: str) -> None:
        self.disk = disk
        self.path = path
        self.file: File | None = None
        self.live: vec[i64] = vec[i64]()  # messages in each segment
        self.marks: vec[i64] = vec[i64]()
        self.free: list[int] = []  # heap of free segments, the lowest first
        self.current: i64 = NONE
        self.fill: i64 = 0  # bytes used of the current segment
        self.name_is_durable = False

    # -- space ---------------------------------------------------------------

    def allocate(self, size_bytes: i64) -> i64:
        """The position for a record of so many bytes."""
        padded: i64 = (size_bytes + 7) & ~7
        if padded > SEGMENT_BYTES:
            return self._allocate_run(padded)
        if self.current == NONE or self.fill + padded > SEGMENT_BYTES:
            self._next_segment()
        position: i64 = self.current * SEGMENT_BYTES + self.fill
        self.fill += padded
        self.live[self.current] += 1
        return position

    def _next_segment(self) -> None:
        done: i64 = self.current
        self.fill = 0
        if self.free:
            self.current = heapq.heappop(self.free)
        else:
            self.current = len(self.live)
            self._add_segment()
        if done != NONE and self.live[done] == 0:
            self._offer(done)

    def _add_segment(self) -> None:
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
            segment += 1
        return first * SEGMENT_BYTES

    def _free_run(self, segments: i64) -> i64:
        """Take the lowest run of so many free segments off the free list; NONE when there is none."""
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
                return first
            index += 1
        return NONE

    def release(self, packed: i64) -> None:
        """The message at this place is gone for good."""
        position: i64 = place_position(packed)
        segment: i64 = position // SEGMENT_BYTES
        last: i64 = (position + place_length(packed) - 1) // SEGMENT_BYTES
        while segment <= last:
            self.live[segment] -= 1
            if self.live[segment] == 0:
                if segment != self.current:
                    self._offer(segment)
                elif self.marks[segment] == 0:
                    self.fill = 0
            segment += 1

    def _offer(self, segment: i64) -> None:
        if self.marks[segment] == 0:
            heapq.heappush(self.free, segment)

    def claim(self, packed: i64) -> None:
        """Count a record found in a snapshot at restart."""
        position: i64 = place_position(packed)
        segment: i64 = position // SEGMENT_BYTES
        last: i64 = (position + place_length(packed) - 1) // SEGMENT_BYTES
        while len(self.live) <= last:
            self._add_segment()
        while segment <= last:
            self.live[segment] += 1
            self.marks[segment] = _IN_SNAPSHOT
            segment += 1

    def claimed(self) -> None:
        """All records of the snapshot are counted: what lies between them is free."""
        segment: i64 = 0
        while segment < len(self.live):
            if self.live[segment] == 0:
                self._offer(segment)
            segment += 1

    def begin_snapshot(self) -> None:
        """A snapshot of the slots is being taken now: what is live now must stay until the one after it is durable.

        Later messages begin on another page: a device may spoil the one that it is writing. Raises DiskFull.
        """
        rest: i64 = -self.fill & (PAGE_BYTES - 1)
        if rest != 0:
            self.opened().write_at(self.current * SEGMENT_BYTES + self.fill, [bytes(rest)])
            self.fill += rest
        segment: i64 = 0
        while segment < len(self.live):
            if self.live[segment] > 0:
                self.marks[segment] |= _IN_NEXT_SNAPSHOT
            segment += 1

    def snapshot_durable(self) -> None:
        segment: i64 = 0
        while segment < len(self.live):
            was: i64 = self.marks[segment]
            self.marks[segment] = was >> 1
            if was != 0 and self.marks[segment] == 0 and self.live[segment] == 0 and segment != self.current:
                heapq.heappush(self.free, segment)
            segment += 1
        self.give_back()

    def give_back(self) -> None:
        """Shorten the file by the free segments at its end."""
        current: i64 = self.current
        if current != NONE and self.live[current] == 0 and self.marks[current] == 0:
            heapq.heappush(self.free, current)
            self.current = NONE
            self.fill = 0
        if not self.free:
            return
        free = set(self.free)
        count: i64 = len(self.live)
        while count > 0 and count - 1 in free:
            count -= 1
        if count == len(self.live):
            return
        self.free = [segment for segment in self.free if segment < count]
        heapq.heapify(self.free)
        self.live = self.live[:count]
        self.marks = self.marks[:count]
        if self.file is not None and self.file.size_bytes() > count * SEGMENT_BYTES:
            self.file.truncate(count * SEGMENT_BYTES)

    # -- records ---------------------------------------------------------------

    def opened(self) -> File:
        file = self.file
        if file is None:
            slash = self.path.rfind("/")
            if slash > 0:
                self.disk.make_directory(self.path[:slash])
            file = self.disk.open(self.path, True)
            self.file = file
        return file

    def read(self, packed: i64) -> Message:
        position: i64 = place_position(packed)
        length: i64 = place_length(packed)
        data = self.opened().read_at(position, length)
        if len(data) != length or read_i32_le(data, 0) != _MAGIC or i64(read_i32_le(data, 4)) != length:
            raise QueueFileDamaged(f"{self.path}: no message at offset {position}, where {length} bytes were expected")
        checksum: i64 = crc32(memoryview(data)[16:])
        if read_i64_le(data, 8) != checksum:
            raise QueueFileDamaged(f"{self.path}: the message at offset {position} does not match its checksum")
        properties_end: i64 = RECORD_HEADER_BYTES + MD_BYTES + read_i64_le(data, 16)
        return Message(
            data[RECORD_HEADER_BYTES : RECORD_HEADER_BYTES + MD_BYTES],
            data[RECORD_HEADER_BYTES + MD_BYTES : properties_end],
            data[properties_end:],
            read_i64_le(data, 24),
        )

    def write(self, messages: list[Message]) -> list[int]:
        """Write messages, and return their places. Nothing is allocated when the disk is full."""
        places: list[int] = []
        runs: list[tuple[int, list[bytes]]] = []
        run_end: i64 = NONE
        for message in messages:
            length: i64 = RECORD_HEADER_BYTES + message.size_bytes()
            position: i64 = self.allocate(length)
            places.append(place(position, length))
            if position != run_end:
                runs.append((position, []))
            parts = runs[-1][1]
            _add_record(parts, message, length)
            run_end = position + ((length + 7) & ~7)
            if run_end > position + length:
                parts.append(bytes(run_end - position - length))
        try:
            for position_first, parts in runs:
                self.opened().write_at(position_first, parts)
        except BaseException:
            for packed in places:
                self.release(packed)
            raise
        return places

    def force(self) -> None:
        """Make what was written durable, and with it the name of a file that may be new."""
        if self.file is not None:
            self.file.force()
            if not self.name_is_durable:
                self.disk.force_directory(self.path[: max(self.path.rfind("/"), 0)])
                self.name_is_durable = True

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None

    def forget(self) -> None:
        """The file was removed: begin with an empty one."""
        self.live = vec[i64]()
        self.marks = vec[i64]()
        self.free = []
        self.current = NONE
        self.fill = 0
        self.name_is_durable = False

    def size_bytes(self) -> i64:
        return len(self.live) * SEGMENT_BYTES


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
