"""The process beside a leader: it gives the key back when the leader's process dies, and only then."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from io import BytesIO

import pytest
from tests.server.replica.etcd_server import EtcdServer
from tests.world.replica.replica_group import wait_until

from ostler.model.arbiter import FOLLOWING, Member
from ostler.server.replica.etcd_arbiter import EtcdArbiter
from ostler.server.replica.etcd_http import EtcdSettings
from ostler.server.replica.guardian import Guardian, guard

GROUP, NAME = "north", "QM1"
# Nobody waits for it here.
LEASE_SECONDS = 3600.0

LEADER = """
import sys, time
from ostler.model.arbiter import FOLLOWING, Member
from ostler.server.replica.etcd_arbiter import EtcdArbiter
from ostler.server.replica.etcd_http import EtcdSettings
from ostler.server.replica.guardian import Guardian
settings = EtcdSettings((sys.argv[1],), float(sys.argv[2]))
arbiter = EtcdArbiter(settings, "north", "QM1")
arbiter.register(Member("a", "127.0.0.1(1)", 0, 0, FOLLOWING))
arbiter.found(("a", "b"), 2)
view = arbiter.read()
term = arbiter.try_lead("a", view.in_sync.version, view.last_term)
guardian = Guardian(settings, "north", "QM1")
print(guardian.watch(term) or term, guardian._process.pid, flush=True)
time.sleep(600)
"""


def settings_of(etcd: EtcdServer) -> EtcdSettings:
    return EtcdSettings((etcd.endpoint,), LEASE_SECONDS)


def arbiter_of(etcd: EtcdServer) -> EtcdArbiter:
    return EtcdArbiter(settings_of(etcd), GROUP, NAME)


def led(etcd: EtcdServer) -> tuple[EtcdArbiter, int]:
    """An arbiter whose session leads, and its term."""
    arbiter = arbiter_of(etcd)
    arbiter.register(Member("a", "127.0.0.1(1)", 0, 0, FOLLOWING))
    arbiter.found(("a", "b"), 2)
    view = arbiter.read()
    assert view.in_sync is not None
    term = arbiter.try_lead("a", view.in_sync.version, view.last_term)
    assert term is not None
    return arbiter, term


def lines_of(etcd: EtcdServer, *terms: int) -> BytesIO:
    """What a leader has said until it died."""
    first = {"settings": asdict(settings_of(etcd)), "group": GROUP, "queue_manager": NAME}
    return BytesIO(b"".join(json.dumps(each).encode() + b"\n" for each in (first, *({"term": each} for each in terms))))


def test_a_killed_leader_does_not_cost_its_lease(own_etcd: EtcdServer) -> None:
    leader = subprocess.Popen(
        [sys.executable, "-c", LEADER, own_etcd.endpoint, str(LEASE_SECONDS)], stdout=subprocess.PIPE, text=True
    )
    other = arbiter_of(own_etcd)
    try:
        assert leader.stdout is not None
        term = int(leader.stdout.readline().split()[0])
        found = other.read().leader
        assert found is not None
        assert found.term == term
        leader.send_signal(signal.SIGSTOP)  # it stands still, and is not dead
        time.sleep(0.5)
        assert other.read().leader is not None
    finally:
        leader.kill()
        leader.wait()
    wait_until(lambda: other.read().leader is None, lambda: "the key is still there")
    other.close()


def test_the_key_of_another_term_is_not_touched(own_etcd: EtcdServer) -> None:
    before, first = led(own_etcd)
    before.resign(first)
    before.close()
    arbiter, second = led(own_etcd)
    assert guard(lines_of(own_etcd, first))
    found = arbiter.read().leader
    assert found is not None
    assert found.term == second
    assert guard(lines_of(own_etcd, first, second))
    assert arbiter.read().leader is None
    arbiter.close()


def test_a_leader_without_a_term_has_nothing_to_give_back(own_etcd: EtcdServer) -> None:
    arbiter, _ = led(own_etcd)
    assert not guard(lines_of(own_etcd))
    assert arbiter.read().leader is not None
    arbiter.close()


def test_it_waits_for_etcd_a_while(own_etcd: EtcdServer) -> None:
    arbiter, term = led(own_etcd)
    own_etcd.kill()
    done: list[bool] = []
    guarding = threading.Thread(target=lambda: done.append(guard(lines_of(own_etcd, term))))
    guarding.start()
    own_etcd.start()
    guarding.join(60.0)
    assert done == [True]
    assert arbiter.read().leader is None
    arbiter.close()


def test_it_is_started_again_when_it_was_killed_itself(own_etcd: EtcdServer) -> None:
    guardian = Guardian(settings_of(own_etcd), GROUP, NAME)
    assert guardian.watch(1) == ""
    first = guardian._process
    assert first is not None
    first.kill()
    first.wait()
    assert guardian.watch(2) == ""
    second = guardian._process
    assert second is not None
    assert second is not first
    assert second.poll() is None
    guardian.close()
    assert second.poll() is not None


def test_a_process_that_cannot_be_started_is_told(own_etcd: EtcdServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert "No such file" in Guardian(settings_of(own_etcd), GROUP, NAME).watch(1)
