"""The core of a running queue manager: the engine with its lock, the recovery log, and messages to the operator.

The parts that `QueueManager` is assembled from (checkpoints, housekeeping, statistics, media recovery) work on this.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress

from librt.threading import Lock

from ostler.engine.core import STOPPING, Engine
from ostler.engine.message.message import Message
from ostler.engine.objects import fail_waiting
from ostler.log.recovery_log import RecoveryLog
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.definitions import new_definition
from ostler.model.disk import Disk
from ostler.model.errors import InvariantFailed
from ostler.model.journal import Journal
from ostler.server.clock import EngineClock
from ostler.server.config.directories import QueueManagerDirectory, QueueManagerNotFoundError
from ostler.server.config.qm_ini import QueueManagerIni
from ostler.server.first_failure import write_report
from ostler.server.machine import MACHINE, Machine
from ostler.server.net.pass_times import LongestPass
from ostler.server.net.timers import Timer
from ostler.server.storage.delayed_disk import delayed_as_asked
from ostler.server.storage.journal_writer import JournalWriter
from ostler.server.turn import EngineTurn


class NoJournal(Journal):
    """The journal of an engine whose log has not been replayed yet. Nothing may be appended to it."""

    def append(self, kind: int, head: bytes, descriptor: bytes, body: bytes) -> int:
        raise AssertionError("appended before the log was replayed")

    def end_lsn(self) -> int:
        return 0

    def durable_lsn(self) -> int:
        return 0

    def room_bytes(self) -> int:
        return 0


class ManagerCore(ABC):
    """`turn` gives access to the engine, one caller at a time. `lock` is the lock inside it."""

    log: RecoveryLog
    writer: JournalWriter

    def __init__(self, directory: QueueManagerDirectory, machine: Machine = MACHINE) -> None:
        """Raises ConfigurationError when qm.ini is damaged, QueueManagerNotFoundError when there is none."""
        name = directory.name
        if not directory.exists():
            raise QueueManagerNotFoundError(f"there is no queue manager {name} in {directory.root}")
        self.name = name
        self.directory = directory
        self.machine = machine
        self.lock = Lock()
        self.settings = QueueManagerIni.read(directory.ini).settings
        self.disk: Disk = machine.disk(directory.path, self.settings.file_system_megabytes)
        self.clock = EngineClock(machine.wall, machine.steady)
        self.engine = Engine(name, delayed_as_asked(self.disk), NoJournal(), new_definition(ObjectType.QMGR, name, {}))
        self.turn = EngineTurn(self.engine, self.lock, self.clock, self._wake, self._stop_failed)
        # Brings a message that the file of its queue has lost from another copy of the queue manager, by queue and
        # sequence number. None: there is no other copy.
        self.fetch_message: Callable[[int, int], Message | None] | None = None
        self.longest_pass: LongestPass | None = None  # of the reactor, if there is one
        self.notices: list[str] = list(self.settings.notices)
        self.checkpoint_turn = machine.lock()  # held while a checkpoint is taken
        self.media_turn = machine.lock()  # held while media images are recorded or used
        self.has_failed_invariant = False  # in memory nothing is to be believed any more
        # Called when all connections are broken, before the last checkpoint.
        self.on_stopping: list[Callable[[], None]] = []
        # Called when stable storage has failed and no verb succeeds any more.
        self.on_failure: list[Callable[[], None]] = []

    @abstractmethod
    def checkpoint(self, orderly: bool = False) -> None:
        """Take a checkpoint now. Raises DiskFull when queue files cannot grow; nothing is lost then."""

    @abstractmethod
    def make_room(self) -> None:
        """Free space in a log that is filling: take a checkpoint, and back out the oldest units of work if needed."""

    def _wake(self) -> None:
        """Wake the applications whose waiting get was satisfied, at the end of a turn."""
        woken = self.engine.woken
        self.engine.woken = []
        for request in woken:
            waker = request.waker
            if isinstance(waker, Timer):
                waker.notify()
            elif callable(waker):
                try:
                    waker()
                except Exception as error:
                    self.note(f"AMQ6109E: An application could not be woken for its message: {error}")

    def note(self, text: str) -> None:
        """Write a message to the operator. A repetition of the last message is dropped."""
        if not self.notices or self.notices[-1] != text:
            self.notices.append(text)

    def collect_notices(self) -> None:
        """Take over the messages that the engine has for the operator."""
        self.notices.extend(self.engine.notices)
        self.engine.notices = []

    def fail(self, why: str) -> None:
        """End at once because stable storage cannot be trusted any more. Only a restart helps."""
        self.note(f"AMQ7017S: The queue manager ends at once. {why}. Find out what is wrong there, then start it.")
        self.break_all(why)
        for callback in self.on_failure:
            callback()

    def break_all(self, why: str) -> None:
        """Break all connections: from now on no verb succeeds and nothing is written to the log."""
        self.writer.failure = why
        with self.turn as engine:
            _break_connections(engine)
            for queue in engine.queues_by_id.values():
                fail_waiting(engine, queue, mq.MQRC_CONNECTION_BROKEN)
            engine.abandon_tasks()

    def _stop_failed(self, failure: InvariantFailed) -> None:
        """Stop because an invariant has failed, in the turn in which it did. Nothing is believed any more."""
        is_first = not self.has_failed_invariant
        self.has_failed_invariant = True
        self.writer.failure = self.writer.failure or f"An invariant of the queue manager has failed: {failure}"
        _break_connections(self.engine)
        for queue in list(self.engine.queues_by_id.values()):
            with suppress(Exception, InvariantFailed):  # a damaged queue must not keep the others from being told
                fail_waiting(self.engine, queue, mq.MQRC_CONNECTION_BROKEN)
        self.engine.abandon_tasks()
        if is_first:
            self._report(failure)

    def _report(self, failure: InvariantFailed) -> None:
        try:
            report = f"Save {write_report(self.directory.errors, self.engine, self.log, failure)} for support"
        except Exception as error:
            report = f"A report for support could not be written: {error!r}"
        self.note(
            f"AMQ6184S: An internal error has occurred on queue manager {self.name}: {failure}. It ends at once, and "
            f"has acknowledged nothing since. {report}, then start it again: it recovers from its log."
        )


def _break_connections(engine: Engine) -> None:
    engine.state = STOPPING
    for connection in engine.connections.values():
        connection.broken = mq.MQRC_CONNECTION_BROKEN
