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
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value

_MODES: Final = {mq.MQMODE_QUIESCE: "QUIESCE", mq.MQMODE_FORCE: "FORCE", mq.MQMODE_TERMINATE: "TERMINATE"}
_SENDING: Final = (mq.MQCHT_SENDER, mq.MQCHT_SERVER, mq.MQCHT_CLUSSDR)
_MESSAGES: Final = (*_SENDING, mq.MQCHT_RECEIVER, mq.MQCHT_REQUESTER, mq.MQCHT_CLUSRCVR)
_CONTROLLED: Final = (*_MESSAGES, mq.MQCHT_SVRCONN, mq.MQCHT_MQTT, mq.MQCHT_AMQP)
# The channel types that are supported here.
_RUN: Final = (mq.MQCHT_SENDER, mq.MQCHT_SERVER, mq.MQCHT_RECEIVER, mq.MQCHT_REQUESTER, mq.MQCHT_SVRCONN)
_DISPOSITIONS: Final = {
    mq.MQCHLD_PRIVATE: "PRIVATE",
    mq.MQCHLD_SHARED: "SHARED",
    mq.MQCHLD_FIXSHARED: "FIXSHARED",
}
_PING_BYTES: Final = 64
_PING_BYTES_MIN: Final = 16
_PING_BYTES_MAX: Final = 32_768
_SEQUENCE_NUMBER_MAX: Final = 999_999_999


def _channel(context: CommandContext, request: PcfRequest, verb: str) -> tuple[str, Value]:
    """Returns the channel of a command and its type. Client channels are not controlled by the queue manager."""
    name = request.text(mq.MQCACH_CHANNEL_NAME)
    authorize(context, verb, ObjectType.CHANNEL, name)
    found = context.query(partial(_channel_type, name))
    if found is None:
        raise PcfRefused(mq.MQRCCF_CHANNEL_NOT_FOUND)
    if found == mq.MQCHT_CLNTCONN:
        raise PcfRefused(mq.MQRCCF_WRONG_CHANNEL_TYPE)
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
        raise PcfRefused(mq.MQRCCF_WRONG_CHANNEL_TYPE)
    if channel_type not in _RUN:
        raise PcfRefused(mq.MQRCCF_CHANNEL_DISABLED)
    return name


def _disposition(request: PcfRequest) -> str:
    """Returns the word of CHLDISP; empty if it is not given."""
    return _DISPOSITIONS.get(request.number(mq.MQIACH_CHANNEL_DISP, mq.MQCHLD_DEFAULT), "")


