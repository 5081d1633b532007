"""A real etcd that is killed, stopped, cut off, or asks for passwords and TLS."""

from __future__ import annotations

import base64
import json
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.free_ports import free_port
from tests.server.replica.etcd_server import EtcdServer

from ostler.lab.runner.queue_managers.relay import BACK, Relay
from ostler.model.arbiter import FOLLOWING, ArbiterRefused, ArbiterUnavailable, InSyncSet, Member
from ostler.server.replica.etcd_arbiter import EtcdArbiter
from ostler.server.replica.etcd_http import EtcdConnection, EtcdSettings
from ostler.server.tls.certificate_maker import Authority

pytestmark = pytest.mark.slow
SECONDS_MAX = 60.0
A = Member("a", "a(1)", 1, 100, FOLLOWING)
B = Member("b", "b(1)", 1, 100, FOLLOWING)


def arbiter(*endpoints: str, lease: float = 60.0, timeout: float = 10.0, **more: str) -> EtcdArbiter:
    return EtcdArbiter(EtcdSettings(endpoints, lease, timeout, **more), "g", "QM1")


def lead(one: EtcdArbiter, name: str) -> int:
    view = one.read()
    assert view.in_sync is not None
    term = one.try_lead(name, view.in_sync.version, view.last_term)
    assert term is not None
    return term


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


@pytest.fixture
def relay(own_etcd: EtcdServer) -> Iterator[Relay]:
    with Relay(own_etcd.port) as made:
        yield made


def through(relay: Relay) -> str:
    return f"http://127.0.0.1:{relay.port}"


def test_everything_survives_kill_9_of_etcd_and_the_session_goes_on(own_etcd: EtcdServer) -> None:
    one = arbiter(own_etcd.endpoint)
    one.register(A)
    assert one.found(("a", "b"), 2)
    term = lead(one, "a")
    before = one.read()
    assert before.in_sync is not None
    own_etcd.kill()
    for call in (one.read, one.keep_alive, lambda: one.set_in_sync(term, 1, ("a",), 1)):
        with pytest.raises(ArbiterUnavailable):
            call()
    own_etcd.start()
    assert one.read() == before
    assert one.keep_alive() is not None
    version = one.set_in_sync(term, before.in_sync.version, ("a",), 1)
    assert version is not None
    assert version > before.in_sync.version
    one.resign(term)
    assert lead(one, "a") > term
    one.close()


def test_a_stopped_etcd_answers_in_time_or_not_at_all(own_etcd: EtcdServer) -> None:
    one = arbiter(own_etcd.endpoint, timeout=1.0)
    one.register(A)
    one.found(("a",), 1)
    lead(one, "a")
    own_etcd.signal(signal.SIGSTOP)
    began = time.monotonic()
    for call in (one.read, one.keep_alive):
        with pytest.raises(ArbiterUnavailable, match="time"):
            call()
    assert time.monotonic() - began < SECONDS_MAX
    assert not one.wait_change(0.2)
    own_etcd.signal(signal.SIGCONT)
    until(lambda: _answers(one), "etcd goes on, but gives no answer")
    assert one.read().leader is not None
    one.close()


def _answers(one: EtcdArbiter) -> bool:
    try:
        return one.keep_alive() is not None
    except ArbiterUnavailable:
        return False


def test_a_lost_answer_may_be_of_something_that_happened(own_etcd: EtcdServer, relay: Relay) -> None:
    one, witness = arbiter(through(relay)), arbiter(own_etcd.endpoint)
    one.register(A)
    one.found(("a", "b"), 2)
    view = one.read()
    assert view.in_sync is not None
    relay.cut(10, BACK)
    with pytest.raises(ArbiterUnavailable):
        one.try_lead("a", view.in_sync.version, 0)
    seen = one.read()
    assert seen.leader is not None
    assert seen.leader.session == one.session()  # so it leads
    term = seen.leader.term
    relay.cut(10, BACK)
    with pytest.raises(ArbiterUnavailable):
        one.set_in_sync(term, view.in_sync.version, ("a",), 1)
    assert one.set_in_sync(term, view.in_sync.version, ("a",), 1) is None  # the repeated one finds another version
    noted = one.read().in_sync
    assert noted is not None
    assert noted == InSyncSet(noted.version, term, ("a",), 1)
    relay.cut(10, BACK)
    with pytest.raises(ArbiterUnavailable):
        one.add_life(term, 1, "mine")
    assert (one.add_life(term, 1, "mine"), one.life(1)) == (False, "mine")
    assert witness.read() == one.read()
    one.close()
    witness.close()


