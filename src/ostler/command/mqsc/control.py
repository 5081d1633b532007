"""START and STOP of listeners, services, the command server and the channel initiator; PING QMGR, REFRESH SECURITY."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from ostler.command.admin.context import (
    LISTENER_ACTIVE,
    LISTENER_NOT_ACTIVE,
    SERVICE_ACTIVE,
    SERVICE_NOT_ACTIVE,
    CommandContext,
    CommandRefused,
)
from ostler.command.admin.permissions import authorize
from ostler.command.mqsc.arguments import CommandOptions, object_name
from ostler.command.mqsc.define_alter_delete import Action, not_found
from ostler.command.mqsc.grammar import PRODUCT, Noun, message
from ostler.command.mqsc.statements import Statement
from ostler.command.mqsc.tokens import MqscSyntaxError
from ostler.engine import objects
from ostler.engine.core import Engine
from ostler.model.attributes import ObjectType

_DEFAULT_LISTENER: Final = "SYSTEM.DEFAULT.LISTENER.TCP"
# The refusals that IGNSTATE(YES) ignores.
_ALREADY_SO: Final = (LISTENER_ACTIVE, LISTENER_NOT_ACTIVE, SERVICE_ACTIVE, SERVICE_NOT_ACTIVE)
# The answers to START and STOP.
_ANSWERS: Final = {
    ("START", ObjectType.LISTENER): message("AMQ8021I", f"Request to start {PRODUCT} listener accepted."),
    ("STOP", ObjectType.LISTENER): message("AMQ8706I", f"Request to stop {PRODUCT} listener accepted."),
    ("START", ObjectType.SERVICE): message("AMQ8733I", f"Request to start {PRODUCT} service accepted."),
    ("STOP", ObjectType.SERVICE): message("AMQ8732I", f"Request to stop {PRODUCT} service accepted."),
}


def _run(verb: str, kind: ObjectType, name: str, ignores: bool, context: CommandContext) -> Iterator[str]:
    authorize(context, verb, kind, name)
    if not context.query(partial(_is_defined, kind, name)):
        raise not_found(name)
    try:
        _HANDLERS[verb, kind](name, context)
    except CommandRefused as refusal:
        if not ignores or refusal.number not in _ALREADY_SO:
            raise
    yield _ANSWERS[verb, kind]


def _is_defined(kind: ObjectType, name: str, engine: Engine) -> bool:
    return objects.find(engine, kind, name) is not None


def _is_listening(name: str, context: CommandContext) -> bool:
    return any(status.name == name for status in context.listener_status())


def _start_listener(name: str, context: CommandContext) -> None:
    if _is_listening(name, context):
        raise CommandRefused(LISTENER_ACTIVE, f"Listener {name} is active already.")
    context.start_listener(name)


def _stop_listener(name: str, context: CommandContext) -> None:
    if not _is_listening(name, context):
        raise CommandRefused(LISTENER_NOT_ACTIVE, f"Listener {name} is not active.")
    context.stop_listener(name)


def _start_service(name: str, context: CommandContext) -> None:
    context.start_service(name)


def _stop_service(name: str, context: CommandContext) -> None:
    context.stop_service(name)


_HANDLERS: Final[dict[tuple[str, ObjectType], Callable[[str, CommandContext], None]]] = {
    ("START", ObjectType.LISTENER): _start_listener,
    ("STOP", ObjectType.LISTENER): _stop_listener,
    ("START", ObjectType.SERVICE): _start_service,
    ("STOP", ObjectType.SERVICE): _stop_service,
}


def start(statement: Statement, noun: Noun) -> Action:
    kind = noun.types[0]
    name = object_name(statement, kind, _DEFAULT_LISTENER if kind == ObjectType.LISTENER else "")
    return _control("START", statement, kind, name)


def stop(statement: Statement, noun: Noun) -> Action:
    kind = noun.types[0]
    return _control("STOP", statement, kind, object_name(statement, kind))


def _control(verb: str, statement: Statement, kind: ObjectType, name: str) -> Action:
    options = CommandOptions(statement)
    ignores = options.choice("IGNSTATE", "NO", "YES") == "YES"
    options.finish()
    return partial(_run, verb, kind, name, ignores)


# -- commands without an object ----------------------------------------------------------------------------------------


def _without_name(statement: Statement) -> CommandOptions:
    """Returns the options of a command whose noun takes no name."""
    if statement.name is not None:
        raise MqscSyntaxError(statement.name.end, f"{statement.noun.text} takes no name")
    return CommandOptions(statement)


def ping(statement: Statement, noun: Noun) -> Action:
    _without_name(statement).finish()
    return _ping


def _ping(context: CommandContext) -> Iterator[str]:
    context.query(_nothing)
    yield message("AMQ8415I", f"The {PRODUCT} queue manager answers.")


def _nothing(engine: Engine) -> None:
    """Reads nothing: the query shows that the engine answers."""


def start_command_server(statement: Statement) -> Action:
    _without_name(statement).finish()
    return partial(_command_server, "START")


def stop_command_server(statement: Statement) -> Action:
    _without_name(statement).finish()
    return partial(_command_server, "STOP")


def _command_server(verb: str, context: CommandContext) -> Iterator[str]:
    authorize(context, verb, ObjectType.QMGR, "")
    if verb == "START":
        context.start_command_server()
        yield message("AMQ8733I", f"Request to start the {PRODUCT} command server accepted.")
    else:
        context.stop_command_server()
        yield message("AMQ8732I", f"Request to stop the {PRODUCT} command server accepted.")


def start_initiator(statement: Statement) -> Action:
    options = _without_name(statement)
    queue = options.text("INITQ")
    options.finish()
    return partial(_start_initiator, queue)


def _start_initiator(queue: str, context: CommandContext) -> Iterator[str]:
    authorize(context, "START", ObjectType.QMGR, "")
    context.start_channel_initiator(queue)
    yield message("AMQ8024I", f"{PRODUCT} channel initiator started.")


def stop_initiator(statement: Statement) -> Action:
    options = _without_name(statement)
    options.choice("SHARED", "RESTART", "STOP")
    options.finish()
    return _stop_initiator


def _stop_initiator(context: CommandContext) -> Iterator[str]:
    authorize(context, "STOP", ObjectType.QMGR, "")
    context.stop_channel_initiator()
    yield message("AMQ8732I", f"Request to stop the {PRODUCT} channel initiator accepted.")


def refresh_security(statement: Statement) -> Action:
    if statement.name is not None and statement.name.text not in ("*", ""):
        raise MqscSyntaxError(statement.name.end, "SECURITY takes (*) or nothing")
    options = CommandOptions(statement)
    what = options.choice("TYPE", "AUTHSERV", "CONNAUTH", "SSL")
    options.finish()
    return partial(_refresh_security, what)


def _refresh_security(what: str, context: CommandContext) -> Iterator[str]:
    authorize(context, "REFRESH", ObjectType.QMGR, "")
    if what == "SSL":
        context.refresh_tls()
    else:
        context.refresh_security(what)
    yield message("AMQ8560I", f"{PRODUCT} security cache refreshed.")


# Commands without a type of object, by verb and noun.
COMMANDS: Final[dict[tuple[str, str], Callable[[Statement], Action]]] = {
    ("REFRESH", "SECURITY"): refresh_security,
    ("REFRESH", "SEC"): refresh_security,
    ("START", "CMDSERV"): start_command_server,
    ("STOP", "CMDSERV"): stop_command_server,
    ("START", "CHINIT"): start_initiator,
    ("STOP", "CHINIT"): stop_initiator,
}
