"""Statistics and accounting messages: fields, their order, division into messages, and reading back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.searching import examples

from ostler.model import constants as mq
from ostler.model.accounts import MovingAverage, QueueAccount, Spread
from ostler.model.counters import OPEN, QueueCounters, VerbCounters, queue_counts, verb_counts
from ostler.model.pcf import PcfError, decode
from ostler.observe.accounting_messages import AccountedConnection, mqi_accounting, queue_accounting
from ostler.observe.message_builder import ReportingInterval
from ostler.observe.record_reader import read_record
from ostler.observe.statistics_messages import (
    ChannelInterval,
    IntervalMarks,
    QueueInterval,
    channel_statistics,
    mqi_statistics,
    queue_statistics,
)

INTERVAL = ReportingInterval("QM1", 940, 1_700_000_000_000, 1_700_000_060_000)
NO_CONNECTIONS = dict.fromkeys(
    ("connects", "connects_failed", "disconnects", "disconnects_lost", "disconnects_by_manager"), 0
)
NO_MARKS = IntervalMarks(0, [0] * 8, [0] * 8)
CONNECTION = AccountedConnection(bytes(range(24)), 0, "amqsput", "mqm", 123, 1, 1_700_000_000_000, "", "", 0, 0)
AMPLE = 1 << 22


def words(text: str) -> list[str]:
    return text.split()


BEGINNING = words("QueueManager IntervalStartDate IntervalStartTime IntervalEndDate IntervalEndTime CommandLevel")
OPENS = words("OpenCount OpenFailCount CloseCount CloseFailCount")
INQUIRES = words("InqCount InqFailCount SetCount SetFailCount")
PUTS = words("PutCount PutFailCount Put1Count Put1FailCount PutBytes")
UNITS = words("CommitCount CommitFailCount BackCount")
SUBSCRIPTIONS = words(
    "SubCountDur SubCountNDur SubFailCount UnsubCountDur UnsubCountNDur UnsubFailCount SubRqCount SubRqFailCount "
    "CBCount CBFailCount CtlCount CtlFailCount StatCount StatFailCount"
)
TOPICS = words("PutTopicCount PutTopicFailCount Put1TopicCount Put1TopicFailCount PutTopicBytes")
PARTIES = words("ConnectionId SeqNumber ApplicationName ApplicationPid ApplicationTid UserId")
QUEUE = words("QName CreateDate CreateTime QType QDefinitionType")


def verbs(**counted: int) -> dict[str, int]:
    return {**verb_counts(VerbCounters()), **counted}


def queue(name: str = "A", **counted: int) -> QueueInterval:
    return QueueInterval(name, 1, 1, "2026-01-01", "10.11.12", 0, 5, {**queue_counts(QueueCounters()), **counted})


def account(name: str = "A") -> QueueAccount:
    made = QueueAccount(name, 1, 1, "2026-01-01", "10.11.12")
    made.opened_ms = 1_700_000_000_000
    return made


def test_the_fields_of_verb_statistics_come_in_the_order_of_mq() -> None:
    record = read_record(mqi_statistics(INTERVAL, verbs(), NO_CONNECTIONS, NO_MARKS, {}))
    expected = [
        *BEGINNING,
        *words("ConnCount ConnFailCount ConnsMax DiscCount"),
        *OPENS,
        *INQUIRES,
        *PUTS,
        *words("GetCount GetBytes GetFailCount BrowseCount BrowseBytes BrowseFailCount"),
        *UNITS,
        *words("ExpiredMsgCount PurgeCount"),
        *SUBSCRIPTIONS,
        *words("SubCountDurHighWater SubCountDurLowWater SubCountNDurHighWater SubCountNDurLowWater"),
        *TOPICS,
        *words("PublishMsgCount PublishMsgBytes WaitCount BackedOutMsgCount"),
    ]
    assert list(record)[1:] == expected


def test_the_fields_of_verb_accounts_come_in_the_order_of_mq() -> None:
    party = CONNECTION._replace(channel="C", connection_name="127.0.0.1", disconnected_ms=1_700_000_060_000)
    record = read_record(mqi_accounting(INTERVAL, party, verbs(), 7))
    expected = [
        *BEGINNING,
        *PARTIES,
        *words("ConnDate ConnTime ConnName ChannelName DiscDate DiscTime DiscType"),
        *OPENS,
        *PUTS,
        *words("GetCount GetFailCount GetBytes BrowseCount BrowseFailCount BrowseBytes"),
        *UNITS,
        *INQUIRES,
        *SUBSCRIPTIONS,
        *TOPICS,
        *words("QMgrOpDuration WaitCount BackedOutMsgCount"),
    ]
    assert list(record)[1:] == expected


def test_the_fields_of_a_queue_come_in_the_order_of_mq() -> None:
    [message] = queue_statistics(INTERVAL, [queue()], AMPLE)
    record: Any = read_record(message)
    assert list(record)[1:] == [*BEGINNING, "ObjectCount", "QStatisticsData"]
    assert list(record["QStatisticsData"][0]) == [
        *QUEUE,
        *words("QMinDepth QMaxDepth AvgTimeOnQ"),
        *PUTS,
        *words("GetCount GetFailCount GetBytes BrowseCount BrowseFailCount BrowseBytes"),
        *words("NonQueuedMsgCount ExpiredMsgCount PurgeCount"),
    ]


def test_the_fields_of_a_queues_account_come_in_the_order_of_mq() -> None:
    closed = account()
    closed.closed_ms = 1_700_000_050_000
    [message] = queue_accounting(INTERVAL, CONNECTION, [closed], AMPLE)
    record: Any = read_record(message)
    assert list(record)[1:] == [*BEGINNING, *PARTIES, "ObjectCount", "QAccountingData"]
    assert list(record["QAccountingData"][0]) == [
        *QUEUE,
        *words("OpenCount OpenDate OpenTime CloseDate CloseTime"),
        *PUTS,
        *words("PutMinBytes PutMaxBytes GeneratedMsgCount"),
        *words("GetCount GetFailCount GetBytes GetMinBytes GetMaxBytes"),
        *words("BrowseCount BrowseFailCount BrowseBytes BrowseMinBytes BrowseMaxBytes"),
        *words("TimeOnQMin TimeOnQAvg TimeOnQMax CBCount CBFailCount"),
    ]


def test_the_header() -> None:
    found = decode(mqi_statistics(INTERVAL, verbs(), NO_CONNECTIONS, NO_MARKS, {})).header
    assert (found.type, found.command, found.version) == (mq.MQCFT_STATISTICS, mq.MQCMD_STATISTICS_MQI, 3)
    assert (found.sequence_number, found.control) == (1, mq.MQCFC_LAST)
    found = decode(mqi_accounting(INTERVAL, CONNECTION, verbs(), 0)).header
    assert (found.type, found.command) == (mq.MQCFT_ACCOUNTING, mq.MQCMD_ACCOUNTING_MQI)


def test_when_it_was() -> None:
    record = read_record(mqi_statistics(INTERVAL, verbs(), NO_CONNECTIONS, NO_MARKS, {}))
    assert (record["IntervalStartDate"], record["IntervalStartTime"]) == ("2023-11-14", "22.13.20")
    assert (record["IntervalEndDate"], record["IntervalEndTime"]) == ("2023-11-14", "22.14.20")


def test_arrays_by_type_of_object_have_an_entry_for_each_type() -> None:
    counters = VerbCounters()
    counters.opens = 5
    counters.count_on(OPEN, mq.MQOT_Q_MGR)
    counters.count_on(OPEN, mq.MQOT_Q_MGR)
    counters.count_on(OPEN, mq.MQOT_PROCESS)
    record = read_record(mqi_statistics(INTERVAL, verb_counts(counters), NO_CONNECTIONS, NO_MARKS, {}))
    assert record["OpenCount"] == [0, 2, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0]


def test_average_time_on_a_queue_by_persistence_in_microseconds() -> None:
    counted = queue(gets=5, gets_persistent=2, age_total_ms=100, age_persistent_ms=25)
    [message] = queue_statistics(INTERVAL, [counted], AMPLE)
    record: Any = read_record(message)
    assert record["QStatisticsData"][0]["AvgTimeOnQ"] == [25_000, 12_500]


@settings(max_examples=examples(20))
@example(100, AMPLE)
@example(101, AMPLE)
@example(200, AMPLE)
@given(st.integers(1, 250), st.sampled_from([900, 5_000, 20_000, AMPLE]))
def test_messages_are_cut_and_numbered(count: int, bytes_max: int) -> None:
    messages = queue_statistics(INTERVAL, [queue(f"Q{number}") for number in range(count)], bytes_max)
    headers = [decode(message).header for message in messages]
    assert [header.sequence_number for header in headers] == list(range(1, len(messages) + 1))
    assert [header.control for header in headers] == [mq.MQCFC_NOT_LAST] * (len(messages) - 1) + [mq.MQCFC_LAST]
    records: list[Any] = [read_record(message) for message in messages]
    names = [group["QName"] for record in records for group in record["QStatisticsData"]]
    assert names == [f"Q{number}" for number in range(count)]
    for message, record in zip(messages, records, strict=True):
        assert record["ObjectCount"] == len(record["QStatisticsData"]) <= 100
        assert len(message) <= bytes_max or record["ObjectCount"] == 1


def test_nothing_is_no_message() -> None:
    assert queue_statistics(INTERVAL, [], AMPLE) == []
    assert queue_accounting(INTERVAL, CONNECTION, [], AMPLE) == []
    assert channel_statistics(INTERVAL, [], AMPLE) == []


def test_a_channel() -> None:
    [message] = channel_statistics(INTERVAL, [ChannelInterval("APP.SVRCONN", "10.0.0.1", 7, 100, 50)], AMPLE)
    record: Any = read_record(message)
    [group] = record["ChlStatisticsData"]
    assert (group["ChannelName"], group["ChannelType"], group["ConnName"]) == ("APP.SVRCONN", 7, "10.0.0.1")
    assert (group["MsgCount"], group["TotalBytes"]) == ([7, 0], [150, 0])


def test_counts_that_are_too_large_stay_at_the_largest() -> None:
    record = read_record(mqi_statistics(INTERVAL, verbs(puts=1 << 40, put_bytes=1 << 50), NO_CONNECTIONS, NO_MARKS, {}))
    assert (record["PutCount"], record["PutBytes"]) == ([0x7FFFFFFF, 0], [1 << 50, 0])


@given(st.lists(st.integers(0, 1 << 40), max_size=30))
def test_a_spread_knows_the_extremes(values: list[int]) -> None:
    spread = Spread()
    for value in values:
        spread.add(value)
    assert (spread.count, spread.total) == (len(values), sum(values))
    assert (spread.lowest, spread.highest) == (min(values, default=0), max(values, default=0))


@given(st.lists(st.integers(0, 10_000_000), min_size=1, max_size=200))
def test_averages_stay_between_the_extremes(values: list[int]) -> None:
    average = MovingAverage()
    for value in values:
        average.add(value)
    assert min(values) - 1 <= average.short_term() <= max(values)
    assert min(values) - 1 <= average.long_term() <= max(values)


def test_a_short_average_follows_sooner_than_a_long_one() -> None:
    average = MovingAverage()
    average.add(0)
    for _ in range(100):
        average.add(1000)
    assert average.long_term() < 200 < 900 < average.short_term()


@given(st.binary(max_size=200))
def test_other_messages_are_rejected(data: bytes) -> None:
    with pytest.raises(PcfError):
        read_record(data)
