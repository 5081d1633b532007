"""`ostler dmpmqaut`: lists authority records, also as setmqaut commands that set them again."""

from __future__ import annotations

import argparse
import shlex
from typing import Final

from ostler.cli.dspmqaut import add_entity_options, display_order
from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, CommandOutput, existing_manager
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.setmqaut import add_object_options, object_type, request_authority_action
from ostler.security.profiles import is_generic

_SEPARATOR: Final = "- - - - - - - - - - - - - - - - -"


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "dmpmqaut",
        "list authority records",
        "List authority records: all of them, or those that the options choose.",
        Status.ARGUMENTS_WRONG,
    )
    add_object_options(parser)
    add_entity_options(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("-l", dest="is_short", action="store_true", help="only the profiles and their types")
    how.add_argument("-a", dest="is_script", action="store_true", help="as setmqaut commands that set them again")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "-e", dest="match", action="store_const", const="MEMBERSHIP", help="all that counts for the user on object -n"
    )
    which.add_argument(
        "-x", dest="match", action="store_const", const="EXACT", help="only profiles that are written as -n is"
    )
    parser.set_defaults(run=run, match="PROFILE")


def run(arguments: argparse.Namespace) -> int:
    directory = existing_manager(arguments.name)
    objtype = object_type(arguments.type) if arguments.type else None
    entity = arguments.user or arguments.group
    if arguments.match == "MEMBERSHIP":
        _check_membership(arguments, objtype)
    profile = arguments.profile
    if objtype == "QMGR" and profile is None and arguments.match == "MEMBERSHIP":
        profile = directory.name
    answers = request_authority_action(
        directory,
        "authority_records",
        objtype=objtype,
        profile=profile,
        entity=entity,
        is_group=arguments.user is None,
        match=arguments.match,
    )
    rows = [answer for answer in answers if "profile" in answer]
    if arguments.is_short:
        lines = [f"profile: {row['profile']}, type: {str(row['objtype']).lower()}" for row in rows]
        for line in dict.fromkeys(lines):
            CommandOutput().line(line)
    elif arguments.is_script:
        for row in rows:
            CommandOutput().line(_command(directory.name, row))
    else:
        for at, row in enumerate(rows):
            if at:
                CommandOutput().line(_SEPARATOR)
            _show(row)
    return Status.DONE


def _check_membership(arguments: argparse.Namespace, objtype: str | None) -> None:
    if objtype is None:
        raise CommandFailed(Status.TYPE_MISSING, "AMQ7093E")
    if not arguments.user and not arguments.group:
        raise CommandFailed(Status.ENTITY_MISSING, "AMQ7095E")
    if not arguments.profile and objtype != "QMGR":
        raise CommandFailed(Status.OBJECT_NAME_MISSING, "AMQ7092E")
    if is_generic(arguments.profile or ""):
        raise CommandFailed(Status.ARGUMENTS_WRONG, "AMQ7076E", why="-e is about one object: -n has no wildcards.")


def _show(row: dict[str, object]) -> None:
    write = CommandOutput().line
    write(f"profile:     {row['profile']}")
    write(f"object type: {str(row['objtype']).lower()}")
    write(f"entity:      {row['entity']}")
    write(f"entity type: {'group' if row['is_group'] else 'principal'}")
    write(f"authority:   {' '.join(display_order(row['authorities']))}")


def _command(manager_name: str, row: dict[str, object]) -> str:
    words = ["setmqaut", "-m", manager_name, "-n", str(row["profile"]), "-t", str(row["objtype"]).lower()]
    words += ["-g" if row["is_group"] else "-p", str(row["entity"])]
    words += [f"+{word}" for word in display_order(row["authorities"])]
    return shlex.join(words)
