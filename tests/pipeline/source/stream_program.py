"""A Spark job that moves messages from queue IN to queue OUT, to be killed: its settings are JSON in the argument.

It reads what is available now and ends. Standard output has why it failed, if it did.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import TaskContext
from pyspark.errors import StreamingQueryException
from pyspark.sql.types import StructType

from ostler.pipeline.source.options import write_options
from ostler.pipeline.source.source import OstlerSource
from ostler.pipeline.source.writers import QueueStreamWriter, Staged
from ostler.pipeline.spark.session import open_session


class FailingWriter(QueueStreamWriter):
    """Stages everything, and then fails when a task is done for the first time."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        staged = super().write(iterator)
        context = TaskContext.get()
        assert context is not None
        if context.attemptNumber() == 0:
            raise RuntimeError("the first attempt fails")
        return staged


class FailingSource(OstlerSource):
    @classmethod
    def name(cls) -> str:
        return "failing"

    def streamWriter(self, schema: StructType, overwrite: bool) -> FailingWriter:
        return FailingWriter(write_options(self.options), schema)


def main(settings: dict[str, Any]) -> int:
    session = open_session(settings["master"], "ostler kill test", settings["spark"])
    rows = session.readStream.format("ostler").schema("body binary").options(queue="IN", **settings["options"]).load()
    session.dataSource.register(FailingSource)
    query = (
        rows.writeStream.format("failing" if settings["fails_at_first"] else "ostler")
        .options(queue="OUT", **settings["write"])
        .option("checkpointLocation", settings["checkpoint"])
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        print(error, flush=True)
        return 1
    finally:
        session.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
