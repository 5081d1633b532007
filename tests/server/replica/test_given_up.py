"""One agent in this process, whose copy has more than the leader that connects: people may have given that up."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.free_ports import free_port
from tests.world.replica.replica_group import wait_until

from ostler.log.stream_format import FORMAT_VERSION
from ostler.model.arbiter import ArbiterUnavailable, ArbiterView
from ostler.model.attributes import ObjectType
from ostler.model.definitions import new_definition
from ostler.model.errors import MQError
from ostler.model.log_life import Life
from ostler.model.replication import GroupRole
from ostler.replica.pedigree import Pedigree
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import LogManagement, LogSection, LogType
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.server.replica import instance as instance_module
from ostler.server.replica.agent import Promotion
from ostler.server.replica.file_arbiter import FileArbiter
from ostler.server.replica.instance import InstanceParts
from ostler.server.replica.site import state as state_module
from ostler.server.replica.site.given_up import GivenUp
from ostler.server.replica.site.keeper import SiteAgent, SiteKeeper
from ostler.server.replica.site.state import read_site
from ostler.server.replica.transport import ConnectionLost, ReplicaConnection
from ostler.wire.frames import FAREWELL
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.replica_frames import (
    REPLICA_FRAME_BYTES_MAX,
    LifeFrame,
    LogAck,
    ReplicaHello,
    decode_replica_frame,
)
from ostler.wire.replies import decode_reason

NAME = "QM1"
GROUP = "south"
LOG = LogSection(
    primary_files=3, secondary_files=2, file_pages=64, type=LogType.REPLICATED, management=LogManagement.AUTOMATIC
)
ANSWER_SECONDS = 60.0


class UnheardArbiter(FileArbiter):
    """Tells some threads nothing, as if its answer were still on the way."""

    is_away_for_agent = False
    is_away_for_others = False

    def read(self) -> ArbiterView:
        is_agent = threading.current_thread().name == "ostler-agent"
        if self.is_away_for_agent if is_agent else self.is_away_for_others:
            raise ArbiterUnavailable("it is away")
        return super().read()


@pytest.fixture
def unheard(monkeypatch: pytest.MonkeyPatch) -> type[UnheardArbiter]:
    monkeypatch.setattr(instance_module, "FileArbiter", UnheardArbiter)
    monkeypatch.setattr(UnheardArbiter, "is_away_for_agent", False)
    monkeypatch.setattr(UnheardArbiter, "is_away_for_others", False)
    return UnheardArbiter


@pytest.fixture
def directory(tmp_path: Path) -> QueueManagerDirectory:
    """One of three instances of a site; neither the others nor the other site run."""
    made = create_queue_manager(tmp_path, NAME, LOG, instance="a")
    stanzas = "".join(
        f"NativeHAInstance:\n   Name={name}\n   ReplicationAddress=127.0.0.1({free_port()})\n" for name in "abc"
    )
    stanzas += f"Arbiter:\n   Type=File\n   Path={tmp_path / 'arbiter'}\n   LeaseSeconds=2\n"
    stanzas += (
        "NativeHARecoveryGroup:\n   GroupName=north\n"
        f"   ReplicationAddress=127.0.0.1({free_port()})\n   ReplicationType=Asynchronous\n"
    )
    own = f"   Name=a\n   GroupName={GROUP}\n   GroupRole={GroupRole.LIVE}\n"
    made.ini.write_text(made.ini.read_text().replace("   Name=a\n", own, 1) + stanzas)
    return made


@pytest.fixture
def arbiter(tmp_path: Path) -> Iterator[FileArbiter]:
    made = FileArbiter(tmp_path / "arbiter" / GROUP / NAME, 2.0)
    yield made
    made.close()


@pytest.fixture
def notes() -> list[str]:
    return []


def started(directory: QueueManagerDirectory, notes: list[str]) -> InstanceParts:
    manager = QueueManager(directory)
    section = manager.settings.replication
    assert section is not None
    return InstanceParts(manager, section, notes.append)


def lead_once(
    directory: QueueManagerDirectory, notes: list[str], before_end: Callable[[QueueManager, Promotion], None]
) -> None:
    """Let the instance lead, and end. `before_end` is called while it leads."""
    parts = started(directory, notes)
    agent, manager = parts.agent, parts.manager
    try:
        wait_until(lambda: agent.promotion is not None, lambda: f"nobody leads: {agent.sentence} {notes}")
        promotion = agent.promotion
        assert promotion is not None
        manager.take_over(promotion.standby, promotion.life, promotion.leading, agent.begin_leading)
        before_end(manager, promotion)
        manager.hands_over = True
        manager.end("immediate")
    finally:
        agent.stop("the test goes on")


@pytest.fixture
def tail(directory: QueueManagerDirectory, arbiter: FileArbiter, notes: list[str]) -> Pedigree:
    """The copy of an instance that has led without the others: nobody was told of its last life."""

    def need_two(manager: QueueManager, promotion: Promotion) -> None:
        in_sync = arbiter.read().in_sync
        assert in_sync is not None
        assert arbiter.set_in_sync(promotion.life.term, in_sync.version, ("a", "b"), 2) is not None

    def write(manager: QueueManager, promotion: Promotion) -> None:
        def define() -> None:
            with suppress(MQError):  # it waits for a second copy until the end
                manager.define(new_definition(ObjectType.QLOCAL, "ONLY.HERE", {}))

        threading.Thread(target=define, daemon=True).start()
        side = promotion.leading.side
        wait_until(lambda: side.forced_lsn() > promotion.life.start_lsn, lambda: f"nothing is written: {notes}")

    lead_once(directory, notes, need_two)
    lead_once(directory, notes, write)
    scratch = QueueManager(directory)
    standby = scratch.open_standby(1)
    found = Pedigree(list(standby.log.lives), int(standby.log.position()))
    group_lsn = int(standby.log.group_lsn())
    scratch.close_standby(standby)
    assert group_lsn <= found.lives[-1].start_lsn < found.end_lsn, "there is no tail that could be dropped"
    return found


def give_up(arbiter: FileArbiter, tail: Pedigree) -> None:
    """Let people decide for the other site: the last life is given up."""
    decided = GivenUp().and_also(tail.lives[-1].start_lsn, tail)
    assert arbiter.abandon(arbiter.read().role, str(GroupRole.RECOVERY), decided.encode())


class OtherLeader:
    """Instance b leads, with another life in place of the last one of a."""

    def __init__(self, parts: InstanceParts, tail: Pedigree) -> None:
        log = parts.standby.log
        fork = tail.lives[-1]
        self.term = fork.term + 1
        self._life = Life(fork.epoch + 1, fork.start_lsn, "b", self.term, 0)
        self._previous = tail.lives[-2].epoch if len(tail.lives) > 1 else 0
        self._hello = ReplicaHello()
        self._hello.group = GROUP
        self._hello.queue_manager = NAME
        self._hello.instance = "b"
        self._hello.identity = log.identity()
        self._hello.file_pages = log.file_pages()
        self._hello.log_format = FORMAT_VERSION
        self._hello.term = self.term
        self._hello.lives = [*tail.lives[:-1], self._life]
        self._hello.end_lsn = fork.start_lsn
        self._hello.group_lsn = fork.start_lsn
        address = parts.agent.section.own_address()
        sock = socket.create_connection((address.host, address.port), ANSWER_SECONDS)
        self._connection = ReplicaConnection(sock, "a", None, REPLICA_FRAME_BYTES_MAX)

    def refusal(self) -> str:
        """Connect, and begin the life. Return why it was refused; empty: the rest of the log was dropped for it."""
        connection = self._connection
        connection.send(self._hello.encode())
        connection.send(LifeFrame(self.term, self._life.start_lsn, self._previous, self._life).encode())
        try:
            while True:
                found = connection.receive(ANSWER_SECONDS)
                assert found is not None, "no answer came"
                if found.type == FAREWELL:
                    return decode_reason(PayloadReader(found.buffer, found.start, found.end))[1]
                frame = decode_replica_frame(found.type, found.request, found.buffer, found.start, found.end)
                if isinstance(frame, LogAck):
                    return ""
        finally:
            connection.close("the test has its answer")


def position(parts: InstanceParts) -> int:
    with parts.agent.following.turn:
        return int(parts.standby.log.position())


def test_a_leader_that_is_quicker_than_the_arbiter_does_not_make_it_drop_given_up_data(
    directory: QueueManagerDirectory,
    arbiter: FileArbiter,
    tail: Pedigree,
    unheard: type[UnheardArbiter],
    notes: list[str],
) -> None:
    """The group has been given up while the instance was down, and has a new leader, which reaches it first."""
    give_up(arbiter, tail)
    unheard.is_away_for_agent = True
    parts = started(directory, notes)
    try:
        assert "are given up" in OtherLeader(parts, tail).refusal()
        wait_until(lambda: bool(parts.begins_anew), lambda: f"it does not begin anew: {notes}")
        assert position(parts) == tail.end_lsn
        assert read_site(directory.path, parts.agent.section).set_aside_lsn == tail.lives[-1].start_lsn
        assert "are given up" in OtherLeader(parts, tail).refusal(), "until the process ends"
    finally:
        parts.close("the test ends")


def test_nothing_is_dropped_while_the_arbiter_does_not_answer(
    directory: QueueManagerDirectory, tail: Pedigree, unheard: type[UnheardArbiter], notes: list[str]
) -> None:
    unheard.is_away_for_agent = unheard.is_away_for_others = True
    parts = started(directory, notes)
    try:
        assert "the arbiter does not say" in OtherLeader(parts, tail).refusal()
        assert position(parts) == tail.end_lsn
        # It answers again, and nobody has decided anything: the tail was not acknowledged, and is void.
        unheard.is_away_for_others = False
        assert OtherLeader(parts, tail).refusal() == ""
        assert position(parts) == tail.lives[-1].start_lsn
    finally:
        parts.close("the test ends")


def test_nothing_is_dropped_before_the_decision_is_noted(
    directory: QueueManagerDirectory,
    arbiter: FileArbiter,
    tail: Pedigree,
    unheard: type[UnheardArbiter],
    notes: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A disk that is full, for instance. The copy has not failed."""
    give_up(arbiter, tail)
    unheard.is_away_for_agent = True
    parts = started(directory, notes)
    with monkeypatch.context() as patch:
        # The directory is no directory any more: nothing can be written there.
        patch.setattr(state_module, "FILE_NAME", "errors/none/site")
        assert "it cannot be noted" in OtherLeader(parts, tail).refusal()
    try:
        assert position(parts) == tail.end_lsn
        assert parts.agent.failure == ""
        assert "are given up" in OtherLeader(parts, tail).refusal()
    finally:
        parts.close("the test ends")


