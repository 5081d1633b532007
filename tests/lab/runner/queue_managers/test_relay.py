"""A relay between two sockets: order, delay, cuts, holding, refusing, and its end."""

from __future__ import annotations

import contextlib
import os
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from ostler.lab.runner.queue_managers.relay import BACK, FORWARD, Relay, RelayFailed
from ostler.lab.runner.queue_managers.relay_loop import LOOPBACK

_SECONDS_MAX = 20


class Site:
    """A listener, a relay before it, and connections through both."""

    def __init__(self, delay_ms: float = 0.0) -> None:
        self.listener = socket.create_server((LOOPBACK, 0))
        self.listener.settimeout(_SECONDS_MAX)
        self.relay = Relay(self.listener.getsockname()[1], delay_ms)
        self.sockets: list[socket.socket] = []

    def connect(self) -> tuple[socket.socket, socket.socket]:
        near = socket.create_connection((LOOPBACK, self.relay.port), _SECONDS_MAX)
        far, _ = self.listener.accept()
        far.settimeout(_SECONDS_MAX)
        self.sockets += [near, far]
        return near, far

    def close(self) -> None:
        self.relay.close()
        self.listener.close()
        for each in self.sockets:
            each.close()


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.close()


def read(sock: socket.socket, count: int) -> bytes:
    """So many bytes, or as many as came before the end."""
    parts: list[bytes] = []
    while count and (data := sock.recv(min(count, 1 << 20))):
        parts.append(data)
        count -= len(data)
    return b"".join(parts)


def until_reset(sock: socket.socket) -> bytes:
    """Return the bytes that come before the connection is reset."""
    parts: list[bytes] = []
    try:
        while data := sock.recv(1 << 16):
            parts.append(data)
    except ConnectionResetError:
        return b"".join(parts)
    pytest.fail("it ended in good order")


