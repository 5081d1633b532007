"""Delivery of retained publications to new subscriptions and on MQSUBRQ."""

from __future__ import annotations

from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i64

from ostler.engine import apply
from ostler.engine.core import JOURNAL_MARGIN_BYTES, LOG_FULL, NO_LIMIT, Engine, refusal
from ostler.engine.journal_records import append_get
from ostler.engine.message.message import EXPIRY_AT, Message, patch_i32
from ostler.engine.objects import define
from ostler.engine.outcomes import PutOutcome, RetainedOutcome
from ostler.engine.properties.property_control import selector_source
from ostler.engine.pubsub import retained
from ostler.engine.pubsub.end_subscription import end_subscription
from ostler.engine.pubsub.fan_out import FanOutPlan, check_capacity, plan_copy, plan_dead_letter
from ostler.engine.pubsub.fan_out_delivery import deliver_plan
from ostler.engine.pubsub.retained_references import is_available, retained_queue
from ostler.engine.pubsub.subscription import Subscription
from ostler.engine.pubsub.topic_tree import TopicNode
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.queue_file import QueueFileDamaged
from ostler.engine.queue.reads import AHEAD_MESSAGES
from ostler.engine.queue.slots import PERSISTENT
from ostler.engine.syncpoint import back_out_unit, commit_unit
from ostler.engine.task import EngineTask
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq
from ostler.model.definitions import Definition
from ostler.model.errors import LogFull, MQError

# Retained publications are republished at this level, so that subscriptions above it (SUBLEVEL) do not intercept them.
_LEVEL: Final = 1
_NO_LIMIT: Final = -1
_NO_MATCH: Final = -1
# With more retained publications in the tree they are delivered in slices, if the caller can wait.
RETAINED_AT_ONCE: Final = 200
# Costs in units of `Engine.work_left`.
_NODE_COST: Final = 10
_COPY_COST: Final = 100
_WITHDRAWN_COST: Final = 30
# A slice that finds the log full is tried again for so long: housekeeping makes room in it.
_LOG_FULL_MS_MAX: Final = 10_000

# What retained publications are delivered for in slices, and so what becomes of a failure.
CREATING: Final = 0  # MQSUB: there is no subscription then, and its queue has none of them
REQUESTED: Final = 1  # MQSUBRQ: whoever asked is told
DEFINED: Final = 2  # DEFINE SUB: the subscription stays, and the error log is told


def send_retained(engine: Engine, subscription: Subscription) -> RetainedOutcome:
    """Deliver all matching retained publications, or none."""
    if subscription.level > _LEVEL:
        return RetainedOutcome()
    nodes = engine.topics.retained_for(subscription)
    if not nodes:
        return RetainedOutcome()
    queue = retained_queue(engine)
    if queue is None or queue.damaged or not queue.get_allowed:
        raise _queue_error()
    unit = engine.new_unit_of_work()
    sent: i64 = 0
    for node in nodes:
        reason: i64 = _send_one(engine, subscription, node, unit)
        if reason != 0 and reason != _NO_MATCH:
            back_out_unit(engine, unit)
            raise _delivery_error(subscription, reason)
        if reason == 0:
            sent += 1
    return RetainedOutcome(sent, commit_unit(engine, unit))


def add_pending(engine: Engine, definition: Definition, topic: str) -> Subscription:
    """Add a subscription to the tree whose retained publications are delivered in slices.

    It receives publications from now on, but a durable one is recorded only when it has all retained ones: a restart
    before that finds no subscription, and not half of one.
    """
    subscription = Subscription(definition, topic, engine.now_ms)
    subscription.is_pending = True
    engine.topics.add(subscription, engine.now_ms)
    return subscription


def begin_retained(engine: Engine, subscription: Subscription, purpose: i64) -> RetainedDelivery:
    """Begin to deliver the matching retained publications in slices. It may be done already."""
    delivery = RetainedDelivery(engine, subscription, purpose)
    engine.begin_task(delivery)
    return delivery


