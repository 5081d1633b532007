"""Publish/subscribe, callbacks and MQSTAT in statistics and accounting messages, by any binding."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.behaviour.test_statistics import of_queue, written
from tests.client.mqi.topic_structures import MANAGED, Publisher, made

from ostler import mqi
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.observe.record_reader import read_record
from ostler.server.statistics_writer import ACCOUNTING_QUEUE

DURABLE = MANAGED | mq.MQSO_DURABLE
PATIENCE_SECONDS = 60.0


@pytest.fixture
def statistics(own_site: Any) -> Any:
    own_site.alter_manager(STATMQI=mq.MQMON_ON, STATQ=mq.MQMON_ON, ACCTMQI=mq.MQMON_ON, ACCTQ=mq.MQMON_ON)
    written(own_site, "MQIStatistics")
    return own_site


def account(site: Any, application: str) -> dict[str, Any]:
    """The accounting records of an application, by their kind."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        with site.manager.lock:
            queue = site.manager.engine.queues[ACCOUNTING_QUEUE]
            bodies = []
            slot = queue.slots.first()
            while slot >= 0:
                bodies.append(queue.load(slot).body)
                slot = queue.slots.following(slot)
        records: list[Any] = [read_record(body) for body in bodies]
        found = {str(each["RecordType"]): each for each in records if each["ApplicationName"].strip() == application}
        if found:
            return found
        assert time.monotonic() < deadline, f"no accounting message of {application} came"
        time.sleep(0.01)


def test_subscriptions_by_their_effect(statistics: Any) -> None:
    program = statistics.program(application="subscriber")
    subscriber = Publisher(program.hconn)
    _, first = subscriber.subscribe("a")
    _, second = subscriber.subscribe("b", DURABLE, SubName="kept")
    assert subscriber.close(second) == mq.MQRC_NONE
    resumed = mq.MQSO_RESUME | mq.MQSO_MANAGED | mq.MQSO_DURABLE
    _, second = subscriber.subscribe("", resumed, SubName="kept")
    assert subscriber.close(second) == mq.MQRC_NONE
    altered = mq.MQSO_ALTER | mq.MQSO_MANAGED | mq.MQSO_DURABLE
    _, second = subscriber.subscribe("", altered, SubName="kept", SubUserData="x")
    assert subscriber.close(first, mq.MQCO_KEEP_SUB) == mq.MQRC_OPTION_NOT_VALID_FOR_TYPE
    assert subscriber.close(first) == mq.MQRC_NONE
    assert subscriber.close(second, mq.MQCO_REMOVE_SUB) == mq.MQRC_NONE
    sd = made("MQSD", Options=mq.MQSO_RESUME, SubName="unknown", ObjectString="c")
    assert mqi.MQSUB(program.hconn, sd, mq.MQHO_NONE)[3] == mq.MQRC_NO_SUBSCRIPTION
    program.disconnect()
    [record] = written(statistics, "MQIStatistics")
    own = account(statistics, "subscriber")["MQIAccounting"]
    for each in (record, own):
        assert (each["SubCountDur"], each["SubCountNDur"], each["SubFailCount"]) == ([1, 1, 1], [1, 0, 0], 1)
        assert (each["UnsubCountDur"], each["UnsubCountNDur"], each["UnsubFailCount"]) == ([2, 1], [0, 1], 1)
    assert (record["SubCountDurHighWater"], record["SubCountDurLowWater"]) == ([1, 1, 0, 0], [0, 0, 0, 0])
    assert record["SubCountNDurHighWater"][:2] == [record["SubCountNDurLowWater"][0] + 1, 1]


def test_the_lowest_number_of_subscriptions_counts_those_that_stay(statistics: Any) -> None:
    subscriber = Publisher(statistics.program().hconn)
    subscriber.subscribe("a", DURABLE, SubName="kept")
    statistics.define(ObjectType.SUB, "BY.COMMAND", TOPICSTR="a", DEST=statistics.local())
    written(statistics, "MQIStatistics")
    subscriber.subscribe("b", DURABLE, SubName="another")
    [record] = written(statistics, "MQIStatistics")
    assert record["SubCountDurLowWater"] == [2, 1, 1, 0]
    assert record["SubCountDurHighWater"] == [3, 2, 1, 0]


