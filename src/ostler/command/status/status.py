"""DISPLAY of what is going on: queues, the queue manager, channels, listeners and connections."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ostler.command.admin.context import ApplicationStatus, CommandRefused, ListenerStatus, ServiceStatus, Target
from ostler.command.admin.objects import matches, matching
from ostler.command.admin.permissions import authorize, may_see
from ostler.command.mqsc.arguments import Options
from ostler.command.mqsc.define_alter_delete import Action, not_found
from ostler.command.mqsc.display.display import Row, Wish, is_wanted, read_wish, show
from ostler.command.mqsc.grammar import Noun
from ostler.command.mqsc.statements import Statement
from ostler.command.mqsc.tokens import SyntaxProblem
from ostler.command.status.channel_rows import SHORT, always_shown, channel_row, is_about, ordered
from ostler.command.status.channel_status import CURRENT, SAVED
from ostler.command.status.status_rows import (
    connection_row,
    handle_row,
    listener_row,
    manager_row,
    open_object_row,
    queue_row,
    service_row,
)
from ostler.engine.core import Engine
from ostler.model.attributes import ObjectType

_CHUNK_QUEUES = 100


def queue_status(statement: Statement, noun: Noun) -> Action:
    options = Options(statement)
    about = options.choice("TYPE", "QUEUE", "HANDLE")
    use = options.choice("OPENTYPE", "ALL", "INPUT", "OUTPUT")
    wish = read_wish(statement, noun, options)
    return partial(_handle_status, wish, use) if about == "HANDLE" else partial(_queue_status, wish, use)


def _seen(wish: Wish, target: Target) -> list[str]:
    """The queues that a command is about, and that its user may see."""
    if not wish.is_generic:
        authorize(target, "DISPLAY", ObjectType.QSTATUS, wish.pattern)
    names = target.look(partial(_queue_names, wish))
    return [name for name in names if not wish.is_generic or may_see(target, ObjectType.QSTATUS, name)]


def _queue_names(wish: Wish, engine: Engine) -> list[str]:
    return matching(engine.queues, wish.pattern)


def _queue_status(wish: Wish, use: str, target: Target) -> Iterator[str]:
    names = _seen(wish, target)
    found = False
    for at in range(0, len(names), _CHUNK_QUEUES):
        for row in target.look(partial(_queue_rows, names[at : at + _CHUNK_QUEUES], target)):
            is_open = use == "ALL" or row["IPPROCS" if use == "INPUT" else "OPPROCS"] != 0
            if is_open and is_wanted(wish, ObjectType.QSTATUS, row):
                found = True
                yield from show(wish, ObjectType.QSTATUS, row, ("CURDEPTH",))
    if not found:
        raise not_found(wish.pattern) if not names else _no_queue_status()


def _queue_rows(names: list[str], target: Target, engine: Engine) -> list[Row]:
    extent_of = target.log_extent_of
    return [queue_row(engine, engine.queues[name], extent_of) for name in names if name in engine.queues]


def _no_queue_status() -> CommandRefused:
    return CommandRefused("AMQ8565I", "There is no queue status to show.")


def _handle_status(wish: Wish, use: str, target: Target) -> Iterator[str]:
    names = _seen(wish, target)
    if not names:
        raise not_found(wish.pattern)
    programs = target.application_status()
    found = False
    for row in target.look(partial(_handle_rows, set(names), use, programs)):
        if is_wanted(wish, ObjectType.QSTATUS, row):
            found = True
            yield from show(wish, ObjectType.QSTATUS, row)
    if not found:
        raise _no_queue_status()


def _handle_rows(names: set[str], use: str, programs: dict[int, ApplicationStatus], engine: Engine) -> list[Row]:
    rows: list[tuple[str, Row]] = []
    for connection in engine.connections.values():
        program = programs.get(connection.number, ApplicationStatus())
        for handle in connection.handles.values():
            queue = handle.queue
            is_asked = use == "ALL" or (handle.for_input if use == "INPUT" else handle.for_output)
            if queue is not None and queue.name in names and is_asked:
                rows.append((queue.name, handle_row(connection, handle, queue.name, program)))
    return [row for _, row in sorted(rows, key=_first)]


def _first(pair: tuple[str, Row]) -> str:
    return pair[0]


def manager_status(statement: Statement, noun: Noun) -> Action:
    options = Options(statement)
    about = options.choice("TYPE", "QMGR", "LOG", "NATIVEHA")
    return partial(_manager_status, read_wish(statement, noun, options), about)


def _manager_status(wish: Wish, about: str, target: Target) -> Iterator[str]:
    authorize(target, "DISPLAY", ObjectType.QMGR, "")
    if about == "NATIVEHA":
        raise CommandRefused("AMQ8147E", "This queue manager has no copies of its own log elsewhere.")
    name, connections = target.look(_name_and_connections)
    row = manager_row(target.manager_status(), name, connections, about)
    if not is_wanted(wish, ObjectType.QMSTATUS, row):
        raise not_found(name)
    yield from show(wish, ObjectType.QMSTATUS, row)


def _name_and_connections(engine: Engine) -> tuple[str, int]:
    return engine.name, len(engine.connections)


def channel_status(statement: Statement, noun: Noun) -> Action:
    options = Options(statement)
    address = options.text("CONNAME") if _has_value(statement, "CONNAME") else ""
    asked = [word for word in (CURRENT, SAVED, SHORT) if options.switch(word)]
    if len(asked) > 1:
        raise SyntaxProblem(statement.end, f"{asked[0]} and {asked[1]} exclude each other")
    instance = asked[0] if asked else CURRENT
    return partial(_channel_status, read_wish(statement, noun, options, False), address or "*", instance)


def _has_value(statement: Statement, keyword: str) -> bool:
    argument = statement.argument(keyword)
    return argument is not None and argument.values is not None


def _channel_status(wish: Wish, address: str, instance: str, target: Target) -> Iterator[str]:
    manager = target.look(_name)
    found = False
    for status in ordered(target.channel_status()):
        if not is_about(status, instance, wish.pattern, address):
            continue
        row = channel_row(status, instance, manager)
        if may_see(target, ObjectType.CHSTATUS, status.name) and is_wanted(wish, ObjectType.CHSTATUS, row):
            found = True
            yield from show(wish, ObjectType.CHSTATUS, row, always_shown(row))
    if not found:
        raise CommandRefused("AMQ8420I", "There is no channel status to show.")


def _name(engine: Engine) -> str:
    return engine.name


def listener_status(statement: Statement, noun: Noun) -> Action:
    options = Options(statement)
    return partial(_listener_status, read_wish(statement, noun, options))


def _listener_status(wish: Wish, target: Target) -> Iterator[str]:
    found = False
    for status in sorted(target.listener_status(), key=lambda each: each.name):
        if matches(status.name, wish.pattern) and may_see(target, ObjectType.LSSTATUS, status.name):
            row = target.look(partial(_listener_row, status))
            if is_wanted(wish, ObjectType.LSSTATUS, row):
                found = True
                yield from show(wish, ObjectType.LSSTATUS, row)
    if not found:
        raise not_found(wish.pattern)


def _listener_row(status: ListenerStatus, engine: Engine) -> Row:
    return listener_row(status, engine.of_type(ObjectType.LISTENER).get(status.name))


def service_status(statement: Statement, noun: Noun) -> Action:
    options = Options(statement)
    return partial(_service_status, read_wish(statement, noun, options))


def _service_status(wish: Wish, target: Target) -> Iterator[str]:
    found = False
    for status in sorted(target.service_status(), key=lambda each: each.name):
        if matches(status.name, wish.pattern) and may_see(target, ObjectType.SERVICE, status.name):
            row = target.look(partial(_service_row, status))
            if is_wanted(wish, ObjectType.SVSTATUS, row):
                found = True
                yield from show(wish, ObjectType.SVSTATUS, row)
    if not found:
        raise not_found(wish.pattern)


def _service_row(status: ServiceStatus, engine: Engine) -> Row:
    return service_row(status, engine.of_type(ObjectType.SERVICE).get(status.name))


def connections(statement: Statement, noun: Noun) -> Action:
    options = Options(statement)
    about = options.choice("TYPE", "CONN", "HANDLE", "ALL", "*")
    return partial(_connections, read_wish(statement, noun, options), about)


def _connections(wish: Wish, about: str, target: Target) -> Iterator[str]:
    authorize(target, "DISPLAY", ObjectType.CONN, "")
    programs = target.application_status()
    found = False
    for row in target.look(partial(_connection_rows, wish.pattern, about, programs)):
        if is_wanted(wish, ObjectType.CONN, row):
            found = True
            yield from show(wish, ObjectType.CONN, row)
    if not found:
        raise CommandRefused("AMQ8461I", "There is no such connection.")


def _connection_rows(pattern: str, about: str, programs: dict[int, ApplicationStatus], engine: Engine) -> list[Row]:
    rows: list[Row] = []
    for connection in engine.connections.values():
        identity = connection.connection_id.hex().upper()
        if not matches(identity[32:], pattern) and not matches(identity, pattern):
            continue
        if about != "HANDLE":
            rows.append(connection_row(connection, programs.get(connection.number, ApplicationStatus())))
        if about != "CONN":
            rows += [open_object_row(connection, handle) for handle in connection.handles.values()]
    return rows
