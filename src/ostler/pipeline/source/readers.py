"""The readers that Spark calls: one for batch reads of a queue, one for a stream.

Both are pickled on their way to the tasks, so they hold options only; connections are made where they are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, cast

from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from ostler.pipeline.errors import PipelineError
from ostler.pipeline.source.browsing import QueueSlice, browse, slices
from ostler.pipeline.source.columns import check_read_schema, record_batches
from ostler.pipeline.source.offsets import START, Limit, Offset, StreamProgress, share_out
from ostler.pipeline.source.options import ReadOptions
from ostler.pipeline.source.pages import PageHead
from ostler.pipeline.source.staging import read_pages

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql.types import StructType


_TASKS: Final = 8


class QueuePartition(InputPartition):
    """A slice of a queue."""

    def __init__(self, part: QueueSlice) -> None:
        self.part = part


class QueueReader(DataSourceReader):
    """Browses queues, and leaves them unchanged."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        check_read_schema(schema)
        self.options = options
        self.schema = schema

    def partitions(self) -> list[InputPartition]:
        return [QueuePartition(part) for part in slices(self.options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, QueuePartition)
        return record_batches(browse(self.options, partition.part), self.schema)


class PagesPartition(InputPartition):
    """Pages of a staging queue."""

    def __init__(self, pages: list[PageHead]) -> None:
        self.pages = pages


class QueueStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Moves messages to a staging queue, has tasks browse them there, and removes what Spark has recorded."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        check_read_schema(schema)
        self.options = options
        self.schema = schema
        self._progress: StreamProgress | None = None

    @property
    def progress(self) -> StreamProgress:
        """Made at Spark's first call: only the driver of a query may hold the staging queue."""
        if self._progress is None:
            self._progress = StreamProgress(self.options)
        return self._progress

    def initialOffset(self) -> dict[str, object]:
        return {**START}

    def getDefaultReadLimit(self) -> ReadLimit:
        if self.options.bytes_per_trigger_max:
            return ReadMaxBytes(self.options.bytes_per_trigger_max)
        return ReadMaxRows(self.options.messages_per_trigger_max)

    def prepareForTriggerAvailableNow(self) -> None:
        self.progress.fix_target()

    def latestOffset(self, start: dict[str, object], limit: ReadLimit) -> dict[str, object]:
        return {**self.progress.latest(_offset(start), self._limit(limit))}

    def _limit(self, limit: ReadLimit) -> Limit:
        most = self.options.messages_per_trigger_max
        if isinstance(limit, ReadAllAvailable):
            return Limit(everything=True)
        if isinstance(limit, ReadMaxBytes):
            return Limit(most, limit.max_bytes)
        return Limit(limit.max_rows if isinstance(limit, ReadMaxRows) else most)

    def partitions(self, start: dict[str, object], end: dict[str, object]) -> list[InputPartition]:
        pages = self.progress.pages(_offset(start), _offset(end))
        return [PagesPartition(group) for group in share_out(pages, self.options.partitions or _TASKS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, PagesPartition)
        return record_batches(read_pages(self.options, partition.pages), self.schema)

    def commit(self, end: dict[str, object]) -> None:
        self.progress.commit(_offset(end))

    def stop(self) -> None:
        if self._progress is not None:
            self._progress.staging.close()


def _offset(given: dict[str, object]) -> Offset:
    """Return an offset as Spark passes it back."""
    if not isinstance(given.get("page"), int) or not isinstance(given.get("epoch"), str):
        raise PipelineError(f"The checkpoint has an offset of another source: {given}. Use a checkpoint of its own.")
    return cast("Offset", given)
