"""DISPLAY CFSTATUS and DISPLAY SMDSCONN: structures of the coupling facility, and connections to data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.command.admin.permissions import authorize
from ostler.command.admin.structures import data_set_connections as connections
from ostler.command.admin.structures import status_rows
from ostler.command.mqsc.arguments import CommandOptions
from ostler.command.mqsc.define_alter_delete import Action, not_found
from ostler.command.mqsc.display.display import DisplayRequest, display_lines, is_selected, parse_display_request
from ostler.command.mqsc.grammar import Noun
from ostler.command.mqsc.sharing.shared_data_sets import named_manager, named_structure
from ostler.command.mqsc.statements import Statement
from ostler.command.mqsc.tokens import MqscSyntaxError, Token, TokenKind
from ostler.command.status.structure_rows import data_set_connection_row
from ostler.model.attributes import ObjectType

_CONNECTION: Final = Noun(
    "SMDSCONN",
    (),
    (ObjectType.SMDSCONN,),
    "shared message data set",
    displayed="AMQ7538I",
    title="Shared message data set connection.",
    heads=("SMDSCONN", "CFSTRUCT"),
)


def structure_status(statement: Statement, noun: Noun) -> Action:
    options = CommandOptions(statement)
    about = options.choice("TYPE", "SUMMARY", "CONNECT", "BACKUP", "SMDS")
    argument = statement.argument("SMDS")
    owner = "*"
    if argument is not None and argument.values is not None:
        if about != "SMDS":
            raise MqscSyntaxError(argument.end, "SMDS belongs to TYPE(SMDS)")
        owner = options.text("SMDS")
    request = parse_display_request(statement, noun, options)
    if not request.names:
        request = replace(request, shows_all=True)
    return partial(_structure_status, request, about, owner)


def _structure_status(request: DisplayRequest, about: str, owner: str, context: CommandContext) -> Iterator[str]:
    authorize(context, "DISPLAY", ObjectType.CFSTRUCT, request.pattern)
    found = False
    for row in status_rows(context, request.pattern, about, owner):
        if is_selected(request, ObjectType.CFSTATUS, row):
            found = True
            yield from display_lines(request, ObjectType.CFSTATUS, row)
    if not found:
        raise not_found(request.pattern)


def data_set_connections(statement: Statement) -> Action:
    word = named_manager(statement)
    options = CommandOptions(statement)
    structure = named_structure(statement, options)
    whole = replace(statement, name=Token(TokenKind.WORD, "*", word.start, word.end))
    request = parse_display_request(whole, _CONNECTION, options)
    if not request.names:
        request = replace(request, shows_all=True)
    return partial(_connections, request, word.text, structure)


def _connections(request: DisplayRequest, owner: str, structure: str, context: CommandContext) -> Iterator[str]:
    authorize(context, "DISPLAY", ObjectType.SMDS, structure)
    found = False
    for each in connections(context, structure, owner):
        row = data_set_connection_row(each)
        if is_selected(request, ObjectType.SMDSCONN, row):
            found = True
            yield from display_lines(request, ObjectType.SMDSCONN, row)
    if not found:
        raise not_found(owner if owner != "*" else structure)


COMMANDS: Final[dict[tuple[str, str], Callable[[Statement], Action]]] = {("DISPLAY", "SMDSCONN"): data_set_connections}
