"""What Spark says when something fails, in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from ostler.pipeline.refusals import PipelineRefused

_CLASS: Final = re.compile(r"^:? ?(?:Caused by: )?(?:[\w$]+\.)+[\w$]+(?:Exception|Error): ")
_CONDITION: Final = re.compile(r"^\[[A-Z0-9_.]+\] ")
_STATE: Final = re.compile(r" SQLSTATE: \w+$")


@contextmanager
def spark_errors_told(what: str) -> Iterator[None]:
    """Turn errors of Spark into PipelineRefused; `what` was being done."""
    try:
        yield
    except Py4JNetworkError as error:
        raise PipelineRefused(f"{what}: Spark has ended. Tables are as they were. Run the pipeline again.") from error
    except (PySparkException, Py4JError) as error:
        raise PipelineRefused(f"{what}: {spark_sentence(str(error))} Tables are as they were.") from error


def spark_sentence(text: str) -> str:
    """The line that tells, of the hundreds that Spark writes."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = next((line for line in lines if not line.startswith("An error occurred while calling")), "Spark failed")
    for pattern in (_CLASS, _CONDITION, _STATE):
        told = pattern.sub("", told)
    return told if told.endswith(".") else f"{told}."
