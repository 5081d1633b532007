"""`ostler prepareha`: refused; crthagrp makes all certificates at once."""

from __future__ import annotations

import argparse
from typing import Final

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed
from ostler.cli.framework.exit_statuses import Status

_WHY: Final = (
    "the machines of a group do not agree on a key over the network. `ostler crthagrp` on one machine makes the "
    "certificates of all."
)
_INSTEAD: Final = "copy the directory that crthagrp prints to this machine, then ostler crthagrp --join DIR"


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "prepareha",
        "refused: crthagrp makes the certificates of all machines",
        "Not needed here. `ostler crthagrp` makes the certificates of all machines, and --join takes them.",
        Status.PARAMETER_WRONG,
    )
    parser.add_argument("-s", dest="secret", metavar="SECRET", help="taken as in MQ, and not used")
    parser.add_argument("-a", dest="address", metavar="IP", help="taken as in MQ, and not used")
    parser.add_argument("-t", dest="timeout", metavar="S", help="taken as in MQ, and not used")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    raise CommandFailed(Status.PARAMETER_WRONG, "use-instead", command="prepareha", why=_WHY, instead=_INSTEAD)
