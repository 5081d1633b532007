"""The end of a queue manager with sockets: quiet, at once, or as a crash, with applications in all states."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.free_ports import free_port
from tests.world.wire_bench import Answer, Peer, dial, get, numbers, put

from ostler.model.attributes import ObjectType, Value
from ostler.model.constants import (
    MQCC_OK,
    MQCHT_SVRCONN,
    MQGMO_FAIL_IF_QUIESCING,
    MQGMO_NO_SYNCPOINT,
    MQGMO_WAIT,
    MQPMO_SYNCPOINT,
    MQRC_CONNECTION_BROKEN,
    MQRC_CONNECTION_QUIESCING,
    MQRC_Q_MGR_QUIESCING,
    MQRC_Q_MGR_STOPPING,
)
from ostler.model.definitions import new_definition
from ostler.server.assembly import Server
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.testing.without_security import disable_security
from ostler.wire import frames as wire
from ostler.wire import segments
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.put_get_frames import HELD, get_any_payload
from ostler.wire.replies import decode_reason

WAIT = MQGMO_WAIT | MQGMO_NO_SYNCPOINT
LONG_SECONDS = 60.0


class Site:
    """A queue manager that listens on a port of its own, and can be started again."""

    def __init__(self, root: Path, port: int = 0) -> None:
        self.directory = create_queue_manager(root, "ENDS", LogSection(primary_files=3, file_pages=256))
        self.port = port or free_port()
        self.start()
        self.manager.define(new_definition(ObjectType.QLOCAL, "Q", {}))
        self.manager.define(new_definition(ObjectType.CHANNEL, "APP", {"CHLTYPE": MQCHT_SVRCONN}))
        listener: dict[str, Value] = {"PORT": self.port, "IPADDR": "127.0.0.1", "CONTROL": 0}
        self.manager.define(new_definition(ObjectType.LISTENER, "TCP", listener))
        self.server.start_listener("TCP")

    def start(self) -> None:
        self.manager = QueueManager(self.directory)
        self.manager.start()
        self.server = Server(disable_security(self.manager))
        self.server.start()

    def peer(self) -> Peer:
        peer = dial(("127.0.0.1", self.port))
        assert peer.hello("APP").completion == MQCC_OK
        assert peer.connect().completion == MQCC_OK
        peer.open("Q")
        return peer

    def ending(self, mode: str, wait_seconds: float = 0.0) -> threading.Thread:
        thread = threading.Thread(target=self.server.end, args=(mode, wait_seconds))
        thread.start()
        return thread

    def depth(self) -> int:
        with self.manager.lock:
            return int(self.manager.engine.queues["Q"].depth)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.server.end("immediate")


def until_closed(peer: Peer) -> list[Answer]:
    """All that comes before the link is closed."""
    found = []
    for _ in range(6_000):
        found += peer.answers(1)
        if peer.closed:
            return found
    raise AssertionError("the link stays open")


def reason_of(answer: Answer) -> int:
    if answer.type in (wire.NOTICE, wire.FAREWELL):
        return decode_reason(PayloadReader(answer.payload))[0]
    return answer.reason


def test_a_quiet_end_lets_applications_finish(site: Site) -> None:
    peer = site.peer()
    peer.ask(wire.PUT, put(2, b"first", MQPMO_SYNCPOINT, persistent=True))
    thread = site.ending("quiesce", LONG_SECONDS)
    notice = peer.next()
    assert (notice.type, reason_of(notice)) == (wire.NOTICE, MQRC_CONNECTION_QUIESCING)
    assert peer.connect(2).reason == MQRC_CONNECTION_QUIESCING
    assert peer.ask(wire.PUT, put(2, b"second", MQPMO_SYNCPOINT, persistent=True)).completion == MQCC_OK
    assert peer.ask(wire.DISCONNECT, numbers(1)).completion == MQCC_OK
    thread.join(LONG_SECONDS / 2)
    assert not thread.is_alive()
    assert [answer.type for answer in until_closed(peer)] == [wire.FAREWELL]
    site.start()
    assert site.depth() == 2


def test_a_quiet_end_tells_those_who_wait_and_asked_for_it(site: Site) -> None:
    peer = site.peer()
    peer.send(wire.frame(wire.GET, 1, 10, get(2, WAIT | MQGMO_FAIL_IF_QUIESCING, -1)))
    peer.send(wire.frame(wire.GET, 1, 11, get(2, WAIT, -1)))
    peer.ask(wire.STATUS, numbers(0))
    thread = site.ending("quiesce", LONG_SECONDS)
    assert peer.answer(10).reason == MQRC_Q_MGR_QUIESCING
    # The other one still gets its message.
    peer.send(wire.frame(wire.PUT, 1, 12, put(2, b"in time")))
    assert peer.answer(11).body == b"in time"
    peer.close()
    thread.join(LONG_SECONDS / 2)
    assert not thread.is_alive()


def in_all_states(site: Site) -> dict[str, Peer]:
    """Applications that do all kinds of things when the end comes."""
    peers = {name: site.peer() for name in ("idle", "unit", "waits", "holds", "looks", "streams", "sends", "held wait")}
    peers["unit"].ask(wire.PUT, put(2, b"uncommitted", MQPMO_SYNCPOINT, persistent=True))
    peers["idle"].ask(wire.PUT, put(2, b"kept", persistent=True))
    assert peers["holds"].ask(wire.GET, get(2, flags=HELD)).body == b"kept"
    peers["waits"].send(wire.frame(wire.GET, 1, 10, get(2, WAIT, -1, selector=b"a = 1")))
    peers["held wait"].send(wire.frame(wire.GET, 1, 10, get(2, WAIT, -1, HELD, selector=b"a = 1")))
    peers["looks"].send(wire.frame(wire.GET_ANY, 1, 10, get_any_payload(-1, [get(2, WAIT, -1, selector=b"a = 1")])))
    peers["streams"].send(wire.frame(wire.STREAM, 1, 10, numbers(9) + get(2, MQGMO_NO_SYNCPOINT, selector=b"a = 1")))
    peers["sends"].send(segments.segment(wire.PUT, 1, 10, True, put(2, bytes(100_000))))
    peers["hello"] = dial(("127.0.0.1", site.port))
    peers["hello"].hello("APP")
    peers["silent"] = dial(("127.0.0.1", site.port))
    for name in ("waits", "looks", "streams", "held wait"):
        peers[name].ask(wire.STATUS, numbers(0))
    return peers


@pytest.mark.parametrize("mode", ["quiesce", "immediate", "preemptive"])
def test_an_end_that_waits_for_nobody(site: Site, mode: str) -> None:
    peers = in_all_states(site)
    thread = site.ending(mode)
    last = {name: until_closed(peer) for name, peer in peers.items()}
    thread.join(LONG_SECONDS / 2)
    assert not thread.is_alive()
    broken = {MQRC_Q_MGR_STOPPING, MQRC_CONNECTION_BROKEN, MQRC_Q_MGR_QUIESCING}
    for name, answers in last.items():
        assert answers[-1].type == wire.FAREWELL, name
        assert reason_of(answers[-1]) == MQRC_CONNECTION_BROKEN
        told = [reason_of(answer) for answer in answers if answer.request == 10]
        assert len(told) == (name in ("waits", "looks", "streams", "held wait")), (name, answers)
        assert set(told) <= broken, name
    assert site.server.reactor.links == {}
    assert site.manager.engine.units_of_work == {} or mode == "preemptive"
    site.start()
    assert site.depth() == 1


def test_all_descriptors_and_files_are_given_back(tmp_path: Path) -> None:
    process = psutil.Process()
    port = free_port()
    gc.collect()
    before = process.num_fds()
    site = Site(tmp_path, port)
    peers = in_all_states(site)
    path = site.directory.path / "run" / "local.sock"
    assert path.exists()
    site.server.end("immediate")
    assert not path.exists()
    for peer in peers.values():
        peer.sock.close()
    # What an earlier test left may go meanwhile.
    assert process.num_fds() <= before
    # Who is late wakes nobody, and above all writes to no descriptor that is another's by now.
    reading, writing = os.pipe()
    others = [os.dup(reading) for _ in range(64)]
    site.server.reactor.post(lambda: None)
    site.server.reactor.wake()
    for fd in (reading, writing, *others):
        os.close(fd)


def test_the_next_instance_listens_at_once(site: Site) -> None:
    peer = site.peer()
    site.server.end("immediate")
    until_closed(peer)
    site.start()
    again = site.peer()
    assert again.ask(wire.PUT, put(2, b"x")).completion == MQCC_OK


def test_ending_twice_and_without_having_served(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.server.end("immediate")
    site.server.end("quiesce", LONG_SECONDS)
    assert not site.manager.running
