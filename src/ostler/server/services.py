"""The programs of SERVICE objects: started and stopped by command, or with the queue manager.

A program is executed directly, never through a shell. It gets a session of its own, so that it can be ended with all
its child processes. Its environment consists of a few variables of the queue manager, without passwords, and those in
service.env. A server runs once and has a status; a command runs as often as it is started.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from ostler.command.admin.context import (
    SERVICE_ACTIVE,
    SERVICE_NOT_ACTIVE,
    CommandRefused,
    ServiceStatus,
)
from ostler.model import constants as mq
from ostler.model.definitions import Definition
from ostler.server.config.environment import for_service
from ostler.server.config.variables import read_variables

ENVIRONMENT_FILE: Final = "service.env"
_STOP_SECONDS_MAX: Final = 10.0
_POLL_SECONDS: Final = 0.1
_TERMINATE_SECONDS_MAX: Final = 5.0
_COMMAND_SECONDS_MAX: Final = 60.0


@dataclass
class _RunningServer:
    """A running server."""

    name: str
    process: subprocess.Popen[bytes]
    started_ms: int
    ended: threading.Event = field(default_factory=threading.Event)
    is_stopping: bool = False


class Services:
    """All services of one queue manager. Thread-safe."""

    def __init__(self, name: str, data_path: Path, root: Path, note: Callable[[str], None]) -> None:
        self._name = name
        self._data_path = data_path
        self._root = root
        self._note = note
        self._lock = threading.Lock()
        self._servers: dict[str, _RunningServer] = {}

    # -- commands ------------------------------------------------------------------------------------------------------

    def start(self, definition: Definition) -> None:
        """START SERVICE. Raises CommandRefused when it runs already, has no program, or the program cannot be run."""
        name = definition.name
        is_server = definition.attributes.get("SERVTYPE") == mq.MQSVC_TYPE_SERVER
        if not _text(definition, "STARTCMD"):
            raise CommandRefused("AMQ8740E", f"Service {name} has no STARTCMD, so there is nothing to start.")
        with self._lock:
            if is_server and name in self._servers:
                raise CommandRefused(SERVICE_ACTIVE, f"Service {name} is active already.")
            process = self._run(definition, "STARTCMD", "STARTARG", 0)
            running = _RunningServer(name, process, int(time.time() * 1000))
            if is_server:
                self._servers[name] = running
        what = "AMQ5028I: The server" if is_server else "AMQ5030I: The command"
        self._note(f"{what} {name} has started. Process {process.pid}.")
        watcher = threading.Thread(target=self._watch, args=(running, is_server), name=f"service {name}", daemon=True)
        try:
            watcher.start()
        except RuntimeError as error:
            # Its end would not be noticed.
            _signal(process, signal.SIGKILL)
            process.wait()
            with self._lock:
                self._servers.pop(name, None)
            raise CommandRefused("AMQ8734E", f"Service {name} cannot be monitored, and was ended: {error}.") from None

    def stop(self, definition: Definition) -> None:
        """STOP SERVICE: run STOPCMD. Returns before the service has ended. Raises CommandRefused."""
        name = definition.name
        with self._lock:
            running = self._servers.get(name)
            is_server = definition.attributes.get("SERVTYPE") == mq.MQSVC_TYPE_SERVER
            if is_server and running is None:
                raise CommandRefused(SERVICE_NOT_ACTIVE, f"Service {name} is not active.")
            if not _text(definition, "STOPCMD"):
                raise CommandRefused("AMQ8739E", f"Service {name} has no STOPCMD, so nothing can stop it.")
            process = self._run(definition, "STOPCMD", "STOPARG", running.process.pid if running is not None else 0)
            if running is not None:
                running.is_stopping = True
        _reap_later(process, name)

    def status(self) -> list[ServiceStatus]:
        """Return the status of running servers. Commands have none."""
        with self._lock:
            return [
                ServiceStatus(
                    each.name, each.process.pid, each.started_ms, "STOPPING" if each.is_stopping else "RUNNING"
                )
                for each in self._servers.values()
            ]

    # -- with the queue manager ----------------------------------------------------------------------------------------

    def start_all(self, definitions: Iterable[Definition]) -> None:
        """Start the services that start with the queue manager. One that cannot start is logged."""
        for definition in definitions:
            if definition.attributes.get("CONTROL") in (mq.MQSVC_CONTROL_Q_MGR, mq.MQSVC_CONTROL_Q_MGR_START):
                try:
                    self.start(definition)
                except CommandRefused as refusal:
                    self._note(f"{refusal.number}: {refusal.text}")

    def stop_all(self, definitions: Iterable[Definition], seconds_left: Callable[[], float] | None = None) -> None:
        """Stop the services that stop with the queue manager: by STOPCMD, and a server that still runs by signals.

        `seconds_left` returns the time they have, which may shrink meanwhile.
        """
        stopping: list[_RunningServer] = []
        for definition in definitions:
            if definition.attributes.get("CONTROL") != mq.MQSVC_CONTROL_Q_MGR:
                continue
            with self._lock:
                running = self._servers.get(definition.name)
            is_server = definition.attributes.get("SERVTYPE") == mq.MQSVC_TYPE_SERVER
            if _text(definition, "STOPCMD") and (running is not None or not is_server):
                try:
                    self.stop(definition)
                except CommandRefused as refusal:
                    self._note(f"{refusal.number}: {refusal.text}")
            elif running is not None:
                _signal(running.process, signal.SIGTERM)
            if running is not None:
                stopping.append(running)
        deadline = time.monotonic() + _STOP_SECONDS_MAX
        for running in stopping:
            left = deadline - time.monotonic()
            while left > 0 and not running.ended.wait(min(left, _POLL_SECONDS)):
                left = deadline - time.monotonic()
                if seconds_left is not None:
                    left = min(left, seconds_left())
            if not running.ended.is_set():
                self._end(running)

    def _end(self, running: _RunningServer) -> None:
        for number, seconds in ((signal.SIGTERM, _TERMINATE_SECONDS_MAX), (signal.SIGKILL, _TERMINATE_SECONDS_MAX)):
            _signal(running.process, number)
            if running.ended.wait(seconds):
                return

    # -- processes -----------------------------------------------------------------------------------------------------

    def _run(self, definition: Definition, command: str, arguments: str, server: int) -> subprocess.Popen[bytes]:
        variables = self._variables()
        inserts = {**variables, **self._inserts(definition.name, server)}
        try:
            # Split before inserts are substituted: a path with blanks stays one argument.
            words = [substitute_inserts(word, inserts) for word in shlex.split(_text(definition, arguments))]
        except ValueError as error:
            raise CommandRefused("AMQ8734E", f"{arguments} of service {definition.name}: {error}.") from None
        program = substitute_inserts(_text(definition, command), inserts)
        with contextlib.ExitStack() as files:
            try:
                out = self._output(files, substitute_inserts(_text(definition, "STDOUT"), inserts))
                errors = self._output(files, substitute_inserts(_text(definition, "STDERR"), inserts))
                return subprocess.Popen(
                    [program, *words],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=errors,
                    cwd=self._data_path,
                    env={**for_service(os.environ), **variables},
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) else str(error)
                raise CommandRefused(
                    "AMQ8734E", f"{program} of service {definition.name} cannot be run: {why}."
                ) from None

    def _output(self, files: contextlib.ExitStack, name: str) -> IO[bytes] | int:
        """Return where output is appended: a file that is created when needed, or nowhere."""
        if not name:
            return subprocess.DEVNULL
        descriptor = os.open(self._data_path / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        return files.enter_context(os.fdopen(descriptor, "ab"))

    def _inserts(self, service: str, server: int) -> dict[str, str]:
        return {
            "MQ_INSTALL_PATH": f"{sys.prefix}/",
            "MQ_DATA_PATH": f"{self._root}/",
            "MQ_Q_MGR_DATA_PATH": str(self._data_path),
            "MQ_Q_MGR_DATA_NAME": self._data_path.name,
            "MQ_Q_MGR_NAME": self._name,
            "QMNAME": self._name,
            "MQ_SERVICE_NAME": service,
            "MQ_SERVER_PID": str(server),
        }

    def _variables(self) -> dict[str, str]:
        """Return the variables of service.env: those of all queue managers, overridden by those of this one."""
        return {**read_variables(self._root / ENVIRONMENT_FILE), **read_variables(self._data_path / ENVIRONMENT_FILE)}

    def _watch(self, running: _RunningServer, is_server: bool) -> None:
        code = running.process.wait()
        with self._lock:
            if self._servers.get(running.name) is running:
                del self._servers[running.name]
        running.ended.set()
        what = "AMQ5029I: The server" if is_server else "AMQ5031I: The command"
        self._note(f"{what} {running.name} has ended with code {code}. Process {running.process.pid}.")


def substitute_inserts(text: str, inserts: Mapping[str, str]) -> str:
    """Replace the inserts between plus signs (+MQ_...+); unknown ones stay as they are."""
    known = "|".join(re.escape(name) for name in inserts)
    return re.sub(rf"\+({known})\+", lambda match: inserts[match.group(1)], text) if known else text


def _text(definition: Definition, name: str) -> str:
    value = definition.attributes.get(name, "")
    return value.strip() if isinstance(value, str) else ""


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to a program and its child processes, by the process group of its session."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)


def _reap_later(process: subprocess.Popen[bytes], name: str) -> None:
    """Wait for a program's end on another thread, and kill it if it takes too long."""
    threading.Thread(target=_reap, args=(process,), name=f"stop of service {name}", daemon=True).start()


def _reap(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_COMMAND_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGKILL)
        process.wait()
