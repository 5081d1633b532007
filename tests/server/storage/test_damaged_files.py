"""A real queue manager is killed, its files are harmed, and it is started again: it refuses, says why, changes nothing.

Each harm once lost messages without a word, or told damage with a traceback.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import ostler
from ostler.log.control_file import decode_slot, read_notes
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.server.storage.real_disk import RealDisk

NAME = "HARMED"
PAGE = 4096
CONTROL = "log/amqhlctl.lfh"
LIMIT_SECONDS = 120


def run(root: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ostler.cli.main", *words],
        env={**os.environ, "OSTLER_DATA": str(root)},
        input=given,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )


def must(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, (done.args, done.stdout, done.stderr)
    return done.stdout


def noted_lsns(path: Path) -> list[int]:
    """How far the two notes of the log's end say that it is durable."""
    file = RealDisk(path).open(CONTROL, False)
    state = decode_slot(file.read_at(0, PAGE)) or decode_slot(file.read_at(PAGE, PAGE))
    assert state is not None
    found = [note.durable_lsn for note in read_notes(file, state.identity)]
    file.close()
    return found


def log_end(path: Path) -> int:
    """The end of the last block in the extents, by looking for blocks."""
    furthest = 0
    for extent in sorted((path / "log/active").glob("S*.LOG")):
        data = extent.read_bytes()
        for at in range(PAGE, len(data), PAGE):
            if data[at : at + 4] == b"OLB1":
                lsn = int.from_bytes(data[at + 24 : at + 32], "little")
                furthest = max(furthest, lsn + 48 + int.from_bytes(data[at + 8 : at + 12], "little"))
    return furthest


def wait_until_noted(path: Path) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while noted_lsns(path) != [log_end(path)] * 2:
        assert time.monotonic() < deadline, f"noted {noted_lsns(path)}, the log ends at {log_end(path)}"
        time.sleep(0.05)


def lines(prefix: str, count: int) -> str:
    return "".join(f"{prefix} {number:04d} {'x' * 900}\n" for number in range(count))


