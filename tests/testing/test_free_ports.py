"""Ports for tests: refused until somebody listens, and given to nobody else."""

from __future__ import annotations

import socket

import pytest
from tests.free_ports import free_port


def test_a_port_refuses_until_its_owner_listens_on_it() -> None:
    port = free_port()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    for _ in range(2):
        with socket.create_server(("127.0.0.1", port)), socket.create_connection(("127.0.0.1", port)) as made:
            assert made.getpeername() == ("127.0.0.1", port)


def test_who_asks_for_any_port_gets_another() -> None:
    """Whoever binds a reserved port without allowing its reuse is told that it is in use."""
    port = free_port()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", port))
    assert len({free_port() for _ in range(50)}) == 50
