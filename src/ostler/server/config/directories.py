"""The directories of queue managers, and the locks that decide which process may run one.

    <data root>/qmgrs/<queue manager>/qm.ini
                                      qm.lock    held by the one process that runs it
                                      instance   which log belongs to it
                                      checkpoint, objects    what a restart begins with
                                      queues/    one directory for each local queue
                                      temporary/ the same for temporary queues; emptied by a start
                                      log/       the recovery log, unless qm.ini says elsewhere
                                      errors/

An instance of a replicated queue manager is a queue manager of its machine like any other. For several instances on one
machine each has a data root of its own:

    <data root>/instances/<instance>/qmgrs/<queue manager>/...

Commands take `QM1@alpha` for queue manager QM1 in the data root of instance alpha. OSTLER_DATA names any other root.

Object names become directory names as in MQ: "." is written "!", "/" is written "&". Internal names, which no object
can have, begin with "+": a tree under such a name is being created or removed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.config.ini_file import force_directory, write_atomically
from ostler.server.config.instance_names import is_instance_name

if TYPE_CHECKING:
    from ostler.server.config.qm_ini import QueueManagerIni

_NAME: Final = re.compile(r"[A-Za-z0-9._/%]{1,48}")
_DIRECTORY: Final = re.compile(r"[A-Za-z0-9!_&%]{1,48}")
_TO_DIRECTORY: Final = str.maketrans("./", "!&")
_TO_NAME: Final = str.maketrans("!&", "./")
_INTERNAL_PREFIX: Final = "+"
_SUBDIRECTORIES: Final = ("queues", "log", "errors")
_LOCK_FILE: Final = "qm.lock"
_INSTANCES: Final = "instances"
INSTANCE_SEPARATOR: Final = "@"
_DIRECTORY_MODE: Final = 0o700
# struct flock of Linux: type, whence, start, length, process.
_FLOCK: Final = struct.Struct("@hhqqi4x")


class QueueManagerExistsError(Exception):
    """A queue manager of that name exists already."""


class QueueManagerNotFoundError(Exception):
    """There is no queue manager of that name."""


class QueueManagerRunningError(Exception):
    """Another process runs the queue manager. `process` is its id, or 0 if unknown."""

    def __init__(self, name: str, process: int) -> None:
        super().__init__(f"queue manager {name} is running in {describe_process(process)}")
        self.name = name
        self.process = process

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.name, self.process)


def not_the_owner(name: str, error: PermissionError) -> MQError:
    """Return the error for a local user who does not own the files of a queue manager."""
    return MQError(
        mq.MQRC_NOT_AUTHORIZED,
        f"{error.filename}: {error.strerror}. Queue manager {name[:48]} belongs to another user of this machine; "
        f"connect to it as a client, with a connection name and a channel.",
    )


def data_root(environment: Mapping[str, str]) -> Path:
    """Return OSTLER_DATA; else `ostler` below XDG_DATA_HOME; else `.ostler` in the home directory."""
    chosen = environment.get("OSTLER_DATA", "")
    if chosen:
        return Path(chosen).absolute()
    shared = environment.get("XDG_DATA_HOME", "")
    # Relative paths are ignored, by the XDG specification.
    if shared.startswith("/"):
        return Path(shared) / "ostler"
    return Path(environment.get("HOME") or os.path.expanduser("~")) / ".ostler"


def locate(root: Path, given: str) -> QueueManagerDirectory:
    """Return the directory of a queue manager as people name it, `QM1` or `QM1@alpha`. It need not exist.

    Raises ValueError for an invalid name.
    """
    name, at, instance = given.partition(INSTANCE_SEPARATOR)
    directory_name(name)
    if not at:
        return QueueManagerDirectory(root, name)
    if not is_instance_name(instance):
        raise ValueError(f"{instance!r} is not the name of an instance: letters, digits, '.', '_' and '-'")
    return QueueManagerDirectory(root / _INSTANCES / instance, name)


def data_roots(root: Path) -> list[Path]:
    """Return a data root and those of the instances below it, sorted by name."""
    below = root / _INSTANCES
    try:
        found = sorted(name for name in os.listdir(below) if is_instance_name(name))
    except (FileNotFoundError, NotADirectoryError):
        found = []
    return [root, *(below / name for name in found)]


def instance_of_root(root: Path) -> tuple[Path, str]:
    """Return the data root that a data root is below, and its instance; the root itself and an empty name if none."""
    if root.parent.name == _INSTANCES and is_instance_name(root.name):
        return root.parent.parent, root.name
    return root, ""


def directory_name(name: str) -> str:
    """Return the directory name of a queue manager or queue. Raises ValueError for an invalid object name."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not an object name: 1 to 48 letters, digits, '.', '/', '_' and '%'")
    return name.translate(_TO_DIRECTORY)


