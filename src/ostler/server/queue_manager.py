"""A queue manager in this process: the engine, the recovery log and housekeeping assembled, its start and its end."""

from __future__ import annotations

import gc
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ostler.command.admin.objects import apply_definition
from ostler.engine import objects
from ostler.engine.connection import Connection
from ostler.engine.core import NO_LIMIT, QUEUES_PATH, QUIESCING, STOPPING, TEMPORARY_PATH, Engine, queue_path
from ostler.engine.events import performance_events as events
from ostler.engine.events import triggers
from ostler.engine.get import cancel_waits
from ostler.engine.objects import fail_waiting
from ostler.engine.open import close_object
from ostler.engine.outcomes import UnitOutcome
from ostler.engine.queue.delivery import send_own_messages
from ostler.engine.recovery.checkpoint import (
    CATALOGUE_PATH,
    INSTANCE_PATH,
    MANIFEST_PATH,
    CheckpointManifest,
    write_instance,
)
from ostler.engine.recovery.checkpoint_space import hold_reserve
from ostler.engine.recovery.replay import JournalInconsistent, JournalReplay
from ostler.engine.recovery.snapshot import replace_file
from ostler.engine.shared.connection_tags import leave_prepared, release_tag, take_tag
from ostler.engine.syncpoint import back_out, commit
from ostler.engine.unit_of_work import PREPARED
from ostler.log.control_file import CONTROL_NAME
from ostler.log.errors import LogRefused
from ostler.log.reader import LogVisitor
from ostler.log.restart import create_log, open_log
from ostler.log.settings import LogManagement, LogSettings, LogType, WriteIntegrity
from ostler.log.shipping import LogShipper
from ostler.model import constants as mq
from ostler.model.accounts import DISCONNECTED, ENDED_BY_MANAGER, LOST
from ostler.model.attributes import ObjectType
from ostler.model.definitions import Definition, new_definition
from ostler.model.disk import Disk, DiskFull
from ostler.model.errors import InvariantFailed, LogFull, MQError
from ostler.model.log_life import Life
from ostler.model.replication import InstanceRole
from ostler.model.system_objects import system_definitions
from ostler.observe.statistics import Statistics, counts, queue_counts
from ostler.replica.standby import Standby, open_standby
from ostler.security.authorities import default_records
from ostler.security.channel_authentication import default_rules
from ostler.server.config import directories
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.qm_ini import LogSection, QueueManagerIni, QueueManagerSettings, new_qm_ini
from ostler.server.log_statistics import log_counts
from ostler.server.machine import MACHINE, Machine
from ostler.server.manager_core import ManagerCore
from ostler.server.replica.base_wanted import mark_of_empty
from ostler.server.replica.control import NoReplication, ReplicationControl
from ostler.server.resource_publisher import ResourcePublisher
from ostler.server.security.guard import ServerGuard
from ostler.server.security.users import Users
from ostler.server.statistics_writer import StatisticsWriter
from ostler.server.storage.checkpointer import Checkpointer
from ostler.server.storage.descriptor_budget import process_budget
from ostler.server.storage.housekeeping import Housekeeping
from ostler.server.storage.journal_writer import JournalWriter
from ostler.server.storage.memory_limits import long_message_bytes_max
from ostler.server.storage.message_reader import MessageReader
from ostler.server.verbs.search_thread import SearchThread

LOG_DIRECTORY = "log"
_ROOM_TRIES = 3
# An instance that ends waits so long for copies.
_COPIES_SECONDS = 2.0
_NOT_ALONE = "This instance of a replicated queue manager cannot run without the agent that copies its log."

Progress = Callable[[int, int], None]
"""Called with the bytes replayed so far and the bytes in total."""


class ReplicationUnavailable(Exception):
    """An instance of a replicated queue manager cannot run by itself."""


