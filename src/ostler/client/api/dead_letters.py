"""The dead-letter queue: list dead letters, put them back on their queues, drop them.

with ostler.connect("QM1") as connection:
    dead = ostler.DeadLetterQueue(connection)
    full = [each.token for each in dead.letters() if each.reason == MQRC_Q_FULL]
    print(dead.retry(full).done, "were put back")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ostler.client.api.dead_letter_header import HEADER_BYTES, DeadLetterHeader, format_of, number_at, remove_header
from ostler.client.api.get_options import to_message
from ostler.client.api.message import Message
from ostler.client.session.runtime import run
from ostler.client.session.session import GetOptions, StoredMessage
from ostler.engine.message.message import (
    CCSID_AT,
    ENCODING_AT,
)
from ostler.engine.open import OpenRequest
from ostler.model import constants as mq
from ostler.model.errors import MQError

if TYPE_CHECKING:
    from ostler.client.api.connection import Connection
    from ostler.client.api.queue import Queue

_BATCH: Final = 50
_PUT: Final = mq.MQPMO_SYNCPOINT | mq.MQPMO_PASS_ALL_CONTEXT | mq.MQPMO_FAIL_IF_QUIESCING


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One message of a dead-letter queue. `header` is None when it has no MQDLH."""

    message: Message
    header: DeadLetterHeader | None

    @property
    def token(self) -> bytes:
        """The message token, which is unique while the message is on the queue; message identifiers need not be."""
        return self.message.token

    @property
    def reason(self) -> int:
        """The reason of the header; 0 without a header."""
        return self.header.reason if self.header is not None else 0

    @property
    def body_bytes(self) -> int:
        """The length of the message without its header."""
        return len(self.message.data) - (HEADER_BYTES if self.header is not None else 0)

    def original(self) -> Message:
        """Return the message as it was before it became a dead letter; unchanged when it has no header."""
        if self.header is None:
            return self.message
        message = self.message
        outside = Message(
            message.data,
            format=message.format,
            encoding=message.encoding,
            ccsid=message.ccsid,
            group_id=message.group_id,
            sequence_number=message.sequence_number,
            offset=message.offset,
            flags=message.flags,
            original_length=message.original_length,
        )
        md, body = remove_header(outside.packed(), message.data)
        inside = to_message(StoredMessage(md, body, b"", message.token, 0), {})
        return replace(
            message,
            body=inside.body,
            format=inside.format,
            encoding=inside.encoding,
            ccsid=inside.ccsid,
            group_id=inside.group_id,
            sequence_number=inside.sequence_number,
            offset=inside.offset,
            flags=inside.flags,
            original_length=inside.original_length,
            properties={**inside.properties, **message.properties},
        )


@dataclass(slots=True)
class DeadLetterResult:
    """The result of a retry or drop: how many were done, and the errors of those that stay on the queue, by token."""

    done: int = 0
    refused: dict[bytes, MQError] = field(default_factory=dict)


Progress = Callable[[int], None]
"""Receives the number of messages processed and committed so far."""


