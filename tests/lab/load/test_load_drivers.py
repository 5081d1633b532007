"""Drivers and the probes' servers over real sockets, with small counts."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.load.recorded import done_in, operations, timeline_of

from ostler.lab.load import spec
from ostler.lab.load.bare import server as bare_server
from ostler.lab.load.bare.client import BareClient
from ostler.lab.load.client import LoadFailed, Pace
from ostler.lab.load.drivers.driver_process import Load, new_load
from ostler.lab.load.drivers.epoll_driver import EpollDriver
from ostler.lab.load.drivers.load_worker import LoadWorker
from ostler.lab.load.drivers.start import start_driver
from ostler.lab.load.drivers.threaded_driver import ThreadedDriver
from ostler.lab.load.spec import LoadSpec
from ostler.lab.peers.broker_process import LOOPBACK
from ostler.lab.runner.contract import SilentWatcher

BLOCK_BYTES = 300_000  # more than a socket takes at once


@pytest.fixture(params=[bare_server.ECHO, bare_server.RELAY])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, tuple[str, int], int]]:
    """Kind, address and process id of a probe's server for small blocks."""
    listener = bare_server.listening((LOOPBACK, 0))
    process = bare_server.start(request.param, listener, 64)
    yield request.param, listener.getsockname(), process.pid
    listener.close()
    process.terminate()
    process.wait()


def bare_plan(address: tuple[str, int] | str, clients: int) -> LoadSpec:
    return LoadSpec(spec.BARE, address, range(clients), range(clients), 1, 64, False)


def done_by(load: Load) -> int:
    """Return the operations that drivers in processes do in no time."""
    return sum(operations(each.phases) for each in load.run(timeline_of(0.0), SilentWatcher()))


def test_every_requester_is_answered(server: tuple[str, tuple[str, int], int]) -> None:
    _, address, _ = server
    driver = start_driver(bare_plan(address, 3))
    done, again = done_in(driver, 0.05), done_in(driver)
    driver.close()
    assert done >= 3
    assert again == 3, "each has sent one request before the time was over"


def test_drivers_in_processes_share_a_load(server: tuple[str, tuple[str, int], int]) -> None:
    load = new_load(2)
    load.open(bare_plan(server[1], 3))
    assert done_by(load) == 3
    load.close()
    load.open(bare_plan(server[1], 1))
    assert done_by(load) == 1
    load.close()
    load.end()


def test_a_failed_load_is_told(tmp_path: Path) -> None:
    load = new_load()
    with pytest.raises(LoadFailed, match="No such file"):
        load.open(bare_plan(str(tmp_path / "nobody"), 1))
    load.end()


FEW_DESCRIPTORS = """
import resource
from ostler.lab.load import spec
from ostler.lab.load.client import LoadFailed
from ostler.lab.load.drivers.start import start_driver

resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))
made = spec.LoadSpec(spec.BARE, ("127.0.0.1", 1), range(10**9), range(5), 1, 64, False, conversations=0)
try:
    start_driver(made)
except LoadFailed as told:
    print(told)
"""


def test_more_clients_than_descriptors_are_refused_before_they_are_made() -> None:
    done = subprocess.run([sys.executable, "-c", FEW_DESCRIPTORS], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("a process may have 268 connections here, not 1,000,000,005: use more --drivers")


def test_parts_of_a_plan_are_the_whole() -> None:
    whole = bare_plan((LOOPBACK, 1), 5)
    parts = [whole.part(number, 2) for number in range(2)]
    assert sorted([*parts[0].requesters, *parts[1].requesters]) == [0, 1, 2, 3, 4]
    assert parts[0].responders == range(0, 5, 2)


def test_a_path_longer_than_an_address_and_blocks_longer_than_a_buffer(tmp_path: Path) -> None:
    directory = tmp_path / ("d" * 120)
    directory.mkdir()
    here = os.open(directory, os.O_RDONLY)
    listener = bare_server.listening(Path(f"/proc/self/fd/{here}/s"))
    os.close(here)

    def echo() -> None:
        sock, _ = listener.accept()
        sock.recv(100)
        sock.sendall(b"!")
        left = BLOCK_BYTES
        parts = []
        while left:
            parts.append(sock.recv(left))
            left -= len(parts[-1])
        sock.sendall(b"".join(parts))
        sock.close()

    thread = threading.Thread(target=echo)
    thread.start()
    pace = Pace()
    driver = EpollDriver(str(directory / "s"), pace)
    driver.open([BareClient(pace, True, 0, BLOCK_BYTES)])
    assert done_in(driver) == 1
    thread.join()
    with pytest.raises(LoadFailed, match="closed a connection"):
        done_in(driver)
    driver.close()
    listener.close()


class Echoing(LoadWorker[None]):
    """A requester and a responder over a pair of sockets."""

    def __init__(self, sock: socket.socket, is_requester: bool) -> None:
        self._sock = sock
        self._is_requester = is_requester
        self.is_open = False

    def open(self) -> None:
        self._sock.settimeout(0.05)
        self.is_open = True

    def step(self) -> None:
        if self._is_requester:
            self._sock.send(b"x")
            self._sock.settimeout(None)
            assert self._sock.recv(1) == b"x"
            return
        try:
            data = self._sock.recv(1)
        except TimeoutError:
            return
        if data:
            self._sock.send(data)

    def close(self) -> None:
        self._sock.close()
        self.is_open = False


def test_threads_request_during_timelines_only() -> None:
    ours, theirs = socket.socketpair()
    requester, responder = Echoing(ours, True), Echoing(theirs, False)
    driver = ThreadedDriver([lambda: requester], [lambda: responder])
    assert requester.is_open
    assert done_in(driver, 0.02) >= 1
    assert done_in(driver, 0.02) >= 1
    driver.close()
    assert not requester.is_open


def test_a_worker_that_cannot_connect_is_told() -> None:
    def refuse() -> LoadWorker[None]:
        raise ConnectionRefusedError("nobody listens")

    with pytest.raises(LoadFailed, match="nobody listens"):
        ThreadedDriver([refuse], [])
