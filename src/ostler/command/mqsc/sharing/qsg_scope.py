"""CMDSCOPE, QSGDISP and CHLDISP: the queue managers of a queue-sharing group that a command applies to.

A command with CMDSCOPE is sent to other members, whose answers follow, each headed by the queue manager's name. A
queue manager in no group accepts the values that mean itself alone, and rejects others. QSGDISP of commands about
objects is theirs (`ostler.command.group`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext, CommandRefused
from ostler.command.admin.group_scope import (
    ALL_MEMBERS,
    FAILED_SOMEWHERE,
    FROM_MEMBER,
    NO_ANSWER,
    NOT_ACTIVE,
    GroupCommands,
)
from ostler.command.mqsc.define_alter_delete import Action
from ostler.command.mqsc.grammar import OBJECT_NOUNS, message
from ostler.command.mqsc.outcome import CommandOutcome
from ostler.command.mqsc.statements import Argument, Statement
from ostler.command.mqsc.tokens import MqscSyntaxError
from ostler.engine.core import Engine
from ostler.model.attributes import find

_NO_GROUP: Final = "this queue manager is in no queue-sharing group"
# The values of each keyword that are valid without a group.
_WITHOUT_GROUP: Final = {
    "QSGDISP": ("QMGR", "LIVE", "ALL", "PRIVATE"),
    "CHLDISP": ("DEFAULT", "PRIVATE", "ALL"),
}
_GROUP: Final = "GROUP"
_SCOPE_KEYWORDS: Final = frozenset(("CMDSCOPE", *_WITHOUT_GROUP))
# The verbs that have QSGDISP of objects, and the nouns without objects of their own.
_OBJECT_VERBS: Final = ("DEFINE", "ALTER", "DELETE", "DISPLAY")
_MESSAGE_VERBS: Final = ("CLEAR", "MOVE")
_OF_OBJECTS: Final = frozenset(
    word
    for word, noun in OBJECT_NOUNS.items()
    if any(find(kind, "QSGDISP") is not None for kind in noun.types) and noun.word != "STGCLASS"
)

# The commands with CHLDISP of their own: without a group SHARED and FIXSHARED are refused when they run.
_WITH_CHANNEL_DISPOSITION: Final = frozenset(
    [(verb, noun) for verb in ("START", "STOP", "PING", "RESET", "RESOLVE") for noun in ("CHANNEL", "CHL")]
    + [("DISPLAY", noun) for noun in ("CHSTATUS", "CHS")]
)

Run = Callable[[CommandContext, Action, str], Generator[str, None, CommandOutcome]]
"""Runs an action, yields its lines with its error messages, and returns the outcome."""


@dataclass(frozen=True)
class Scope:
    queue_manager: str = ""
    """CMDSCOPE: a name, ALL_MEMBERS, or empty for the queue manager that has the command."""
    is_group_wide: bool = False
    """The command changes a group object (QSGDISP(GROUP))."""


def split_scope(statement: Statement, verb: str) -> tuple[Statement, Scope]:
    """Returns the command without scope keywords, and its scope."""
    if not any(argument.keyword.text in _SCOPE_KEYWORDS for argument in statement.arguments):
        return statement, Scope()
    scope: str | None = None
    is_group_wide = False
    kept: list[Argument] = []
    for argument in statement.arguments:
        word = argument.keyword.text
        if word == "CMDSCOPE":
            scope = _scope(argument, scope)
        elif word == "QSGDISP" and verb in _OBJECT_VERBS and statement.noun.text in _OF_OBJECTS:
            kept.append(argument)
            is_group_wide = is_group_wide or (verb != "DISPLAY" and _names_group(argument))
        elif (word == "CHLDISP" and (verb, statement.noun.text) in _WITH_CHANNEL_DISPOSITION) or (
            word == "QSGDISP" and verb in _MESSAGE_VERBS
        ):
            kept.append(argument)
        elif word in _WITHOUT_GROUP and argument.values is not None:
            _check_without_group(argument)
            if verb in ("DEFINE", "ALTER") and word == "QSGDISP":
                kept.append(argument)
        else:
            kept.append(argument)
    return replace(statement, arguments=tuple(kept)), Scope(scope or "", is_group_wide)


def _scope(argument: Argument, before: str | None) -> str:
    if before is not None:
        raise MqscSyntaxError(argument.end, "CMDSCOPE is given twice")
    if not argument.values or len(argument.values) > 1:
        raise MqscSyntaxError(argument.end, "CMDSCOPE takes the name of one queue manager")
    return argument.values[0].text.strip()


def _names_group(argument: Argument) -> bool:
    return any(value.text.upper() == _GROUP for value in argument.values or ())


def _check_without_group(argument: Argument) -> None:
    """Raises MqscSyntaxError for a value that needs a group."""
    words = _WITHOUT_GROUP[argument.keyword.text]
    for value in argument.values or ():
        if value.text.upper() not in words:
            raise MqscSyntaxError(
                value.end, f"{argument.keyword.text}({value.text}) needs a queue-sharing group: {_NO_GROUP}"
            )


def apply_scope(action: Action, scope: Scope, text: str, run: Run) -> Action:
    """Returns an action that runs where the scope says. `run` answers for an action at this queue manager."""
    return partial(_scoped, action, scope, text, run) if scope.queue_manager else action


def _scoped(action: Action, scope: Scope, text: str, run: Run, context: CommandContext) -> Iterator[str]:
    name = context.query(_name)
    wanted = scope.queue_manager
    if wanted.upper() == name.upper() or context.is_from_member:
        yield from action(context)
        return
    group = context.group_commands()
    if group is None:
        if wanted != ALL_MEMBERS:
            raise CommandRefused("AMQ8101E", f"CMDSCOPE({wanted}) names another queue manager, and {_NO_GROUP}.")
        yield from action(context)
        return
    if scope.is_group_wide:
        raise CommandRefused("AMQ8101E", "With QSGDISP(GROUP) CMDSCOPE can name this queue manager only.")
    failed: list[str] = []
    if wanted == ALL_MEMBERS:
        yield message(FROM_MEMBER, f"Queue manager {name} answers:")
        if (yield from run(context, action, text)) is not CommandOutcome.DONE:
            failed.append(name)
    failed += yield from _answers(group, other_members(group, wanted), text)
    if failed:
        raise CommandRefused(FAILED_SOMEWHERE, f"The command was not done at {', '.join(failed)}.")


def other_members(group: GroupCommands, wanted: str) -> list[str]:
    """Returns the active members that CMDSCOPE names, without this one. Raises CommandRefused for a name of none."""
    active = group.active_members()
    if wanted == ALL_MEMBERS:
        return active
    found = [each for each in active if each.upper() == wanted.upper()]
    if not found:
        others = f"active are {', '.join(active)}" if active else "no other member is active"
        text = f"CMDSCOPE({wanted}) names no active member of queue-sharing group {group.group}: {others}."
        raise CommandRefused(NOT_ACTIVE, text)
    return found


def _answers(group: GroupCommands, members: Sequence[str], text: str) -> Generator[str, None, list[str]]:
    """Yields the lines of members; returns those where the command was not done."""
    failed: list[str] = []
    for answer in group.run_mqsc(members, text):
        if not answer.is_done:
            failed.append(answer.name)
        if answer.problem:
            yield message(NO_ANSWER, answer.problem)
            continue
        yield message(FROM_MEMBER, f"Queue manager {answer.name} answers:")
        for part in answer.parts:
            yield from part.decode().split("\n")
    return failed


def _name(engine: Engine) -> str:
    return engine.name
