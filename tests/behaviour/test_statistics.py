"""Statistics messages report exactly the work of programs, by any binding."""

from __future__ import annotations

from typing import Any

import pytest

from ostler import mqi
from ostler.client.locate.binding import connect_handle
from ostler.client.locate.connect_parameters import ConnectParameters
from ostler.engine import objects
from ostler.engine.statistics import queue_monitoring, queue_statistics
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.definitions import new_definition
from ostler.model.errors import MQError
from ostler.model.structures.catalogue import LAYOUTS
from ostler.observe.record_reader import read_record
from ostler.server.log_statistics import log_performance
from ostler.server.statistics_writer import STATISTICS_QUEUE

BOTH = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_BROWSE


def written(site: Any, kind: str) -> list[Any]:
    """The statistics of the time up to now, in the order they were written; they leave their queue."""
    site.manager.statistics_writer.write_statistics()
    return taken(site, kind)


def taken(site: Any, kind: str) -> list[Any]:
    manager = site.manager
    found = []
    with manager.lock:
        queue = manager.engine.queues[STATISTICS_QUEUE]
        slot = queue.slots.first()
        while slot >= 0:
            found.append(queue.load(slot))
            queue.unlink(slot)
            queue.release(slot)
            queue.depth -= 1
            slot = queue.slots.first()
    records = [read_record(message.body) for message in found]
    return [record for record in records if record["RecordType"] == kind]


@pytest.fixture
def statistics(own_site: Any) -> Any:
    own_site.alter_manager(STATMQI=mq.MQMON_ON, STATQ=mq.MQMON_ON)
    return own_site


def of_queue(records: list[Any], name: str) -> Any:
    [found] = [group for record in records for group in record["QStatisticsData"] if group["QName"] == name]
    return found


def test_verbs_by_persistence(statistics: Any) -> None:
    name = statistics.local(MAXDEPTH=5)
    written(statistics, "MQIStatistics")
    others = len(statistics.manager.engine.connections)  # such as the command server
    program = statistics.program()
    queue = program.open(name, BOTH)
    program.put(queue, b"12345")
    program.put(queue, b"123", Persistence=1)
    program.put1(name, b"1", Persistence=1)
    program.put1(name, b"12")
    program.put(queue, b"x")
    program.put(queue, b"is one too many")
    program.put1(name, b"is one too many")
    program.get(queue, mq.MQGMO_BROWSE_FIRST)
    program.get(queue)
    program.get(queue, mq.MQGMO_SYNCPOINT)
    program.commit()
    program.drain(queue)
    program.get(queue, mq.MQGMO_BROWSE_FIRST)
    program.close(queue)
    program.disconnect()
    [record] = written(statistics, "MQIStatistics")
    assert (record["PutCount"], record["PutFailCount"]) == ([2, 1], 1)
    assert (record["Put1Count"], record["Put1FailCount"]) == ([1, 1], 1)
    assert record["PutBytes"] == [8, 4]
    assert (record["GetCount"], record["GetBytes"], record["GetFailCount"]) == ([3, 2], [8, 4], 1)
    assert (record["BrowseCount"], record["BrowseBytes"], record["BrowseFailCount"]) == ([1, 0], [5, 0], 1)
    assert (record["CommitCount"], record["BackCount"]) == (1, 0)
    assert (record["ConnCount"], record["ConnsMax"], record["DiscCount"]) == (1, others + 1, [1, 0, 0])
    # MQPUT1 opens and closes too.
    assert (record["OpenCount"][1], record["CloseCount"][1]) == (4, 4)
    assert record["QueueManager"] == statistics.manager.name


