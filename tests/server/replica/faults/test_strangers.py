"""Real instances that are greeted by leaders of another format, log or time: each is refused and told why."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.world.replica.replica_group import NAME, History, ReplicaGroup

from ostler.engine.recovery.checkpoint import read_instance
from ostler.log.stream_format import FORMAT_VERSION
from ostler.server.replica.group_tls import GroupTls
from ostler.server.replica.transport import ConnectionLost, ReplicaConnection
from ostler.server.storage.real_disk import RealDisk
from ostler.server.tls.certificate_maker import Authority
from ostler.wire.frames import FAREWELL
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.replica_frames import (
    REFUSED_FORMAT,
    REFUSED_IDENTITY,
    REFUSED_NAME,
    REFUSED_QUEUE_MANAGER,
    REFUSED_TERM,
    REPLICA_FRAME_BYTES_MAX,
    ReplicaHello,
    decode_replica_frame,
)
from ostler.wire.replies import decode_reason

pytestmark = pytest.mark.slow

INSTANCES = "abc"
ANSWER_SECONDS = 120.0


def issue(authority: Authority, directory: Path, name: str) -> Path:
    authority.issue(directory, name, [("CN", name), ("O", NAME)], "ec")
    return directory


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = Authority(tmp_path / "ca")
    made.create(f"Group of {NAME}", "ec")
    return made


@pytest.fixture
def group(tmp_path: Path, authority: Authority) -> Iterator[ReplicaGroup]:
    made = ReplicaGroup(tmp_path, INSTANCES)
    for each in INSTANCES:
        issue(authority, made.directory(each).path / "ha", each)
    made.start()
    made.prepare()
    made.wait_until_in_sync(3)
    yield made
    made.close()


class Stranger:
    """Connects to a follower as a leader does, with a certificate."""

    def __init__(self, group: ReplicaGroup, follower: str, repository: Path, label: str) -> None:
        address = ("127.0.0.1", group.replication_ports[follower])
        stream = GroupTls(repository, "", label, "ANY", frozenset(INSTANCES)).stream(False)
        self._connection = ReplicaConnection(
            socket.create_connection(address, ANSWER_SECONDS), follower, stream, REPLICA_FRAME_BYTES_MAX
        )

    def ask(self, hello: ReplicaHello) -> ReplicaHello:
        """Return the answer to a hello. Raises ConnectionLost, with the words of a farewell."""
        self._connection.finish_handshake()
        self._connection.send(hello.encode())
        found = self._connection.receive(ANSWER_SECONDS)
        assert found is not None, "no answer came"
        if found.type == FAREWELL:
            raise ConnectionLost(decode_reason(PayloadReader(found.buffer, found.start, found.end))[1])
        answer = decode_replica_frame(found.type, found.request, found.buffer, found.start, found.end)
        assert isinstance(answer, ReplicaHello)
        self._connection.close("asked")
        return answer


def hello_of(group: ReplicaGroup, leader: str) -> ReplicaHello:
    """Return a hello that nothing is wrong with, but that it comes from a stranger."""
    hello = ReplicaHello()
    hello.group = hello.queue_manager = NAME
    hello.instance = leader
    hello.identity = read_instance(RealDisk(str(group.directory(leader).path)))
    hello.file_pages = 256
    hello.log_format = FORMAT_VERSION
    status = group.status(leader)
    assert status is not None
    hello.term = status.term
    return hello


def changed(**changes: object) -> Callable[[ReplicaHello], None]:
    def change(hello: ReplicaHello) -> None:
        for name, value in changes.items():
            setattr(hello, name, value)

    return change


# What is wrong, and what the stranger is told.
WRONG = [
    (changed(log_format=FORMAT_VERSION + 1), REFUSED_FORMAT, "this release reads up to"),
    (changed(version=99), REFUSED_FORMAT, "version 99 between copies"),
    (changed(queue_manager="QM2"), REFUSED_QUEUE_MANAGER, "not QM2"),
    (changed(group="OTHER"), REFUSED_QUEUE_MANAGER, "of OTHER"),
    (changed(identity=bytes(16)), REFUSED_IDENTITY, "different identities"),
    (changed(term=1), REFUSED_TERM, "Term 1 is over"),
]


def test_hellos_that_do_not_belong_here_are_refused_and_told(group: ReplicaGroup) -> None:
    """A newer format, another queue manager, another log, an old term, and the name of the follower itself."""
    history = History(group)
    history.wait_for_puts(50)
    leader = group.wait_for_leader()
    follower = group.followers(leader)[0]
    repository = group.directory(leader).path / "ha"
    for change, refused, said in WRONG:
        hello = hello_of(group, leader)
        change(hello)
        answer = Stranger(group, follower, repository, leader).ask(hello)
        assert (answer.refused, said in answer.detail) == (refused, True), answer.detail
        group.wait_for_text(follower, "AMQ3280W", answer.detail)
    hello = hello_of(group, leader)
    hello.instance = follower
    own = group.directory(follower).path / "ha"
    answer = Stranger(group, follower, own, follower).ask(hello)
    assert (answer.refused, answer.detail) == (REFUSED_NAME, f"Two instances have the name {follower}.")
    assert group.wait_for_leader() == leader
    history.wait_for_puts(50)
    history.finish()
    history.check()
