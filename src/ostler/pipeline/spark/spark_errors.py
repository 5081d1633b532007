"""Spark's errors in a sentence: the cause, and a remedy where one is known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from ostler.pipeline.errors import PipelineError

_CLASS: Final = re.compile(r"^:? ?(?:Caused by: )?(?:[\w$]+\.)+[\w$]+(?:Exception|Error|Failure): ")
_CONDITION: Final = re.compile(r"^\[[A-Z0-9_.]+\] ")
_STATE: Final = re.compile(r" *SQLSTATE: \w+$")
# Spark's words on a task before the cause.
_TASK: Final = re.compile(r"^Job aborted due to stage failure: .*? \(TID \d+\) \([^)]*\): ")
_CAUSED: Final = "Caused by: "
# Lines that report a failure without its cause.
_PREAMBLES: Final = ("An error occurred while calling", "An exception was thrown from the Python worker", "Writing job")
_PYTHON: Final = "Traceback (most recent call last)"
_ENDED: Final = (
    "StatusCode.UNAVAILABLE",
    "INVALID_HANDLE.SESSION_",
    "SparkContext was shut down",
    "Connection refused",
)
_ADVICE: Final = {
    "No space left on device": "Make room there",
    "Java heap space": "Give Spark more memory, such as --conf spark.driver.memory=4g",
    "GC overhead limit": "Give Spark more memory, such as --conf spark.driver.memory=4g",
}
ENDED: Final = "Spark has ended. Tables are as they were. Run the pipeline again."


@contextmanager
def spark_error_context(what: str) -> Iterator[None]:
    """Turn errors of Spark into PipelineError; `what` is the operation."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        text = error_text(error)
        if text is None:
            raise PipelineError(f"{what}: {ENDED}") from error
        raise PipelineError(f"{what}: {spark_sentence(text)} Tables are as they were.") from error


def error_text(error: BaseException) -> str | None:
    """Return Spark's whole text; None when Spark has ended."""
    try:
        # Reads the trace from Spark, which may have ended meanwhile.
        text = str(error)
    except (Py4JError, OSError):
        return None
    return None if isinstance(error, Py4JNetworkError) or any(word in text for word in _ENDED) else text


def spark_sentence(text: str) -> str:
    """Return the meaningful part of the hundreds of lines that Spark writes."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any(_PYTHON in line for line in lines):
        text = _last_of_python(lines)
    else:
        text = _plain(next((line for line in lines if not line.startswith(_PREAMBLES)), "Spark failed"))
        root = next((_plain(line) for line in reversed(lines) if line.startswith(_CAUSED)), "")
        if root and root not in text:
            text = f"{text.rstrip('. ')}: {root}"
    advice = next((f" {each}." for words, each in _ADVICE.items() if words in text), "")
    return f"{text.rstrip('. ')}.{advice}"


def _plain(line: str) -> str:
    """Return a line without names of classes and conditions, and without task and stage."""
    text = line.removeprefix('Exception in thread "main"').removeprefix(":").strip()
    for pattern in (_CLASS, _CONDITION, _TASK, _CLASS, _CONDITION, _STATE):
        text = pattern.sub("", text)
    return text


def _last_of_python(lines: list[str]) -> str:
    """Return the last line of a Python traceback, which has the cause."""
    begin = next(at for at, line in enumerate(lines) if _PYTHON in line)
    trace: list[str] = []
    for line in lines[begin + 1 :]:
        if line.startswith(("at ", "JVM stacktrace", "SQLSTATE", _CAUSED)):
            break
        trace.append(line)
    return _STATE.sub("", trace[-1]) if trace else "Spark failed"
