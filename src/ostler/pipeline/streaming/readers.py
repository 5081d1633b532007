"""The readers that Spark calls: one for a queue at rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from ostler.pipeline.streaming.browsing import QueueSlice, browse, slices
from ostler.pipeline.streaming.columns import check_read_schema, record_batches
from ostler.pipeline.streaming.options import ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


class QueuePartition(InputPartition):
    """A slice of a queue."""

    def __init__(self, part: QueueSlice) -> None:
        self.part = part


class QueueReader(DataSourceReader):
    """Browses queues. They are as they were afterwards."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        check_read_schema(schema)
        self.options = options
        self.schema = schema

    def partitions(self) -> list[InputPartition]:
        return [QueuePartition(part) for part in slices(self.options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, QueuePartition)
        return record_batches(browse(self.options, partition.part), self.schema)