def _start_channel(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    context.start_channel(_supported_channel(context, request, "START", _CONTROLLED), _disposition(request))
    yield []


def _stop_channel(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    name, channel_type = _channel(context, request, "STOP")
    mode = _MODES[request.number(mq.MQIACF_MODE, mq.MQMODE_QUIESCE)]
    address = request.text(mq.MQCACH_CONNECTION_NAME)
    manager = request.text(mq.MQCA_Q_MGR_NAME)
    # With a connection name or queue manager name the channel stays usable for other partners.
    one = bool(address or manager)
    status = request.number(mq.MQIACH_CHANNEL_STATUS, mq.MQCHS_INACTIVE if one else mq.MQCHS_STOPPED)
    if one and status == mq.MQCHS_STOPPED:
        raise bad_parameter(mq.MQRCCF_PARM_CONFLICT, mq.MQIACH_CHANNEL_STATUS)
    if channel_type not in _RUN:
        raise PcfRefused(mq.MQRCCF_CHANNEL_NOT_ACTIVE)
    word = "STOPPED" if status == mq.MQCHS_STOPPED else "INACTIVE"
    context.stop_channel(name, mode, word, address, manager, _disposition(request))
    yield []


def _ping_channel(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    name = _supported_channel(context, request, "PING", _SENDING)
    size = request.number(mq.MQIACH_DATA_COUNT, _PING_BYTES)
    if not _PING_BYTES_MIN <= size <= _PING_BYTES_MAX:
        raise bad_parameter(mq.MQRCCF_PING_DATA_COUNT_ERROR, mq.MQIACH_DATA_COUNT)
    context.ping_channel(name, size)
    yield []


def _reset_channel(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    name = _supported_channel(context, request, "RESET", _MESSAGES)
    sequence_number = request.number(mq.MQIACH_MSG_SEQUENCE_NUMBER, 1)
    if not 1 <= sequence_number <= _SEQUENCE_NUMBER_MAX:
        raise bad_parameter(mq.MQRCCF_MSG_SEQ_NUMBER_ERROR, mq.MQIACH_MSG_SEQUENCE_NUMBER)
    context.reset_channel(name, sequence_number, _disposition(request))
    yield []


def _resolve_channel(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    name = _supported_channel(context, request, "RESOLVE", _SENDING)
    action = "COMMIT" if request.number(mq.MQIACH_IN_DOUBT) == mq.MQIDO_COMMIT else "BACKOUT"
    digits = request.text(mq.MQCACH_LAST_LUWID)
    luwid = decode_luwid(digits) if digits else b""
    if luwid is None:
        raise bad_parameter(mq.MQRCCF_CFST_STRING_LENGTH_ERR, mq.MQCACH_LAST_LUWID)
    if luwid and action != "COMMIT":
        raise bad_parameter(mq.MQRCCF_PARM_CONFLICT, mq.MQCACH_LAST_LUWID)
    context.resolve_channel(name, action, luwid, _disposition(request))
    yield []


def _start_initiator(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    authorize(context, "START", ObjectType.QMGR, "")
    context.start_channel_initiator(request.text(mq.MQCA_INITIATION_Q_NAME))
    yield []


def _stop_initiator(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    authorize(context, "STOP", ObjectType.QMGR, "")
    context.stop_channel_initiator()
    yield []


_CHANNEL: Final = text("MQCACH_CHANNEL_NAME", CHANNEL_NAME_LENGTH, required=True)
_CHANNEL_DISP: Final = number(
    "MQIACH_CHANNEL_DISP", "MQCHLD_DEFAULT", "MQCHLD_PRIVATE", "MQCHLD_SHARED", "MQCHLD_FIXSHARED"
)
COMMANDS: Final = (
    PcfCommand("MQCMD_START_CHANNEL", _start_channel, (_CHANNEL, _CHANNEL_DISP)),
    PcfCommand(
        "MQCMD_STOP_CHANNEL",
        _stop_channel,
        (
            _CHANNEL,
            number("MQIACH_CHANNEL_STATUS", "MQCHS_STOPPED", "MQCHS_INACTIVE"),
            text("MQCACH_CONNECTION_NAME", 264),
            text("MQCA_Q_MGR_NAME"),
            number("MQIACF_MODE", "MQMODE_QUIESCE", "MQMODE_FORCE", "MQMODE_TERMINATE"),
            _CHANNEL_DISP,
        ),
    ),
    PcfCommand("MQCMD_PING_CHANNEL", _ping_channel, (_CHANNEL, number("MQIACH_DATA_COUNT"), _CHANNEL_DISP)),
    PcfCommand("MQCMD_RESET_CHANNEL", _reset_channel, (_CHANNEL, number("MQIACH_MSG_SEQUENCE_NUMBER"), _CHANNEL_DISP)),
    PcfCommand(
        "MQCMD_RESOLVE_CHANNEL",
        _resolve_channel,
        (
            _CHANNEL,
            number("MQIACH_IN_DOUBT", "MQIDO_COMMIT", "MQIDO_BACKOUT", required=True),
            text("MQCACH_LAST_LUWID", 16),
            _CHANNEL_DISP,
        ),
    ),
    PcfCommand("MQCMD_START_CHANNEL_INIT", _start_initiator, (text("MQCA_INITIATION_Q_NAME"),)),
    PcfCommand("MQCMD_STOP_CHANNEL_INIT", _stop_initiator),
)
