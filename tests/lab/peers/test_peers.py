"""Peers from Debian packages: obtained, started, measured with a few messages, and ended. Or skipped."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest
from tests.lab.load.recorded import done_in

from ostler.lab.load import spec
from ostler.lab.load.drivers.start import start_driver
from ostler.lab.load.spec import LoadSpec
from ostler.lab.peers import broker_process as running
from ostler.lab.peers import nats, packages, rabbitmq
from ostler.lab.peers.broker_process import LOOPBACK, Peer, free_port
from ostler.lab.peers.packages import PeerUnavailable, cache_directory, unpack_packages


def exchange(protocol: str, peer: Peer, persistent: bool = False) -> int:
    """Return the round trips that two requesters make in no time: one each."""
    driver = start_driver(LoadSpec(protocol, (LOOPBACK, peer.port), range(2), range(4), 2, 256, persistent))
    try:
        return done_in(driver)
    finally:
        driver.close()


def test_the_cache_is_where_it_is_told_to_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(packages.CACHE_VARIABLE, str(tmp_path / "given"))
    assert cache_directory() == tmp_path / "given"
    monkeypatch.delenv(packages.CACHE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "ostler" / "peers"


def test_what_is_in_the_cache_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(packages.CACHE_VARIABLE, str(tmp_path))
    proof = tmp_path / "some-broker" / "usr" / "sbin" / "some-broker-4.2"
    proof.parent.mkdir(parents=True)
    proof.touch()
    assert unpack_packages("some-broker", ("some-broker",), "usr/sbin/some-broker-*") == tmp_path / "some-broker"


def test_what_cannot_be_had_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(packages.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PeerUnavailable, match="without apt-get and dpkg-deb"):
        unpack_packages("some-broker", ("some-broker",), "usr/sbin/some-broker")
    failing = tmp_path / "apt-get"
    failing.write_text("#!/bin/sh\necho 'E: Unable to locate package' >&2\nexit 100\n")
    failing.chmod(0o755)
    (tmp_path / "dpkg-deb").symlink_to(failing)
    with pytest.raises(PeerUnavailable, match=r"Unable to locate package .*apt-get update"):
        unpack_packages("some-broker", ("some-broker",), "usr/sbin/some-broker")
    assert not (tmp_path / "cache" / "some-broker").exists()


def test_a_peer_that_ends_at_once_is_told_with_its_last_words(tmp_path: Path) -> None:
    peer = Peer("some-broker", "1", free_port(), tmp_path / "log")
    peer.add(["/bin/sh", "-c", "echo no such option; exit 3"], os.environ, tmp_path)
    with pytest.raises(PeerUnavailable, match="status 3: no such option"):
        peer.wait_until_listening(20)
    assert peer.processes == []


def test_a_peer_whose_start_is_interrupted_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    peer = Peer("sleeper", "1", free_port(), tmp_path / "log")
    peer.add(["sleep", "600"], dict(os.environ), tmp_path)
    (pid,) = peer.pids

    def interrupted(_port: int) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "_listens", interrupted)
    with pytest.raises(KeyboardInterrupt):
        peer.wait_until_listening(20)
    assert not psutil.pid_exists(pid)


def test_a_peer_that_has_ended_says_so(tmp_path: Path) -> None:
    peer = Peer("sleeper", "1", free_port(), tmp_path / "log")
    peer.add(["sleep", "600"], dict(os.environ), tmp_path)
    assert peer.describe_end() == ""
    peer.processes[0].kill()
    peer.processes[0].wait()
    assert peer.describe_end() == "sleeper ended with status -9: it said nothing"


def test_who_has_no_home_has_the_cache_where_he_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv(packages.CACHE_VARIABLE, raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.chdir(tmp_path)
    assert cache_directory() == tmp_path / ".cache" / "ostler" / "peers"


def test_nats(tmp_path: Path) -> None:
    try:
        peer = nats.start(tmp_path, jetstream=True)
    except PeerUnavailable as reason:
        pytest.skip(str(reason))
    pids = peer.pids
    try:
        assert exchange(spec.NATS, peer) == 2
        assert exchange(spec.JETSTREAM, peer) == 2
        assert exchange(spec.JETSTREAM, peer) == 2, "streams and consumers that are there already"
        if find_spec("nats") is not None:
            assert exchange(spec.NATS_PY, peer) in (0, 2), "the time may be over before the first request"
        assert peer.version.startswith("2.")
    finally:
        peer.end()
    assert not any(psutil.pid_exists(pid) for pid in pids)


@pytest.mark.slow
def test_rabbitmq(tmp_path: Path) -> None:
    try:
        peer = rabbitmq.start(tmp_path)
    except PeerUnavailable as reason:
        pytest.skip(str(reason))
    pids = peer.pids
    try:
        assert exchange(spec.AMQP, peer) == 2
        assert exchange(spec.AMQP, peer, persistent=True) == 2
        if find_spec("pika") is not None:
            assert exchange(spec.PIKA, peer, persistent=True) >= 0
        listening = {each.laddr.ip for pid in pids for each in psutil.Process(pid).net_connections() if not each.raddr}
        assert listening <= {LOOPBACK, "::1"}
    finally:
        peer.end()
    assert not any(psutil.pid_exists(pid) for pid in pids)
