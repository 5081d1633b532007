"""Expired messages of shared queues: any member removes them, and sends the reports that they ask for.

Gets pass expired messages over, and tell that they saw some. A message is claimed before its report is made, so that
one member reports it and not all.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.engine import apply
from ostler.engine.core import Engine
from ostler.engine.events import reports
from ostler.engine.journal_records import append_shared_get
from ostler.engine.message.message import REPORT_AT, Message
from ostler.engine.queue.delivery import send_own_messages
from ostler.engine.queue.queue import Queue
from ostler.engine.shared.membership import Membership
from ostler.engine.shared.offloading import with_body
from ostler.engine.shared.units import CommitListener, shared_part
from ostler.engine.unit_of_work import ENDED, UnitOfWork
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, GetAnswer, ListAnswer
from ostler.model.coupling.entries import Entry
from ostler.model.coupling.offload import BodyFetched
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import GetProgram, ListProgram

_AT_ONCE: Final = 100
_SCAN_TICKS: Final = 60  # a scan of all queues, for those that nobody gets from


@final
class SharedExpiry:
    def __init__(self, engine: Engine, sharing: Membership) -> None:
        self.engine = engine
        self.sharing = sharing
        self._ticks: i64 = 0

    def on_tick(self) -> None:
        """Remove expired messages from queues on which some were seen, and now and then from all."""
        self._ticks += 1
        queues = self.sharing.expired_seen
        self.sharing.expired_seen = {}
        if self._ticks % _SCAN_TICKS == 0:
            queues = {queue.queue_id: queue for queue in self.engine.queues_by_id.values() if queue.is_shared}
        for queue in queues.values():
            self.scan(queue)

    def scan(self, queue: Queue) -> None:
        """Remove the first expired messages of a queue."""
        if queue.deleted or self.sharing.reason(queue.structure) != 0:
            return
        program = ListProgram(queue.structure, queue.name)
        program.expired_ms = self.engine.wall_ms()
        program.count_max = _AT_ONCE
        self.sharing.submit(program, 0, ExpiredListed(self, queue))

    def on_listed(self, queue: Queue, answer: ListAnswer) -> None:
        for entry in answer.entries:
            ExpiredRemoval(self.engine, self.sharing, queue).begin(entry)
        if not answer.is_end:
            self.sharing.expired_seen[queue.queue_id] = queue


@final
class ExpiredListed(Continuation):
    def __init__(self, expiry: SharedExpiry, queue: Queue) -> None:
        self.expiry = expiry
        self.queue = queue

    def answered(self, answer: Answer) -> None:
        if isinstance(answer, ListAnswer):
            self.expiry.on_listed(self.queue, answer)


@final
class ExpiredRemoval(CommitListener):
    """The removal of one expired message."""

    def __init__(self, engine: Engine, sharing: Membership, queue: Queue) -> None:
        self.engine = engine
        self.sharing = sharing
        self.queue = queue
        self.unit: UnitOfWork = engine.new_unit_of_work()
        self.part = shared_part(engine, sharing, self.unit)
        self.entry: Entry | None = None

    def begin(self, entry: Entry) -> None:
        program = GetProgram(self.queue.structure, self.queue.name, cf.CLAIM_IF_NEEDED, cf.ENTRY_ID)
        program.id = entry.id
        program.unit = self.part.id
        self.part.begin_operation(self.queue.structure)
        self.sharing.submit(program, 0, ExpiredClaimed(self))

    def on_claimed(self, answer: Answer) -> None:
        is_claimed: bool = isinstance(answer, GetAnswer) and answer.is_claimed
        self.part.on_operation_answered(is_claimed, answer.status)
        entry = answer.entry if isinstance(answer, GetAnswer) and answer.status == cf.OK else None
        self.entry = entry
        if is_claimed and entry is not None and entry.reference:
            self._fetch(entry)
            return
        self._go_on(is_claimed, entry)

    def _fetch(self, entry: Entry) -> None:
        """Have the body of an offloaded message read, if its report may have it."""
        offload = self.sharing.offload
        if offload is not None and i64(read_i32_le(entry.md, REPORT_AT)) & reports.EXPIRATION_OPTIONS:
            offload.fetch(self.queue.structure, entry, ExpiredFetched(self, entry))
        else:
            self._go_on(True, entry)

    def on_fetched(self, entry: Entry, body: bytes) -> None:
        """Go on; without the data if it cannot be read, which holds up no removal."""
        if self.unit.state == ENDED:
            return  # the link broke: the message is there again
        entry = with_body(entry, body, len(body))
        self.entry = entry
        self._go_on(True, entry)

    def _go_on(self, is_claimed: bool, entry: Entry | None) -> None:
        if not is_claimed or entry is None:
            self.engine.units_of_work.pop(self.unit.number, None)
            if entry is not None:
                self.on_committed(0)
            return
        if entry.flags & cf.PERSISTENT:
            start: i64 = self.sharing.start
            self.part.prepared_lsn = append_shared_get(self.engine, self.queue, entry.id, start, self.unit, True)
            apply.prepare(self.unit, b"")
        self.part.commit_for(self)

    def on_committed(self, reason: i64) -> None:
        entry = self.entry
        if reason != 0 or entry is None:
            return
        self.queue.counters.expired += 1
        self.engine.counters.expired += 1
        if i64(read_i32_le(entry.md, REPORT_AT)) & reports.EXPIRATION_OPTIONS:
            message = Message(entry.md, entry.properties, entry.body, 0)
            send_own_messages(self.engine, reports.on_expiry(self.engine, message), None)


@final
class ExpiredClaimed(Continuation):
    def __init__(self, removal: ExpiredRemoval) -> None:
        self.removal = removal

    def answered(self, answer: Answer) -> None:
        self.removal.on_claimed(answer)


@final
class ExpiredFetched(BodyFetched):
    def __init__(self, removal: ExpiredRemoval, entry: Entry) -> None:
        self.removal = removal
        self.entry = entry

    def fetched(self, reason: i64, body: bytes) -> None:
        self.removal.on_fetched(self.entry, body)
