"""A queue manager as a process of its own: start, wait for a request to end, end.

The main thread waits here. Requests to end come from signals and from the control action "end"; a second, more urgent
request speeds up the end that has begun.

    SIGTERM   quiesce; after a while, immediate
    SIGINT    immediate; again: preemptive
"""

from __future__ import annotations

import gc
import importlib
import os
import queue
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import FrameType
from typing import TYPE_CHECKING, Final, NoReturn, Protocol

from ostler.engine.queue.queue_file import QueueFileDamaged
from ostler.engine.recovery.replay import JournalInconsistent
from ostler.engine.recovery.snapshot import FilesUnrelated, FormatNewer, SnapshotDamaged
from ostler.log.errors import LogDamaged, LogNewer, LogRefused, LogSpace
from ostler.model.disk import DiskFailed, DiskFull
from ostler.model.errors import MQError
from ostler.server.config.directories import QueueManagerDirectory, QueueManagerNotFoundError, QueueManagerRunningError
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.process_file import ManagerState, ProcessRecord, write_record
from ostler.server.config.qm_ini import QueueManagerIni
from ostler.server.error_log import Echo, ErrorLog, Notices, size_setting
from ostler.server.queue_manager import Progress, QueueManager, ReplicationUnavailable
from ostler.server.storage.descriptor_budget import raise_limit
from ostler.server.storage.memory_limits import bound_malloc_arenas

if TYPE_CHECKING:
    # Loaded by instances of replicated queue managers only.
    from ostler.server.config.replication_ini import ReplicationSection
    from ostler.server.replica.agent import Promotion
    from ostler.server.replica.instance import BaseParts, InstanceParts
    from ostler.server.replica.standby_socket import StandbySocket

_SWITCH_SECONDS: Final = 0.00005
QUIESCE: Final = "quiesce"
IMMEDIATE: Final = "immediate"
PREEMPTIVE: Final = "preemptive"
MODES: Final = (QUIESCE, IMMEDIATE, PREEMPTIVE)
"""The modes of ending, each more urgent than the one before."""

FOR_EVER: Final = float("inf")

# MQ's exit statuses of strmqm.
_RUNNING: Final = 5
_LOG_NOT_AVAILABLE: Final = 23
_STORAGE_NOT_AVAILABLE: Final = 69
_UNEXPECTED: Final = 71
_NAME_ERROR: Final = 72
_NATIVE_HA_NOT_AVAILABLE: Final = 93

_POLL_SECONDS: Final = 0.5
_FOLLOW_POLL_SECONDS: Final = 0.2
_RESIGN_SECONDS: Final = 2.0
_NO_WAIT: Final = 0.0
_ENDING: Final = {
    QUIESCE: (ManagerState.QUIESCING, ManagerState.ENDED_NORMALLY),
    IMMEDIATE: (ManagerState.ENDING_IMMEDIATELY, ManagerState.ENDED_IMMEDIATELY),
    PREEMPTIVE: (ManagerState.ENDING_PREEMPTIVELY, ManagerState.ENDED_PREEMPTIVELY),
}


class ServerProtocol(Protocol):
    """The part of the server that the process uses."""

    def start(self, with_listeners: bool = True) -> None: ...

    def end(self, mode: str = "quiesce", wait_seconds: float = 0.0) -> None: ...


MakeServer = Callable[[QueueManager, "Daemon"], ServerProtocol]


@dataclass(frozen=True)
class EndRequest:
    """A request to end the queue manager. A quiesce that takes too long becomes immediate."""

    mode: str
    wait_seconds: float
    who: str
    reconnects: bool = False
    switches_over: bool = False
    """A replica takes over (endmqm -s): it has been arranged with ReplicationControl.switch_over."""


@dataclass(frozen=True)
class StartFailure:
    """Why the queue manager did not start: a message with its number, and the exit status."""

    text: str
    status: int
    is_foreseen: bool = True
    """The message is sufficient. Otherwise a traceback is written to the error log as well."""


class StartInterrupted(Exception):
    """A request to end came before the start was complete."""


class Reporter(Protocol):
    """Receives the progress of the start: strmqm at the other end of a pipe, or a console."""

    def progress(self, done_bytes: int, total_bytes: int) -> None: ...

    def ready(self, manager: QueueManager) -> None: ...

    def failed(self, failure: StartFailure) -> None: ...


