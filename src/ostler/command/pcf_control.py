"""Commands about what runs, rather than about what is defined: start, stop, ping, refresh."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final, NoReturn

from ostler.command.pcf_refusals import PcfRefused, bad_parameter
from ostler.command.pcf_request import Request
from ostler.command.pcf_table import CHANNEL_NAME_LENGTH, NAME_LENGTH, Command, Reply, number, text
from ostler.command.permissions import authorize
from ostler.command.target import Target
from ostler.engine.core import Engine
from ostler.model.attributes import ObjectType, Value
from ostler.model.constants import (
    MQCA_SERVICE_NAME,
    MQCACH_CHANNEL_NAME,
    MQCACH_CONNECTION_NAME,
    MQCACH_LISTENER_NAME,
    MQCHS_INACTIVE,
    MQCHS_STOPPED,
    MQCHT_CLNTCONN,
    MQCHT_CLUSRCVR,
    MQCHT_CLUSSDR,
    MQCHT_RECEIVER,
    MQCHT_REQUESTER,
    MQCHT_SENDER,
    MQCHT_SERVER,
    MQCHT_SVRCONN,
    MQIACF_MODE,
    MQIACF_SECURITY_TYPE,
    MQIACH_CHANNEL_STATUS,
    MQMODE_FORCE,
    MQMODE_QUIESCE,
    MQMODE_TERMINATE,
    MQRC_UNKNOWN_OBJECT_NAME,
    MQRCCF_CHANNEL_DISABLED,
    MQRCCF_CHANNEL_NOT_ACTIVE,
    MQRCCF_CHANNEL_NOT_FOUND,
    MQRCCF_LISTENER_RUNNING,
    MQRCCF_LISTENER_STOPPED,
    MQRCCF_PARM_CONFLICT,
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


def _start_channel(target: Target, request: Request) -> Iterator[Reply]:
    name, channel_type = _channel(target, request, "START")
    if channel_type != MQCHT_SVRCONN:
        # Message channels do not run yet.
        raise PcfRefused(MQRCCF_CHANNEL_DISABLED)
    target.start_channel(name)
    yield []


def _stop_channel(target: Target, request: Request) -> Iterator[Reply]:
    name, channel_type = _channel(target, request, "STOP")
    mode = _MODES[request.number(MQIACF_MODE, MQMODE_QUIESCE)]
    address = request.text(MQCACH_CONNECTION_NAME)
    # A stop that concerns one partner only leaves the channel usable for the others.
    default = MQCHS_INACTIVE if address else MQCHS_STOPPED
    status = request.number(MQIACH_CHANNEL_STATUS, default)
    if address and status == MQCHS_STOPPED:
        raise bad_parameter(MQRCCF_PARM_CONFLICT, MQIACH_CHANNEL_STATUS)
    if channel_type != MQCHT_SVRCONN:
        raise PcfRefused(MQRCCF_CHANNEL_NOT_ACTIVE)
    target.stop_channel(name, mode, "STOPPED" if status == MQCHS_STOPPED else "INACTIVE", address)
    yield []


def _not_running(verb: str, types: tuple[int, ...], target: Target, request: Request) -> NoReturn:
    """Ping, Reset and Resolve Channel: message channels do not run yet, so there is no partner, number or doubt."""
    _, channel_type = _channel(target, request, verb)
    raise PcfRefused(MQRCCF_CHANNEL_NOT_ACTIVE if channel_type in types else MQRCCF_WRONG_CHANNEL_TYPE)


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
            number("MQIACF_MODE", "MQMODE_QUIESCE", "MQMODE_FORCE", "MQMODE_TERMINATE"),
        ),
    ),
    Command("MQCMD_PING_CHANNEL", partial(_not_running, "PING", _SENDING), (_CHANNEL, number("MQIACH_DATA_COUNT"))),
    Command(
        "MQCMD_RESET_CHANNEL",
        partial(_not_running, "RESET", _MESSAGES),
        (_CHANNEL, number("MQIACH_MSG_SEQUENCE_NUMBER")),
    ),
    Command(
        "MQCMD_RESOLVE_CHANNEL",
        partial(_not_running, "RESOLVE", _SENDING),
        (_CHANNEL, number("MQIACH_IN_DOUBT", "MQIDO_COMMIT", "MQIDO_BACKOUT", required=True)),
    ),
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