@final
class RetainedDelivery(EngineTask):
    """Delivers retained publications to a subscription in slices, each a unit of work of its own.

    The subscription receives new publications meanwhile. Those that are retained, too, are passed over here: the
    subscriber has them already, and in the right order behind their predecessors.

    If one cannot be delivered, what MQSUB has made is undone, also when the application is gone: the subscription is
    removed, and the copies that are still on its queue. MQSUB, MQRC_RETAINED_NOT_DELIVERED: "the subscription is not
    created".
    """

    def __init__(self, engine: Engine, subscription: Subscription, purpose: i64) -> None:
        super().__init__()
        self.sent: i64 = 0
        self.lsn: i64 = 0
        self.failure: MQError | None = None
        self._engine = engine
        self._subscription = subscription
        self._purpose: i64 = purpose
        self._nodes: list[TopicNode] = []  # still to be visited, the next one at the end
        self._is_deep = False
        self._first_new_seq: i64 = 0
        self._full_since_ms: i64 = 0  # since when slices have found the log full; 0: the last one did not
        # Copies on a queue of the application, to withdraw them if the rest cannot be delivered.
        self._queue: Queue | None = None
        self._slots: vec[i64] = vec[i64]()
        self._seqs: vec[i64] = vec[i64]()
        self._is_withdrawing = False
        queue = retained_queue(engine)
        if queue is not None:
            self._first_new_seq = queue.next_seq
        if subscription.level <= _LEVEL and engine.topics.retained_count > 0:
            start, self._is_deep = engine.topics.retained_start(subscription)
            if start is not None:
                self._nodes = [start]

    def step(self) -> bool:
        if self._is_withdrawing:
            return self._withdraw()
        if self._subscription.is_removed:
            return self._end_removed()
        self._deliver()
        if self.failure is not None:
            return self._fail()
        return not self._nodes and self._complete()

    def _deliver(self) -> None:
        """Deliver as many as this slice allows. Raises ReadPending; a failure is kept."""
        engine = self._engine
        reads = engine.reads
        was_deferring: bool = reads.is_deferring
        unit: UnitOfWork | None = None
        try:
            while self._nodes and engine.work_left > 0 and self.failure is None:
                engine.work_left -= _NODE_COST
                node = self._nodes[-1]
                if self._is_for_us(node):
                    reads.is_deferring = was_deferring
                    message = self._load(node)
                    reads.is_deferring = False  # from here on nothing may be left half done
                    if message is not None:
                        engine.work_left -= _COPY_COST
                        if unit is None:
                            unit = engine.new_unit_of_work()
                        if not self._send(message, node, unit):
                            break
                self._nodes.pop()
                if self._is_deep and node.children is not None and node.retained_below > 0:
                    self._nodes.extend(node.children.values())
        except MQError as error:
            self.failure = error
        finally:
            reads.is_deferring = False
            if unit is not None:
                self._note_copies(unit)
                self._note_lsn(commit_unit(engine, unit))
            reads.is_deferring = was_deferring

    def _note_lsn(self, lsn: i64) -> None:
        if lsn > self.lsn:
            self.lsn = lsn

    def _note_copies(self, unit: UnitOfWork) -> None:
        subscription = self._subscription
        if self._purpose != CREATING or subscription.is_managed:
            return  # nobody withdraws them, or they go with their queue
        for entry in unit.entries:
            if entry.queue is subscription.queue:
                self._queue = entry.queue
                self._slots = append(self._slots, entry.slot)
                self._seqs = append(self._seqs, entry.seq)

    def _complete(self) -> bool:
        """Record a durable subscription now that it has all. Returns False if that must be tried again."""
        subscription = self._subscription
        if self._purpose == CREATING:
            if subscription.is_durable:
                try:
                    self._note_lsn(define(self._engine, subscription.definition))
                except LogFull as full:
                    if self._waits_for_log():
                        return False
                    self.failure = full
                except MQError as error:
                    self.failure = error
                if self.failure is not None:
                    return self._fail()
            subscription.is_pending = False
        return True

    def _waits_for_log(self) -> bool:
        """Return True if what has found the log full may be tried again in a later slice."""
        engine = self._engine
        if engine.work_left > NO_LIMIT // 2:
            return False  # all is done at once, and nobody makes room meanwhile
        engine.work_left = 0
        if self._full_since_ms == 0:
            self._full_since_ms = engine.now_ms
        return engine.now_ms - self._full_since_ms < _LOG_FULL_MS_MAX

    # -- failure -------------------------------------------------------------------------------------------------------

    def _fail(self) -> bool:
        """Undo what has been made, after a failure. Returns True when that is done."""
        self._nodes = []
        subscription = self._subscription
        if self._purpose == REQUESTED:
            return True
        if self._purpose == DEFINED:
            self._engine.notice(
                f"AMQ8101W: Retained publications did not reach the new subscription {subscription.name}: "
                f"{self.failure}"
            )
            return True
        subscription.is_pending = False
        if not subscription.is_removed:
            end_subscription(self._engine, subscription)
        self._is_withdrawing = True
        return self._withdraw()

    def _end_removed(self) -> bool:
        """End the delivery to a subscription that is gone. If its MQSUB has not ended, there was none."""
        self._nodes = []
        subscription = self._subscription
        if subscription.is_pending and not 0 < subscription.ends_ms <= self._engine.now_ms:
            self.failure = MQError(mq.MQRC_CONNECTION_BROKEN, "The application ended before its subscription was made.")
            return self._fail()
        subscription.is_pending = False
        return True

    def _withdraw(self) -> bool:
        """Remove copies that are still on the queue of the application, as many as this slice allows."""
        engine = self._engine
        queue = self._queue
        left: i64 = len(self._slots)
        if queue is None or queue.deleted or queue.damaged:
            return True
        while left > 0 and engine.work_left > 0:
            left -= 1
            slot: i64 = self._slots[left]
            if queue.has_available(slot, self._seqs[left]):
                engine.work_left -= _WITHDRAWN_COST
                if queue.slots.flags[slot] & PERSISTENT:
                    if engine.lacks_log_space(JOURNAL_MARGIN_BYTES):
                        return True  # they stay: the failure may be just this one
                    self._note_lsn(append_get(engine, queue, self._seqs[left], None))
                apply.get(queue, slot)
        self._slots = self._slots[:left]
        self._seqs = self._seqs[:left]
        return left == 0

    # -- one publication -----------------------------------------------------------------------------------------------

    def _is_for_us(self, node: TopicNode) -> bool:
        found = node.retained
        if found is None or found.seq >= self._first_new_seq:
            return False
        topics = self._engine.topics
        return not self._is_deep or topics.is_match(self._subscription, topics.topic_of(node))

    def _load(self, node: TopicNode) -> Message | None:
        """Load a retained publication, and with it those of the next nodes. Raises ReadPending."""
        engine = self._engine
        queue = retained_queue(engine)
        if queue is None or queue.damaged or not queue.get_allowed:
            self.failure = _queue_error()
            return None
        found = node.retained
        may_defer: bool = engine.reads.is_deferring
        if found is not None and may_defer and is_available(queue, found) and not queue.is_loaded(found.slot):
            try:
                queue.load_all(self._slots_ahead(queue, found.slot))
            except (QueueFileDamaged, MQError, MemoryError):
                engine.reads.is_deferring = False  # one of them cannot be read: read this one alone, and now
        return retained.message_at(engine, node)

    def _slots_ahead(self, queue: Queue, slot: i64) -> list[int]:
        slots: list[int] = [slot]
        index: i64 = len(self._nodes) - 2
        while index >= 0 and len(slots) < AHEAD_MESSAGES:
            found = self._nodes[index].retained
            if found is not None and is_available(queue, found) and not queue.is_loaded(found.slot):
                slots.append(found.slot)
            index -= 1
        return slots

    def _send(self, message: Message, node: TopicNode, unit: UnitOfWork) -> bool:
        """Send one. Returns False if it was not sent now: there is a failure, or it is tried again."""
        reason: i64 = _send_message(self._engine, self._subscription, node, message, unit)
        if reason == LOG_FULL and self._waits_for_log():
            return False
        self._full_since_ms = 0
        if reason == 0:
            self.sent += 1
        elif reason != _NO_MATCH:
            self.failure = _delivery_error(self._subscription, reason)
            return False
        return True