def test_the_next_endpoint_is_used_when_one_is_gone_and_a_change_is_not_made_twice(own_etcd: EtcdServer) -> None:
    with Relay(own_etcd.port) as first, Relay(own_etcd.port) as second:
        gone = f"http://127.0.0.1:{free_port()}"
        one = arbiter(gone, through(first), through(second), timeout=2.0)
        one.register(A)
        one.found(("a", "b"), 2)
        term = lead(one, "a")
        version = one.read().in_sync
        assert version is not None
        first.hold()  # reads go to the next one
        assert one.read().leader is not None
        assert one.keep_alive() is not None
        first.resume()
        second.cut(10, BACK)  # a change is not repeated at the next one
        with pytest.raises(ArbiterUnavailable):
            one.set_in_sync(term, version.version, ("a",), 1)
        after = one.read().in_sync
        assert after is not None
        assert after.members == ("a",)
        first.refuse()
        first.cut()
        second.refuse()
        second.cut()
        with pytest.raises(ArbiterUnavailable) as told:
            one.read()
        assert str(told.value).count("127.0.0.1") == 3
        one.close()


def test_a_watch_that_dies_is_opened_again(own_etcd: EtcdServer, relay: Relay) -> None:
    one, other = arbiter(through(relay), timeout=1.0), arbiter(own_etcd.endpoint)
    one.wait_change(SECONDS_MAX)  # the stream is open now
    other.set_preferred("b")
    until(lambda: one.wait_change(0.5), "no hint of a change")
    relay.cut()
    assert one.wait_change(SECONDS_MAX)  # a new stream may have missed something
    other.set_preferred("c")
    until(lambda: one.wait_change(0.5), "no hint after the stream was cut")
    relay.refuse()
    relay.cut()
    assert not one.wait_change(0.3)
    one.close()
    assert not one.wait_change(SECONDS_MAX)
    other.close()


def test_closing_ends_a_wait(own_etcd: EtcdServer) -> None:
    one = arbiter(own_etcd.endpoint)
    one.wait_change(SECONDS_MAX)
    waiting = threading.Thread(target=one.wait_change, args=(600.0,))
    waiting.start()
    one.close()
    waiting.join(SECONDS_MAX)
    assert not waiting.is_alive()


def test_another_cluster_is_refused(own_etcd: EtcdServer, tmp_path: Path) -> None:
    """Two clusters would be two arbiters; an etcd made anew has forgotten everything."""
    one = arbiter(own_etcd.endpoint)
    one.found(("a",), 1)
    stranger = EtcdServer(tmp_path / "stranger")
    try:
        both = arbiter(own_etcd.endpoint, stranger.endpoint)
        both.read()
        own_etcd.kill()
        with pytest.raises(ArbiterRefused, match="cluster"):
            both.read()
    finally:
        stranger.close()
    # The data of a cluster under another identity, as a restored snapshot has it.
    own_etcd.start()
    key = "/ostler/g/QM1/founded"
    connection = EtcdConnection(EtcdSettings((own_etcd.endpoint,)))
    connection.call("/v3/kv/put", {"key": _text(key), "value": _text(json.dumps({"base": 0, "cluster": "17"}))})
    connection.close()
    fresh = arbiter(own_etcd.endpoint)
    with pytest.raises(ArbiterRefused, match="founded in cluster 17"):
        fresh.read()
    one.close()


