"""`ostler dspmq`: lists the queue managers below OSTLER_DATA with their status."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from typing import Final

from ostler import __version__
from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, existing_manager, refuse_options, root
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.ha import views
from ostler.cli.ha.views import ShownInstance, shown_instance
from ostler.server.config.default_manager import default_name
from ostler.server.config.directories import (
    QueueManagerDirectory,
    data_roots,
    program_name,
    queue_managers,
    running_process,
)
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.process_file import ManagerState, read_record, state_of

_NAME_WIDTH: Final = 48
_ACTIVE: Final = (
    ManagerState.STARTING,
    ManagerState.RUNNING,
    ManagerState.REPLICA,
    ManagerState.QUIESCING,
    ManagerState.ENDING_IMMEDIATELY,
    ManagerState.ENDING_PREEMPTIVELY,
)
_OF_COPIES: Final = ("ha", "dr", "nativeha")
_CHOICES: Final = ("all", "status", "default", "standby", "installation", "process", *_OF_COPIES)


@dataclass(frozen=True)
class ListedManager:
    """A queue manager as it is listed."""

    name: str
    state: ManagerState
    is_default: bool
    path: str
    process: int
    started: str
    version: str
    embedded_in: str = ""  # the program that runs it beside its own work
    copies: ShownInstance | None = None  # its instances, if they are asked for


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "dspmq",
        "list queue managers and their status",
        "List the queue managers below OSTLER_DATA with their status. With -a the exit status is 5 if one is active.",
        Status.ARGUMENTS_WRONG,
    )
    parser.add_argument("-m", dest="name", metavar="QMGR", help="only this one")
    parser.add_argument("-o", dest="fields", action="append", choices=_CHOICES, help="what to show (status)")
    parser.add_argument("-s", dest="shows_status", action="store_true", help="as -o status")
    parser.add_argument(
        "-x",
        dest="shows_instances",
        action="store_true",
        help="show the processes that run them; with -o nativeha all instances",
    )
    parser.add_argument("-g", dest="shows_groups", action="store_true", help="with -o nativeha: show the groups")
    parser.add_argument("-a", dest="only_active", action="store_true", help="only active ones")
    parser.add_argument("-n", dest="untranslated", action="store_true", help="no translation; there is none anyway")
    refuse_options(parser, {"-c": "`DISPLAY CONN(*) ALL` in runmqsc shows who is connected"}, 0)
    parser.add_argument("--json", dest="is_json", action="store_true", help="for programs: everything, as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    base = root()
    fields = _fields(arguments)
    if arguments.shows_groups and "nativeha" not in fields:
        raise CommandFailed(Status.ARGUMENTS_WRONG, "AMQ5203E", option="-g", why="it needs -o nativeha.")
    if arguments.name:
        directories = [existing_manager(arguments.name)]
    else:
        directories = [
            QueueManagerDirectory(each, entry.name) for each in data_roots(base) for entry in queue_managers(each)
        ]
    try:
        default = default_name(base)
    except ConfigurationError as error:
        raise CommandFailed(Status.UNEXPECTED, "AMQ7076E", why=error) from error
    with_copies = arguments.is_json or any(field in fields for field in _OF_COPIES)
    found = [_describe_manager(each, default, with_copies) for each in directories]
    if arguments.only_active:
        found = [each for each in found if each.state in _ACTIVE]
    if arguments.is_json:
        print(json.dumps([_as_json(each) for each in found], indent=2))
    else:
        for each in found:
            for line in _lines(each, fields, arguments.shows_instances, arguments.shows_groups):
                print(line)
    # As in MQ: scripts run `dspmq -a -m QM1` and expect 5.
    return Status.RUNNING if arguments.only_active and found else Status.DONE


def _describe_manager(directory: QueueManagerDirectory, default: str, with_copies: bool) -> ListedManager:
    name = directory.typed_name
    state = state_of(directory)
    process = running_process(directory)[1]
    record = read_record(directory)
    is_current = record is not None and record.pid == process
    started = record.started if record is not None and is_current else ""
    version = record.version if record is not None and is_current else __version__
    program = ""
    if record is not None and is_current and process and record.is_embedded:
        program = program_name(process) or "another program"
    copies = shown_instance(directory) if with_copies else None
    return ListedManager(name, state, name == default, str(directory.path), process, started, version, program, copies)


def _fields(arguments: argparse.Namespace) -> list[str]:
    chosen = list(arguments.fields or [])
    if arguments.shows_status or not chosen:
        chosen.append("status")
    if "all" in chosen:
        return [field for field in _CHOICES if field != "all"]
    return [each for each in _CHOICES if each in chosen]


def _lines(shown: ListedManager, fields: list[str], shows_instances: bool, shows_groups: bool) -> list[str]:
    lines = [_line(shown, fields)]
    copies = shown.copies if "nativeha" in fields else None
    if shows_instances and copies is not None and copies.known is not None:
        lines += views.instance_lines(copies)
    elif shows_instances and shown.process:
        lines.append(f"    INSTANCE({shown.process}) MODE(Active) STARTED({shown.started})")
    if shows_groups and copies is not None:
        lines += views.group_lines(copies)
    return lines


def _line(shown: ListedManager, fields: list[str]) -> str:
    parts = [f"QMNAME({shown.name})".ljust(_NAME_WIDTH + 8)]
    embedded = f" EMBEDDED({shown.embedded_in})" if shown.embedded_in else ""
    values = {
        "status": f"STATUS({shown.state}){embedded}",
        "default": f"DEFAULT({'yes' if shown.is_default else 'no'})",
        "standby": "STANDBY(Not permitted)" if shown.process else "STANDBY(Not applicable)",
        "installation": f"DATAPATH({shown.path}) VERSION({shown.version})",
        "process": f"PROCESS({shown.process or ''}) STARTED({shown.started})",
    }
    if shown.copies is not None:
        values["ha"] = views.ha_field(shown.copies)
        values["dr"] = views.dr_field(shown.copies)
        values["nativeha"] = views.native_ha_fields(shown.copies)
    return " ".join([*parts, *(values[field] for field in fields)])


def _as_json(shown: ListedManager) -> dict[str, object]:
    copies = views.as_json(shown.copies) if shown.copies is not None else None
    return {
        "name": shown.name,
        "status": str(shown.state),
        "default": shown.is_default,
        "path": shown.path,
        "process": shown.process,
        "started": shown.started,
        "version": shown.version,
        "embedded_in": shown.embedded_in,
        **({"copies": copies} if copies is not None else {}),
    }
