"""Listeners: ports and Unix sockets, and what is said when one cannot be had."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.free_ports import free_port
from tests.world.wire_bench import dial, numbers, put

from ostler.model.attributes import ObjectType, Value
from ostler.model.constants import MQCC_OK, MQCHT_SVRCONN, MQRC_UNKNOWN_CHANNEL_NAME, MQRC_UNKNOWN_OBJECT_NAME
from ostler.model.definitions import new_definition
from ostler.model.errors import MQError
from ostler.server.assembly import Server
from ostler.server.config.qm_ini import LogSection
from ostler.server.net.listeners import ListenerRefused
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.testing.without_security import disable_security
from ostler.wire import frames as wire

HOST = "127.0.0.1"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    manager = QueueManager(create_queue_manager(tmp_path, "LISTENS", LogSection(primary_files=3, file_pages=64)))
    manager.start()
    manager.define(new_definition(ObjectType.CHANNEL, "APP", {"CHLTYPE": MQCHT_SVRCONN}))
    manager.define(new_definition(ObjectType.QLOCAL, "Q", {}))
    made = Server(disable_security(manager))
    made.start()
    yield made
    made.end("immediate")


@pytest.fixture
def path() -> Iterator[str]:
    """Of a Unix socket: IPADDR holds 48 characters."""
    with tempfile.TemporaryDirectory(prefix="o.") as directory:
        yield f"{directory}/app.sock"


def define(server: Server, name: str, **attributes: Value) -> None:
    server.manager.define(new_definition(ObjectType.LISTENER, name, attributes), replace=True)


def check_served(address: tuple[str, int] | str) -> None:
    peer = dial(address)
    assert peer.hello("APP").completion == MQCC_OK
    assert peer.connect().completion == MQCC_OK
    peer.open("Q")
    assert peer.ask(wire.PUT, put(2, b"x")).completion == MQCC_OK
    peer.sock.close()


def test_several_ports(server: Server) -> None:
    ports = [free_port() for _ in range(3)]
    for number, port in enumerate(ports):
        define(server, f"L{number}", PORT=port, IPADDR=HOST)
        assert server.start_listener(f"L{number}") == port
        assert server.port_of(f"L{number}") == port
    for port in ports:
        check_served((HOST, port))
    found = {status.name: (status.port, status.status) for status in server.listener_status()}
    assert found == {f"L{number}": (port, "RUNNING") for number, port in enumerate(ports)}


def test_a_listener_that_stops_refuses_and_its_connections_go_on(server: Server) -> None:
    port = free_port()
    define(server, "L", PORT=port, IPADDR=HOST)
    server.start_listener("L")
    peer = dial((HOST, port))
    peer.hello("APP")
    server.stop_listener("L")
    with pytest.raises(ConnectionRefusedError):
        dial((HOST, port))
    assert server.listener_status() == []
    assert peer.connect().completion == MQCC_OK
    assert peer.ask(wire.DISCONNECT, numbers(0)).completion == MQCC_OK
    server.start_listener("L")
    check_served((HOST, port))
    with pytest.raises(MQError) as refused:
        server.stop_listener("OTHER")
    assert refused.value.reason == MQRC_UNKNOWN_OBJECT_NAME


def test_a_port_in_use_names_who_holds_it(server: Server) -> None:
    with socket.create_server((HOST, 0)) as holder:
        port = holder.getsockname()[1]
        define(server, "L", PORT=port, IPADDR=HOST)
        with pytest.raises(ListenerRefused) as refused:
            server.start_listener("L")
    text = str(refused.value)
    assert f"port {port} of {HOST}" in text
    assert f"process {os.getpid()}" in text
    assert server.listener_status() == []
    server.start_listener("L")
    with pytest.raises(ListenerRefused, match="running already"):
        server.start_listener("L")


def test_addresses_that_cannot_be(server: Server) -> None:
    define(server, "ELSEWHERE", PORT=free_port(), IPADDR="192.0.2.1")
    with pytest.raises(ListenerRefused, match="does not have that address"):
        server.start_listener("ELSEWHERE")
    define(server, "NONSENSE", PORT=free_port(), IPADDR="no such name.invalid")
    with pytest.raises(ListenerRefused, match="not an address"):
        server.start_listener("NONSENSE")
    with pytest.raises(MQError) as unknown:
        server.start_listener("NOT.DEFINED")
    assert unknown.value.reason == MQRC_UNKNOWN_OBJECT_NAME


def test_a_unix_socket(server: Server, path: str) -> None:
    define(server, "UNIX", IPADDR=path)
    server.start_listener("UNIX")
    check_served(path)
    # It is for channels, as a port is.
    peer = dial(path)
    assert peer.hello("").reason == MQRC_UNKNOWN_CHANNEL_NAME
    server.stop_listener("UNIX")
    assert not Path(path).exists()
    with pytest.raises(FileNotFoundError):
        dial(path)


def test_a_unix_socket_that_somebody_left_or_uses(server: Server, path: str) -> None:
    define(server, "UNIX", IPADDR=path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as left:
        left.bind(path)
    server.start_listener("UNIX")
    check_served(path)
    define(server, "SECOND", IPADDR=path)
    with pytest.raises(ListenerRefused, match="cannot use the Unix socket"):
        server.start_listener("SECOND")
    check_served(path)
    server.stop_listener("UNIX")
    Path(path).write_text("somebody's file")
    with pytest.raises(ListenerRefused):
        server.start_listener("UNIX")
    assert Path(path).read_text() == "somebody's file"


def test_listeners_that_start_with_the_queue_manager(tmp_path: Path) -> None:
    manager = QueueManager(create_queue_manager(tmp_path, "STARTS", LogSection(primary_files=3, file_pages=64)))
    manager.start()
    ports = {name: free_port() for name in ("QMGR", "STARTONLY", "MANUAL", "TAKEN")}
    for name, control in (("QMGR", 0), ("STARTONLY", 1), ("MANUAL", 2), ("TAKEN", 0)):
        given: dict[str, Value] = {"PORT": ports[name], "IPADDR": HOST, "CONTROL": control}
        manager.define(new_definition(ObjectType.LISTENER, name, given))
    server = Server(manager)
    with socket.create_server((HOST, ports["TAKEN"])):
        server.start()
        running = {status.name for status in server.listener_status()}
    assert running >= {"QMGR", "STARTONLY"}
    assert running.isdisjoint({"MANUAL", "TAKEN"})
    assert any(f"port {ports['TAKEN']}" in note for note in manager.notices)
    server.end("immediate")
