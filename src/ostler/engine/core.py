"""The state of the engine, and the small operations that every verb needs.

One owner calls the engine, one call at a time. Nothing here waits, sleeps or reads the clock: the owner sets `now_ms`
before a call, forces the journal afterwards, and wakes the requests in `woken`.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter, write_i64_le
from mypy_extensions import i64

from ostler.engine.connection import Connection, TagUse
from ostler.engine.handle import OTHER_OBJECT, Handle
from ostler.engine.message.timestamps import PutClock
from ostler.engine.pubsub.topic_tree import TopicTree
from ostler.engine.queue.get_request import GetRequest
from ostler.engine.queue.get_waiters import ScanTurns
from ostler.engine.queue.queue import LongMessages, Queue
from ostler.engine.queue.queue_file import OpenFiles, QueueFile
from ostler.engine.queue.reads import MessageRead, PendingReads
from ostler.engine.recovery.checkpoint_reserve import CheckpointReserve
from ostler.engine.selectors.selector import COMPILING_COST, Selector, compile_selector
from ostler.engine.selectors.selector import cache as selector_cache
from ostler.engine.shared.member_state import MemberState
from ostler.engine.shared.membership import Membership
from ostler.engine.task import EngineTask
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq
from ostler.model.accounts import ManagerStatistics
from ostler.model.attributes import ObjectType
from ostler.model.counters import VerbCounters, verb_counts
from ostler.model.definitions import Definition
from ostler.model.disk import Disk
from ostler.model.errors import LogFull, MQError
from ostler.model.guard import Guard
from ostler.model.journal import Journal

RUNNING: Final = 0
QUIESCING: Final = 1
STOPPING: Final = 2

_NOTICES_MAX: Final = 64  # between two runs of the housekeeping
# The cost of scans is counted in units of about a tenth of a microsecond, as the engine has no clock. Between two
# passes of the owner one scan takes a slice at most, and all of them together a share.
SLICE_COST: Final = 2_000
SHARE_COST: Final = 20_000
NO_LIMIT: Final = 1 << 60
# Slots that a snapshot of a queue copies at once: a millisecond or so.
CAPTURE_SLOTS: Final = 1 << 15
# In the place of a reason code: MQRC_RESOURCE_PROBLEM, for lack of log space. Verbs raise LogFull, or return it with
# `wants_log_space`; the caller makes room in the log and calls again.
LOG_FULL: Final = -2102
# Journal space that a verb leaves beyond its own record.
JOURNAL_MARGIN_BYTES: Final = 4096
QUEUES_PATH: Final = "queues"
TEMPORARY_PATH: Final = "temporary"


@final
class ExpiredMessage:
    """An expired message that a scan has found. The sequence number tells whether the slot still holds it."""

    def __init__(self, queue: Queue, slot: i64, seq: i64) -> None:
        self.queue = queue
        self.slot: i64 = slot
        self.seq: i64 = seq


@final
class Posting:
    """A message in the outbox (`events.reports.Outgoing`), and the unit of work it belongs to."""

    def __init__(self, item: object, unit: UnitOfWork | None) -> None:
        self.item = item
        self.unit = unit


@final
class Engine:
    def __init__(self, name: str, disk: Disk, journal: Journal, manager: Definition) -> None:
        self.name = name
        self.padded_name: bytes = name.encode("ascii").ljust(48)
        self.disk = disk
        self.journal = journal
        self.manager = manager
        self.state: i64 = RUNNING
        self.now_ms: i64 = 0
        self.wall_offset_ms: i64 = 0  # of the wall clock against `now_ms`
        self.put_clock = PutClock()
        # Objects. `queues` has the messages of local queues; all other objects are definitions only.
        self.definitions: dict[ObjectType, dict[str, Definition]] = {}
        self.queues: dict[str, Queue] = {}
        self.queues_by_id: dict[int, Queue] = {}
        self.triggering: dict[int, Queue] = {}  # queues with TRIGGER, by id
        self.next_queue_id: i64 = 1
        self.catalogue_changed = True
        self.definitions_version: i64 = 0  # counts changes, to validate caches
        self.catalogue_lsn: i64 = 0
        self.appended_lsn: i64 = 0  # of the last record that was appended
        self.catalogue_number: i64 = 0  # of the checkpoint that wrote the catalogue
        self.identity: bytes = b""  # of the log; all files of the queue manager carry it
        self.checkpoint_number: i64 = 0
        self.checkpoint_began_lsn: i64 = 0  # of the last complete checkpoint
        self.removed_queues: list[Queue] = []  # their files are removed when a catalogue without them is durable
        self.removed_paths: list[str] = []  # of temporary queues that are gone: the owner removes them in no turn
        self.reserve = CheckpointReserve()
        self.open_files = OpenFiles()
        self.buffer_bytes_nonpersistent: i64 = 128 * 1024
        self.buffer_bytes_persistent: i64 = 256 * 1024
        self.long_messages = LongMessages()
        self.reads = PendingReads()
        self.topics = TopicTree()
        # Applications.
        self.connections: dict[int, Connection] = {}
        self.next_connection: i64 = 1
        self.units_of_work: dict[int, UnitOfWork] = {}
        self.next_unit_of_work: i64 = 1
        self.implicit_syncpoint_applications: i64 = 2  # ImplSyncOpenOutput; NO_LIMIT: OFF
        self.counters = VerbCounters()
        self.statistics = ManagerStatistics()
        self.queue_statistics: i64 = mq.MQMON_OFF
        self.queue_monitoring: i64 = mq.MQMON_OFF
        self.woken: list[GetRequest] = []
        # Scans in slices: see `get.resume_work`.
        self.capture_slots: i64 = CAPTURE_SLOTS
        self.slice_cost: i64 = SLICE_COST
        self.share_cost: i64 = SHARE_COST
        self.work_left: i64 = NO_LIMIT  # of the slice under way
        self.work_turn: i64 = 0  # of tasks, offers and scans that are continued
        self.share_left: i64 = SHARE_COST  # for scans within verbs
        self.scans = ScanTurns()
        self.offering: dict[int, Queue] = {}  # queues with pending offers, by id
        # A request that never ends: its waker is called when scans are to be continued. Without one, nothing pauses.
        self.owner_signal = new_signal(None)
        self._is_owner_signalled = False
        self.tasks: list[EngineTask] = []  # work that goes on in slices, in the order in which it was begun
        self.unit_ends: list[EngineTask] = []  # those of them that end units of work
        self.reading_tasks: list[EngineTask] = []  # those that wait for a read, and are not in `tasks` meanwhile
        # The same for reads that are to be made. Without a waker messages are read at once.
        self.read_signal = new_signal(None)
        self._is_reader_signalled = False
        # The queue manager's own messages wait here while a request is being answered (`answering` > 0): delivering one
        # could answer the same request again.
        self.outbox: list[Posting] = []
        self.answering: i64 = 0
        # Unique part of message ids and of dynamic queue names.
        self.id_prefix: bytes = b"AMQ " + name.encode("ascii")[:12].ljust(12)
        self.unique: i64 = 0
        # Largest request for log space that has failed since room was last made.
        self.journal_wanted_bytes: i64 = 0
        self.expired: list[ExpiredMessage] = []  # found by the scan under way
        self.notices: list[str] = []  # messages for the error log
        # Checks authorities; without one everything is allowed.
        self.guard: Guard | None = None
        # In a queue-sharing group: the numbers that the journal has, and the membership while it runs.
        self.member = MemberState()
        self.has_intra_group_queuing = False  # IGQ(ENABLED)
        self.sharing: Membership | None = None
        self.tags: dict[bytes, TagUse] = {}  # connection tags in use
        # Attributes of the temporary queue made last, its model and second: the next one may share them.
        self.temporary_model: Definition | None = None
        self.temporary_second: i64 = 0
        self.temporary_attributes: dict[str, int | str | tuple[str, ...]] = {}
        self.dynamic_owners: dict[str, str] = {}  # users with all authorities on the temporary queues they made
        # Who changes objects now, for events: the user, and the origin of the command (MQEVO).
        self.actor: str = ""
        self.actor_origin: i64 = 0
        self.configure(manager)

    def wall_ms(self) -> i64:
        """Return the time of day, for display. Deadlines and ages are computed with `now_ms`."""
        return self.now_ms + self.wall_offset_ms

    def configure(self, manager: Definition) -> None:
        self.manager = manager
        a = manager.attributes
        self.handles_max: i64 = _integer(a, "MAXHANDS", 256)
        self.uncommitted_max: i64 = _integer(a, "MAXUMSGS", 10000)
        self.message_bytes_max: i64 = _integer(a, "MAXMSGL", 4194304)
        self.ccsid: i64 = _integer(a, "CCSID", 1208)
        self.trigger_interval_ms: i64 = _integer(a, "TRIGINT", 999999999)
        self.performance_events: bool = _integer(a, "PERFMEV", 0) != 0
        self.dead_letter_queue: str = _text(a, "DEADQ")
        self.default_transmission_queue: str = _text(a, "DEFXMITQ")
        has_intra_group_queuing: bool = _integer(a, "IGQ", mq.MQIGQ_DISABLED) == mq.MQIGQ_ENABLED
        self._switch_intra_group_queuing(has_intra_group_queuing)
        self.publishing_is_off: bool = a.get("PSMODE") == mq.MQPSM_DISABLED
        self._switch_collection()

    def _switch_intra_group_queuing(self, is_on: bool) -> None:
        """Take over IGQ. Handles on queues of other members must be opened again (MQRC_OBJECT_CHANGED)."""
        if is_on == self.has_intra_group_queuing:
            return
        self.has_intra_group_queuing = is_on
        sharing = self.sharing
        for connection in self.connections.values() if sharing is not None else ():
            for handle in connection.handles.values():
                if sharing is not None and handle.remote_manager in sharing.manager_names:
                    handle.valid = False

    def _switch_collection(self) -> None:
        """Start or stop collecting statistics, according to STATMQI, STATQ and MONQ."""
        a = self.manager.attributes
        if _integer(a, "STATMQI", mq.MQMON_OFF) == mq.MQMON_OFF:
            self.statistics.verbs_base = None
        elif self.statistics.verbs_base is None:
            self.begin_verb_statistics()
        queue_statistics: i64 = _integer(a, "STATQ", mq.MQMON_OFF)
        queue_monitoring: i64 = _integer(a, "MONQ", mq.MQMON_OFF)
        if queue_statistics != self.queue_statistics or queue_monitoring != self.queue_monitoring:
            self.queue_statistics = queue_statistics
            self.queue_monitoring = queue_monitoring
            for queue in self.queues_by_id.values():
                queue.collect(queue_statistics, queue_monitoring)

    def begin_verb_statistics(self) -> None:
        """Begin a new interval of the MQI statistics."""
        self.statistics.verbs_base = verb_counts(self.counters)
        self.statistics.manager_base = self.statistics.counts()
        self.statistics.connections_high = len(self.connections)
        self.topics.counts.begin(self.topics.counts.of_statistics)

    def notice(self, text: str) -> None:
        """Add a message for the error log, once and within a limit: peers choose parts of the text."""
        if len(self.notices) < _NOTICES_MAX and text not in self.notices:
            self.notices.append(text)

    def mark_damaged(self, queue: Queue, damage: str) -> None:
        """Make verbs on a queue fail with MQRC_OBJECT_DAMAGED until it is recovered or deleted."""
        queue.damaged = damage
        self.notices.append(
            f"AMQ7472E: Object {queue.name}, type queue damaged. {damage}. With linear logging, recover it with "
            "rcrmqobj; otherwise delete the queue and define it again."
        )

    def check_state(self, fail_if_quiescing: bool) -> None:
        """Raise MQError when the queue manager is stopping, or quiescing and the verb is to fail then."""
        if self.state == RUNNING:
            return
        if self.state == QUIESCING:
            if fail_if_quiescing:
                raise MQError(mq.MQRC_Q_MGR_QUIESCING)
            return
        raise MQError(mq.MQRC_Q_MGR_STOPPING)

    def lacks_log_space(self, size_bytes: i64) -> bool:
        """Return True when the log has no room for so many bytes, and note how many are wanted."""
        if self.journal.room_bytes() >= size_bytes:
            return False
        if size_bytes > self.journal_wanted_bytes:
            self.journal_wanted_bytes = size_bytes
        return True

    # -- numbers ---------------------------------------------------------------

    def new_id(self) -> bytes:
        """Return a unique message, correlation or group id."""
        writer = BytesWriter()
        self.write_id(writer)
        return writer.getvalue()

    def write_id(self, writer: BytesWriter) -> None:
        self.unique += 1
        writer.write(self.id_prefix)
        write_i64_le(writer, self.unique)

    def signal_owner(self) -> None:
        """Wake the owner because scans are to be continued."""
        if not self._is_owner_signalled and self.owner_signal.waker is not None:
            self._is_owner_signalled = True
            self.woken.append(self.owner_signal)

    def signal_new_owner(self) -> None:
        """Wake a new owner if scans are to be continued."""
        self._is_owner_signalled = False
        if self.has_pending_work():
            self.signal_owner()

    def renew_share(self) -> None:
        """Give verbs a new share for scans, after other work has had its turn."""
        self._is_owner_signalled = False
        self.share_left = self.share_cost

    def has_pending_work(self) -> bool:
        """Return True when scans, offers or tasks are to be continued."""
        return self.scans.count > 0 or len(self.offering) > 0 or len(self.tasks) > 0

    def begin_task(self, task: EngineTask) -> None:
        """Have a task continued by the engine's owner, or do it at once if there is none."""
        if self.owner_signal.waker is None:
            self.finish_task(task)
            return
        self.tasks.append(task)
        self.signal_owner()

    def finish_task(self, task: EngineTask) -> None:
        """Do the rest of a task at once, and read messages at once."""
        before: i64 = self.work_left
        self.work_left = NO_LIMIT
        was_deferring: bool = self.reads.is_deferring
        self.reads.is_deferring = False
        while not task.step():
            pass
        self.reads.is_deferring = was_deferring
        self.work_left = before
        self.end_task(task)

    def finish_unit_ends(self) -> None:
        """Finish all ends of units of work at once: whoever captures state needs it to agree with the journal."""
        while self.unit_ends:
            self.finish_task(self.unit_ends[0])

    def finish_tasks(self) -> None:
        """Finish all tasks at once, before the end."""
        self.finish_unit_ends()
        while self.tasks or self.reading_tasks:
            task = self.tasks.pop(0) if self.tasks else self.reading_tasks.pop(0)
            if not task.is_done:
                self.finish_task(task)

    def abandon_tasks(self) -> None:
        """Wake all who wait for tasks: nothing is done any more."""
        waiting = list(self.sharing.tasks) if self.sharing is not None else []
        for task in [*self.tasks, *self.reading_tasks, *self.unit_ends, *waiting]:
            if not task.is_done:
                task.is_abandoned = True
                self.end_task(task)
        if self.sharing is not None:
            self.sharing.tasks = {}
        self.tasks = []
        self.reading_tasks = []
        self.unit_ends = []

    def end_task(self, task: EngineTask) -> None:
        task.is_done = True
        signal = task.signal
        if isinstance(signal, GetRequest):
            task.signal = None
            self.woken.append(signal)

    def notify_when_done(self, task: EngineTask, waker: object) -> None:
        """Have `waker` woken when a task is done, in the turn in which it ends."""
        task.signal = new_signal(waker)
        if task.is_done:
            self.end_task(task)

    def set_reader(self, waker: object) -> None:
        """Have messages read by whoever `waker` wakes, or at once if it is None."""
        self.read_signal.waker = waker
        self.reads.has_reader = waker is not None

    def signal_reader(self) -> None:
        """Wake whoever makes the reads that are wanted."""
        if not self._is_reader_signalled and self.reads.has_reader:
            self._is_reader_signalled = True
            self.woken.append(self.read_signal)

    def take_read(self) -> MessageRead | None:
        """Return a read to make now without the engine's lock, or None. `get.end_read` must be called for it."""
        self._is_reader_signalled = False
        return self.reads.take()

    def take_read_of(self, request: GetRequest) -> MessageRead | None:
        """Return the read that a request waits for, for a caller who makes it without the engine's lock.

        None: it waits for no read, or somebody else makes it. `get.end_read` or `return_read` must be called for it.
        """
        wanted = self.reads.wanted
        if not wanted or not request.is_reading or request.done:
            return None
        read = wanted[-1]
        if read.has_begun or request not in read.requests:
            return None
        wanted.pop()
        read.has_begun = True
        if not wanted:
            self._is_reader_signalled = False
        return read

    def return_read(self, read: MessageRead) -> None:
        """Have a read made by somebody else, after it was taken and not made."""
        read.has_begun = False
        self.reads.wanted.append(read)
        self.signal_reader()

    def first_slice(self) -> i64:
        """Return the cost that a verb may spend on a scan at once."""
        if self.owner_signal.waker is None:
            return self.slice_cost
        return self.slice_cost if self.slice_cost < self.share_left else self.share_left

    def compile_selector(self, text: str) -> Selector:
        """Compile a selection string for a verb, at the expense of the share for verbs unless it is cached."""
        known = selector_cache.find(text)
        if known is None:
            self.share_left -= len(text) * COMPILING_COST
            known = compile_selector(text)
        return known

    def unit_of_work_of(self, connection: Connection) -> UnitOfWork:
        """Return the connection's unit of work; begin one when there is none."""
        unit = connection.unit_of_work
        if unit is None:
            unit = self.new_unit_of_work()
            connection.unit_of_work = unit
        return unit

    def new_unit_of_work(self) -> UnitOfWork:
        unit = UnitOfWork(self.next_unit_of_work)
        unit.started_ms = self.wall_ms()
        self.next_unit_of_work += 1
        self.units_of_work[unit.number] = unit
        return unit

    def reply_address(self, queue_name: bytes, manager_name: bytes) -> bytes:
        """Resolve ReplyToQ and ReplyToQMgr: a remote definition of that name is a reply-to queue alias."""
        alias = self.of_type(ObjectType.QREMOTE).get(queue_name.decode("latin-1").rstrip())
        if alias is not None:
            remote_queue = _text(alias.attributes, "RNAME")
            remote_manager = _text(alias.attributes, "RQMNAME")
            if remote_queue:
                queue_name = remote_queue.encode("ascii").ljust(48)
            if remote_manager:
                manager_name = remote_manager.encode("ascii").ljust(48)
        return queue_name + manager_name

    # -- objects ---------------------------------------------------------------

    def of_type(self, object_type: ObjectType) -> dict[str, Definition]:
        table = self.definitions.get(object_type)
        if table is None:
            table = {}
            self.definitions[object_type] = table
        return table

    def add_queue(self, definition: Definition, queue_id: i64) -> Queue:
        """Make the queue for the definition of a local queue."""
        is_temporary: bool = definition.attributes.get("DEFTYPE") == mq.MQQDT_TEMPORARY_DYNAMIC
        path = queue_path(definition.name, queue_id, is_temporary) + "/messages"
        queue = Queue(queue_id, definition, QueueFile(self.disk, path, self.open_files), self.reserve)
        queue.buffer_bytes_nonpersistent = self.buffer_bytes_nonpersistent
        queue.buffer_bytes_persistent = self.buffer_bytes_persistent
        queue.long_messages = self.long_messages
        queue.reads = self.reads
        queue.performance.reset_ms = self.now_ms
        queue.collect(self.queue_statistics, self.queue_monitoring)
        if queue.keeps_retained:
            queue.next_seq = self.topics.retained_next_seq
        self.queues[definition.name] = queue
        self.queues_by_id[queue_id] = queue
        self.index_trigger(queue)
        self.of_type(ObjectType.QLOCAL)[definition.name] = definition
        if queue_id >= self.next_queue_id:
            self.next_queue_id = queue_id + 1
        return queue

    def index_trigger(self, queue: Queue) -> None:
        """Update `triggering` for a queue that is new or was altered."""
        if queue.trigger_on:
            self.triggering[queue.queue_id] = queue
        else:
            self.triggering.pop(queue.queue_id, None)

    def remove_queue(self, queue: Queue) -> None:
        queue.deleted = True
        queue.release_long_messages()
        queue.long_messages = LongMessages()
        self.dynamic_owners.pop(queue.name, None)
        if self.queues.get(queue.name) is queue:
            del self.queues[queue.name]
            del self.of_type(ObjectType.QLOCAL)[queue.name]
        del self.queues_by_id[queue.queue_id]
        self.triggering.pop(queue.queue_id, None)
        if queue.is_temporary:
            self._remove_files(queue)
        else:
            self.removed_queues.append(queue)  # a checkpoint may be writing its file

    def _remove_files(self, queue: Queue) -> None:
        """Remove the files of a temporary queue. To free the space of a long one takes a file system long."""
        if not queue.file.was_opened:
            return
        queue.file.close()
        path = queue_path(queue.name, queue.queue_id, True)
        if self.owner_signal.waker is None:
            self.disk.remove(path)
        else:
            self.removed_paths.append(path)

    def take_removed_paths(self) -> list[str]:
        """Return the paths that are to be removed now without the engine's lock."""
        paths = self.removed_paths
        self.removed_paths = []
        return paths


def new_signal(waker: object) -> GetRequest:
    """Return a request that never ends and only carries a waker, for `Engine.woken`."""
    signal = GetRequest(Connection(0, "", "", 0), Handle(0, OTHER_OBJECT, "", 0), 0, 0)
    signal.waker = waker
    return signal


def refusal(reason: i64, detail: str = "") -> MQError:
    """Return the error for a reason code or LOG_FULL."""
    return LogFull() if reason == LOG_FULL else MQError(reason, detail)


def queue_path(name: str, queue_id: i64, is_temporary: bool = False) -> str:
    """Return the directory of a queue: its name made safe for file systems, and its id, as a name can be used again.

    Temporary queues have their own parent directory. They are not journalled, and a start removes that directory.
    """
    safe = name.replace(".", "!").replace("/", "&")
    return f"{TEMPORARY_PATH if is_temporary else QUEUES_PATH}/{safe}.{queue_id}"


def _integer(attributes: dict[str, int | str | tuple[str, ...]], name: str, default: int) -> int:
    value = attributes.get(name, default)
    return value if isinstance(value, int) else default


def _text(attributes: dict[str, int | str | tuple[str, ...]], name: str) -> str:
    value = attributes.get(name, "")
    return value if isinstance(value, str) else ""