class DeadLetterQueue:
    """The dead letters of a queue manager. The connection must have no unit of work of its own in progress."""

    def __init__(self, connection: Connection, queue: str = "") -> None:
        """`queue` defaults to DEADQ of the queue manager. Raises MQError when there is none."""
        self.connection = connection
        self.name = queue or run(connection.inner.session.dead_letter_queue())
        if not self.name:
            raise MQError(
                mq.MQRC_UNKNOWN_OBJECT_NAME,
                f"Queue manager {connection.name} has no dead-letter queue: ALTER QMGR DEADQ(...) names one.",
            )

    def letters(self) -> Iterator[DeadLetter]:
        """Browse all messages of the queue."""
        with self.connection.open(self.name, "b") as queue, queue.browse() as browser:
            while (message := browser.next()) is not None:
                yield as_dead_letter(message)

    def retry(
        self, tokens: Iterable[bytes], to: str = "", to_manager: str = "", on_progress: Progress | None = None
    ) -> DeadLetterResult:
        """Put messages back on their destination queues, or on the queue `to`, as they were before.

        The header is removed; encoding, code page, format, group and segment fields are restored from it; identifiers,
        properties, persistence and context are kept. Get and put are one unit of work, so a crash neither loses nor
        duplicates a message. A message that cannot be put stays on the queue, and the result has its error.
        """
        if to == self.name and to_manager in ("", self.connection.name):
            raise MQError(
                mq.MQRC_UNKNOWN_OBJECT_NAME, f"{to} is the queue that the dead letters are on. Name another one."
            )
        session = self.connection.inner.session

        def put_back(queue: Queue, taken: StoredMessage) -> None:
            target, manager, md, body = _restore(taken, to, to_manager)
            if target == self.name and manager in ("", self.connection.name):
                raise MQError(
                    mq.MQRC_UNKNOWN_OBJECT_NAME, f"It was to go to {target}, where it is. Name another queue for it."
                )
            request = OpenRequest(mq.MQOT_Q, target, 0)
            request.manager_name = manager
            run(session.put1(request, md, _PUT, taken.property_block, body, queue.inner.handle))

        return self._process(tokens, put_back, on_progress)

    def drop(self, tokens: Iterable[bytes], on_progress: Progress | None = None) -> DeadLetterResult:
        """Remove messages from the queue."""
        return self._process(tokens, lambda queue, taken: None, on_progress)

    def _process(
        self,
        tokens: Iterable[bytes],
        act: Callable[[Queue, StoredMessage], None],
        on_progress: Progress | None,
        batch_max: int = _BATCH,
    ) -> DeadLetterResult:
        """Get the messages in their order and act on each, several in a unit of work.

        When one fails, its unit of work is backed out; from then on each message has a unit of work of its own.
        """
        wanted = set(tokens)
        result = DeadLetterResult()
        with self.connection.open(self.name, "sb", options=mq.MQOO_SAVE_ALL_CONTEXT) as queue:
            step = mq.MQGMO_BROWSE_FIRST
            batch: list[bytes] = []
            while wanted:
                found = self._browse(queue, step)
                step = mq.MQGMO_BROWSE_NEXT
                if found is not None and found.token not in wanted:
                    continue
                if found is not None:
                    taken = self._get_under_cursor(queue)
                    if taken is None:
                        continue  # another program got it first
                    batch.append(taken.token)
                    wanted.discard(taken.token)
                    try:
                        act(queue, taken)
                    except MQError as error:
                        self.connection.back_out()
                        if len(batch) > 1:
                            wanted.update(batch)
                            step = mq.MQGMO_BROWSE_FIRST
                        else:
                            result.refused[taken.token] = error
                        batch, batch_max = [], 1
                        continue
                if batch and (found is None or len(batch) >= batch_max or not wanted):
                    refusal = self._commit()
                    if refusal is not None:
                        if len(batch) > 1:
                            wanted.update(batch)
                        else:
                            result.refused[batch[0]] = refusal
                        batch, batch_max, step = [], 1, mq.MQGMO_BROWSE_FIRST
                        continue
                    result.done += len(batch)
                    batch = []
                    if on_progress is not None:
                        on_progress(result.done)
                if found is None:
                    break
        return result

    def _browse(self, queue: Queue, step: int) -> StoredMessage | None:
        asked: GetOptions = {"options": step}
        return run(queue.inner.get_stored(asked))

    def _get_under_cursor(self, queue: Queue) -> StoredMessage | None:
        asked: GetOptions = {"options": mq.MQGMO_MSG_UNDER_CURSOR, "syncpoint": True}
        try:
            return run(queue.inner.get_stored(asked))
        except MQError as error:
            if error.reason != mq.MQRC_NO_MSG_UNDER_CURSOR:
                raise
            return None

    def _commit(self) -> MQError | None:
        """Commit. Returns the error when the queue manager has backed out instead, as when its log is full."""
        try:
            self.connection.commit()
        except MQError as error:
            if error.reason != mq.MQRC_BACKED_OUT:
                raise
            return error
        return None


def as_dead_letter(message: Message) -> DeadLetter:
    """Return a message as a dead letter, with its header if it has one."""
    try:
        return DeadLetter(message, DeadLetterHeader.of(message))
    except MQError:
        return DeadLetter(message, None)


def _restore(taken: StoredMessage, to: str, to_manager: str) -> tuple[str, str, bytes, bytes]:
    """Return the destination of a message, and descriptor and body to put there."""
    try:
        header = DeadLetterHeader.read(
            format_of(taken.md), taken.body, number_at(taken.md, ENCODING_AT), number_at(taken.md, CCSID_AT)
        )
    except MQError as error:
        if not to:
            raise MQError(mq.MQRC_DLH_ERROR, f"{error.detail} Name a queue to put it on.") from None
        return to, to_manager, taken.md, taken.body
    md, body = remove_header(taken.md, taken.body)
    target = to or header.queue
    if not target:
        raise MQError(mq.MQRC_DLH_ERROR, "The dead-letter header names no queue. Name one to put the message on.")
    return target, to_manager if to else header.manager, md, body