def test_objects_by_their_type(statistics: Any) -> None:
    name = statistics.local()
    written(statistics, "MQIStatistics")
    program = statistics.program()
    program.reason_of_open("NO.SUCH.QUEUE", BOTH)
    queue = program.open(name, BOTH)
    assert program.close(queue, mq.MQCO_DELETE) == mq.MQRC_OPTION_NOT_VALID_FOR_TYPE
    program.close(queue)
    hobj = open_manager(program)
    inquire(program, hobj, mq.MQIA_CODED_CHAR_SET_ID)
    inquire(program, hobj, 1999)
    program.close(hobj)
    [record] = written(statistics, "MQIStatistics")
    assert record["OpenCount"] == [0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    assert record["OpenFailCount"] == [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    assert record["CloseCount"] == [0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    assert record["CloseFailCount"] == [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    assert record["InqCount"] == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    assert record["InqFailCount"] == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]


def open_manager(program: Any) -> int:
    od = LAYOUTS["MQOD"].default(4)
    LAYOUTS["MQOD"].patch(od, "ObjectType", mq.MQOT_Q_MGR)
    hobj, _, reason = mqi.MQOPEN(program.hconn, od, mq.MQOO_INQUIRE)
    assert reason == mq.MQRC_NONE
    return hobj


def inquire(program: Any, hobj: int, selector: int) -> None:
    mqi.MQINQ(program.hconn, hobj, [selector], 1, 0)


def test_a_queue(statistics: Any) -> None:
    name = statistics.local()
    other = statistics.local()
    program = statistics.program()
    queue = program.open(name, BOTH)
    program.open(other, BOTH)
    for size in (10, 20, 30):
        program.put(queue, bytes(size))
    program.get(queue)
    program.get(queue, size=5)
    records = written(statistics, "QueueStatistics")
    found = of_queue(records, name)
    assert (found["QMinDepth"], found["QMaxDepth"]) == (0, 3)
    assert (found["PutCount"], found["PutBytes"], found["Put1Count"]) == ([3, 0], [60, 0], [0, 0])
    assert (found["GetCount"], found["GetBytes"], found["GetFailCount"]) == ([1, 0], [10, 0], 1)
    assert (found["QType"], found["QDefinitionType"]) == (mq.MQQT_LOCAL, mq.MQQDT_PREDEFINED)
    # Nothing happened on the other one: opening a queue is not using it.
    assert other not in [group["QName"] for record in records for group in record["QStatisticsData"]]


def test_an_interval_begins_where_the_last_one_ended(statistics: Any) -> None:
    name = statistics.local()
    program = statistics.program()
    queue = program.open(name, BOTH)
    for _ in range(4):
        program.put(queue, b"x")
    assert of_queue(written(statistics, "QueueStatistics"), name)["PutCount"] == [4, 0]
    program.get(queue)
    found = of_queue(written(statistics, "QueueStatistics"), name)
    assert (found["PutCount"], found["GetCount"]) == ([0, 0], [1, 0])
    assert (found["QMinDepth"], found["QMaxDepth"]) == (3, 4)
    assert written(statistics, "QueueStatistics") == []


def test_messages_that_nobody_got(statistics: Any) -> None:
    name = statistics.local()
    program = statistics.program()
    queue = program.open(name, BOTH)
    program.put(queue, b"x", Expiry=1)
    program.put(queue, b"x")
    statistics.outlive()
    program.get(queue)
    program.put(queue, b"x")
    program.close(queue)
    with statistics.manager.lock:
        objects.clear(statistics.manager.engine, name)
    found = of_queue(written(statistics, "QueueStatistics"), name)
    assert (found["ExpiredMsgCount"], found["PurgeCount"]) == (1, 1)


def test_a_message_handed_to_a_waiting_getter_is_not_queued(statistics: Any) -> None:
    name = statistics.local()
    getter = statistics.program()
    queue = getter.open(name, BOTH)
    waiting = statistics.start(getter.get, queue, mq.MQGMO_WAIT, 100, version=2, wait=60_000)
    statistics.until_waiting(name)
    statistics.program().put1(name, b"hello")
    assert waiting.result().body == b"hello"
    [record] = written(statistics, "MQIStatistics")
    assert record["WaitCount"] == 1


def test_only_what_is_switched_on(own_site: Any) -> None:
    loud = own_site.local(STATQ=mq.MQMON_ON)
    quiet = own_site.local(STATQ=mq.MQMON_OFF)
    usual = own_site.local()
    program = own_site.program()
    for name in (loud, quiet, usual):
        program.put1(name, b"x")
    assert written(own_site, "MQIStatistics") == []
    for name in (loud, quiet, usual):
        program.put1(name, b"x")
    [record] = written(own_site, "QueueStatistics")
    assert [group["QName"] for group in record["QStatisticsData"]] == [loud]
    own_site.alter_manager(STATQ=mq.MQMON_ON)
    for name in (loud, quiet, usual):
        program.put1(name, b"x")
    [record] = written(own_site, "QueueStatistics")
    assert {group["QName"]: group["Put1Count"] for group in record["QStatisticsData"]} == {
        loud: [1, 0],
        usual: [1, 0],
    }
    own_site.alter_manager(STATQ=mq.MQMON_NONE)
    program.put1(loud, b"x")
    assert written(own_site, "QueueStatistics") == []


def test_the_statistics_of_the_last_interval_are_there_after_a_restart(statistics: Any) -> None:
    statistics.alter(STATISTICS_QUEUE, DEFPSIST=1)
    name = statistics.local()
    written(statistics, "QueueStatistics")
    program = statistics.program()
    program.put1(name, b"x", Persistence=1)
    program.put1(name, b"x", Persistence=1)
    statistics.restart()
    records = taken(statistics, "QueueStatistics")
    assert of_queue(records, name)["Put1Count"] == [0, 2]
    statistics.program().put1(name, b"x")
    assert of_queue(written(statistics, "QueueStatistics"), name)["Put1Count"] == [1, 0]


def test_intervals_end_by_themselves(statistics: Any) -> None:
    statistics.alter_manager(STATINT=1)
    name = statistics.local()
    statistics.program().put1(name, b"x")
    puts: list[list[int]] = []

    def came() -> bool:
        groups = [group for record in taken(statistics, "QueueStatistics") for group in record["QStatisticsData"]]
        puts.extend(group["Put1Count"] for group in groups if group["QName"] == name)
        return [1, 0] in puts

    statistics.eventually(came)
    # An interval may have ended before there was a message.
    assert [each for each in puts if each != [0, 0]] == [[1, 0]]


def test_more_than_a_hundred_queues_take_several_messages(statistics: Any) -> None:
    names = [statistics.local() for _ in range(120)]
    written(statistics, "QueueStatistics")
    program = statistics.program()
    for name in names:
        program.put1(name, b"x")
    records = written(statistics, "QueueStatistics")
    assert [record["ObjectCount"] for record in records] == [100, 20]
    assert [(record["MsgSeqNumber"], record["Control"]) for record in records] == [(1, 0), (2, 1)]
    assert [group["QName"] for record in records for group in record["QStatisticsData"]] == names


def test_what_a_channel_carried(own_site: Any) -> None:
    own_site.alter_manager(STATCHL=mq.MQMON_HIGH)
    own_site.manager.statistics_writer.write_due()
    program = own_site.program()
    program.put1(own_site.local(), bytes(1000))
    program.disconnect()
    records = written(own_site, "ChannelStatistics")
    if own_site.binding != "tcp":
        assert records == []
        return
    [group] = records[0]["ChlStatisticsData"]
    assert (group["ChannelName"], group["ConnName"]) == ("SYSTEM.DEF.SVRCONN", "127.0.0.1")
    assert group["TotalBytes"][0] == group["SentBytes"] + group["ReceivedBytes"]
    assert group["ReceivedBytes"] > 1000


def test_queue_statistics_since_the_last_reset(own_site: Any) -> None:
    name = own_site.local()
    program = own_site.program()
    queue = program.open(name, BOTH)
    for _ in range(5):
        program.put(queue, b"x")
    program.drain(queue)
    engine = own_site.manager.engine
    with own_site.manager.lock:
        seen = queue_statistics(engine, own_site.queue(name), False)
        assert seen[1:] == (5, 5, 5)
        assert queue_statistics(engine, own_site.queue(name), True)[1:] == (5, 5, 5)
        assert queue_statistics(engine, own_site.queue(name), True)[1:] == (0, 0, 0)
    program.put(queue, b"x")
    with own_site.manager.lock:
        assert queue_statistics(engine, own_site.queue(name), True)[1:] == (1, 1, 0)


def test_those_who_ask_for_extremes_do_not_disturb_one_another(statistics: Any) -> None:
    name = statistics.local()
    program = statistics.program()
    queue = program.open(name, BOTH)
    written(statistics, "QueueStatistics")
    for _ in range(5):
        program.put(queue, b"x")
    program.drain(queue)
    with statistics.manager.lock:
        queue_statistics(statistics.manager.engine, statistics.queue(name), True)
    assert of_queue(written(statistics, "QueueStatistics"), name)["QMaxDepth"] == 5
    assert statistics.manager.statistics().queues[name]["depth_high"] == 5


def test_a_queue_that_is_monitored(own_site: Any) -> None:
    name = own_site.local(MONQ=mq.MQMON_MEDIUM)
    plain = own_site.local()
    program = own_site.program()
    queue = program.open(name, BOTH)
    engine = own_site.manager.engine
    with own_site.manager.lock:
        assert queue_monitoring(engine, own_site.queue(plain)) is None
        seen = queue_monitoring(engine, own_site.queue(name))
        assert seen == (0, None, None, None, None)
    program.put(queue, b"x")
    program.put(queue, b"x", Priority=5)
    with own_site.manager.lock:
        engine.now_ms += 7_500
        seen = queue_monitoring(engine, own_site.queue(name))
        assert seen is not None
        assert seen.message_age_seconds == 7
        assert seen.last_put_ms is not None
    program.drain(queue)
    with own_site.manager.lock:
        seen = queue_monitoring(engine, own_site.queue(name))
        assert seen is not None
        assert seen.message_age_seconds == 0
        assert seen.queue_time_short_us is not None
        assert seen.queue_time_long_us is not None
        assert seen.last_get_ms is not None


def test_who_was_not_let_in(statistics: Any) -> None:
    if statistics.binding != "tcp":
        pytest.skip("who comes over the network can be refused")
    statistics.manager.define(new_definition(ObjectType.CHANNEL, "CLOSED", {"CHLTYPE": mq.MQCHT_SVRCONN, "MAXINST": 0}))
    written(statistics, "MQIStatistics")
    program = statistics.program()
    for channel in ("CLOSED", "NO.SUCH.CHANNEL"):
        with pytest.raises(MQError):
            connect_handle(
                ConnectParameters(
                    queue_manager=statistics.manager.name,
                    binding="client",
                    connection_name=f"127.0.0.1({statistics._port})",
                    channel=channel,
                )
            )
    program.disconnect()
    [record] = written(statistics, "MQIStatistics")
    assert (record["ConnCount"], record["ConnFailCount"]) == (1, 2)


def test_how_the_log_does(own_site: Any) -> None:
    program = own_site.program()
    name = own_site.local()
    for _ in range(5):
        program.put1(name, bytes(1000), Persistence=1)
    manager = own_site.manager
    with manager.lock:
        performance = log_performance(manager.log.status(), manager.log.metrics, manager.writer.counters)
    assert performance.write_bytes_last > 1000
    assert 0 < performance.write_bytes_average <= performance.write_bytes_highest
    assert 0 < performance.write_latency_short_us <= performance.write_latency_highest_us
    assert 0 < performance.write_latency_long_us <= performance.write_latency_highest_us
    assert performance.write_latency_last_us <= performance.write_latency_highest_us
    assert 0 <= performance.in_use_percent <= 100


def test_statistics_include_log_and_processor(statistics: Any) -> None:
    name = statistics.local()
    written(statistics, "MQIStatistics")
    program = statistics.program()
    for _ in range(3):
        program.put1(name, bytes(1000), Persistence=1)
    [record] = written(statistics, "MQIStatistics")
    assert record["LogRecordCount"] >= 3
    assert record["LogBytes"] > 3000
    assert record["LogForceCount"] > 0
    assert record["LogForceTime"] > 0
    assert record["QMgrUserCPUTime"] + record["QMgrSystemCPUTime"] > 0
