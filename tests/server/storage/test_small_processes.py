"""Queue managers in processes that may have little memory or few descriptors, against clients that want all of it."""

from __future__ import annotations

import contextlib
import resource
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.server.storage.memory_process import MEGABYTE, SmallProcess, browse_without_reading
from tests.world.wire_bench import Answer, Peer, dial, get, put

from ostler.model.constants import (
    MQCC_OK,
    MQGMO_BROWSE_FIRST,
    MQGMO_NO_SYNCPOINT,
    MQRC_MAX_CONNS_LIMIT_REACHED,
    MQRC_NO_MSG_AVAILABLE,
    MQRC_STORAGE_NOT_AVAILABLE,
)
from ostler.wire import frames as wire
from ostler.wire import segments

BROWSE = MQGMO_BROWSE_FIRST | MQGMO_NO_SYNCPOINT
DESCRIPTORS = 256
Make = Callable[..., SmallProcess]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[SmallProcess] = []

    def start(limits: dict[int, int] | None = None, log_pages: int = 64) -> SmallProcess:
        made.append(SmallProcess(tmp_path, limits or {}, log_pages))
        return made[-1]

    yield start
    for each in made:
        each.kill()


def put_long(peer: Peer, size: int, persistent: bool = False, request: int = 9) -> int:
    """The reason of a long put's answer; ConnectionError when the link was ended."""
    payload = put(2, bytes(size), persistent=persistent)
    peer.sock.settimeout(120.0)
    peer.sock.sendall(b"".join(segments.frames_of(wire.PUT, 1, request, payload, wire.SEGMENT_BYTES)))
    peer.sock.setblocking(False)
    return patient(peer).reason


def patient(peer: Peer) -> Answer:
    """The next answer, for which the queue manager may take its time."""
    deadline = time.monotonic() + 120.0
    while True:
        with contextlib.suppress(AssertionError):
            answer = peer.next()
            if answer.type == wire.FAREWELL:
                raise ConnectionError(answer.text)
            return answer
        if peer.closed:
            raise ConnectionError("the link was closed")
        assert time.monotonic() < deadline, "no answer within two minutes"


def until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60.0
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


# -- memory ------------------------------------------------------------------------------------------------------------


def test_links_that_read_nothing_take_no_more_than_the_limit(make: Make) -> None:
    small = make()
    innocent = small.worker()
    for number in range(4):
        assert put_long(innocent, 4 * MEGABYTE, request=10 + number) == 0
    before = small.resident_bytes()
    greedy = [small.worker(by_listener=number % 2 == 0) for number in range(60)]
    for peer in greedy:
        browse_without_reading(peer, 40, BROWSE)
    # With a limit for each link alone these would be 60 times 16 MB and more; all together have a quarter of the limit
    # and one message each.
    until(lambda: small.number("held") > 200 * MEGABYTE, "nobody holds anything")
    limit = small.number("limit")
    assert put_long(innocent, 4 * MEGABYTE, request=20) == 0
    assert put_long(innocent, 100 * MEGABYTE - 1000, request=21) == 0
    assert innocent.ask(wire.GET, get(2), 22).completion == MQCC_OK
    assert small.number("held") <= limit
    assert small.resident_bytes_most() - before < min(limit, 800 * MEGABYTE) + 300 * MEGABYTE
    for peer in greedy:
        peer.sock.close()
    until(lambda: small.number("links") == 1, "the links are still there")
    assert small.number("held") == 0
    # The queue holds a long message in memory; all else goes back to the system.
    until(lambda: small.resident_bytes() - before < 200 * MEGABYTE, "memory is not given back")
    assert small.end() == 0


