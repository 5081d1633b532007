"""Sockets of those who call: where they are bound, and what becomes of the call."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator

import pytest
from tests.free_ports import free_port

from ostler.model.connection_names import parse_local_addresses
from ostler.model.constants import MQKAI_AUTO
from ostler.server.net.outgoing_sockets import (
    HostAddress,
    LocalBinding,
    connect_result,
    error_text,
    keep_alive_seconds,
    local_bindings,
    resolve_host,
    set_keep_alive,
    start_connect,
    wait_connected,
)

HERE = HostAddress(socket.AF_INET, "127.0.0.1")
SECONDS = 30.0


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def port_of(made: socket.socket) -> int:
    port: int = made.getsockname()[1]
    return port


def bound(text: str) -> list[LocalBinding]:
    local = parse_local_addresses(text)
    return local_bindings(local, {each.host: resolve_host(each.host) for each in local if each.host})


def called(listener: socket.socket, local: str) -> socket.socket:
    made = start_connect(HERE, port_of(listener), bound(local))
    wait_connected(made, SECONDS)
    return made


def test_a_call_that_is_taken(listener: socket.socket) -> None:
    with called(listener, "") as made, listener.accept()[0] as other:
        assert not made.getblocking()
        assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        other.sendall(b"here")
        made.setblocking(True)
        assert made.recv(4) == b"here"


def test_a_call_that_is_not_taken() -> None:
    with start_connect(HERE, free_port(), []) as made, pytest.raises(ConnectionRefusedError) as refused:
        wait_connected(made, SECONDS)
    assert error_text(refused.value) == "Connection refused (111)"


def test_a_call_that_nobody_answers() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf:
        # The queue of calls is full with one; the system does not answer the others.
        waiting = [start_connect(HERE, port_of(deaf), []) for _ in range(4)]
        try:
            with pytest.raises(TimeoutError, match="timed out"):
                wait_connected(waiting[-1], 0.0)
        finally:
            for each in waiting:
                each.close()


def test_a_call_that_finds_itself_is_not_taken() -> None:
    port = free_port()
    with socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(("127.0.0.1", port))
        made.connect(("127.0.0.1", port))
        assert connect_result(made) == errno.ECONNREFUSED


def test_the_local_host(listener: socket.socket) -> None:
    with called(listener, "127.0.0.2"):
        taken, address = listener.accept()
        taken.close()
        assert address[0] == "127.0.0.2"


def test_the_local_address_of_the_family_counts(listener: socket.socket) -> None:
    with called(listener, "::1,127.0.0.3") as made:
        assert made.getsockname()[0] == "127.0.0.3"
    with pytest.raises(OSError, match="another family") as refused:
        called(listener, "::1")
    assert refused.value.errno == errno.EAFNOSUPPORT


def test_a_local_host_that_is_elsewhere(listener: socket.socket) -> None:
    for text in ("192.0.2.1", "192.0.2.1(1500,65000)"):
        with pytest.raises(OSError, match="Cannot assign") as refused:
            called(listener, text)
        assert refused.value.errno == errno.EADDRNOTAVAIL


@pytest.mark.parametrize("host", ["", "127.0.0.1"])
def test_a_local_port_serves_once_for_a_partner(listener: socket.socket, host: str) -> None:
    port = free_port()
    with called(listener, f"{host}({port})") as made:
        assert port_of(made) == port
        with pytest.raises(OSError, match=f"All local ports from {port} to {port} are in use"):
            called(listener, f"{host}({port})")


def test_ports_of_a_range(listener: socket.socket) -> None:
    low = 20_000
    made = [called(listener, f"({low},{low + 40})") for _ in range(3)]
    try:
        ports = [port_of(each) for each in made]
        assert len(set(ports)) == 3
        assert all(low <= port <= low + 40 for port in ports)
        assert ports == sorted(ports)
    finally:
        for each in made:
            each.close()


def test_a_range_may_begin_in_its_middle(listener: socket.socket) -> None:
    low = 20_100
    with start_connect(HERE, port_of(listener), bound(f"({low},{low + 40})"), 20) as made:
        assert low + 20 <= port_of(made) <= low + 40


def test_hosts_that_are_known() -> None:
    assert resolve_host("127.0.0.1", is_numeric=True) == [HERE]
    assert resolve_host("::1", is_numeric=True) == [HostAddress(socket.AF_INET6, "::1")]
    assert HERE in resolve_host("localhost")


@pytest.mark.parametrize("host", ["localhost", "a..b", "x" * 64 + ".org"])
def test_hosts_that_are_not_known(host: str) -> None:
    with pytest.raises(socket.gaierror, match="not known"):
        resolve_host(host, is_numeric=True)


@pytest.mark.parametrize(
    ("interval", "heartbeat", "expected"),
    [(MQKAI_AUTO, 300, 360), (MQKAI_AUTO, 1, 61), (MQKAI_AUTO, 0, 0), (0, 300, 0), (45, 300, 45), (99_999, 0, 99_999)],
)
def test_what_keeps_alive(interval: int, heartbeat: int, expected: int) -> None:
    assert keep_alive_seconds(interval, heartbeat) == expected


@pytest.mark.parametrize(("seconds", "expected"), [(45, (45, 45)), (360, (360, 75)), (99_999, (32_767, 75))])
def test_the_system_keeps_alive(seconds: int, expected: tuple[int, int]) -> None:
    with socket.socket() as made:
        set_keep_alive(made, seconds)
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        idle = made.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
        assert (idle, made.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL)) == expected
        set_keep_alive(made, 0)
        assert not made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
