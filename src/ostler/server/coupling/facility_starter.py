"""Starts a coupling facility in a process of its own, which goes on when the one that started it ends.

The process tells how it went by one line of JSON on a pipe: {"ready": {...}} or {"failed": "...", "status": n}. Several
may start a facility at once: the one that gets its lock is the facility, and the others end.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from ostler.server.config.environment import without_secrets
from ostler.server.coupling.facility_directory import FacilityDirectory, facility_directory

_MODULE: Final = "ostler.cli.coupling.strcf"
_OUTPUT: Final = "output.log"
_OUTPUT_SHOWN: Final = 2000
_CIPHER: Final = "ANY_TLS13_OR_HIGHER"
_START_SECONDS: Final = 30.0
_ANSWER_SECONDS: Final = 5.0
_RUNNING_STATUS: Final = 5
_INSTALLED: Final = ("site-packages", "dist-packages")


class FacilityNotStarted(Exception):
    """The process ended, or did not say in time that it is ready."""


def start_process(directory: FacilityDirectory, options: Sequence[str] = ()) -> dict[str, Any]:
    """Start the process of a facility, and return its report. Raises FacilityNotStarted and OSError."""
    directory.make()
    command = [sys.executable, "-P", "-m", _MODULE, "--root", str(directory.root), "--name", directory.name]
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe:
        try:
            with open(directory.errors / _OUTPUT, "wb") as output:
                process = subprocess.Popen(
                    [*command, *(options or ("--cipher", _CIPHER)), "--pipe", str(writing)],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    pass_fds=(writing,),
                    env=_environment(),
                    start_new_session=True,
                )
        finally:
            os.close(writing)
        # It goes on by itself, and may end before this process does: somebody must take its exit status.
        threading.Thread(target=process.wait, name="ostler-facility-exit", daemon=True).start()
        is_there, _, _ = select.select([pipe], [], [], _START_SECONDS)
        line = pipe.readline() if is_there else b""
    if not is_there:
        raise FacilityNotStarted(f"its process {process.pid} was not ready after {_START_SECONDS:g} seconds")
    if not line:
        status = process.wait()
        shown = (directory.errors / _OUTPUT).read_bytes()[-_OUTPUT_SHOWN:].decode(errors="replace").strip()
        raise FacilityNotStarted(f"its process ended with status {status}. Its output:\n{shown}")
    report: dict[str, Any] = json.loads(line)
    return report


def _environment() -> dict[str, str]:
    """Return the environment of the process. A queue manager has another working directory than it was started in."""
    found = without_secrets(dict(os.environ))
    source = Path(__file__).absolute().parents[3]
    if source.name not in _INSTALLED and "PYTHONPATH" in found:
        found["PYTHONPATH"] = f"{source}{os.pathsep}{found['PYTHONPATH']}"
    return found


def start_if_absent(path: Path, starter: str, note: Callable[[str], None]) -> None:
    """Start the facility of a directory unless one answers there, and tell the error log. Failures are told only."""
    name = path.name
    try:
        directory = facility_directory(path.parent.parent, name)
        if directory.path != path:
            raise ValueError(f"{path} is no directory of a facility: .../facilities/NAME")
        if _answers(directory) or directory.is_running():
            return
        report = start_process(directory)
    except (OSError, ValueError, FacilityNotStarted) as error:
        note(f"AMQ3859E: Coupling facility {name} could not start: {error}.")
        return
    if "ready" in report:
        note(
            f"AMQ3864I: Queue manager {starter} has started coupling facility {name} in process "
            f"{report['ready']['pid']}, empty. It goes on when the queue manager ends; `ostler endcf {name}` ends it."
        )
    elif report.get("status") != _RUNNING_STATUS:  # another member was quicker
        note(str(report.get("failed")))


def _answers(directory: FacilityDirectory) -> bool:
    try:
        directory.connect(_ANSWER_SECONDS).close()
    except (FileNotFoundError, ConnectionRefusedError):
        return False
    return True
