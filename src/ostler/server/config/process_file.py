"""`run/process.json`: which process runs a queue manager, and how the last one ended.

The instance lock says whether somebody runs it; the file only says more about that one. A file that speaks of a run
that nobody holds the lock of any more tells of a process that did not get as far as its end.
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
    """The states of a queue manager, in the words that MQ's dspmq has for them."""

    STARTING = "Starting"
    RUNNING = "Running"
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
    """What the file says."""

    pid: int
    started: str
    version: str
    flavour: str
    state: str
    is_embedded: bool = False  # a program runs it beside its own work


def run_directory(directory: QueueManagerDirectory) -> Path:
    """The directory of what belongs to a running queue manager; made when it is not there."""
    path = directory.path / "run"
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def write_record(directory: QueueManagerDirectory, record: ProcessRecord) -> None:
    """Raises OSError when not even the file that is there can be written."""
    path = run_directory(directory) / _NAME
    data = json.dumps(asdict(record)).encode()
    try:
        write_atomically(path, data)
    except OSError:
        # A full disk has no space for a second file. Who reads half of this one goes by the instance lock alone.
        with open(path, "r+b", buffering=0) as file:
            file.write(data)
            file.truncate(len(data))


def read_record(directory: QueueManagerDirectory) -> ProcessRecord | None:
    """What the file says; None when there is none, or nothing that can be understood."""
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
    """How a queue manager is, seen from outside. Takes no lock and asks nobody."""
    is_running, pid = running_process(directory)
    record = read_record(directory)
    if is_running:
        if record is None or record.pid != pid:
            # Embedded in a program, or the process has just begun.
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
