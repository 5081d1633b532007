"""`ostler qsg`: makes, shows and changes queue-sharing groups, and tries one on this machine."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Final

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandParser
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.qsg import create, members, show


def _add_demo(parser: argparse.ArgumentParser) -> None:
    from ostler.cli.demo.qsg import add_demo  # the laboratory's parts, which the other actions do without

    add_demo(parser)


_ACTIONS: Final[dict[str, tuple[Callable[[argparse.ArgumentParser], None], str, str]]] = {
    "create": (
        create.add_create,
        "create a group",
        "Create a queue-sharing group: its name, its coupling facility and its shared repository. Without options all "
        "of it is on this machine, and members start the facility by themselves.",
    ),
    "add": (
        members.add_add,
        "take a queue manager in",
        "Take a queue manager into a group: it gets a number that no member ever had, and the stanza QueueSharingGroup "
        "of its qm.ini. It must have ended.",
    ),
    "remove": (
        members.add_remove,
        "take a queue manager out",
        "Take a queue manager out of a group. It must have ended, and nothing of it may be left in the facility.",
    ),
    "show": (
        show.add_show,
        "show groups",
        "Show the groups that this data root knows, or one: coupling facility, repository, members and structures.",
    ),
    "delete": (
        create.add_delete,
        "delete a group",
        "Delete a group that has no members, with its repository and the facility that its members started.",
    ),
    "demo": (
        _add_demo,
        "kill one of three members under load, and count what was lost",
        "Make a group of three queue managers on this machine; let applications put and get persistent messages on a "
        "shared queue at all of them; kill one with kill -9, show that work goes on, start it again, and count what "
        "was lost. The exit status is 0 if nothing was lost and nothing came twice. All of it is in one directory, and "
        "is removed in the end.",
    ),
}


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "qsg",
        "make and show queue-sharing groups, or try one",
        "Make, change and show queue-sharing groups, whose queue managers share queues; or try one on this machine.",
        Status.PARAMETER_WRONG,
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)
    for name, (add_options, purpose, description) in _ACTIONS.items():
        action = actions.add_parser(name, help=purpose, description=description, allow_abbrev=False)
        assert isinstance(action, CommandParser)
        action.usage_status = Status.PARAMETER_WRONG
        add_options(action)