def _permission(first: str, behind: str) -> dict[str, str]:
    return {"permType": "READWRITE", "key": _text(first), "range_end": _text(behind)}


def _text(value: str) -> str:
    return base64.b64encode(value.encode()).decode()


def test_an_etcd_that_lost_its_disk_lets_nobody_lead(own_etcd: EtcdServer) -> None:
    one = arbiter(own_etcd.endpoint)
    one.register(A)
    one.found(("a",), 1)
    term = lead(one, "a")
    own_etcd.kill()
    shutil.rmtree(own_etcd.directory / "data")
    own_etcd.start()
    fresh = arbiter(own_etcd.endpoint)
    fresh.register(A)
    view = fresh.read()
    assert (view.in_sync, view.last_term) == (None, 0)
    assert fresh.try_lead("a", 0, 0) is None
    assert fresh.found(("a",), 1, above_term=term)
    assert lead(fresh, "a") > term
    fresh.close()
    one.close()


def test_users_and_passwords(own_etcd: EtcdServer) -> None:
    connection = EtcdConnection(EtcdSettings((own_etcd.endpoint,)))
    for path, body in (
        ("user/add", {"name": "root", "password": "secret"}),
        ("role/add", {"name": "root"}),
        ("user/grant", {"user": "root", "role": "root"}),
        ("user/add", {"name": "idle", "password": "idle"}),
        ("user/add", {"name": "ostler", "password": "horses"}),
        ("role/add", {"name": "ostler"}),
        ("role/grant", {"name": "ostler", "perm": _permission("/ostler/", "/ostler0")}),
        ("user/grant", {"user": "ostler", "role": "ostler"}),
        ("enable", {}),
    ):
        connection.call(f"/v3/auth/{path}", body)
    connection.close()
    with pytest.raises(ArbiterRefused):
        arbiter(own_etcd.endpoint).read()
    with pytest.raises(ArbiterRefused, match="does not accept user root"):
        arbiter(own_etcd.endpoint, user="root", password="wrong").read()
    with pytest.raises(ArbiterRefused, match="permission"):
        arbiter(own_etcd.endpoint, user="idle", password="idle").read()
    one = arbiter(own_etcd.endpoint, user="ostler", password="horses")  # who may use our keys and no others
    one.register(A)
    assert one.found(("a",), 1)
    assert lead(one, "a")
    assert len(one.warnings()) == 1
    assert one.wait_change(SECONDS_MAX)
    own_etcd.kill()  # tokens are in its memory
    own_etcd.start_without_asking()
    until(lambda: _answers(one), "no answer with a new token")
    assert one.read().in_sync is not None
    one.close()


def test_tls_with_the_right_authority_only(tmp_path: Path) -> None:
    authority, other = Authority(tmp_path / "ca"), Authority(tmp_path / "other")
    authority.create("Arbiter", "ec")
    other.create("Other", "ec")
    certificate, key = authority.issue(tmp_path / "keys", "etcd", [("CN", "etcd")], "ec", host_names=("127.0.0.1",))
    server = EtcdServer(tmp_path / "etcd", certificate, key)
    try:
        one = arbiter(server.endpoint, ca_file=str(authority.certificate))
        until(lambda: _found(one), "etcd does not answer over TLS")
        assert one.wait_change(SECONDS_MAX)
        one.close()
        with pytest.raises(ArbiterUnavailable, match="certificate"):
            arbiter(server.endpoint, ca_file=str(other.certificate)).read()
        with pytest.raises(ArbiterUnavailable):
            arbiter(server.endpoint.replace("https", "http")).read()
    finally:
        server.close()


def _found(one: EtcdArbiter) -> bool:
    try:
        return one.found(("a",), 1)
    except ArbiterUnavailable:
        return False


def test_an_administrator_is_warned_of_one_member(own_etcd: EtcdServer) -> None:
    one = arbiter(own_etcd.endpoint)
    told = one.warnings()
    assert len(told) == 1
    assert "1 member" in told[0]
    one.close()
