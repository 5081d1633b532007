"""START, STOP, PING and REFRESH: what runs, rather than what is defined."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from ostler.command.arguments import Options, object_name
from ostler.command.changes import Action, not_found
from ostler.command.nouns import PRODUCT, Noun, message
from ostler.command.statements import Statement
from ostler.command.target import (
    CHANNEL_ACTIVE,
    CHANNEL_NOT_ACTIVE,
    LISTENER_ACTIVE,
    LISTENER_NOT_ACTIVE,
    CommandRefused,
    Target,
)
from ostler.command.words import SyntaxProblem
from ostler.engine import objects
from ostler.engine.core import Engine
from ostler.model.attributes import ObjectType

_DEFAULT_LISTENER: Final = "SYSTEM.DEFAULT.LISTENER.TCP"
# What IGNSTATE(YES) does not mind.
_ALREADY_SO: Final = (LISTENER_ACTIVE, LISTENER_NOT_ACTIVE, CHANNEL_ACTIVE, CHANNEL_NOT_ACTIVE)


def _run(
    kind: ObjectType, name: str, ignores: bool, do: Callable[[Target], None], answer: str, target: Target
) -> Iterator[str]:
    if not target.look(partial(_is_defined, kind, name)):
        if kind == ObjectType.CHANNEL:
            raise CommandRefused("AMQ8227E", f"Channel {name} not found.")
        raise not_found(name)
    try:
        do(target)
    except CommandRefused as refusal:
        if not ignores or refusal.number not in _ALREADY_SO:
            raise
    yield answer


def _is_defined(kind: ObjectType, name: str, engine: Engine) -> bool:
    return objects.find(engine, kind, name) is not None


def _is_listening(name: str, target: Target) -> bool:
    return any(status.name == name for status in target.listener_status())


def _start_listener(name: str, target: Target) -> None:
    if _is_listening(name, target):
        raise CommandRefused(LISTENER_ACTIVE, f"Listener {name} is active already.")
    target.start_listener(name)


def _stop_listener(name: str, target: Target) -> None:
    if not _is_listening(name, target):
        raise CommandRefused(LISTENER_NOT_ACTIVE, f"Listener {name} is not active.")
    target.stop_listener(name)


def start(statement: Statement, noun: Noun) -> Action:
    options = Options(statement)
    ignores = options.choice("IGNSTATE", "NO", "YES") == "YES"
    kind = noun.types[0]
    if kind == ObjectType.LISTENER:
        name = object_name(statement, kind, _DEFAULT_LISTENER)
        options.finish()
        answer = message("AMQ8021I", f"Request to start {PRODUCT} listener accepted.")
        return partial(_run, kind, name, ignores, partial(_start_listener, name), answer)
    channel = object_name(statement, kind)
    options.finish()
    answer = message("AMQ8018I", f"Start of {PRODUCT} channel accepted.")
    return partial(_run, kind, channel, ignores, lambda target: target.start_channel(channel), answer)


def stop(statement: Statement, noun: Noun) -> Action:
    options = Options(statement)
    ignores = options.choice("IGNSTATE", "NO", "YES") == "YES"
    kind = noun.types[0]
    name = object_name(statement, kind)
    if kind == ObjectType.LISTENER:
        options.finish()
        answer = message("AMQ8706I", f"Request to stop {PRODUCT} listener accepted.")
        return partial(_run, kind, name, ignores, partial(_stop_listener, name), answer)
    mode = options.choice("MODE", "QUIESCE", "FORCE", "TERMINATE")
    address = options.text("CONNAME")
    # A stop that concerns one partner only leaves the channel usable for the others.
    status = options.choice("STATUS", *(("INACTIVE", "STOPPED") if address else ("STOPPED", "INACTIVE")))
    if address and status == "STOPPED":
        raise SyntaxProblem(statement.end, "STATUS(STOPPED) concerns the whole channel; it does not go with CONNAME")
    options.finish()
    answer = message("AMQ8019I", f"Stop of {PRODUCT} channel accepted.")
    return partial(_run, kind, name, ignores, lambda target: target.stop_channel(name, mode, status, address), answer)


def ping(statement: Statement, noun: Noun) -> Action:
    if statement.name is not None:
        raise SyntaxProblem(statement.name.end, "QMGR takes no name")
    Options(statement).finish()
    return _ping


def _ping(target: Target) -> Iterator[str]:
    target.look(_nothing)
    yield message("AMQ8415I", f"The {PRODUCT} queue manager answers.")


def _nothing(engine: Engine) -> None:
    """The question is only whether there is an answer."""


def refresh_security(statement: Statement) -> Action:
    if statement.name is not None and statement.name.text not in ("*", ""):
        raise SyntaxProblem(statement.name.end, "SECURITY takes (*) or nothing")
    options = Options(statement)
    what = options.choice("TYPE", "AUTHSERV", "CONNAUTH", "SSL")
    options.finish()
    return partial(_refresh_security, what)


def _refresh_security(what: str, target: Target) -> Iterator[str]:
    if what == "SSL":
        target.refresh_tls()
    else:
        target.refresh_security(what)
    yield message("AMQ8560I", f"{PRODUCT} security cache refreshed.")


# Commands that take no type of object, by verb and noun.
COMMANDS: Final[dict[tuple[str, str], Callable[[Statement], Action]]] = {("REFRESH", "SECURITY"): refresh_security}
