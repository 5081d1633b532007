"""DISPLAY GROUP: the queue-sharing group of this queue manager and its members."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.command.admin.permissions import authorize
from ostler.command.group.members import group_members, group_name, obsolete_messages
from ostler.command.mqsc.arguments import CommandOptions
from ostler.command.mqsc.define_alter_delete import Action
from ostler.command.mqsc.display.layout import bracketed, columns
from ostler.command.mqsc.grammar import message
from ostler.command.mqsc.statements import Statement
from ostler.command.mqsc.tokens import MqscSyntaxError
from ostler.model.attributes import ObjectType


def display_group(statement: Statement) -> Action:
    if statement.name is not None:
        raise MqscSyntaxError(statement.name.end, "GROUP takes no name: it is the group of this queue manager")
    options = CommandOptions(statement)
    looks_for_obsolete = options.choice("OBSMSGS", "NO", "YES") == "YES"
    options.finish()
    return partial(_display_group, looks_for_obsolete)


def _display_group(looks_for_obsolete: bool, context: CommandContext) -> Iterator[str]:
    authorize(context, "DISPLAY", ObjectType.QMGR, "")
    name = group_name(context)
    for member in group_members(context):
        yield message("AMQ8900I", "Queue-sharing group details.")
        yield from columns(
            [
                bracketed("QSGNAME", name),
                bracketed("QMNAME", member.name),
                bracketed("QMNUMBER", str(member.number)),
                bracketed("STATUS", member.state),
                bracketed("CMDLEVEL", str(member.level)),
                bracketed("ADDRESS", member.address),
            ]
        )
    if looks_for_obsolete:
        for structure, count in obsolete_messages(context).items():
            text = f"The structure {structure} has {count} messages in the repository of queue managers that have left."
            yield message("AMQ8901W", text)


COMMANDS: Final[dict[tuple[str, str], Callable[[Statement], Action]]] = {("DISPLAY", "GROUP"): display_group}
