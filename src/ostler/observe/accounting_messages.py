"""Accounting messages of one connection in PCF: MQI accounting and queue accounting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ostler.model import constants as mq
from ostler.model.accounts import QueueAccount, Spread
from ostler.model.counters import Counts
from ostler.model.pcf import ByteString, Group, Integer, Integer64, IntegerList, Parameter
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
    date_and_time,
    encode_groups,
    encode_single,
    fixed_text,
    preamble,
)

_APPLICATION_BYTES: Final = 28
_USER_BYTES: Final = 12
_CHANNEL_NAME_BYTES: Final = 20
_CONNECTION_NAME_BYTES: Final = 264
_MICROSECONDS: Final = 1000


class AccountedConnection(NamedTuple):
    """The connection of an accounting message."""

    connection_id: bytes
    sequence: int  # of the message: a long-lived connection has several
    application: str
    user: str
    process_id: int
    thread_id: int
    connected_ms: int
    channel: str  # empty for local bindings
    connection_name: str
    disconnected_ms: int  # 0: still connected
    disconnect_type: int  # an MQDISCONNECT number


def mqi_accounting(interval: ReportingInterval, connection: AccountedConnection, verbs: Counts, busy_us: int) -> bytes:
    """Return the MQI accounting message (ACCTMQI) of a connection, from the counts of an interval."""
    get_count, get_failures, get_bytes = verb_fields.gets(verbs)
    browse_count, browse_failures, browse_bytes = verb_fields.browses(verbs)
    parameters: list[Parameter] = [
        *_connection_fields(interval, connection),
        *date_and_time(mq.MQCAMO_CONN_DATE, mq.MQCAMO_CONN_TIME, connection.connected_ms),
    ]
    if connection.channel:
        parameters.append(fixed_text(mq.MQCACH_CONNECTION_NAME, connection.connection_name, _CONNECTION_NAME_BYTES))
        parameters.append(fixed_text(mq.MQCACH_CHANNEL_NAME, connection.channel, _CHANNEL_NAME_BYTES))
    if connection.disconnected_ms:
        parameters.extend(date_and_time(mq.MQCAMO_DISC_DATE, mq.MQCAMO_DISC_TIME, connection.disconnected_ms))
        parameters.append(Integer(mq.MQIAMO_DISC_TYPE, connection.disconnect_type))
    parameters.extend(
        [
            *verb_fields.opens_and_closes(verbs),
            *verb_fields.puts(verbs),
            get_count,
            get_failures,
            get_bytes,
            browse_count,
            browse_failures,
            browse_bytes,
            *verb_fields.units_of_work(verbs),
            *verb_fields.inquiries_and_sets(verbs),
            *verb_fields.subscriptions_and_callbacks(verbs),
            *verb_fields.publications(verbs),
        ]
    )
    if busy_us:
        parameters.append(Integer64(mq.MQIAMO64_QMGR_OP_DURATION, busy_us))
    parameters.append(Integer64(own_parameters.WAITS, verbs["waits"]))
    parameters.append(Integer64(own_parameters.BACKED_OUT_MESSAGES, verbs["backed_out_messages"]))
    return encode_single(mq.MQCFT_ACCOUNTING, mq.MQCMD_ACCOUNTING_MQI, parameters)


def queue_accounting(
    interval: ReportingInterval, connection: AccountedConnection, queues: Sequence[QueueAccount], bytes_max: int
) -> list[bytes]:
    """Return the queue accounting messages (ACCTQ) of a connection; none without queues."""
    groups = [Group(mq.MQGACF_Q_ACCOUNTING_DATA, tuple(_queue_fields(queue))) for queue in queues]
    return encode_groups(
        mq.MQCFT_ACCOUNTING, mq.MQCMD_ACCOUNTING_Q, _connection_fields(interval, connection), groups, bytes_max
    )


def _connection_fields(interval: ReportingInterval, connection: AccountedConnection) -> list[Parameter]:
    return [
        *preamble(interval),
        ByteString(mq.MQBACF_CONNECTION_ID, connection.connection_id),
        count(mq.MQIACF_SEQUENCE_NUMBER, connection.sequence),
        fixed_text(mq.MQCACF_APPL_NAME, connection.application, _APPLICATION_BYTES),
        count(mq.MQIACF_PROCESS_ID, connection.process_id),
        count(mq.MQIACF_THREAD_ID, connection.thread_id),
        fixed_text(mq.MQCACF_USER_IDENTIFIER, connection.user, _USER_BYTES),
    ]


def _queue_fields(queue: QueueAccount) -> list[Parameter]:
    fields: list[Parameter] = [
        fixed_text(mq.MQCA_Q_NAME, queue.name, NAME_BYTES),
        fixed_text(mq.MQCA_CREATION_DATE, queue.created_date, DATE_BYTES),
        fixed_text(mq.MQCA_CREATION_TIME, queue.created_time, TIME_BYTES),
        Integer(mq.MQIA_Q_TYPE, queue.queue_type),
        Integer(mq.MQIA_DEFINITION_TYPE, queue.definition_type),
        count(mq.MQIAMO_OPENS, queue.opens),
        *date_and_time(mq.MQCAMO_OPEN_DATE, mq.MQCAMO_OPEN_TIME, queue.opened_ms),
    ]
    if queue.closed_ms and queue.handles == 0:
        fields.extend(date_and_time(mq.MQCAMO_CLOSE_DATE, mq.MQCAMO_CLOSE_TIME, queue.closed_ms))
    plain = queue.puts.count - queue.put1s
    plain_persistent = queue.puts_persistent.count - queue.put1s_persistent
    fields.extend(
        [
            by_persistence(mq.MQIAMO_PUTS, plain, plain_persistent),
            count(mq.MQIAMO_PUTS_FAILED, queue.puts_failed),
            by_persistence(mq.MQIAMO_PUT1S, queue.put1s, queue.put1s_persistent),
            count(mq.MQIAMO_PUT1S_FAILED, queue.put1s_failed),
            *_sizes(
                mq.MQIAMO64_PUT_BYTES,
                mq.MQIAMO_PUT_MIN_BYTES,
                mq.MQIAMO_PUT_MAX_BYTES,
                queue.puts,
                queue.puts_persistent,
            ),
            Integer(mq.MQIAMO_GENERATED_MSGS, 0),
            by_persistence(mq.MQIAMO_GETS, queue.gets.count, queue.gets_persistent.count),
            count(mq.MQIAMO_GETS_FAILED, queue.gets_failed),
            *_sizes(
                mq.MQIAMO64_GET_BYTES,
                mq.MQIAMO_GET_MIN_BYTES,
                mq.MQIAMO_GET_MAX_BYTES,
                queue.gets,
                queue.gets_persistent,
            ),
            by_persistence(mq.MQIAMO_BROWSES, queue.browses.count, queue.browses_persistent.count),
            count(mq.MQIAMO_BROWSES_FAILED, queue.browses_failed),
            *_sizes(
                mq.MQIAMO64_BROWSE_BYTES,
                mq.MQIAMO_BROWSE_MIN_BYTES,
                mq.MQIAMO_BROWSE_MAX_BYTES,
                queue.browses,
                queue.browses_persistent,
            ),
            *_times(queue.ages, queue.ages_persistent),
            IntegerList(mq.MQIAMO_CBS, tuple(clip_count(number) for number in queue.callbacks)),
            count(mq.MQIAMO_CBS_FAILED, queue.callbacks_failed),
        ]
    )
    return fields


def _sizes(total: int, lowest: int, highest: int, messages: Spread, persistent: Spread) -> list[Parameter]:
    return [
        by_persistence_64(total, messages.total, persistent.total),
        by_persistence(lowest, messages.lowest, persistent.lowest),
        by_persistence(highest, messages.highest, persistent.highest),
    ]


def _times(ages: Spread, persistent: Spread) -> list[Parameter]:
    """Return times on the queue in microseconds; the clock has milliseconds."""
    return [
        by_persistence_64(mq.MQIAMO64_Q_TIME_MIN, ages.lowest * _MICROSECONDS, persistent.lowest * _MICROSECONDS),
        by_persistence_64(mq.MQIAMO64_Q_TIME_AVG, _average(ages), _average(persistent)),
        by_persistence_64(mq.MQIAMO64_Q_TIME_MAX, ages.highest * _MICROSECONDS, persistent.highest * _MICROSECONDS),
    ]


def _average(ages: Spread) -> int:
    return ages.total * _MICROSECONDS // ages.count if ages.count != 0 else 0
