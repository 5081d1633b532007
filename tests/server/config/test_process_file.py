"""What is known of a queue manager from outside: its state, its process, and which one is the default."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ostler.server.config.default_manager import clear_default, default_name, set_default
from ostler.server.config.directories import InstanceLock, QueueManagerDirectory, create_queue_manager
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.process_file import ManagerState, ProcessRecord, read_record, state_of, write_record
from ostler.server.config.qm_ini import LogSection, new_qm_ini


@pytest.fixture
def directory(tmp_path: Path) -> QueueManagerDirectory:
    return create_queue_manager(tmp_path, "QM1", new_qm_ini("QM1", LogSection()))


def record(state: str, pid: int | None = None) -> ProcessRecord:
    return ProcessRecord(os.getpid() if pid is None else pid, "2026-01-02T03:04:05Z", "1.2", "compiled", state)


def test_a_record_comes_back_as_it_was_written(directory: QueueManagerDirectory) -> None:
    assert read_record(directory) is None
    write_record(directory, record("Running"))
    assert read_record(directory) == record("Running")


@pytest.mark.parametrize("damage", ["", "[]", "{}", '{"pid": "x"}', "\x00\x00", '"text"'])
def test_a_damaged_record_is_none(directory: QueueManagerDirectory, damage: str) -> None:
    write_record(directory, record("Running"))
    (directory.path / "run" / "process.json").write_text(damage)
    assert read_record(directory) is None
    assert state_of(directory) is ManagerState.ENDED_IMMEDIATELY


def test_one_that_never_ran_has_ended_immediately(directory: QueueManagerDirectory) -> None:
    assert state_of(directory) is ManagerState.ENDED_IMMEDIATELY


@pytest.mark.parametrize("state", [ManagerState.STARTING, ManagerState.RUNNING, ManagerState.QUIESCING])
def test_while_the_lock_is_held_the_record_says_how_it_is(
    directory: QueueManagerDirectory, state: ManagerState
) -> None:
    with InstanceLock(directory):
        write_record(directory, record(state))
        assert state_of(directory) is state
    assert state_of(directory) is ManagerState.ENDED_UNEXPECTEDLY


@pytest.mark.parametrize(
    "state", [ManagerState.ENDED_NORMALLY, ManagerState.ENDED_IMMEDIATELY, ManagerState.ENDED_PREEMPTIVELY]
)
def test_how_it_ended_is_remembered(directory: QueueManagerDirectory, state: ManagerState) -> None:
    write_record(directory, record(state))
    assert state_of(directory) is state


def test_one_that_runs_in_a_program_runs_whatever_an_old_record_says(directory: QueueManagerDirectory) -> None:
    write_record(directory, record(ManagerState.ENDED_NORMALLY, pid=1))
    with InstanceLock(directory):
        assert state_of(directory) is ManagerState.RUNNING


def test_the_default_is_remembered_and_forgotten(tmp_path: Path) -> None:
    assert default_name(tmp_path) == ""
    assert clear_default(tmp_path, "QM1") is False
    set_default(tmp_path, "QM1")
    set_default(tmp_path, "QM2")
    assert default_name(tmp_path) == "QM2"
    assert clear_default(tmp_path, "QM1") is False
    assert clear_default(tmp_path, "QM2") is True
    assert default_name(tmp_path) == ""


def test_what_else_stands_in_mqs_ini_is_kept(tmp_path: Path) -> None:
    (tmp_path / "mqs.ini").write_text("# ours\nLogDefaults:\n   LogFilePages=64\n")
    set_default(tmp_path, "QM1")
    text = (tmp_path / "mqs.ini").read_text()
    assert text.startswith("# ours\nLogDefaults:\n   LogFilePages=64\n")
    assert "   Name=QM1" in text


def test_a_damaged_mqs_ini_is_told(tmp_path: Path) -> None:
    (tmp_path / "mqs.ini").write_text("nonsense\n")
    with pytest.raises(ConfigurationError, match="neither a stanza"):
        default_name(tmp_path)