@dataclass(frozen=True)
class RestartSummary:
    """The result of a restart: records replayed, messages recovered, units of work backed out or in doubt."""

    records: int
    messages: int
    units_backed_out: int
    units_in_doubt: int
    bytes_dropped: int
    seconds: float


class _Visitor(LogVisitor):
    def __init__(self, replay: JournalReplay, progress: Progress | None) -> None:
        self._replay = replay
        self._progress = progress

    def record(self, kind: int, lsn: int, payload: bytes) -> None:
        self._replay.record(kind, lsn, payload)

    def progress(self, done_bytes: int, total_bytes: int) -> None:
        if self._progress is not None:
            self._progress(done_bytes, total_bytes)

    def ended(self, end_lsn: int) -> None:
        self._replay.check_end(end_lsn)


def log_settings(section: LogSection) -> LogSettings:
    """Convert the Log stanza of qm.ini to the settings of the recovery log. A replicated log is linear on disk."""
    return LogSettings(
        primary_files=section.primary_files,
        secondary_files=section.secondary_files,
        file_pages=section.file_pages,
        buffer_pages=section.buffer_pages,
        log_type=LogType.LINEAR if section.is_linear else LogType.CIRCULAR,
        management=LogManagement(str(section.management)),
        write_integrity=WriteIntegrity(str(section.write_integrity)),
    )


def create_queue_manager(
    root: Path,
    name: str,
    log: LogSection | None = None,
    file_system_megabytes: int | None = None,
    instance: str = "",
    wants_base: bool = False,
    machine: Machine = MACHINE,
) -> QueueManagerDirectory:
    """Create a queue manager below a data root: its directory with qm.ini, and an empty recovery log.

    With `file_system_megabytes` its directory may take that much space (crtmqm -fs). `instance` is the name of this
    instance of a replicated queue manager; with `wants_base` it gets no log, but one day that of its leader.

    Raises MQError, QueueManagerExistsError, ConfigurationError, LogRefused and DiskFull. An interrupted creation is
    completed by the first start.
    """
    ini = new_qm_ini(name, log or LogSection(), instance)
    if file_system_megabytes is not None:
        ini.set_value("FileSystem", "SizeMegabytes", str(file_system_megabytes))
    directory = directories.create_queue_manager(root, name, ini, mark_of_empty() if wants_base else None)
    if wants_base:
        return directory
    _create_log(directory, ini.settings, machine.disk(directory.path, ini.settings.file_system_megabytes), machine)
    return directory


def _create_log(directory: QueueManagerDirectory, settings: QueueManagerSettings, data: Disk, machine: Machine) -> None:
    disk, log_directory = log_disk(directory, settings, data, machine)
    identity = machine.random_bytes(16)
    create_log(disk, log_directory, log_settings(settings.log), identity)
    write_instance(data, identity)


def _refuse_without_log(disk: Disk, log_directory: str) -> None:
    """Raise LogRefused if anything shows that there was a log: only an interrupted creation may get a new one."""
    traces = [path for path in (INSTANCE_PATH, MANIFEST_PATH, CATALOGUE_PATH) if disk.exists(path)]
    traces += [f"{QUEUES_PATH}/{name}" for name in disk.names(QUEUES_PATH)]
    if traces:
        raise LogRefused(
            f"There is no log in {log_directory}: {CONTROL_NAME} is not there. But {traces[0]} is, so there was a log. "
            "Put it back, or restore the queue manager's data and log together from a backup."
        )


def log_disk(
    directory: QueueManagerDirectory, settings: QueueManagerSettings, data: Disk, machine: Machine
) -> tuple[Disk, str]:
    """Return the disk that holds the log, and the log's directory on it. It shares the limit of the disk for data."""
    if settings.log.path:
        base = Path(settings.log.path)
        base.mkdir(parents=True, exist_ok=True)
        return machine.disk(base), directories.directory_name(directory.name)
    return data, LOG_DIRECTORY


