"""rcdmqimg and rcrmqobj: record media images of queues in a linear log, and rebuild queues from them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from ostler.engine.queue.queue import Queue
from ostler.engine.recovery.media import ImageWriter, MediaRebuild, media_lsn
from ostler.log.reader import LogVisitor
from ostler.log.settings import LogType
from ostler.model import constants as mq
from ostler.model.errors import LogFull, MQError
from ostler.server.manager_core import ManagerCore
from ostler.server.storage.message_reader import call_with_reads

_ROOM_TRIES: Final = 3


@dataclass(frozen=True)
class RecordedImage:
    """A media image that was recorded."""

    queue_name: str
    messages: int
    seconds: float


class _Visitor(LogVisitor):
    def __init__(self, rebuild: MediaRebuild) -> None:
        self._rebuild = rebuild

    def record(self, kind: int, lsn: int, payload: bytes) -> None:
        self._rebuild.record(kind, lsn, payload)

    def progress(self, done_bytes: int, total_bytes: int) -> None:
        pass


def record_image(manager: ManagerCore, name: str) -> RecordedImage:
    """rcdmqimg for one queue: copy it into the log in slices, releasing the lock in between."""
    _check_linear(manager)
    began = time.monotonic()
    with manager.turn:
        writer = ImageWriter(manager.engine, _queue(manager, name))
    while not _step(manager, writer):
        pass
    manager.writer.wait_durable(writer.end_lsn)
    with manager.turn:
        writer.on_durable()
    return RecordedImage(name, writer.messages, time.monotonic() - began)


def _step(manager: ManagerCore, writer: ImageWriter) -> bool:
    """Copy a part of a queue, after a checkpoint if the log is filling. Raises LogFull when that does not help.

    An image does not go on in a log that units of work keep: they would be backed out to make room for it.
    """
    if manager.log.is_filling():
        manager.checkpoint()
        if manager.log.is_filling():
            raise LogFull(writer.no_room())
    for _ in range(_ROOM_TRIES):
        try:
            return _step_once(manager, writer)
        except LogFull:
            manager.checkpoint()  # others may take what it frees
    return _step_once(manager, writer)


def _step_once(manager: ManagerCore, writer: ImageWriter) -> bool:
    is_whole = call_with_reads(manager, lambda _: writer.step())
    if manager.log.buffer_is_full():
        manager.writer.wait_durable(manager.log.end_lsn())
    return is_whole


def record_all_images(manager: ManagerCore) -> list[RecordedImage]:
    """rcdmqimg for every queue that survives a restart; then advance the log's media recovery point."""
    _check_linear(manager)
    with manager.media_turn:
        return _record_all(manager)


def _record_all(manager: ManagerCore) -> list[RecordedImage]:
    with manager.turn:
        names = [queue.name for queue in manager.engine.queues_by_id.values() if not queue.is_temporary]
    recorded = []
    for name in names:
        with manager.turn:
            is_intact = name in manager.engine.queues and not manager.engine.queues[name].damaged
        if is_intact:
            recorded.append(record_image(manager, name))
    # The checkpoint's manifest records the images; only then may older extents be released.
    manager.checkpoint()
    with manager.turn:
        lsn = media_lsn(manager.engine)
    manager.writer.set_media_lsn(max(lsn, manager.log.writer.media_lsn))
    return recorded


def recover_queue(manager: ManagerCore, name: str) -> int:
    """rcrmqobj: rebuild a queue from its image and the log behind it. Returns the number of its messages.

    No application may have the queue open. The engine's lock is held all the time.
    """
    _check_linear(manager)
    # An image recorded meanwhile would release extents that are being read.
    with manager.media_turn:
        return _recover(manager, name)


def _recover(manager: ManagerCore, name: str) -> int:
    # No checkpoint may be in the middle of this queue.
    with manager.checkpoint_turn:
        while True:
            with manager.turn:
                end = manager.log.end_lsn()
                if end == manager.log.durable_lsn():
                    messages = _rebuild(manager, _queue(manager, name))
                    break
            manager.writer.wait_durable(end)
    manager.checkpoint()
    return messages


def _rebuild(manager: ManagerCore, queue: Queue) -> int:
    if queue.media_lsn < 0:
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"No media image of {queue.name} is in the log.")
    until = manager.log.durable_lsn()
    rebuild = MediaRebuild(manager.engine, queue)
    manager.log.read_from(queue.media_lsn, _Visitor(rebuild), until)
    if not rebuild.complete:
        queue.damaged = f"no complete media image of {queue.name} was found in the log"
        raise MQError(mq.MQRC_RESOURCE_PROBLEM, queue.damaged)
    messages = rebuild.finish()
    queue.snapshot_lsn = until
    queue.replay_lsn = until
    return messages


def _queue(manager: ManagerCore, name: str) -> Queue:
    queue = manager.engine.queues.get(name)
    if queue is None or queue.is_temporary:
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"There is no local queue {name} that is kept over a restart.")
    return queue


def _check_linear(manager: ManagerCore) -> None:
    if manager.log.settings.log_type is not LogType.LINEAR:
        raise MQError(
            mq.MQRC_RESOURCE_PROBLEM,
            "AMQ7044E: Media recovery needs LogType LINEAR; this queue manager was made with CIRCULAR.",
        )
