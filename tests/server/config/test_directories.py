"""Names and directories of queue managers, their creation and removal, and the lock of the one that runs."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.model.errors import MQError
from ostler.server.config.directories import (
    InstanceLock,
    QueueManagerDirectory,
    QueueManagerExistsError,
    QueueManagerNotFoundError,
    QueueManagerRunningError,
    create_queue_manager,
    data_root,
    describe_process,
    directory_name,
    object_name,
    queue_managers,
    remove_queue_manager,
    running_process,
)
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.qm_ini import LogSection, QueueManagerIni, new_qm_ini

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/%"
OBJECT_NAMES = st.text(st.sampled_from(LETTERS), min_size=1, max_size=48)


def ini(name: str = "QM1") -> QueueManagerIni:
    return new_qm_ini(name, LogSection())


# Names


@pytest.mark.parametrize(
    ("name", "directory"),
    [
        ("queue.manager", "queue!manager"),
        ("QUEUE/MANAGER", "QUEUE&MANAGER"),
        ("SYSTEM.DEAD.LETTER.QUEUE", "SYSTEM!DEAD!LETTER!QUEUE"),
        ("A_B%C1", "A_B%C1"),
        (".", "!"),
        ("..", "!!"),
    ],
)
def test_names_become_directories_as_mq_has_it(name: str, directory: str) -> None:
    assert directory_name(name) == directory
    assert object_name(directory) == name


@given(OBJECT_NAMES)
def test_a_directory_name_is_one_safe_part_and_can_be_turned_back(name: str) -> None:
    directory = directory_name(name)
    assert object_name(directory) == name
    assert "/" not in directory
    assert not directory.startswith((".", "+"))


@given(OBJECT_NAMES, OBJECT_NAMES)
def test_two_names_never_share_a_directory(one: str, other: str) -> None:
    assert (directory_name(one) == directory_name(other)) == (one == other)


@pytest.mark.parametrize("name", ["", "A" * 49, "A B", "A!B", "\xc4", "A\n", "A-B", "+lock"])
def test_what_is_no_object_name_has_no_directory(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not an object name"):
        directory_name(name)
    with pytest.raises(MQError) as caught:
        create_queue_manager(tmp_path, name, ini())
    assert caught.value.reason == 2058
    assert queue_managers(tmp_path) == []


@pytest.mark.parametrize("directory", ["", "a.b", "+creating QM1", "a/b", "A" * 49])
def test_a_directory_that_is_none_of_an_object(directory: str) -> None:
    with pytest.raises(ValueError, match="not the directory of an object"):
        object_name(directory)


# The data root


def test_the_data_root_comes_from_the_environment() -> None:
    assert data_root({"OSTLER_DATA": "/data", "XDG_DATA_HOME": "/xdg", "HOME": "/home/me"}) == Path("/data")
    assert data_root({"XDG_DATA_HOME": "/xdg", "HOME": "/home/me"}) == Path("/xdg/ostler")
    assert data_root({"XDG_DATA_HOME": "relative", "HOME": "/home/me"}) == Path("/home/me/.ostler")
    assert data_root({"OSTLER_DATA": "", "HOME": "/home/me"}) == Path("/home/me/.ostler")
    assert data_root({"OSTLER_DATA": "here"}) == Path.cwd() / "here"


# Creation and removal


def test_a_new_queue_manager_has_its_tree(tmp_path: Path) -> None:
    root = tmp_path / "data"
    made = create_queue_manager(root, "QM.1", ini("QM.1"))
    assert made.path == root / "qmgrs" / "QM!1"
    assert made.exists()
    assert sorted(os.listdir(made.path)) == ["errors", "log", "qm.ini", "queues"]
    assert QueueManagerIni.read(made.ini).settings.log == LogSection()
    for directory in (root, root / "qmgrs", made.path, made.queues, made.log, made.errors):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(made.ini.stat().st_mode) == 0o600


def test_a_name_is_taken_once(tmp_path: Path) -> None:
    made = create_queue_manager(tmp_path, "QM1", ini())
    (made.queues / "kept").write_text("x")
    with pytest.raises(QueueManagerExistsError, match="queue manager QM1 already exists"):
        create_queue_manager(tmp_path, "QM1", ini())
    assert (made.queues / "kept").exists()
    create_queue_manager(tmp_path, "qm1", ini("qm1"))
    assert [entry.name for entry in queue_managers(tmp_path)] == ["QM1", "qm1"]


def test_a_creation_that_fails_leaves_nothing(tmp_path: Path) -> None:
    class Unwritable(QueueManagerIni):
        def write(self, path: Path) -> None:
            raise ConfigurationError(str(path), 0, "cannot be written")

    with pytest.raises(ConfigurationError):
        create_queue_manager(tmp_path, "QM1", Unwritable(""))
    assert queue_managers(tmp_path) == []
    assert os.listdir(tmp_path / "qmgrs") == ["+lock"]


def test_what_a_crash_left_is_not_listed_and_is_cleared(tmp_path: Path) -> None:
    create_queue_manager(tmp_path, "QM1", ini())
    for left in ("+creating QM2", "+removing QM3"):
        (tmp_path / "qmgrs" / left / "queues").mkdir(parents=True)
        (tmp_path / "qmgrs" / left / "qm.ini").write_text("")
    (tmp_path / "qmgrs" / "stray file").write_text("")
    assert [entry.name for entry in queue_managers(tmp_path)] == ["QM1"]
    create_queue_manager(tmp_path, "QM2", ini("QM2"))
    assert sorted(os.listdir(tmp_path / "qmgrs")) == ["+lock", "QM1", "QM2", "stray file"]


def test_a_queue_manager_is_removed_with_all_it_has(tmp_path: Path) -> None:
    made = create_queue_manager(tmp_path, "QM1", ini())
    (made.queues / "A").mkdir()
    (made.queues / "A" / "q").write_bytes(b"messages")
    remove_queue_manager(tmp_path, "QM1")
    assert not made.exists()
    assert os.listdir(tmp_path / "qmgrs") == ["+lock"]
    with pytest.raises(QueueManagerNotFoundError, match="no queue manager QM1"):
        remove_queue_manager(tmp_path, "QM1")


def test_a_data_root_that_is_not_there_has_no_queue_managers(tmp_path: Path) -> None:
    assert queue_managers(tmp_path / "absent") == []
    assert not (tmp_path / "absent").exists()


# The lock


def test_only_one_runs_a_queue_manager(tmp_path: Path) -> None:
    made = create_queue_manager(tmp_path, "QM1", ini())
    assert running_process(made) == (False, 0)
    with InstanceLock(made) as lock:
        with pytest.raises(QueueManagerRunningError) as caught:
            InstanceLock(made)
        assert caught.value.process == os.getpid()
        assert str(caught.value).startswith(f"queue manager QM1 is running in process {os.getpid()} (")
        assert running_process(made) == (True, os.getpid())
        (entry,) = queue_managers(tmp_path)
        assert (entry.name, entry.path, entry.running, entry.process) == ("QM1", made.path, True, os.getpid())
        with pytest.raises(QueueManagerRunningError):
            remove_queue_manager(tmp_path, "QM1")
        assert made.exists()
        lock.release()
        InstanceLock(made).release()
    assert running_process(made) == (False, 0)


def test_a_lock_needs_a_queue_manager(tmp_path: Path) -> None:
    with pytest.raises(QueueManagerNotFoundError, match="no queue manager ABSENT"):
        InstanceLock(QueueManagerDirectory(tmp_path, "ABSENT"))


def test_a_damaged_lock_file_is_no_obstacle(tmp_path: Path) -> None:
    made = create_queue_manager(tmp_path, "QM1", ini())
    made.lock.write_bytes(b"not a number, and longer than any number could be")
    with InstanceLock(made):
        assert running_process(made) == (True, os.getpid())


HOLDER = """
import sys
from pathlib import Path
from ostler.server.config.directories import InstanceLock, QueueManagerDirectory

lock = InstanceLock(QueueManagerDirectory(Path(sys.argv[1]), "QM1"))
print("held", flush=True)
sys.stdin.read()
"""


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    made = create_queue_manager(tmp_path, "QM1", ini())
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(QueueManagerRunningError, match=f"process {holder.pid}"):
            InstanceLock(made)
        assert running_process(made) == (True, holder.pid)
        holder.kill()
        holder.wait(60)
    assert running_process(made) == (False, 0)
    InstanceLock(made).release()


def test_a_process_is_described() -> None:
    assert describe_process(0) == "another process"
    assert describe_process(os.getpid()).startswith(f"process {os.getpid()} (")
    assert describe_process(2**22 + 1) == f"process {2**22 + 1}"
