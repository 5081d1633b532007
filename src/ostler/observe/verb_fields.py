"""Fields of MQI calls that MQI statistics and MQI accounting share, from the counts of an interval.

The order of fields is that of MQ's messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

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
from ostler.model.pcf import IntegerList, Parameter
from ostler.observe.message_builder import by_object_type, by_persistence, by_persistence_64, clip_count, count

_SUBSCRIBED: Final = ("created", "altered", "resumed")
_SUBSCRIPTION_TYPES: Final = 4


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
    """Return separate counts of MQPUT and MQPUT1 to queues, and their bytes together."""
    put = puts_to_queues(c)
    return [
        by_persistence(mq.MQIAMO_PUTS, put.nonpersistent, put.persistent),
        count(mq.MQIAMO_PUTS_FAILED, put.failed),
        by_persistence(mq.MQIAMO_PUT1S, put.nonpersistent_put1s, put.persistent_put1s),
        count(mq.MQIAMO_PUT1S_FAILED, put.failed_put1s),
        by_persistence_64(mq.MQIAMO64_PUT_BYTES, put.nonpersistent_bytes, put.persistent_bytes),
    ]


class Puts(NamedTuple):
    """Calls of MQPUT and of MQPUT1, and the bytes of both."""

    nonpersistent: int
    persistent: int
    failed: int
    nonpersistent_put1s: int
    persistent_put1s: int
    failed_put1s: int
    nonpersistent_bytes: int
    persistent_bytes: int


def puts_to_queues(c: Counts) -> Puts:
    """Return the puts without publications, which have fields of their own. Queues are not published to."""
    topic = puts_to_topics(c) if "topic_puts" in c else None
    plain = c["puts"] - c["put1s"]
    plain_persistent = c["puts_persistent"] - c["put1s_persistent"]
    every = Puts(
        plain - plain_persistent,
        plain_persistent,
        c["puts_failed"] - c["put1s_failed"],
        c["put1s"] - c["put1s_persistent"],
        c["put1s_persistent"],
        c["put1s_failed"],
        c["put_bytes"] - c["put_bytes_persistent"],
        c["put_bytes_persistent"],
    )
    return every if topic is None else Puts(*[a - b for a, b in zip(every, topic, strict=True)])


def puts_to_topics(c: Counts) -> Puts:
    plain = c["topic_puts"] - c["topic_put1s"]
    plain_persistent = c["topic_puts_persistent"] - c["topic_put1s_persistent"]
    return Puts(
        plain - plain_persistent,
        plain_persistent,
        c["topic_puts_failed"] - c["topic_put1s_failed"],
        c["topic_put1s"] - c["topic_put1s_persistent"],
        c["topic_put1s_persistent"],
        c["topic_put1s_failed"],
        c["topic_put_bytes"] - c["topic_put_bytes_persistent"],
        c["topic_put_bytes_persistent"],
    )


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


def subscriptions_and_callbacks(c: Counts) -> list[Parameter]:
    return [
        _array(mq.MQIAMO_SUBS_DUR, c, "subs_durable", _SUBSCRIBED),
        _array(mq.MQIAMO_SUBS_NDUR, c, "subs_nondurable", _SUBSCRIBED),
        count(mq.MQIAMO_SUBS_FAILED, c["subs_failed"]),
        _array(mq.MQIAMO_UNSUBS_DUR, c, "unsubs_durable", ("kept", "removed")),
        # A subscription that is not durable cannot be kept.
        IntegerList(mq.MQIAMO_UNSUBS_NDUR, (0, clip_count(c["unsubs_nondurable_removed"]))),
        count(mq.MQIAMO_UNSUBS_FAILED, c["unsubs_failed"]),
        count(mq.MQIAMO_SUBRQS, c["subrqs"]),
        count(mq.MQIAMO_SUBRQS_FAILED, c["subrqs_failed"]),
        _array(mq.MQIAMO_CBS, c, "cbs", ("registered", "deregistered", "resumed", "suspended")),
        count(mq.MQIAMO_CBS_FAILED, c["cbs_failed"]),
        _array(mq.MQIAMO_CTLS, c, "ctls", ("started", "stopped", "resumed", "suspended")),
        count(mq.MQIAMO_CTLS_FAILED, c["ctls_failed"]),
        count(mq.MQIAMO_STATS, c["stats"]),
        count(mq.MQIAMO_STATS_FAILED, c["stats_failed"]),
    ]


def _array(parameter: int, c: Counts, call: str, effects: tuple[str, ...]) -> IntegerList:
    """Return an array of one call's counts by its effect."""
    return IntegerList(parameter, tuple(clip_count(c[f"{call}_{effect}"]) for effect in effects))


def subscription_marks(high: Sequence[int], low: Sequence[int]) -> list[Parameter]:
    """Return the highest and lowest numbers of subscriptions: all, API, ADMIN and PROXY; durable ones first."""
    return [
        _marks(mq.MQIAMO_SUB_DUR_HIGHWATER, high[:_SUBSCRIPTION_TYPES]),
        _marks(mq.MQIAMO_SUB_DUR_LOWWATER, low[:_SUBSCRIPTION_TYPES]),
        _marks(mq.MQIAMO_SUB_NDUR_HIGHWATER, high[_SUBSCRIPTION_TYPES:]),
        _marks(mq.MQIAMO_SUB_NDUR_LOWWATER, low[_SUBSCRIPTION_TYPES:]),
    ]


def _marks(parameter: int, values: Sequence[int]) -> IntegerList:
    return IntegerList(parameter, tuple(clip_count(value) for value in values))


def publications(c: Counts) -> list[Parameter]:
    put = puts_to_topics(c)
    return [
        by_persistence(mq.MQIAMO_TOPIC_PUTS, put.nonpersistent, put.persistent),
        count(mq.MQIAMO_TOPIC_PUTS_FAILED, put.failed),
        by_persistence(mq.MQIAMO_TOPIC_PUT1S, put.nonpersistent_put1s, put.persistent_put1s),
        count(mq.MQIAMO_TOPIC_PUT1S_FAILED, put.failed_put1s),
        by_persistence_64(mq.MQIAMO64_TOPIC_PUT_BYTES, put.nonpersistent_bytes, put.persistent_bytes),
    ]


def copies_for_subscriptions(c: Counts) -> list[Parameter]:
    """Return what was delivered to subscriptions: a publication counts once for each of them."""
    return [
        by_persistence(
            mq.MQIAMO_PUBLISH_MSG_COUNT, c["published"] - c["published_persistent"], c["published_persistent"]
        ),
        by_persistence_64(
            mq.MQIAMO64_PUBLISH_MSG_BYTES,
            c["published_bytes"] - c["published_bytes_persistent"],
            c["published_bytes_persistent"],
        ),
    ]
