"""Request/reply and connections as small as can be, without and with peers: shapes and counts. Nothing is timed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("hdrh", reason="the laboratory's packages are not installed")

from ostler.lab.bench import connections, contestants, request_reply
from ostler.lab.bench.result import Conditions, Result, write_result
from ostler.lab.common.own_process import ignore_report
from ostler.lab.load.client import LoadFailed
from ostler.lab.load.drivers.connection_flood import ConnectingClient, ConnectionFlood, sockets_max
from ostler.lab.load.mq.ostler_server import CHANNEL, OstlerServer

SMALL = request_reply.Parameters((1, 3), (1,), 2, 256, 2, 0.02, 0.0, log_file_pages=512)


def written(result: Result, directory: Path) -> dict[str, Any]:
    cpu = {"others_percent": 0.0, "steal_percent": 0.0}
    conditions = Conditions("interpreted", {}, datetime(2026, 1, 2, tzinfo=UTC), 1.0, cpu, 1.0, 1.0)
    read: dict[str, Any] = json.loads(write_result(directory / "results", result, conditions).read_text())
    assert len({len(row) for row in result.table}) == 1, "every row of the table has all columns"
    return read


@pytest.mark.slow
def test_request_reply_without_peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(contestants.PEERS_VARIABLE, "")
    result = request_reply.run(SMALL, tmp_path, ignore_report)
    read = written(result, tmp_path)
    ours = [each["labels"] for each in read["measurements"] if each["name"] == request_reply.ROUND_TRIPS]
    assert {(each["transport"], each["client"]) for each in ours} == {
        ("TCP", "lean"), ("TCP", "pipelined"), ("Unix", "lean"), ("Unix", "pipelined"), ("TCP", "ostler.connect"),
    }  # fmt: skip
    assert {(each["persistence"], each["requesters"]) for each in ours} == {
        ("non-persistent", 1), ("non-persistent", 3), ("persistent", 1), ("persistent", 3),
    }  # fmt: skip
    for each in read["measurements"]:
        assert each["count"] >= 2
        if each["name"] == request_reply.LATENCY:
            assert each["percentiles"]["50"] <= each["percentiles"]["99.9"] <= each["percentiles"]["100"] * 1.02
        if each["name"] == "log bytes for each round trip":
            assert each["median"] > 2 * 256, "a request and a reply were logged"
    limits = {each["labels"]["contestant"] for each in read["limits"]}
    assert limits == {"bare ping-pong, TCP", "bare relay, TCP", request_reply.LOG_PROBE}
    assert any("bare relay, pipelined, 3 requesters" in name for name in read["ratios"])
    assert any("persistent rate / log probe" in name for name in read["ratios"])
    assert result.chart is not None
    assert "bare relay" in result.chart.lines


def test_a_missing_peer_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTLER_PEERS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("ostler.lab.peers.nats.PROOF", "usr/sbin/no-such-server")
    with contestants.Field(tmp_path, 1, 64, ("nats",), 512) as field:
        assert [each.broker for each in field.of(True)] == ["Ostler"] * 5
        assert len(field.missing) == 1
        assert "Without nats: nats is not installed" in field.missing[0]


def test_peers_are_those_that_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(contestants.PEERS_VARIABLE, raising=False)
    assert contestants.wanted_peers() == ("rabbitmq", "nats")
    monkeypatch.setenv(contestants.PEERS_VARIABLE, "nats, unknown")
    assert contestants.wanted_peers() == ("nats",)
    monkeypatch.setenv(contestants.PEERS_VARIABLE, "redis,activemq")
    assert contestants.wanted_peers() == ("activemq", "redis"), "in our order"
    monkeypatch.setenv(contestants.PEERS_VARIABLE, "all")
    assert contestants.wanted_peers() == ("rabbitmq", "nats", "activemq", "mosquitto", "redis")


@pytest.mark.slow
def test_request_reply_with_peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(contestants.PEERS_VARIABLE, raising=False)
    result = request_reply.run(
        request_reply.Parameters((50,), (), 2, 256, 1, 0.05, 0.0, 1, 512), tmp_path, ignore_report
    )
    if any(note.startswith("Without") for note in result.notes):
        pytest.skip(" ".join(note for note in result.notes if note.startswith("Without")))
    read = written(result, tmp_path)
    brokers = {each["labels"]["broker"] for each in read["measurements"]}
    assert brokers == {"Ostler", "RabbitMQ", "NATS", "NATS JetStream"}
    assert len(read["aims"]) == 12
    assert any("RabbitMQ" in note and "forced before confirms" in note for note in read["notes"])


@pytest.mark.slow
def test_connections(tmp_path: Path) -> None:
    result = connections.run(connections.Parameters((20,), 4, 5, 1), tmp_path, ignore_report)
    read = written(result, tmp_path)
    cases = [(row[0], row[1], row[2]) for row in result.table[1:]]
    assert cases == [("Ostler", "20", "1"), ("bare epoll server", "20", "1"), ("Ostler", "4", "5")]
    rates = [each for each in read["measurements"] if each["name"] == connections.RATE]
    assert [each["count"] for each in rates] == [1, 1]
    assert all(each["median"] > 0 for each in rates)
    assert [aim["limit"] for aim in read["aims"]] == [2000.0, 25.0]


def test_a_refused_connection_is_told(tmp_path: Path) -> None:
    server = OstlerServer(tmp_path, 1, 512)
    flood = ConnectionFlood(server.address)
    try:
        before = server.log_moment()
        assert flood.open([ConnectingClient(CHANNEL, 3)]) > 0
        with pytest.raises(LoadFailed, match="refused"):
            flood.open([ConnectingClient("NO.SUCH.CHANNEL", 1)])
        assert server.log_moment() == before, "connecting logs nothing"
    finally:
        flood.close()
        server.end()


def test_a_process_may_open_some_sockets() -> None:
    assert sockets_max() > 100
