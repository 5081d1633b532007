"""BACKUP and RECOVER CFSTRUCT: structures of the coupling facility, copied into the log and brought back from logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.command.admin.permissions import authorize
from ostler.command.admin.structure_recovery import (
    EXCLINT_DEFAULT,
    EXCLINT_MAX,
    EXCLINT_MIN,
    back_up_structures,
    recover_structures,
)
from ostler.command.mqsc.arguments import CommandOptions
from ostler.command.mqsc.define_alter_delete import Action
from ostler.command.mqsc.grammar import PRODUCT, message
from ostler.command.mqsc.statements import Statement
from ostler.command.mqsc.tokens import MqscSyntaxError
from ostler.model.attributes import ObjectType


def _names(statement: Statement) -> list[str]:
    word = statement.name
    if word is None or not word.text:
        raise MqscSyntaxError(statement.noun.end, "CFSTRUCT needs the name of a structure in brackets")
    return [name.strip() for name in word.text.split(",") if name.strip()]


def back_up(statement: Statement) -> Action:
    names = _names(statement)
    options = CommandOptions(statement)
    options.text("CMDSCOPE")
    interval = options.text("EXCLINT") or str(EXCLINT_DEFAULT)
    argument = statement.argument("EXCLINT")
    if not interval.isdigit() or not EXCLINT_MIN <= int(interval) <= EXCLINT_MAX:
        end = argument.end if argument is not None else statement.end
        raise MqscSyntaxError(end, f"EXCLINT takes {EXCLINT_MIN} to {EXCLINT_MAX} seconds")
    options.finish()
    return partial(_back_up, names)


def _back_up(names: list[str], context: CommandContext) -> Iterator[str]:
    for name in names:
        authorize(context, "BACKUP", ObjectType.CFSTRUCT, name.rstrip("*"))
    for done in back_up_structures(context, names):
        yield from done.warnings
        text = (
            f"{PRODUCT} structure {done.name} backed up: {done.messages} messages, {done.size_bytes >> 20} MB, "
            f"from LSN {done.start_lsn} of the log of this queue manager."
        )
        yield message("AMQ7504I", text)


def recover(statement: Statement) -> Action:
    names = _names(statement)
    options = CommandOptions(statement)
    options.text("CMDSCOPE")
    kind = (options.text("TYPE") or "NORMAL").upper()
    if kind not in ("NORMAL", "PURGE"):
        argument = statement.argument("TYPE")
        raise MqscSyntaxError(argument.end if argument is not None else statement.end, "TYPE is NORMAL or PURGE")
    options.finish()
    return partial(_recover, names, kind == "PURGE")


def _recover(names: list[str], purge: bool, context: CommandContext) -> Iterator[str]:
    for name in names:
        authorize(context, "RECOVER", ObjectType.CFSTRUCT, name)
    yield recover_structures(context, names, purge)


COMMANDS: Final[dict[tuple[str, str], Callable[[Statement], Action]]] = {
    ("BACKUP", "CFSTRUCT"): back_up,
    ("RECOVER", "CFSTRUCT"): recover,
}
