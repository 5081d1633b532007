"""Start and Stop of listeners and services, Ping Queue Manager and Refresh Security."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.command.admin.permissions import authorize
from ostler.command.pcf.command import NAME_LENGTH, PcfCommand, PcfRequest, Reply, number, text
from ostler.command.pcf.errors import PcfRefused
from ostler.engine.core import Engine
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType

_DEFAULT_LISTENER: Final = "SYSTEM.DEFAULT.LISTENER.TCP"
_SECURITY: Final = {
    mq.MQSECTYPE_AUTHSERV: "AUTHSERV",
    mq.MQSECTYPE_CLASSES: "AUTHSERV",
    mq.MQSECTYPE_CONNAUTH: "CONNAUTH",
    mq.MQSECTYPE_SSL: "SSL",
}


def _ping(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    context.query(_nothing)
    yield []


def _nothing(engine: Engine) -> None:
    """Reads nothing: the query shows that the engine answers."""


# -- listeners and services --------------------------------------------------------------------------------------------


def _is_defined(kind: ObjectType, name: str, engine: Engine) -> bool:
    return name in engine.of_type(kind)


def _check_defined(context: CommandContext, verb: str, kind: ObjectType, name: str) -> None:
    authorize(context, verb, kind, name)
    if not context.query(partial(_is_defined, kind, name)):
        raise PcfRefused(mq.MQRC_UNKNOWN_OBJECT_NAME)


def _is_listening(context: CommandContext, name: str) -> bool:
    return any(status.name == name for status in context.listener_status())


def _start_listener(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    name = request.text(mq.MQCACH_LISTENER_NAME) or _DEFAULT_LISTENER
    _check_defined(context, "START", ObjectType.LISTENER, name)
    if _is_listening(context, name):
        raise PcfRefused(mq.MQRCCF_LISTENER_RUNNING)
    context.start_listener(name)
    yield []


def _stop_listener(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    name = request.text(mq.MQCACH_LISTENER_NAME)
    _check_defined(context, "STOP", ObjectType.LISTENER, name)
    if not _is_listening(context, name):
        raise PcfRefused(mq.MQRCCF_LISTENER_STOPPED)
    context.stop_listener(name)
    yield []


def _is_service_running(context: CommandContext, name: str) -> bool:
    return any(status.name == name for status in context.service_status())


def _start_service(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    name = request.text(mq.MQCA_SERVICE_NAME)
    _check_defined(context, "START", ObjectType.SERVICE, name)
    if _is_service_running(context, name):
        raise PcfRefused(mq.MQRCCF_SERVICE_RUNNING)
    context.start_service(name)
    yield []


def _stop_service(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    name = request.text(mq.MQCA_SERVICE_NAME)
    _check_defined(context, "STOP", ObjectType.SERVICE, name)
    if not _is_service_running(context, name):
        raise PcfRefused(mq.MQRCCF_SERVICE_STOPPED)
    context.stop_service(name)
    yield []


# -- the queue manager -------------------------------------------------------------------------------------------------


def _refresh_security(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    authorize(context, "REFRESH", ObjectType.QMGR, "")
    what = _SECURITY[request.number(mq.MQIACF_SECURITY_TYPE, mq.MQSECTYPE_AUTHSERV)]
    if what == "SSL":
        context.refresh_tls()
    else:
        context.refresh_security(what)
    yield []


_SERVICE: Final = text("MQCA_SERVICE_NAME", NAME_LENGTH, required=True)
COMMANDS: Final = (
    PcfCommand("MQCMD_PING_Q_MGR", _ping),
    PcfCommand(
        "MQCMD_START_CHANNEL_LISTENER",
        _start_listener,
        (
            number("MQIACH_XMIT_PROTOCOL_TYPE", "MQXPT_TCP", "MQXPT_LU62", "MQXPT_NETBIOS", "MQXPT_SPX"),
            text("MQCACH_LISTENER_NAME"),
        ),
    ),
    PcfCommand(
        "MQCMD_STOP_CHANNEL_LISTENER", _stop_listener, (text("MQCACH_LISTENER_NAME", NAME_LENGTH, required=True),)
    ),
    PcfCommand("MQCMD_START_SERVICE", _start_service, (_SERVICE,)),
    PcfCommand("MQCMD_STOP_SERVICE", _stop_service, (_SERVICE,)),
    PcfCommand(
        "MQCMD_REFRESH_SECURITY",
        _refresh_security,
        (
            number(
                "MQIACF_SECURITY_TYPE", "MQSECTYPE_AUTHSERV", "MQSECTYPE_CLASSES", "MQSECTYPE_CONNAUTH", "MQSECTYPE_SSL"
            ),
        ),
    ),
)
