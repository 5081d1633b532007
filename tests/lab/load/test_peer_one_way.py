"""The peers in a sitting: started once each, and messages that go one way through them. Or skipped."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from ostler.lab.load import spec
from ostler.lab.load.drivers.start import Sharing, start_driver
from ostler.lab.load.progress import ignore_progress
from ostler.lab.load.redis.client import command
from ostler.lab.load.spec import ONE_WAY, REQUEST_REPLY, LoadSpec
from ostler.lab.load.timeline import PhaseRecorder, Timeline
from ostler.lab.peers import activemq, mosquitto, nats, packages, rabbitmq, redis
from ostler.lab.peers import registry as known
from ostler.lab.runner.contract import GET, PUT, ROUND_TRIP, ContestantKind
from ostler.lab.runner.peer_brokers import PeerBrokers, PeerContestant
from ostler.lab.store.roles import PEER
from ostler.lab.store.rows import OperationRow

BOTH = {0: False, 1: True}


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, PeerBrokers]]:
    """Of all tests: a broker is started by the first that needs it."""
    made = {name: PeerBrokers((name,), tmp_path_factory.mktemp(name)) for name in known.NAMES}
    yield made
    for each in made.values():
        each.close()


def load(contestant: PeerContestant, persistent: bool, kind: str, body_bytes: int = 64) -> LoadSpec:
    """Two clients on each side, and a plan of a queue manager that others cannot have all of."""
    ours = LoadSpec(spec.MQ_VERBS, "nowhere", range(2), range(2), 2, body_bytes, persistent, "CHANNEL", kind)
    return contestant.spec_like(ours)


def totals(recorder: PhaseRecorder) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in (row for phase in recorder.phases for row in phase.rows(0)):
        if isinstance(row, OperationRow):
            found[row.operation] = found.get(row.operation, 0) + row.count
    return found


def counted(wanted: LoadSpec) -> dict[str, int]:
    """Return the operations of a moment: a longer one when a busy machine did less than two of each in a short one."""
    found: dict[str, int] = {}
    for seconds in (0.03, 0.5, 10.0):
        driver = start_driver(wanted)
        try:
            found = totals(driver.run(Timeline.starting(time.perf_counter_ns(), 0.0, seconds, 0.0), ignore_progress))
            assert isinstance(driver, Sharing)
            assert driver.outstanding == 0, "nothing is missing, and nothing is there that nobody put"
        finally:
            driver.close()
        if found and min(found.values()) >= 2:
            break
    return found


def contestants(brokers: PeerBrokers, kind: str) -> list[PeerContestant]:
    found = brokers.contestants(BOTH, kind)
    if not found:
        pytest.skip("; ".join(f"{name}: {why}" for name, why in brokers.absent.items()))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", [redis.NAME, nats.NAME, mosquitto.NAME, rabbitmq.NAME, activemq.NAME])
def test_what_is_put_is_got(brokers: dict[str, PeerBrokers], name: str) -> None:
    for contestant in contestants(brokers[name], ONE_WAY):
        for persistent in contestant.delivery_modes:
            found = counted(load(contestant, persistent, ONE_WAY))
            assert found[PUT] == found[GET] >= 2, (contestant.contestant.name, persistent)


@pytest.mark.slow
def test_large_messages_arrive_whole(brokers: dict[str, PeerBrokers]) -> None:
    """Consumers refuse a message of another size."""
    for name in (redis.NAME, nats.NAME, mosquitto.NAME):
        for contestant in contestants(brokers[name], ONE_WAY):
            for persistent in () if contestant.is_library else contestant.delivery_modes:
                found = counted(load(contestant, persistent, ONE_WAY, 2 << 20))
                assert found[PUT] == found[GET] >= 2, (contestant.contestant.name, persistent)


def test_requests_and_replies_in_streams_through_the_library(brokers: dict[str, PeerBrokers]) -> None:
    library = [each for each in contestants(brokers[nats.NAME], REQUEST_REPLY) if each.is_library]
    if not library:
        pytest.skip("nats-py is not here")
    assert [(each.contestant.name, each.contestant.steps) for each in library] == [
        ("NATS, nats-py", frozenset({0})),
        ("NATS JetStream, nats-py", frozenset({1})),
    ]
    for each in library:
        for _ in range(2):
            assert counted(load(each, next(iter(each.delivery_modes)), REQUEST_REPLY))[ROUND_TRIP] >= 2


def test_what_an_earlier_load_left_over_does_not_count(brokers: dict[str, PeerBrokers]) -> None:
    for contestant in contestants(brokers[redis.NAME], ONE_WAY):
        broker = contestant.delivery_modes[False].broker
        prefix = b"redis-py:" if contestant.is_library else b""
        with closing(socket.create_connection(("127.0.0.1", broker.port), timeout=20)) as sock:
            sock.sendall(command(b"LPUSH", prefix + b"transient:one-way:0", (1).to_bytes(8, "big") + bytes(56)))
            assert sock.recv(100) == b":1\r\n"
        found = counted(load(contestant, False, ONE_WAY))
        assert found[PUT] == found[GET]


def test_brokers_are_started_once_and_end_together(tmp_path: Path) -> None:
    with PeerBrokers((redis.NAME, redis.NAME), tmp_path, libraries=False) as brokers:
        (once,) = contestants(brokers, ONE_WAY)
        (again,) = brokers.contestants(BOTH, REQUEST_REPLY)
        assert once.delivery_modes[False].broker is again.delivery_modes[False].broker
        assert once.delivery_modes[True].broker is not once.delivery_modes[False].broker, (
            "one that forces, and one that does not"
        )
        assert once.contestant.kind is ContestantKind.PEER
        assert once.contestant.steps == frozenset({0, 1})
        assert once.contestant.version[0].isdigit()
        assert "forced before each answer" in once.contestant.promise
        assert "nothing forced" in once.contestant.promise
        watched = [*once.watched(False), *once.watched(True)]
        assert {each.role for each in watched} == {PEER}
        assert all(psutil.pid_exists(each.pid) for each in watched)
        (kept,) = brokers.contestants({7: True}, ONE_WAY)
        assert kept.contestant.steps == frozenset({7})
        assert "nothing forced" not in kept.contestant.promise
        assert brokers.contestants({0: False}, spec.SESSIONS) == [], "nobody else has sessions"
    assert not any(psutil.pid_exists(each.pid) for each in watched)


def test_a_plan_for_a_peer_has_nothing_of_a_queue_manager(brokers: dict[str, PeerBrokers]) -> None:
    contestant = contestants(brokers[redis.NAME], ONE_WAY)[0]
    made = load(contestant, True, ONE_WAY)
    assert (made.protocol, made.channel, made.tls, made.conversations) == (spec.REDIS, "", None, 1)
    assert made.address == ("127.0.0.1", contestant.delivery_modes[True].broker.port)
    assert (made.requesters, made.pairs, made.body_bytes, made.kind) == (range(2), 2, 64, ONE_WAY)


def test_who_is_not_there_is_told_and_not_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if packages.find_unpacked("nobody", mosquitto.PROOF) is not None:
        pytest.skip("Mosquitto is installed here, and that is preferred")
    monkeypatch.setenv(packages.CACHE_VARIABLE, str(tmp_path / "cache"))
    brokers = PeerBrokers((mosquitto.NAME, "kafka"), tmp_path)
    assert brokers.contestants(BOTH) == []
    assert "ostler lab peers --fetch mosquitto" in brokers.absent["Mosquitto"]
    assert "known are rabbitmq, nats" in brokers.absent["kafka"]
    assert not (tmp_path / "cache").exists()


def test_a_broker_that_does_not_start_is_absent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if packages.find_unpacked("nobody", mosquitto.PROOF) is not None:
        pytest.skip("Mosquitto is installed here, and that is preferred")
    monkeypatch.setenv(packages.CACHE_VARIABLE, str(tmp_path))
    program = tmp_path / mosquitto.NAME / mosquitto.PROOF
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n[ $1 = -h ] && echo mosquitto version 9.9 && exit 3\necho no room; exit 4\n")
    program.chmod(0o755)
    brokers = PeerBrokers((mosquitto.NAME,), tmp_path / "state", libraries=False)
    assert brokers.contestants(BOTH, ONE_WAY) == []
    assert "ended with status 4: no room" in brokers.absent["Mosquitto"]
