"""Status rows of queues, handles, connections, listeners, services and the queue manager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ostler.command.admin.context import ApplicationStatus, ListenerStatus, ManagerStatus, ServiceStatus
from ostler.command.admin.objects import date_and_time
from ostler.command.status.replication_rows import manager_columns
from ostler.engine.connection import Connection, generated_tag
from ostler.engine.core import Engine
from ostler.engine.handle import QUEUE, Handle
from ostler.engine.queue.queue import Queue
from ostler.engine.statistics import QueueMonitoring, queue_monitoring
from ostler.engine.unit_of_work import PREPARED
from ostler.model import constants as mq
from ostler.model.attributes import Value, find, to_text
from ostler.model.definitions import Definition
from ostler.model.replication import GroupStatus

_MEGABYTE: Final = 1024 * 1024
_FILE_MEGABYTES_DEFAULT: Final = 2_088_960
# The attributes of the definition that SVSTATUS shows.
_OF_SERVICES: Final = ("DESCR", "SERVTYPE", "CONTROL", "STARTCMD", "STARTARG", "STOPCMD", "STOPARG", "STDOUT", "STDERR")
_LOCAL_APPLICATION: Final = "Local application"
_CHANNEL_APPLICATION: Final = "Ostler channel"
# Internal applications: command server, channel initiator and message channels. MQ shows CHINIT on z/OS only.
_OWN_TYPES: Final = (mq.MQAT_QMGR, mq.MQAT_CHANNEL_INITIATOR)


def _yes(truth: bool) -> str:
    return "YES" if truth else "NO"


def queue_row(engine: Engine, queue: Queue, extent_of: Callable[[int], str] | None = None) -> dict[str, Value]:
    """Returns QSTATUS TYPE(QUEUE). `extent_of` returns the log extent that holds an LSN."""
    attributes = queue.definition.attributes
    counters = queue.counters
    monitoring = queue_monitoring(engine, queue)
    get_date, get_time = date_and_time(counters.last_get_ms)
    put_date, put_time = date_and_time(counters.last_put_ms)
    limit = attributes.get("MAXFSIZE", 0)
    has_limit = isinstance(limit, int) and limit > 0
    return {
        "QUEUE": queue.name,
        "TYPE": "QUEUE",
        "CURDEPTH": queue.depth,
        "CURFSIZE": -(-queue.file.size_bytes() // _MEGABYTE),
        "CURMAXFS": limit if has_limit else _FILE_MEGABYTES_DEFAULT,
        "IPPROCS": queue.inputs,
        "LGETDATE": get_date,
        "LGETTIME": get_time,
        "LPUTDATE": put_date,
        "LPUTTIME": put_time,
        "MEDIALOG": extent_of(queue.media_lsn) if extent_of is not None and queue.media_lsn >= 0 else "",
        "MONQ": _monitoring(engine, attributes),
        "MSGAGE": "" if monitoring is None else _or_blank(monitoring.message_age_seconds),
        "OPPROCS": queue.outputs,
        "QTIME": _times(monitoring),
        "UNCOM": _yes(queue.uncommitted > 0),
    }


def _or_blank(number: int | None) -> Value:
    return "" if number is None else number


def _times(monitoring: QueueMonitoring | None) -> tuple[str, str]:
    """Returns QTIME: short and long term microseconds; blanks without monitoring data."""
    if monitoring is None or monitoring.queue_time_short_us is None or monitoring.queue_time_long_us is None:
        return " ", " "
    return str(monitoring.queue_time_short_us), str(monitoring.queue_time_long_us)


def _monitoring(engine: Engine, attributes: dict[str, Value]) -> str:
    """Returns MONQ of a queue, or the queue manager's if the queue has QMGR."""
    definition = engine.manager
    value = attributes.get("MONQ", mq.MQMON_Q_MGR)
    if value == mq.MQMON_Q_MGR:
        value = definition.attributes.get("MONQ", 0)
    attribute = find(definition.object_type, "MONQ")
    assert attribute is not None
    return to_text(attribute, value)


