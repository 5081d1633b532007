"""The simulated network behaves as the real one, where both are asked; and its faults are those of real ones."""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from ostler.testing.simulation.machine import SimulatedMachine
from ostler.testing.simulation.network import Network, SimulatedSocket
from ostler.testing.simulation.scheduler import Process, Scheduler
from ostler.testing.simulation.trace import Trace

PORT = 1414


@dataclass
class Pair:
    """Two connected sockets, and the epoll of the first."""

    one: Any
    other: Any
    epoll: Any
    network: Network | None = None

    def settle(self) -> None:
        if self.network is not None:
            self.network.scheduler.sleep(10)

    def events(self) -> int:
        found = self.epoll.poll(1, 10)
        return int(found[0][1]) if found else 0


def simulated_pair() -> Pair:
    scheduler = Scheduler(3, Trace())
    network = Network(scheduler)
    here = SimulatedMachine(network, network.add_host("127.1.0.1"), Process("here"))
    there = SimulatedMachine(network, network.add_host("127.1.0.2"), Process("there"))
    listening = there.listen("", PORT, 5)
    one = here.connect("127.1.0.2", PORT)
    scheduler.sleep(5)
    other, _ = listening.accept()
    epoll = here.epoll()
    epoll.register(one.fileno(), select.EPOLLIN)
    return Pair(one, other, epoll, network)


@pytest.fixture(params=["real", "simulated"])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    if request.param == "simulated":
        yield simulated_pair()
        return
    with socket.create_server(("127.0.0.1", 0)) as listening:
        one = socket.create_connection(listening.getsockname())
        other, _ = listening.accept()
    one.setblocking(False)
    other.setblocking(False)
    epoll = select.epoll()
    epoll.register(one.fileno(), select.EPOLLIN)
    yield Pair(one, other, epoll)
    epoll.close()
    one.close()
    other.close()


def receive(end: Any, count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += end.recv(100)
    return data


def test_bytes_arrive_and_are_reported(pair: Pair) -> None:
    assert pair.epoll.poll(0, 10) == []
    with pytest.raises(BlockingIOError):
        pair.one.recv(10)
    pair.other.send(b"x")
    pair.settle()
    assert pair.events() == select.EPOLLIN
    assert pair.one.recv(10) == b"x"
    assert pair.epoll.poll(0, 10) == []


def test_a_close_is_read_as_the_end(pair: Pair) -> None:
    pair.other.send(b"x")
    pair.other.close()
    pair.settle()
    assert pair.events() & select.EPOLLIN
    assert pair.one.recv(10) == b"x"
    assert pair.one.recv(10) == b""


def test_a_close_with_unread_bytes_resets(pair: Pair) -> None:
    pair.one.send(b"unread")
    pair.settle()
    pair.other.close()
    pair.settle()
    assert pair.events() & select.EPOLLHUP
    with pytest.raises(ConnectionResetError):
        pair.one.recv(10)


def test_a_reset_is_reported_without_being_asked_for(pair: Pair) -> None:
    pair.epoll.modify(pair.one.fileno(), 0)
    pair.one.send(b"unread")
    pair.settle()
    pair.other.close()
    pair.settle()
    assert pair.events() & select.EPOLLHUP


def test_a_full_socket_takes_nothing_more(pair: Pair) -> None:
    sent = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            sent += pair.one.send(bytes(10_000))
    assert sent > 0
    pair.epoll.modify(pair.one.fileno(), select.EPOLLOUT)
    assert pair.epoll.poll(0, 10) == []
    pair.settle()
    assert len(receive(pair.other, min(sent, 4096))) > 0


def test_an_epoll_refuses_what_it_does_not_know(pair: Pair) -> None:
    with pytest.raises(FileExistsError):
        pair.epoll.register(pair.one.fileno(), select.EPOLLIN)
    pair.epoll.unregister(pair.one.fileno())
    with pytest.raises(FileNotFoundError):
        pair.epoll.unregister(pair.one.fileno())


def test_bytes_stay_in_order_in_pieces_of_any_size() -> None:
    pair = simulated_pair()
    whole = bytes(range(256)) * 64
    sent = 0
    received = b""
    while len(received) < len(whole):
        if sent < len(whole):
            with contextlib.suppress(BlockingIOError):
                sent += pair.one.send(whole[sent:])
        pair.settle()
        with contextlib.suppress(BlockingIOError):
            received += pair.other.recv(1000)
    assert received == whole


def test_a_silenced_connection_tells_nobody() -> None:
    pair = simulated_pair()
    assert isinstance(pair.one, SimulatedSocket)
    assert pair.one.connection is not None
    pair.one.connection.silence([pair.one])
    pair.one.send(b"lost")
    pair.other.send(b"arrives")
    pair.settle()
    assert pair.one.recv(10) == b"arrives"[:10]
    with pytest.raises(BlockingIOError):
        pair.other.recv(10)


def test_parted_machines_get_everything_afterwards() -> None:
    pair = simulated_pair()
    assert pair.network is not None
    pair.network.part("127.1.0.1", "127.1.0.2", 60)
    pair.one.send(b"late")
    pair.settle()
    with pytest.raises(BlockingIOError):
        pair.other.recv(10)
    pair.network.scheduler.sleep(60)
    assert receive(pair.other, 4) == b"late"


def test_a_connection_that_was_silent_never_delivers_with_a_gap() -> None:
    pair = simulated_pair()
    assert pair.network is not None
    assert pair.one.connection is not None
    pair.one.connection.silence([pair.one])
    pair.one.send(b"lost")
    pair.network.heal()
    with contextlib.suppress(OSError):
        pair.one.send(b"later")
    pair.settle()
    with pytest.raises(ConnectionResetError):
        pair.other.recv(10)


def test_what_a_parting_holds_back_is_not_overtaken_by_what_was_sent_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A packet that is held back arrives before a later one, even if that one is so slow that no parting holds it."""
    pair = simulated_pair()
    assert pair.network is not None
    assert isinstance(pair.one, SimulatedSocket)
    assert pair.one.connection is not None
    delays_ns = iter([50_000_000, 300_000_000])
    monkeypatch.setattr(pair.one.connection, "_delay", lambda: next(delays_ns, 1_000_000))
    pair.one.send(b"first ")
    pair.one.send(b"second")
    pair.network.part("127.1.0.1", "127.1.0.2", 0.1)
    pair.network.scheduler.sleep(1)
    received = b""
    while len(received) < len(b"first second"):
        received += pair.other.recv(100)
    assert received == b"first second"
