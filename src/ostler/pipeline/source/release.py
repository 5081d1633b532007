"""The staging queue of a sink: tasks put their messages there as pages, and the driver's commit releases them.

A release moves pages to the target queue: each page off the staging queue and its messages on the target in one unit of
work, so a page that is gone was released. Where all of a batch fits one unit of work it appears at once. Where not, a
control record is written first, in the first of the units: the next release finishes it before anything else. A control
record also keeps the last batch of a query, so that a batch that Spark repeats is not put twice.

The staging queue is held for exclusive input during a release: an unfinished release in a control record is a dead one.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple

from ostler.client.aio.async_queue import put_parts
from ostler.client.api.connection import Connection
from ostler.client.api.message import Message
from ostler.client.api.queue import Queue
from ostler.client.session.session import StoredMessage
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.md import MD_BACKOUT_COUNT, MD_CORREL_ID, MD_MSG_ID
from ostler.pipeline.errors import PipelineError
from ostler.pipeline.source.links import connect_with, error_context, get_stored, open_staging
from ostler.pipeline.source.options import WriteOptions
from ostler.pipeline.source.pages import (
    EPOCH_BYTES,
    FORMAT,
    HEAD_BYTES,
    collected,
    encode_page,
    is_page,
    stored_messages,
    write_page_id,
)
from ostler.pipeline.source.targets import WriteTarget
from ostler.pipeline.source.windows import browse, get_each

CONTROL_FORMAT: Final = "OSTCTRL"
UNNAMED_SECONDS: Final = 24 * 3600.0
"""The time for which pages of a job without `writeId` wait for their release."""
_CONTROL_ID: Final = b"OSPC"
_ATTEMPT_BYTES: Final = 16
_ID_BYTES: Final = 24
_NO_EPOCH: Final = bytes(EPOCH_BYTES)


class WriteAttempt(NamedTuple):
    """The pages of one attempt of a task, numbered from 0."""

    attempt: str
    pages: int


@dataclass(frozen=True)
class Control:
    """The state of one sink on a staging queue: the last batch released, and the one that is being released."""

    identity: str
    query: str = ""
    done: int = -1
    batch: int | None = None
    attempts: list[WriteAttempt] = field(default_factory=list)
    queue: str = ""
    is_kept: bool = True
    topic: str = ""
    is_retained: bool = False

    def finished(self) -> Control:
        return replace(self, done=self.done if self.batch is None else self.batch, batch=None, attempts=[])


def key_of(identity: str) -> bytes:
    """Return the key that distinguishes the pages and the control record of a sink on a shared staging queue."""
    return hashlib.sha256(identity.encode()).digest()[:_ATTEMPT_BYTES]


def _correlation(identity: str) -> bytes:
    return key_of(identity).ljust(_ID_BYTES, b"\0")


def _control_id(identity: str) -> bytes:
    return (_CONTROL_ID + key_of(identity)).ljust(_ID_BYTES, b"\0")


# -- tasks -------------------------------------------------------------------------------------------------------------


def stage(options: WriteOptions, identity: str, messages: Iterator[Message]) -> WriteAttempt:
    """Put the messages of one attempt of a task on the staging queue. Only the driver's commit reads them."""
    attempt = secrets.token_bytes(_ATTEMPT_BYTES)
    unit = options.staging
    first = next(messages, None)
    if first is None:
        return WriteAttempt(attempt.hex(), 0)
    stored = _stored(_chained(first, messages))
    with connect_with(options.connect) as connection, open_staging(connection, unit, "w") as queue:
        number = _put_pages(connection, queue, options, identity, attempt, stored)
    return WriteAttempt(attempt.hex(), number)


def _put_pages(
    connection: Connection,
    queue: Queue,
    options: WriteOptions,
    identity: str,
    attempt: bytes,
    stored: Iterator[StoredMessage],
) -> int:
    """Put pages, in units of work of bounded size, and return their number."""
    unit = options.staging
    # Pages of a job without a name are not searched for again: those of tasks that outlive a failed job expire.
    life = None if options.identity or options.checkpoint else UNNAMED_SECONDS
    number = size = 0
    with error_context(f"Putting pages on staging queue {unit.queue}"):
        for lot in collected(stored, unit.page_messages, unit.page_bytes):
            page = encode_page(_NO_EPOCH, number, options.queue, lot)
            queue.put(
                page,
                syncpoint=True,
                message_id=write_page_id(attempt, number),
                correlation_id=_correlation(identity),
                format=FORMAT,
                persistent=True,
                expiry=life,
            )
            number += 1
            size += len(page)
            if size >= unit.unit_bytes or number % unit.unit_messages == 0:
                connection.commit()
                size = 0
        connection.commit()
    return number


def _chained(first: Message, rest: Iterator[Message]) -> Iterator[Message]:
    yield first
    yield from rest


def _stored(messages: Iterable[Message]) -> Iterator[StoredMessage]:
    for message in messages:
        md, property_block, body = put_parts(message)
        yield StoredMessage(md, body, property_block, b"", 0)


# -- the driver --------------------------------------------------------------------------------------------------------


def query_of(checkpoint: str) -> str:
    """Return the identifier of a checkpoint's query; empty when it cannot be read from here."""
    path = checkpoint.removeprefix("file://").removeprefix("file:")
    try:
        return str(json.loads((Path(path) / "metadata").read_text())["id"]) if path else ""
    except (OSError, ValueError, KeyError):
        return ""


