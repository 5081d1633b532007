"""A Spark job that moves messages from queue IN to queue OUT, to be killed: its settings are JSON in the argument.

It reads what is available now and ends. Standard output tells when its first batch is about to be written.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import TaskContext
from pyspark.errors import StreamingQueryException

from ostler.pipeline.session import open_session


def fail_at_first(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Hand all rows on, and fail behind them when a task is done for the first time."""
    yield from batches
    context = TaskContext.get()
    if context is not None and context.attemptNumber() == 0:
        raise RuntimeError("the first attempt fails")


def main(settings: dict[str, Any]) -> int:
    session = open_session(settings["master"], "ostler kill test", settings["spark"])
    rows = session.readStream.format("ostler").schema("body binary").options(queue="IN", **settings["options"]).load()
    if settings["fails_at_first"]:
        rows = rows.mapInArrow(fail_at_first, "body binary")
    query = (
        rows.writeStream.format("ostler")
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
