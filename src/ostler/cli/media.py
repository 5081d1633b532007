"""`ostler rcdmqimg` and `ostler rcrmqobj`: media images of queues, and queues rebuilt from them."""

from __future__ import annotations

import argparse
from typing import Final

from ostler.cli import commands
from ostler.cli.commands import CommandFailed, Speaker, ask, existing
from ostler.cli.exit_statuses import Status
from ostler.model.constants import (
    MQRC_NOT_AUTHORIZED,
    MQRC_OBJECT_DAMAGED,
    MQRC_OBJECT_IN_USE,
    MQRC_OPTIONS_ERROR,
    MQRC_UNKNOWN_OBJECT_NAME,
)
from ostler.model.errors import MQError

_STATUS_OF: Final = {
    MQRC_NOT_AUTHORIZED: Status.NOT_AUTHORIZED,
    MQRC_OBJECT_DAMAGED: Status.OBJECT_DAMAGED,
    MQRC_OBJECT_IN_USE: Status.OBJECT_IN_USE,
    MQRC_OPTIONS_ERROR: Status.PARAMETER_WRONG,
    MQRC_UNKNOWN_OBJECT_NAME: Status.NOTHING_PROCESSED,
}


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    records = commands.add_command(
        subparsers,
        "rcdmqimg",
        "record media images of queues in the log",
        "Record images of queues in a linear log, so that they can be recovered and older extents are not needed.",
        Status.ARGUMENTS_WRONG,
    )
    _add_objects(records)
    records.add_argument("-l", dest="shows_extents", action="store_true", help="say which log extents are still needed")
    records.set_defaults(run=record)
    recovers = commands.add_command(
        subparsers,
        "rcrmqobj",
        "recover damaged queues from their media images",
        "Recover a queue, or with a pattern all damaged ones that match, from its image and the log behind it.",
        Status.ARGUMENTS_WRONG,
    )
    _add_objects(recovers)
    recovers.set_defaults(run=recover)


def _add_objects(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("object", metavar="NAME", nargs="?", default="*", help="a name or a pattern with * (all)")
    parser.add_argument("-m", dest="name", metavar="QMGR", help="the queue manager (the default one)")
    parser.add_argument(
        "-t", dest="type", metavar="TYPE", required=True, help="the type of object: qlocal, queue, all, ..."
    )
    parser.add_argument("-z", dest="is_quiet", action="store_true", help="say nothing but errors")


def record(arguments: argparse.Namespace) -> int:
    speaker = Speaker(arguments.is_quiet)
    last = _do("record_image", arguments, speaker)
    if arguments.shows_extents:
        speaker.say("AMQ7467I", extent=last["restart_extent"])
        speaker.say("AMQ7468I", extent=last["media_extent"])
    if not last["processed"]:
        raise CommandFailed(Status.NOTHING_PROCESSED, "AMQ7080W")
    speaker.say("AMQ7459I", count=last["processed"])
    return Status.DONE


def recover(arguments: argparse.Namespace) -> int:
    speaker = Speaker(arguments.is_quiet)
    last = _do("recover_object", arguments, speaker)
    if not last["processed"]:
        raise CommandFailed(Status.NOTHING_PROCESSED, "AMQ7080W")
    speaker.say("AMQ7081I", count=last["processed"])
    return Status.DONE


def _do(action: str, arguments: argparse.Namespace, speaker: Speaker) -> dict[str, object]:
    directory = existing(arguments.name)
    last: dict[str, object] = {"processed": 0}
    try:
        for answer in ask(directory, action, type=arguments.type, name=arguments.object):
            if "line" in answer:
                speaker.line(str(answer["line"]))
            else:
                last = answer
    except MQError as error:
        raise _failed(error) from error
    return last


def _failed(error: MQError) -> CommandFailed:
    if "AMQ7044E" in error.detail:
        return CommandFailed(Status.NO_MEDIA_RECOVERY, "AMQ7044E", why=error.detail.removeprefix("AMQ7044E: "))
    if "media image" in error.detail:
        return CommandFailed(Status.NO_IMAGE, "AMQ7042E", why=error.detail)
    status = _STATUS_OF.get(error.reason, Status.RESOURCE_PROBLEM)
    return CommandFailed(status, "AMQ7076E" if status == Status.PARAMETER_WRONG else "AMQ8146E", name="", why=error)
