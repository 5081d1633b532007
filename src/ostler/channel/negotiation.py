"""Negotiation: from the definitions of both ends to the values that a channel runs with."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.channel.compression import METHODS, choose
from ostler.model import constants as mq
from ostler.model.attributes import valid_name
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.wire.channel_frames import WINDOW_MAX, ChannelHello
from ostler.wire.frames import MESSAGE_BYTES_MAX, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN, MalformedFrame

# The most batches in flight at a time, if the partner agrees. MQ has one.
WINDOW: Final = 8
_METHOD_NAMES: Final = {number: word for word, number in METHODS.items()}
_NATIVE: Final = 546  # MQENC_NATIVE of little-endian machines


@final
class ChannelSettings:
    """The attributes of a message channel definition that its ends use."""

    def __init__(self, channel: Definition) -> None:
        self.name = channel.name
        self.definition = channel
        self.batch_size: i64 = number_of(channel, "BATCHSZ", 50)
        self.batch_interval_ms: i64 = number_of(channel, "BATCHINT", 0)
        self.batch_bytes_max: i64 = number_of(channel, "BATCHLIM", 5000) * 1024
        self.batch_heartbeat_ms: i64 = number_of(channel, "BATCHHB", 0)
        self.disconnect_seconds: i64 = number_of(channel, "DISCINT", 0)
        self.heartbeat_seconds: i64 = number_of(channel, "HBINT", 300)
        self.sequence_wrap: i64 = number_of(channel, "SEQWRAP", 999_999_999)
        self.is_fast: bool = number_of(channel, "NPMSPEED", mq.MQNPMS_FAST) == mq.MQNPMS_FAST
        self.converts: bool = number_of(channel, "CONVERT", 0) == mq.MQCDC_SENDER_CONVERSION
        self.message_bytes_max: i64 = number_of(channel, "MAXMSGL", 0) or MESSAGE_BYTES_MAX
        self.retry_count: i64 = number_of(channel, "MRRTY", 0)
        self.retry_ms: i64 = number_of(channel, "MRTMR", 0)
        self.header_methods = keywords_of(channel, "COMPHDR")
        self.message_methods = keywords_of(channel, "COMPMSG")
        self.transmission_queue = text_of(channel, "XMITQ")
        self.window: i64 = WINDOW


def propose(settings: ChannelSettings, queue_manager: str, ccsid: i64, purpose: i64) -> ChannelHello:
    """Return the hello of the end that connects, without its position (see `in_doubt.describe_position`)."""
    hello = ChannelHello()
    hello.purpose = purpose
    hello.channel = settings.name
    hello.queue_manager = queue_manager
    hello.ccsid = ccsid
    hello.encoding = _NATIVE
    hello.message_bytes_max = settings.message_bytes_max
    hello.batch_size = settings.batch_size
    hello.window = settings.window
    hello.heartbeat_seconds = settings.heartbeat_seconds
    hello.sequence_wrap = settings.sequence_wrap
    hello.is_fast = settings.is_fast
    hello.header_methods = [METHODS[word] for word in settings.header_methods if word in METHODS]
    hello.message_methods = [METHODS[word] for word in settings.message_methods if word in METHODS]
    return hello


def negotiate(hello: ChannelHello, settings: ChannelSettings, queue_manager: str, ccsid: i64) -> ChannelHello:
    """Return the reply to a proposal. MQError if the two definitions do not match."""
    if hello.sequence_wrap != settings.sequence_wrap:
        raise MQError(
            mq.MQRCCF_SEQ_NUMBER_WRAP_ERROR,
            f"AMQ9505E: The sequence wrap values of channel {settings.name} differ: {hello.sequence_wrap} at "
            f"{hello.queue_manager}, {settings.sequence_wrap} at {queue_manager}. Alter SEQWRAP at one of them.",
        )
    if hello.is_reset and hello.in_doubt:
        raise MQError(
            mq.MQRCCF_CHANNEL_INDOUBT,
            f"AMQ9526E: {hello.queue_manager} wants channel {settings.name} reset while it is in doubt about "
            f"{len(hello.in_doubt)} batches. RESOLVE CHANNEL({settings.name}) there first.",
        )
    agreed = propose(settings, queue_manager, ccsid, hello.purpose)
    agreed.version = min(agreed.version, hello.version)
    agreed.segment_bytes = min(max(hello.segment_bytes, SEGMENT_BYTES_MIN), SEGMENT_BYTES_MAX)
    agreed.message_bytes_max = min(hello.message_bytes_max, settings.message_bytes_max)
    agreed.batch_size = max(1, min(hello.batch_size, settings.batch_size))
    agreed.window = max(1, min(hello.window, settings.window, WINDOW_MAX))
    # As in MQ, the longer heartbeat interval applies; and NPMSPEED(NORMAL) of either end applies to both.
    agreed.heartbeat_seconds = max(hello.heartbeat_seconds, settings.heartbeat_seconds)
    agreed.is_fast = hello.is_fast and settings.is_fast
    agreed.header_methods = [choose(_method_names(hello.header_methods), settings.header_methods)]
    agreed.message_methods = [choose(_method_names(hello.message_methods), settings.message_methods)]
    return agreed


def check_agreement(agreed: ChannelHello, settings: ChannelSettings) -> None:
    """MalformedFrame if the reply of a partner does not match the proposal."""
    proposed = propose(settings, "", 0, agreed.purpose)
    if (
        agreed.channel != settings.name
        or not valid_name(agreed.queue_manager)
        or not 1 <= agreed.version <= proposed.version
        or agreed.sequence_wrap != settings.sequence_wrap
        or not SEGMENT_BYTES_MIN <= agreed.segment_bytes <= SEGMENT_BYTES_MAX
        or not 1 <= agreed.batch_size <= settings.batch_size
        or not 1 <= agreed.window <= settings.window
        or agreed.message_bytes_max > settings.message_bytes_max
        or (agreed.is_fast and not settings.is_fast)
        or not _is_one_of(agreed.header_methods, proposed.header_methods)
        or not _is_one_of(agreed.message_methods, proposed.message_methods)
    ):
        raise MalformedFrame("the partner agrees to values that were not proposed")


def _is_one_of(agreed: list[int], proposed: list[int]) -> bool:
    if len(agreed) != 1 or agreed[0] == mq.MQCOMPRESS_ANY or agreed[0] not in _METHOD_NAMES:
        return False
    return agreed[0] == mq.MQCOMPRESS_NONE or agreed[0] in proposed or mq.MQCOMPRESS_ANY in proposed


def method_of(methods: list[int]) -> i64:
    """Return the negotiated compression method."""
    return methods[0] if methods else mq.MQCOMPRESS_NONE


def next_sequence(sequence: i64, wrap: i64) -> i64:
    return sequence + 1 if sequence < wrap else 1


def number_of(definition: Definition, name: str, default: i64 = 0) -> i64:
    value = definition.attributes.get(name)
    return value if isinstance(value, int) else default


def text_of(definition: Definition, name: str) -> str:
    value = definition.attributes.get(name, "")
    return value.strip() if isinstance(value, str) else ""


def keywords_of(definition: Definition, name: str) -> tuple[str, ...]:
    """Return the keywords of a list attribute such as COMPMSG."""
    value = definition.attributes.get(name)
    return value if isinstance(value, tuple) else ("NONE",)


def _method_names(methods: list[int]) -> tuple[str, ...]:
    return tuple([_METHOD_NAMES[method] for method in methods if method in _METHOD_NAMES])
