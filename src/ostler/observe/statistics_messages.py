"""Statistics messages in PCF: MQI statistics, queue statistics and channel statistics of an interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ostler.model import constants as mq
from ostler.model.counters import Counts
from ostler.model.pcf import Group, Integer, Integer64, Integer64List, IntegerList, Parameter
from ostler.observe import own_parameters, verb_fields
from ostler.observe.message_builder import (
    DATE_BYTES,
    NAME_BYTES,
    TIME_BYTES,
    ReportingInterval,
    by_persistence,
    by_persistence_64,
    clip_count,
    count,
    encode_groups,
    encode_single,
    fixed_text,
    preamble,
)

_CHANNEL_NAME_BYTES: Final = 20
_CONNECTION_NAME_BYTES: Final = 264
_MICROSECONDS: Final = 1000

# Fields that IBM MQ does not have, by their name in `extras`.
_MANAGER_EXTRAS: Final = (
    (own_parameters.USER_CPU_TIME, "cpu_user_us"),
    (own_parameters.SYSTEM_CPU_TIME, "cpu_system_us"),
    (own_parameters.LOG_RECORDS, "records"),
    (own_parameters.LOG_BYTES, "logical_bytes"),
    (own_parameters.LOG_WRITES, "writes"),
    (own_parameters.LOG_FORCES, "forces"),
    (own_parameters.LOG_FORCE_TIME, "force_total_us"),
    (own_parameters.LONGEST_PASS, "longest_pass_us"),
)


class IntervalMarks(NamedTuple):
    """Highest and lowest numbers in an interval.

    Those of subscriptions are arrays: durable ones first, then the others; of each all, API, ADMIN and PROXY.
    """

    connections_high: int
    subscriptions_high: Sequence[int]
    subscriptions_low: Sequence[int]


def mqi_statistics(
    interval: ReportingInterval, verbs: Counts, manager: Counts, marks: IntervalMarks, extras: Counts
) -> bytes:
    """Return the MQI statistics message (STATMQI), from the counts of an interval.

    `manager` has connects and disconnects. `extras` are metrics of the process and the log for fields that IBM MQ does
    not have.
    """
    get_count, get_failures, get_bytes = verb_fields.gets(verbs)
    browse_count, browse_failures, browse_bytes = verb_fields.browses(verbs)
    disconnects = (manager["disconnects"], manager["disconnects_lost"], manager["disconnects_by_manager"])
    parameters: list[Parameter] = [
        *preamble(interval),
        count(mq.MQIAMO_CONNS, manager["connects"]),
        count(mq.MQIAMO_CONNS_FAILED, manager["connects_failed"]),
        count(mq.MQIAMO_CONNS_MAX, marks.connections_high),
        IntegerList(mq.MQIAMO_DISCS, tuple(clip_count(number) for number in disconnects)),
        *verb_fields.opens_and_closes(verbs),
        *verb_fields.inquiries_and_sets(verbs),
        *verb_fields.puts(verbs),
        get_count,
        get_bytes,
        get_failures,
        browse_count,
        browse_bytes,
        browse_failures,
        *verb_fields.units_of_work(verbs),
        count(mq.MQIAMO_MSGS_EXPIRED, verbs["expired"]),
        count(mq.MQIAMO_MSGS_PURGED, verbs["purged"]),
        *verb_fields.subscriptions_and_callbacks(verbs),
        *verb_fields.subscription_marks(marks.subscriptions_high, marks.subscriptions_low),
        *verb_fields.publications(verbs),
        *verb_fields.copies_for_subscriptions(verbs),
        Integer64(own_parameters.WAITS, verbs["waits"]),
        Integer64(own_parameters.BACKED_OUT_MESSAGES, verbs["backed_out_messages"]),
    ]
    parameters.extend([Integer64(parameter, extras[name]) for parameter, name in _MANAGER_EXTRAS if name in extras])
    return encode_single(mq.MQCFT_STATISTICS, mq.MQCMD_STATISTICS_MQI, parameters)


class QueueInterval(NamedTuple):
    """Counts of one queue in an interval."""

    name: str
    queue_type: int
    definition_type: int
    created_date: str
    created_time: str
    depth_low: int
    depth_high: int
    counts: Counts


def queue_statistics(interval: ReportingInterval, queues: Sequence[QueueInterval], bytes_max: int) -> list[bytes]:
    """Return the queue statistics messages (STATQ); none without queues."""
    groups = [Group(mq.MQGACF_Q_STATISTICS_DATA, tuple(_queue_fields(queue))) for queue in queues]
    return encode_groups(mq.MQCFT_STATISTICS, mq.MQCMD_STATISTICS_Q, preamble(interval), groups, bytes_max)


def _queue_fields(queue: QueueInterval) -> list[Parameter]:
    c = queue.counts
    return [
        fixed_text(mq.MQCA_Q_NAME, queue.name, NAME_BYTES),
        fixed_text(mq.MQCA_CREATION_DATE, queue.created_date, DATE_BYTES),
        fixed_text(mq.MQCA_CREATION_TIME, queue.created_time, TIME_BYTES),
        Integer(mq.MQIA_Q_TYPE, queue.queue_type),
        Integer(mq.MQIA_DEFINITION_TYPE, queue.definition_type),
        count(mq.MQIAMO_Q_MIN_DEPTH, queue.depth_low),
        count(mq.MQIAMO_Q_MAX_DEPTH, queue.depth_high),
        _average_time(c),
        *verb_fields.puts(c),
        *verb_fields.gets(c),
        *verb_fields.browses(c),
        count(mq.MQIAMO_MSGS_NOT_QUEUED, c["handed_over"]),
        count(mq.MQIAMO_MSGS_EXPIRED, c["expired"]),
        count(mq.MQIAMO_MSGS_PURGED, c["purged"]),
    ]


def _average_time(c: Counts) -> Integer64List:
    """Return the average time on the queue of messages got, in microseconds; the clock has milliseconds."""
    persistent = c["gets_persistent"]
    nonpersistent = c["gets"] - persistent
    nonpersistent_ms = c["age_total_ms"] - c["age_persistent_ms"]
    return by_persistence_64(
        mq.MQIAMO64_AVG_Q_TIME,
        nonpersistent_ms * _MICROSECONDS // nonpersistent if nonpersistent > 0 else 0,
        c["age_persistent_ms"] * _MICROSECONDS // persistent if persistent > 0 else 0,
    )


class ChannelInterval(NamedTuple):
    """Traffic of one server-connection channel with one address in an interval."""

    name: str
    connection_name: str
    calls: int
    sent_bytes: int
    received_bytes: int
    channel_type: int = mq.MQCHT_SVRCONN
    remote_manager: str = ""


class MessageCounts(NamedTuple):
    """Counts of a message channel. Bytes are those of messages on transmission queues."""

    messages: int = 0
    persistent: int = 0  # of the messages
    all_bytes: int = 0
    persistent_bytes: int = 0  # of these
    batches: int = 0
    full_batches: int = 0  # of the batches
    batch_messages: int = 0  # messages that were in batches
    put_retries: int = 0


class NetworkTimes(NamedTuple):
    """Round-trip times in microseconds."""

    answers: int = 0
    total: int = 0
    lowest: int = 0
    highest: int = 0


class MessageChannelInterval(NamedTuple):
    """Traffic of one instance of a message channel in an interval."""

    name: str
    channel_type: int
    remote_manager: str
    connection_name: str
    counts: MessageCounts
    network: NetworkTimes


def channel_statistics(
    interval: ReportingInterval, channels: Sequence[ChannelInterval | MessageChannelInterval], bytes_max: int
) -> list[bytes]:
    """Return the channel statistics messages (STATCHL); none without channels."""
    groups = [Group(mq.MQGACF_CHL_STATISTICS_DATA, tuple(_any_channel_fields(channel))) for channel in channels]
    return encode_groups(mq.MQCFT_STATISTICS, mq.MQCMD_STATISTICS_CHANNEL, preamble(interval), groups, bytes_max)


def _any_channel_fields(channel: ChannelInterval | MessageChannelInterval) -> list[Parameter]:
    return [
        fixed_text(mq.MQCACH_CHANNEL_NAME, channel.name, _CHANNEL_NAME_BYTES),
        Integer(mq.MQIACH_CHANNEL_TYPE, channel.channel_type),
        fixed_text(mq.MQCA_REMOTE_Q_MGR_NAME, channel.remote_manager, NAME_BYTES),
        fixed_text(mq.MQCACH_CONNECTION_NAME, channel.connection_name, _CONNECTION_NAME_BYTES),
        *(_client_fields(channel) if isinstance(channel, ChannelInterval) else _message_fields(channel)),
    ]


def _message_fields(channel: MessageChannelInterval) -> list[Parameter]:
    c = channel.counts
    times = channel.network
    return [
        by_persistence(mq.MQIAMO_MSGS, c.messages - c.persistent, c.persistent),
        by_persistence_64(mq.MQIAMO64_BYTES, c.all_bytes - c.persistent_bytes, c.persistent_bytes),
        count(mq.MQIAMO_NET_TIME_MIN, times.lowest),
        count(mq.MQIAMO_NET_TIME_AVG, times.total // times.answers if times.answers else 0),
        count(mq.MQIAMO_NET_TIME_MAX, times.highest),
        Integer(mq.MQIAMO_EXIT_TIME_MIN, 0),  # channel exits are not supported
        Integer(mq.MQIAMO_EXIT_TIME_AVG, 0),
        Integer(mq.MQIAMO_EXIT_TIME_MAX, 0),
        count(mq.MQIAMO_FULL_BATCHES, c.full_batches),
        count(mq.MQIAMO_INCOMPLETE_BATCHES, c.batches - c.full_batches),
        count(mq.MQIAMO_AVG_BATCH_SIZE, c.batch_messages // c.batches if c.batches else 0),
        count(mq.MQIAMO_PUT_RETRIES, c.put_retries),
    ]


def _client_fields(channel: ChannelInterval) -> list[Parameter]:
    return [
        by_persistence(mq.MQIAMO_MSGS, channel.calls, 0),
        by_persistence_64(mq.MQIAMO64_BYTES, channel.sent_bytes + channel.received_bytes, 0),
        Integer64(own_parameters.SENT_BYTES, channel.sent_bytes),
        Integer64(own_parameters.RECEIVED_BYTES, channel.received_bytes),
    ]
