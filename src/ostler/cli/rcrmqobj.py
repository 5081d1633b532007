"""`ostler rcrmqobj`: recovers damaged queues from the media images that `rcdmqimg` has recorded."""

from __future__ import annotations

import argparse

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, CommandOutput
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.rcdmqimg import add_object_arguments, process_objects


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "rcrmqobj",
        "recover damaged queues from their media images",
        "Recover a queue, or with a pattern all damaged ones that match, from its image and the log behind it.",
        Status.ARGUMENTS_WRONG,
    )
    add_object_arguments(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    output = CommandOutput(arguments.is_quiet)
    last = process_objects("recover_object", arguments, output)
    if not last["processed"]:
        raise CommandFailed(Status.NOTHING_PROCESSED, "AMQ7080W")
    output.message("AMQ7081I", count=last["processed"])
    return Status.DONE
