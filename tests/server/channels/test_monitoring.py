"""MONCHL of message channels, and the statistics messages of STATCHL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.command.pcf.pcf_requests import Administrator, Given
from tests.server.channels.support.channel_proxy import FORWARD, Proxy
from tests.server.channels.support.channel_routes import Route, Routes, eventually

import ostler
from ostler.lab.runner.queue_managers.relay import Relay
from ostler.model import constants as mq
from ostler.observe.record_reader import read_record
from ostler.testing import RunningQueueManager
from ostler.wire.frames import CHANNEL_CONFIRM

STATISTICS = "SYSTEM.ADMIN.STATISTICS.QUEUE"
FIGURES = ("COMPRATE", "COMPTIME", "EXITTIME", "NETTIME", "XBATCHSZ", "XQTIME")
HEADER_BYTES = 428  # every message has it on its transmission queue


@pytest.fixture
def route(pair: list[RunningQueueManager]) -> Iterator[Routes]:
    routes = Routes(*pair)
    yield routes
    routes.close()
    for qm in pair:
        qm.mqsc("ALTER QMGR MONCHL(OFF) STATCHL(OFF)")


def shown(way: Route, words: str = "MONITOR", where: RunningQueueManager | None = None) -> str:
    return "\n".join((where or way.here).mqsc(f"DISPLAY CHSTATUS({way.channel}) {words}"))


def carry(way: Route, *bodies: bytes, persistent: bool = True) -> None:
    """Have messages taken over, and committed on both sides."""
    way.put(*bodies, persistent=persistent)
    way.bodies(len(bodies))
    way.settled()
    eventually(lambda: way.chstatus().messages == way.chstatus(way.there).messages)


# -- monitoring --------------------------------------------------------------------------------------------------------


def test_nothing_is_measured_unless_somebody_wants_it(route: Routes) -> None:
    with Proxy(route.there.port) as proxy:
        way = route("COMPHDR(SYSTEM)", "COMPHDR(SYSTEM)", port=proxy.port).run()
        carry(way, b"1", b"2")
        carry(way, b"3", persistent=False)
        for where in (way.here, way.there):
            status = shown(way, where=where)
            assert "MONCHL(OFF)" in status
            for name in FIGURES:
                assert f"{name}(0,0)" in status or name in ("NETTIME", "XQTIME")
        assert "NETTIME(0,0)" in shown(way)
        assert "XQTIME(0,0)" in shown(way)
        assert proxy.frames[(FORWARD, "HEARTBEAT")] == 0


def test_figures_of_a_channel_that_is_watched(route: Routes) -> None:
    attributes = "COMPMSG(ZLIBFAST) MONCHL(HIGH)"
    way = route(f"BATCHSZ(4) {attributes}", attributes)
    way.put(*[b"a" * 10_000] * 8)
    way.run()
    way.bodies(8)
    way.settled()
    eventually(lambda: way.chstatus().network_time[0] > 0)
    for where in (way.here, way.there):
        chstatus = way.chstatus(where)
        assert chstatus.monitoring == "HIGH"
        assert chstatus.batch_fill == (4, 4)
        assert min(chstatus.compression_rate) > 80
        assert min(chstatus.compression_time) > 0
        assert chstatus.exit_time == (0, 0)
    here = way.chstatus()
    status = shown(way)
    assert f"NETTIME({here.network_time[0]},{here.network_time[1]})" in status
    for part in ("MONCHL(HIGH)", "XBATCHSZ(4,4)", "XQMSGSA(0)", "EXITTIME(0,0)", "XQTIME("):
        assert part in status
    assert way.chstatus(way.there).network_time == (0, 0)
    assert "XBATCHSZ(4,4)" in shown(way, where=way.there)


def test_network_time_is_the_distance(route: Routes) -> None:
    with Relay(route.there.port, delay_ms_one_way=20) as relay:
        way = route("MONCHL(LOW)", port=relay.port).run()
        eventually(lambda: way.chstatus().network_time[0] > 0)
        assert way.chstatus().network_time[0] >= 40_000


def test_messages_that_wait_are_seen(route: Routes) -> None:
    with Proxy(route.there.port) as proxy:
        way = route("MONCHL(LOW)", port=proxy.port).run()
        proxy.swallow(FORWARD, CHANNEL_CONFIRM)
        way.put(b"under way")
        eventually(lambda: way.chstatus().in_doubt)
        way.put(b"1", b"2", b"3")
        assert way.chstatus().transmission_messages == 3
        assert "XQMSGSA(3)" in shown(way)
        way.stop("MODE(FORCE)")
        way.until("STOPPED")
        assert "XQMSGSA(0)" in shown(way)  # it does not run, so nobody watches
        assert "MONCHL(OFF)" in shown(way)


@pytest.mark.parametrize(
    ("manager", "channel", "word"),
    [
        ("OFF", "QMGR", "OFF"),
        ("MEDIUM", "QMGR", "MEDIUM"),
        ("OFF", "LOW", "LOW"),
        ("HIGH", "OFF", "OFF"),
        ("NONE", "HIGH", "OFF"),
        ("NONE", "QMGR", "OFF"),
    ],
)
def test_who_decides(route: Routes, manager: str, channel: str, word: str) -> None:
    route.here.mqsc(f"ALTER QMGR MONCHL({manager})")
    way = route(f"MONCHL({channel})").run()
    assert f"MONCHL({word})" in shown(way)


def test_it_counts_from_the_next_start(route: Routes) -> None:
    way = route("MONCHL(OFF)").run()
    way.alter("MONCHL(LOW)")
    assert "MONCHL(OFF)" in shown(way)
    way.stop()
    way.until("STOPPED")
    way.run()
    assert "MONCHL(LOW)" in shown(way)


def test_programs_ask_for_the_same(route: Routes) -> None:
    way = route("MONCHL(MEDIUM) BATCHSZ(2)").run()
    carry(way, b"1", b"2")
    eventually(lambda: way.chstatus().network_time[0] > 0)
    chstatus = way.chstatus()
    admin = Administrator(way.here.server.context_for("", mq.MQEVO_MSG))
    (found,) = admin.does(mq.MQCMD_INQUIRE_CHANNEL_STATUS, {mq.MQCACH_CHANNEL_NAME: way.channel})
    assert found[mq.MQIA_MONITORING_CHANNEL] == mq.MQMON_MEDIUM
    assert found[mq.MQIACH_NETWORK_TIME_INDICATOR] == list(chstatus.network_time)
    assert found[mq.MQIACH_BATCH_SIZE_INDICATOR] == [2, 2]
    assert found[mq.MQIACH_XMITQ_TIME_INDICATOR] == list(chstatus.transmission_time)
    waiting = [mq.MQIACH_XMITQ_MSGS_AVAILABLE]
    asked: dict[int, Given] = {
        mq.MQCACH_CHANNEL_NAME: way.channel,
        mq.MQIACH_CHANNEL_INSTANCE_ATTRS: waiting,
    }
    assert admin.does(mq.MQCMD_INQUIRE_CHANNEL_STATUS, asked)[0][waiting[0]] == 0
    assert found[mq.MQIACH_EXIT_TIME_INDICATOR] == [0, 0]
    assert found[mq.MQIACH_COMPRESSION_RATE] == [0, 0]
    assert found[mq.MQIACH_COMPRESSION_TIME] == [0, 0]


# -- statistics --------------------------------------------------------------------------------------------------------


def written(qm: RunningQueueManager, channel: str) -> list[dict[str, Any]]:
    """The groups about a channel in the statistics up to now."""
    qm.mqsc("RESET QMGR TYPE(STATISTICS)")
    found: list[dict[str, Any]] = []
    while (message := qm.get(STATISTICS)) is not None:
        record: Any = read_record(message.data)
        found += [each for each in record.get("ChlStatisticsData", []) if each["ChannelName"] == channel]
    return found


def collecting(route: Routes) -> None:
    for qm in (route.here, route.there):
        qm.mqsc("ALTER QMGR STATCHL(MEDIUM)")


def test_statistics_of_both_ends(route: Routes) -> None:
    collecting(route)
    way = route("BATCHSZ(5)")
    way.put(*[b"p" * 100] * 12)
    way.run()
    way.bodies(12)
    way.settled()
    carry(way, b"fast" * 10, b"", persistent=False)
    agent = way.here.server.channels.outbound_instances[way.channel].agent
    assert agent is not None
    assert agent.sending is not None
    monitor = agent.sending.monitor
    assert monitor is not None
    eventually(lambda: monitor.network.count > 0)
    [here], [there] = written(way.here, way.channel), written(way.there, way.channel)
    assert (here["ChannelType"], there["ChannelType"]) == (mq.MQCHT_SENDER, mq.MQCHT_RECEIVER)
    assert (here["RemoteQmgr"], there["RemoteQmgr"]) == ("FAR", "NEAR")
    assert here["ConnName"] == f"127.0.0.1({way.there.port})"
    assert there["ConnName"] == "127.0.0.1"
    for group in (here, there):
        assert group["MsgCount"] == [2, 12]
        assert group["TotalBytes"] == [40 + 2 * HEADER_BYTES, 12 * (100 + HEADER_BYTES)]
        assert (group["FullBatchCount"], group["IncmplBatchCount"], group["AverageBatchSize"]) == (2, 1, 4)
        assert group["PutRetryCount"] == 0
        assert [group[f"ExitTime{each}"] for each in ("Min", "Avg", "Max")] == [0, 0, 0]
    assert 0 < here["NetTimeMin"] <= here["NetTimeAvg"] <= here["NetTimeMax"]
    assert there["NetTimeMax"] == 0
    assert written(way.here, way.channel) == []
    carry(way, b"one more")
    [after] = written(way.here, way.channel)
    assert (after["MsgCount"], after["IncmplBatchCount"]) == ([0, 1], 1)


def test_a_channel_that_ended_is_in_the_statistics(route: Routes) -> None:
    collecting(route)
    way = route().run()
    carry(way, b"1", b"2")
    way.stop()
    way.until("STOPPED").until("INACTIVE", way.there)
    way.run()
    carry(way, b"3")
    way.stop()
    way.until("STOPPED").until("INACTIVE", way.there)
    for where in (way.here, way.there):
        [group] = written(where, way.channel)
        assert group["MsgCount"] == [0, 3]
        assert written(where, way.channel) == []


def test_messages_that_are_tried_again(route: Routes) -> None:
    collecting(route)
    way = route("", "MRRTY(1000) MRTMR(10)").run()
    way.there.mqsc(f"ALTER QLOCAL({way.target}) PUT(DISABLED)")
    way.put(b"patience")
    way.until("PAUSED", way.there)
    way.there.mqsc(f"ALTER QLOCAL({way.target}) PUT(ENABLED)")
    way.bodies(1)
    way.settled()
    [there] = written(way.there, way.channel)
    assert there["PutRetryCount"] == 1
    [here] = written(way.here, way.channel)
    assert here["PutRetryCount"] == 0


@pytest.mark.parametrize(
    ("manager", "channel", "count"), [("OFF", "QMGR", 0), ("OFF", "LOW", 1), ("LOW", "OFF", 0), ("NONE", "HIGH", 0)]
)
def test_whose_statistics_are_written(route: Routes, manager: str, channel: str, count: int) -> None:
    route.here.mqsc(f"ALTER QMGR STATCHL({manager})")
    way = route(f"STATCHL({channel})").run()
    carry(way, b"1")
    assert len(written(way.here, way.channel)) == count
    assert "MONCHL(OFF)" in shown(way)
    assert "NETTIME(0,0)" in shown(way)


def test_clients_that_have_gone_count_once(pair: list[RunningQueueManager]) -> None:
    near = pair[0]
    near.mqsc("ALTER QMGR STATCHL(LOW)")
    near.manager.statistics_writer.write_due()
    with ostler.connect(near.name, channel=near.channel, connection_name=near.connection_name) as connection:
        link = next(each for each in list(near.server.reactor.links.values()) if each.channel == near.channel)
        connection.put("SYSTEM.DEFAULT.LOCAL.QUEUE", bytes(5000))
    eventually(lambda: not any(each is link for each in list(near.server.reactor.links.values())))
    total = int(link.received_bytes)
    groups = written(near, link.channel)
    near.mqsc("ALTER QMGR STATCHL(OFF)")
    assert sum(each["ReceivedBytes"] for each in groups) == total
