"""CMDSCOPE, QSGDISP and CHLDISP: the queue managers of a queue-sharing group that a command applies to.

There are no such groups here: values that mean this queue manager alone are accepted, others rejected.
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
# The values of each keyword that are valid without a group.
_WITHOUT_GROUP: Final = {
    "QSGDISP": ("QMGR", "LIVE", "ALL", "PRIVATE"),
    "CHLDISP": ("DEFAULT", "PRIVATE", "ALL"),
}
_SCOPE_KEYWORDS: Final = frozenset(("CMDSCOPE", *_WITHOUT_GROUP))
# The verbs that store QSGDISP as an attribute.
_STORING_VERBS: Final = ("DEFINE", "ALTER")


def split_scope(statement: Statement, verb: str) -> tuple[Statement, str]:
    """Returns the command without scope keywords, and the queue manager that CMDSCOPE names; empty for none."""
    if not any(argument.keyword.text in _SCOPE_KEYWORDS for argument in statement.arguments):
        return statement, ""
    scope = ""
    kept: list[Argument] = []
    for argument in statement.arguments:
        word = argument.keyword.text
        if word == "CMDSCOPE":
            scope = _scope(argument, scope)
        elif word in _WITHOUT_GROUP and argument.values is not None:
            _check_without_group(argument)
            if verb in _STORING_VERBS and word == "QSGDISP":
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


def _check_without_group(argument: Argument) -> None:
    words = _WITHOUT_GROUP[argument.keyword.text]
    for value in argument.values or ():
        if value.text.upper() not in words:
            raise MqscSyntaxError(
                value.end, f"{argument.keyword.text}({value.text}) needs a queue-sharing group: {_NO_GROUP}"
            )


def apply_scope(action: Action, scope: str) -> Action:
    """Returns an action that is rejected unless CMDSCOPE names this queue manager."""
    return partial(_scoped, action, scope) if scope else action


def _scoped(action: Action, scope: str, context: CommandContext) -> Iterator[str]:
    name = context.query(_name)
    if scope.upper() != name.upper():
        raise CommandRefused("AMQ8101E", f"CMDSCOPE({scope}) names another queue manager, and {_NO_GROUP}.")
    yield from action(context)


def _name(engine: Engine) -> str:
    return engine.name