def test_publications_are_not_puts_to_queues(statistics: Any) -> None:
    name = statistics.local()
    program = statistics.program(application="publisher")
    publisher = Publisher(program.hconn)
    publisher.subscribe("prices/#")
    _, hsub = publisher.subscribe("prices/fruit")
    target = publisher.open("prices/fruit")
    queue = program.open(name, mq.MQOO_OUTPUT)
    program.put(queue, b"to a queue")
    publisher.put(target, b"12345")
    publisher.put(target, b"123", mq.MQPMO_RETAIN, persistence=1)
    publisher.put1("prices/fish", b"1234567")
    publisher.put1("prices/fish", b"12", persistence=1)
    assert publisher.put(target, b"x", mq.MQPMO_LOGICAL_ORDER | mq.MQPMO_SYNCPOINT) != mq.MQRC_NONE
    od = made("MQOD", ObjectType=mq.MQOT_TOPIC, ObjectString="$SYS/MQ/x")
    assert mqi.MQPUT1(program.hconn, od, made("MQMD"), made("MQPMO"), b"")[1] == mq.MQRC_ADMIN_TOPIC_STRING_ERROR
    sro = made("MQSRO")
    assert mqi.MQSUBRQ(program.hconn, hsub, mq.MQSR_ACTION_PUBLICATION, sro) == (mq.MQCC_OK, mq.MQRC_NONE)
    assert mqi.MQSUBRQ(program.hconn, hsub, 99, sro)[1] == mq.MQRC_ACTION_ERROR
    program.disconnect()
    [record] = written(statistics, "MQIStatistics")
    own = account(statistics, "publisher")["MQIAccounting"]
    for each in (record, own):
        assert (each["PutCount"], each["Put1Count"], each["PutBytes"]) == ([1, 0], [0, 0], [10, 0])
        assert (each["PutFailCount"], each["Put1FailCount"]) == (0, 0)
        assert (each["PutTopicCount"], each["PutTopicFailCount"]) == ([1, 1], 1)
        assert (each["Put1TopicCount"], each["Put1TopicFailCount"]) == ([1, 1], 1)
        assert each["PutTopicBytes"] == [12, 5]
        assert (each["SubRqCount"], each["SubRqFailCount"]) == (1, 1)
    # Both publications on fruit went to two subscriptions, those on fish to one, and the request made one more copy;
    # all queues are temporary, so no copy is persistent.
    assert (record["PublishMsgCount"], record["PublishMsgBytes"]) == ([7, 0], [2 * (5 + 3) + 7 + 2 + 3, 0])


def test_copies_of_durable_subscriptions_are_persistent(statistics: Any) -> None:
    publisher = Publisher(statistics.program().hconn)
    publisher.subscribe("prices", DURABLE, SubName="durable")
    publisher.put1("prices", b"123", mq.MQPMO_RETAIN, persistence=1)
    [record] = written(statistics, "MQIStatistics")
    assert (record["PublishMsgCount"], record["PublishMsgBytes"]) == ([0, 1], [0, 3])


def _ignore(hconn: int, md: bytearray, gmo: bytearray, buffer: bytes, cbc: bytearray) -> None:
    return None


def test_callbacks_and_status(statistics: Any) -> None:
    name = statistics.local()
    program = statistics.program(application="consumer")
    hconn = program.hconn
    queue = program.open(name, mq.MQOO_INPUT_SHARED)
    cbd, md, gmo = made("MQCBD"), made("MQMD"), made("MQGMO", Options=mq.MQGMO_NO_SYNCPOINT)
    assert mqi.MQCB(hconn, mq.MQOP_REGISTER, cbd, queue, md, gmo, _ignore) == (0, 0)
    assert mqi.MQCB(hconn, mq.MQOP_SUSPEND, cbd, queue, None, None) == (0, 0)
    assert mqi.MQCB(hconn, mq.MQOP_RESUME, cbd, queue, None, None) == (0, 0)
    assert mqi.MQCB(hconn, 1 << 40, cbd, queue, None, None)[1] == mq.MQRC_OPERATION_ERROR
    assert mqi.MQCTL(hconn, mq.MQOP_START, None) == (0, 0)
    assert mqi.MQCTL(hconn, mq.MQOP_SUSPEND, None) == (0, 0)
    assert mqi.MQCTL(hconn, mq.MQOP_START, None)[1] == mq.MQRC_OPERATION_NOT_ALLOWED
    assert mqi.MQCTL(hconn, mq.MQOP_RESUME, None) == (0, 0)
    assert mqi.MQCTL(hconn, mq.MQOP_STOP, None) == (0, 0)
    assert mqi.MQCB(hconn, mq.MQOP_DEREGISTER, cbd, queue, None, None) == (0, 0)
    assert mqi.MQSTAT(hconn, mq.MQSTAT_TYPE_ASYNC_ERROR, made("MQSTS")) == (0, 0)
    program.close(queue)
    program.disconnect()
    [record] = written(statistics, "MQIStatistics")
    accounts = account(statistics, "consumer")
    for each in (record, accounts["MQIAccounting"]):
        assert (each["CBCount"], each["CBFailCount"]) == ([1, 1, 1, 1], 1)
        assert (each["CtlCount"], each["CtlFailCount"]) == ([1, 1, 1, 1], 1)
        assert (each["StatCount"], each["StatFailCount"]) == (1, 0)
    found = of_queue_account(accounts["QueueAccounting"], name)
    assert (found["CBCount"], found["CBFailCount"]) == ([1, 1, 1, 1], 1)


def of_queue_account(record: dict[str, Any], name: str) -> Any:
    return of_queue([{"QStatisticsData": record["QAccountingData"]}], name)
