"""`ostler endcf`: ends a coupling facility."""

from __future__ import annotations

import argparse
import time
from typing import Final

from ostler.cli.coupling.facilities import named_facility, not_running, reach
from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, CommandOutput
from ostler.cli.framework.exit_statuses import Status
from ostler.server.coupling.facility_client import FacilityLost

_END_SECONDS: Final = 10.0


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "endcf",
        "end a coupling facility",
        "End a coupling facility. It keeps nothing: while queue managers are connected, or its structures hold "
        "messages, it does not end without -i.",
        Status.PARAMETER_WRONG,
    )
    parser.add_argument("name", metavar="FACILITY", help="its name")
    parser.add_argument("-i", dest="is_forced", action="store_true", help="end at once, and lose what it holds")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    directory = named_facility(arguments.name)
    client = reach(directory)
    try:
        why = client.end(arguments.is_forced)
    except FacilityLost:
        raise not_running(directory) from None
    finally:
        client.close()
    if why:
        raise CommandFailed(Status.OBJECT_IN_USE, "AMQ3860E", name=directory.name, why=why)
    deadline = time.monotonic() + _END_SECONDS
    while directory.is_running():
        if time.monotonic() > deadline:
            why = f"its process has not ended after {_END_SECONDS:g} seconds."
            raise CommandFailed(Status.UNEXPECTED, "AMQ3856E", name=directory.name, why=why)
        time.sleep(0.01)
    CommandOutput().message("AMQ3852I", name=directory.name)
    return Status.DONE
