"""One agent in this process, with an arbiter that loses answers, and one that is woken while it waits."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest
from tests.free_ports import free_port
from tests.world.replica.replica_group import wait_until

from ostler.model.arbiter import FOLLOWING, ArbiterUnavailable, Member
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import LogManagement, LogSection, LogType
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.server.replica import instance as instance_module
from ostler.server.replica import leading as leading_module
from ostler.server.replica.file_arbiter import FileArbiter
from ostler.server.replica.instance import InstanceParts

NAME = "QM1"
LOG = LogSection(
    primary_files=3, secondary_files=2, file_pages=64, type=LogType.REPLICATED, management=LogManagement.AUTOMATIC
)


class ForgetfulArbiter(FileArbiter):
    """Does what it is asked, and loses the first answer to each call named in `loses`."""

    loses: set[str] = set()
    terms: list[int] = []

    def try_lead(self, instance: str, judged_version: int, judged_term: int) -> int | None:
        term = super().try_lead(instance, judged_version, judged_term)
        if term is not None:
            self.terms.append(term)
        self._answer("try_lead")
        return term

    def add_life(self, term: int, epoch: int, life: str) -> bool:
        added = super().add_life(term, epoch, life)
        self._answer("add_life")
        return added

    def _answer(self, call: str) -> None:
        if call in self.loses:
            self.loses.discard(call)
            raise ArbiterUnavailable("the answer was lost")


@pytest.fixture
def directory(tmp_path: Path) -> QueueManagerDirectory:
    """One of two instances; the other one never starts."""
    made = create_queue_manager(tmp_path, NAME, LOG, instance="a")
    stanzas = "".join(
        f"NativeHAInstance:\n   Name={name}\n   ReplicationAddress=127.0.0.1({free_port()})\n" for name in "ab"
    )
    arbiter = f"Arbiter:\n   Type=File\n   Path={tmp_path / 'arbiter'}\n   LeaseSeconds=2\n"
    made.ini.write_text(made.ini.read_text() + stanzas + arbiter)
    return made


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> type[ForgetfulArbiter]:
    monkeypatch.setattr(instance_module, "FileArbiter", ForgetfulArbiter)
    monkeypatch.setattr(ForgetfulArbiter, "loses", set())
    monkeypatch.setattr(ForgetfulArbiter, "terms", [])
    return ForgetfulArbiter


def started(directory: QueueManagerDirectory, notes: list[str]) -> InstanceParts:
    manager = QueueManager(directory)
    section = manager.settings.replication
    assert section is not None
    return InstanceParts(manager, section, notes.append)


@pytest.fixture
def notes() -> list[str]:
    return []


def test_an_election_whose_answer_was_lost_is_held_again(
    directory: QueueManagerDirectory, forgetful: type[ForgetfulArbiter], notes: list[str]
) -> None:
    """The instance has the key and keeps its lease alive. It must give the key back, or nobody leads for ever."""
    forgetful.loses.add("try_lead")
    parts = started(directory, notes)
    try:
        wait_until(lambda: parts.agent.promotion is not None, lambda: f"nobody leads: {parts.agent.sentence} {notes}")
        assert parts.agent.promotion is not None
        assert parts.agent.promotion.life.term == forgetful.terms[-1]
        assert len(forgetful.terms) == 2
    finally:
        parts.close("the test ends")


def test_an_instance_that_cannot_tell_its_life_begins_anew(
    directory: QueueManagerDirectory, forgetful: type[ForgetfulArbiter], notes: list[str]
) -> None:
    """It has stopped following when it hears nothing. The key is free again for another one."""
    forgetful.loses.add("add_life")
    parts = started(directory, notes)
    try:
        wait_until(lambda: parts.is_over, lambda: f"it neither leads nor begins anew: {parts.agent.sentence} {notes}")
        assert "the arbiter does not answer" in parts.agent.deposed
        assert parts.agent.promotion is None
        assert parts.agent.arbiter.read().leader is None
    finally:
        parts.close("the test ends")
    again = started(directory, notes)
    try:
        wait_until(lambda: again.agent.promotion is not None, lambda: f"nobody leads: {again.agent.sentence} {notes}")
    finally:
        again.close("the test ends")


def test_an_instance_that_registers_is_connected_at_once(
    directory: QueueManagerDirectory, notes: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It may have been away for long: its leader tries it rarely then."""
    monkeypatch.setattr(leading_module, "_RETRY_SECONDS_MIN", 3600.0)
    parts = started(directory, notes)
    other = FileArbiter(tmp_path / "arbiter" / NAME / NAME, 2.0)
    try:
        wait_until(lambda: parts.agent.promotion is not None, lambda: f"nobody leads: {parts.agent.sentence} {notes}")
        promotion, manager = parts.agent.promotion, parts.manager
        assert promotion is not None
        manager.take_over(promotion.standby, promotion.life, promotion.leading, parts.agent.begin_leading)
        try:
            wait_until(lambda: any("b at" in each for each in notes), lambda: f"b was not tried: {notes}")
            section = manager.settings.replication
            address = section.address_of("b") if section is not None else None
            assert address is not None
            with socket.create_server((address.host, address.port)) as listener:
                listener.settimeout(30.0)
                other.register(Member("b", str(address), 0, 0, FOLLOWING))
                accepted, _ = listener.accept()
                accepted.close()
        finally:
            manager.hands_over = True
            manager.end("immediate")
    finally:
        other.close()
        parts.agent.stop("the test ends")


def test_a_change_is_told_once_it_is_asked_for(directory: QueueManagerDirectory, notes: list[str]) -> None:
    parts = started(directory, notes)
    told = threading.Event()
    try:
        wait_until(lambda: parts.agent.promotion is not None, lambda: f"nobody leads: {parts.agent.sentence} {notes}")
        parts.agent.on_change(told.set)
        assert told.is_set(), "it had changed before"
        told.clear()
        parts.agent.give_up("a person has decided so")
        assert told.is_set()
    finally:
        parts.close("the test ends")
