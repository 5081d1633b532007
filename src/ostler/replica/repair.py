"""FETCH: a message, or a range of the log, that one copy has lost and another one has.

    ask     Fetch(request, FETCH_MESSAGE, queue id, sequence number) or Fetch(request, FETCH_LOG, position, end)
    answer  Fetched, in parts; without any data the other copy does not have it

A message is named by its queue and sequence number, and comes as it stands in a queue's file, with its checksum. Blocks
are checked by whoever writes them again. So a wrong answer can repair nothing, and can spoil nothing.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.message.message import Message
from ostler.engine.queue.queue_file import QueueFileDamaged, decode_record, encode_record
from ostler.engine.queue.repair import slot_of
from ostler.engine.queue.slots import NONE
from ostler.log.catch_up import CatchUpReader, LogGone
from ostler.model.errors import MQError
from ostler.replica.base_source import Still
from ostler.wire.replica_frames import DATA_BYTES_MAX, FETCH_LOG, Fetch, Fetched, ReplicaFrame

_RECORD_BYTES_MAX: Final = 1 << 28


def find_message(still: Still, queue_id: int, seq: int) -> Message | None:
    """Return a message of this copy, read while work goes on; None when it is not there, or damaged here, too."""
    with still() as engine:
        queue = engine.queues_by_id.get(queue_id)
        slot: i64 = NONE if queue is None or queue.damaged else slot_of(queue, seq)
        if queue is None or slot == NONE:
            return None
        message = queue.slots.resident[slot]
        if message is not None:
            return message
        extent = queue.slots.extents[slot]
        try:
            handle = queue.file.begin_read()
        except MQError:
            return None
    try:
        message = queue.file.read_many(handle, [extent], 1)[0]
    except QueueFileDamaged:
        return None
    finally:
        with still():
            queue.file.end_read()
    # The space may have been used again meanwhile.
    return message if message is not None and message.seq == seq else None


def answer_fetch(asked: Fetch, still: Still, reader: CatchUpReader, end: i64) -> list[ReplicaFrame]:
    """Return the answer to a FETCH. `reader` is for this thread only; the log is forced up to `end`."""
    data = b""
    if asked.kind == FETCH_LOG:
        until = min(asked.second, end)
        try:
            if asked.first < until:
                data = reader.read(asked.first, until, DATA_BYTES_MAX)
        except LogGone:
            data = b""
        return [Fetched(asked.request, asked.first, True, data)]
    message = find_message(still, asked.first, asked.second)
    if message is not None:
        data = b"".join(encode_record(message))
    parts: list[ReplicaFrame] = []
    for start in range(0, max(len(data), 1), DATA_BYTES_MAX):
        is_last = start + DATA_BYTES_MAX >= len(data)
        parts.append(Fetched(asked.request, start, is_last, data[start : start + DATA_BYTES_MAX]))
    return parts


@final
class FetchedData:
    """The parts of one answer."""

    def __init__(self, request: i64) -> None:
        self.request: Final[i64] = request
        self.is_whole = False
        self._parts: list[bytes] = []
        self._size: i64 = 0

    def take(self, part: Fetched) -> bool:
        """Take a part. Return True when the answer is whole. Parts of other answers are passed over."""
        if part.request != self.request or self.is_whole:
            return False
        self._parts.append(part.data)
        self._size += len(part.data)
        self.is_whole = part.is_last or self._size > _RECORD_BYTES_MAX
        return self.is_whole

    def data(self) -> bytes:
        return b"".join(self._parts)

    def message(self) -> Message | None:
        """Return the message; None when the other copy does not have it, or it is not whole."""
        data = self.data()
        if not data:
            return None
        try:
            return decode_record(data, "another copy's answer", 0, len(data))
        except QueueFileDamaged:
            return None
