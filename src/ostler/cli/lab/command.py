"""`ostler lab`: the laboratory. Each task is a module with an `add_command`."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Final

from ostler.cli.framework import commands

USAGE: Final = 2

# In the order of help. Each adds its parsers, and loads its dependencies only when it runs.
_MODULES: Final = (
    "ostler.cli.lab.catalogue",
    "ostler.cli.lab.run",
    "ostler.cli.lab.compare",
    "ostler.cli.lab.peers",
    "ostler.cli.lab.doctor",
    "ostler.cli.lab.size",
)

_DESCRIPTION = """\
The scenarios of the published performance reports: which there are, what each of them does, and which can run on
this machine today; running them beside other brokers and the limits of the machine; and comparing results."""


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers, "lab", "scenarios of performance reports: list, show, and run them", _DESCRIPTION, USAGE
    )
    tasks = parser.add_subparsers(dest="task", metavar="TASK", title="tasks", required=True)
    for name in _MODULES:
        import_module(name).add_command(tasks)
