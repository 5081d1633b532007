"""DISPLAY of status: queues, the queue manager, channels, listeners, services and connections."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ostler.command.admin.context import (
    ApplicationStatus,
    CommandContext,
    CommandRefused,
    ListenerStatus,
    ServiceStatus,
)
from ostler.command.admin.objects import matches, matching_names
from ostler.command.admin.permissions import authorize, may_see
from ostler.command.mqsc.arguments import CommandOptions
from ostler.command.mqsc.define_alter_delete import Action, not_found
from ostler.command.mqsc.display.display import DisplayRequest, Row, display_lines, is_selected, parse_display_request
from ostler.command.mqsc.grammar import Noun
from ostler.command.mqsc.statements import Statement
from ostler.command.mqsc.tokens import MqscSyntaxError
from ostler.command.status.channel_status import (
    CURRENT,
    SAVED,
    SHORT,
    always_shown,
    channel_row,
    in_display_order,
    is_selected_instance,
)
from ostler.command.status.replication_rows import ALL, GROUP, INSTANCE, native_ha_rows
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

_ALL = "ALL"


def queue_status(statement: Statement, noun: Noun) -> Action:
    options = CommandOptions(statement)
    about = options.choice("TYPE", "QUEUE", "HANDLE")
    use = options.choice("OPENTYPE", "ALL", "INPUT", "OUTPUT")
    request = parse_display_request(statement, noun, options)
    return partial(_handle_status, request, use) if about == "HANDLE" else partial(_queue_status, request, use)


def _visible_queues(request: DisplayRequest, context: CommandContext) -> list[str]:
    """Returns the queues of a command that its user may display."""
    if not request.is_generic:
        authorize(context, "DISPLAY", ObjectType.QSTATUS, request.pattern)
    names = context.query(partial(_queue_names, request))
    return [name for name in names if not request.is_generic or may_see(context, ObjectType.QSTATUS, name)]


def _queue_names(request: DisplayRequest, engine: Engine) -> list[str]:
    return matching_names(engine.queues, request.pattern)


def _queue_status(request: DisplayRequest, use: str, context: CommandContext) -> Iterator[str]:
    names = _visible_queues(request, context)
    found = False
    for at in range(0, len(names), _CHUNK_QUEUES):
        for row in context.query(partial(_queue_rows, names[at : at + _CHUNK_QUEUES], context)):
            is_open = use == "ALL" or row["IPPROCS" if use == "INPUT" else "OPPROCS"] != 0
            if is_open and is_selected(request, ObjectType.QSTATUS, row):
                found = True
                yield from display_lines(request, ObjectType.QSTATUS, row, ("CURDEPTH",))
    if not found:
        raise not_found(request.pattern) if not names else _no_queue_status()


def _queue_rows(names: list[str], context: CommandContext, engine: Engine) -> list[Row]:
    extent_of = context.log_extent_of
    return [queue_row(engine, engine.queues[name], extent_of) for name in names if name in engine.queues]


def _no_queue_status() -> CommandRefused:
    return CommandRefused("AMQ8565I", "There is no queue status to show.")


def _handle_status(request: DisplayRequest, use: str, context: CommandContext) -> Iterator[str]:
    names = _visible_queues(request, context)
    if not names:
        raise not_found(request.pattern)
    programs = context.application_status()
    found = False
    for row in context.query(partial(_handle_rows, set(names), use, programs)):
        if is_selected(request, ObjectType.QSTATUS, row):
            found = True
            yield from display_lines(request, ObjectType.QSTATUS, row)
    if not found:
        raise _no_queue_status()


def _handle_rows(names: set[str], use: str, programs: dict[int, ApplicationStatus], engine: Engine) -> list[Row]:
    rows: list[tuple[str, Row]] = []
    for connection in engine.connections.values():
        program = programs.get(connection.number, ApplicationStatus())
        for handle in connection.handles.values():
            queue = handle.queue
            is_named = use == "ALL" or (handle.for_input if use == "INPUT" else handle.for_output)
            if queue is not None and queue.name in names and is_named:
                rows.append((queue.name, handle_row(connection, handle, queue.name, program)))
    return [row for _, row in sorted(rows, key=_first)]


def _first(pair: tuple[str, Row]) -> str:
    return pair[0]


def manager_status(statement: Statement, noun: Noun) -> Action:
    options = CommandOptions(statement)
    about = options.choice("TYPE", "QMGR", "LOG", "NATIVEHA")
    # With a value it chooses rows; without, it is an attribute to show.
    what = options.choice("NHATYPE", INSTANCE, GROUP, ALL) if _has_value(statement, "NHATYPE") else INSTANCE
    if about == "NATIVEHA":
        return partial(_native_ha_status, parse_display_request(statement, noun, options), what)
    if _has_value(statement, "NHATYPE"):
        raise MqscSyntaxError(statement.end, "NHATYPE belongs to TYPE(NATIVEHA)")
    return partial(_manager_status, parse_display_request(statement, noun, options), about)


def _manager_status(request: DisplayRequest, about: str, context: CommandContext) -> Iterator[str]:
    authorize(context, "DISPLAY", ObjectType.QMGR, "")
    name, connections = context.query(_name_and_connections)
    row = manager_row(context.manager_status(), name, connections, about, context.replication_status())
    if not is_selected(request, ObjectType.QMSTATUS, row):
        raise not_found(name)
    yield from display_lines(request, ObjectType.QMSTATUS, row)


def _native_ha_status(request: DisplayRequest, what: str, context: CommandContext) -> Iterator[str]:
    authorize(context, "DISPLAY", ObjectType.QMGR, "")
    status = context.replication_status()
    if status is None:
        raise CommandRefused("AMQ8147E", "This queue manager is not a Native HA queue manager.")
    found = False
    for row in native_ha_rows(status, what):
        if is_selected(request, ObjectType.QMSTATUS, row):
            found = True
            yield from display_lines(request, ObjectType.QMSTATUS, row)
    if not found:
        raise CommandRefused("AMQ8147E", "No instance or group is selected.")


def _name_and_connections(engine: Engine) -> tuple[str, int]:
    return engine.name, len(engine.connections)


def channel_status(statement: Statement, noun: Noun) -> Action:
    options = CommandOptions(statement)
    address = options.text("CONNAME") if _has_value(statement, "CONNAME") else ""
    given = [word for word in (CURRENT, SAVED, SHORT) if options.switch(word)]
    if len(given) > 1:
        raise MqscSyntaxError(statement.end, f"{given[0]} and {given[1]} exclude each other")
    instance = given[0] if given else CURRENT
    disposition = ""
    if _has_value(statement, "CHLDISP"):
        word = options.choice("CHLDISP", _ALL, "PRIVATE", "SHARED", "FIXSHARED")
        disposition = "" if word == _ALL else word
    request = parse_display_request(statement, noun, options, False)
    return partial(_channel_status, request, address or "*", instance, disposition)


def _has_value(statement: Statement, keyword: str) -> bool:
    argument = statement.argument(keyword)
    return argument is not None and argument.values is not None


def _channel_status(
    request: DisplayRequest, address: str, instance: str, disposition: str, context: CommandContext
) -> Iterator[str]:
    manager = context.query(_name)
    found = False
    for status in in_display_order(context.channel_status()):
        if not is_selected_instance(status, instance, request.pattern, address, disposition):
            continue
        row = channel_row(status, instance, manager)
        if may_see(context, ObjectType.CHSTATUS, status.name) and is_selected(request, ObjectType.CHSTATUS, row):
            found = True
            yield from display_lines(request, ObjectType.CHSTATUS, row, always_shown(row))
    if not found:
        raise CommandRefused("AMQ8420I", "There is no channel status to show.")


def _name(engine: Engine) -> str:
    return engine.name


def listener_status(statement: Statement, noun: Noun) -> Action:
    options = CommandOptions(statement)
    return partial(_listener_status, parse_display_request(statement, noun, options))


def _listener_status(request: DisplayRequest, context: CommandContext) -> Iterator[str]:
    found = False
    for status in sorted(context.listener_status(), key=lambda each: each.name):
        if matches(status.name, request.pattern) and may_see(context, ObjectType.LSSTATUS, status.name):
            row = context.query(partial(_listener_row, status))
            if is_selected(request, ObjectType.LSSTATUS, row):
                found = True
                yield from display_lines(request, ObjectType.LSSTATUS, row)
    if not found:
        raise not_found(request.pattern)


def _listener_row(status: ListenerStatus, engine: Engine) -> Row:
    return listener_row(status, engine.of_type(ObjectType.LISTENER).get(status.name))


def service_status(statement: Statement, noun: Noun) -> Action:
    options = CommandOptions(statement)
    return partial(_service_status, parse_display_request(statement, noun, options))


def _service_status(request: DisplayRequest, context: CommandContext) -> Iterator[str]:
    found = False
    for status in sorted(context.service_status(), key=lambda each: each.name):
        if matches(status.name, request.pattern) and may_see(context, ObjectType.SERVICE, status.name):
            row = context.query(partial(_service_row, status))
            if is_selected(request, ObjectType.SVSTATUS, row):
                found = True
                yield from display_lines(request, ObjectType.SVSTATUS, row)
    if not found:
        raise not_found(request.pattern)


def _service_row(status: ServiceStatus, engine: Engine) -> Row:
    return service_row(status, engine.of_type(ObjectType.SERVICE).get(status.name))


def connections(statement: Statement, noun: Noun) -> Action:
    options = CommandOptions(statement)
    about = options.choice("TYPE", "CONN", "HANDLE", "ALL", "*")
    return partial(_connections, parse_display_request(statement, noun, options), about)


def _connections(request: DisplayRequest, about: str, context: CommandContext) -> Iterator[str]:
    authorize(context, "DISPLAY", ObjectType.CONN, "")
    programs = context.application_status()
    found = False
    for row in context.query(partial(_connection_rows, request.pattern, about, programs)):
        if is_selected(request, ObjectType.CONN, row):
            found = True
            yield from display_lines(request, ObjectType.CONN, row)
    if not found:
        raise CommandRefused("AMQ8461I", "There is no such connection.")


def _connection_rows(pattern: str, about: str, programs: dict[int, ApplicationStatus], engine: Engine) -> list[Row]:
    rows: list[Row] = []
    for connection in engine.connections.values():
        identity = connection.connection_id.hex().upper()
        if not matches(identity[32:], pattern) and not matches(identity, pattern):
            continue
        if about != "HANDLE":
            rows.append(connection_row(engine, connection, programs.get(connection.number, ApplicationStatus())))
        if about != "CONN":
            rows += [open_object_row(connection, handle) for handle in connection.handles.values()]
    return rows