class Releases:
    """The staging queue and the target, opened by the driver's commit."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options
        self._messages_max = options.staging.unit_messages // 2
        self._connection: Connection = connect_with(options.connect)
        try:
            self._staging = open_staging(self._connection, options.staging, "xbw", options.connect.timeout_seconds)
        except BaseException:
            self._connection.close(commit=False)
            raise

    def __enter__(self) -> Releases:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close(commit=False)

    def release(self, identity: str, query: str, batch: int, attempts: Sequence[WriteAttempt], is_kept: bool) -> bool:
        """Release a batch, once. Returns False when it was released before; then the pages staged now are removed.

        `is_kept`: the batch may come again, and has to be remembered.
        """
        controls, leftovers = self._survey(identity)
        for control in controls:
            if control.batch is not None:
                self._move(control)
        known = next((each for each in controls if each.identity == identity), Control(identity))
        done = known.batch if known.batch is not None else known.done
        target = self._options
        wanted = Control(
            *(identity, query, done, batch, list(attempts), target.queue, is_kept),
            topic=target.topic,
            is_retained=target.is_retained,
        )
        is_new = not _is_repeated(known, done, query, batch)
        if is_new:
            self._check(wanted, leftovers)
            self._move(wanted)
        self._remove(leftovers)
        return is_new

    def discard(self, identity: str) -> None:
        """Remove the pages of a batch that failed, but not those that are being released."""
        controls, leftovers = self._survey(identity)
        named = {each for control in controls if control.batch is not None for each in _page_ids(control.attempts)}
        self._remove([each for each in leftovers if each not in named])

    def _survey(self, identity: str) -> tuple[list[Control], list[bytes]]:
        """Return all control records, and the identifiers of this sink's pages."""
        named: list[bytes] = []
        pages: list[bytes] = []
        with error_context(f"Reading staging queue {self._options.staging.queue}"):
            for taken in browse(self._staging, HEAD_BYTES):
                message_id = taken.md[MD_MSG_ID:MD_CORREL_ID]
                if message_id.startswith(_CONTROL_ID):
                    named.append(message_id)
                elif taken.md[MD_CORREL_ID:MD_BACKOUT_COUNT] == _correlation(identity) and is_page(taken.body):
                    pages.append(message_id)
            controls = [_decoded(each.body) for each in get_each(self._staging, named, mq.MQGMO_BROWSE_FIRST) if each]
        return controls, pages

    def _check(self, control: Control, there: Sequence[bytes]) -> None:
        missing = len(set(_page_ids(control.attempts)) - set(there))
        if missing:
            raise PipelineError(
                f"{missing} pages that tasks staged are not on {self._options.staging.queue} any more. "
                "Somebody removed them; nothing was released. Run the batch again."
            )

    def _move(self, control: Control) -> None:
        """Move all pages of a control record, in as few units of work as the options allow."""
        ids = list(_page_ids(control.attempts))
        with WriteTarget(self._connection, control.queue, control.topic, control.is_retained) as target:
            at = self._unit(target, control, ids, 0)
            while at < len(ids):
                at = self._unit(target, control, ids, at)

    def _unit(self, target: WriteTarget, control: Control, ids: Sequence[bytes], at: int) -> int:
        """Do one unit of work of a release from a page on, and return the index of the next page.

        A publication counts once more for each subscriber, whose number is unknown beforehand. So a unit that turns out
        too large is backed out and tried with half of it, as long as there is half a unit.
        """
        with error_context(f"Releasing messages to {target.name}"):
            while True:
                try:
                    with self._connection.transaction():
                        after = self._move_some(target, ids, at)
                        if after >= len(ids):
                            self._write(control.finished())
                        elif at == 0:
                            self._write(control)
                        return after
                except MQError as error:
                    if error.reason != mq.MQRC_SYNCPOINT_LIMIT_REACHED or not control.topic or self._messages_max == 1:
                        raise
                self._messages_max //= 2

    def _move_some(self, target: WriteTarget, ids: Sequence[bytes], at: int) -> int:
        """Move pages within one unit of work from an index on, and return the index of the next one."""
        unit = self._options.staging
        count = size = 0
        while at < len(ids) and count < self._messages_max and size < unit.unit_bytes:
            page = get_stored(self._staging, ids[at])
            at += 1
            if page is None:
                continue  # released before a crash
            count += target.put_all(stored_messages(page.body))
            size += len(page.body)
        return at

    def _write(self, control: Control) -> None:
        """Replace the control record of a sink; remove it when there is nothing to remember."""
        control_id = _control_id(control.identity)
        get_stored(self._staging, control_id)
        if control.is_kept or control.batch is not None:
            body = json.dumps(asdict(control)).encode()
            self._staging.put(body, message_id=control_id, format=CONTROL_FORMAT, persistent=True)

    def _remove(self, ids: Sequence[bytes]) -> None:
        step = self._options.staging.unit_messages
        for at in range(0, len(ids), step):
            with error_context(f"Removing pages from {self._options.staging.queue}"), self._connection.transaction():
                for _ in get_each(self._staging, ids[at : at + step], length=0):
                    pass


def _is_repeated(known: Control, done: int, query: str, batch: int) -> bool:
    """Return whether a batch was released before.

    Batch numbers of a query only grow. Where the query cannot be distinguished from its predecessor with the same
    checkpoint, only the last batch counts as repeated: a lower number means that the checkpoint was made anew.
    """
    if query and known.query:
        return query == known.query and batch <= done
    return batch == done


def _page_ids(attempts: Sequence[WriteAttempt]) -> Iterator[bytes]:
    for attempt, pages in attempts:
        for number in range(pages):
            yield write_page_id(bytes.fromhex(attempt), number)


def _decoded(body: bytes) -> Control:
    values = json.loads(body)
    attempts = [WriteAttempt(attempt, pages) for attempt, pages in values.pop("attempts")]
    return Control(**values, attempts=attempts)
