"""`ostler pipeline`: from runs of the laboratory to the tables and pages of a report, by Spark.

Each task is a module with an `add_command`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Final

from ostler.cli.framework import commands
from ostler.cli.pipeline.statuses import REFUSED, TaskFailed

USAGE: Final = REFUSED

# In the order of help. Each adds its parser, and loads its dependencies only when it runs.
_MODULES: Final = (
    "ostler.cli.pipeline.run",
    "ostler.cli.pipeline.validate",
    "ostler.cli.pipeline.compare",
    "ostler.cli.pipeline.report",
    "ostler.cli.pipeline.watch",
)

_DESCRIPTION: Final = """\
From samples of many runs to the tables and charts of a performance report. Tables are kept in a lake: a directory of
Parquet files that Spark and everybody else can read."""


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers, "pipeline", "tables and reports of many runs, by Spark", _DESCRIPTION, USAGE
    )
    tasks = parser.add_subparsers(dest="task", metavar="TASK", title="tasks", required=True)
    for name in _MODULES:
        import_module(name).add_command(tasks)
    for name, task in tasks.choices.items():
        task.set_defaults(run=partial(_run_task, name, task.get_default("run")))


def _run_task(name: str, run: Callable[[argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    """Runs a task; returns its status, also if its packages or Java are missing."""
    try:
        return run(arguments)
    except TaskFailed as failed:
        print(f"ostler pipeline {name}: {failed}", file=sys.stderr)
        return failed.status