def object_name(directory: str) -> str:
    """Return the object name of a directory; the inverse of `directory_name`. Raises ValueError."""
    if not _DIRECTORY.fullmatch(directory):
        raise ValueError(f"{directory!r} is not the directory of an object")
    return directory.translate(_TO_NAME)


@dataclass(frozen=True)
class QueueManagerDirectory:
    """The tree of one queue manager, which need not exist."""

    root: Path
    name: str

    @property
    def typed_name(self) -> str:
        """The name as people type it: with the instance, if that has a data root of its own below another."""
        instance = instance_of_root(self.root)[1]
        return f"{self.name}{INSTANCE_SEPARATOR}{instance}" if instance else self.name

    @property
    def path(self) -> Path:
        return self.root / "qmgrs" / directory_name(self.name)

    @property
    def ini(self) -> Path:
        return self.path / "qm.ini"

    @property
    def lock(self) -> Path:
        return self.path / _LOCK_FILE

    @property
    def queues(self) -> Path:
        return self.path / "queues"

    @property
    def log(self) -> Path:
        """The default directory of the log. LogPath in qm.ini overrides it."""
        return self.path / "log"

    @property
    def errors(self) -> Path:
        return self.path / "errors"

    def exists(self) -> bool:
        return self.ini.exists()


@dataclass(frozen=True)
class QueueManagerEntry:
    """An entry in the list of queue managers. `process` is 0 when it is not running or its id is unknown."""

    name: str
    path: Path
    running: bool
    process: int


