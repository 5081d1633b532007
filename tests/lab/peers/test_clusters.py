"""Clusters of three on this machine: started, driven by lean clients and libraries, a member killed, and ended. Or
skipped."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from ostler.lab.load import spec
from ostler.lab.load.amqp import frames as amqp
from ostler.lab.load.drivers.start import Sharing, start_driver
from ostler.lab.load.progress import ignore_progress
from ostler.lab.load.spec import ONE_WAY, PUBLISH, REQUEST_REPLY, LoadSpec
from ostler.lab.load.timeline import Timeline
from ostler.lab.peers import nats, nats_cluster, rabbitmq
from ostler.lab.peers import registry as known
from ostler.lab.peers.broker_process import LOOPBACK, Peer
from ostler.lab.runner.contract import GET, PUT, ROUND_TRIP
from ostler.lab.runner.peer_brokers import PeerBrokers, PeerContestant
from ostler.lab.store.roles import FOLLOWER, LEADER, PEER, role_at
from ostler.lab.store.rows import OperationRow

SECONDS_MAX = 60.0
QUORUM = {"x-queue-type": "quorum", "x-quorum-initial-group-size": 3}


@pytest.fixture(scope="module", params=[nats.NAME, rabbitmq.NAME])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeerBrokers]:
    made = PeerBrokers((request.param,), tmp_path_factory.mktemp(request.param), catalogue=known.REPLICATED)
    yield made
    pids = [pid for each in made._brokers.values() for pid in each.pids]
    made.close()
    assert not any(psutil.pid_exists(pid) for pid in pids)


def contestants(brokers: PeerBrokers, kind: str) -> list[PeerContestant]:
    found = brokers.contestants({0: True}, kind)
    if not found:
        pytest.skip("; ".join(f"{name}: {why}" for name, why in brokers.absent.items()))
    return found


def counted(wanted: LoadSpec) -> dict[str, int]:
    driver = start_driver(wanted)
    try:
        recorder = driver.run(Timeline.starting(time.perf_counter_ns(), 0.0, 0.05, 0.0), ignore_progress)
        assert isinstance(driver, Sharing)
        assert driver.outstanding == 0, "nothing is missing, and nothing is there that nobody put"
    finally:
        driver.close()
    found: dict[str, int] = {}
    for row in (row for phase in recorder.phases for row in phase.rows(0)):
        if isinstance(row, OperationRow):
            found[row.operation] = found.get(row.operation, 0) + row.count
    return found


def load(contestant: PeerContestant, kind: str, clients: int = 3) -> LoadSpec:
    ours = LoadSpec(spec.MQ_VERBS, "nowhere", range(clients), range(clients), 2, 256, True, "CHANNEL", kind)
    return contestant.spec_like(ours)


def wait_for(what: str, found: Callable[[], Any]) -> Any:
    """What is found at last; raises when it is not there in time."""
    deadline = time.monotonic() + SECONDS_MAX
    answer: Any = None
    while time.monotonic() < deadline:
        with suppress(OSError, ValueError):
            answer = found()
            if answer:
                return answer
        time.sleep(0.1)
    raise AssertionError(f"{what} did not happen within {SECONDS_MAX:.0f} s: {answer}")


def test_a_quorum_queue_is_declared_with_its_members() -> None:
    plain = amqp.declare_queue(1, b"q", True)
    assert plain.endswith(b"\x02\x00\x00\x00\x00\xce"), "no arguments"
    made = amqp.declare_queue(1, b"q", True, 3)
    assert b"\x0cx-queue-typeS\x00\x00\x00\x06quorum" in made
    assert b"x-quorum-initial-group-sizeI\x00\x00\x00\x03" in made


def test_what_copies_promise_is_named() -> None:
    durabilities = {each.title: each.durabilities for each in known.REPLICATED}
    assert "forced at a majority" in durabilities["RabbitMQ quorum queues"][0]
    assert "forced later" in durabilities["NATS JetStream R3"][0]
    assert {each.copies for each in known.REPLICATED} == {3}
    assert {each.copies for each in known.KNOWN} == {1}


def test_only_persistent_messages_are_copied(tmp_path: Path) -> None:
    """Nothing is started for others."""
    with PeerBrokers((nats.NAME, rabbitmq.NAME, "redis"), tmp_path, catalogue=known.REPLICATED) as brokers:
        assert brokers.contestants({0: False}, REQUEST_REPLY) == []
        assert brokers.contestants({0: True}, PUBLISH) == []
        assert "redis" not in brokers.absent
        assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_cluster_carries_messages_and_outlives_its_first_member(cluster: PeerBrokers) -> None:
    """In this order, since a cluster takes long to start: all patterns, then the loss of the member in use."""
    for kind, operations in ((REQUEST_REPLY, (ROUND_TRIP,)), (ONE_WAY, (PUT, GET))):
        found = contestants(cluster, kind)
        assert {each.is_library for each in found} == {False, True}, cluster.absent
        for contestant in found:
            assert "three" in contestant.contestant.promise
            made = load(contestant, kind)
            contestant.declare_queues(made)
            counts = counted(made)
            assert len({counts[each] for each in operations}) == 1, counts
            assert counts[operations[0]] >= 3, contestant.contestant.name
    broker = found[0].delivery_modes[True].broker
    roles = [each.role for each in found[0].watched(True)]
    if broker.name == rabbitmq.NAME:
        assert roles == [role_at(PEER, LEADER)] * 2 + [role_at(PEER, FOLLOWER)] * 2, "the port mapper, and three nodes"
        quorum_queue_survives(broker)
    else:
        assert roles == [PEER] * 3, "streams have their leaders anywhere"
        stream_survives(broker)


def quorum_queue_survives(broker: Peer) -> None:
    pika = pytest.importorskip("pika")

    def channel_at(port: int) -> Any:
        connection = pika.BlockingConnection(pika.ConnectionParameters(LOOPBACK, port, heartbeat=0))
        return connection.channel()

    first = channel_at(broker.port)
    # Refused where the queue of the lean clients is of another type.
    first.queue_declare("durable.one-way.0", durable=True, arguments=QUORUM)
    first.queue_declare("kept", durable=True, arguments=QUORUM)
    first.confirm_delivery()
    for number in range(20):
        first.basic_publish("", "kept", str(number).encode(), pika.BasicProperties(delivery_mode=2))
    os.kill(broker.pids[1], signal.SIGKILL)

    def got() -> list[bytes]:
        """Nothing while there is no leader: the connection is closed then, and what was got is there again."""
        try:
            second = channel_at(broker.member_ports[1])
            return [second.basic_get("kept")[2] for _ in range(20)]
        except (TypeError, pika.exceptions.AMQPError):
            return []

    assert wait_for("the election of another leader", got) == [str(number).encode() for number in range(20)]
    assert "ended with status -9" in broker.describe_end()


def stream_survives(broker: Peer) -> None:
    def info() -> Any:
        """Nothing while there is no leader, or while a new one still applies what the old one committed."""
        found: Any = nats_cluster.ask(broker.member_ports[1], "$JS.API.STREAM.INFO.KEPT", {})
        return None if "error" in found or found["state"]["messages"] < 20 else found

    made: dict[str, object] = {"name": "KEPT", "subjects": ["KEPT.*"], "storage": "file", "num_replicas": 3}
    assert "error" not in nats_cluster.ask(broker.port, "$JS.API.STREAM.CREATE.KEPT", made)
    for _ in range(20):
        assert "error" not in nats_cluster.ask(broker.port, "KEPT.1", {})
    lean = nats_cluster.ask(broker.port, "$JS.API.STREAM.INFO.LABONE", {})
    assert isinstance(lean["cluster"], dict)
    assert len(lean["cluster"]["replicas"]) == 2, "a leader, and two more"
    os.kill(broker.pids[0], signal.SIGKILL)
    kept = wait_for("the election of another leader that has all 20 messages", info)
    assert kept["state"]["messages"] == 20
    assert kept["cluster"]["leader"] != "lab1"


def test_a_member_that_does_not_start_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ostler.lab.peers import packages

    monkeypatch.setenv(packages.CACHE_VARIABLE, str(tmp_path))
    if packages.find_unpacked("nobody", nats.PROOF) is not None:
        pytest.skip("NATS is installed here, and that is preferred")
    program = tmp_path / nats.NAME / nats.PROOF
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n[ $1 = --version ] && echo nats-server: v9.9 && exit 0\necho no room; exit 4\n")
    program.chmod(0o755)
    brokers = PeerBrokers((nats.NAME,), tmp_path / "state", libraries=False, catalogue=known.REPLICATED)
    with closing(brokers):
        assert brokers.contestants({0: True}, ONE_WAY) == []
        assert "ended with status 4: no room" in brokers.absent["NATS JetStream R3"]
