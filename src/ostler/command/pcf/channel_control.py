"""Start, Stop, Ping, Reset and Resolve Channel; Start and Stop Channel Initiator."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.command.admin.permissions import authorize
from ostler.command.mqsc.channel_control import decode_luwid
from ostler.command.pcf.command import CHANNEL_NAME_LENGTH, PcfCommand, PcfRequest, Reply, number, text
from ostler.command.pcf.errors import PcfRefused, bad_parameter
from ostler.engine.core import Engine
from ostler.model.attributes import ObjectType, Value
from ostler.model.constants import (
    MQCA_INITIATION_Q_NAME,
    MQCA_Q_MGR_NAME,
    MQCACH_CHANNEL_NAME,
    MQCACH_CONNECTION_NAME,
    MQCACH_LAST_LUWID,
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
    MQIACH_CHANNEL_STATUS,
    MQIACH_DATA_COUNT,
    MQIACH_IN_DOUBT,
    MQIACH_MSG_SEQUENCE_NUMBER,
    MQIDO_COMMIT,
    MQMODE_FORCE,
    MQMODE_QUIESCE,
    MQMODE_TERMINATE,
    MQRCCF_CFST_STRING_LENGTH_ERR,
    MQRCCF_CHANNEL_DISABLED,
    MQRCCF_CHANNEL_NOT_ACTIVE,
    MQRCCF_CHANNEL_NOT_FOUND,
    MQRCCF_MSG_SEQ_NUMBER_ERROR,
    MQRCCF_PARM_CONFLICT,
    MQRCCF_PING_DATA_COUNT_ERROR,
    MQRCCF_WRONG_CHANNEL_TYPE,
)

_MODES: Final = {MQMODE_QUIESCE: "QUIESCE", MQMODE_FORCE: "FORCE", MQMODE_TERMINATE: "TERMINATE"}
_SENDING: Final = (MQCHT_SENDER, MQCHT_SERVER, MQCHT_CLUSSDR)
_MESSAGES: Final = (*_SENDING, MQCHT_RECEIVER, MQCHT_REQUESTER, MQCHT_CLUSRCVR)
_CONTROLLED: Final = (*_MESSAGES, MQCHT_SVRCONN, MQCHT_MQTT, MQCHT_AMQP)
# The channel types that are supported here.
_RUN: Final = (MQCHT_SENDER, MQCHT_SERVER, MQCHT_RECEIVER, MQCHT_REQUESTER, MQCHT_SVRCONN)
_PING_BYTES: Final = 64
_PING_BYTES_MIN: Final = 16
_PING_BYTES_MAX: Final = 32_768
_SEQUENCE_NUMBER_MAX: Final = 999_999_999


def _channel(context: CommandContext, request: PcfRequest, verb: str) -> tuple[str, Value]:
    """Returns the channel of a command and its type. Client channels are not controlled by the queue manager."""
    name = request.text(MQCACH_CHANNEL_NAME)
    authorize(context, verb, ObjectType.CHANNEL, name)
    found = context.query(partial(_channel_type, name))
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


def _supported_channel(context: CommandContext, request: PcfRequest, verb: str, types: tuple[int, ...]) -> str:
    """Returns the channel of a command, if the command applies to its type and the type is supported here."""
    name, channel_type = _channel(context, request, verb)
    if channel_type not in types:
        raise PcfRefused(MQRCCF_WRONG_CHANNEL_TYPE)
    if channel_type not in _RUN:
        raise PcfRefused(MQRCCF_CHANNEL_DISABLED)
    return name


def _start_channel(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    context.start_channel(_supported_channel(context, request, "START", _CONTROLLED))
    yield []


def _stop_channel(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    name, channel_type = _channel(context, request, "STOP")
    mode = _MODES[request.number(MQIACF_MODE, MQMODE_QUIESCE)]
    address = request.text(MQCACH_CONNECTION_NAME)
    manager = request.text(MQCA_Q_MGR_NAME)
    # With a connection name or queue manager name the channel stays usable for other partners.
    one = bool(address or manager)
    status = request.number(MQIACH_CHANNEL_STATUS, MQCHS_INACTIVE if one else MQCHS_STOPPED)
    if one and status == MQCHS_STOPPED:
        raise bad_parameter(MQRCCF_PARM_CONFLICT, MQIACH_CHANNEL_STATUS)
    if channel_type not in _RUN:
        raise PcfRefused(MQRCCF_CHANNEL_NOT_ACTIVE)
    context.stop_channel(name, mode, "STOPPED" if status == MQCHS_STOPPED else "INACTIVE", address, manager)
    yield []


def _ping_channel(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    name = _supported_channel(context, request, "PING", _SENDING)
    size = request.number(MQIACH_DATA_COUNT, _PING_BYTES)
    if not _PING_BYTES_MIN <= size <= _PING_BYTES_MAX:
        raise bad_parameter(MQRCCF_PING_DATA_COUNT_ERROR, MQIACH_DATA_COUNT)
    context.ping_channel(name, size)
    yield []


def _reset_channel(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    name = _supported_channel(context, request, "RESET", _MESSAGES)
    sequence_number = request.number(MQIACH_MSG_SEQUENCE_NUMBER, 1)
    if not 1 <= sequence_number <= _SEQUENCE_NUMBER_MAX:
        raise bad_parameter(MQRCCF_MSG_SEQ_NUMBER_ERROR, MQIACH_MSG_SEQUENCE_NUMBER)
    context.reset_channel(name, sequence_number)
    yield []


def _resolve_channel(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    name = _supported_channel(context, request, "RESOLVE", _SENDING)
    action = "COMMIT" if request.number(MQIACH_IN_DOUBT) == MQIDO_COMMIT else "BACKOUT"
    digits = request.text(MQCACH_LAST_LUWID)
    luwid = decode_luwid(digits) if digits else b""
    if luwid is None:
        raise bad_parameter(MQRCCF_CFST_STRING_LENGTH_ERR, MQCACH_LAST_LUWID)
    if luwid and action != "COMMIT":
        raise bad_parameter(MQRCCF_PARM_CONFLICT, MQCACH_LAST_LUWID)
    context.resolve_channel(name, action, luwid)
    yield []


def _start_initiator(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    authorize(context, "START", ObjectType.QMGR, "")
    context.start_channel_initiator(request.text(MQCA_INITIATION_Q_NAME))
    yield []


def _stop_initiator(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    authorize(context, "STOP", ObjectType.QMGR, "")
    context.stop_channel_initiator()
    yield []


_CHANNEL: Final = text("MQCACH_CHANNEL_NAME", CHANNEL_NAME_LENGTH, required=True)
COMMANDS: Final = (
    PcfCommand("MQCMD_START_CHANNEL", _start_channel, (_CHANNEL,)),
    PcfCommand(
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
    PcfCommand("MQCMD_PING_CHANNEL", _ping_channel, (_CHANNEL, number("MQIACH_DATA_COUNT"))),
    PcfCommand("MQCMD_RESET_CHANNEL", _reset_channel, (_CHANNEL, number("MQIACH_MSG_SEQUENCE_NUMBER"))),
    PcfCommand(
        "MQCMD_RESOLVE_CHANNEL",
        _resolve_channel,
        (
            _CHANNEL,
            number("MQIACH_IN_DOUBT", "MQIDO_COMMIT", "MQIDO_BACKOUT", required=True),
            text("MQCACH_LAST_LUWID", 16),
        ),
    ),
    PcfCommand("MQCMD_START_CHANNEL_INIT", _start_initiator, (text("MQCA_INITIATION_Q_NAME"),)),
    PcfCommand("MQCMD_STOP_CHANNEL_INIT", _stop_initiator),
)
