"""A process with few descriptors: who is too many is told so, and the others notice nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.world.wire_bench import Peer, dial, get, put

from ostler.model.constants import MQCC_OK, MQRC_MAX_CONNS_LIMIT_REACHED
from ostler.wire import frames as wire
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.replies import decode_reason

DESCRIPTORS = 400

SCRIPT = """
import json, os, resource, sys
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
from pathlib import Path
from ostler.server.net.local_socket import socket_path
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.server.assembly import Server
from ostler.testing.without_security import disable_security

manager = QueueManager(create_queue_manager(Path(sys.argv[1]), "FEW", LogSection(primary_files=3, file_pages=64)))
manager.start()
server = Server(disable_security(manager))
server.start()
taken = []
print(json.dumps({"path": str(socket_path(manager.directory))}), flush=True)
for line in sys.stdin:
    if line.strip() == "take":  # all but a few: others in this process use descriptors, too
        try:
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            pass
        for fd in taken[-3:]:
            os.close(fd)
        del taken[-3:]
    elif line.strip() == "take all":
        server._acceptor.close()
        try:
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            pass
    elif line.strip() == "give":
        for fd in taken:
            os.close(fd)
        taken = []
    print(json.dumps({"links": len(server.reactor.links), "refused": int(server.reactor.counters.refused),
                      "passes": int(server.reactor.counters.passes),
                      "notes": manager.notices}), flush=True)
server.end("immediate")
"""


class Few:
    """The process from outside."""

    def __init__(self, root: Path, descriptors: int) -> None:
        command = [sys.executable, "-c", SCRIPT, str(root), str(descriptors)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.path = str(self._read()["path"])

    def _read(self) -> dict[str, object]:
        assert self._process.stdout is not None
        found: dict[str, object] = json.loads(self._process.stdout.readline())
        return found

    def ask(self, what: str) -> dict[str, object]:
        assert self._process.stdin is not None
        self._process.stdin.write(what + "\n")
        self._process.stdin.flush()
        return self._read()

    def refused_when_all_were_seen(self, sockets: int) -> int:
        """How many the queue manager refused, as soon as it has taken or refused so many."""
        deadline = time.monotonic() + 60.0
        while True:
            found = self.ask("look")
            refused = int(str(found["refused"]))
            if int(str(found["links"])) + refused >= sockets:
                return refused
            assert time.monotonic() < deadline, found

    def end(self) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        status = self._process.wait(60)
        self._process.stdout.close()
        return status


@pytest.fixture
def few(tmp_path: Path) -> Iterator[Few]:
    made = Few(tmp_path, DESCRIPTORS)
    yield made
    assert made.end() == 0


def refused_text(peer: Peer) -> str:
    answer = peer.next()
    assert answer.type == wire.FAREWELL
    reason, text = decode_reason(PayloadReader(answer.payload))
    assert reason == MQRC_MAX_CONNS_LIMIT_REACHED
    for _ in range(6_000):
        peer.answers(1)
        if peer.closed:
            break
    assert peer.closed
    return text


def worker(few: Few) -> Peer:
    peer = dial(few.path)
    peer.hello()
    peer.connect()
    peer.open("SYSTEM.DEFAULT.LOCAL.QUEUE")
    return peer


def check_works(peer: Peer) -> None:
    assert peer.ask(wire.PUT, put(2, b"goes on")).completion == MQCC_OK
    assert peer.ask(wire.GET, get(2)).body == b"goes on"


def until_served(few: Few) -> Peer:
    """The others have left; the queue manager sees that in its own time."""
    for _ in range(500):
        peer = dial(few.path)
        try:
            if peer.hello().completion == MQCC_OK:
                return peer
        except (AssertionError, OSError):
            peer.sock.close()
    raise AssertionError("nobody is let in any more")


def test_as_many_connections_as_there_may_be(few: Few) -> None:
    peer = worker(few)
    others: list[Peer] = []
    while True:
        other = dial(few.path)
        try:
            # One that is refused may be gone before it has said anything.
            other.send(wire.frame(wire.HEARTBEAT, 0, 1)[:8])
        except OSError:
            break
        others.append(other)
        if few.refused_when_all_were_seen(1 + len(others)) or len(others) > DESCRIPTORS:
            break
    assert len(others) < DESCRIPTORS
    last = dial(few.path)
    assert "connections are open" in refused_text(last)
    check_works(peer)
    assert any("Connections are refused" in str(note) for note in few.ask("look")["notes"])  # type: ignore[attr-defined]
    for other in others:
        other.sock.close()
    check_works(peer)
    again = until_served(few)
    assert again.connect().completion == MQCC_OK
    check_works(peer)


def test_no_descriptors_left_at_all(few: Few) -> None:
    peer = worker(few)
    few.ask("take")
    others = [dial(few.path) for _ in range(6)]
    assert "no descriptors" in refused_text(others[-1])
    check_works(peer)
    assert int(str(few.ask("look")["refused"])) >= 3
    few.ask("give")
    again = until_served(few)
    assert again.connect().completion == MQCC_OK
    check_works(peer)


def test_without_any_descriptor_nobody_turns_in_vain(few: Few) -> None:
    peer = worker(few)
    few.ask("take all")
    waiting = dial(few.path)
    check_works(peer)
    before = int(str(few.ask("look")["passes"]))
    deadline = time.monotonic() + 1.0
    while time.monotonic() < deadline:
        time.sleep(0.1)
    turned = int(str(few.ask("look")["passes"])) - before
    assert turned < 300, f"{turned} passes in a second"
    few.ask("give")
    assert waiting.hello().completion == MQCC_OK
    check_works(peer)
