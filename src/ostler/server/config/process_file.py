"""`run/process.json`: which process runs a queue manager, and how the last one ended.

The instance lock decides whether a queue manager runs; the file only adds details. A file that describes a run whose
lock is free belongs to a process that did not end properly.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from ostler.server.config.directories import QueueManagerDirectory, running_process
from ostler.server.config.ini_file import write_atomically

_NAME: Final = "process.json"
_BYTES_MAX: Final = 65_536


class ManagerState(StrEnum):
    """The states of a queue manager, as dspmq displays them."""

    STARTING = "Starting"
    RUNNING = "Running"
    REPLICA = "Replica"
    """It follows the leader of its group."""
    QUIESCING = "Quiescing"
    ENDING_IMMEDIATELY = "Ending immediately"
    ENDING_PREEMPTIVELY = "Ending preemptively"
    ENDED_NORMALLY = "Ended normally"
    ENDED_IMMEDIATELY = "Ended immediately"
    ENDED_PREEMPTIVELY = "Ended preemptively"
    ENDED_UNEXPECTEDLY = "Ended unexpectedly"


ENDING: Final = (ManagerState.QUIESCING, ManagerState.ENDING_IMMEDIATELY, ManagerState.ENDING_PREEMPTIVELY)
_ENDED: Final = (ManagerState.ENDED_NORMALLY, ManagerState.ENDED_IMMEDIATELY, ManagerState.ENDED_PREEMPTIVELY)


@dataclass(frozen=True)
class ProcessRecord:
    """The contents of the file."""

    pid: int
    started: str
    version: str
    flavour: str
    state: str
    is_embedded: bool = False  # it runs inside an application


def run_directory(directory: QueueManagerDirectory) -> Path:
    """Return the directory for files of a running queue manager; created if needed."""
    path = directory.path / "run"
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def write_record(directory: QueueManagerDirectory, record: ProcessRecord) -> None:
    """Write the file. Raises OSError when not even the existing file can be overwritten."""
    path = run_directory(directory) / _NAME
    data = json.dumps(asdict(record)).encode()
    try:
        write_atomically(path, data)
    except OSError:
        # A full disk has no space for a second file. A reader that finds half of this one uses the instance lock alone.
        with open(path, "r+b", buffering=0) as file:
            file.write(data)
            file.truncate(len(data))


def read_record(directory: QueueManagerDirectory) -> ProcessRecord | None:
    """Read the file; None when it is missing or cannot be parsed."""
    try:
        with open(directory.path / "run" / _NAME, "rb") as file:
            found = json.loads(file.read(_BYTES_MAX))
        return ProcessRecord(
            int(found["pid"]),
            str(found["started"]),
            str(found["version"]),
            str(found["flavour"]),
            str(found.get("state", ManagerState.RUNNING)),
            found.get("is_embedded") is True,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def state_of(directory: QueueManagerDirectory) -> ManagerState:
    """Return the state of a queue manager as seen from another process. Takes no lock and sends no request."""
    is_running, pid = running_process(directory)
    record = read_record(directory)
    if is_running:
        if record is None or record.pid != pid:
            # Embedded in an application, or the process has just started.
            return ManagerState.RUNNING if pid else ManagerState.STARTING
        known = _state(record.state)
        return ManagerState.RUNNING if known in _ENDED else known
    if record is None:
        # As after crtmqm, which starts and ends it once.
        return ManagerState.ENDED_IMMEDIATELY
    known = _state(record.state)
    return known if known in _ENDED else ManagerState.ENDED_UNEXPECTEDLY


def _state(text: str) -> ManagerState:
    try:
        return ManagerState(text)
    except ValueError:
        return ManagerState.RUNNING
