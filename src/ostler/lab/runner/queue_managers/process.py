"""A laboratory queue manager in a process of its own, started as strmqm would start it, seen from outside."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from ostler.client.api.connection import connect
from ostler.client.link.control import NotRunningError, control
from ostler.lab.peers.broker_process import LOOPBACK, free_port
from ostler.lab.runner.contract import Metric, PointFailed, RunAborted
from ostler.lab.runner.queue_managers import child as child
from ostler.lab.runner.queue_managers.accounting_rows import READER, SOURCES, next_record, take_metrics
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.store.roles import QUEUE_MANAGER
from ostler.model.errors import MQError
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.net.local_socket import socket_path
from ostler.server.queue_manager import RestartSummary

_START_SECONDS_MAX: Final = 300.0
_ANSWER_SECONDS_MAX: Final = 30.0
_LINES_SHOWN: Final = 5


class LabQueueManager:
    """A running queue manager. The caller ends it; it ends by itself when this process is gone."""

    def __init__(self, root: Path, plan: QueueManagerPlan, port: int = 0, role: str = QUEUE_MANAGER) -> None:
        """Start the queue manager, and create it first if it does not exist. Raises RunAborted when it does not start.

        An existing one gets the commands of the plan, but not its log, stanzas and certificate.
        """
        self.root = root
        self.plan = plan
        self.role = role
        self.name = plan.name
        self.directory = QueueManagerDirectory(root, plan.name)
        self.address = (LOOPBACK, port or free_port())
        self.local_path = str(socket_path(self.directory))
        self.log_file = root / f"{self.directory.path.name}.out"
        self._lock = threading.Lock()
        self._records: dict[str, int] = {}
        began = time.perf_counter()
        self._process, self._pipe = self._spawn()
        self.restart, port = self._wait_until_ready()
        self.address = (LOOPBACK, port)
        self.start_seconds = time.perf_counter() - began
        """The time from nothing to ready, including the start of the interpreter."""

    def _spawn(self) -> tuple[subprocess.Popen[bytes], Connection]:
        self.root.mkdir(parents=True, exist_ok=True)
        ours, theirs = socket.socketpair()
        with theirs, self.log_file.open("ab") as log:
            # Control-C at the terminal is for this process, which ends the queue manager in good order. A process group
            # is enough for that: in a session of its own the kernel would schedule it otherwise than drivers and peers
            # (autogroups).
            process = subprocess.Popen(
                [sys.executable, "-m", child.__name__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(theirs.fileno(),),
                process_group=0,
                env=os.environ | self.plan.environment,
            )
        if self.plan.cores:
            # Threads are created later, and inherit the affinity.
            os.sched_setaffinity(process.pid, sorted(os.sched_getaffinity(0))[: self.plan.cores])
        pipe = Connection(ours.detach())
        # A process that ended at once is reported by `_wait_until_ready`.
        with contextlib.suppress(OSError):
            pipe.send((self.root, self.plan, self.address))
        return process, pipe

    def _wait_until_ready(self) -> tuple[RestartSummary, int]:
        """Return the restart summary, and the port of the listener."""
        try:
            what, value = self._receive(_START_SECONDS_MAX)
        except PointFailed as failed:
            self.kill()
            raise RunAborted(str(failed)) from None
        except BaseException:
            self.kill()
            raise
        if what == child.READY:
            assert isinstance(value, tuple)
            restart, found = value
            assert isinstance(restart, RestartSummary)
            return restart, int(found)
        self.end()
        raise RunAborted(f"Queue manager {self.name} does not start: {value}{self._last_lines()}")

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def authority_file(self) -> str:
        """The certificate that clients trust; empty without TLS."""
        if not self.plan.cipher_spec:
            return ""
        return str(self.directory.path / child.AUTHORITY_DIRECTORY / "ca.crt")

    def watched(self) -> list[WatchedProcess]:
        """Return the process to sample by thread, so that the log's thread is seen."""
        return [WatchedProcess(self.role, self.pid, True, True)]

    # -- what it does --------------------------------------------------------------------------------------------------

    def metrics(self) -> list[Metric]:
        """Return the current counters of all verbs, of the log, and of all LAB queues together. May be called from any
        thread.

        It delays nobody, and opens no connection that would be counted. Raises PointFailed when the process is gone.
        """
        with self._lock:
            try:
                while self._pipe.poll():
                    self._pipe.recv()  # an answer that came too late
                self._pipe.send(child.METRICS)
            except (OSError, EOFError):
                raise PointFailed(self.describe_end()) from None
            _, found = self._receive(_ANSWER_SECONDS_MAX)
        assert isinstance(found, list)
        return [Metric(source, name, float(value)) for source, name, value in found]

    def mqsc(self, text: str) -> list[str]:
        """Run commands as runmqsc does, and return its lines. Raises PointFailed when a command failed."""
        lines: list[str] = []
        is_done = True
        for reply in self._ask("mqsc", text=text, echo=False):
            if "line" in reply:
                lines.append(str(reply["line"]))
            counts = reply.get("counts")
            if isinstance(counts, dict):
                is_done = not counts["syntax_errors"] and not counts["failed"]
        if not is_done:
            raise PointFailed(f"Queue manager {self.name} refused: {' '.join(child.refusals(lines)) or lines}")
        return lines

    def accounting(self) -> list[Metric]:
        """Get all statistics and accounting messages; nothing without `is_accounting`.

        Statistics are written up to now. The accounting of a connection is written when it ends, so close the load
        first. Reading connects and gets as an application does, which the verbs count and the LAB queues do not.
        """
        if not self.plan.is_accounting:
            return []
        self.mqsc("RESET QMGR TYPE(STATISTICS)")
        found: list[Metric] = []
        try:
            with connect(self.name, data=self.root, binding="local", application=READER) as connection:
                for source in SOURCES:
                    taken = take_metrics(connection, source, self._records.get(source, 0))
                    self._records[source] = next_record(taken, self._records.get(source, 0))
                    found += taken
        except MQError as error:
            raise PointFailed(f"The accounts of queue manager {self.name} cannot be read: {error}") from None
        return found

    def run_trusted(self, target: str, *arguments: str) -> None:
        """Call a function in its process, in a thread of its own, as `ostler run-trusted -b` does."""
        for _ in self._ask("run_trusted", target=target, arguments=list(arguments), background=True):
            pass

    def call_trusted(self, target: str, *arguments: str) -> None:
        """Call a function in its process, and wait for its end. Raises PointFailed when it failed."""
        for reply in self._ask("run_trusted", target=target, arguments=list(arguments), background=False):
            if reply.get("failure"):
                raise PointFailed(f"{target} failed in queue manager {self.name}: {reply['failure']}")

    def _ask(self, action: str, **arguments: object) -> Iterator[dict[str, object]]:
        """Yield the answers to an action over its local socket, as any administrator gets them."""
        try:
            yield from control(self.directory, action, **arguments)
        except (NotRunningError, MQError) as error:
            raise PointFailed(f"{error} {self.describe_end()}" if not self.is_alive else str(error)) from None

    def describe_end(self) -> str:
        """Describe the end of the process, or that it does not answer."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        status = self._process.poll()
        how = "does not answer" if status is None else f"ended with status {status}"
        return f"Queue manager {self.name} {how}{self._last_lines()}"

    def _receive(self, seconds_max: float) -> tuple[str, object]:
        try:
            if self._pipe.poll(seconds_max):
                what, value = self._pipe.recv()
                return str(what), value
        except (EOFError, OSError):
            raise PointFailed(self.describe_end()) from None
        raise PointFailed(f"Queue manager {self.name} did not answer within {seconds_max:.0f} s{self._last_lines()}")

    def _last_lines(self) -> str:
        """Return the last lines of its error log and of its output."""
        lines: list[str] = []
        for path in (self.directory.errors / "AMQERR01.LOG", self.log_file):
            with contextlib.suppress(OSError):
                lines += path.read_text(errors="replace").splitlines()[-_LINES_SHOWN:]
        return "".join(f"\n  {line}" for line in lines)

    # -- its end -------------------------------------------------------------------------------------------------------

    def end(self) -> None:
        """End it in good order, as endmqm -i; kill it if that takes too long. Repeated calls do nothing."""
        with self._lock:
            self._pipe.close()
        try:
            self._process.wait(child.SECONDS_TO_END_MAX)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it at once, as kill -9."""
        self._process.kill()
        self._process.wait()
        self._pipe.close()

    def start_again(self) -> LabQueueManager:
        """Start it again after its end: from the data on disk, and on the same port if that is still free."""
        if self.is_alive:
            raise ValueError(f"queue manager {self.name} still runs")
        return LabQueueManager(self.root, self.plan, self.address[1], self.role)

    def __enter__(self) -> LabQueueManager:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