class InstanceLock:
    """Held by the one process that runs a queue manager, until `release` or the end of the process."""

    def __init__(self, directory: QueueManagerDirectory) -> None:
        """Raises QueueManagerNotFoundError and QueueManagerRunningError."""
        try:
            self._descriptor = os.open(directory.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            raise QueueManagerNotFoundError(f"there is no queue manager {directory.name}") from None
        try:
            fcntl.fcntl(self._descriptor, fcntl.F_OFD_SETLK, _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        except OSError as error:
            process = _read_process_id(self._descriptor)
            self.release()
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise QueueManagerRunningError(directory.name, process) from None
            raise
        if not self._is_at(directory.lock):
            self.release()
            raise QueueManagerNotFoundError(f"queue manager {directory.name} was removed a moment ago")
        self._write_process_id()

    def _write_process_id(self) -> None:
        """Overwrite the old id, which needs no space. On a full disk a new file stays empty."""
        process = f"{os.getpid()}\n".encode()
        try:
            os.pwrite(self._descriptor, process, 0)
            os.ftruncate(self._descriptor, len(process))
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise

    def _is_at(self, path: Path) -> bool:
        """Return True when the locked file is still the one that other processes would lock."""
        try:
            there = os.stat(path)
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(self._descriptor))

    def release(self) -> None:
        """Release the lock; again does nothing. The file stays: removing it would let two processes lock it."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> InstanceLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class ReadingLock:
    """Keeps a queue manager from being started while its files are read. Writes nothing."""

    def __init__(self, directory: QueueManagerDirectory) -> None:
        """Raises QueueManagerRunningError. A queue manager that was never started has nothing to lock."""
        try:
            self._descriptor = os.open(directory.lock, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            self._descriptor = -1
            return
        try:
            fcntl.fcntl(self._descriptor, fcntl.F_OFD_SETLK, _FLOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0))
        except OSError as error:
            process = _read_process_id(self._descriptor)
            self.release()
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise QueueManagerRunningError(directory.name, process) from None
            raise

    def release(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> ReadingLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def create_queue_manager(
    root: Path, name: str, ini: QueueManagerIni, files: Mapping[str, bytes] | None = None
) -> QueueManagerDirectory:
    """Create a queue manager's tree: after a crash it exists as a whole or not at all.

    `files` are others that it has from the beginning, by name.

    Raises MQError for an invalid name, QueueManagerExistsError, and OSError.
    """
    directory = _valid_directory(root, name)
    with _exclusive_change(root):
        if directory.path.exists():
            raise QueueManagerExistsError(_conflict_text(directory))
        building = directory.path.with_name(f"{_INTERNAL_PREFIX}creating {directory.path.name}")
        building.mkdir(_DIRECTORY_MODE)
        try:
            for sub in _SUBDIRECTORIES:
                (building / sub).mkdir(_DIRECTORY_MODE)
            ini.write(building / "qm.ini")
            for file_name, contents in (files or {}).items():
                write_atomically(building / file_name, contents)
            force_directory(building)
            os.rename(building, directory.path)
        except BaseException:
            shutil.rmtree(building, ignore_errors=True)
            raise
        force_directory(directory.path.parent)
    return directory


def remove_queue_manager(root: Path, name: str) -> None:
    """Remove a queue manager's tree. A log that qm.ini places elsewhere is not touched.

    Raises MQError for an invalid name, QueueManagerNotFoundError, QueueManagerRunningError, and OSError.
    """
    directory = _valid_directory(root, name)
    if not directory.path.is_dir():
        raise QueueManagerNotFoundError(f"there is no queue manager {name}")
    with _exclusive_change(root), InstanceLock(directory):
        removing = directory.path.with_name(f"{_INTERNAL_PREFIX}removing {directory.path.name}")
        os.rename(directory.path, removing)
        force_directory(removing.parent)
        shutil.rmtree(removing)


def queue_managers(root: Path) -> list[QueueManagerEntry]:
    """Return all queue managers below a data root, sorted by name."""
    try:
        found = os.listdir(root / "qmgrs")
    except FileNotFoundError:
        return []
    entries: list[QueueManagerEntry] = []
    for directory in found:
        if not _DIRECTORY.fullmatch(directory):
            continue
        manager = QueueManagerDirectory(root, object_name(directory))
        if manager.exists():
            running, process = running_process(manager)
            entries.append(QueueManagerEntry(manager.name, manager.path, running, process))
    return sorted(entries, key=lambda entry: entry.name)


def running_process(directory: QueueManagerDirectory) -> tuple[bool, int]:
    """Return whether a queue manager runs, and its process. Takes no lock, so that it never delays a start."""
    try:
        descriptor = os.open(directory.lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False, 0
    try:
        question = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        answer = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, question)
        running = _FLOCK.unpack(answer)[0] != fcntl.F_UNLCK
        return running, _read_process_id(descriptor) if running else 0
    finally:
        os.close(descriptor)


def is_being_killed(process: int) -> bool:
    """Return True for a process that has been killed and whose threads have not all ended: it still has its locks."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
    return "\nState:\tZ" in status


def describe_process(process: int) -> str:
    """Describe a process for people: its id, and its program if visible."""
    if process <= 0:
        return "another process"
    name = program_name(process)
    return f"process {process} ({name})" if name else f"process {process}"


def program_name(process: int) -> str:
    """Return the program that a process runs; empty when it is not visible."""
    # Imported here because every command loads this module and few describe a process.
    import psutil

    try:
        name: str = psutil.Process(process).name()
        return name
    except (psutil.Error, ValueError):
        return ""


def _valid_directory(root: Path, name: str) -> QueueManagerDirectory:
    if not _NAME.fullmatch(name):
        raise MQError(
            mq.MQRC_Q_MGR_NAME_ERROR, f"{name!r} is not a name: 1 to 48 letters, digits, '.', '/', '_' and '%'."
        )
    return QueueManagerDirectory(root, name)


def _conflict_text(directory: QueueManagerDirectory) -> str:
    """Describe the queue manager that has the directory: its name may differ in case only."""
    wanted = directory.path.name
    names = os.listdir(directory.path.parent)
    for other in names:
        if wanted not in names and other.lower() == wanted.lower():
            return f"queue manager {object_name(other)} has the directory that {directory.name} would have here"
    return f"queue manager {directory.name} already exists"


@contextmanager
def _exclusive_change(root: Path) -> Iterator[None]:
    """Serialize creation and removal of queue managers. Leftovers of an interrupted one are removed first.

    The data root is created if it does not exist.
    """
    parent = root / "qmgrs"
    os.makedirs(root, _DIRECTORY_MODE, exist_ok=True)
    parent.mkdir(_DIRECTORY_MODE, exist_ok=True)
    descriptor = os.open(parent / f"{_INTERNAL_PREFIX}lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        for left in parent.glob(f"{_INTERNAL_PREFIX}* *"):
            shutil.rmtree(left)
        yield
    finally:
        os.close(descriptor)


def _read_process_id(descriptor: int) -> int:
    """Return the process id that the holder of the lock wrote; 0 if there is none, or not yet."""
    written = os.pread(descriptor, 20, 0).strip()
    return int(written) if written.isdigit() else 0
