"""Commands about what runs, rather than about what is defined: start, stop, ping, refresh."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from ostler.command.admin.context import Target
from ostler.command.admin.permissions import authorize
from ostler.command.mqsc.channel_control import decode_luwid
from ostler.command.pcf.request import Request
from ostler.command.pcf.table import CHANNEL_NAME_LENGTH, NAME_LENGTH, Command, Reply, number, text
from ostler.command.pcf.unsupported import PcfRefused, bad_parameter
from ostler.engine.core import Engine
from ostler.model.attributes import ObjectType, Value
from ostler.model.constants import (
    MQCA_INITIATION_Q_NAME,
    MQCA_Q_MGR_NAME,
    MQCA_SERVICE_NAME,
    MQCACH_CHANNEL_NAME,
    MQCACH_CONNECTION_NAME,
    MQCACH_LAST_LUWID,
    MQCACH_LISTENER_NAME,
    MQCHS_INACTIVE,
    MQCHS_STOPPED,
    MQCHT_AMQP,
    MQCHT_CLNTCONN,
    MQCHT_CLUSRCVR,
    MQCHT_CLUSSDR,
    MQCHT_MQTT,
    MQCHT_RECEIVER,
    MQCHT_REQUESTER,
    MQCHT_SENDER,
    MQCHT_SERVER,
    MQCHT_SVRCONN,
    MQIACF_MODE,
    MQIACF_SECURITY_TYPE,
    MQIACH_CHANNEL_STATUS,
    MQIACH_DATA_COUNT,
    MQIACH_IN_DOUBT,
    MQIACH_MSG_SEQUENCE_NUMBER,
    MQIDO_COMMIT,
    MQMODE_FORCE,
    MQMODE_QUIESCE,
    MQMODE_TERMINATE,
    MQRC_UNKNOWN_OBJECT_NAME,
    MQRCCF_CFST_STRING_LENGTH_ERR,
    MQRCCF_CHANNEL_DISABLED,
    MQRCCF_CHANNEL_NOT_ACTIVE,
    MQRCCF_CHANNEL_NOT_FOUND,
    MQRCCF_LISTENER_RUNNING,
    MQRCCF_LISTENER_STOPPED,
    MQRCCF_MSG_SEQ_NUMBER_ERROR,
    MQRCCF_PARM_CONFLICT,
    MQRCCF_PING_DATA_COUNT_ERROR,
    MQRCCF_SERVICE_RUNNING,
    MQRCCF_SERVICE_STOPPED,
    MQRCCF_WRONG_CHANNEL_TYPE,
    MQSECTYPE_AUTHSERV,
    MQSECTYPE_CLASSES,
    MQSECTYPE_CONNAUTH,
    MQSECTYPE_SSL,
)

_DEFAULT_LISTENER: Final = "SYSTEM.DEFAULT.LISTENER.TCP"
_MODES: Final = {MQMODE_QUIESCE: "QUIESCE", MQMODE_FORCE: "FORCE", MQMODE_TERMINATE: "TERMINATE"}
_SECURITY: Final = {
    MQSECTYPE_AUTHSERV: "AUTHSERV",
    MQSECTYPE_CLASSES: "AUTHSERV",
    MQSECTYPE_CONNAUTH: "CONNAUTH",
    MQSECTYPE_SSL: "SSL",
}
_SENDING: Final = (MQCHT_SENDER, MQCHT_SERVER, MQCHT_CLUSSDR)
_MESSAGES: Final = (*_SENDING, MQCHT_RECEIVER, MQCHT_REQUESTER, MQCHT_CLUSRCVR)
_CONTROLLED: Final = (*_MESSAGES, MQCHT_SVRCONN, MQCHT_MQTT, MQCHT_AMQP)
# The types that run here.
_RUN: Final = (MQCHT_SENDER, MQCHT_SERVER, MQCHT_RECEIVER, MQCHT_REQUESTER, MQCHT_SVRCONN)
_PING_BYTES: Final = 64
_PING_BYTES_MIN: Final = 16
_PING_BYTES_MAX: Final = 32_768
_SEQUENCE_NUMBER_MAX: Final = 999_999_999


def _ping(target: Target, request: Request) -> Iterator[Reply]:
    target.look(_nothing)
    yield []


def _nothing(engine: Engine) -> None:
    """The question is only whether there is an answer."""


# -- channels ----------------------------------------------------------------------------------------------------------


def _channel(target: Target, request: Request, verb: str) -> tuple[str, Value]:
    """The channel that a command is about, and its type. Client channels are the business of clients."""
    name = request.text(MQCACH_CHANNEL_NAME)
    authorize(target, verb, ObjectType.CHANNEL, name)
    found = target.look(partial(_channel_type, name))
    if found is None:
        raise PcfRefused(MQRCCF_CHANNEL_NOT_FOUND)
    if found == MQCHT_CLNTCONN:
        raise PcfRefused(MQRCCF_WRONG_CHANNEL_TYPE)
    return name, found


def _channel_type(name: str, engine: Engine) -> Value | None:
    for kind in (ObjectType.CHANNEL, ObjectType.CLNTCONN):
        definition = engine.of_type(kind).get(name)
        if definition is not None:
            return definition.attributes.get("CHLTYPE")
    return None


def _runs(target: Target, request: Request, verb: str, types: tuple[int, ...]) -> str:
    """The channel that a command is about, when it is one that the command is for and that runs here."""
    name, channel_type = _channel(target, request, verb)
    if channel_type not in types:
        raise PcfRefused(MQRCCF_WRONG_CHANNEL_TYPE)
    if channel_type not in _RUN:
        raise PcfRefused(MQRCCF_CHANNEL_DISABLED)
    return name


def _start_channel(target: Target, request: Request) -> Iterator[Reply]:
    target.start_channel(_runs(target, request, "START", _CONTROLLED))
    yield []


def _stop_channel(target: Target, request: Request) -> Iterator[Reply]:
    name, channel_type = _channel(target, request, "STOP")
    mode = _MODES[request.number(MQIACF_MODE, MQMODE_QUIESCE)]
    address = request.text(MQCACH_CONNECTION_NAME)
    manager = request.text(MQCA_Q_MGR_NAME)
    # A stop that concerns one partner only leaves the channel usable for the others.
    one = bool(address or manager)
    status = request.number(MQIACH_CHANNEL_STATUS, MQCHS_INACTIVE if one else MQCHS_STOPPED)
    if one and status == MQCHS_STOPPED:
        raise bad_parameter(MQRCCF_PARM_CONFLICT, MQIACH_CHANNEL_STATUS)
    if channel_type not in _RUN:
        raise PcfRefused(MQRCCF_CHANNEL_NOT_ACTIVE)
    target.stop_channel(name, mode, "STOPPED" if status == MQCHS_STOPPED else "INACTIVE", address, manager)
    yield []


def _ping_channel(target: Target, request: Request) -> Iterator[Reply]:
    name = _runs(target, request, "PING", _SENDING)
    size = request.number(MQIACH_DATA_COUNT, _PING_BYTES)
    if not _PING_BYTES_MIN <= size <= _PING_BYTES_MAX:
        raise bad_parameter(MQRCCF_PING_DATA_COUNT_ERROR, MQIACH_DATA_COUNT)
    target.ping_channel(name, size)
    yield []


def _reset_channel(target: Target, request: Request) -> Iterator[Reply]:
    name = _runs(target, request, "RESET", _MESSAGES)
    sequence_number = request.number(MQIACH_MSG_SEQUENCE_NUMBER, 1)
    if not 1 <= sequence_number <= _SEQUENCE_NUMBER_MAX:
        raise bad_parameter(MQRCCF_MSG_SEQ_NUMBER_ERROR, MQIACH_MSG_SEQUENCE_NUMBER)
    target.reset_channel(name, sequence_number)
    yield []


def _resolve_channel(target: Target, request: Request) -> Iterator[Reply]:
    name = _runs(target, request, "RESOLVE", _SENDING)
    action = "COMMIT" if request.number(MQIACH_IN_DOUBT) == MQIDO_COMMIT else "BACKOUT"
    digits = request.text(MQCACH_LAST_LUWID)
    luwid = decode_luwid(digits) if digits else b""
    if luwid is None:
        raise bad_parameter(MQRCCF_CFST_STRING_LENGTH_ERR, MQCACH_LAST_LUWID)
    if luwid and action != "COMMIT":
        raise bad_parameter(MQRCCF_PARM_CONFLICT, MQCACH_LAST_LUWID)
    target.resolve_channel(name, action, luwid)
    yield []


def _start_initiator(target: Target, request: Request) -> Iterator[Reply]:
    authorize(target, "START", ObjectType.QMGR, "")
    target.start_channel_initiator(request.text(MQCA_INITIATION_Q_NAME))
    yield []


def _stop_initiator(target: Target, request: Request) -> Iterator[Reply]:
    authorize(target, "STOP", ObjectType.QMGR, "")
    target.stop_channel_initiator()
    yield []


# -- listeners and services --------------------------------------------------------------------------------------------


def _is_defined(kind: ObjectType, name: str, engine: Engine) -> bool:
    return name in engine.of_type(kind)


def _named(target: Target, verb: str, kind: ObjectType, name: str) -> None:
    authorize(target, verb, kind, name)
    if not target.look(partial(_is_defined, kind, name)):
        raise PcfRefused(MQRC_UNKNOWN_OBJECT_NAME)


def _is_listening(target: Target, name: str) -> bool:
    return any(status.name == name for status in target.listener_status())


def _start_listener(target: Target, request: Request) -> Iterator[Reply]:
    name = request.text(MQCACH_LISTENER_NAME) or _DEFAULT_LISTENER
    _named(target, "START", ObjectType.LISTENER, name)
    if _is_listening(target, name):
        raise PcfRefused(MQRCCF_LISTENER_RUNNING)
    target.start_listener(name)
    yield []


def _stop_listener(target: Target, request: Request) -> Iterator[Reply]:
    name = request.text(MQCACH_LISTENER_NAME)
    _named(target, "STOP", ObjectType.LISTENER, name)
    if not _is_listening(target, name):
        raise PcfRefused(MQRCCF_LISTENER_STOPPED)
    target.stop_listener(name)
    yield []


def _is_served(target: Target, name: str) -> bool:
    return any(status.name == name for status in target.service_status())


def _start_service(target: Target, request: Request) -> Iterator[Reply]:
    name = request.text(MQCA_SERVICE_NAME)
    _named(target, "START", ObjectType.SERVICE, name)
    if _is_served(target, name):
        raise PcfRefused(MQRCCF_SERVICE_RUNNING)
    target.start_service(name)
    yield []


def _stop_service(target: Target, request: Request) -> Iterator[Reply]:
    name = request.text(MQCA_SERVICE_NAME)
    _named(target, "STOP", ObjectType.SERVICE, name)
    if not _is_served(target, name):
        raise PcfRefused(MQRCCF_SERVICE_STOPPED)
    target.stop_service(name)
    yield []


# -- the queue manager -------------------------------------------------------------------------------------------------


def _refresh_security(target: Target, request: Request) -> Iterator[Reply]:
    authorize(target, "REFRESH", ObjectType.QMGR, "")
    what = _SECURITY[request.number(MQIACF_SECURITY_TYPE, MQSECTYPE_AUTHSERV)]
    if what == "SSL":
        target.refresh_tls()
    else:
        target.refresh_security(what)
    yield []


_CHANNEL: Final = text("MQCACH_CHANNEL_NAME", CHANNEL_NAME_LENGTH, required=True)
_SERVICE: Final = text("MQCA_SERVICE_NAME", NAME_LENGTH, required=True)
COMMANDS: Final = (
    Command("MQCMD_PING_Q_MGR", _ping),
    Command("MQCMD_START_CHANNEL", _start_channel, (_CHANNEL,)),
    Command(
        "MQCMD_STOP_CHANNEL",
        _stop_channel,
        (
            _CHANNEL,
            number("MQIACH_CHANNEL_STATUS", "MQCHS_STOPPED", "MQCHS_INACTIVE"),
            text("MQCACH_CONNECTION_NAME", 264),
            text("MQCA_Q_MGR_NAME"),
            number("MQIACF_MODE", "MQMODE_QUIESCE", "MQMODE_FORCE", "MQMODE_TERMINATE"),
        ),
    ),
    Command("MQCMD_PING_CHANNEL", _ping_channel, (_CHANNEL, number("MQIACH_DATA_COUNT"))),
    Command("MQCMD_RESET_CHANNEL", _reset_channel, (_CHANNEL, number("MQIACH_MSG_SEQUENCE_NUMBER"))),
    Command(
        "MQCMD_RESOLVE_CHANNEL",
        _resolve_channel,
        (
            _CHANNEL,
            number("MQIACH_IN_DOUBT", "MQIDO_COMMIT", "MQIDO_BACKOUT", required=True),
            text("MQCACH_LAST_LUWID", 16),
        ),
    ),
    Command("MQCMD_START_CHANNEL_INIT", _start_initiator, (text("MQCA_INITIATION_Q_NAME"),)),
    Command("MQCMD_STOP_CHANNEL_INIT", _stop_initiator),
    Command(
        "MQCMD_START_CHANNEL_LISTENER",
        _start_listener,
        (
            number("MQIACH_XMIT_PROTOCOL_TYPE", "MQXPT_TCP", "MQXPT_LU62", "MQXPT_NETBIOS", "MQXPT_SPX"),
            text("MQCACH_LISTENER_NAME"),
        ),
    ),
    Command("MQCMD_STOP_CHANNEL_LISTENER", _stop_listener, (text("MQCACH_LISTENER_NAME", NAME_LENGTH, required=True),)),
    Command("MQCMD_START_SERVICE", _start_service, (_SERVICE,)),
    Command("MQCMD_STOP_SERVICE", _stop_service, (_SERVICE,)),
    Command(
        "MQCMD_REFRESH_SECURITY",
        _refresh_security,
        (
            number(
                "MQIACF_SECURITY_TYPE", "MQSECTYPE_AUTHSERV", "MQSECTYPE_CLASSES", "MQSECTYPE_CONNAUTH", "MQSECTYPE_SSL"
            ),
        ),
    ),
)
