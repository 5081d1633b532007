"""Inquire Status of queues, channels, listeners, services, connections and queue manager; Reset Queue Statistics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from ostler.command.admin.context import ApplicationStatus, CommandContext, ListenerStatus, ServiceStatus
from ostler.command.admin.objects import matches, matching_names
from ostler.command.admin.permissions import authorize, may_see, needed_authorities
from ostler.command.pcf.command import (
    CHANNEL_NAME_LENGTH,
    NAME_LENGTH,
    PcfCommand,
    PcfRequest,
    Reply,
    number,
    numbers,
    octets,
    text,
)
from ostler.command.pcf.errors import PcfRefused
from ostler.command.pcf.inquire import reply_row
from ostler.command.status.channel_status import (
    CURRENT,
    SAVED,
    SHORT,
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
from ostler.engine import objects
from ostler.engine.core import Engine
from ostler.engine.statistics import QueueResetStatistics, queue_statistics
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.pcf import Integer, Parameter, String

Row = Mapping[str, Value]

_CHUNK_QUEUES: Final = 100
_IDENTITY_BYTES: Final = 24
_INSTANCES: Final = {mq.MQOT_CURRENT_CHANNEL: CURRENT, mq.MQOT_SAVED_CHANNEL: SAVED, mq.MQOT_SHORT_CHANNEL: SHORT}
_CHANNEL_DISPOSITIONS: Final = {
    mq.MQCHLD_ALL: "",
    mq.MQCHLD_PRIVATE: "PRIVATE",
    mq.MQCHLD_SHARED: "SHARED",
    mq.MQCHLD_FIXSHARED: "FIXSHARED",
}
_NHA_TYPES: Final = {mq.MQNHATYPE_INSTANCE: INSTANCE, mq.MQNHATYPE_GROUP: GROUP, mq.MQNHATYPE_ALL: ALL}
_GROUP_IDENTIFIERS: Final = {
    mq.MQIACF_NHA_INSTANCE_BACKLOG: mq.MQIACF_NHA_GROUP_BACKLOG,
    mq.MQIACF_NHA_INSTANCE_IN_SYNC: mq.MQIACF_NHA_GROUP_IN_SYNC,
    mq.MQCACF_NHA_SYNC_ISOTIME: mq.MQCACF_NHA_GROUP_SYNC_ISOTIME,
}
_CHANNEL_HEADS: Final = (
    "CHANNEL",
    "CHLTYPE",
    "INSTTYPE",
    "CONNAME",
    "RAPPLTAG",
    "RQMNAME",
    "STATUS",
    "STOPREQ",
    "SUBSTATE",
    "XMITQ",
)


def _passes_filter(request: PcfRequest, kind: ObjectType, row: Row) -> bool:
    return request.condition is None or request.condition.accepts(kind, row)


# -- queues ------------------------------------------------------------------------------------------------------------


def _queue_names(pattern: str, engine: Engine) -> list[str]:
    return matching_names(engine.queues, pattern)


def _is_other_queue(name: str, engine: Engine) -> bool:
    return objects.queue_definition(engine, name) is not None


def _named_queues(context: CommandContext, pattern: str, verb: str) -> list[str]:
    """Returns the local queues of a command; refused without any."""
    if "*" not in pattern:
        authorize(context, verb, ObjectType.QLOCAL, pattern)
    names = context.query(partial(_queue_names, pattern))
    if not names:
        is_other = context.query(partial(_is_other_queue, pattern))
        raise PcfRefused(mq.MQRCCF_Q_TYPE_ERROR if is_other else mq.MQRC_UNKNOWN_OBJECT_NAME)
    mask = needed_authorities(verb, ObjectType.QLOCAL)
    allowed = [name for name in names if "*" not in pattern or context.is_authorized(mq.MQOT_Q, name, mask)]
    if not allowed:
        raise PcfRefused(mq.MQRC_UNKNOWN_OBJECT_NAME)
    return allowed


def _queue_status(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    names = _named_queues(context, request.text(mq.MQCA_Q_NAME), "DISPLAY")
    selection = request.selected(mq.MQIACF_Q_STATUS_ATTRS, (ObjectType.QSTATUS,))
    use = request.number(mq.MQIACF_OPEN_TYPE, mq.MQQSOT_ALL)
    is_handle = request.number(mq.MQIACF_Q_STATUS_TYPE, mq.MQIACF_Q_STATUS) == mq.MQIACF_Q_HANDLE
    rows = _handles(context, set(names), use) if is_handle else _queues(context, names, use)
    found = False
    for row in rows:
        if _passes_filter(request, ObjectType.QSTATUS, row):
            found = True
            yield reply_row(ObjectType.QSTATUS, row, selection, ("QUEUE", "TYPE"))
    if not found:
        raise PcfRefused(mq.MQRCCF_Q_STATUS_NOT_FOUND)


def _queues(context: CommandContext, names: list[str], use: int) -> Iterator[Row]:
    for at in range(0, len(names), _CHUNK_QUEUES):
        for row in context.query(partial(_queue_rows, names[at : at + _CHUNK_QUEUES])):
            if use == mq.MQQSOT_ALL or row["IPPROCS" if use == mq.MQQSOT_INPUT else "OPPROCS"] != 0:
                yield row


def _queue_rows(names: list[str], engine: Engine) -> list[Row]:
    return [queue_row(engine, engine.queues[name]) for name in names if name in engine.queues]


def _handles(context: CommandContext, names: set[str], use: int) -> Iterator[Row]:
    programs = context.application_status()
    yield from context.query(partial(_handle_rows, names, use, programs))


def _handle_rows(names: set[str], use: int, programs: dict[int, ApplicationStatus], engine: Engine) -> list[Row]:
    rows: list[tuple[str, Row]] = []
    for connection in engine.connections.values():
        program = programs.get(connection.number, ApplicationStatus())
        for handle in connection.handles.values():
            queue = handle.queue
            if queue is None or queue.name not in names:
                continue
            if use == mq.MQQSOT_ALL or (handle.for_input if use == mq.MQQSOT_INPUT else handle.for_output):
                rows.append((queue.name, handle_row(connection, handle, queue.name, program)))
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])]


def _reset_statistics(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    pattern = request.text(mq.MQCA_Q_NAME)
    names = _named_queues(context, pattern, "RESET")
    for at in range(0, len(names), _CHUNK_QUEUES):
        for name, figures in context.query(partial(_figures, names[at : at + _CHUNK_QUEUES])):
            yield [
                *reply_row(ObjectType.QSTATUS, {"QUEUE": name}, request.selected(-1, ()), ("QUEUE",)),
                Integer(mq.MQIA_HIGH_Q_DEPTH, figures.depth_high),
                Integer(mq.MQIA_MSG_DEQ_COUNT, figures.dequeued),
                Integer(mq.MQIA_MSG_ENQ_COUNT, figures.enqueued),
                Integer(mq.MQIA_TIME_SINCE_RESET, figures.seconds),
            ]


def _figures(names: list[str], engine: Engine) -> list[tuple[str, QueueResetStatistics]]:
    return [(name, queue_statistics(engine, engine.queues[name], True)) for name in names if name in engine.queues]


# -- channels, listeners, services -------------------------------------------------------------------------------------


def _channel_status(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    pattern = request.text(mq.MQCACH_CHANNEL_NAME)
    address = request.text(mq.MQCACH_CONNECTION_NAME) or "*"
    transmission = request.text(mq.MQCACH_XMIT_Q_NAME) or "*"
    if "*" not in pattern:
        authorize(context, "DISPLAY", ObjectType.CHANNEL, pattern)
    selection = request.selected(mq.MQIACH_CHANNEL_INSTANCE_ATTRS, (ObjectType.CHSTATUS,))
    instance = _INSTANCES[request.number(mq.MQIACH_CHANNEL_INSTANCE_TYPE, mq.MQOT_CURRENT_CHANNEL)]
    disposition = _CHANNEL_DISPOSITIONS[request.number(mq.MQIACH_CHANNEL_DISP, mq.MQCHLD_ALL)]
    manager, _ = context.query(_name_and_connections)
    found = False
    for status in in_display_order(context.channel_status()):
        if not is_selected_instance(status, instance, pattern, address, disposition):
            continue
        row = channel_row(status, instance, manager)
        is_named = matches(str(row.get("XMITQ", "")), transmission)
        if not is_named or not _passes_filter(request, ObjectType.CHSTATUS, row):
            continue
        if "*" in pattern and not may_see(context, ObjectType.CHANNEL, status.name):
            continue
        found = True
        yield reply_row(ObjectType.CHSTATUS, row, selection, _CHANNEL_HEADS)
    if not found:
        raise PcfRefused(mq.MQRCCF_CHL_STATUS_NOT_FOUND)


def _listener_status(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    statuses = context.listener_status()
    rows = context.query(partial(_listener_rows, statuses))
    yield from _running(
        context, request, ObjectType.LSSTATUS, ObjectType.LISTENER, mq.MQCACH_LISTENER_NAME, "LISTENER", rows
    )


def _listener_rows(statuses: list[ListenerStatus], engine: Engine) -> list[Row]:
    known = engine.of_type(ObjectType.LISTENER)
    return [listener_row(status, known.get(status.name)) for status in statuses]


def _service_status(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    statuses = context.service_status()
    rows = context.query(partial(_service_rows, statuses))
    yield from _running(
        context, request, ObjectType.SVSTATUS, ObjectType.SERVICE, mq.MQCA_SERVICE_NAME, "SERVICE", rows
    )


def _service_rows(statuses: list[ServiceStatus], engine: Engine) -> list[Row]:
    known = engine.of_type(ObjectType.SERVICE)
    return [service_row(status, known.get(status.name)) for status in statuses]


def _running(
    context: CommandContext,
    request: PcfRequest,
    kind: ObjectType,
    defined: ObjectType,
    parameter: int,
    name: str,
    rows: Iterable[Row],
) -> Iterator[Reply]:
    """Yields replies for the running ones of the named objects. Only these have a status."""
    pattern = request.text(parameter)
    if "*" not in pattern:
        authorize(context, "DISPLAY", defined, pattern)
    attributes = mq.MQIACF_LISTENER_STATUS_ATTRS if defined == ObjectType.LISTENER else mq.MQIACF_SERVICE_STATUS_ATTRS
    selection = request.selected(attributes, (kind,))
    found = False
    for row in sorted(rows, key=lambda each: str(each[name])):
        is_named = matches(str(row[name]), pattern) and may_see(context, defined, str(row[name]))
        if is_named and _passes_filter(request, kind, row):
            found = True
            yield reply_row(kind, row, selection, (name, "STATUS", "PID"))
    if not found:
        raise PcfRefused(mq.MQRC_UNKNOWN_OBJECT_NAME)


# -- connections -------------------------------------------------------------------------------------------------------


def connection_pattern(request: PcfRequest) -> str:
    """Returns the connections of a request, as hexadecimal digits that may end with an asterisk."""
    exact = request.octets(mq.MQBACF_CONNECTION_ID)
    generic = request.octets(mq.MQBACF_GENERIC_CONNECTION_ID)
    if exact is None and generic is None:
        raise PcfRefused(mq.MQRCCF_PARM_MISSING)
    if exact is not None:
        if len(exact) != _IDENTITY_BYTES:
            raise PcfRefused(mq.MQRCCF_CONNECTION_ID_ERROR)
        return exact.hex().upper()
    assert generic is not None
    return generic.rstrip(b"\0").hex().upper() + "*"


def _connections(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    pattern = connection_pattern(request)
    authorize(context, "DISPLAY", ObjectType.CONN, "")
    about = request.number(mq.MQIACF_CONN_INFO_TYPE, mq.MQIACF_CONN_INFO_CONN)
    selection = request.selected(mq.MQIACF_CONNECTION_ATTRS, (ObjectType.CONN,))
    programs = context.application_status()
    found = False
    for row in context.query(partial(_connection_rows, pattern, about, programs)):
        if _passes_filter(request, ObjectType.CONN, row):
            found = True
            yield reply_row(ObjectType.CONN, row, selection, ("CONN", "TYPE"))
    if not found:
        raise PcfRefused(mq.MQRCCF_CONNECTION_ID_ERROR if "*" not in pattern else mq.MQRCCF_NONE_FOUND)


def _connection_rows(pattern: str, about: int, programs: dict[int, ApplicationStatus], engine: Engine) -> list[Row]:
    rows: list[Row] = []
    for connection in engine.connections.values():
        identity = connection.connection_id.hex().upper()
        if not matches(identity, pattern):
            continue
        if about in (mq.MQIACF_CONN_INFO_CONN, mq.MQIACF_CONN_INFO_ALL):
            program = programs.get(connection.number, ApplicationStatus())
            rows.append({**connection_row(engine, connection, program), "CONN": identity})
        if about in (mq.MQIACF_CONN_INFO_HANDLE, mq.MQIACF_CONN_INFO_ALL):
            rows += [
                {**open_object_row(connection, handle), "CONN": identity} for handle in connection.handles.values()
            ]
    return rows


# -- the queue manager -------------------------------------------------------------------------------------------------


def _manager_status(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    authorize(context, "DISPLAY", ObjectType.QMGR, "")
    selection = request.selected(mq.MQIACF_Q_MGR_STATUS_ATTRS, (ObjectType.QMSTATUS,))
    kind = request.number(mq.MQIACF_Q_MGR_STATUS_INFO_TYPE, mq.MQIACF_Q_MGR_STATUS_INFO_Q_MGR)
    if kind == mq.MQIACF_Q_MGR_STATUS_INFO_NHA:
        yield from _native_ha_status(context, request)
        return
    about = "LOG" if kind == mq.MQIACF_Q_MGR_STATUS_LOG else "QMGR"
    name, connections = context.query(_name_and_connections)
    copies = context.replication_status()
    row = manager_row(context.manager_status(), name, connections, about, copies)
    reply = reply_row(ObjectType.QMSTATUS, row, selection, ("QMNAME", "STATUS"))
    if copies is not None and about == "QMGR" and selection.wants("QUORUM", True):
        reply.append(Integer(mq.MQIACF_NHA_IN_SYNC_INSTANCES, copies.in_sync_count))
        reply.append(Integer(mq.MQIACF_NHA_TOTAL_INSTANCES, len(copies.instances)))
    yield reply


def _native_ha_status(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    status = context.replication_status()
    if status is None:
        raise PcfRefused(mq.MQRCCF_NHA_NOT_AVAILABLE)
    selection = request.selected(mq.MQIACF_Q_MGR_STATUS_ATTRS, (ObjectType.QMSTATUS,))
    what = _NHA_TYPES[request.number(mq.MQIACF_NHA_TYPE, mq.MQNHATYPE_INSTANCE)]
    found = False
    for row in native_ha_rows(status, what):
        if _passes_filter(request, ObjectType.QMSTATUS, row):
            found = True
            reply = reply_row(ObjectType.QMSTATUS, row, selection, ("QMNAME", "TYPE", "NHATYPE"))
            yield reply if row["NHATYPE"] == INSTANCE else [_for_group(each) for each in reply]
    if not found:
        raise PcfRefused(mq.MQRCCF_Q_MGR_STATUS_NOT_FOUND)


def _for_group(parameter: Parameter) -> Parameter:
    """Returns a parameter with the identifier that groups have for what instances have, too."""
    identifier = _GROUP_IDENTIFIERS.get(parameter.parameter)
    if identifier is None:
        return parameter
    if isinstance(parameter, Integer):
        return Integer(identifier, parameter.value)
    assert isinstance(parameter, String)
    return String(identifier, parameter.value, parameter.ccsid)


def _name_and_connections(engine: Engine) -> tuple[str, int]:
    return engine.name, len(engine.connections)


_IDENTITIES: Final = (
    octets("MQBACF_CONNECTION_ID", _IDENTITY_BYTES),
    octets("MQBACF_GENERIC_CONNECTION_ID", _IDENTITY_BYTES),
)
COMMANDS: Final = (
    PcfCommand(
        "MQCMD_INQUIRE_Q_STATUS",
        _queue_status,
        (
            text("MQCA_Q_NAME", NAME_LENGTH, required=True),
            number("MQIA_Q_TYPE"),  # ignored, as only local queues have a status; monitoring programs send it
            number("MQIACF_OPEN_TYPE", "MQQSOT_ALL", "MQQSOT_INPUT", "MQQSOT_OUTPUT"),
            numbers("MQIACF_Q_STATUS_ATTRS"),
            number("MQIACF_Q_STATUS_TYPE", "MQIACF_Q_STATUS", "MQIACF_Q_HANDLE"),
        ),
        filtered=(ObjectType.QSTATUS,),
    ),
    PcfCommand("MQCMD_RESET_Q_STATS", _reset_statistics, (text("MQCA_Q_NAME", NAME_LENGTH, required=True),)),
    PcfCommand(
        "MQCMD_INQUIRE_CHANNEL_STATUS",
        _channel_status,
        (
            text("MQCACH_CHANNEL_NAME", CHANNEL_NAME_LENGTH, required=True),
            numbers("MQIACH_CHANNEL_INSTANCE_ATTRS"),
            number("MQIACH_CHANNEL_INSTANCE_TYPE", "MQOT_CURRENT_CHANNEL", "MQOT_SAVED_CHANNEL", "MQOT_SHORT_CHANNEL"),
            text("MQCACH_CONNECTION_NAME", 264),
            text("MQCACH_XMIT_Q_NAME"),
            number("MQIACH_CHANNEL_DISP", "MQCHLD_ALL", "MQCHLD_PRIVATE", "MQCHLD_SHARED", "MQCHLD_FIXSHARED"),
        ),
        filtered=(ObjectType.CHSTATUS,),
    ),
    PcfCommand(
        "MQCMD_INQUIRE_LISTENER_STATUS",
        _listener_status,
        (text("MQCACH_LISTENER_NAME", NAME_LENGTH, required=True), numbers("MQIACF_LISTENER_STATUS_ATTRS")),
        filtered=(ObjectType.LSSTATUS,),
    ),
    PcfCommand(
        "MQCMD_INQUIRE_SERVICE_STATUS",
        _service_status,
        (text("MQCA_SERVICE_NAME", NAME_LENGTH, required=True), numbers("MQIACF_SERVICE_STATUS_ATTRS")),
        filtered=(ObjectType.SVSTATUS,),
    ),
    PcfCommand(
        "MQCMD_INQUIRE_CONNECTION",
        _connections,
        (
            *_IDENTITIES,
            numbers("MQIACF_CONNECTION_ATTRS"),
            number("MQIACF_CONN_INFO_TYPE", "MQIACF_CONN_INFO_CONN", "MQIACF_CONN_INFO_HANDLE", "MQIACF_CONN_INFO_ALL"),
        ),
        filtered=(ObjectType.CONN,),
    ),
    PcfCommand(
        "MQCMD_INQUIRE_Q_MGR_STATUS",
        _manager_status,
        (
            numbers("MQIACF_Q_MGR_STATUS_ATTRS"),
            number(
                "MQIACF_Q_MGR_STATUS_INFO_TYPE",
                "MQIACF_Q_MGR_STATUS_INFO_Q_MGR",
                "MQIACF_Q_MGR_STATUS_INFO_NHA",
                "MQIACF_Q_MGR_STATUS_LOG",
            ),
            number("MQIACF_NHA_TYPE", "MQNHATYPE_INSTANCE", "MQNHATYPE_GROUP", "MQNHATYPE_ALL"),
        ),
    ),
)
