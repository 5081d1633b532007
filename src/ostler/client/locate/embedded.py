"""Queue managers embedded in this process: start, lookup by name, and end with the process."""

from __future__ import annotations

import atexit
import getpass
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final

from ostler._version import __version__
from ostler.client.locate import registry
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.config.directories import (
    QueueManagerDirectory,
    QueueManagerNotFoundError,
    QueueManagerRunningError,
    data_root,
)
from ostler.server.config.process_file import ManagerState, ProcessRecord, write_record
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

Progress = Callable[[int, int], None]
"""Receives the bytes replayed so far and in total."""

# A start that takes less time shows no progress bar.
_PATIENCE_SECONDS: Final = 1.5


def start(
    name: str = "QM1",
    data: str | Path | None = None,
    create: bool = False,
    log: LogSection | None = None,
    progress: Progress | bool | None = None,
) -> QueueManager:
    """Start a queue manager in this process. It ends when its `end` is called, or orderly with the process.

    `data` is the directory of the queue managers; the default is OSTLER_DATA, else `ostler` below XDG_DATA_HOME, else
    `.ostler` in the home directory. With `create` a queue manager that does not exist is created first; `log` is the
    Log stanza of its qm.ini. `progress` receives the progress of a restart; by default a restart that takes long shows
    a bar on a terminal, unless it is False.

    Raises QueueManagerNotFoundError, QueueManagerRunningError when it runs already, in this process or another, and the
    errors of a damaged log or qm.ini.
    """
    directory = QueueManagerDirectory(_root(data), _check_name(name))
    if create and not directory.exists():
        create_queue_manager(directory.root, name, log)
    if not directory.exists():
        raise QueueManagerNotFoundError(f"there is no queue manager {name} in {directory.root}; create=True makes one")
    manager = QueueManager(directory)
    if callable(progress):
        manager.start(progress)
    elif progress is False or not sys.stderr.isatty():
        manager.start()
    else:
        with ReplayBar(name) as bar:
            manager.start(bar)
    registry.register(manager)
    _end_with_process(manager)
    _record_process(manager)
    return manager


def queue_manager_for(queue_manager: str | QueueManager, data: str | Path | None, create: bool) -> QueueManager:
    """Return the queue manager to connect to. It is started if it does not run in this process."""
    if isinstance(queue_manager, QueueManager):
        return queue_manager
    found = next((each for each in registry.running_managers() if each.name == queue_manager), None)
    if found is None:
        try:
            return start(queue_manager, data, create)
        except QueueManagerNotFoundError as missing:
            raise MQError(mq.MQRC_Q_MGR_NAME_ERROR, f"{missing}.") from missing
        except QueueManagerRunningError as elsewhere:
            raise MQError(mq.MQRC_Q_MGR_NOT_AVAILABLE, f"{elsewhere}.") from elsewhere
    if data is not None and found.directory.root.absolute() != Path(data).absolute():
        raise MQError(
            mq.MQRC_Q_MGR_NAME_ERROR,
            f"Queue manager {queue_manager} runs here from {found.directory.root}, not from {data}.",
        )
    return found


def _root(data: str | Path | None) -> Path:
    return data_root(os.environ) if data is None else Path(data).absolute()


def _check_name(name: str) -> str:
    try:
        QueueManagerDirectory(Path("/"), name).path  # noqa: B018 - a name that is none raises here
    except ValueError as error:
        raise MQError(mq.MQRC_Q_MGR_NAME_ERROR, f"{error}.") from None
    return name


# -- the process record ------------------------------------------------------------------------------------------------

_ENDED: Final = {
    "immediate": ManagerState.ENDED_IMMEDIATELY,
    "preemptive": ManagerState.ENDED_PREEMPTIVELY,
}


def _record_process(manager: QueueManager) -> None:
    """Record in the queue manager's directory that this process runs it, for `dspmq`."""
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(manager.started_at))
    record = ProcessRecord(os.getpid(), started, __version__, "", ManagerState.RUNNING, is_embedded=True)
    _write(manager, record)
    manager.on_end.append(partial(_record_end, manager, record))


def _record_end(manager: QueueManager, record: ProcessRecord) -> None:
    _write(manager, replace(record, state=_ENDED.get(manager.end_mode, ManagerState.ENDED_NORMALLY)))


def _write(manager: QueueManager, record: ProcessRecord) -> None:
    # A full disk must not keep a queue manager from starting or ending.
    with suppress(OSError):
        write_record(manager.directory, record)


# -- the end of the process --------------------------------------------------------------------------------------------

_started: Final[dict[QueueManager, int]] = {}


def _end_with_process(manager: QueueManager) -> None:
    if not _started:
        atexit.register(_end_all)
    # A forked child has the open files, too, but must not close them.
    _started[manager] = os.getpid()
    manager.on_end.append(partial(_forget, manager))


def _forget(manager: QueueManager) -> None:
    _started.pop(manager, None)


def _end_all() -> None:
    for manager, process in list(_started.items()):
        if process == os.getpid() and manager.running:
            # No thread is left to finish its work: units of work of daemon threads are backed out.
            manager.end("quiesce")


# -- progress ----------------------------------------------------------------------------------------------------------


class ReplayBar:
    """A progress bar for the restart of a queue manager. It appears only when the restart takes long."""

    def __init__(self, name: str, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        self._name = name
        self._patience_seconds = patience_seconds
        self._began = time.monotonic()
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> ReplayBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done_bytes: int, total_bytes: int) -> None:
        if self._bar is None:
            if time.monotonic() - self._began < self._patience_seconds:
                return
            self._bar = self._open()
            self._task = self._bar.add_task(f"Replaying the log of {self._name}", total=total_bytes)
        assert self._task is not None
        self._bar.update(self._task, completed=done_bytes, total=total_bytes)

    @property
    def is_shown(self) -> bool:
        return self._bar is not None

    def _open(self) -> RichProgress:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        bar = Progress(*columns, console=Console(stderr=True), transient=True)
        bar.start()
        return bar


# -- user and application ----------------------------------------------------------------------------------------------


def user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "unknown"


def application_name() -> str:
    return Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
