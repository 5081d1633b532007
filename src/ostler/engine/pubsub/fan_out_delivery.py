"""Fan-out delivery: puts planned copies on their queues with one log record and one shared body."""

from __future__ import annotations

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.events.reports import Outgoing
from ostler.engine.journal_records import append_publication
from ostler.engine.message.message import EXPIRY_AT, PERSISTENCE_AT, PRIORITY_AT, Message
from ostler.engine.pubsub.fan_out import FanOutPlan, SeparateCopy
from ostler.engine.pubsub.publish_record import Copy
from ostler.engine.queue.delivery import deliver_anywhere, enqueue, put_on_dead_letter_queue
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.slots import PERSISTENT
from ostler.engine.queue.transmission import address_intra_group, transmission_message
from ostler.engine.statistics import count_copies
from ostler.engine.syncpoint import commit_unit
from ostler.engine.unit_of_work import UnitOfWork


def deliver_plan(engine: Engine, plan: FanOutPlan, retaining: Queue | None, unit: UnitOfWork | None) -> i64:
    """Deliver all copies, and one to `retaining`, the queue of retained publications. Returns the LSN to wait for.

    With copies on shared queues `plan.shared` is the part of a unit that the caller must commit.
    """
    own: UnitOfWork | None = unit
    if own is None and (retaining is not None or plan.separate):
        own = engine.new_unit_of_work()  # several records: a unit of work makes them atomic
    copies = plan.copies
    if retaining is not None:
        copies = [*copies, Copy(retaining, plan.stored, plan.block)]
    lsn: i64 = _make_copies(engine, copies, plan, own)
    for subscription in plan.recipients:
        subscription.delivered += 1
        subscription.delivered_ms = engine.wall_ms()
    for item in plan.separate:
        _deliver_separate(engine, item, own)
    if unit is None and own is not None:
        if own.shared is not None:
            plan.shared = own.shared
            return 0
        return commit_unit(engine, own)
    return lsn if unit is None else 0


def _make_copies(engine: Engine, copies: list[Copy], plan: FanOutPlan, unit: UnitOfWork | None) -> i64:
    """Put copies on their queues, with one log record for the persistent ones; returns its LSN."""
    persistent: list[Copy] | None = None
    tenths: i64 = i64(read_i32_le(plan.stored, EXPIRY_AT))
    expiry_ms: i64 = engine.now_ms + tenths * 100 if tenths > 0 else 0
    for copy in copies:
        queue = copy.queue
        copy.seq = queue.next_seq
        queue.next_seq += 1
        copy.flags = queue.order_flags(i64(read_i32_le(copy.md, PRIORITY_AT)))
        copy.expiry_ms = expiry_ms
        if plan.is_persistent and read_i32_le(copy.md, PERSISTENCE_AT) == 1:
            copy.flags |= PERSISTENT
            if persistent is None:
                persistent = []
            persistent.append(copy)
    lsn: i64 = 0
    if persistent is not None:
        lsn = append_publication(engine, plan.stored, plan.block, plan.body, persistent, unit)
    _count(engine, plan, persistent)
    for copy in copies:
        visible: i64 = lsn if copy.flags & PERSISTENT else 0
        message = Message(copy.md, copy.properties, plan.body, copy.seq)
        enqueue(engine, copy.queue, message, copy.flags, copy.expiry_ms, unit, visible)
    return lsn


def _count(engine: Engine, plan: FanOutPlan, persistent: list[Copy] | None) -> None:
    """Count the copies for subscriptions, without one that becomes the retained publication."""
    durable: i64 = 0
    if persistent is not None:
        durable = len(persistent)
        if persistent[-1].queue.keeps_retained:
            durable -= 1
    if plan.copies:
        count_copies(engine, len(plan.copies), durable, len(plan.body))


def _deliver_separate(engine: Engine, item: SeparateCopy, unit: UnitOfWork | None) -> None:
    subscription = item.subscription
    queue = item.queue
    if queue is None:
        outgoing = Outgoing(
            subscription.destination, subscription.destination_manager, item.md, item.body, True, item.properties
        )
        put_on_dead_letter_queue(engine, outgoing, item.reason, unit)
        return
    md = item.md
    properties = item.properties
    body = item.body
    if subscription.remote_manager:
        manager = subscription.remote_manager
        md, body = transmission_message(engine, subscription.remote_queue, manager, md, properties, body)
        md = address_intra_group(queue.name, manager, md)
        properties = b""
    deliver_anywhere(engine, queue, md, properties, body, unit)
    count_copies(engine, 1, 1 if read_i32_le(item.md, PERSISTENCE_AT) == 1 else 0, len(item.body))
    subscription.delivered += 1
    subscription.delivered_ms = engine.wall_ms()