def _queue_error() -> MQError:
    return MQError(mq.MQRC_RETAINED_MSG_Q_ERROR, "SYSTEM.RETAINED.PUB.QUEUE is missing, damaged or get-inhibited.")


def _delivery_error(subscription: Subscription, reason: i64) -> MQError:
    if reason == LOG_FULL or reason == mq.MQRC_RESOURCE_PROBLEM:
        return refusal(reason)
    return MQError(
        mq.MQRC_RETAINED_NOT_DELIVERED,
        f"{subscription.destination} cannot take the retained publication (reason {reason}).",
    )


def _send_one(engine: Engine, subscription: Subscription, node: TopicNode, unit: UnitOfWork) -> i64:
    """Deliver the retained publication of a node. Returns 0, a reason, or _NO_MATCH if there is none to deliver."""
    message = retained.message_at(engine, node)
    return _NO_MATCH if message is None else _send_message(engine, subscription, node, message, unit)


def _send_message(
    engine: Engine, subscription: Subscription, node: TopicNode, message: Message, unit: UnitOfWork
) -> i64:
    """Deliver one retained publication. Returns 0, a reason, or _NO_MATCH if the subscription does not want it."""
    stored = message.md
    selector = subscription.selector
    if selector is not None and not selector.matches(selector_source(stored, message.body, message.properties)):
        return _NO_MATCH
    expiry_ms: i64 = retained.expiry_at(engine, node)
    if expiry_ms != 0:
        left: i64 = (expiry_ms - engine.now_ms) // 100
        stored = patch_i32(stored, EXPIRY_AT, left if left > 0 else 1)
    plan = FanOutPlan(stored, message.properties, message.body)
    reason: i64 = plan_copy(engine, plan, subscription, True)
    if reason != 0 and plan_dead_letter(engine, plan, subscription, engine.topics.settings_at(node), reason):
        reason = 0
    if reason == 0:
        reason = check_capacity(engine, plan, _NO_LIMIT)
    if reason == 0:
        queue = subscription.queue
        is_shared: bool = queue is not None and queue.is_shared
        deliver_plan(engine, plan, None, None if is_shared else unit)
        if plan.shared is not None:
            plan.shared.commit_put(PutOutcome())
    return reason