@pytest.mark.parametrize("persistent", [False, True], ids=["non-persistent", "persistent"])
def test_a_put_that_finds_no_memory_fails_for_itself(make: Make, persistent: bool) -> None:
    size = 60 * MEGABYTE
    small = make({resource.RLIMIT_AS: 480 * MEGABYTE}, 16384 if persistent else 64)
    seen: Counter[str] = Counter()
    balance: Counter[str] = Counter()

    def work() -> None:
        peer = small.worker()
        for _ in range(3):
            try:
                reason = put_long(peer, size, persistent)
                seen[f"put {reason}"] += 1
                balance["put"] += reason == 0
                peer.send(wire.frame(wire.GET, 1, 10, get(2, MQGMO_NO_SYNCPOINT)))
                answer = patient(peer)
                seen[f"get {answer.reason}"] += 1
                balance["got"] += answer.reason == 0
                assert answer.reason != 0 or len(answer.body) == size
            except (ConnectionError, TimeoutError) as error:
                seen[str(error)] += 1
                peer = small.worker()

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert small.look()["alive"], small.look()
    assert seen["put 0"] > 0, seen
    # Each fails with the reason for it or not at all; nobody's link is ended.
    allowed = {"put 0", f"put {MQRC_STORAGE_NOT_AVAILABLE}", "get 0"}
    allowed |= {f"get {MQRC_NO_MSG_AVAILABLE}", f"get {MQRC_STORAGE_NOT_AVAILABLE}", "put 2102"}
    assert set(seen) <= allowed, seen
    assert small.number("depth") == balance["put"] - balance["got"]
    peer = small.worker()
    peer.ask(wire.PUT, put(2, b"goes on", persistent=True))
    assert small.number("depth") == balance["put"] - balance["got"] + 1
    assert small.end() == 0


def test_the_limit_follows_what_the_process_may_have(make: Make) -> None:
    small = make({resource.RLIMIT_AS: 600 * MEGABYTE})
    assert small.number("limit") == 150 * MEGABYTE
    assert small.end() == 0


# -- descriptors -------------------------------------------------------------------------------------------------------


def half_open(small: SmallProcess, count: int) -> list[socket.socket]:
    made = []
    for _ in range(count):
        sock = socket.create_connection(("127.0.0.1", small.port), 30.0)
        made.append(sock)
    return made


def test_strangers_keep_neither_owner_nor_clients_out(make: Make) -> None:
    small = make({resource.RLIMIT_NOFILE: DESCRIPTORS})
    known = small.worker(by_listener=True)
    strangers = half_open(small, 300)
    assert "QMNAME(SMALL)" in small.mqsc("DISPLAY QMGR QMNAME")
    client = small.worker(by_listener=True)
    assert client.ask(wire.PUT, put(2, b"hello")).completion == MQCC_OK
    assert known.ask(wire.GET, get(2), 78).body == b"hello"
    assert small.number("links") < 100
    for sock in strangers:
        sock.close()
    assert small.end() == 0


def test_clients_that_take_all_places_do_not_keep_the_owner_out(make: Make) -> None:
    small = make({resource.RLIMIT_NOFILE: DESCRIPTORS})
    clients: list[Peer] = []
    with contextlib.suppress(AssertionError, OSError):
        while len(clients) < DESCRIPTORS:
            clients.append(small.worker(by_listener=True))
    assert 30 < len(clients) < DESCRIPTORS
    assert "QMNAME(SMALL)" in small.mqsc("DISPLAY QMGR QMNAME")
    # Not even programs on the local socket take the last places of those who give commands.
    local: list[Peer] = []
    reason = 0
    for _ in range(DESCRIPTORS):
        peer = dial(small.path)
        local.append(peer)
        if peer.hello().completion != MQCC_OK:
            break
        reason = peer.connect().reason
        if reason:
            break
    assert reason == MQRC_MAX_CONNS_LIMIT_REACHED
    assert "QMNAME(SMALL)" in small.mqsc("DISPLAY QMGR QMNAME")
    assert clients[0].ask(wire.PUT, put(2, b"hello")).completion == MQCC_OK
    assert small.end() == 0