def _program(connection: Connection, program: ApplicationStatus) -> dict[str, Value]:
    described = program.description or (_CHANNEL_APPLICATION if program.channel else _LOCAL_APPLICATION)
    return {
        "APPLDESC": described,
        "APPLTAG": connection.application[-28:],
        "APPLTYPE": "SYSTEM" if connection.application_type in _OWN_TYPES else "USER",
        "ASTATE": "STARTED" if connection.consuming else "NONE",
        "CHANNEL": program.channel,
        "CONNAME": program.connection_name,
        "PID": program.process_id,
        "TID": program.thread_id,
        "URTYPE": "QMGR",
        "QMURID": _unit(connection),
        "USERID": connection.user,
    }


def _unit(connection: Connection) -> str:
    unit = connection.unit_of_work
    return f"0.{unit.number}" if unit is not None else "0.0"


def handle_row(connection: Connection, handle: Handle, queue: str, program: ApplicationStatus) -> dict[str, Value]:
    """Returns QSTATUS TYPE(HANDLE)."""
    row = _program(connection, program)
    shared = "EXCL" if handle.is_exclusive else "SHARED"
    row.update(
        {
            "QUEUE": queue,
            "TYPE": "HANDLE",
            "BROWSE": _yes(handle.for_browse),
            "HSTATE": "INACTIVE",
            "INPUT": shared if handle.for_input else "NO",
            "INQUIRE": _yes(handle.for_inquire),
            "OUTPUT": _yes(handle.for_output),
            "SET": _yes(handle.for_set),
            "URID": "XA_FORMATID[] XA_GTRID[] XA_BQUAL[]",
        }
    )
    return row


def _identity(connection: Connection) -> dict[str, Value]:
    identity = connection.connection_id.hex().upper()
    return {"CONN": identity[32:], "EXTCONN": identity[:32]}


def connection_row(engine: Engine, connection: Connection, program: ApplicationStatus) -> dict[str, Value]:
    """Returns CONN TYPE(CONN)."""
    unit = connection.unit_of_work
    started_date, started_time = date_and_time(unit.started_ms if unit is not None else 0)
    state = "NONE"
    if unit is not None:
        state = "PREPARED" if unit.state == PREPARED else "ACTIVE"
    return {
        **_identity(connection),
        "TYPE": "CONN",
        **_program(connection, program),
        "CLIENTID": "",
        "CONNTAG": _tag(engine, connection),
        "EXTURID": "XA_FORMATID[] XA_GTRID[] XA_BQUAL[]",
        "UOWLOG": "",
        "UOWLOGDA": "",
        "UOWLOGTI": "",
        "UOWSTATE": state,
        "UOWSTDA": started_date,
        "UOWSTTI": started_time,
        **({"URDISP": "GROUP" if connection.is_of_group else "QMGR"} if engine.sharing is not None else {}),
    }


def _tag(engine: Engine, connection: Connection) -> str:
    """Returns the tag that the application gave, or the one that the queue manager has generated."""
    use = connection.tag
    given = use.tag if use is not None else generated_tag(connection.connection_id, engine.padded_name)
    return given.hex().upper()


def open_object_row(connection: Connection, handle: Handle) -> dict[str, Value]:
    """Returns CONN TYPE(HANDLE)."""
    definition = handle.definition
    other = definition.object_type.value if definition is not None else "QMGR"
    return {
        **_identity(connection),
        "TYPE": "HANDLE",
        "OBJNAME": handle.object_name,
        "OBJTYPE": "QUEUE" if handle.kind == QUEUE else other,
        "OPENOPTS": handle.options,
        "HSTATE": "INACTIVE",
        "READA": "NO",
        "ASTATE": "NONE",
        **_open_topic(handle),
    }


def _open_topic(handle: Handle) -> dict[str, Value]:
    """Returns additional attributes of the handle of a publisher or of a subscription."""
    if handle.topic is not None:
        return {"OBJTYPE": "TOPIC", "TOPICSTR": handle.topic.topic}
    subscription = handle.subscription
    if subscription is None:
        return {}
    return {
        "OBJTYPE": "TOPIC",
        "OBJNAME": subscription.definition.attributes.get("TOPICOBJ", ""),
        "TOPICSTR": subscription.topic,
        "SUBNAME": subscription.name,
        "SUBID": subscription.identifier.hex().upper(),
        "DEST": subscription.destination,
        "DESTQMGR": subscription.destination_manager,
    }


