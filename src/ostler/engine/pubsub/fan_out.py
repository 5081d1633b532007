"""Fan-out planning: selects the subscriptions that get a copy of a publication and builds the copies.

Nothing is changed while planning, so that a publish can still fail as a whole: the plan itself counts the copies for a
queue that is nearly full. NPMSGDLV and PMSGDLV of the topic decide whether an undeliverable copy makes it fail.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter, read_i32_le, write_i32_le
from mypy_extensions import i32, i64

from ostler.engine.core import JOURNAL_MARGIN_BYTES, LOG_FULL, Engine
from ostler.engine.events.reports import DEAD_LETTER_BYTES
from ostler.engine.message.message import (
    BACKOUT_COUNT_AT,
    CONTEXT_AT,
    CORRELATION_ID_AT,
    MD_BYTES,
    MESSAGE_ID_AT,
    PERSISTENCE_AT,
    PRIORITY_AT,
)
from ostler.engine.properties.property_control import selector_source
from ostler.engine.properties.property_values import PropertySource
from ostler.engine.pubsub import publication_headers, subscription_definitions
from ostler.engine.pubsub.publication_properties import copy_block, without_additions
from ostler.engine.pubsub.publish_record import COPY_BYTES, IDENTITY_BYTES, Copy
from ostler.engine.pubsub.subscription import Subscription
from ostler.engine.pubsub.topic_settings import TopicSettings
from ostler.engine.queue.delivery import check_admission
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.transmission import HEADERS_BYTES
from ostler.engine.recovery.checkpoint_reserve import MESSAGE_BYTES, QUEUE_BYTES
from ostler.engine.recovery.checkpoint_space import has_checkpoint_space, refuse_full_disk
from ostler.engine.selectors.selector import Selector
from ostler.engine.unit_of_work import SharedPart
from ostler.model import constants as mq

_IDENTITY_END: Final = CONTEXT_AT + IDENTITY_BYTES
_RECORD_BYTES: Final = COPY_BYTES + IDENTITY_BYTES


@final
class DescriptorTemplate:
    """Builds the descriptors of copies from that of the publication. Parts that copies share are sliced once."""

    def __init__(self, md: bytes) -> None:
        self.md = md
        self.published_priority: i64 = i64(read_i32_le(md, PRIORITY_AT))
        self.correlation_id: bytes = md[CORRELATION_ID_AT:BACKOUT_COUNT_AT]
        self._priority: i64 = -1
        self._persistence: i64 = -1
        self._identity: bytes = b""
        self._before: bytes = b""  # the bytes in front of the identifiers
        self._behind: bytes = b""  # the bytes behind them

    def descriptor(self, engine: Engine, subscription: Subscription, queue: Queue, persistence: i64) -> bytes:
        """Return the descriptor of a copy: a new message identifier, priority and context of the subscription."""
        priority: i64 = subscription.priority
        if priority == mq.MQPRI_PRIORITY_AS_PUBLISHED:
            priority = self.published_priority
        elif priority < 0:
            priority = queue.default_priority
        if priority != self._priority or persistence != self._persistence:
            self._priority = priority
            self._persistence = persistence
            front = BytesWriter()
            front.write(self.md[:PRIORITY_AT])
            write_i32_le(front, i32(priority))
            write_i32_le(front, i32(persistence))
            front.write(self.md[PERSISTENCE_AT + 4 : MESSAGE_ID_AT])
            self._before = front.getvalue()
        identity = subscription.identity
        if identity is not self._identity and identity != self._identity:
            self._behind = self.md[BACKOUT_COUNT_AT:CONTEXT_AT] + identity + self.md[_IDENTITY_END:]
        self._identity = identity
        writer = BytesWriter()
        writer.write(self._before)
        engine.write_id(writer)
        writer.write(self.correlation_id if subscription.passes_correlation else subscription.correlation_id)
        writer.write(self._behind)
        return writer.getvalue()


@final
class SeparateCopy:
    """A copy with a log record of its own: its data differs, or it goes to a remote queue or the dead-letter queue."""

    def __init__(
        self, subscription: Subscription, queue: Queue | None, md: bytes, properties: bytes, body: bytes
    ) -> None:
        self.subscription = subscription
        self.queue = queue
        self.md = md
        self.properties = properties
        self.body = body
        self.reason: i64 = 0  # why it goes to the dead-letter queue; 0 otherwise


@final
class FanOutPlan:
    """The copies to make of one publication. Nothing has been put yet."""

    def __init__(self, stored: bytes, block: bytes, body: bytes) -> None:
        self.stored = stored
        self.block = block
        self.body = body
        self.is_persistent: bool = read_i32_le(stored, PERSISTENCE_AT) == 1
        self.template = DescriptorTemplate(stored)
        self.copies: list[Copy] = []
        self.recipients: list[Subscription] = []  # the subscriptions of `copies`, in the same order
        self.separate: list[SeparateCopy] = []
        self.matched: i64 = 0
        self.reason: i64 = 0
        self.own_bytes: i64 = 0  # properties and data that copies do not share with the publication
        self.dead_letter_queue: Queue | None = None  # of copies that go there
        self.shared: SharedPart | None = None  # of the unit that the copies are in, which is to be committed
        self._counts: dict[int, int] | None = None  # of planned copies by queue id, once a queue is nearly full
        self._source: PropertySource | None = None
        self._answers: dict[str, bool] | None = None  # results of selectors, by selector text

    def is_selected(self, engine: Engine, selector: Selector) -> bool:
        """Return whether a selector matches the publication. Each distinct selector is evaluated once."""
        source = self._source
        answers = self._answers
        if source is None or answers is None:
            source = selector_source(self.stored, self.body, self.block)
            answers = {}
            self._source = source
            self._answers = answers
        known = answers.get(selector.text)
        if known is None:
            engine.share_left -= selector.cost
            known = selector.matches(source)
            answers[selector.text] = known
        return known

    def has_room(self, queue: Queue) -> bool:
        """Return whether a queue takes one more copy, after those that are planned for it already."""
        if queue.depth + len(self.copies) + len(self.separate) < queue.depth_max:
            return True  # even if all of them were planned for this queue
        counts = self._counts
        if counts is None:
            counts = self._count_copies()
            self._counts = counts
        return queue.depth + counts.get(queue.queue_id, 0) < queue.depth_max

    def _count_copies(self) -> dict[int, int]:
        counts: dict[int, int] = {}
        for copy in self.copies:
            counts[copy.queue.queue_id] = counts.get(copy.queue.queue_id, 0) + 1
        for item in self.separate:
            queue = item.queue if item.queue is not None else self.dead_letter_queue
            if queue is not None:
                counts[queue.queue_id] = counts.get(queue.queue_id, 0) + 1
        return counts

    def add_copy(self, copy: Copy, subscription: Subscription) -> None:
        """Plan a copy that shares the log record of the publication."""
        self.copies.append(copy)
        self.recipients.append(subscription)
        if copy.properties is not self.block:
            self.own_bytes += len(copy.properties)
        self._count(copy.queue)

    def add_separate(self, item: SeparateCopy, queue: Queue, size_bytes: i64) -> None:
        """Plan a copy with a log record of its own. `size_bytes` are its properties and data."""
        self.separate.append(item)
        self.own_bytes += size_bytes
        self._count(queue)

    def _count(self, queue: Queue) -> None:
        counts = self._counts
        if counts is not None:
            counts[queue.queue_id] = counts.get(queue.queue_id, 0) + 1


def highest_level(found: list[Subscription], highest: i64) -> i64:
    """Return the highest SUBLEVEL not above `highest` among the subscriptions; only that level gets the publication."""
    level: i64 = -1
    for subscription in found:
        if level < subscription.level <= highest:
            level = subscription.level
    return level


def plan_copies(
    engine: Engine,
    plan: FanOutPlan,
    found: list[Subscription],
    settings: TopicSettings,
    options: i64,
    connection: i64,
    publish_level: i64,
) -> None:
    """Plan a copy for each subscription that gets one. Sets `plan.reason` when the publish must fail."""
    level: i64 = highest_level(found, publish_level)
    groups: set[bytes] | None = None
    is_not_for_own: bool = options & mq.MQPMO_NOT_OWN_SUBS != 0
    for subscription in found:
        if subscription.level != level or subscription.is_on_request:
            continue
        if is_not_for_own and subscription.connection == connection:
            continue
        if 0 < subscription.ends_ms <= engine.now_ms:
            continue
        selector = subscription.selector
        if selector is not None and not plan.is_selected(engine, selector):
            continue
        if subscription.is_grouped:
            group = subscription.destination.encode() + b"/" + subscription.correlation_id
            if groups is None:
                groups = set()
            if group in groups:
                continue
            groups.add(group)
        plan.matched += 1
        reason: i64 = plan_copy(engine, plan, subscription, False)
        if reason == 0 or plan_dead_letter(engine, plan, subscription, settings, reason):
            continue
        is_short: bool = _lacks_resources(reason)
        if is_short or settings.requires_delivery(plan.is_persistent, subscription.is_durable):
            plan.reason = reason if is_short else mq.MQRC_PUBLICATION_FAILURE
            return


def _lacks_resources(reason: i64) -> bool:
    """Return True for a reason that has nothing to do with the subscription: the publish fails as a whole."""
    return reason == LOG_FULL or reason == mq.MQRC_RESOURCE_PROBLEM


def plan_copy(engine: Engine, plan: FanOutPlan, subscription: Subscription, is_retained: bool) -> i64:
    """Plan the copy for one subscription. Returns 0, or the reason why it cannot be delivered."""
    reason: i64 = subscription_definitions.resolve_destination(engine, subscription)
    queue = subscription.queue
    if reason != 0 or queue is None:
        return reason
    if not queue.put_allowed:
        return mq.MQRC_PUT_INHIBITED
    is_remote: bool = subscription.remote_manager != ""
    reason = check_admission(engine, queue, len(plan.body) + (HEADERS_BYTES if is_remote else 0), False)
    if reason != 0:
        return reason
    if not plan.has_room(queue) and not queue.is_shared:
        return mq.MQRC_Q_FULL
    # A temporary dynamic queue does not survive a restart, so its messages are never persistent.
    persistence: i64 = 1 if plan.is_persistent and not queue.is_temporary else 0
    md = plan.template.descriptor(engine, subscription, queue, persistence)
    own = plan.block
    style: i64 = subscription.property_style
    if style != mq.MQPSPROP_MSGPROP:
        own = without_additions(own)
    elif subscription.user_data or is_retained:
        own = copy_block(own, subscription.user_data, is_retained)
    if style > mq.MQPSPROP_NONE and style != mq.MQPSPROP_MSGPROP:
        md, body = publication_headers.with_header(md, plan.body, plan.block, subscription, is_retained)
        plan.add_separate(SeparateCopy(subscription, queue, md, own, body), queue, len(own) + len(body))
    elif is_remote or queue.is_shared:
        plan.add_separate(SeparateCopy(subscription, queue, md, own, plan.body), queue, len(own) + len(plan.body))
    else:
        plan.add_copy(Copy(queue, md, own), subscription)
    return 0


def plan_dead_letter(
    engine: Engine, plan: FanOutPlan, subscription: Subscription, settings: TopicSettings, reason: i64
) -> bool:
    """Plan an undeliverable copy for the dead-letter queue.

    Returns False if that queue cannot take it, or USEDLQ(NO) applies.
    """
    queue = engine.queues.get(engine.dead_letter_queue)
    if queue is None or not settings.uses_dead_letters or _lacks_resources(reason):
        return False
    if queue is subscription.queue or queue.is_temporary or not queue.put_allowed:
        return False
    size: i64 = len(plan.body) + DEAD_LETTER_BYTES
    if not plan.has_room(queue) or check_admission(engine, queue, size, False) != 0:
        return False
    md = plan.template.descriptor(engine, subscription, queue, 1 if plan.is_persistent else 0)
    item = SeparateCopy(subscription, None, md, plan.block, plan.body)
    item.reason = reason
    plan.dead_letter_queue = queue
    plan.add_separate(item, queue, size + len(plan.block))
    return True


def check_capacity(engine: Engine, plan: FanOutPlan, unit_entries: i64) -> i64:
    """Check that the log, the disk and the unit of work have room for the plan. Returns 0 or a reason.

    `unit_entries` is the number of entries the unit of work has already; -1 for no unit of work.
    """
    count: i64 = len(plan.copies) + len(plan.separate)
    if unit_entries >= 0 and unit_entries + count + 1 > engine.uncommitted_max:
        return mq.MQRC_SYNCPOINT_LIMIT_REACHED
    if plan.is_persistent:
        records: i64 = 1 + len(plan.separate)
        needed: i64 = len(plan.body) + records * JOURNAL_MARGIN_BYTES + count * _RECORD_BYTES + plan.own_bytes
        if engine.lacks_log_space(needed):
            return LOG_FULL
        if not has_checkpoint_space(engine, _file_bytes(plan, count)):
            return refuse_full_disk(engine)
    return 0


def _file_bytes(plan: FanOutPlan, count: i64) -> i64:
    """Return the bytes of the copies in queue files, where each copy has a body of its own."""
    total: i64 = count * (len(plan.body) + len(plan.block) + MD_BYTES + MESSAGE_BYTES) + plan.own_bytes
    for copy in plan.copies:
        if not copy.queue.changed:
            total += QUEUE_BYTES
    return total
