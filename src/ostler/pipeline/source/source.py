"""The data source `ostler` of Spark: queues to read from and to write to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from ostler.pipeline.source.kinds import SCHEMA
from ostler.pipeline.source.options import read_options, write_options

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from ostler.pipeline.source.readers import QueueReader, QueueStreamReader
    from ostler.pipeline.source.writers import QueueStreamWriter, QueueWriter


class OstlerSource(DataSource):
    """`spark.read.format("ostler")`, `spark.readStream`, `df.write` and `df.writeStream`."""

    @classmethod
    def name(cls) -> str:
        return "ostler"

    def schema(self) -> str:
        # Parsed first, so that invalid options are reported before anything else.
        read_options(self.options)
        return SCHEMA

    def reader(self, schema: StructType) -> QueueReader:
        from ostler.pipeline.source.readers import QueueReader

        return QueueReader(read_options(self.options), schema)

    def streamReader(self, schema: StructType) -> QueueStreamReader:
        from ostler.pipeline.source.readers import QueueStreamReader

        return QueueStreamReader(read_options(self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> QueueWriter:
        from ostler.pipeline.source.writers import QueueWriter

        return QueueWriter(write_options(self.options), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> QueueStreamWriter:
        from ostler.pipeline.source.writers import QueueStreamWriter

        return QueueStreamWriter(write_options(self.options), schema)
