"""`ostler dspmqaut`: shows the authorities of a user, with all its groups, or of a group on an object."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, CommandOutput, existing_manager
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.setmqaut import add_object_options, object_type, profile_name, request_authority_action

# The order in which these commands list authorities; DISPLAY AUTHREC has another.
_ORDER: Final = (
    *("get", "browse", "put", "inq", "set", "connect", "altusr", "crt", "dlt", "chg", "dsp", "passid", "passall"),
    *("setid", "setall", "clr", "ctrl", "ctrlx", "pub", "sub", "resume", "system", "none"),
)


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "dspmqaut",
        "show what a user or group may do to an object",
        "Show what a user, with all its groups, or a group may do to an object.",
        Status.ARGUMENTS_WRONG,
    )
    add_object_options(parser)
    add_entity_options(parser)
    parser.set_defaults(run=run)


def add_entity_options(parser: argparse.ArgumentParser) -> None:
    who = parser.add_mutually_exclusive_group()
    who.add_argument("-p", dest="user", metavar="USER", help="a user")
    who.add_argument("-g", dest="group", metavar="GROUP", help="a group")


def run(arguments: argparse.Namespace) -> int:
    directory = existing_manager(arguments.name)
    objtype = object_type(arguments.type)
    profile = profile_name(arguments, objtype, directory)
    entity = arguments.user or arguments.group
    if not entity:
        raise CommandFailed(Status.ENTITY_MISSING, "AMQ7095E")
    answers = request_authority_action(
        directory,
        "entity_authority",
        objtype=objtype,
        profile=profile,
        entity=entity,
        is_group=arguments.user is None,
    )
    words = display_order(answers[-1]["authorities"])
    write = CommandOutput().line
    write(f"Entity {entity} has these authorities on object {profile or directory.name}:")
    for word in words:
        write(f"\t{word}")
    return Status.DONE


def display_order(words: object) -> list[str]:
    """Returns authorities in lower case and in the order in which these commands list them."""
    given: Sequence[object] = words if isinstance(words, list) else ()
    return sorted((str(word).lower() for word in given), key=_ORDER.index)
