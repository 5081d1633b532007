"""START, STOP, PING, RESET, RESOLVE and PURGE CHANNEL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from string import hexdigits
from typing import Final, NoReturn

from ostler.command.admin.channel_errors import WRONG_TYPE
from ostler.command.admin.context import CHANNEL_ACTIVE, CHANNEL_NOT_ACTIVE, CommandContext, CommandRefused
from ostler.command.admin.permissions import authorize
from ostler.command.mqsc.arguments import CommandOptions, object_name
from ostler.command.mqsc.define_alter_delete import Action
from ostler.command.mqsc.grammar import PRODUCT, message
from ostler.command.mqsc.statements import Statement
from ostler.command.mqsc.tokens import MqscSyntaxError
from ostler.engine import objects
from ostler.engine.core import Engine
from ostler.model.attributes import ObjectType, subtype_of

_KIND: Final = ObjectType.CHANNEL
_REFUSED: Final = "AMQ8101E"
# The refusals that IGNSTATE(YES) ignores.
_ALREADY_SO: Final = (CHANNEL_ACTIVE, CHANNEL_NOT_ACTIVE)
# The channel types that each command applies to.
_SENDING: Final = ("SDR", "SVR", "CLUSSDR")
_MESSAGES: Final = (*_SENDING, "RCVR", "RQSTR", "CLUSRCVR")
_CONTROLLED: Final = (*_MESSAGES, "SVRCONN", "MQTT", "AMQP")
# The channel types that are supported here.
_RUN: Final = ("SDR", "SVR", "RCVR", "RQSTR", "SVRCONN")
# CHLDISP. DEFAULT is DEFCDISP of the channel.
_DISPOSITIONS: Final = ("DEFAULT", "PRIVATE", "SHARED", "FIXSHARED")
_PING_BYTES: Final = 16
_LUWID_DIGITS: Final = 16


def _type_of(context: CommandContext, verb: str, name: str, types: tuple[str, ...]) -> str:
    """Returns the type of a channel. Raises CommandRefused without one, or if the verb does not apply to it."""
    authorize(context, verb, _KIND, name)
    found = context.query(partial(_find_type, name))
    if not found:
        raise CommandRefused("AMQ8227E", f"Channel {name} not found.")
    if found not in types:
        number = WRONG_TYPE if verb == "PING" else _REFUSED
        raise CommandRefused(number, f"{verb} does not apply to channel {name}, which is of type {found}.")
    return found


def _check_supported(context: CommandContext, verb: str, name: str, types: tuple[str, ...]) -> None:
    """Raises CommandRefused as `_type_of`, and for channel types that are not supported here."""
    kind = _type_of(context, verb, name, types)
    if kind not in _RUN:
        raise _type_unsupported(name, kind)


def _find_type(name: str, engine: Engine) -> str:
    definition = objects.find(engine, _KIND, name)
    return subtype_of(_KIND, definition.attributes) if definition is not None else ""


def _type_unsupported(name: str, kind: str) -> CommandRefused:
    return CommandRefused(_REFUSED, f"Channel {name} is of type {kind}, which this release does not support.")


def _ignoring_state(ignores: bool, action: Callable[[], None]) -> None:
    try:
        action()
    except CommandRefused as refusal:
        if not ignores or refusal.number not in _ALREADY_SO:
            raise


def _disposition(options: CommandOptions) -> str:
    """Returns CHLDISP; empty if it is not given, or DEFAULT."""
    word = options.choice("CHLDISP", *_DISPOSITIONS)
    return "" if word == "DEFAULT" else word


def start(statement: Statement) -> Action:
    name = object_name(statement, _KIND)
    options = CommandOptions(statement)
    ignores = options.choice("IGNSTATE", "NO", "YES") == "YES"
    disposition = _disposition(options)
    options.finish()
    return partial(_start, name, ignores, disposition)


def _start(name: str, ignores: bool, disposition: str, context: CommandContext) -> Iterator[str]:
    _check_supported(context, "START", name, _CONTROLLED)
    _ignoring_state(ignores, partial(context.start_channel, name, disposition))
    yield message("AMQ8018I", f"Start of {PRODUCT} channel accepted.")


def stop(statement: Statement) -> Action:
    name = object_name(statement, _KIND)
    options = CommandOptions(statement)
    ignores = options.choice("IGNSTATE", "NO", "YES") == "YES"
    mode = options.choice("MODE", "QUIESCE", "FORCE", "TERMINATE")
    address = options.text("CONNAME")
    manager = options.text("QMNAME")
    # With CONNAME or QMNAME the channel stays usable for other partners.
    one = bool(address or manager)
    status = options.choice("STATUS", *(("INACTIVE", "STOPPED") if one else ("STOPPED", "INACTIVE")))
    if one and status == "STOPPED":
        what = "CONNAME" if address else "QMNAME"
        raise MqscSyntaxError(
            statement.end, f"STATUS(STOPPED) applies to the whole channel; it does not go with {what}"
        )
    disposition = _disposition(options)
    options.finish()
    return partial(_stop, name, mode, status, address, manager, ignores, disposition)


def _stop(
    name: str,
    mode: str,
    status: str,
    address: str,
    manager: str,
    ignores: bool,
    disposition: str,
    context: CommandContext,
) -> Iterator[str]:
    kind = _type_of(context, "STOP", name, _CONTROLLED)

    def stop_instances() -> None:
        if kind not in _RUN:
            raise CommandRefused(CHANNEL_NOT_ACTIVE, f"Channel {name} is not active.")
        context.stop_channel(name, mode, status, address, manager, disposition)

    _ignoring_state(ignores, stop_instances)
    yield message("AMQ8019I", f"Stop of {PRODUCT} channel accepted.")


def ping(statement: Statement) -> Action:
    name = object_name(statement, _KIND)
    options = CommandOptions(statement)
    size = _number(options, "DATALEN", 16, 32_768)
    _disposition(options)  # the partner is the same, whichever member runs the channel
    options.finish()
    return partial(_ping, name, size or _PING_BYTES)


def _ping(name: str, size: int, context: CommandContext) -> Iterator[str]:
    _check_supported(context, "PING", name, _SENDING)
    context.ping_channel(name, size)
    yield message("AMQ8020I", f"Ping of {PRODUCT} channel complete.")


def reset(statement: Statement) -> Action:
    name = object_name(statement, _KIND)
    options = CommandOptions(statement)
    number = _number(options, "SEQNUM", 1, 999_999_999)
    disposition = _disposition(options)
    options.finish()
    return partial(_reset, name, number or 1, disposition)


def _reset(name: str, number: int, disposition: str, context: CommandContext) -> Iterator[str]:
    _check_supported(context, "RESET", name, _MESSAGES)
    context.reset_channel(name, number, disposition)
    yield message("AMQ8023I", f"{PRODUCT} channel reset.")


def resolve(statement: Statement) -> Action:
    name = object_name(statement, _KIND)
    options = CommandOptions(statement)
    if statement.argument("ACTION") is None:
        raise MqscSyntaxError(statement.end, "ACTION is missing: it is COMMIT or BACKOUT")
    action = options.choice("ACTION", "COMMIT", "BACKOUT")
    digits = options.text("LUWID")
    luwid = decode_luwid(digits) if digits else b""
    if luwid is None:
        raise MqscSyntaxError(statement.end, f"LUWID has {_LUWID_DIGITS} hexadecimal digits, as LSTLUWID of CHSTATUS")
    if luwid and action != "COMMIT":
        raise MqscSyntaxError(statement.end, "LUWID goes with ACTION(COMMIT): later batches are backed out")
    disposition = _disposition(options)
    options.finish()
    return partial(_resolve, name, action, luwid, disposition)


def decode_luwid(digits: str) -> bytes | None:
    """Returns a LUWID from the digits that CHSTATUS shows; None if they are not one."""
    if len(digits) != _LUWID_DIGITS or not all(each in hexdigits for each in digits):
        return None
    return bytes.fromhex(digits)


def _resolve(name: str, action: str, luwid: bytes, disposition: str, context: CommandContext) -> Iterator[str]:
    _check_supported(context, "RESOLVE", name, _SENDING)
    warning = context.resolve_channel(name, action, luwid, disposition)
    yield message("AMQ8025I", f"{PRODUCT} channel resolved.")
    if warning:
        yield warning


def purge(statement: Statement) -> Action:
    name = object_name(statement, _KIND)
    options = CommandOptions(statement)
    options.text("CLIENTID")
    options.choice("CHLTYPE", "MQTT")
    options.finish()
    return partial(_purge, name)


def _purge(name: str, context: CommandContext) -> NoReturn:
    raise _type_unsupported(name, _type_of(context, "PURGE", name, ("MQTT",)))


def _number(options: CommandOptions, keyword: str, low: int, high: int) -> int | None:
    """Returns the checked number of a keyword; None if it is not given."""
    words = options.values(keyword)
    if words is None:
        return None
    text = words[0].text
    if len(words) > 1 or not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
        raise MqscSyntaxError(words[-1].end, f"{keyword} is a number between {low} and {high}")
    return int(text)


COMMANDS: Final[dict[tuple[str, str], Callable[[Statement], Action]]] = {
    (verb, noun): handler
    for verb, handler in (
        ("START", start),
        ("STOP", stop),
        ("PING", ping),
        ("RESET", reset),
        ("RESOLVE", resolve),
        ("PURGE", purge),
    )
    for noun in ("CHANNEL", "CHL")
}
