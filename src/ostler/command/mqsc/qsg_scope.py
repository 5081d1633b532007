"""CMDSCOPE, QSGDISP and CHLDISP: on which queue managers of a queue-sharing group a command is done.

There is no such group here, so what concerns this queue manager alone is accepted, and the rest is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext, CommandRefused
from ostler.command.mqsc.define_alter_delete import Action
from ostler.command.mqsc.statements import Argument, Statement
from ostler.command.mqsc.tokens import MqscSyntaxError
from ostler.engine.core import Engine

_NO_GROUP: Final = "this queue manager is in no queue-sharing group"
# What each keyword may say without a group.
_ALONE: Final = {
    "QSGDISP": ("QMGR", "LIVE", "ALL", "PRIVATE"),
    "CHLDISP": ("DEFAULT", "PRIVATE", "ALL"),
}
_CHOOSING: Final = frozenset(("CMDSCOPE", *_ALONE))
# The verbs that keep QSGDISP as an attribute of what they define.
_KEEPING: Final = ("DEFINE", "ALTER")


def split_scope(statement: Statement, verb: str) -> tuple[Statement, str]:
    """The command without the words that choose queue managers, and the one that CMDSCOPE names, if it names one."""
    if not any(argument.keyword.text in _CHOOSING for argument in statement.arguments):
        return statement, ""
    scope = ""
    kept: list[Argument] = []
    for argument in statement.arguments:
        word = argument.keyword.text
        if word == "CMDSCOPE":
            scope = _scope(argument, scope)
        elif word in _ALONE and argument.values is not None:
            _check_alone(argument)
            if verb in _KEEPING and word == "QSGDISP":
                kept.append(argument)
        else:
            kept.append(argument)
    return replace(statement, arguments=tuple(kept)), scope


def _scope(argument: Argument, before: str) -> str:
    if before:
        raise MqscSyntaxError(argument.end, "CMDSCOPE is given twice")
    if not argument.values or len(argument.values) > 1:
        raise MqscSyntaxError(argument.end, "CMDSCOPE takes the name of one queue manager")
    text = argument.values[0].text.strip()
    return "" if text == "*" else text


def _check_alone(argument: Argument) -> None:
    words = _ALONE[argument.keyword.text]
    for value in argument.values or ():
        if value.text.upper() not in words:
            raise MqscSyntaxError(
                value.end, f"{argument.keyword.text}({value.text}) needs others to share with: {_NO_GROUP}"
            )


def apply_scope(action: Action, scope: str) -> Action:
    """The command, done only when the queue manager that CMDSCOPE names is this one."""
    return partial(_scoped, action, scope) if scope else action


def _scoped(action: Action, scope: str, context: CommandContext) -> Iterator[str]:
    name = context.query(_name)
    if scope.upper() != name.upper():
        raise CommandRefused("AMQ8101E", f"CMDSCOPE({scope}) names another queue manager, and {_NO_GROUP}.")
    yield from action(context)


def _name(engine: Engine) -> str:
    return engine.name