@pytest.mark.parametrize("delay_ms", [0, 3])
def test_all_bytes_of_all_connections_arrive_in_order_both_ways(delay_ms: float) -> None:
    site = Site(delay_ms)
    pairs = [site.connect() for _ in range(4)]
    contents = [random.Random(number).randbytes(300_000) for number in range(8)]
    found: dict[int, bytes] = {}

    def send(sock: socket.socket, data: bytes, chance: random.Random) -> None:
        at = 0
        while at < len(data):
            size = chance.choice([1, 100, 5_000, 100_000])
            sock.sendall(data[at : at + size])
            at += size
        sock.shutdown(socket.SHUT_WR)

    def receive(number: int, sock: socket.socket) -> None:
        found[number] = read(sock, 1 << 30)

    threads: list[threading.Thread] = []
    for number, (near, far) in enumerate(pairs):
        for at, (source, target) in enumerate([(near, far), (far, near)]):
            index = 2 * number + at
            threads.append(threading.Thread(target=send, args=(source, contents[index], random.Random(index))))
            threads.append(threading.Thread(target=receive, args=(index, target)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counters = site.relay.counters()
    site.close()
    assert [found[index] for index in range(8)] == contents
    assert (counters.forward_bytes, counters.back_bytes) == (1_200_000, 1_200_000)
    assert counters.connections_made == 4


def test_a_round_trip_takes_twice_the_delay_or_longer_and_many_fit_into_one() -> None:
    site = Site(10)
    near, far = site.connect()
    began = time.monotonic()
    near.sendall(b"there")
    assert read(far, 5) == b"there"
    far.sendall(b"back")
    assert read(near, 4) == b"back"
    assert time.monotonic() - began >= 0.020
    # The delay does not limit how much is under way: what was sent first is not waited for.
    near.sendall(bytes(2_000_000))
    assert len(read(far, 2_000_000)) == 2_000_000
    site.relay.set_delay(0)
    near.sendall(b"!")
    assert read(far, 1) == b"!"
    site.close()


def test_cut_resets_both_sides_and_who_comes_next_is_served(site: Site) -> None:
    pairs = [site.connect() for _ in range(3)]
    site.relay.cut()
    for near, far in pairs:
        until_reset(near)
        until_reset(far)
    counters = site.relay.counters()
    assert (counters.cuts, counters.connections) == (1, 0)
    near, far = site.connect()
    near.sendall(b"again")
    assert read(far, 5) == b"again"


@pytest.mark.parametrize("direction", [FORWARD, BACK])
def test_cut_after_exactly_so_many_bytes_of_one_direction(site: Site, direction: int) -> None:
    near, far = site.connect()
    source, target = (near, far) if direction == FORWARD else (far, near)
    source.sendall(b"before ")
    assert read(target, 7) == b"before "
    site.relay.cut(11, direction)
    # The other direction does not count.
    target.sendall(bytes(1000))
    assert len(read(source, 1000)) == 1000
    source.sendall(b"exactly")
    source.sendall(b" so many more")
    assert until_reset(target) == b"exactly so "
    until_reset(source)
    assert site.relay.counters().cuts == 1


def test_hold_lets_nothing_through_and_loses_nothing(site: Site) -> None:
    near, far = site.connect()
    near.sendall(b"one")
    assert read(far, 3) == b"one"
    site.relay.hold()
    near.sendall(b"two")
    far.sendall(b"three")
    later, _ = site.connect()
    later.sendall(b"new")
    counters = site.relay.counters()
    assert (counters.forward_bytes, counters.back_bytes, counters.connections) == (3, 0, 2)
    site.relay.resume()
    assert read(far, 3) == b"two"
    assert read(near, 5) == b"three"


def test_who_sends_to_one_that_does_not_read_has_to_wait(site: Site) -> None:
    near, far = site.connect()
    near.settimeout(0.2)
    sent = 0
    with contextlib.suppress(TimeoutError):
        while sent < 1 << 30:
            sent += near.send(bytes(1 << 20))
    # The buffers of four sockets, and what the relay holds.
    assert sent < 64 << 20
    near.settimeout(_SECONDS_MAX)
    near.shutdown(socket.SHUT_WR)
    assert len(read(far, 1 << 30)) == sent


def test_refuse_and_accept(site: Site) -> None:
    near, far = site.connect()
    site.relay.refuse()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((LOOPBACK, site.relay.port), _SECONDS_MAX)
    near.sendall(b"still")
    assert read(far, 5) == b"still"
    site.relay.accept()
    near, far = site.connect()
    far.sendall(b"here")
    assert read(near, 4) == b"here"


def test_hundreds_of_connections_at_once(site: Site) -> None:
    pairs = [site.connect() for _ in range(150)]
    for number, (near, _) in enumerate(pairs):
        near.sendall(number.to_bytes(2, "little"))
    assert [int.from_bytes(read(far, 2), "little") for _, far in pairs] == list(range(150))
    assert site.relay.counters().connections == 150


def test_an_end_is_passed_on_and_the_other_way_stays_open(site: Site) -> None:
    near, far = site.connect()
    near.sendall(b"last words")
    near.shutdown(socket.SHUT_WR)
    assert read(far, 1000) == b"last words"
    far.sendall(b"answer")
    far.close()
    assert read(near, 1000) == b"answer"


def test_nobody_behind_the_relay() -> None:
    listener = socket.create_server((LOOPBACK, 0))
    port = listener.getsockname()[1]
    listener.close()
    with Relay(port) as relay:
        # The reset may come before the connecting returns, or after it.
        with pytest.raises(ConnectionResetError), socket.create_connection((LOOPBACK, relay.port), 20) as sock:
            sock.recv(1)
        assert relay.counters().unreached == 1
        # It comes up later.
        with (
            socket.create_server((LOOPBACK, port)) as again,
            socket.create_connection((LOOPBACK, relay.port), _SECONDS_MAX) as near,
        ):
            far, _ = again.accept()
            far.sendall(b"up")
            assert read(near, 2) == b"up"
            far.close()


def test_close_resets_connections_and_frees_the_port(site: Site) -> None:
    near, far = site.connect()
    site.relay.close()
    until_reset(near)
    until_reset(far)
    with pytest.raises(RelayFailed):
        site.relay.cut()
    site.relay = Relay(site.listener.getsockname()[1], port=site.relay.port)
    near, far = site.connect()
    near.sendall(b"x")
    assert read(far, 1) == b"x"


def test_a_relay_that_was_killed_says_so(site: Site) -> None:
    os.kill(site.relay.pid, signal.SIGKILL)
    with pytest.raises(RelayFailed, match="ended with status -9"):
        site.relay.hold()


def test_it_ends_with_the_process_that_started_it() -> None:
    program = (
        "import sys; from ostler.lab.runner.queue_managers.relay import Relay\n"
        "relay = Relay(1); print(relay.pid, flush=True); sys.stdin.read()"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    descriptor = os.pidfd_open(pid)
    parent.kill()
    parent.communicate()
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    assert poll.poll(_SECONDS_MAX * 1000), "the relay is still there"
    os.close(descriptor)
