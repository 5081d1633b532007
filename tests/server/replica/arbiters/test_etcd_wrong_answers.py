"""Answers that no etcd gives: every one is refused in time, in little memory, and nothing is believed."""

from __future__ import annotations

import base64
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from ostler.model.arbiter import FOLLOWING, ArbiterRefused, ArbiterUnavailable, Member
from ostler.server.replica import etcd_http
from ostler.server.replica.etcd_arbiter import EtcdArbiter
from ostler.server.replica.etcd_http import EtcdSettings

A = Member("a", "a(1)", 1, 100, FOLLOWING)
HEADER = {"cluster_id": "7", "member_id": "1", "revision": "9", "raft_term": "2"}
SECONDS_MAX = 60.0


class WrongServer:
    """Answers every connection with the bytes that a test gives, by the path that was asked for."""

    def __init__(self) -> None:
        self.answers: dict[str, Callable[[socket.socket], None]] = {}
        self.requests: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(link,), daemon=True).start()

    def _answer(self, link: socket.socket) -> None:
        with link:
            link.settimeout(SECONDS_MAX)
            try:
                request = b""
                while b"\r\n\r\n" not in request:
                    data = link.recv(65536)
                    if not data:
                        return
                    request += data
                path = request.split()[1].decode()
                self.requests.append(path)
                self.answers[path](link)
                link.shutdown(socket.SHUT_WR)
                while link.recv(65536):
                    pass
            except OSError:
                return

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(SECONDS_MAX)


@pytest.fixture
def server() -> Iterator[WrongServer]:
    made = WrongServer()
    yield made
    made.close()


def arbiter(server: WrongServer, timeout: float = 0.5) -> EtcdArbiter:
    return EtcdArbiter(EtcdSettings((f"http://127.0.0.1:{server.port}",), 2.0, timeout), "g", "QM1")


def send(data: bytes) -> Callable[[socket.socket], None]:
    return lambda link: link.sendall(data)


def http(body: bytes, status: str = "200 OK") -> Callable[[socket.socket], None]:
    return send(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)


def answer(**fields: object) -> Callable[[socket.socket], None]:
    return http(json.dumps({"header": HEADER, **fields}).encode())


def drip(link: socket.socket) -> None:
    """Bytes of a head that never ends, each in time."""
    link.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    while True:
        link.sendall(b"x")
        time.sleep(0.05)


def flood(link: socket.socket) -> None:
    link.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        link.sendall(b"[" * 65536)


def kv(key: str, value: str, **more: str) -> dict[str, str]:
    coded = {name: base64.b64encode(text.encode()).decode() for name, text in (("key", key), ("value", value))}
    return {**coded, "create_revision": "5", "mod_revision": "5", **more}


def ranges(*kvs: object) -> Callable[[socket.socket], None]:
    empty: dict[str, object] = {"response_range": {}}
    return answer(succeeded=True, responses=[{"response_range": {"kvs": list(kvs)}}, empty, empty])


FOUNDED = kv("/ostler/g/QM1/founded", '{"base": 0, "cluster": "7"}')
IN_SYNC = kv("/ostler/g/QM1/insync", '{"term": 0, "members": ["a"], "copies": 1}')