class QueueManager(ManagerCore):
    """A running queue manager. Applications reach it through the client package; commands through the methods here."""

    def __init__(self, directory: QueueManagerDirectory, machine: Machine = MACHINE) -> None:
        """Raises ConfigurationError when qm.ini is damaged, QueueManagerNotFoundError when there is none."""
        super().__init__(directory, machine)
        self.users = Users(directory, self.settings)
        self.guard = ServerGuard(self.users)
        self.running = False
        self.restart = RestartSummary(0, 0, 0, 0, 0, 0.0)
        self.checkpointer = Checkpointer(self)
        self.replication: ReplicationControl = NoReplication(self.name)
        """The port for commands about copies. The agent of an instance puts its own here before the start."""
        self.statistics_writer = StatisticsWriter(self)
        self.on_end: list[Callable[[], None]] = []
        self._has_taken_over = False
        self.end_mode = ""  # once it ends: "quiesce", "immediate" or "preemptive"
        self.hands_over = False  # it is an instance: others may go on when this one has ended
        self.started_at = 0.0
        # Called when a quiesce has waited long enough and breaks the connections of applications.
        self.on_escalation: list[Callable[[], None]] = []
        self.on_termination: Callable[[str], None] | None = None
        """Called with the cause when it must end by itself: ends the process that it runs in. None: it has none."""
        self._end_deadline = float("inf")

    # -- start and end ---------------------------------------------------------------

    def start(self, progress: Progress | None = None, is_founding: bool = False) -> RestartSummary:
        """Recover all that was durable, and start work. `progress` is called while the log is replayed.

        An instance of a replicated queue manager starts with the control of its agent only, or at its creation
        (`is_founding`): what it did alone its group would not have. Raises ReplicationUnavailable.
        """
        if self.settings.replication is not None and not is_founding and isinstance(self.replication, NoReplication):
            raise ReplicationUnavailable(self.settings.replication.missing() or _NOT_ALONE)
        began = self.machine.monotonic()
        self._instance = self.machine.instance_lock(self.directory)
        # Objects made by the replay stay alive: garbage collection during it would double its time.
        collects = gc.isenabled()
        gc.disable()
        try:
            self._recover(began, progress)
        except BaseException as error:
            self._instance.release()
            if isinstance(error, InvariantFailed):
                raise JournalInconsistent(str(error), 0) from error
            raise
        finally:
            if collects:
                gc.enable()
        return self.restart

    def open_standby(self, keep_extents: int) -> Standby:
        """Open the copy of an instance that follows: nothing is started, and the log is only taken from a leader.

        The instance is locked from now on. Raises as `start` does.
        """
        self._instance = self.machine.instance_lock(self.directory)
        try:
            self._configure_engine()
            disk, log_directory = log_disk(self.directory, self.settings, self.disk, self.machine)
            return open_standby(self.engine, disk, log_directory, log_settings(self.settings.log), keep_extents)
        except BaseException:
            self._instance.release()
            raise

    def close_standby(self, standby: Standby) -> None:
        """End an instance that followed."""
        standby.abandon_checkpoint()
        standby.log.drop_taken()
        standby.log.close()
        self._instance.release()

    def take_over(
        self, standby: Standby, life: Life, shipper: LogShipper, on_writer: Callable[[JournalWriter], None]
    ) -> RestartSummary:
        """Lead with the copy that followed: begin a life of the log, and start work. Nothing is loaded.

        `on_writer` is called with the log's writer before anything is written: from then on copies must be heard.
        """
        began = self.machine.monotonic()
        self.clock.begin(self.engine)
        self.engine.unique = max(self.engine.unique, self.engine.now_ms << 20)
        before = standby.log.lives[-1].instance if standby.log.lives else ""
        self._has_taken_over = before not in ("", life.instance)
        self.log = standby.promote(life, shipper)
        self._begin_work(began, standby.replay, on_writer)
        return self.restart

    def adopt_settings(self) -> None:
        """Take what qm.ini says of the queue manager now: the leader's settings may have come while this followed.

        Call it before `take_over`, when nothing follows any more. Settings of the instance, such as its log, are those
        of its start.
        """
        try:
            found = QueueManagerIni.read(self.directory.ini).settings
        except ConfigurationError as error:
            self.note(f"AMQ7076E: The settings of the start hold on, because qm.ini cannot be read: {error}")
            return
        self.settings = replace(self.settings, tuning=found.tuning, channels=found.channels, security=found.security)
        self.users.use_settings(self.settings)
        self.set_limits(self.engine)

    def _configure_engine(self) -> None:
        self.set_limits(self.engine)
        self.clock.begin(self.engine)
        self.engine.unique = self.engine.now_ms << 20

    def set_limits(self, engine: Engine) -> None:
        """Give an engine of this queue manager the limits of its settings and of this machine."""
        tuning = self.settings.tuning
        engine.buffer_bytes_nonpersistent = tuning.queue_buffer_bytes
        engine.buffer_bytes_persistent = tuning.persistent_queue_buffer_bytes
        engine.implicit_syncpoint_applications = tuning.implicit_syncpoint_openers_min or NO_LIMIT
        engine.long_messages.bytes_max = long_message_bytes_max()
        section = self.settings.log
        engine.open_files.limit = process_budget(section.primary_files + section.secondary_files).queue_files
        engine.topics.nodes_kept = tuning.topic_nodes_kept
        engine.topics.nodes_max = tuning.topic_nodes_max or 0

    def _recover(self, began: float, progress: Progress | None) -> None:
        self._configure_engine()
        engine = self.engine
        replay = JournalReplay(engine)
        disk, log_directory = log_disk(self.directory, self.settings, self.disk, self.machine)
        if not disk.exists(f"{log_directory}/{CONTROL_NAME}"):
            if self.settings.replication is not None:
                # Its group may have the log: a new one would be that of another queue manager.
                raise LogRefused(f"There is no log in {log_directory}, and an instance of a group gets no new one.")
            _refuse_without_log(self.disk, log_directory)
            _create_log(self.directory, self.settings, self.disk, self.machine)
        restartable = open_log(disk, log_directory, log_settings(self.settings.log))
        try:
            replay.begin(restartable.identity(), restartable.checkpoint_number(), restartable.restart_lsn())
            self.log = restartable.replay(_Visitor(replay, progress))
        except BaseException as error:
            restartable.close()
            if isinstance(error, InvariantFailed):
                error = JournalInconsistent(str(error), replay.previous_lsn)
            if isinstance(error, JournalInconsistent):
                file, offset = restartable.locate(error.lsn)
                raise JournalInconsistent(f"{file}: {error} (offset {offset})", error.lsn) from None
            raise
        engine.journal = self.log
        replay.finish()
        self._begin_work(began, replay, None)

    def _begin_work(
        self, began: float, replay: JournalReplay, on_writer: Callable[[JournalWriter], None] | None
    ) -> None:
        """Start everything around the engine, whose state is recovered."""
        engine = self.engine
        self._remove_leftover_directories(replay)
        hold_reserve(engine)
        if on_writer is None:
            self._clear_orderly_flag(replay.manifest)
        self.housekeeping = Housekeeping(self, self.statistics_writer)
        self.writer = JournalWriter(self.log, self.lock, self.make_room, self.housekeeping.ask, self.fail, self.machine)
        if on_writer is not None:
            on_writer(self.writer)  # whatever is written next waits for other copies
        self.guard.load(engine)
        engine.guard = self.guard
        if not engine.queues_by_id:
            self._define_system_objects()
        with self.turn:
            hold_reserve(engine)
            events.after_restart(engine)
            send_own_messages(engine, triggers.after_restart(engine), None)
            send_own_messages(engine, events.on_start(engine, self._start_qualifier(), socket.gethostname()), None)
        self.running = True
        self.started_at = time.time()
        self.statistics_writer.begin()
        self.housekeeping.start()
        self.resource_publisher = ResourcePublisher(self, self._log_path())
        self.resource_publisher.begin()
        self.search = SearchThread(self)
        engine.owner_signal.waker = self.search.notify
        self.reader = MessageReader(self)
        if self.machine is MACHINE:
            # A simulated machine reads at once: only one thread of it runs at a time.
            engine.set_reader(self.reader.notify)
        self.collect_notices()
        report = self.log.restart_report
        if report.dropped_bytes:
            self.note(
                f"AMQ7236W: The log ends at offset {report.end_offset} of {report.end_file}. {report.dropped_bytes} "
                "bytes behind that were dropped: they belong to a write that was not complete when the queue manager "
                "ended, and no application had been told that it was durable. If you suspect the disk, look for "
                "missing messages."
            )
        if report.is_page_restored:
            self.note(
                "AMQ7236W: A page of the log was spoiled while it was written again, and was restored from its copy. "
                "Nothing is lost. The device does not write pages of 4 KB whole or not at all: do not use "
                "LogWriteIntegrity=SingleWrite with it."
            )
        self.restart = RestartSummary(
            report.records,
            replay.messages,
            replay.backed_out,
            replay.in_doubt,
            report.dropped_bytes,
            self.machine.monotonic() - began,
        )

    def _start_qualifier(self) -> int:
        """Return the ReasonQualifier of the event of a start: another instance led before, or it is an ordinary one."""
        if self._has_taken_over:
            return mq.MQRQ_STANDBY_ACTIVATED
        return mq.MQRQ_FAILOVER_PERMITTED if self.settings.replication else mq.MQRQ_FAILOVER_NOT_PERMITTED

    def _log_path(self) -> Path:
        """Return a directory of the log's file system."""
        return Path(self.settings.log.path) if self.settings.log.path else self.directory.path

    def _remove_leftover_directories(self, replay: JournalReplay) -> None:
        """Remove the files of temporary queues, and the directories of queues that the log records as deleted.

        Nothing else is removed: a directory that belongs to no queue is reported and left for the operator.
        """
        for name in self.disk.names(TEMPORARY_PATH):
            self.disk.remove(f"{TEMPORARY_PATH}/{name}")
        known = {queue_path(queue.name, queue.queue_id) for queue in self.engine.queues_by_id.values()}
        known |= {queue_path(queue.name, queue.queue_id) for queue in self.engine.removed_queues}
        deleted = set(replay.deleted.values())
        left: list[str] = []
        for name in self.disk.names(QUEUES_PATH):
            path = f"{QUEUES_PATH}/{name}"
            if path in known:
                continue
            # The release before kept its temporary queues here, too; those never had a snapshot.
            was_temporary = not replay.has_instance and not self.disk.exists(f"{path}/slots")
            if path in deleted or was_temporary:
                self.disk.remove(path)
            else:
                left.append(path)
        if left:
            more = f" and {len(left) - 1} more" if len(left) > 1 else ""
            self.note(
                f"AMQ7237W: {left[0]}{more}: no queue has this directory, and no record says that it was deleted. "
                f"It was not touched. Examine it with `ostler check {self.name}`; remove it if it is not needed."
            )

    def _clear_orderly_flag(self, manifest: CheckpointManifest) -> None:
        """Clear the manifest's flag of an orderly end, so that non-persistent messages are restored only once."""
        if manifest.orderly:
            manifest.orderly = False
            while True:
                try:
                    replace_file(self.disk, "checkpoint", [manifest.encode()])
                    return
                except DiskFull:
                    if not self.engine.reserve.release(self.engine.disk, manifest.size_bytes()):
                        raise

    def _define_system_objects(self) -> None:
        stamp = time.strftime("%Y-%m-%d %H.%M.%S", time.gmtime()).split()
        manager = new_definition(ObjectType.QMGR, self.name, {}, None, stamp[0], stamp[1])
        with self.turn:
            objects.define(self.engine, manager, True)
            for definition in (*system_definitions(*stamp), *default_rules(*stamp), *default_records()):
                objects.define(self.engine, definition)
            lsn = self.log.end_lsn()
        self.writer.wait_durable(lsn)

    def end(self, mode: str = "quiesce", wait_seconds: float = 0.0) -> None:
        """End the queue manager: "quiesce" lets applications finish, "immediate" breaks their connections.

        Either way units of work that were not committed are backed out, a checkpoint is taken and NPMCLASS(HIGH)
        messages are kept; not so by an instance of several, for which others may wait. "preemptive" just stops, as a
        crash would.
        """
        if not self.running:
            return
        if self.has_failed_invariant:
            mode = "preemptive"
        self.end_mode = mode
        if mode != "preemptive":
            self._quiesce(mode, wait_seconds)
        else:
            self.break_all("The queue manager was ended.")
        self.running = False
        for callback in self.on_stopping:
            callback()
        ended = self.machine.event()
        if self.hands_over:
            self.machine.thread(partial(self._give_up_copies, ended), "ostler-give-up").start()
        self.resource_publisher.stop()
        self.housekeeping.stop()
        self.search.stop()
        self.reader.stop()
        self._finish_tasks()
        if mode != "preemptive" and not self.writer.failure and not self.hands_over:
            try:
                self.checkpoint(orderly=True)
            except DiskFull as full:
                # The log has all that is persistent; only non-persistent messages of NPMCLASS(HIGH) queues are lost.
                self.note(f"AMQ6119S: The disk is full: {full}. The last checkpoint could not be taken.")
        self.writer.stop()
        ended.set()
        try:
            self.close_files(mode == "preemptive")
            for callback in self.on_end:
                callback()
        finally:
            # Last, so that the callbacks of the end run before another process can start the queue manager.
            self._instance.release()

    def _give_up_copies(self, ended: threading.Event) -> None:
        """Let nothing wait for copies that do not answer: nobody is told of it any more, and they may be off."""
        if not ended.wait(_COPIES_SECONDS):
            self.writer.depose("This instance ends, and not enough copies answer")

    def _finish_tasks(self) -> None:
        """Finish what goes on in slices, now that nobody continues it."""
        with self.turn as engine:
            engine.owner_signal.waker = None
            if self.writer.failure:
                engine.abandon_tasks()
            else:
                engine.finish_tasks()

    def followed_leader(self) -> str | None:
        """Return the address of the leader that this instance follows, or empty if none leads; None if it is none."""
        try:
            status = self.replication.status()
        except MQError:
            return None
        return status.leader_address() if status.role is InstanceRole.REPLICA else None

    def is_ending(self) -> bool:
        """Return True when it quiesces, stops, has ended or has failed: no application can connect any more."""
        return not self.running or self.engine.state != 0 or bool(self.writer.failure)

    def limit_end_wait(self, seconds: float = 0.0) -> None:
        """Let an end, now or later, wait for applications this much longer at most. Any thread may call it."""
        self._end_deadline = min(self._end_deadline, self.machine.monotonic() + seconds)

    def end_seconds_left(self) -> float:
        """Return the seconds that an end may still wait for applications and services."""
        return self._end_deadline - self.machine.monotonic()

    def __enter__(self) -> QueueManager:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def close_files(self, abrupt: bool) -> None:
        if not abrupt and not self.writer.failure:
            self.log.writer.close()
        for queue in self.engine.queues_by_id.values():
            queue.file.close()
        self.engine.reserve.close()

    def _quiesce(self, mode: str, wait_seconds: float) -> None:
        self.limit_end_wait(wait_seconds)
        with self.turn:
            self.engine.state = QUIESCING if mode == "quiesce" else STOPPING
            for queue in self.engine.queues_by_id.values():
                if mode == "quiesce":
                    fail_waiting(self.engine, queue, mq.MQRC_Q_MGR_QUIESCING, mq.MQGMO_FAIL_IF_QUIESCING)
                else:
                    fail_waiting(self.engine, queue, mq.MQRC_Q_MGR_STOPPING)
            send_own_messages(self.engine, events.on_stop(self.engine, mode != "quiesce"), None)
        while mode == "quiesce" and self.engine.connections and self.machine.monotonic() < self._end_deadline:
            self.machine.sleep(0.01)
        if mode == "quiesce" and self.engine.connections:
            for callback in self.on_escalation:
                callback()
        with self.turn:
            self.engine.state = STOPPING
            # All waits first: a message that one application backs out is not for another that is to be broken off.
            for connection in self.engine.connections.values():
                cancel_waits(self.engine, connection, mq.MQRC_Q_MGR_STOPPING)
            for connection in list(self.engine.connections.values()):
                self._drop(connection, mq.MQRC_CONNECTION_BROKEN)
                self.statistics_writer.disconnected(connection, ENDED_BY_MANAGER)

    # -- applications ---------------------------------------------------------------

    def connect(
        self, user: str, application: str, application_type: int = 6, options: int = 0, tag: bytes = b""
    ) -> Connection:
        """Connect an application of this process. Waits for the coupling facility if its tag is one of the group."""
        done = self.machine.event()
        with self.turn as engine:
            connection = self.admit(user, application, application_type, options)
            try:
                task = take_tag(engine, connection, tag, options, os.getpid()) if tag else None
            except MQError:
                self.release(connection, False)
                raise
            if task is None:
                return connection
            engine.notify_when_done(task, done.set)
        done.wait()
        if task.reason != mq.MQRC_NONE:
            with self.turn:
                self.release(connection, False)
            raise MQError(int(task.reason))
        task.check()
        return connection

    def admit(self, user: str, application: str, application_type: int, options: int = 0) -> Connection:
        """Connect an application, with the lock held. `options` are those of MQCNO. Raises MQError."""
        engine = self.engine
        if not self.running:
            raise MQError(mq.MQRC_Q_MGR_NOT_AVAILABLE, f"Queue manager {self.name} is not running.")
        if engine.state != 0:
            raise MQError(mq.MQRC_CONNECTION_QUIESCING)
        connection = Connection(engine.next_connection, user, application, application_type)
        engine.next_connection += 1
        connection.identity_context = user.encode("utf-8")[:12].ljust(12) + bytes(32) + b" " * 32
        name = application.encode("utf-8")[-28:].ljust(28)
        connection.origin_prefix = application_type.to_bytes(4, "little", signed=True) + name
        connection.connected_ms = int(self.clock.wall_ms())
        connection.connection_id = engine.new_id()
        engine.connections[connection.number] = connection
        self.statistics_writer.connected(connection, options)
        return connection

    def disconnect(self, connection: Connection, commit_work: bool = True) -> int:
        """Disconnect (MQDISC). With `commit_work` False the application has ended without MQDISC."""
        committed = self._commit_shared(connection) if commit_work else None
        with self.turn:
            connection.has_disconnected = True
            outcome = self.release(connection, commit_work)
        if committed is not None and outcome.reason == mq.MQRC_NONE:
            outcome = committed
        if outcome.after_lsn:
            self.writer.wait_durable(outcome.after_lsn)
        return outcome.reason

    def _commit_shared(self, connection: Connection) -> UnitOutcome | None:
        """Commit a unit with messages on shared queues, and wait for the coupling facility. None: it has none."""
        done = self.machine.event()
        with self.turn as engine:
            unit = connection.unit_of_work
            if unit is None or unit.shared is None or unit.state == PREPARED or connection.broken:
                return None
            outcome = commit(engine, connection, True)
            if outcome.task is None:
                return outcome
            engine.notify_when_done(outcome.task, done.set)
        done.wait()
        return outcome

    def release(self, connection: Connection, commit_work: bool) -> UnitOutcome:
        """Disconnect, in a turn."""
        engine = self.engine
        if connection.broken:
            return UnitOutcome(connection.broken)
        cancel_waits(engine, connection, mq.MQRC_CONNECTION_BROKEN)
        outcome = UnitOutcome()
        unit = connection.unit_of_work
        if unit is not None and unit.state == PREPARED:
            # Its coordinator ends it. Until then the tag of the connection stays in use.
            leave_prepared(connection)
        elif unit is not None:
            # A large back-out goes on by itself: nobody waits for it.
            outcome = commit(engine, connection) if commit_work else back_out(engine, connection, True)
        tag = connection.tag
        if outcome.reason == mq.MQRC_NONE and tag is not None and any(each.state == PREPARED for each in tag.units):
            outcome.reason = mq.MQRC_CONN_TAG_NOT_RELEASED
        self._drop(connection, mq.MQRC_CONNECTION_BROKEN)
        self.statistics_writer.disconnected(connection, DISCONNECTED if connection.has_disconnected else LOST)
        return outcome

    def _drop(self, connection: Connection, reason: int) -> None:
        engine = self.engine
        cancel_waits(engine, connection, reason)
        leave_prepared(connection)
        if connection.unit_of_work is not None:
            back_out(engine, connection, True)
        for handle in list(connection.handles.values()):
            try:
                close_object(engine, connection, handle, 0)
            except MQError:
                connection.handles.pop(handle.number, None)
        connection.broken = reason
        engine.connections.pop(connection.number, None)
        release_tag(engine, connection)

    def break_connection(self, number: int) -> bool:
        """Break a connection and back out its unit of work. Returns False when there is no such connection."""
        with self.turn:
            return self.break_connection_locked(number)

    def break_connection_locked(self, number: int) -> bool:
        """As `break_connection`, with the lock held."""
        connection = self.engine.connections.get(number)
        if connection is None:
            return False
        self._drop(connection, mq.MQRC_CONNECTION_BROKEN)
        return True

    # -- log space and checkpoints ---------------------------------------------------------------

    def make_room(self) -> None:
        """See Checkpointer.make_room."""
        self.checkpointer.make_room()

    def checkpoint(self, orderly: bool = False) -> None:
        """See Checkpointer.checkpoint."""
        self.checkpointer.checkpoint(orderly)

    def statistics(self) -> Statistics:
        """Return all counters as they are now."""
        with self.turn as engine:
            return Statistics(
                time.time(),
                counts(engine.counters),
                {name: queue_counts(queue.counters, queue.depth) for name, queue in engine.queues.items()},
                {number: counts(each.counters) for number, each in engine.connections.items()},
                log_counts(self.log.status(), self.log.metrics, self.writer.counters),
            )

    def define(self, definition: Definition, replace: bool = False) -> None:
        """Create or change an object, durably."""
        self.writer.wait_durable(self.change(lambda engine: apply_definition(engine, definition, replace)))

    def delete(self, object_type: ObjectType, name: str, purge: bool = False) -> None:
        """Delete an object, durably."""
        self.writer.wait_durable(self.change(lambda engine: objects.delete(engine, object_type, name, purge)))

    def change(self, change: Callable[[Engine], int], user: str = "", origin: int = 0) -> int:
        """Change definitions in the name of a user, and make room in the log when it is full.

        `origin` is an MQEVO number for events. `change` returns the LSN that makes it durable, which is returned.
        """
        engine = self.engine
        tries = 0
        while True:
            with self.turn:
                engine.actor = user
                engine.actor_origin = origin
                try:
                    return change(engine)
                except LogFull:
                    if tries == _ROOM_TRIES:
                        raise
                finally:
                    engine.actor = ""
                    engine.actor_origin = 0
            tries += 1
            self.make_room()