class Daemon:
    """The life of the process. `run` returns the exit status."""

    def __init__(
        self,
        directory: QueueManagerDirectory,
        reporter: Reporter,
        make_server: MakeServer,
        version: str = "",
        flavour: str = "",
        stop_seconds: float = 5.0,
        echo: Echo | None = None,
        with_listeners: bool = True,
        restart: Callable[[], None] = lambda: None,
    ) -> None:
        """`restart` runs the process anew, for an instance that does not lead any more."""
        self._restart = restart
        self._parts: InstanceParts | None = None
        self._directory = directory
        self._reporter = reporter
        self._make_server = make_server
        self._stop_seconds = stop_seconds
        self._echo = echo
        self._with_listeners = with_listeners
        # None: something else has happened that is worth a look.
        self._requests: queue.SimpleQueue[EndRequest | None] = queue.SimpleQueue()
        self._has_ended = threading.Event()
        self._is_interrupted = False
        self._mode = QUIESCE
        self._record = ProcessRecord(
            os.getpid(), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), version, flavour, ManagerState.STARTING
        )
        self.started = time.time()
        self.error_log: ErrorLog | None = None
        self.when_ready: list[Callable[[], None]] = []
        """Called when the start is complete and applications can connect."""
        self.exit_status = 0
        self.is_ending = threading.Event()
        """Set when a request to end has been taken and is shown in the state."""

    @property
    def record(self) -> ProcessRecord:
        return self._record

    def request_end(self, request: EndRequest) -> None:
        """Request the end of the queue manager. Returns at once. For any thread, and for signal handlers."""
        if request.mode not in MODES:
            raise ValueError(f"{request.mode!r} is not a mode of ending; use one of {', '.join(MODES)}")
        self._requests.put(request)

    # -- start -----------------------------------------------------------------------

    def run(self) -> int:
        """Start, serve and end; return the exit status. Failures of threads are written to the error log."""
        before = threading.excepthook
        threading.excepthook = self._log_thread_failure
        try:
            return self._run()
        finally:
            threading.excepthook = before

    def _log_thread_failure(self, failed: threading.ExceptHookArgs) -> None:
        name = failed.thread.name if failed.thread is not None else "of unknown name"
        words = "".join(traceback.format_exception(failed.exc_type, failed.exc_value, failed.exc_traceback))
        self._log(f"AMQ6109E: Thread {name} ended with an error: {words}")

    def _run(self) -> int:
        self._take_signals()
        raise_limit()
        bound_malloc_arenas()
        try:
            started = self._start()
        except Exception as error:
            failure = start_failure(self._directory.name, error)
            self._log_start_failure(failure, error)
            self._reporter.failed(failure)
            return failure.status
        if started is None:
            return self.exit_status  # an instance that followed was ended
        manager, server = started
        if self._parts is None:
            _prepare_process()
            self._report_ready(manager)
        else:
            gc.freeze()  # what it has made since it followed lives as long as the process, too
        for call in self.when_ready:
            call()
        return self._wait(manager, server)

    def _report_ready(self, manager: QueueManager) -> None:
        self._reporter.ready(manager)
        notify_service_manager("READY=1")

    def _start(self) -> tuple[QueueManager, ServerProtocol] | None:
        manager = QueueManager(self._directory)
        section = manager.settings.replication
        if section is not None:
            return self._start_instance(manager, section)
        manager.start(self._progress)
        # Only the holder of the instance lock may write to the files of the queue manager.
        self.error_log = open_error_log(self._directory, self._echo)
        return self._serve(manager)

    def _start_instance(
        self, manager: QueueManager, section: ReplicationSection
    ) -> tuple[QueueManager, ServerProtocol] | None:
        """Follow until this instance is elected, then start the queue manager. None: a request to end came first."""
        from ostler.server.replica.base_wanted import wants_base
        from ostler.server.replica.instance import InstanceParts, check_can_run, complete_exchange

        check_can_run(manager, section)
        complete_exchange(manager)
        self._set_aside(manager, section)
        if wants_base(self._directory.path) and not self._take_base(manager, section):
            return None
        try:
            parts = self._parts = InstanceParts(manager, section, self._log)
        except (LogDamaged, SnapshotDamaged, FilesUnrelated, JournalInconsistent) as damage:
            # The other instances have what this one has lost.
            self._give_copy_up(section, str(damage))
            manager = QueueManager(self._directory)
            if not self._take_base(manager, section):
                return None
            parts = self._parts = InstanceParts(manager, section, self._log)
        parts.release_address()
        local = self._open_standby(manager, parts)
        self._log(f"AMQ8003I: Instance {section.instance} of queue manager {manager.name} follows.")
        self._report_ready(manager)
        # Done now, because applications wait for an instance that is elected.
        importlib.import_module("ostler.server.assembly")
        _prepare_process()
        promotion: Promotion | None = None
        request: EndRequest | None = None
        while promotion is None and request is None and not parts.is_over:
            promotion = parts.wait(_FOLLOW_POLL_SECONDS)
            request = self._next_request(_NO_WAIT)
        local.close()
        if promotion is None and request is None and parts.begins_anew:
            if parts.agent.base_wanted:
                self._give_copy_up(section, parts.agent.base_wanted)
            parts.close(parts.begins_anew)
            self._begin_anew(parts.begins_anew)
        if promotion is None:
            self._end_instance(parts, request)
            return None
        manager.adopt_settings()
        manager.fetch_message = promotion.leading.fetch_message
        manager.take_over(promotion.standby, promotion.life, promotion.leading, parts.agent.begin_leading)
        if parts.is_handing_over:
            # Only the rest of the log goes to the other site: no application is served here any more.
            manager.on_end.append(parts.hand_over)
            manager.end(IMMEDIATE)
            parts.agent.stop("this site is a recovery site")
            self._begin_anew("the other site has the rest of the log, or does not answer")
        if request is not None:
            self._requests.put(request)
        parts.take_address()
        parts.start_scrub()
        return self._serve(manager)

    def _set_aside(self, manager: QueueManager, section: ReplicationSection) -> None:
        """Set the data of a site aside that was given up after a partition. It follows from nothing then."""
        if not section.recovery_groups:
            return
        from ostler.server.replica.site.state import read_site

        state = read_site(self._directory.path, section)
        if state.set_aside_lsn < 0:
            return
        from ostler.server.replica.site.set_aside import set_aside

        where = set_aside(manager, state)
        if self.error_log is None:
            self.error_log = open_error_log(self._directory, self._echo)
        self._log(
            f"AMQ3277I: The partition of queue manager {manager.name} is resolved in favour of "
            f"{section.recovery_groups[0].name}. The data of this site are set aside in {where}."
        )

    def _open_standby(self, manager: QueueManager, parts: BaseParts | InstanceParts) -> StandbySocket:
        """Show the state of an instance that does not lead, and answer commands."""
        self._open_log_of_replica(manager)
        self._note_state(ManagerState.REPLICA)
        return parts.open_socket(self._request_end_of_replica, self._record.started, self._record.version)

    def _open_log_of_replica(self, manager: QueueManager) -> None:
        if self.error_log is None:
            self.error_log = open_error_log(self._directory, self._echo)
            manager.notices = Notices(self.error_log, manager.notices)

    def _give_copy_up(self, section: ReplicationSection, why: str) -> None:
        """Note that this instance takes a base. Its files stay where they are until that is whole."""
        from ostler.server.replica.base_wanted import want_base
        from ostler.server.replica.messages import replication_message

        if self.error_log is None:
            self.error_log = open_error_log(self._directory, self._echo)
        want_base(self._directory.path, why)
        self._log(replication_message("AMQ3291W", instance=section.instance, name=self._directory.name, why=why))

    def _take_base(self, manager: QueueManager, section: ReplicationSection) -> bool:
        """Wait for a leader, and take a base from it. False: a request to end came first."""
        from ostler.server.replica.instance import BaseParts

        parts = BaseParts(manager, section, self._log)
        local = self._open_standby(manager, parts)
        self._log(f"AMQ3270I: This instance of queue manager {manager.name} waits for a base: {parts.why}.")
        self._report_ready(manager)
        request: EndRequest | None = None
        while request is None and not parts.taking.done.wait(_FOLLOW_POLL_SECONDS):
            request = self._next_request(_NO_WAIT)
        local.close()
        if parts.finish() and request is None:
            return True
        if parts.taking.failure:
            self._log(f"AMQ7017S: This instance of {manager.name} cannot take a base: {parts.taking.failure}.")
            self.exit_status = _UNEXPECTED
        self._mode = request.mode if request is not None else IMMEDIATE
        self.is_ending.set()
        self._note_end()
        return False

    def _request_end_of_replica(self, mode: str, wait_seconds: float, who: str) -> None:
        self.request_end(EndRequest(mode, wait_seconds, who))

    def _end_instance(self, parts: InstanceParts, request: EndRequest | None) -> None:
        """End an instance that follows: it was asked to end, or its copy has failed."""
        if request is None:
            why = parts.agent.failure or parts.agent.deposed
            self._log(f"AMQ7017S: This instance of {self._directory.name} cannot follow any more: {why}.")
            self.exit_status = _UNEXPECTED
        else:
            self._mode = request.mode
            self._log_end(request)
        self.is_ending.set()
        parts.close("the instance ends")
        self._note_end()

    def _serve(self, manager: QueueManager) -> tuple[QueueManager, ServerProtocol]:
        """Open the sockets of a queue manager whose state is recovered."""
        assert self.error_log is not None
        try:
            if not isinstance(manager.notices, Notices):
                manager.notices = Notices(self.error_log, manager.notices)
            manager.on_end.append(self._note_end)
            manager.on_failure.append(self._look)
            manager.on_escalation.append(self._escalate)
            manager.on_termination = self._terminate
            if self._parts is None:
                self._note_state(ManagerState.STARTING)
            summary = manager.restart
            self.error_log.write(
                f"AMQ7230I: {summary.records} log records were replayed; {summary.messages} messages were recovered "
                f"with them, {summary.units_backed_out} units of work were backed out. It took {summary.seconds:.3f} s."
            )
            server = self._make_server(manager, self)
            server.start(self._with_listeners)
        except BaseException:
            self._mode = IMMEDIATE
            manager.end(IMMEDIATE)
            raise
        self._note_state(ManagerState.RUNNING)
        self.error_log.write(f"AMQ8003I: Queue manager {manager.name} started, version {self._record.version}.")
        return manager, server

    def _progress(self, done_bytes: int, total_bytes: int) -> None:
        if self._is_interrupted:
            raise StartInterrupted("a request to end came while it was starting")
        self._reporter.progress(done_bytes, total_bytes)

    def _log_start_failure(self, failure: StartFailure, error: BaseException) -> None:
        if isinstance(error, (QueueManagerRunningError, QueueManagerNotFoundError)):
            return  # the error log belongs to another process, or there is none
        log = self.error_log or open_error_log(self._directory, self._echo)
        if not failure.is_foreseen:
            log.write(f"AMQ6109E: {''.join(traceback.format_exception(error))}")
        log.write(failure.text)
        log.close()

    # -- the end -----------------------------------------------------------------------

    def _wait(self, manager: QueueManager, server: ServerProtocol) -> int:
        """Wait until it has ended. Another thread ends it, so that more urgent requests can be taken here."""
        ender: threading.Thread | None = None
        failures: list[BaseException] = []
        if self._parts is not None:
            self._parts.agent.on_change(self._look)
        while not self._has_ended.is_set():
            request = self._next_request(_POLL_SECONDS)
            if manager.writer.failure and ender is None:
                if self._parts is not None and self._parts.agent.deposed:
                    self._begin_anew(self._parts.agent.deposed)
                return self._log_storage_failure(manager)
            if request is None and ender is None and self._parts is not None and self._parts.is_handing_over:
                manager.on_end.append(self._parts.hand_over)
                request = EndRequest(IMMEDIATE, 0.0, "makedrsecondary")
            if request is None:
                continue
            if ender is None:
                self._begin_end(request)
                ender = threading.Thread(
                    target=self._end, args=(manager, server, request, failures), name="ostler-end", daemon=True
                )
                ender.start()
            elif MODES.index(request.mode) > MODES.index(self._mode):
                self._begin_end(request)
                if request.mode == PREEMPTIVE:
                    self._note_end()
                    return self._exit_status_after([])
                manager.limit_end_wait()
            elif request.mode == QUIESCE and self._mode == QUIESCE and request.wait_seconds < FOR_EVER:
                # A quiesce as well, but with a time limit: endmqm -t.
                self._log_end(request)
                manager.limit_end_wait(request.wait_seconds)
        if self._parts is not None:
            is_handing_over = self._parts.is_handing_over
            self._parts.release_address()
            self._parts.agent.stop("the queue manager has ended")
            if is_handing_over and not failures:
                self._begin_anew("this site has become a recovery site")
        return self._exit_status_after(failures)

    def _look(self) -> None:
        """Let the main thread look at once what has happened."""
        self._requests.put(None)

    def _end(
        self, manager: QueueManager, server: ServerProtocol, request: EndRequest, failures: list[BaseException]
    ) -> None:
        # An instance starts as a follower. A last checkpoint would wait for copies, which may have ended before.
        manager.hands_over = manager.settings.replication is not None
        try:
            server.end(request.mode, request.wait_seconds)
        except BaseException as error:
            failures.append(error)
        finally:
            self._has_ended.set()
            self._look()

    def _begin_anew(self, why: str) -> NoReturn:
        """Run this process anew as a follower: another instance leads, or may. Nothing more is acknowledged here."""
        self._log(f"AMQ3270I: This instance of {self._directory.name} does not lead any more: {why}.")
        if self._parts is not None:
            self._parts.release_address()
            self._parts.agent.end_session()
        self._restart()
        os._exit(_UNEXPECTED)

    def _next_request(self, seconds: float) -> EndRequest | None:
        try:
            return self._requests.get(timeout=seconds) if seconds > 0 else self._requests.get_nowait()
        except queue.Empty:
            return None

    def _begin_end(self, request: EndRequest) -> None:
        self._mode = request.mode
        notify_service_manager("STOPPING=1")
        self._note_state(_ENDING[request.mode][0])
        self._log_end(request)
        self.is_ending.set()

    def _log_end(self, request: EndRequest) -> None:
        limit = ""
        if request.mode == QUIESCE and request.wait_seconds < FOR_EVER:
            limit = f" Applications have {request.wait_seconds:g} seconds to disconnect."
        name = self._directory.name
        self._log(f"AMQ5049I: Queue manager {name} is ending ({request.mode}), asked by {request.who}.{limit}")

    def _terminate(self, cause: str) -> None:
        """End, with a status that tells whoever supervises the process to start it again."""
        self.exit_status = _UNEXPECTED
        self.request_end(EndRequest(IMMEDIATE, _NO_WAIT, cause))

    def _escalate(self) -> None:
        """Turn a quiesce into an immediate end, when applications have not disconnected in time."""
        if self._mode != QUIESCE:
            return
        self._mode = IMMEDIATE
        self._note_state(_ENDING[IMMEDIATE][0])
        self._log(
            f"AMQ5049I: Queue manager {self._directory.name} is ending (immediate): some applications did not "
            "disconnect in time, and their connections are broken."
        )

    def _note_end(self) -> None:
        """Record the end. The instance lock is still held, so no other process writes to these files yet."""
        self._note_state(_ENDING[self._mode][1])
        self._log(f"AMQ8004I: Queue manager {self._directory.name} ended ({self._mode}).")

    def _exit_status_after(self, failures: list[BaseException]) -> int:
        if failures:
            self._log(f"AMQ6109E: {''.join(traceback.format_exception(failures[0]))}")
            return _UNEXPECTED
        if self._mode == PREEMPTIVE:
            # Threads that still run in this process are not waited for.
            os._exit(self.exit_status)
        return self.exit_status

    def _log_storage_failure(self, manager: QueueManager) -> int:
        """Log a failure of stable storage. Nothing may be written to it any more."""
        self._log(f"AMQ7017S: Queue manager {manager.name} ends at once: {manager.writer.failure}.")
        if self._parts is not None:
            # Another instance has all that was acknowledged: it need not wait for the lease.
            resigning = threading.Thread(target=self._parts.agent.resign, args=("its storage failed",), daemon=True)
            resigning.start()
            resigning.join(_RESIGN_SECONDS)
        os._exit(_UNEXPECTED)

    def _log(self, text: str) -> None:
        if self.error_log is not None:
            self.error_log.write(text)

    def _note_state(self, state: ManagerState) -> None:
        self._record = replace(self._record, state=state)
        try:
            write_record(self._directory, self._record)
        except OSError as error:
            # A full disk must not keep a queue manager from starting or ending.
            self._log(f"AMQ6119S: {self._directory.path / 'run'} cannot be written: {error}")

    # -- signals -----------------------------------------------------------------------

    def _take_signals(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        signal.signal(signal.SIGHUP, self._on_signal if self._echo is not None else signal.SIG_IGN)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        who = signal.Signals(number).name
        mode = QUIESCE
        if number == signal.SIGINT or self._is_interrupted:
            mode = PREEMPTIVE if self._is_interrupted and number == signal.SIGINT else IMMEDIATE
        self._is_interrupted = True
        self.request_end(EndRequest(mode, self._stop_seconds, who))


def _prepare_process() -> None:
    """Set the process up for work, once everything is loaded that lives as long as it."""
    # The collector need not scan what exists now again.
    gc.collect()
    gc.freeze()
    # The work of applications makes few reference cycles: rare collections are enough. None but the rarest may look
    # at more than 100,000 objects, which takes some ten milliseconds: everybody waits for it.
    gc.set_threshold(20_000, 5, 1_000)
    # The reactor gives the interpreter up at each send, receive and read, some ten times for a round trip. Beside a
    # long command it waits this long each time until it goes on.
    sys.setswitchinterval(_SWITCH_SECONDS)


def open_error_log(directory: QueueManagerDirectory, echo: Echo | None = None) -> ErrorLog:
    """Open the error log of a queue manager, with the size in its qm.ini."""
    try:
        size = QueueManagerIni.read(directory.ini).get("QMErrorLog", "ErrorLogSize")
    except ConfigurationError:
        size = None
    return ErrorLog(directory.errors, directory.name, size_setting(size), echo)


def start_failure(name: str, error: BaseException) -> StartFailure:
    """Return the message and MQ's exit status for an error that kept a queue manager from starting."""
    if isinstance(error, QueueManagerRunningError):
        return StartFailure(f"AMQ7005E: Queue manager {name} is running already. {_sentence(error)}", _RUNNING)
    if isinstance(error, QueueManagerNotFoundError):
        return StartFailure(f"AMQ7048E: There is no queue manager {name}. {_sentence(error)}", _NAME_ERROR)
    if isinstance(error, (LogNewer, FormatNewer)):
        return StartFailure(
            f"AMQ7204E: Queue manager {name} cannot be started by this release: a newer one has run it. {error}",
            _UNEXPECTED,
        )
    if isinstance(error, (SnapshotDamaged, QueueFileDamaged, JournalInconsistent)):
        return StartFailure(
            f"AMQ7084E: A file of queue manager {name} is damaged: {error}. Nothing was changed. Put back an "
            f"undamaged copy of this file, or restore data and log together from a backup. {_check_hint(name)}",
            _UNEXPECTED,
        )
    if isinstance(error, FilesUnrelated):
        return StartFailure(
            f"AMQ7018E: The files of queue manager {name} do not belong together: {error}. Nothing was "
            f"changed. Restore its data and log together, from one backup. {_check_hint(name)}",
            _UNEXPECTED,
        )
    if isinstance(error, (LogDamaged, LogRefused)):
        return StartFailure(f"AMQ7017E: The recovery log of {name} cannot be used. {error}", _LOG_NOT_AVAILABLE)
    if isinstance(error, (LogSpace, DiskFull)):
        return StartFailure(
            f"AMQ7064S: There is not enough space on the disk to start {name}. {error}", _STORAGE_NOT_AVAILABLE
        )
    if isinstance(error, ConfigurationError):
        return StartFailure(f"AMQ9224E: The configuration of {name} is not valid. {_sentence(error)}", _UNEXPECTED)
    if isinstance(error, ReplicationUnavailable):
        return StartFailure(f"AMQ5708E: Native HA is not available to {name}. {error}", _NATIVE_HA_NOT_AVAILABLE)
    if isinstance(error, StartInterrupted):
        return StartFailure(f"AMQ5049I: Queue manager {name} did not start: {error}.", _UNEXPECTED)
    if isinstance(error, (OSError, DiskFailed, MQError)):
        return StartFailure(f"AMQ6119S: Queue manager {name} could not be started. {_sentence(error)}", _UNEXPECTED)
    text = f"AMQ6109E: Queue manager {name} could not be started: {type(error).__name__}: {error}"
    return StartFailure(f"{text}. Its error log has the details.", _UNEXPECTED, is_foreseen=False)


def _check_hint(name: str) -> str:
    return f"`ostler check {name}` checks all of its files."


def _sentence(error: BaseException) -> str:
    text = str(error)
    ending = "" if text.endswith((".", "!", "?")) else "."
    return f"{text[:1].upper()}{text[1:]}{ending}"


def notify_service_manager(state: str) -> None:
    """Report the state to systemd, if it started this process with Type=notify."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            sender.connect(address)
            sender.send(state.encode())
    except OSError:
        return  # no service manager listens


__all__ = [
    "FOR_EVER",
    "IMMEDIATE",
    "MODES",
    "PREEMPTIVE",
    "QUIESCE",
    "Daemon",
    "EndRequest",
    "MakeServer",
    "Progress",
    "Reporter",
    "ServerProtocol",
    "StartFailure",
    "StartInterrupted",
    "notify_service_manager",
    "open_error_log",
    "start_failure",
]
