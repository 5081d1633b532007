"""Errors of Spark in a sentence: without classes, tasks and traces, with the cause."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from ostler.pipeline.errors import PipelineError
from ostler.pipeline.spark.spark_errors import spark_error_context, spark_sentence

LOST_FILE = """\
An error occurred while calling o69.collectToPython.
: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file a.parquet.  \
SQLSTATE: KD001
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.cannotReadFilesError(QueryExecutionErrors.scala:920)
Caused by: org.apache.hadoop.fs.ChecksumException: Checksum error: a.parquet at 512 exp: 1 got: 2
\tat org.apache.hadoop.fs.FSInputChecker.verifySums(FSInputChecker.java:347)
"""
FULL_DISK = """\
Job aborted due to stage failure: Task 0 in stage 8.0 failed 1 times, most recent failure: Lost task 0.0 in stage 8.0 \
(TID 14) (127.0.0.1 executor driver): java.io.IOException: No space left on device
\tat org.apache.hadoop.fs.ChecksumFileSystem.create(ChecksumFileSystem.java:774)
Caused by: java.io.IOException: No space left on device
"""
LOST_EXECUTOR = """\
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 2.0 failed 4 times, most recent \
failure: Lost task 1.3 in stage 2.0 (TID 9) (127.0.0.1 executor 1): ExecutorLostFailure (executor 1 exited caused by \
one of the running tasks) Reason: worker lost
Driver stacktrace:
"""
MEMORY = """\
An error occurred while calling o80.count.
: java.lang.OutOfMemoryError: Java heap space
\tat java.base/java.util.Arrays.copyOf(Arrays.java:3537)
"""
PYTHON = """\

  An exception was thrown from the Python worker. Please see the stack trace below.
[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):
  File "reader.py", line 28, in read
    raise QueueGone("There is no queue ORDERS.")
QueueGone: There is no queue ORDERS.
 SQLSTATE: 38000

JVM stacktrace:
org.apache.spark.api.python.PythonException
"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            LOST_FILE,
            "Encountered error while reading file a.parquet: Checksum error: a.parquet at 512 exp: 1 got: 2.",
        ),
        (FULL_DISK, "No space left on device. Make room there."),
        (
            LOST_EXECUTOR,
            "ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: worker lost.",
        ),
        (MEMORY, "Java heap space. Give Spark more memory, such as --conf spark.driver.memory=4g."),
        (PYTHON, "QueueGone: There is no queue ORDERS."),
        ("[PATH_NOT_FOUND] Path does not exist: file:/none. SQLSTATE: 42K03", "Path does not exist: file:/none."),
        ("", "Spark failed."),
    ],
)
def test_the_cause_is_told_and_nothing_else(text: str, sentence: str) -> None:
    assert spark_sentence(text) == sentence


@pytest.mark.parametrize(
    "error",
    [
        Py4JNetworkError("Answer from Java side is empty"),
        PySparkException("<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.UNAVAILABLE"),
    ],
)
def test_that_spark_has_ended_is_told(error: Exception) -> None:
    words = r"^Counting: Spark has ended\. Tables are as they were\. Run"
    with pytest.raises(PipelineError, match=words), spark_error_context("Counting"):
        raise error
