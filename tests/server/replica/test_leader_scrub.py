"""Two agents in this process: the leader finds a damaged block in its own log, and has it from its follower."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.free_ports import free_port
from tests.server.replica.test_bases import spoil_log
from tests.world.replica.replica_group import wait_until

from ostler.model.attributes import ObjectType
from ostler.model.definitions import new_definition
from ostler.replica.leader_side import STREAMING
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import LogManagement, LogSection, LogType
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.server.replica import leader_scrub
from ostler.server.replica.instance import InstanceParts

NAME = "QM1"
LOG = LogSection(
    primary_files=3, secondary_files=2, file_pages=64, type=LogType.REPLICATED, management=LogManagement.AUTOMATIC
)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def directories(tmp_path: Path) -> dict[str, QueueManagerDirectory]:
    """Instances a and b with the same new log."""
    first = create_queue_manager(tmp_path / "a", NAME, LOG, instance="a")
    stanzas = "".join(
        f"NativeHAInstance:\n   Name={name}\n   ReplicationAddress=127.0.0.1({free_port()})\n" for name in "ab"
    )
    arbiter = f"Arbiter:\n   Type=File\n   Path={tmp_path / 'arbiter'}\n   LeaseSeconds=60\n"
    first.ini.write_text(first.ini.read_text() + stanzas + arbiter)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    second = QueueManagerDirectory(tmp_path / "b", NAME)
    second.ini.write_text(second.ini.read_text().replace("   Name=a\n", "   Name=b\n", 1))
    return {"a": first, "b": second}


def started(directory: QueueManagerDirectory, notes: list[str]) -> InstanceParts:
    manager = QueueManager(directory)
    section = manager.settings.replication
    assert section is not None
    return InstanceParts(manager, section, notes.append)


def leading(directory: QueueManagerDirectory, notes: list[str], stack: ExitStack) -> InstanceParts:
    """An instance that leads, until the stack ends."""
    parts = started(directory, notes)
    stack.callback(parts.agent.stop, "the test ends")
    agent, manager = parts.agent, parts.manager
    wait_until(lambda: agent.promotion is not None, lambda: f"nobody leads: {agent.sentence} {notes}")
    promotion = agent.promotion
    assert promotion is not None
    manager.take_over(promotion.standby, promotion.life, promotion.leading, agent.begin_leading)
    manager.hands_over = True
    stack.callback(manager.end, "immediate")
    return parts


def log_of(directory: QueueManagerDirectory) -> bytes:
    return b"".join(path.read_bytes() for path in sorted((directory.path / "log" / "active").glob("S*.LOG")))


@pytest.mark.parametrize("has_follower", [True, False])
def test_a_block_that_the_leader_has_lost_comes_from_its_follower(
    directories: dict[str, QueueManagerDirectory],
    stack: ExitStack,
    monkeypatch: pytest.MonkeyPatch,
    has_follower: bool,
) -> None:
    monkeypatch.setattr(leader_scrub, "_PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(leader_scrub, "_SLICE_SECONDS", 0.0)
    notes: list[str] = []
    parts = leading(directories["a"], notes, stack)
    if has_follower:
        other = started(directories["b"], [])
        stack.callback(other.close, "the test ends")
        followers = parts.agent.leading.side.followers if parts.agent.leading is not None else {}
        wait_until(
            lambda: "b" in followers and followers["b"].state == STREAMING, lambda: f"b does not follow: {notes}"
        )
    for number in range(30):
        parts.manager.define(new_definition(ObjectType.QLOCAL, f"QUEUE.{number}", {}))
    before = log_of(directories["a"])
    spoil_log(directories["a"].path)
    spoilt = next(
        at for at, (one, other) in enumerate(zip(before, log_of(directories["a"]), strict=True)) if one != other
    )
    parts.start_scrub()
    number_wanted = "AMQ3293I" if has_follower else "AMQ3301W"
    wait_until(
        lambda: any(number_wanted in each and "the log behind LSN" in each for each in notes),
        lambda: f"{number_wanted} is not told: {notes}",
    )
    assert (log_of(directories["a"])[spoilt] == before[spoilt]) == has_follower
    assert not any(("AMQ3301W" if has_follower else "AMQ3293I") in each for each in notes)
