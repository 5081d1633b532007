"""Shared options of pipeline commands: lake, Spark and required packages."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ostler.cli.pipeline.statuses import JAVA_MISSING, PACKAGE_MISSING, REFUSED, TaskFailed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LAKE: Final = Path("lake")
USAGE: Final = REFUSED


def add_lake_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lake", type=Path, default=LAKE, metavar="DIR", help="where tables are kept (%(default)s)")


def add_spark_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--master",
        default="local[*]",
        metavar="URL",
        help="where Spark runs: local[N], spark://HOST:PORT, sc://HOST:PORT for Spark Connect (%(default)s)",
    )
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        type=_setting,
        metavar="NAME=VALUE",
        help="a setting of Spark, such as spark.driver.memory=4g",
    )


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.startswith("spark."):
        raise argparse.ArgumentTypeError(f"{text!r} is not a setting such as spark.driver.memory=4g")
    return name, value


def spark_opener(arguments: argparse.Namespace) -> Callable[..., SparkSession]:
    """Returns a function that opens the Spark session of the options, for about so many rows where that is known. It
    raises TaskFailed without Java."""

    def open_spark(rows: int | None = None) -> SparkSession:
        from ostler.pipeline.errors import PipelineError
        from ostler.pipeline.spark.session import open_session

        try:
            return open_session(arguments.master, settings=dict(arguments.conf), rows=rows)
        except PipelineError as refused:
            if is_java_problem(refused):
                raise TaskFailed(JAVA_MISSING, str(refused)) from refused
            raise

    return open_spark


def is_java_problem(refused: Exception) -> bool:
    """Returns whether Java was the reason: the check fails again with the same text."""
    from ostler.pipeline.errors import PipelineError
    from ostler.pipeline.spark.session import check_java

    try:
        check_java(os.environ)
    except PipelineError as problem:
        return str(problem) == str(refused)
    return False


def require_packages(names: Sequence[str]) -> None:
    """Raises TaskFailed, with instructions, if packages are missing."""
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise TaskFailed(PACKAGE_MISSING, f"it needs {' and '.join(missing)}: pip install 'ostler[pipeline]'")
