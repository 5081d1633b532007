"""SET CHLAUTH and DISPLAY CHLAUTH."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from ostler.command.admin.channel_auth import (
    ACTIONS,
    ALL_TYPES,
    MATCHES,
    Row,
    RuleMatches,
    RuleQuery,
    find_rules,
    row_of,
    set_rule,
)
from ostler.command.admin.context import CommandContext, CommandRefused
from ostler.command.mqsc.arguments import CommandOptions, find_attribute, given_attributes
from ostler.command.mqsc.define_alter_delete import Action
from ostler.command.mqsc.display.filters import Filter, parse_filter
from ostler.command.mqsc.display.layout import bracketed, columns
from ostler.command.mqsc.grammar import PRODUCT, message
from ostler.command.mqsc.statements import Argument, Statement
from ostler.command.mqsc.tokens import MqscSyntaxError
from ostler.engine.core import Engine
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value, find, to_text
from ostler.model.errors import MQError
from ostler.security.channel_rule import TYPE_WORDS, check_channel_profile

_KIND: Final = ObjectType.CHLAUTH
_NOT_FOUND: Final = "AMQ8884E"
# The message numbers of reasons for which a rule is rejected; other reasons have the general number.
_NUMBERS: Final = {
    mq.MQRCCF_CHLAUTH_TYPE_ERROR: "AMQ8879E",
    mq.MQRCCF_CHLAUTH_ACTION_ERROR: "AMQ8880E",
    mq.MQRCCF_CHLAUTH_USERSRC_ERROR: "AMQ8881E",
    mq.MQRCCF_WRONG_CHLAUTH_TYPE: "AMQ8882E",
    mq.MQRCCF_CHLAUTH_ALREADY_EXISTS: "AMQ8883E",
    mq.MQRCCF_CHLAUTH_NOT_FOUND: _NOT_FOUND,
    mq.MQRCCF_WRONG_CHLAUTH_ACTION: "AMQ8885E",
    mq.MQRCCF_WRONG_CHLAUTH_USERSRC: "AMQ8886E",
}
# The order in which the attributes of a rule are shown.
_ORDER: Final = (
    "CHLAUTH",
    "TYPE",
    "DESCR",
    "CUSTOM",
    "SSLPEER",
    "SSLCERTI",
    "ADDRESS",
    "CLNTUSER",
    "QMNAME",
    "ADDRLIST",
    "USERLIST",
    "MCAUSER",
    "USERSRC",
    "CHCKCLNT",
    "WARN",
    "ALTDATE",
    "ALTTIME",
)
# The attributes shown of every rule that has them; address and user unless they are blank.
_ALWAYS: Final = frozenset(
    ("CHLAUTH", "TYPE", "SSLPEER", "CLNTUSER", "QMNAME", "ADDRLIST", "USERLIST", "USERSRC", "ADDRESS", "MCAUSER")
)
_UNLESS_BLANK: Final = ("ADDRESS", "MCAUSER")
_LISTS: Final = ("ADDRLIST", "USERLIST")
# Keywords that describe a connection for MATCH(RUNCHECK). Without a value each is an attribute to show.
_DESCRIBING: Final = ("ADDRESS", "CLNTUSER", "QMNAME", "SSLPEER", "SSLCERTI")


# -- SET ---------------------------------------------------------------------------------------------------------------


def _set(statement: Statement) -> Action:
    profile = _profile(statement)
    options = CommandOptions(statement)
    action = options.choice("ACTION", *ACTIONS)
    if statement.argument("TYPE") is None:
        raise MqscSyntaxError(statement.end, "TYPE is missing: it is the type of the rule")
    # Attributes that do not belong to the type are rejected when the rule is set: MQ has a message for it.
    given = given_attributes(_KIND, options.rest, "", ("ACTION",))
    return partial(_do_set, {"CHLAUTH": profile, **given}, action)


def _profile(statement: Statement) -> str:
    word = statement.name
    if word is None:
        raise MqscSyntaxError(statement.noun.end, "CHLAUTH needs the name of a channel in brackets, such as ('*')")
    text = word.text.strip()
    try:
        check_channel_profile(text)
    except MQError as error:
        raise MqscSyntaxError(word.end, error.detail.rstrip(".")) from None
    return text


def _do_set(given: dict[str, Value], action: str, context: CommandContext) -> Iterator[str]:
    try:
        set_rule(context, given, action)
    except MQError as error:
        raise _with_number(error) from None
    yield message("AMQ8877I", f"{PRODUCT} channel authentication record set.")


def _with_number(error: MQError) -> Exception:
    number = _NUMBERS.get(error.reason)
    return CommandRefused(number, error.detail) if number is not None else error


# -- DISPLAY -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _DisplayRequest:
    """The rules that a DISPLAY selects, and the attributes that it shows."""

    selection: RuleQuery
    names: frozenset[str]
    shows_all: bool
    filter: Filter | None


def _display(statement: Statement) -> Action:
    channel = _profile(statement)
    options = CommandOptions(statement)
    match = options.choice("MATCH", *MATCHES)
    type_word = options.choice("TYPE", ALL_TYPES, *TYPE_WORDS.values()) if _has_values(statement, "TYPE") else ALL_TYPES
    described = {name: options.text(name).strip() for name in _DESCRIBING if _has_values(statement, name)}
    if described and match != "RUNCHECK":
        argument = statement.argument(next(iter(described)))
        assert argument is not None
        raise MqscSyntaxError(
            argument.end,
            f"{argument.keyword.text} takes a value with MATCH(RUNCHECK) only; use WHERE to choose by value",
        )
    if channel != "*" and type_word == "BLOCKADDR":
        raise MqscSyntaxError(statement.end, "TYPE(BLOCKADDR) is for all channels: the name must be '*'")
    selection = RuleQuery(
        channel,
        type_word,
        match,
        described.get("ADDRESS", ""),
        described.get("CLNTUSER", ""),
        described.get("QMNAME", ""),
        described.get("SSLPEER", ""),
        described.get("SSLCERTI", ""),
    )
    return partial(_do_display, _parse_display_request(selection, options))


def _parse_display_request(selection: RuleQuery, options: CommandOptions) -> _DisplayRequest:
    """Parses the rest of a DISPLAY: ALL, WHERE and attributes by name."""
    shows_all = options.switch("ALL")
    words = options.values("WHERE")
    condition = parse_filter((_KIND,), words) if words is not None else None
    names = {_attribute_name(argument) for argument in options.rest}
    if condition is not None:
        names.add(condition.attribute.name)
    is_one = "*" not in selection.channel and not names
    return _DisplayRequest(selection, frozenset(names), shows_all or is_one, condition)


def _attribute_name(argument: Argument) -> str:
    attribute = find_attribute((_KIND,), argument.keyword, ("ALL", "WHERE", "MATCH"))
    if argument.values is not None:
        raise MqscSyntaxError(argument.end, f"{attribute.name} takes no value here; use WHERE to choose by value")
    return attribute.name


def _has_values(statement: Statement, keyword: str) -> bool:
    argument = statement.argument(keyword)
    return argument is not None and argument.values is not None


def _do_display(request: _DisplayRequest, context: CommandContext) -> Iterator[str]:
    try:
        found = find_rules(context, request.selection)
    except MQError as error:
        raise _with_number(error) from None
    is_disabled = context.query(_rules_are_disabled)
    shown = False
    for definition in found.rules:
        row = row_of(definition)
        if request.filter is None or request.filter.accepts(row.get(request.filter.attribute.name)):
            shown = True
            yield _title(is_disabled)
            yield from _lines(request, row)
    if not shown:
        yield from _nothing(request, found)


def _rules_are_disabled(engine: Engine) -> bool:
    return engine.manager.attributes.get("CHLAUTH") == mq.MQCHLA_DISABLED


def _title(is_disabled: bool) -> str:
    if is_disabled:
        return message("AMQ8898I", "Channel authentication record details; the records are disabled.")
    return message("AMQ8878I", "Channel authentication record details.")


def _nothing(request: _DisplayRequest, found: RuleMatches) -> Iterator[str]:
    """Yields the user of a connection without matching rules (RUNCHECK); other displays without rules fail."""
    if request.selection.match == "RUNCHECK" and not found.rules:
        yield message("AMQ9783I", f"No record matches this connection; the channel runs with MCAUSER('{found.user}').")
        return
    raise CommandRefused(_NOT_FOUND, f"Channel authentication record not found for {request.selection.channel}.")


def _lines(request: _DisplayRequest, row: Row) -> Iterator[str]:
    items: list[str] = []
    for name in _ORDER:
        if name in row and _is_shown(request, name, row[name]):
            if name in _LISTS and items:
                # A list begins on a line of its own.
                yield from columns(items)
                items = []
            items.append(_item(name, row[name]))
    yield from columns(items)


def _is_shown(request: _DisplayRequest, name: str, value: Value) -> bool:
    if request.shows_all or name in request.names:
        return True
    if name in _UNLESS_BLANK:
        return value != ""
    return name in _ALWAYS or (name == "WARN" and value == mq.MQWARN_YES)


def _item(name: str, value: Value) -> str:
    attribute = find(_KIND, name)
    return bracketed(name, to_text(attribute, value) if attribute is not None else str(value))


# The commands of this module by verb and noun, each with its parser.
COMMANDS: Final[dict[tuple[str, str], Callable[[Statement], Action]]] = {
    ("SET", "CHLAUTH"): _set,
    ("DISPLAY", "CHLAUTH"): _display,
}
