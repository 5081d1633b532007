"""Commands of HA and DR: an HA group of two in a data root, and instances that run with a scripted group."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.cli.conftest import SMALL_LOG, Command, data, directory, ostler, program
from tests.world.replica.sample_group import SAMPLE
from tests.world.replica.scripted_group import RunningInstance, ScriptedGroup

from ostler.model.replication import GroupStatus
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.process_file import ManagerState
from ostler.server.replica.control import ReplicationControl

__all__ = ["data", "directory", "ostler", "program"]

NODES = ("-n", "alpha=127.0.0.1:4441", "-n", "beta=127.0.0.1:4442")
ETCD = ("--arbiter", "etcd=http://127.0.0.1:2379")


@pytest.fixture
def group(ostler: Command) -> Command:
    """The command, with a group of two nodes."""
    made = ostler("crthagrp", "north", *NODES, *ETCD)
    assert made.status == 0, made.err
    return ostler


@pytest.fixture
def instance(group: Command) -> Command:
    """The command, with instance alpha of QM1 in the group."""
    made = group("crtmqm", "-sx", *SMALL_LOG, "QM1")
    assert made.status == 0, made.err
    return group


Run = Callable[..., tuple[RunningInstance, ScriptedGroup]]


@pytest.fixture
def running(instance: Command, directory: QueueManagerDirectory) -> Iterator[Run]:
    """Run QM1 with a group of the given status."""
    started: list[RunningInstance] = []

    def run(
        status: GroupStatus = SAMPLE, state: ManagerState = ManagerState.RUNNING
    ) -> tuple[RunningInstance, ScriptedGroup]:
        scripted = ScriptedGroup(status)
        control: ReplicationControl = scripted
        started.append(RunningInstance(directory, control, state))
        return started[-1], scripted

    yield run
    for each in started:
        each.end()