WRONG: dict[str, Callable[[socket.socket], None]] = {
    "nothing": send(b""),
    "no HTTP": send(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "half a head": send(b"HTTP/1.1 200 OK\r\nContent-"),
    "half a body": send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"),
    "a negative length": send(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}"),
    "a wrong chunk": send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n{}"),
    "a drip": drip,
    "a flood": flood,
    "many heads": send(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500 + b"\r\n{}"),
    "no JSON": http(b"<html>It works!</html>"),
    "deep JSON": http(b"[" * 100_000),
    "bad UTF-8": http(b'{"header": "\xff\xfe"}'),
    "a list": http(b"[]"),
    "no header": http(b"{}"),
    "a header of another kind": http(b'{"header": []}'),
    "a page that is missing": http(b"404 page not found", "404 Not Found"),
    "an error without a code": http(b'{"error": "x"}', "500 Internal Server Error"),
    "a redirection": send(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 2\r\n\r\n{}"),
    "no leader": http(b'{"error":"etcdserver: no leader","message":"etcdserver: no leader","code":14}', "503 X"),
    "too few responses": answer(succeeded=True, responses=[]),
    "responses of another kind": answer(succeeded=True, responses=[1, 2, 3]),
    "success that is no truth value": answer(succeeded="yes", responses=[{}, {}, {}]),
    "a failed comparison of nothing": answer(responses=[]),
    "keys that are none": ranges(17),
    "a key in no base64": ranges({**FOUNDED, "key": "%%%"}),
    "a key that is no text": ranges({**FOUNDED, "key": "//79"}),
    "a key of somebody else": ranges(kv("/other/x", "y")),
    "a revision that is no number": ranges({**FOUNDED, "mod_revision": "nine"}, IN_SYNC),
    "a negative revision": ranges({**FOUNDED, "mod_revision": "-9"}, IN_SYNC),
    "a huge revision": ranges({**FOUNDED, "mod_revision": "9" * 5000}, IN_SYNC),
    "a set without a founding": ranges(IN_SYNC),
    "a founding without a set": ranges(FOUNDED),
    "a set that is none": ranges(FOUNDED, kv("/ostler/g/QM1/insync", "[]")),
    "a set with too many copies": ranges(
        FOUNDED, kv("/ostler/g/QM1/insync", '{"term": 0, "members": ["a"], "copies": 2}')
    ),
    "a set with a wrong name": ranges(
        FOUNDED, kv("/ostler/g/QM1/insync", '{"term": 0, "members": ["a/b"], "copies": 1}')
    ),
    "a leader without a term": ranges(FOUNDED, IN_SYNC, kv("/ostler/g/QM1/leader", '{"instance": "a"}', lease="3")),
    "too many keys": ranges(*[kv(f"/ostler/g/QM1/suspended/n{i}", "yes") for i in range(200)]),
}


@pytest.mark.parametrize("name", list(WRONG))
def test_a_wrong_answer_is_no_answer(server: WrongServer, name: str) -> None:
    server.answers["/v3/kv/txn"] = WRONG[name]
    one = arbiter(server)
    began = time.monotonic()
    with pytest.raises(ArbiterUnavailable) as told:
        one.read()
    assert not isinstance(told.value, ArbiterRefused)
    assert time.monotonic() - began < SECONDS_MAX
    assert len(str(told.value)) < 1000
    assert str(told.value).isprintable()
    one.close()


def test_a_right_answer_of_the_same_server_is_one(server: WrongServer) -> None:
    """So that the others are refused for what is wrong with them."""
    server.answers["/v3/kv/txn"] = ranges(FOUNDED, IN_SYNC)
    view = arbiter(server).read()
    assert view.in_sync is not None
    assert view.in_sync.members == ("a",)


def test_a_member_that_cannot_be_read_does_not_count_and_does_no_harm(server: WrongServer) -> None:
    good = '{"address": "b(1)", "epoch": 1, "end": 2, "state": "standing", "promised": 3}'
    server.answers["/v3/kv/txn"] = ranges(
        FOUNDED,
        IN_SYNC,
        kv("/ostler/g/QM1/members/a", "nonsense"),
        kv("/ostler/g/QM1/members/b", good),
        kv("/ostler/g/QM1/members/c", good.replace("2", "-2")),
    )
    assert set(arbiter(server).read().members) == {"b"}


@pytest.mark.parametrize(
    "body",
    [
        {"error": "etcdserver: permission denied", "message": "etcdserver: permission denied", "code": 7},
        {"error": "etcdserver: mvcc: database space exceeded", "message": "space", "code": 8},
        {"error": "unknown field", "message": "unknown field", "code": 3},
    ],
)
def test_a_refusal_says_that_nothing_happened(server: WrongServer, body: dict[str, object]) -> None:
    server.answers["/v3/kv/txn"] = http(json.dumps(body).encode(), "400 Bad Request")
    with pytest.raises(ArbiterRefused):
        arbiter(server).read()


def test_keep_alives_of_a_lost_lease_and_of_another(server: WrongServer) -> None:
    server.answers["/v3/lease/grant"] = answer(ID="17", TTL="2")
    server.answers["/v3/kv/txn"] = answer(succeeded=True, responses=[{}])
    one = arbiter(server)
    one.register(A)
    assert one.session() == "11"
    for wrong in ({"ID": "18", "TTL": "2"}, {"ID": "17", "TTL": "soon"}, {}):
        server.answers["/v3/lease/keepalive"] = answer(result={"header": HEADER, **wrong})
        with pytest.raises(ArbiterUnavailable):
            one.keep_alive()
    assert one.session() == "11"
    server.answers["/v3/lease/keepalive"] = answer(result={"header": HEADER, "ID": "17"})  # what etcd answers
    assert one.keep_alive() is None
    assert one.session() == ""


def test_a_change_is_asked_for_once_however_it_is_answered(server: WrongServer) -> None:
    server.answers["/v3/kv/txn"] = send(b"")
    one = EtcdArbiter(
        EtcdSettings((f"http://127.0.0.1:{server.port}", f"http://127.0.0.1:{server.port}/"), 2.0, 0.5), "g", "QM1"
    )
    with pytest.raises(ArbiterUnavailable):
        one.set_in_sync(1, 1, ("a",), 1)
    assert server.requests == ["/v3/kv/txn"]
    with pytest.raises(ArbiterUnavailable):
        one.read()
    assert server.requests == ["/v3/kv/txn"] * 3  # a read asks everybody


def test_a_watch_of_nonsense_is_no_news_and_no_load(server: WrongServer) -> None:
    for wrong in (b"", b"HTTP/1.0 404 Not Found\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\nnonsense\n"):
        server.answers["/v3/watch"] = send(wrong)
        server.requests.clear()
        assert not arbiter(server).wait_change(0.6)
        assert 0 < len(server.requests) < 10


@pytest.mark.parametrize(
    ("endpoints", "lease", "timeout"),
    [
        ((), 5.0, 1.0),
        (("ftp://h:1",), 5.0, 1.0),
        (("http://h:1/path",), 5.0, 1.0),
        (("http://h:99999",), 5.0, 1.0),
        (("h:1",), 1.0, 0.5),
        (("h:1",), 5.0, 5.0),
        (("h:1",), 5.0, 0.0),
    ],
)
def test_settings_that_cannot_work_are_refused(endpoints: tuple[str, ...], lease: float, timeout: float) -> None:
    with pytest.raises(ValueError, match=r"endpoint|lease|Port"):
        EtcdSettings(endpoints, lease, timeout)


def test_endpoints_are_read_as_written() -> None:
    assert etcd_http.endpoint_address("https://etcd1.example") == ("etcd1.example", 2379, True)
    assert etcd_http.endpoint_address("127.0.0.1:23790") == ("127.0.0.1", 23790, False)
    assert etcd_http.endpoint_address("http://[::1]:5/") == ("::1", 5, False)
