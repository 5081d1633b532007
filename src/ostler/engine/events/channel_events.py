"""Channel events: started, stopped, blocked, not available or activated, conversion errors and TLS errors.

CHLEV of the queue manager enables all of them or only the exceptions; those about TLS follow SSLEV. The functions
return the messages; the caller puts them.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.events.performance_events import event_message, fixed_name, fixed_text
from ostler.engine.events.reports import Outgoing
from ostler.model import constants as mq
from ostler.model.pcf import Integer, Parameter, String

CHANNEL_QUEUE: Final = "SYSTEM.ADMIN.CHANNEL.EVENT"

# Severities above the message number in an error identifier.
_INFORMATION: Final = 0x10000000
_ERROR: Final = 0x20000000
# The PCF parameter of a limit, by the reason qualifier of the event.
_LIMITS: Final[dict[int, int]] = {
    mq.MQRQ_MAX_ACTIVE_CHANNELS: mq.MQIA_ACTIVE_CHANNELS,
    mq.MQRQ_MAX_CHANNELS: mq.MQIA_MAX_CHANNELS,
    mq.MQRQ_SVRCONN_INST_LIMIT: mq.MQIACH_MAX_INSTANCES,
    mq.MQRQ_CLIENT_INST_LIMIT: mq.MQIACH_MAX_INSTS_PER_CLIENT,
}


def error_identifier(message: i64, is_error: bool) -> int:
    """Return the error identifier of an AMQ message: the last four hexadecimal digits are its decimal number."""
    if message <= 0:
        return 0
    return (_ERROR if is_error else _INFORMATION) | int(str(message), 16)


def on_channel_started(engine: Engine, channel: str, transmission_queue: str, connection_name: str) -> list[Outgoing]:
    """Channel Started. `transmission_queue` is empty for receiving channels."""
    if not _is_enabled(engine, False):
        return []
    return [
        _event(engine, mq.MQRC_CHANNEL_STARTED, [], _channel_parameters(channel, transmission_queue, connection_name))
    ]


def on_channel_stopped(
    engine: Engine,
    qualifier: i64,
    channel: str,
    transmission_queue: str,
    connection_name: str,
    message: i64 = 0,
    numbers: tuple[int, int] = (0, 0),
    texts: tuple[str, str, str] = ("", "", ""),
) -> list[Outgoing]:
    """Channel Stopped, for a message channel reported as started. `qualifier` is MQRQ_CHANNEL_STOPPED_...

    `message` is the number of the AMQ message with the cause, such as 9526; `numbers` and `texts` are its inserts.
    """
    is_exception = qualifier != mq.MQRQ_CHANNEL_STOPPED_OK
    if not _is_enabled(engine, is_exception):
        return []
    details: list[Parameter] = [
        String(mq.MQCACH_CHANNEL_NAME, fixed_text(channel, 20)),
        Integer(mq.MQIACF_ERROR_IDENTIFIER, error_identifier(message, is_exception)),
        Integer(mq.MQIACF_AUX_ERROR_DATA_INT_1, numbers[0]),
        Integer(mq.MQIACF_AUX_ERROR_DATA_INT_2, numbers[1]),
        String(mq.MQCACF_AUX_ERROR_DATA_STR_1, texts[0]),
        String(mq.MQCACF_AUX_ERROR_DATA_STR_2, texts[1]),
        String(mq.MQCACF_AUX_ERROR_DATA_STR_3, texts[2]),
    ]
    first: list[Parameter] = [Integer(mq.MQIACF_REASON_QUALIFIER, qualifier)]
    return [
        _event(
            engine,
            mq.MQRC_CHANNEL_STOPPED,
            first,
            details + _channel_parameters("", transmission_queue, connection_name),
        )
    ]


def on_channel_stopped_by_user(engine: Engine, channel: str) -> list[Outgoing]:
    """Channel Stopped By User: STOP CHANNEL put the channel into STOPPED state."""
    if not _is_enabled(engine, True):
        return []
    first: list[Parameter] = [Integer(mq.MQIACF_REASON_QUALIFIER, mq.MQRQ_CHANNEL_STOPPED_DISABLED)]
    return [_event(engine, mq.MQRC_CHANNEL_STOPPED_BY_USER, first, _channel_parameters(channel, "", ""))]


def on_channel_not_activated(
    engine: Engine, channel: str, transmission_queue: str, connection_name: str
) -> list[Outgoing]:
    """Channel Not Activated: the channel waits because MaxActiveChannels is reached."""
    if not _is_enabled(engine, True):
        return []
    return [
        _event(
            engine, mq.MQRC_CHANNEL_NOT_ACTIVATED, [], _channel_parameters(channel, transmission_queue, connection_name)
        )
    ]


def on_channel_activated(engine: Engine, channel: str, transmission_queue: str, connection_name: str) -> list[Outgoing]:
    """Channel Activated: a channel that waited for MaxActiveChannels can start."""
    if not _is_enabled(engine, True):
        return []
    return [
        _event(engine, mq.MQRC_CHANNEL_ACTIVATED, [], _channel_parameters(channel, transmission_queue, connection_name))
    ]


def on_channel_not_available(
    engine: Engine, qualifier: i64, channel: str, connection_name: str, most: i64
) -> list[Outgoing]:
    """Channel Not Available: a connection is refused by the limit `qualifier`, which is `most`."""
    if not _is_enabled(engine, True):
        return []
    first: list[Parameter] = [Integer(mq.MQIACF_REASON_QUALIFIER, qualifier)]
    rest = _channel_parameters(channel, "", connection_name)
    rest.append(Integer(_LIMITS[int(qualifier)], most))
    return [_event(engine, mq.MQRC_CHANNEL_NOT_AVAILABLE, first, rest)]


def on_channel_conversion_error(
    engine: Engine, reason: i64, channel: str, format_name: str, transmission_queue: str, connection_name: str
) -> list[Outgoing]:
    """Channel Conversion Error: a sender with CONVERT(YES) could not convert a message. `reason` is that of the get."""
    if not _is_enabled(engine, True):
        return []
    first: list[Parameter] = [
        Integer(mq.MQIACF_CONV_REASON_CODE, reason),
        String(mq.MQCACH_CHANNEL_NAME, fixed_text(channel, 20)),
        String(mq.MQCACH_FORMAT_NAME, fixed_text(format_name, 8)),
    ]
    return [
        _event(engine, mq.MQRC_CHANNEL_CONV_ERROR, first, _channel_parameters("", transmission_queue, connection_name))
    ]


def on_channel_ssl_error(
    engine: Engine,
    qualifier: i64,
    channel: str,
    transmission_queue: str,
    connection_name: str,
    stage: str = "",
    return_code: i64 = 0,
    peer: str = "",
) -> list[Outgoing]:
    """Channel SSL Error. `qualifier` is MQRQ_SSL_...; channel fields not yet known are empty.

    `stage` and `return_code` describe a failed handshake, `peer` a name that does not match SSLPEER.
    """
    if not _is_ssl_enabled(engine):
        return []
    rest = _channel_parameters(channel, transmission_queue, connection_name)
    if qualifier == mq.MQRQ_SSL_HANDSHAKE_ERROR:
        rest.append(String(mq.MQCACH_SSL_HANDSHAKE_STAGE, fixed_text(stage, 32)))
        rest.append(Integer(mq.MQIACH_SSL_RETURN_CODE, return_code))
    if qualifier == mq.MQRQ_SSL_PEER_NAME_ERROR:
        rest.append(String(mq.MQCACH_SSL_PEER_NAME, peer))
    first: list[Parameter] = [Integer(mq.MQIACF_REASON_QUALIFIER, qualifier)]
    return [_event(engine, mq.MQRC_CHANNEL_SSL_ERROR, first, rest)]


def on_channel_ssl_warning(
    engine: Engine, qualifier: i64, channel: str, transmission_queue: str, connection_name: str
) -> list[Outgoing]:
    """Channel SSL Warning: TLS was negotiated, but an administrator should look at it. `qualifier` is MQRQ_SSL_..."""
    if not _is_ssl_enabled(engine):
        return []
    first: list[Parameter] = [Integer(mq.MQIACF_REASON_QUALIFIER, qualifier)]
    return [
        _event(
            engine,
            mq.MQRC_CHANNEL_SSL_WARNING,
            first,
            _channel_parameters(channel, transmission_queue, connection_name),
        )
    ]


def on_channel_blocked(
    engine: Engine,
    is_warning: bool,
    qualifier: int,
    channel: str,
    address: str,
    user: str,
    peer: str,
    partner: str = "",
) -> list[Outgoing]:
    """Channel Blocked: a CHLAUTH rule refused a connection, or only warned. `qualifier` is MQRQ_CHANNEL_BLOCKED_..."""
    if engine.manager.attributes.get("CHLEV", mq.MQEVR_DISABLED) == mq.MQEVR_DISABLED:
        return []
    parameters: list[Parameter] = [
        fixed_name(mq.MQCA_Q_MGR_NAME, engine.name),
        Integer(mq.MQIACF_REASON_QUALIFIER, qualifier),
        String(mq.MQCACH_CONNECTION_NAME, address),
    ]
    if channel:
        parameters.append(String(mq.MQCACH_CHANNEL_NAME, fixed_text(channel, 20)))
    if user:
        parameters.append(String(mq.MQCACH_CLIENT_USER_ID, user))
    if peer:
        parameters.append(String(mq.MQCACH_SSL_PEER_NAME, peer))
    if partner:
        parameters.append(fixed_name(mq.MQCA_REMOTE_Q_MGR_NAME, partner))
    reason = mq.MQRC_CHANNEL_BLOCKED_WARNING if is_warning else mq.MQRC_CHANNEL_BLOCKED
    return [event_message(engine, CHANNEL_QUEUE, mq.MQCMD_CHANNEL_EVENT, reason, parameters)]


def _is_enabled(engine: Engine, is_exception: bool) -> bool:
    setting = engine.manager.attributes.get("CHLEV", mq.MQEVR_DISABLED)
    return setting == mq.MQEVR_ENABLED or (is_exception and setting == mq.MQEVR_EXCEPTION)


def _is_ssl_enabled(engine: Engine) -> bool:
    return engine.manager.attributes.get("SSLEV", mq.MQEVR_DISABLED) == mq.MQEVR_ENABLED


def _channel_parameters(channel: str, transmission_queue: str, connection_name: str) -> list[Parameter]:
    """Return the parameters that identify the channel, as far as known."""
    found: list[Parameter] = []
    if channel:
        found.append(String(mq.MQCACH_CHANNEL_NAME, fixed_text(channel, 20)))
    if transmission_queue:
        found.append(fixed_name(mq.MQCACH_XMIT_Q_NAME, transmission_queue))
    if connection_name:
        found.append(String(mq.MQCACH_CONNECTION_NAME, connection_name))
    return found


def _event(engine: Engine, reason: i64, first: list[Parameter], rest: list[Parameter]) -> Outgoing:
    name: list[Parameter] = [fixed_name(mq.MQCA_Q_MGR_NAME, engine.name)]
    return event_message(engine, CHANNEL_QUEUE, mq.MQCMD_CHANNEL_EVENT, reason, name + first + rest)
