"""Outbound connections of channels, many at once and without blocking."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from functools import partial
from queue import SimpleQueue

import pytest
from tests.free_ports import free_port

from ostler.server.channels.outbound import ConnectAttempt, OutboundConnector
from ostler.server.net.outgoing_sockets import HostAddress

HERE = HostAddress(socket.AF_INET, "127.0.0.1")
SECONDS = 30.0
REFUSED = "Connection refused (111)"


class NameServer:
    """Knows what it is told, and answers when it may."""

    def __init__(self) -> None:
        self.hosts: dict[str, list[HostAddress]] = {}
        self.asked: list[str] = []
        self.hears = threading.Event()
        self.may_answer = threading.Event()
        self.may_answer.set()

    def look(self, host: str) -> list[HostAddress]:
        self.asked.append(host)
        self.hears.set()
        if host.startswith("slow"):
            assert self.may_answer.wait(SECONDS)
        if host not in self.hosts:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return self.hosts[host]


class Caller:
    """A connector whose posts the test takes up by hand."""

    def __init__(self, connect_seconds: float = SECONDS, calls_max: int = 512) -> None:
        self.names = NameServer()
        self.posted: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.connector = OutboundConnector(
            self.posted.put, connect_seconds=connect_seconds, calls_max=calls_max, resolve=self.names.look
        )
        self.outcomes: dict[str, str] = {}
        self.sockets: dict[str, socket.socket] = {}

    def connect(self, names: str, local: str = "", keep_alive: int = 0, title: str = "") -> ConnectAttempt:
        title = title or names
        return self.connector.connect(
            names, local, keep_alive, partial(self._then, title), partial(self._failed, title)
        )

    def _then(self, title: str, connected: socket.socket, address: str) -> None:
        assert title not in self.outcomes
        self.sockets[title] = connected
        self.outcomes[title] = address

    def _failed(self, title: str, text: str) -> None:
        assert title not in self.outcomes
        self.outcomes[title] = text

    def turn(self, times: int = 1) -> None:
        for _ in range(times):
            self.posted.get(timeout=SECONDS)()

    def outcome(self, names: str, local: str = "") -> str:
        self.connect(names, local)
        self.turn()
        return self.outcomes[names]

    def close(self) -> None:
        self.names.may_answer.set()
        self.connector.close()
        for each in self.sockets.values():
            each.close()


@pytest.fixture
def caller() -> Iterator[Caller]:
    made = Caller()
    yield made
    made.close()


@pytest.fixture
def hasty() -> Iterator[Caller]:
    """One that waits for nobody."""
    made = Caller(connect_seconds=0.02)
    yield made
    made.close()


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=512) as made:
        made.settimeout(SECONDS)
        yield made


def at(listener: socket.socket) -> str:
    return f"127.0.0.1({listener.getsockname()[1]})"


def test_a_partner_that_is_there(caller: Caller, listener: socket.socket) -> None:
    caller.connect(at(listener), keep_alive=360)
    caller.turn()
    assert caller.outcomes == {at(listener): at(listener)}
    connected = caller.sockets[at(listener)]
    assert not connected.getblocking()
    assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 360
    with listener.accept()[0] as taken:
        taken.sendall(b"x")
        connected.setblocking(True)
        assert connected.recv(1) == b"x"


def test_nothing_is_said_before_the_reactor_does(caller: Caller) -> None:
    attempt = caller.connect(f"127.0.0.1({free_port()})")
    told = caller.posted.get(timeout=SECONDS)
    assert not caller.outcomes
    assert not attempt.is_done
    told()
    assert caller.outcomes
    assert attempt.is_done


def test_the_next_address_when_one_refuses(caller: Caller, listener: socket.socket) -> None:
    names = f"127.0.0.1({free_port()}), {at(listener)}, 127.0.0.1({free_port()})"
    assert caller.outcome(names) == at(listener)


def test_when_all_refuse_all_are_named(caller: Caller) -> None:
    first, second = free_port(), free_port()
    expected = f"No partner could be reached. 127.0.0.1({first}): {REFUSED}; 127.0.0.1({second}): {REFUSED}."
    assert caller.outcome(f"127.0.0.1({first}),127.0.0.1({second})") == expected


def test_addresses_of_version_6(caller: Caller) -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:
        port = listener.getsockname()[1]
        assert caller.outcome(f"[::1]({port})") == f"::1({port})"


def test_names_are_looked_up(caller: Caller, listener: socket.socket) -> None:
    caller.names.hosts["partner"] = [HostAddress(socket.AF_INET, "127.0.0.9"), HERE]
    port = listener.getsockname()[1]
    assert caller.outcome(f"partner({port})") == f"127.0.0.1({port})"
    refused = free_port()
    text = caller.outcome(f"partner({refused}),nowhere,127.0.0.1({refused})")
    assert text == (
        f"No partner could be reached. partner({refused}) at 127.0.0.9: {REFUSED}; "
        f"partner({refused}) at 127.0.0.1: {REFUSED}; nowhere(1414): Name or service not known (-2); "
        f"127.0.0.1({refused}): {REFUSED}."
    )


def test_names_without_addresses(caller: Caller) -> None:
    caller.names.hosts["empty"] = []
    assert caller.outcome("empty") == "No partner could be reached. empty(1414): it has no address."


def test_a_name_is_looked_up_once_for_all(caller: Caller, listener: socket.socket) -> None:
    names = caller.names
    names.may_answer.clear()
    names.hosts["slow"] = [HERE]
    port = listener.getsockname()[1]
    for number in range(50):
        caller.connect(f"slow({port})", title=str(number))
    # One that needs no name is not held up; by then the others have asked.
    caller.connect(at(listener))
    caller.turn()
    assert caller.outcomes == {at(listener): at(listener)}
    assert names.hears.wait(SECONDS)
    names.may_answer.set()
    caller.turn(50)
    assert len(caller.sockets) == 51
    assert names.asked == ["slow"]


def test_many_names_keep_few_threads(caller: Caller) -> None:
    caller.names.may_answer.clear()
    for number in range(60):
        caller.connect(f"slow{number}")
    caller.connect(f"127.0.0.1({free_port()})")
    caller.turn()
    threads = [each.name for each in threading.enumerate()]
    assert threads.count("ostler-look-up") == 15
    assert threads.count("ostler-connector") == 1
    caller.names.may_answer.set()
    caller.turn(60)
    assert len(caller.names.asked) == 60


def test_a_name_server_that_does_not_answer(hasty: Caller, listener: socket.socket) -> None:
    hasty.names.may_answer.clear()
    assert hasty.outcome("slow") == (
        "No partner could be reached. slow(1414): it could not be looked up within 0.02 seconds."
    )
    assert hasty.outcome(f"slow,{at(listener)}") == at(listener)
    assert hasty.names.asked == ["slow"]


def test_an_answer_of_a_name_server_that_comes_too_late(hasty: Caller) -> None:
    hasty.names.may_answer.clear()
    hasty.names.hosts["slow1"] = [HERE]
    hasty.connect("slow1,slow2")
    hasty.turn()
    hasty.names.may_answer.set()
    assert "slow1(1414): it could not" in hasty.outcomes["slow1,slow2"]
    assert "slow2(1414): it could not" in hasty.outcomes["slow1,slow2"]


def test_a_partner_that_does_not_answer(hasty: Caller, listener: socket.socket) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf:
        fillers = [socket.socket() for _ in range(3)]
        try:
            for each in fillers:
                each.setblocking(False)
                each.connect_ex(deaf.getsockname())
            assert hasty.outcome(f"{at(deaf)},{at(listener)}") == at(listener)
            assert hasty.outcome(at(deaf)) == f"No partner could be reached. {at(deaf)}: Connection timed out (110)."
        finally:
            for each in fillers:
                each.close()


@pytest.mark.parametrize("names", ["", "host:1414", "host(0)"])
def test_names_that_make_no_sense(caller: Caller, names: str) -> None:
    caller.connect(names, title="it")
    assert not caller.outcomes
    caller.turn()
    assert "is not a connection name" in caller.outcomes["it"]


def test_local_addresses(caller: Caller, listener: socket.socket) -> None:
    caller.names.hosts["own"] = [HostAddress(socket.AF_INET, "127.0.0.7")]
    caller.connect(at(listener), "own", title="named")
    caller.turn()
    assert caller.sockets["named"].getsockname()[0] == "127.0.0.7"
    port = free_port()
    caller.connect(at(listener), f"({port})", title="port")
    caller.turn()
    assert caller.sockets["port"].getsockname()[1] == port


def test_local_addresses_that_are_none(caller: Caller, listener: socket.socket) -> None:
    start = "No partner could be reached."
    expected = {
        "elsewhere": f"{start} local address elsewhere: Name or service not known (-2).",
        "192.0.2.1": f"{start} {at(listener)}: Cannot assign requested address (99).",
        "::1": f"{start} {at(listener)}: The local address is of another family of addresses (97).",
    }
    for local in expected:
        caller.connect(at(listener), local, title=local)
        caller.turn()
    assert caller.outcomes == expected
    caller.connect(at(listener), "host(5,1)", title="it")
    caller.turn()
    assert "5" in caller.outcomes["it"]
    assert "1 is below 5" in caller.outcomes["it"]


def test_cancelled_while_it_is_looked_up(caller: Caller, listener: socket.socket) -> None:
    caller.names.may_answer.clear()
    caller.names.hosts["slow"] = [HERE]
    port = listener.getsockname()[1]
    attempt = caller.connect(f"slow({port})", title="cancelled")
    assert caller.names.hears.wait(SECONDS)
    attempt.cancel()
    attempt.cancel()
    caller.connect(f"slow({port})", title="other")
    caller.names.may_answer.set()
    caller.turn()
    assert list(caller.outcomes) == ["other"]
    with listener.accept()[0]:
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_cancelled_when_the_reactor_has_not_heard_of_it(caller: Caller, listener: socket.socket) -> None:
    attempt = caller.connect(at(listener))
    told = caller.posted.get(timeout=SECONDS)
    attempt.cancel()
    told()
    assert not caller.outcomes
    with listener.accept()[0] as taken:
        taken.settimeout(SECONDS)
        assert taken.recv(1) == b""  # the socket was closed


def test_closed_when_the_reactor_has_not_heard_of_it(caller: Caller, listener: socket.socket) -> None:
    caller.connect(at(listener))
    caller.connect("nonsense(0)")
    told = [caller.posted.get(timeout=SECONDS) for _ in range(2)]
    caller.connector.close()
    caller.connector.close()
    with listener.accept()[0] as taken:
        taken.settimeout(SECONDS)
        assert taken.recv(1) == b""
    for each in told:
        each()
    caller.connect(at(listener), title="late").cancel()
    assert not caller.outcomes
    assert caller.posted.empty()


def test_closed_while_nobody_answers(caller: Caller) -> None:
    caller.names.may_answer.clear()
    caller.connect("slow")
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf:
        for number in range(4):
            caller.connect(at(deaf), title=str(number))
        assert caller.names.hears.wait(SECONDS)
        caller.connector.close()
    assert "ostler-connector" not in [each.name for each in threading.enumerate()]


def test_closed_before_anything_was_asked() -> None:
    caller = Caller()
    caller.close()
    caller.connect("127.0.0.1")
    assert caller.posted.empty()


def test_one_call_at_a_time(listener: socket.socket) -> None:
    caller = Caller(calls_max=1)
    try:
        for number in range(20):
            caller.connect(f"127.0.0.1({free_port()}),{at(listener)}", title=str(number))
        caller.turn(20)
        assert list(caller.outcomes.values()) == [at(listener)] * 20
    finally:
        caller.close()


def test_a_thousand_at_once(caller: Caller, listener: socket.socket) -> None:
    refused = f"127.0.0.1({free_port()})"
    before = threading.active_count()
    for number in range(1000):
        caller.connect(at(listener) if number % 5 == 0 else f"{refused},{refused}", title=str(number))
    caller.turn(1000)
    assert threading.active_count() <= before + 1
    assert len(caller.sockets) == 200
    there = [number for number in range(1000) if caller.outcomes[str(number)] == at(listener)]
    assert there == list(range(0, 1000, 5))
    assert {caller.outcomes[str(number)] for number in range(1000) if number % 5} == {
        f"No partner could be reached. {refused}: {REFUSED}; {refused}: {REFUSED}."
    }
