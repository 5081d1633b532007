"""ALTER and DISPLAY SMDS: the shared message data sets of coupling facility structures.

They are not defined by command: each queue manager has one for every structure with OFFLOAD(SMDS).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext, CommandRefused
from ostler.command.admin.objects import matches
from ostler.command.admin.permissions import authorize
from ostler.command.admin.structures import change_data_sets, data_set_options, has_data_sets, structures
from ostler.command.mqsc.arguments import CommandOptions, given_attributes
from ostler.command.mqsc.define_alter_delete import Action, not_found
from ostler.command.mqsc.display.display import DisplayRequest, Row, display_lines, is_selected, parse_display_request
from ostler.command.mqsc.grammar import PRODUCT, Noun, message
from ostler.command.mqsc.statements import Statement
from ostler.command.mqsc.tokens import MqscSyntaxError, Token, TokenKind
from ostler.engine import objects
from ostler.engine.core import Engine
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value, check, require, valid_name
from ostler.model.coupling.status_rows import DataSetOptions
from ostler.model.definitions import Definition, new_definition
from ostler.model.errors import MQError

_KIND: Final = ObjectType.SMDS
_NOUN: Final = Noun(
    "SMDS",
    (),
    (_KIND,),
    "shared message data set",
    displayed="AMQ8898I",
    title="Shared message data set details.",
    heads=("SMDS", "CFSTRUCT"),
)


def _key(structure: str, manager: str) -> str:
    return f"{structure}/{manager}"


def named_manager(statement: Statement) -> Token:
    """Returns the queue manager of a command, or an asterisk. Raises MqscSyntaxError."""
    word, noun = statement.name, statement.noun.text
    if word is None:
        raise MqscSyntaxError(statement.noun.end, f"{noun} needs the name of a queue manager in brackets, or (*)")
    if word.text != "*" and not valid_name(word.text):
        raise MqscSyntaxError(word.end, f"{noun} takes the name of a queue manager, or (*)")
    return word


def named_structure(statement: Statement, options: CommandOptions) -> str:
    """Returns CFSTRUCT of a command. Raises MqscSyntaxError."""
    argument = statement.argument("CFSTRUCT")
    name = options.text("CFSTRUCT")
    if argument is None or not name:
        raise MqscSyntaxError(statement.end, "CFSTRUCT is missing: it names the structure of the data set")
    try:
        check(require(_KIND, "CFSTRUCT"), name.rstrip("*"))
    except MQError as error:
        raise MqscSyntaxError(argument.end, error.detail.rstrip(".")) from None
    return name


def alter(statement: Statement) -> Action:
    manager = named_manager(statement).text
    options = CommandOptions(statement)
    structure = named_structure(statement, options)
    given = given_attributes(_KIND, options.rest, "")
    return partial(_alter, structure, manager, given)


def _alter(structure: str, manager: str, given: dict[str, Value], context: CommandContext) -> Iterator[str]:
    authorize(context, "ALTER", _KIND, structure)
    if context.sharing() is None:
        alter_definitions(context, structure, manager, given)
    else:
        change_data_sets(context, structure, manager, given)
    yield message("AMQ8899I", f"{PRODUCT} shared message data set changed.")


def alter_definitions(context: CommandContext, structure: str, manager: str, given: dict[str, Value]) -> None:
    """Alters definitions of data sets at a queue manager that is in no group. Raises MQError and CommandRefused."""
    context.change(partial(_change, structure, manager, given))


def _change(structure: str, manager: str, given: dict[str, Value], engine: Engine) -> int:
    found = engine.of_type(ObjectType.CFSTRUCT).get(structure)
    if found is None:
        raise not_found(structure)
    if found.attributes.get("OFFLOAD") != mq.MQCFOFFLD_SMDS:
        raise CommandRefused("AMQ8101E", f"{structure} has no shared message data sets: it is not OFFLOAD(SMDS).")
    managers = [engine.name, *_managers(engine, structure)] if manager == "*" else [manager]
    lsn = 0
    for each in dict.fromkeys(managers):
        existing = engine.of_type(_KIND).get(_key(structure, each))
        if existing is None:
            existing = new_definition(_KIND, _key(structure, each), {"CFSTRUCT": structure})
        lsn = objects.define(engine, existing.with_changes(given), replace=True)
    return lsn


def _managers(engine: Engine, structure: str) -> list[str]:
    known = [each.name.split("/", 1) for each in engine.of_type(_KIND).values()]
    return [manager for name, manager in known if name == structure]


def display(statement: Statement) -> Action:
    word = named_manager(statement)
    options = CommandOptions(statement)
    structure = named_structure(statement, options)
    request = parse_display_request(
        replace(statement, name=Token(TokenKind.WORD, "*", word.start, word.end)), _NOUN, options
    )
    if not request.names:
        request = replace(request, shows_all=True)
    return partial(_display, request, word.text, structure)


def _display(request: DisplayRequest, manager: str, structure: str, context: CommandContext) -> Iterator[str]:
    authorize(context, "DISPLAY", _KIND, structure)
    found = False
    for row in option_rows(context, manager, structure):
        if is_selected(request, _KIND, row):
            found = True
            yield from display_lines(request, _KIND, row)
    if not found:
        raise not_found(manager if manager != "*" else structure)


def option_rows(context: CommandContext, manager: str, structure: str) -> list[Row]:
    """Returns the rows of SMDS: in a group as the repository has them, else as they are defined here."""
    if context.sharing() is None:
        return context.query(partial(_rows, manager, structure))
    rows: list[Row] = []
    for name, definition in structures(context, structure).items():
        if has_data_sets(definition):
            rows += [_options_row(each) for each in data_set_options(context, name, manager)]
    return rows


def _options_row(options: DataSetOptions) -> Row:
    return {
        "SMDS": options.owner,
        "CFSTRUCT": options.structure,
        "DSBUFS": options.buffers or "DEFAULT",
        "DSEXPAND": options.expand,
    }


def _rows(manager: str, structure: str, engine: Engine) -> list[Row]:
    rows: list[Row] = []
    for name, each in sorted(engine.of_type(ObjectType.CFSTRUCT).items()):
        if not matches(name, structure) or each.attributes.get("OFFLOAD") != mq.MQCFOFFLD_SMDS:
            continue
        managers = [one for one in sorted({engine.name, *_managers(engine, name)}) if manager in ("*", one)]
        rows += [_row(engine.of_type(_KIND).get(_key(name, one)), name, one) for one in managers]
    return rows


def _row(definition: Definition | None, structure: str, manager: str) -> Row:
    attributes = definition.attributes if definition is not None else {"DSBUFS": "DEFAULT", "DSEXPAND": "DEFAULT"}
    return {**attributes, "SMDS": manager, "CFSTRUCT": structure}


COMMANDS: Final[dict[tuple[str, str], Callable[[Statement], Action]]] = {
    ("ALTER", "SMDS"): alter,
    ("DISPLAY", "SMDS"): display,
}
