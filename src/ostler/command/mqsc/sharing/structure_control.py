"""RESET CFSTRUCT, RESET SMDS, START SMDSCONN and STOP SMDSCONN."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.command.admin.permissions import authorize
from ostler.command.admin.structures import control_connections, fail_structure, reset_data_sets
from ostler.command.mqsc.arguments import CommandOptions, object_name
from ostler.command.mqsc.define_alter_delete import Action, unknown_object
from ostler.command.mqsc.grammar import PRODUCT, message
from ostler.command.mqsc.sharing.shared_data_sets import named_manager, named_structure
from ostler.command.mqsc.statements import Statement
from ostler.command.mqsc.tokens import MqscSyntaxError
from ostler.model.attributes import ObjectType
from ostler.model.coupling.status_rows import DISABLED, ENABLED, FAILED, RECOVERED
from ostler.model.errors import MQError


def reset_structure(statement: Statement) -> Action:
    name = object_name(statement, ObjectType.CFSTRUCT)
    options = CommandOptions(statement)
    if statement.argument("ACTION") is None:
        raise MqscSyntaxError(statement.end, "ACTION is missing: it must be FAIL")
    options.choice("ACTION", "FAIL")
    options.finish()
    return partial(_reset_structure, name)


def _reset_structure(name: str, context: CommandContext) -> Iterator[str]:
    authorize(context, "RESET", ObjectType.CFSTRUCT, name)
    try:
        fail_structure(context, name)
    except MQError as error:
        raise unknown_object(error, name) from None
    yield message("AMQ7564I", f"{PRODUCT} coupling facility structure {name} set to FAILED.")


def reset_data_set(statement: Statement) -> Action:
    owner = named_manager(statement).text
    options = CommandOptions(statement)
    structure = named_structure(statement, options)
    status = _choice(statement, options, "STATUS", FAILED, RECOVERED)
    access = _choice(statement, options, "ACCESS", ENABLED, DISABLED)
    options.finish()
    if not status and not access:
        raise MqscSyntaxError(statement.end, "STATUS or ACCESS is missing")
    return partial(_reset_data_set, structure, owner, status, access)


def _choice(statement: Statement, options: CommandOptions, keyword: str, *words: str) -> str:
    """Returns a word of an optional keyword; empty without it."""
    return options.choice(keyword, *words) if statement.argument(keyword) is not None else ""


def _reset_data_set(structure: str, owner: str, status: str, access: str, context: CommandContext) -> Iterator[str]:
    authorize(context, "RESET", ObjectType.SMDS, structure)
    try:
        reset_data_sets(context, structure, owner, status, access)
    except MQError as error:
        raise unknown_object(error, structure) from None
    yield message("AMQ7563I", f"{PRODUCT} shared message data set reset.")


def _connection(verb: str, statement: Statement) -> Action:
    owner = named_manager(statement).text
    options = CommandOptions(statement)
    structure = named_structure(statement, options)
    options.finish()
    return partial(_control_connection, verb, structure, owner)


def _control_connection(verb: str, structure: str, owner: str, context: CommandContext) -> Iterator[str]:
    authorize(context, verb, ObjectType.SMDS, structure)
    try:
        control_connections(context, structure, owner, verb == "START")
    except MQError as error:
        raise unknown_object(error, structure) from None
    done = "AMQ7561I" if verb == "START" else "AMQ7562I"
    yield message(done, f"{PRODUCT} shared message data set connection {'started' if verb == 'START' else 'stopped'}.")


COMMANDS: Final[dict[tuple[str, str], Callable[[Statement], Action]]] = {
    ("RESET", "CFSTRUCT"): reset_structure,
    ("RESET", "SMDS"): reset_data_set,
    ("START", "SMDSCONN"): partial(_connection, "START"),
    ("STOP", "SMDSCONN"): partial(_connection, "STOP"),
}
