"""ActiveMQ, Mosquitto and Redis from Debian packages, each with a few messages; and what is told of all peers."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest
from tests.lab.load.recorded import done_in

from ostler.cli.lab import peers as lab_peers
from ostler.lab.load import spec
from ostler.lab.load.drivers.start import start_driver
from ostler.lab.load.spec import LoadSpec
from ostler.lab.peers import activemq, mosquitto, packages, redis
from ostler.lab.peers import registry as known
from ostler.lab.peers.broker_process import LOOPBACK, Peer
from ostler.lab.peers.packages import PeerUnavailable, environment_for, output_of

SECONDS_MAX = 20.0


def exchange(protocol: str, peer: Peer, persistent: bool = False, body_bytes: int = 256) -> int:
    """Return the round trips that two requesters make in no time: one each."""
    driver = start_driver(LoadSpec(protocol, (LOOPBACK, peer.port), range(2), range(4), 2, body_bytes, persistent))
    try:
        return done_in(driver)
    finally:
        driver.close()


def library_exchange(protocol: str, peer: Peer, persistent: bool) -> int:
    """Return the round trips that a thread makes in a moment: the first is waited for, however long it takes."""
    driver = start_driver(LoadSpec(protocol, (LOOPBACK, peer.port), range(1), range(2), 2, 256, persistent))
    try:
        done = 0
        deadline = time.monotonic() + SECONDS_MAX
        while not done and time.monotonic() < deadline:
            done = done_in(driver, 0.01)
        return done
    finally:
        driver.close()


def check(started: Callable[[], Peer], lean: str, library: str, module: str, kinds: tuple[bool, ...]) -> None:
    try:
        peer = started()
    except PeerUnavailable as reason:
        pytest.skip(str(reason))
    pids = peer.pids
    try:
        for persistent in kinds:
            assert exchange(lean, peer, persistent) == 2
            assert exchange(lean, peer, persistent, 100_000) == 2, "a second load, with more than a read brings"
            if find_spec(module) is not None:
                assert library_exchange(library, peer, persistent) > 0
        listening = {each.laddr.ip for pid in pids for each in psutil.Process(pid).net_connections() if not each.raddr}
        assert listening == {LOOPBACK} or listening == {f"::ffff:{LOOPBACK}"}
        assert peer.version[0].isdigit()
        assert peer.durability
    finally:
        peer.end()
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_redis_in_memory(tmp_path: Path) -> None:
    check(lambda: redis.start(tmp_path / "r"), spec.REDIS, spec.REDIS_PY, "redis", (False,))
    assert not list((tmp_path / "r").rglob("*.aof"))


def test_redis_forced(tmp_path: Path) -> None:
    check(lambda: redis.start(tmp_path / "r", forced=True), spec.REDIS, spec.REDIS_PY, "redis", (True,))
    written = sum(each.stat().st_size for each in (tmp_path / "r").rglob("*.aof"))
    assert written > 4 * 100_000, "two large requests and their replies"


def test_mosquitto(tmp_path: Path) -> None:
    check(lambda: mosquitto.start(tmp_path / "m"), spec.MQTT, spec.PAHO, "paho", (False, True))
    assert (tmp_path / "m" / "mosquitto.db").exists(), "sessions are saved at the end"


@pytest.mark.slow
def test_activemq(tmp_path: Path) -> None:
    check(lambda: activemq.start(tmp_path / "a b"), spec.STOMP, spec.STOMP_PY, "stomp", (False, True))
    assert (tmp_path / "a b" / "data" / "lab" / "KahaDB" / "db-1.log").stat().st_size > 4 * 100_000


def test_activemq_without_java_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(PeerUnavailable, match="no Java here; install"):
        activemq.start(tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_java_is_taken_from_where_it_is_told_to_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert activemq.java() == str(program)


def test_an_incomplete_activemq_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if packages.find_unpacked("nobody", activemq.PROOF) is not None:
        pytest.skip("ActiveMQ is installed here, and that is preferred")
    if shutil.which("java") is None:
        pytest.skip("there is no Java here, and that is told first")
    monkeypatch.setenv(packages.CACHE_VARIABLE, str(tmp_path))
    libraries = tmp_path / "activemq" / "usr/share/java"
    libraries.mkdir(parents=True)
    (tmp_path / "activemq" / activemq.PROOF).touch()
    with pytest.raises(PeerUnavailable, match="its client library cannot be read"):
        activemq.start(tmp_path / "a")
    with zipfile.ZipFile(libraries / "activemq-client.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Bundle-Version: 5.99\n")
    assert activemq.version(tmp_path / "activemq") == "5.99"
    with pytest.raises(PeerUnavailable, match=r"there is no activemq-broker\.jar and no "):
        activemq.start(tmp_path / "a")


def test_libraries_beside_a_program_are_found_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "usr/lib/x86_64-linux-gnu").mkdir(parents=True)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/before")
    assert environment_for(tmp_path)["LD_LIBRARY_PATH"] == f"{tmp_path}/usr/lib/x86_64-linux-gnu:/before"
    assert environment_for(Path("/"))["LD_LIBRARY_PATH"] == "/before"


def test_a_cache_that_cannot_be_written_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for tool in ("apt-get", "dpkg-deb"):
        (tmp_path / tool).symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv(packages.CACHE_VARIABLE, str(tmp_path / "file"))
    with pytest.raises(PeerUnavailable, match=r"some-broker cannot be unpacked: .*set OSTLER_PEERS_CACHE to"):
        packages.unpack_packages("some-broker", ("some-broker",), "usr/sbin/some-broker")
    monkeypatch.setenv(packages.CACHE_VARIABLE, str(tmp_path / "cache"))
    with pytest.raises(PeerUnavailable, match="hold no usr/sbin/some-broker"):
        packages.unpack_packages("some-broker", ("some-broker",), "usr/sbin/some-broker")


def test_a_program_that_cannot_be_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(PeerUnavailable, match=r"some-broker: .* cannot be run"):
        output_of("some-broker", [str(tmp_path / "nothing")], dict(os.environ))
    loader = ["/bin/sh", "-c", "echo 'x: error while loading shared libraries: libx.so.1' >&2; exit 127"]
    with pytest.raises(PeerUnavailable, match=r"libx\.so\.1"):
        output_of("some-broker", loader, dict(os.environ))


STARTS_A_PEER = """
import os, sys, time
from pathlib import Path
from ostler.lab.peers.broker_process import Peer
peer = Peer("some-broker", "1", 1, Path(sys.argv[1]) / "log")
peer.add(["/bin/sleep", "600"], os.environ, Path(sys.argv[1]))
print(peer.pids[0], flush=True)
time.sleep(600)
"""


def test_a_peer_does_not_outlive_a_killed_laboratory(tmp_path: Path) -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("there is no setpriv, which asks the kernel to end a peer with us")
    starter = subprocess.Popen([sys.executable, "-c", STARTS_A_PEER, str(tmp_path)], stdout=subprocess.PIPE)
    assert starter.stdout is not None
    peer = psutil.Process(int(starter.stdout.readline()))
    # Before that it is still setpriv, which has not asked yet.
    deadline = time.monotonic() + SECONDS_MAX
    while peer.name() != "sleep" and time.monotonic() < deadline:
        os.sched_yield()
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    starter.stdout.close()
    try:
        peer.wait(SECONDS_MAX)
        outlives = False
    except psutil.TimeoutExpired:
        peer.kill()
        outlives = True
    assert not outlives


@pytest.mark.parametrize("persistent", [False, True], ids=["transient", "persistent"])
@pytest.mark.parametrize("name", ["nats", "mosquitto", "redis"])
def test_all_are_started_and_driven_alike(name: str, persistent: bool, tmp_path: Path) -> None:
    (known_peer,) = (each for each in known.KNOWN if each.name == name)
    try:
        peer = known_peer.start(tmp_path, persistent)
    except PeerUnavailable as reason:
        pytest.skip(str(reason))
    try:
        assert exchange(known_peer.client(persistent), peer, persistent) == 2
        assert peer.durability in known_peer.durabilities
        assert peer.version == known.inspect_peer(known_peer).version
    finally:
        peer.end()


def test_every_peer_has_a_lean_client_and_one_of_a_library() -> None:
    for each in known.KNOWN:
        for persistent in (False, True):
            lean, library = each.client(persistent), each.client(persistent, through_library=True)
            assert lean
            assert library
            assert lean != library


# -- what is told --------------------------------------------------------------------------------------------------


def told(*words: str) -> int:
    parser = argparse.ArgumentParser()
    lab_peers.add_command(parser.add_subparsers())
    arguments = parser.parse_args(["peers", *words])
    status: int = arguments.run(arguments)
    return status


@pytest.fixture
def nothing_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for peer in known.KNOWN:
        if packages.find_unpacked("nobody", peer.proof) is not None:
            pytest.skip(f"{peer.name} is installed here")
    monkeypatch.setenv(packages.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)


@pytest.mark.usefixtures("nothing_here")
def test_peers_that_are_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert told() == 1
    said = capsys.readouterr().out
    assert [line.split()[0] for line in said.splitlines() if "not here" in line] == list(known.NAMES)
    assert "ostler lab peers --fetch redis" in said
    assert "there is no Java here" in said


@pytest.mark.usefixtures("nothing_here")
def test_peers_that_cannot_be_fetched(capsys: pytest.CaptureFixture[str]) -> None:
    assert told("--fetch", "redis", "--json") == 1
    said = capsys.readouterr()
    (found,) = json.loads(said.out)
    assert (found["name"], found["state"], found["version"]) == ("redis", "not here", "")
    assert found["durabilities"] == [redis.IN_MEMORY, redis.FORCED]
    assert "without apt-get and dpkg-deb" in said.err


def test_a_peer_with_a_broken_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, nothing_here: None, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(packages.CACHE_VARIABLE, str(tmp_path))
    program = tmp_path / "redis" / redis.PROOF
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho what?\n")
    program.chmod(0o755)
    assert told("redis") == 1
    said = capsys.readouterr().out
    assert "unusable" in said
    assert "does not report its version: what?" in said
    program.write_text("#!/bin/sh\necho Redis server v=9.9.9 sha=0\n")
    assert told("redis") == 0
    assert "9.9.9" in capsys.readouterr().out


def test_an_unknown_peer(capsys: pytest.CaptureFixture[str]) -> None:
    assert told("rediss") == 2
    assert "no peer rediss. Did you mean redis?" in capsys.readouterr().err
    assert told("zzz") == 2
    assert "There are rabbitmq, nats" in capsys.readouterr().err
