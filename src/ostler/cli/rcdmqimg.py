"""`ostler rcdmqimg`: records media images of queues in a linear log. `rcrmqobj` recovers queues from them."""

from __future__ import annotations

import argparse
from typing import Final

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, CommandOutput, existing_manager, request_action
from ostler.cli.framework.exit_statuses import Status
from ostler.model import constants as mq
from ostler.model.errors import MQError

_STATUS_BY_REASON: Final = {
    mq.MQRC_NOT_AUTHORIZED: Status.NOT_AUTHORIZED,
    mq.MQRC_OBJECT_DAMAGED: Status.OBJECT_DAMAGED,
    mq.MQRC_OBJECT_IN_USE: Status.OBJECT_IN_USE,
    mq.MQRC_OPTIONS_ERROR: Status.PARAMETER_WRONG,
    mq.MQRC_UNKNOWN_OBJECT_NAME: Status.NOTHING_PROCESSED,
}


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "rcdmqimg",
        "record media images of queues in the log",
        "Record images of queues in a linear log, so that they can be recovered and older extents are not needed.",
        Status.ARGUMENTS_WRONG,
    )
    add_object_arguments(parser)
    parser.add_argument("-l", dest="shows_extents", action="store_true", help="show which log extents are still needed")
    parser.set_defaults(run=run)


def add_object_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("object", metavar="NAME", nargs="?", default="*", help="a name or a pattern with * (all)")
    parser.add_argument("-m", dest="name", metavar="QMGR", help="the queue manager (the default one)")
    parser.add_argument(
        "-t", dest="type", metavar="TYPE", required=True, help="the type of object: qlocal, queue, all, ..."
    )
    parser.add_argument("-z", dest="is_quiet", action="store_true", help="print errors only")


def run(arguments: argparse.Namespace) -> int:
    output = CommandOutput(arguments.is_quiet)
    last = process_objects("record_image", arguments, output)
    if arguments.shows_extents:
        output.message("AMQ7467I", extent=last["restart_extent"])
        output.message("AMQ7468I", extent=last["media_extent"])
    if not last["processed"]:
        raise CommandFailed(Status.NOTHING_PROCESSED, "AMQ7080W")
    output.message("AMQ7459I", count=last["processed"])
    return Status.DONE


def process_objects(action: str, arguments: argparse.Namespace, output: CommandOutput) -> dict[str, object]:
    """Runs a control action on the objects chosen; returns its last answer, which has the counts."""
    directory = existing_manager(arguments.name)
    last: dict[str, object] = {"processed": 0}
    try:
        for answer in request_action(directory, action, type=arguments.type, name=arguments.object):
            if "line" in answer:
                output.line(str(answer["line"]))
            else:
                last = answer
    except MQError as error:
        raise _as_failure(error) from error
    return last


def _as_failure(error: MQError) -> CommandFailed:
    if "AMQ7044E" in error.detail:
        return CommandFailed(Status.NO_MEDIA_RECOVERY, "AMQ7044E", why=error.detail.removeprefix("AMQ7044E: "))
    if "media image" in error.detail:
        return CommandFailed(Status.NO_IMAGE, "AMQ7042E", why=error.detail)
    status = _STATUS_BY_REASON.get(error.reason, Status.RESOURCE_PROBLEM)
    return CommandFailed(status, "AMQ7076E" if status == Status.PARAMETER_WRONG else "AMQ8146E", name="", why=error)
