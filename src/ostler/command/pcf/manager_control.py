"""Reset and Refresh of the queue manager and its clusters, Stop Connection, and Move Queue."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final, NoReturn

from ostler.command.admin.context import CommandContext, CommandRefused
from ostler.command.admin.move import move_messages
from ostler.command.admin.permissions import authorize
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
from ostler.command.pcf.errors import PcfRefused, as_pcf_refusal, bad_parameter
from ostler.command.pcf.objects import disposition_of
from ostler.engine.core import Engine
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.authorities import PUT
from ostler.model.errors import MQError

_IDENTITY_BYTES: Final = 24
# The object types of Refresh Queue Manager (MQRT_CONFIGURATION).
_REPORTED: Final = {
    mq.MQOT_AUTH_INFO: (ObjectType.AUTHINFO,),
    mq.MQOT_AUTH_REC: (ObjectType.AUTHREC,),
    mq.MQOT_CHANNEL: (ObjectType.CHANNEL,),
    mq.MQOT_CHLAUTH: (ObjectType.CHLAUTH,),
    mq.MQOT_LISTENER: (ObjectType.LISTENER,),
    mq.MQOT_NAMELIST: (ObjectType.NAMELIST,),
    mq.MQOT_PROCESS: (ObjectType.PROCESS,),
    mq.MQOT_Q: (ObjectType.QLOCAL, ObjectType.QALIAS, ObjectType.QREMOTE, ObjectType.QMODEL),
    mq.MQOT_Q_MGR: (ObjectType.QMGR,),
    mq.MQOT_SERVICE: (ObjectType.SERVICE,),
    mq.MQOT_TOPIC: (ObjectType.TOPIC,),
}


def _reset(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    authorize(context, "RESET", ObjectType.QMGR, "")
    action = request.number(mq.MQIACF_ACTION)
    if action == mq.MQACT_COLLECT_STATISTICS:
        context.write_statistics()
    elif action == mq.MQACT_ADVANCE_LOG:
        context.advance_log()
    elif action == mq.MQACT_ARCHIVE_LOG:
        extent = request.text(mq.MQCACF_ARCHIVE_LOG_EXTENT_NAME)
        if not extent:
            raise bad_parameter(mq.MQRCCF_PARM_MISSING, mq.MQCACF_ARCHIVE_LOG_EXTENT_NAME)
        context.archive_log(extent)
    elif action == mq.MQACT_REDUCE_LOG:
        wanted = request.number(mq.MQIACF_LOG_REDUCTION)
        context.reduce_log(max(wanted, 0) if wanted != mq.MQLR_ONE else 1)
    else:
        # There is no publish/subscribe hierarchy, so no queue manager is a parent or a child.
        raise PcfRefused(mq.MQRCCF_UNKNOWN_Q_MGR)
    yield []


def _refresh(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    authorize(context, "REFRESH", ObjectType.QMGR, "")
    what = request.number(mq.MQIACF_REFRESH_TYPE)
    if what == mq.MQRT_CONFIGURATION:
        if not context.query(_has_configuration_events):
            raise PcfRefused(mq.MQRCCF_COMMAND_INHIBITED)
        wanted = request.number(mq.MQIACF_OBJECT_TYPE, mq.MQOT_ALL)
        kinds = [kind for number, group in _REPORTED.items() if wanted in (mq.MQOT_ALL, number) for kind in group]
        minutes = max(request.number(mq.MQIACF_REFRESH_INTERVAL), 0)
        context.refresh_configuration(kinds, request.text(mq.MQCACF_OBJECT_NAME) or "*", minutes)
    elif what == mq.MQRT_EXPIRY:
        context.expire_messages()
    # MQRT_PROXYSUB does nothing: there are no proxy subscriptions without a cluster or hierarchy.
    yield []


def _has_configuration_events(engine: Engine) -> bool:
    return engine.manager.attributes.get("CONFIGEV", mq.MQEVR_DISABLED) != mq.MQEVR_DISABLED


def _no_cluster(verb: str, context: CommandContext, request: PcfRequest) -> NoReturn:
    """Rejects commands on clusters: their definitions are stored, but clusters are not joined."""
    authorize(context, verb, ObjectType.QMGR, "")
    raise PcfRefused(mq.MQRC_UNKNOWN_OBJECT_NAME)


def _cluster_managers(context: CommandContext, request: PcfRequest) -> NoReturn:
    """Finds nothing, as this queue manager is in no cluster. Monitoring programs inquire anyway."""
    authorize(context, "DISPLAY", ObjectType.QMGR, "")
    raise PcfRefused(mq.MQRC_UNKNOWN_OBJECT_NAME)


def _stop_connection(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    authorize(context, "STOP", ObjectType.CONN, "")
    identity = request.octets(mq.MQBACF_CONNECTION_ID) or b""
    number = context.query(partial(_connection_number, identity))
    if number is None or not context.stop_connection(number):
        raise PcfRefused(mq.MQRCCF_CONNECTION_ID_ERROR)
    yield []


def _connection_number(identity: bytes, engine: Engine) -> int | None:
    for connection in engine.connections.values():
        if connection.connection_id == identity:
            return connection.number
    return None


def _move(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    source, destination = request.text(mq.MQCACF_FROM_Q_NAME), request.text(mq.MQCACF_TO_Q_NAME)
    authorize(context, "MOVE", ObjectType.QLOCAL, source)
    context.authorize(mq.MQOT_Q, destination, PUT)
    if source == destination:
        raise bad_parameter(mq.MQRCCF_PARM_CONFLICT, mq.MQCACF_TO_Q_NAME)
    must_be_empty = request.number(mq.MQIACF_MOVE_TYPE, mq.MQIACF_MOVE_TYPE_MOVE) != mq.MQIACF_MOVE_TYPE_ADD
    try:
        move_messages(context, source, destination, must_be_empty, disposition_of(request))
    except (MQError, CommandRefused) as error:
        raise as_pcf_refusal(error) from None
    yield []


_CLUSTER: Final = text("MQCA_CLUSTER_NAME", NAME_LENGTH, required=True)
_CLUSTERS: Final = (text("MQCA_CLUSTER_NAME"), text("MQCA_CLUSTER_NAMELIST"))
COMMANDS: Final = (
    PcfCommand(
        "MQCMD_RESET_Q_MGR",
        _reset,
        (
            number(
                "MQIACF_ACTION",
                "MQACT_ADVANCE_LOG",
                "MQACT_COLLECT_STATISTICS",
                "MQACT_PUBSUB",
                "MQACT_ARCHIVE_LOG",
                "MQACT_REDUCE_LOG",
                required=True,
            ),
            text("MQCACF_ARCHIVE_LOG_EXTENT_NAME", 24),
            text("MQCA_CHILD"),
            text("MQCA_PARENT"),
            number("MQIACF_LOG_REDUCTION"),
        ),
    ),
    PcfCommand(
        "MQCMD_REFRESH_Q_MGR",
        _refresh,
        (
            number("MQIACF_REFRESH_TYPE", "MQRT_CONFIGURATION", "MQRT_EXPIRY", "MQRT_PROXYSUB", required=True),
            text("MQCACF_OBJECT_NAME"),
            number("MQIACF_OBJECT_TYPE"),
            number("MQIACF_REFRESH_INTERVAL"),
        ),
    ),
    PcfCommand(
        "MQCMD_REFRESH_CLUSTER",
        partial(_no_cluster, "REFRESH"),
        (_CLUSTER, number("MQIACF_REFRESH_REPOSITORY", "MQCFO_REFRESH_REPOSITORY_YES", "MQCFO_REFRESH_REPOSITORY_NO")),
    ),
    PcfCommand(
        "MQCMD_RESET_CLUSTER",
        partial(_no_cluster, "RESET"),
        (
            _CLUSTER,
            text("MQCA_Q_MGR_NAME"),
            text("MQCA_Q_MGR_IDENTIFIER"),
            number("MQIACF_ACTION", "MQACT_FORCE_REMOVE"),
            number("MQIACF_REMOVE_QUEUES"),
        ),
    ),
    PcfCommand("MQCMD_SUSPEND_Q_MGR_CLUSTER", partial(_no_cluster, "SUSPEND"), (*_CLUSTERS, number("MQIACF_MODE"))),
    PcfCommand("MQCMD_RESUME_Q_MGR_CLUSTER", partial(_no_cluster, "RESUME"), _CLUSTERS),
    PcfCommand(
        "MQCMD_INQUIRE_CLUSTER_Q_MGR",
        _cluster_managers,
        (
            text("MQCA_CLUSTER_Q_MGR_NAME", NAME_LENGTH, required=True),
            text("MQCACH_CHANNEL_NAME", CHANNEL_NAME_LENGTH),
            text("MQCA_CLUSTER_NAME"),
            numbers("MQIACF_CLUSTER_Q_MGR_ATTRS"),
        ),
    ),
    PcfCommand("MQCMD_STOP_CONNECTION", _stop_connection, (octets("MQBACF_CONNECTION_ID", _IDENTITY_BYTES, True),)),
    PcfCommand(
        "MQCMD_MOVE_Q",
        _move,
        (
            text("MQCACF_FROM_Q_NAME", NAME_LENGTH, required=True),
            text("MQCACF_TO_Q_NAME"),
            number("MQIACF_MOVE_TYPE", "MQIACF_MOVE_TYPE_MOVE", "MQIACF_MOVE_TYPE_ADD"),
            number("MQIA_QSG_DISP", "MQQSGD_PRIVATE", "MQQSGD_SHARED"),
        ),
    ),
)
