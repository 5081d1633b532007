"""Fields of MQI calls that MQI statistics and MQI accounting share, from the counts of an interval.

The order of fields is that of MQ's messages. Fields of publish/subscribe are present, and zero.
"""

from __future__ import annotations

from ostler.model import constants as mq
from ostler.model.counters import (
    CLOSE,
    CLOSE_FAILED,
    INQUIRE,
    INQUIRE_FAILED,
    OPEN,
    OPEN_FAILED,
    SET,
    SET_FAILED,
    Counts,
)
from ostler.model.pcf import Integer, Parameter
from ostler.observe.message_builder import by_object_type, by_persistence, by_persistence_64, count, zeros


def opens_and_closes(c: Counts) -> list[Parameter]:
    return [
        by_object_type(mq.MQIAMO_OPENS, OPEN, c["opens"], c),
        by_object_type(mq.MQIAMO_OPENS_FAILED, OPEN_FAILED, c["opens_failed"], c),
        by_object_type(mq.MQIAMO_CLOSES, CLOSE, c["closes"], c),
        by_object_type(mq.MQIAMO_CLOSES_FAILED, CLOSE_FAILED, c["closes_failed"], c),
    ]


def inquiries_and_sets(c: Counts) -> list[Parameter]:
    return [
        by_object_type(mq.MQIAMO_INQS, INQUIRE, c["inquires"], c),
        by_object_type(mq.MQIAMO_INQS_FAILED, INQUIRE_FAILED, c["inquires_failed"], c),
        by_object_type(mq.MQIAMO_SETS, SET, c["sets"], c),
        by_object_type(mq.MQIAMO_SETS_FAILED, SET_FAILED, c["sets_failed"], c),
    ]


def puts(c: Counts) -> list[Parameter]:
    """Return separate counts of MQPUT and MQPUT1, and their bytes together."""
    plain = c["puts"] - c["put1s"]
    plain_persistent = c["puts_persistent"] - c["put1s_persistent"]
    return [
        by_persistence(mq.MQIAMO_PUTS, plain - plain_persistent, plain_persistent),
        count(mq.MQIAMO_PUTS_FAILED, c["puts_failed"] - c["put1s_failed"]),
        by_persistence(mq.MQIAMO_PUT1S, c["put1s"] - c["put1s_persistent"], c["put1s_persistent"]),
        count(mq.MQIAMO_PUT1S_FAILED, c["put1s_failed"]),
        by_persistence_64(mq.MQIAMO64_PUT_BYTES, c["put_bytes"] - c["put_bytes_persistent"], c["put_bytes_persistent"]),
    ]


def gets(c: Counts) -> tuple[Parameter, Parameter, Parameter]:
    """Return count, failures and bytes. A get that finds no message has failed; browses are excluded."""
    return (
        by_persistence(mq.MQIAMO_GETS, c["gets"] - c["gets_persistent"], c["gets_persistent"]),
        count(mq.MQIAMO_GETS_FAILED, c["gets_failed"] + c["gets_empty"] - c["browses_failed"]),
        by_persistence_64(mq.MQIAMO64_GET_BYTES, c["get_bytes"] - c["get_bytes_persistent"], c["get_bytes_persistent"]),
    )


def browses(c: Counts) -> tuple[Parameter, Parameter, Parameter]:
    persistent_bytes = c["browse_bytes_persistent"]
    return (
        by_persistence(mq.MQIAMO_BROWSES, c["browses"] - c["browses_persistent"], c["browses_persistent"]),
        count(mq.MQIAMO_BROWSES_FAILED, c["browses_failed"]),
        by_persistence_64(mq.MQIAMO64_BROWSE_BYTES, c["browse_bytes"] - persistent_bytes, persistent_bytes),
    )


def units_of_work(c: Counts) -> list[Parameter]:
    return [
        count(mq.MQIAMO_COMMITS, c["commits"] - c["commits_failed"]),
        count(mq.MQIAMO_COMMITS_FAILED, c["commits_failed"]),
        count(mq.MQIAMO_BACKOUTS, c["backouts"]),
    ]


def subscriptions_and_callbacks() -> list[Parameter]:
    """Return fields of calls that are executed in the client or not counted: all zero."""
    return [
        zeros(mq.MQIAMO_SUBS_DUR, 3),
        zeros(mq.MQIAMO_SUBS_NDUR, 3),
        Integer(mq.MQIAMO_SUBS_FAILED, 0),
        zeros(mq.MQIAMO_UNSUBS_DUR, 2),
        zeros(mq.MQIAMO_UNSUBS_NDUR, 2),
        Integer(mq.MQIAMO_UNSUBS_FAILED, 0),
        Integer(mq.MQIAMO_SUBRQS, 0),
        Integer(mq.MQIAMO_SUBRQS_FAILED, 0),
        zeros(mq.MQIAMO_CBS, 4),
        Integer(mq.MQIAMO_CBS_FAILED, 0),
        zeros(mq.MQIAMO_CTLS, 4),
        Integer(mq.MQIAMO_CTLS_FAILED, 0),
        Integer(mq.MQIAMO_STATS, 0),
        Integer(mq.MQIAMO_STATS_FAILED, 0),
    ]


def publications() -> list[Parameter]:
    return [
        zeros(mq.MQIAMO_TOPIC_PUTS, 2),
        Integer(mq.MQIAMO_TOPIC_PUTS_FAILED, 0),
        zeros(mq.MQIAMO_TOPIC_PUT1S, 2),
        Integer(mq.MQIAMO_TOPIC_PUT1S_FAILED, 0),
        by_persistence_64(mq.MQIAMO64_TOPIC_PUT_BYTES, 0, 0),
    ]