class Harmed:
    """The files of a killed queue manager, and copies of older ones."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.older = root / "older"
        self.path = QueueManagerDirectory(root, NAME).path

    def make(self) -> None:
        root = self.root
        must(run(root, "crtmqm", "-lp", "3", "-ls", "2", "-lf", "64", NAME))
        must(run(root, "strmqm", NAME))
        must(run(root, "runmqsc", NAME, given="DEFINE QLOCAL(FIRST) DEFPSIST(YES)\n"))
        must(run(root, "put", "FIRST", NAME, "-q", given=lines("first", 60)))
        must(run(root, "endmqm", "-i", NAME))
        shutil.copytree(self.path, self.older)
        must(run(root, "strmqm", NAME))
        must(run(root, "runmqsc", NAME, given="DEFINE QLOCAL(SECOND) DEFPSIST(YES)\n"))
        must(run(root, "put", "SECOND", NAME, "-q", given=lines("checkpointed", 20)))
        must(run(root, "endmqm", "-i", NAME))
        must(run(root, "strmqm", NAME))
        must(run(root, "put", "SECOND", NAME, "-q", given=lines("second", 100)))
        wait_until_noted(self.path)
        os.kill(int((self.path / "qm.lock").read_text()), signal.SIGKILL)
        deadline = time.monotonic() + LIMIT_SECONDS
        while "Running" in run(root, "dspmq", "-m", NAME).stdout:
            assert time.monotonic() < deadline, "the killed process still holds its lock"

    def copy(self, target: Path) -> Harmed:
        shutil.copytree(self.root, target, symlinks=True, ignore=shutil.ignore_patterns("*.sock", "run"))
        return Harmed(target)

    def extent(self) -> Path:
        """The newest extent that has records."""
        return [each for each in sorted((self.path / "log/active").glob("S*.LOG")) if self._is_used(each)][-1]

    def _is_used(self, extent: Path) -> bool:
        data = extent.read_bytes()[PAGE : PAGE + 32]
        return data[:4] == b"OLB1" and int.from_bytes(data[24:32], "little") == int(extent.stem[1:]) * 63 * PAGE

    def last_page(self) -> tuple[Path, int]:
        """Where the last block begins."""
        extent = self.extent()
        data = extent.read_bytes()
        start = int(extent.stem[1:]) * 63 * PAGE
        return extent, max(
            at
            for at in range(PAGE, len(data), PAGE)
            if data[at : at + 4] == b"OLB1" and int.from_bytes(data[at + 24 : at + 32], "little") == start + at - PAGE
        )

    def contents(self) -> dict[str, bytes]:
        files = [each for each in sorted(self.path.rglob("*")) if each.is_file()]
        kept = [each for each in files if "errors" not in each.parts and each.name != "qm.lock"]
        return {str(each.relative_to(self.path)): each.read_bytes() for each in kept}


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harmed]:
    made = Harmed(tmp_path_factory.mktemp("killed"))
    try:
        made.make()
        yield made
    finally:
        run(made.root, "endmqm", "-p", NAME)


def write(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def flip(path: Path, offset: int) -> None:
    write(path, offset, bytes([path.read_bytes()[offset] ^ 0x20]))


def cut_newest(files: Harmed) -> str:
    extent, page = files.last_page()
    os.truncate(extent, page - 5 * PAGE)
    return f"{extent.name} is damaged at offset {page - 5 * PAGE}"


def cut_newest_to_its_header(files: Harmed) -> str:
    extent = files.extent()
    os.truncate(extent, PAGE)
    return f"{extent.name} is damaged at offset 4096"


def remove_newest(files: Harmed) -> str:
    extent = files.extent()
    extent.unlink()
    return f"{extent.name} is damaged at offset 0: the file is missing"


def zero_the_end(files: Harmed) -> str:
    extent, page = files.last_page()
    write(extent, page - 9 * PAGE, bytes(10 * PAGE))
    return f"{extent.name} is damaged at offset {page - 9 * PAGE}"


def spoil_the_last_block(files: Harmed) -> str:
    extent, page = files.last_page()
    flip(extent, page + 60)
    return f"{extent.name} is damaged at offset {page}"


def older_objects(files: Harmed) -> str:
    shutil.copy(files.older / "objects", files.path / "objects")
    return "objects is older than checkpoint"


def older_checkpoint_and_objects(files: Harmed) -> str:
    shutil.copy(files.older / "checkpoint", files.path / "checkpoint")
    older_objects(files)
    return "checkpoint is older than the log"


def older_log(files: Harmed) -> str:
    shutil.rmtree(files.path / "log")
    shutil.copytree(files.older / "log", files.path / "log")
    return "is newer than the log"


def no_checkpoint_and_no_control_file(files: Harmed) -> str:
    (files.path / "checkpoint").unlink()
    (files.path / CONTROL).unlink()
    return "There is no log in log: amqhlctl.lfh is not there. But instance is"


def no_checkpoint_no_objects_no_log(files: Harmed) -> str:
    for name in ("checkpoint", "objects"):
        (files.path / name).unlink()
    shutil.rmtree(files.path / "log")
    return "There is no log in log"


def nothing_but_queues(files: Harmed) -> str:
    (files.path / "instance").unlink()
    no_checkpoint_no_objects_no_log(files)
    return "But queues/"


def nothing_but_the_log_without_its_control_file(files: Harmed) -> str:
    for name in ("instance", "checkpoint", "objects", CONTROL):
        (files.path / name).unlink()
    shutil.rmtree(files.path / "queues")
    return "There is a log in log already, but its control file amqhlctl.lfh is missing"


def spoil_objects(files: Harmed) -> str:
    flip(files.path / "objects", 300)
    return f"objects: the checksum at offset {(files.path / 'objects').stat().st_size - 8} does not match"


def cut_checkpoint(files: Harmed) -> str:
    os.truncate(files.path / "checkpoint", 40)
    return "checkpoint: no header at offset 0"


def remove_one(name: str) -> Callable[[Harmed], str]:
    def harm(files: Harmed) -> str:
        (files.path / name).unlink()
        return f"{Path(name).name} is "

    harm.__name__ = f"remove_{Path(name).name}"
    return harm


HARMS: list[tuple[Callable[[Harmed], str], str]] = [
    (cut_newest, "AMQ7017E"),
    (cut_newest_to_its_header, "AMQ7017E"),
    (remove_newest, "AMQ7017E"),
    (zero_the_end, "AMQ7017E"),
    (spoil_the_last_block, "AMQ7017E"),
    (older_objects, "AMQ7018E"),
    (older_checkpoint_and_objects, "AMQ7018E"),
    (older_log, "AMQ7018E"),
    (no_checkpoint_and_no_control_file, "AMQ7017E"),
    (no_checkpoint_no_objects_no_log, "AMQ7017E"),
    (nothing_but_queues, "AMQ7017E"),
    (nothing_but_the_log_without_its_control_file, "AMQ7017E"),
    (spoil_objects, "AMQ7084E"),
    (cut_checkpoint, "AMQ7084E"),
    (remove_one("objects"), "AMQ7084E"),
    (remove_one("checkpoint"), "AMQ7084E"),
    (remove_one("instance"), "AMQ7084E"),
    (remove_one(CONTROL), "AMQ7017E"),
]


@pytest.mark.parametrize(("harm", "number"), HARMS, ids=[harm.__name__ for harm, _ in HARMS])
def test_harmed_files_refuse_the_start_and_stay_as_they_are(
    killed: Harmed, tmp_path: Path, harm: Callable[[Harmed], str], number: str
) -> None:
    files = killed.copy(tmp_path / "root")
    words = harm(files)
    before = files.contents()
    done = run(files.root, "strmqm", NAME)
    if done.returncode == 0:
        run(files.root, "endmqm", "-i", NAME)
    assert done.returncode in (23, 71), done
    told = done.stderr + (files.path / "errors/AMQERR01.LOG").read_text().split("Process(")[-1]
    assert done.stderr.startswith(f"{number}: "), done
    assert words in done.stderr
    assert "Traceback" not in told
    assert number in told
    assert files.contents() == before
    checked = run(files.root, "check", NAME, "--json")
    assert checked.returncode == 132, checked
    found = json.loads(checked.stdout)
    assert found["sound"] is False
    assert any(finding["severity"] == "damage" for finding in found["findings"])
    assert files.contents() == before


def test_unharmed_files_are_sound_and_start_with_everything(killed: Harmed, tmp_path: Path) -> None:
    files = killed.copy(tmp_path / "root")
    before = files.contents()
    checked = run(files.root, "check", NAME)
    assert checked.returncode == 0, checked
    assert f"The files of queue manager {NAME} are sound." in checked.stdout
    assert files.contents() == before
    must(run(files.root, "strmqm", NAME))
    try:
        running = run(files.root, "check", NAME)
        assert running.returncode == 5
        assert f"End it first: ostler endmqm {NAME}" in running.stderr
        assert must(run(files.root, "browse", "FIRST", NAME)).count("first 00") == 60
        assert must(run(files.root, "browse", "SECOND", NAME)).count("xxx\n") == 120
    finally:
        run(files.root, "endmqm", "-i", NAME)


def test_what_is_dropped_at_the_end_is_told_in_bytes(tmp_path: Path) -> None:
    """The last write was not noted yet: spoiled, it looks like a torn one. So it is dropped, and that is told."""
    directory = create_queue_manager(tmp_path, NAME, LogSection(primary_files=2, secondary_files=1, file_pages=64))
    manager = QueueManager(directory)
    manager.start()
    control = directory.path / CONTROL
    noted = control.read_bytes()[2 * PAGE :]
    with ostler.connect(manager) as qm:
        qm.define("QLOCAL", "Q")
        for number in range(5):
            qm.put("Q", f"message {number}", persistent=True)
    manager.end("preemptive")
    write(control, 2 * PAGE, noted)
    extent, page = Harmed(tmp_path).last_page()
    flip(extent, page + 60)
    again = QueueManager(directory)
    again.start()
    try:
        told = [notice for notice in again.notices if notice.startswith("AMQ7236W: ")]
        assert len(told) == 1
        assert f"The log ends at offset {page} of log/active/{extent.name}." in told[0]
        assert again.restart.bytes_dropped > 300
        assert f" {again.restart.bytes_dropped} bytes behind that were dropped" in told[0]
        assert again.engine.queues["Q"].depth == 4
    finally:
        again.end("immediate")


def test_a_directory_that_no_queue_has_is_left_alone_and_told(tmp_path: Path) -> None:
    directory = create_queue_manager(tmp_path, NAME, LogSection(primary_files=2, secondary_files=1, file_pages=64))
    manager = QueueManager(directory)
    manager.start()
    manager.end("immediate")
    stray = directory.queues / "STRAY.4711"
    stray.mkdir()
    (stray / "slots").write_bytes(b"somebody's messages")
    left = directory.path / "temporary/AMQ!1.17"
    left.mkdir(parents=True)
    (left / "messages").write_bytes(b"of a temporary queue")
    again = QueueManager(directory)
    again.start()
    try:
        told = [notice for notice in again.notices if notice.startswith("AMQ7237W: queues/STRAY.4711: ")]
        assert len(told) == 1
        assert (stray / "slots").read_bytes() == b"somebody's messages"
        assert not left.exists()
    finally:
        again.end("immediate")


def test_the_directory_of_a_deleted_queue_goes_even_when_a_crash_left_it(tmp_path: Path) -> None:
    directory = create_queue_manager(tmp_path, NAME, LogSection(primary_files=2, secondary_files=1, file_pages=64))
    manager = QueueManager(directory)
    manager.start()
    with ostler.connect(manager) as qm:
        qm.define("QLOCAL", "Q")
        qm.put("Q", "message", persistent=True)
        manager.checkpoint()
        queue_directory = next(directory.queues.glob("Q.*"))
        kept = tmp_path / "kept"
        shutil.copytree(queue_directory, kept)
        control = (directory.path / CONTROL).read_bytes()
        qm.delete("QLOCAL", "Q", purge=True)
        manager.checkpoint()
    assert not queue_directory.exists()
    manager.end("preemptive")
    # As if the power had failed after the manifest, before the directory was removed and the log knew of it.
    shutil.copytree(kept, queue_directory)
    (directory.path / CONTROL).write_bytes(control)
    again = QueueManager(directory)
    try:
        again.start()
        assert not queue_directory.exists()
        assert [notice for notice in again.notices if "AMQ7237W" in notice] == []
    finally:
        again.end("immediate")
