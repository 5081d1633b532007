"""Setting the data of a site aside that was given up after a partition: renamed, never deleted.

`set-aside/<fork LSN>-<n>` in the directory of the queue manager gets the log, the queues and all else that a start
would load, and `messages`: what the fork contains, one line for each message that was put behind it. The instance is
empty then, and takes everything from the other site. Each step can be repeated after a crash: the file `site` says that
it is to be done until it is.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Final

from ostler.engine.core import QUEUES_PATH, TEMPORARY_PATH
from ostler.engine.message.message import MESSAGE_ID_AT
from ostler.engine.recovery.checkpoint import CATALOGUE_PATH, INSTANCE_PATH, MANIFEST_PATH
from ostler.engine.recovery.records import BACK_OUT, COMMIT, GET, PUT, read_get, read_number, read_put
from ostler.engine.recovery.replay import JournalInconsistent
from ostler.engine.recovery.snapshot import FilesUnrelated, SnapshotDamaged
from ostler.log.control_file import CONTROL_NAME
from ostler.log.errors import LogError
from ostler.log.reader import BlockCursor, LogVisitor, RecordReader
from ostler.log.restart import ACTIVE_NAME, open_log
from ostler.model.disk import Disk, DiskFailed, DiskFull
from ostler.server.config.directories import InstanceLock
from ostler.server.config.ini_file import force_directory, write_atomically
from ostler.server.queue_manager import LOG_DIRECTORY, QueueManager, log_disk
from ostler.server.replica.base_wanted import mark_of_empty
from ostler.server.replica.site.state import SiteState, write_site

DIRECTORY: Final = "set-aside"
LIST_NAME: Final = "messages"
_DONE: Final = "done"
_PARTS: Final = (INSTANCE_PATH, MANIFEST_PATH, CATALOGUE_PATH, QUEUES_PATH, TEMPORARY_PATH, LOG_DIRECTORY)
_MESSAGE_ID_BYTES: Final = 24
_LSN_MAX: Final = (1 << 63) - 1


class _ForkVisitor(LogVisitor):
    """Collects the messages that were put and got, with the unit of work that they belong to."""

    def __init__(self) -> None:
        self.puts: list[tuple[int, int, int, int, str]] = []
        self.gets: list[tuple[int, int, int, int]] = []
        self.committed: set[int] = {0}
        self.backed_out: set[int] = set()

    def record(self, kind: int, lsn: int, payload: bytes) -> None:
        if kind == PUT:
            put = read_put(payload)
            name = put.md[MESSAGE_ID_AT : MESSAGE_ID_AT + _MESSAGE_ID_BYTES].hex().upper()
            self.puts.append((lsn, put.unit_of_work, put.queue_id, put.seq, name))
        elif kind == GET:
            got = read_get(payload)
            self.gets.append((lsn, got.unit_of_work, got.queue_id, got.seq))
        elif kind == COMMIT:
            self.committed.add(read_number(payload))
        elif kind == BACK_OUT:
            self.backed_out.add(read_number(payload))

    def progress(self, done_bytes: int, total_bytes: int) -> None:
        return

    def ended(self, end_lsn: int) -> None:
        return


def describe_fork(disk: Disk, log_directory: str, fork_lsn: int, queues: dict[int, str]) -> str:
    """Return the list of messages that were put and got behind an LSN, as text."""
    lines = [f"# Messages put and got behind LSN {fork_lsn}: LSN, what was done, queue, sequence number, message id"]
    visitor = _ForkVisitor()
    reader = RecordReader(visitor, fork_lsn, _LSN_MAX)
    restartable = open_log(disk, log_directory)
    try:
        cursor = BlockCursor(
            disk, f"{log_directory}/{ACTIVE_NAME}", restartable.shape(), restartable.control_state(), fork_lsn
        )
        try:
            if not cursor.advance():
                lines.append(f"# The log has nothing there, or does not reach back so far: {cursor.what}")
            else:
                reader.read_block(cursor)
                while cursor.advance():
                    reader.read_block(cursor)
        except LogError as error:
            lines.append(f"# The log cannot be read further: {error}")
        finally:
            cursor.close()
    finally:
        restartable.close()
    known = {(queue_id, seq): name for _, _, queue_id, seq, name in visitor.puts}
    found = [(lsn, "put", unit, queue_id, seq, name) for lsn, unit, queue_id, seq, name in visitor.puts]
    for lsn, unit, queue_id, seq in visitor.gets:
        found.append((lsn, "got", unit, queue_id, seq, known.get((queue_id, seq), "-")))
    for lsn, done, unit, queue_id, seq, name in sorted(found):
        if unit in visitor.backed_out:
            continue
        word = done if unit in visitor.committed else f"{done}, not committed"
        lines.append(f"{lsn} {word} {queues.get(queue_id, f'queue {queue_id}')} {seq} {name}")
    return "\n".join([*lines, ""])


def _queue_names(manager: QueueManager) -> dict[int, str]:
    """Return the names of queues by id, as a start would find them; none when the data cannot be loaded."""
    scratch = QueueManager(manager.directory)
    try:
        standby = scratch.open_standby(1)
    except (LogError, DiskFailed, DiskFull, SnapshotDamaged, FilesUnrelated, JournalInconsistent):
        return {}
    names = {int(number): queue.name for number, queue in scratch.engine.queues_by_id.items()}
    scratch.close_standby(standby)
    return names


def set_aside(manager: QueueManager, state: SiteState) -> str:
    """Set the data of an instance aside and make it empty. Return the directory that has them.

    The queue manager does not run. Raises what locking the instance raises, LogError, OSError and ConfigurationError.
    """
    directory = manager.directory.path
    disk, log_directory = log_disk(manager.directory, manager.settings, manager.disk, manager.machine)
    has_log = disk.exists(f"{log_directory}/{CONTROL_NAME}")
    names = _queue_names(manager) if has_log else {}
    lock = InstanceLock(manager.directory)
    try:
        target = _target(directory, state.set_aside_lsn)
        if has_log:
            text = describe_fork(disk, log_directory, state.set_aside_lsn, names)
            write_atomically(target / LIST_NAME, text.encode())
        move_data(manager, target, target.name)
        write_atomically(target / _DONE, b"")
        write_site(directory, replace(state, set_aside_lsn=-1))
        return str(target)
    finally:
        lock.release()


def move_data(manager: QueueManager, target: Path, name: str) -> None:
    """Move what a start would load to `target`, and mark the instance as empty. It can be repeated. Raises OSError.

    A log that qm.ini has elsewhere stays there, with `name` behind its own.
    """
    directory = manager.directory.path
    for part in _PARTS:
        if (directory / part).exists():
            os.rename(directory / part, target / part)
    if manager.settings.log.path:
        log = Path(manager.settings.log.path) / directory.name
        if log.exists():
            os.rename(log, log.with_name(f"{log.name}+{name}"))
            force_directory(log.parent)
    force_directory(target)
    # The creation of a queue manager makes them.
    (directory / QUEUES_PATH).mkdir(exist_ok=True)
    (directory / LOG_DIRECTORY).mkdir(exist_ok=True)
    for file, data in mark_of_empty().items():
        write_atomically(directory / file, data)


def _target(directory: Path, fork_lsn: int) -> Path:
    """Return the directory to move to: that of an attempt that a crash interrupted, or a new one."""
    parent = directory / DIRECTORY
    parent.mkdir(0o700, exist_ok=True)
    number = 1
    while (parent / f"{fork_lsn}-{number}" / _DONE).exists():
        number += 1
    target = parent / f"{fork_lsn}-{number}"
    target.mkdir(0o700, exist_ok=True)
    force_directory(parent)
    return target