def test_no_leader_is_taken_before_the_other_site_is_known(
    directory: QueueManagerDirectory, notes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the copy is given up can be asked then only."""
    began = SiteKeeper.start
    before = set(threading.enumerate())
    threads: list[set[str]] = []

    def start(self: SiteKeeper, agent: SiteAgent) -> None:
        threads.append({each.name for each in set(threading.enumerate()) - before})
        began(self, agent)

    monkeypatch.setattr(SiteKeeper, "start", start)
    parts = started(directory, notes)
    try:
        assert "ostler-replica" not in threads[0]
        assert "ostler-replica" in {each.name for each in set(threading.enumerate()) - before}
    finally:
        parts.close("the test ends")


def test_a_leader_that_waits_for_the_arbiter_is_not_taken_when_the_instance_follows_no_more(
    directory: QueueManagerDirectory, tail: Pedigree, unheard: type[UnheardArbiter], notes: list[str]
) -> None:
    """The instance is elected meanwhile, for instance: its log is not a follower's any more."""
    unheard.is_away_for_agent = True
    parts = started(directory, notes)
    following = parts.agent.following
    promised = int(parts.standby.log.mark.promised_term)
    following._check_drop = following.stop
    try:
        with pytest.raises(ConnectionLost):
            OtherLeader(parts, tail).refusal()
        wait_until(lambda: not following._open, lambda: f"the connection is not closed: {notes}")
        assert (int(parts.standby.log.mark.promised_term), position(parts)) == (promised, tail.end_lsn)
        assert not following.is_linked()
    finally:
        parts.close("the test ends")