def listener_row(status: ListenerStatus, definition: Definition | None) -> dict[str, Value]:
    """Returns LSSTATUS: the actual address, and the current definition."""
    started_date, started_time = date_and_time(status.started_ms)
    attributes = definition.attributes if definition is not None else {}
    return {
        "LISTENER": status.name,
        "STATUS": status.status,
        "PID": status.process_id,
        "STARTDA": started_date,
        "STARTTI": started_time,
        "DESCR": attributes.get("DESCR", ""),
        "TRPTYPE": status.transport,
        "CONTROL": attributes.get("CONTROL", ""),
        "IPADDR": status.address or "*",
        "PORT": status.port,
        "BACKLOG": status.backlog,
    }


def service_row(status: ServiceStatus, definition: Definition | None) -> dict[str, Value]:
    """Returns SVSTATUS: the process, and the current definition."""
    date, time = date_and_time(status.started_ms)
    row: dict[str, Value] = {
        "SERVICE": status.name,
        "STATUS": status.status,
        "PID": status.process_id,
        "STARTDA": date,
        "STARTTI": time,
    }
    for name in _OF_SERVICES:
        if definition is not None and name in definition.attributes:
            row[name] = definition.attributes[name]
    return row


def manager_row(
    status: ManagerStatus, name: str, connections: int, about: str, copies: GroupStatus | None = None
) -> dict[str, Value]:
    """Returns QMSTATUS TYPE(QMGR), or only the attributes of the log with TYPE(LOG)."""
    row: dict[str, Value] = {"QMNAME": name, "TYPE": about, "STATUS": status.status}
    if about == "QMGR":
        row.update(_known(_process(status, connections)))
        if copies is not None:
            row.update(manager_columns(copies))
    row.update(_known(_log(status)))
    return row


def _known(row: dict[str, Value | None]) -> dict[str, Value]:
    return {name: value for name, value in row.items() if value is not None}


def _log(status: ManagerStatus) -> dict[str, Value | None]:
    row: dict[str, Value | None] = {
        "LOGEXTSZ": status.log_extent_size,
        "LOGFSSZ": status.log_file_system_size,
        "LOGFSUSE": status.log_file_system_use,
        "LOGINUSE": status.log_in_use,
        "LOGPATH": status.log_path,
        "LOGPRIM": status.log_primary_extents,
        "LOGSEC": status.log_secondary_extents,
        "LOGSTRL": status.log_start_lsn,
        "LOGTYPE": status.log_type,
        "LOGUTIL": status.log_utilization,
        "LOGWRLAT": status.log_write_microseconds,
        "LOGWRSZ": status.log_write_bytes,
        "CHKPTCNT": status.checkpoints,
        "REUSESZ": status.log_reusable_size,
    }
    if status.log_type != "CIRCULAR":
        row["CURRLOG"] = status.log_current_extent
        row["RECLOG"] = status.log_restart_extent
        row["MEDIALOG"] = status.log_media_extent
        row["RECSZ"] = status.log_restart_size
        row["MEDIASZ"] = status.log_media_size
    return row


def _process(status: ManagerStatus, connections: int) -> dict[str, Value | None]:
    started_date, started_time = date_and_time(status.started_ms)
    return {
        "AUTOCLUS": "NONE",
        "CHINIT": status.channel_initiator,
        "CMDSERV": status.command_server,
        "CONNS": connections,
        "DATFSSZ": status.data_file_system_size,
        "DATFSUSE": status.data_file_system_use,
        "QMFSSZ": status.file_system_size,
        "QMFSUSE": status.file_system_use,
        "DATPATH": status.data_path,
        "HOSTNAME": status.host_name,
        "INSTDESC": status.installation_description,
        "INSTNAME": status.installation_name,
        "INSTPATH": status.installation_path,
        "LDAPCONN": "INACTIVE",
        "LONGPASS": status.longest_pass_microseconds,
        "STANDBY": "NOPERMIT",
        "STARTDA": started_date,
        "STARTTI": started_time,
        "UNICLUS": "",
    }
