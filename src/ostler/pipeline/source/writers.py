"""The writers that Spark calls: their tasks stage messages, their commit releases them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from ostler.client.api.message import Message
from ostler.pipeline.errors import PipelineError
from ostler.pipeline.source.columns import check_write_schema, messages_of
from ostler.pipeline.source.links import connect_with
from ostler.pipeline.source.options import WriteOptions
from ostler.pipeline.source.release import Releases, WriteAttempt, query_of, stage
from ostler.pipeline.source.targets import WriteTarget

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql.types import StructType

_ONLY: Final = 0


@dataclass
class Staged(WriterCommitMessage):
    """The message of a task to the driver: the location of its pages."""

    attempt: WriteAttempt


def _attempts(messages: Sequence[WriterCommitMessage | None]) -> list[WriteAttempt]:
    return [each.attempt for each in messages if isinstance(each, Staged)]


def _messages(batches: Iterator[pa.RecordBatch], options: WriteOptions) -> Iterator[Message]:
    for batch in batches:
        yield from messages_of(batch, options.persistent, options.topic)


def _stage(options: WriteOptions, identity: str, batches: Iterator[pa.RecordBatch]) -> Staged:
    return Staged(stage(options, identity, _messages(batches, options)))


def _discard(options: WriteOptions, identity: str) -> None:
    """Remove staged pages, if possible: the reason of the job's failure matters, not a failure of this.

    Pages that stay, and those of tasks that continue meanwhile, are removed by the sink's next commit. Those of a job
    without a name expire.
    """
    with (
        suppress(PipelineError),
        Releases(replace(options, connect=replace(options.connect, timeout_seconds=0))) as held,
    ):
        held.discard(identity)


class QueueWriter(DataSourceArrowWriter):
    """`df.write.format("ostler").mode("append")`: all rows of a job appear when the job is done.

    With option `writeId`, a job that is repeated with the same one puts nothing twice.
    """

    def __init__(self, options: WriteOptions, schema: StructType, overwrite: bool) -> None:
        if overwrite:
            raise PipelineError("A queue is not overwritten. Use mode('append'); CLEAR QLOCAL empties it.")
        check_write_schema(schema)
        self.options = options
        self.is_kept = bool(options.identity)
        self.identity = options.identity or secrets.token_hex(16)
        # Fails now rather than after all the work is done.
        with connect_with(options.connect) as connection:
            WriteTarget(connection, options.queue, options.topic, options.is_retained).close()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        return _stage(self.options, self.identity, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        with Releases(self.options) as releases:
            releases.release(self.identity, "", _ONLY, _attempts(messages), self.is_kept)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        _discard(self.options, self.identity)


class QueueStreamWriter(DataSourceStreamArrowWriter):
    """`df.writeStream.format("ostler")`: each batch appears once, however often Spark repeats it."""

    def __init__(self, options: WriteOptions, schema: StructType) -> None:
        check_write_schema(schema)
        self.options = options
        # Tasks have neither the query nor the batch; the path of the checkpoint is all that every side has.
        self.identity = options.identity or options.checkpoint
        if not self.identity:
            raise PipelineError(
                "Give option checkpointLocation or sinkId to this writer: by one of them a batch that Spark does again "
                "is known. checkpointLocation in Spark's settings does not reach it."
            )

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        return _stage(self.options, self.identity, iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        with Releases(self.options) as releases:
            query = query_of(self.options.checkpoint)
            releases.release(self.identity, query, batchId, _attempts(messages), True)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        _discard(self.options, self.identity)
