"""The Spark session of a benchmark: an application whose processes end with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pyspark import SparkContext
from pyspark.sql import SparkSession

from ostler.pipeline.spark.session import open_session

_END_SECONDS_MAX: Final = 30.0


@contextmanager
def spark_application(master: str, name: str, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Open a session of this process. Java ends with it, and has ended when this returns."""
    session = open_session(master, name, settings)
    try:
        yield session
    finally:
        session.stop()
        gateway = SparkContext._gateway
        if gateway is not None:
            process = gateway.proc
            gateway.shutdown()
            process.stdin.close()
            process.wait(_END_SECONDS_MAX)
