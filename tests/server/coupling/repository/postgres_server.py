"""A real PostgreSQL of a test: killed, stopped, restarted on the same port with the same data."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from tests.free_ports import free_port

from ostler.lab.peers import postgresql
from ostler.lab.peers.packages import PeerUnavailable

SECONDS_MAX = 30.0


class PostgresOfTest:
    def __init__(self) -> None:
        """Start it, or skip the test where the package cannot be had."""
        self._port = free_port()
        try:
            self._server = postgresql.start(self._port)
        except PeerUnavailable as problem:
            pytest.skip(f"PostgreSQL is not here: {problem}")

    @property
    def url(self) -> str:
        return self._server.url

    def kill(self) -> None:
        """End it without any chance to write: it and all its processes."""
        for process in self._server.peer.processes:
            children = _children(process.pid)
            for pid in [process.pid, *children]:
                _send(pid, signal.SIGKILL)
            process.wait()
            deadline = time.monotonic() + SECONDS_MAX
            while any(Path(f"/proc/{pid}").exists() for pid in children):
                assert time.monotonic() < deadline, "processes of PostgreSQL do not end"
                time.sleep(0.01)
        self._server.peer.processes.clear()

    def start(self) -> None:
        self._server = postgresql.start(self._port, self._server.directory)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it and to all its processes."""
        for process in self._server.peer.processes:
            for pid in [process.pid, *_children(process.pid)]:
                _send(pid, number)

    def close(self) -> None:
        self.signal(signal.SIGCONT)
        self._server.remove()


def _children(pid: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
