"""A real etcd of a test: killed, stopped, restarted on the same ports with the same data."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from tests.free_ports import free_port
from tests.world.replica.replica_group import is_stopped

from ostler.lab.peers import etcd
from ostler.lab.peers.broker_process import Peer
from ostler.lab.peers.packages import PeerUnavailable
from ostler.model.arbiter import ArbiterUnavailable
from ostler.server.replica.etcd_http import EtcdConnection, EtcdSettings

ANSWER_SECONDS_MAX = 120.0


class EtcdServer:
    def __init__(self, directory: Path, certificate: Path | None = None, key: Path | None = None) -> None:
        """Start it, or skip the test where the package cannot be had."""
        self.directory = directory
        self._ports = etcd.Ports(free_port(), free_port())
        self._files = (certificate, key)
        self._peer: Peer | None = None
        try:
            self.start()
        except PeerUnavailable as problem:
            pytest.skip(f"etcd is not here: {problem}")

    @property
    def port(self) -> int:
        return self._ports.client

    @property
    def endpoint(self) -> str:
        return f"{'https' if self._files[0] else 'http'}://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.start_without_asking()
        if not self._files[0]:
            self.wait_until_answering()

    def start_without_asking(self) -> None:
        """Start it for those who have passwords or certificates."""
        self._peer = etcd.start(self.directory, self._ports, *self._files)

    def wait_until_answering(self) -> None:
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        connection = EtcdConnection(EtcdSettings((self.endpoint,)))
        problem = ""
        while time.monotonic() < deadline:
            try:
                connection.call("/v3/kv/range", {"key": "YQ=="})
            except ArbiterUnavailable as unavailable:
                problem = str(unavailable)
                time.sleep(0.02)
                continue
            connection.close()
            return
        raise AssertionError(f"etcd does not answer: {problem}")

    def kill(self) -> None:
        assert self._peer is not None
        for process in self._peer.processes:
            process.kill()
            process.wait()
        self._peer = None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal. After SIGSTOP every thread stands still when this returns."""
        assert self._peer is not None
        for pid in self._peer.pids:
            os.kill(pid, number)
            deadline = time.monotonic() + ANSWER_SECONDS_MAX
            while number == signal.SIGSTOP and not is_stopped(pid):
                assert time.monotonic() < deadline, "etcd does not stop"
                time.sleep(0.005)

    def close(self) -> None:
        if self._peer is not None:
            self.signal(signal.SIGCONT)
            self.kill()


class EtcdCluster:
    """Three members on loopback, each of which can be killed and started again."""

    def __init__(self, directory: Path) -> None:
        """Start them, or skip the test where the package cannot be had."""
        self._directory = directory
        self._ports = {name: etcd.Ports(free_port(), free_port()) for name in ("one", "two", "three")}
        self._members: dict[str, Peer] = {}
        try:
            for name in self._ports:
                self.start(name)
        except PeerUnavailable as problem:
            pytest.skip(f"etcd is not here: {problem}")
        for name, member in self._members.items():
            member.wait_until_listening(ANSWER_SECONDS_MAX, self._ports[name].client)

    @property
    def names(self) -> list[str]:
        return list(self._ports)

    @property
    def endpoints(self) -> str:
        return ",".join(f"http://127.0.0.1:{each.client}" for each in self._ports.values())

    def start(self, name: str) -> None:
        self._members[name] = etcd.launch_member(self._directory / name, name, self._ports)

    def kill(self, name: str) -> None:
        for process in self._members.pop(name).processes:
            process.kill()
            process.wait()

    def close(self) -> None:
        for name in list(self._members):
            self.kill(name)
