"""The intra-group queuing agent (IGQ agent): delivers what other members have put for this queue manager.

Such messages are on SYSTEM.QSG.TRANSMIT.QUEUE, a shared queue, with a correlation identifier that names the target. The
agent gets its own in units of work of up to _BATCH_MESSAGES, puts them to their target queues as a receiving MCA does,
and commits. A message that cannot be put is dead-lettered in the same unit; if that fails, a non-persistent one is
discarded, and for a persistent one the unit is backed out and the agent retries later.

    IGQAUT     user whose authority is checked          alternate user
    DEF        of the descriptor on the queue           -
    CTX        of the descriptor on the queue           of the message itself
    ONLYIGQ    IGQUSER                                  -
    ALTIGQ     IGQUSER                                  of the message itself
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Final, final

from librt.strings import read_i32_le
from mypy_extensions import i64, mypyc_attr

from ostler.channel.dead_letter import DISCARDED
from ostler.channel.delivery import InboundDelivery, queue_of
from ostler.channel.retrying import RetryCounter
from ostler.engine import get as getting
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.events.reports import field_text
from ostler.engine.handle import Handle
from ostler.engine.message.message import CONTEXT_AT, EXPIRY_AT, NULL_ID
from ostler.engine.open import OpenRequest, open_object
from ostler.engine.outcomes import PutOutcome, UnitOutcome
from ostler.engine.queue.get_request import GetRequest
from ostler.engine.queue.transmission import IGQ_QUEUE, igq_correlation_id
from ostler.engine.syncpoint import back_out_unit, commit_work
from ostler.engine.unit_of_work import ACTIVE, UnitOfWork
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.definitions import Definition, new_definition
from ostler.model.errors import MQError
from ostler.model.reasons import describe
from ostler.wire.frames import MESSAGE_BYTES_MAX

# States of the agent.
STOPPED: Final = 0
WAITING: Final = 1  # until the queue can be used
GETTING: Final = 2
PUTTING: Final = 3
COMMITTING: Final = 4

_BATCH_MESSAGES: Final = 50
_USERS_MAX: Final = 32
_POLL_MS: Final = 1_000
_SHORT_RETRIES: Final = 10
_SHORT_SECONDS: Final = 60
_LONG_RETRIES: Final = 999_999_999
_LONG_SECONDS: Final = 1200
_MESSAGE_BYTES_MAX: Final = MESSAGE_BYTES_MAX + 65_536
_GET: Final = mq.MQGMO_SYNCPOINT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_PROPERTIES_FORCE_MQRFH2
_USER_BYTES: Final = 12
# The queue is not there yet, or the coupling facility is not: operators hear of that elsewhere.
_SILENT_REASONS: Final = (
    mq.MQRC_UNKNOWN_OBJECT_NAME,
    mq.MQRC_CF_NOT_AVAILABLE,
    mq.MQRC_CF_STRUC_ERROR,
    mq.MQRC_CF_STRUC_FAILED,
    mq.MQRC_CF_STRUC_IN_USE,
    mq.MQRC_BACKED_OUT,
    mq.MQRC_OBJECT_CHANGED,
    mq.MQRC_Q_DELETED,
)
_LOST_REASONS: Final = (mq.MQRC_BACKED_OUT, mq.MQRC_CF_NOT_AVAILABLE)


@mypyc_attr(allow_interpreted_subclasses=True)
class IntraGroupPort(metaclass=ABCMeta):
    """The queue manager's services for its IGQ agent."""

    @abstractmethod
    def connect(self, user: str) -> Connection:
        """Return a connection of a user, or of the queue manager itself if `user` is empty."""

    @abstractmethod
    def release(self, connection: Connection) -> None:
        """End a connection."""

    @abstractmethod
    def set_timer(self, milliseconds: i64) -> None:
        """Have `on_timer` called after this time. A later call replaces an earlier one."""

    @abstractmethod
    def note(self, text: str) -> None:
        """Write an operator message."""


@final
class IntraGroupAgent:
    """The owner calls `begin`, `pump` when `waker` was woken, `on_timer`, and `stop`."""

    def __init__(self, engine: Engine, port: IntraGroupPort) -> None:
        self.engine = engine
        self.port = port
        self.waker: object = None
        self.state: i64 = STOPPED
        self.delivered: i64 = 0  # messages that were put, or dead-lettered
        self._connection: Connection | None = None
        self._handle: Handle | None = None
        self._request: GetRequest | None = None
        self._unit: UnitOfWork | None = None
        self._messages: i64 = 0  # in the unit
        self._outcome: PutOutcome | None = None
        self._dead_reason: i64 = 0
        self._delivery: InboundDelivery | None = None
        self._commit: UnitOutcome | None = None
        self._deliveries: dict[str, InboundDelivery] = {}  # by user and kind of authority
        self._definition: Definition = new_definition(
            ObjectType.CHANNEL, "IGQ.AGENT", {"CHLTYPE": mq.MQCHT_RECEIVER, "NPMSPEED": mq.MQNPMS_FAST}
        )
        self._retries = _new_retries()

    # -- life ----------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Open the queue, now or later."""
        if self.state != STOPPED and self.state != WAITING:
            return
        self.state = WAITING
        try:
            connection = self.port.connect("")
            self._connection = connection
            queue = self.engine.queues.get(IGQ_QUEUE)
            if queue is None or not queue.is_shared:
                raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME)
            options: i64 = mq.MQOO_INPUT_SHARED | mq.MQOO_FAIL_IF_QUIESCING
            self._handle = open_object(self.engine, connection, OpenRequest(mq.MQOT_Q, IGQ_QUEUE, options))
        except MQError as error:
            self._fail(error.reason)
            return
        self._get()

    def stop(self) -> None:
        """End: uncommitted work is backed out."""
        self._disconnect()
        self.state = STOPPED

    def on_timer(self) -> None:
        if self.state == WAITING:
            self.begin()

    def _disconnect(self) -> None:
        request = self._request
        self._request = None
        if request is not None and not request.done:
            request.waker = None
            getting.cancel(self.engine, request, mq.MQRC_NO_MSG_AVAILABLE)
        unit = self._unit
        connection = self._connection
        if unit is None and connection is not None:
            unit = connection.unit_of_work
        self._unit = None
        self._messages = 0
        self._outcome = None
        self._commit = None
        self._handle = None
        self._connection = None
        if connection is not None:
            connection.unit_of_work = None
        if unit is not None and unit.state == ACTIVE:
            back_out_unit(self.engine, unit)
        for delivery in self._deliveries.values():
            delivery.close()
            self.port.release(delivery.connection)
        self._deliveries = {}
        if connection is not None:
            self.port.release(connection)

    def _fail(self, reason: i64, is_target: bool = False) -> None:
        """Back out, and try again later. `is_target`: neither the target nor a dead-letter queue takes a message."""
        self._disconnect()
        self.state = WAITING
        if reason in _SILENT_REASONS and (not is_target or reason in _LOST_REASONS):
            self.port.set_timer(_POLL_MS)
            return
        seconds: i64 = self._retries.next_seconds()
        why = f"{describe(reason).name} ({reason})"
        self.port.note(
            f"AMQ7570E: The intra-group queuing agent cannot deliver a message of {IGQ_QUEUE}: {why}. It retries in "
            f"{seconds} seconds; see to the target queue, or to DEADQ of {self.engine.name}."
        )
        self.port.set_timer(seconds * 1000)

    # -- messages ------------------------------------------------------------------------------------------------------

    def pump(self) -> None:
        """Go on with what the engine or the coupling facility has answered."""
        if self.state == GETTING:
            self._on_got()
        elif self.state == PUTTING:
            self._on_put()
        elif self.state == COMMITTING:
            self._on_committed()

    def _get(self) -> None:
        """Get the next message of this queue manager. Only the first one of a unit is waited for."""
        self.state = GETTING
        connection = self._connection
        handle = self._handle
        assert connection is not None
        assert handle is not None
        options: i64 = _GET if self._messages > 0 else _GET | mq.MQGMO_WAIT
        own = igq_correlation_id(self.engine.name)
        match: i64 = mq.MQMO_MATCH_CORREL_ID
        request = getting.new_request(connection, handle, options, match, NULL_ID, own, _MESSAGE_BYTES_MAX)
        request.wait_ms = -1 if self._messages == 0 else 0
        request.may_pause = True
        request.waker = self.waker
        self._request = request
        if getting.get(self.engine, request):
            self._on_got()

    def _on_got(self) -> None:
        request = self._request
        connection = self._connection
        if request is None or connection is None or not request.done:
            return
        self._request = None
        self._unit = connection.unit_of_work
        if request.reason == mq.MQRC_NO_MSG_AVAILABLE:
            if self._messages > 0:
                self._begin_commit()
            else:
                self._get()
        elif request.reason == mq.MQRC_SYNCPOINT_LIMIT_REACHED and self._messages > 0:
            self._begin_commit()
        elif request.reason != 0:
            self._fail(request.reason)
        else:
            self._put(request)

    def _put(self, request: GetRequest) -> None:
        self._messages += 1
        delivery = self._delivery_for(request.md)
        self._delivery = delivery
        self._request = request  # until it is put
        self._dead_reason = 0
        expiry: i64 = i64(read_i32_le(request.md, EXPIRY_AT))
        self.state = PUTTING
        self._outcome = delivery.put(request.body, expiry, self._unit)
        self._await_put()

    def _await_put(self) -> None:
        outcome = self._outcome
        if outcome is not None and outcome.task is not None and not outcome.task.is_done:
            self.engine.notify_when_done(outcome.task, self.waker)
        else:
            self._on_put()

    def _on_put(self) -> None:
        outcome = self._outcome
        request = self._request
        if outcome is None or request is None or (outcome.task is not None and not outcome.task.is_done):
            return
        unit = self._unit
        if unit is None or unit.state != ACTIVE:
            self._fail(mq.MQRC_BACKED_OUT)
        elif outcome.reason == 0 or not outcome.has_failed():
            if self._dead_reason != 0:
                self._note_dead_letter(request)
            self._request = None
            self._outcome = None
            self.delivered += 1
            if self._messages >= _BATCH_MESSAGES:
                self._begin_commit()
            else:
                self._get()
        elif self._dead_reason != 0:
            self._fail(outcome.reason, True)
        else:
            self._dead_letter(request, outcome.reason)

    def _dead_letter(self, request: GetRequest, reason: i64) -> None:
        delivery = self._delivery
        assert delivery is not None
        expiry: i64 = i64(read_i32_le(request.md, EXPIRY_AT))
        self._dead_reason = reason
        failed: i64 = delivery.dead_letter(request.body, expiry, reason, self._unit)
        if failed != 0:
            self._fail(failed, True)
            return
        outcome = delivery.dead_letter_outcome
        self._outcome = outcome if outcome is not None else PutOutcome()
        self._await_put()

    def _note_dead_letter(self, request: GetRequest) -> None:
        why = f"{describe(self._dead_reason).name} ({self._dead_reason})"
        delivery = self._delivery
        is_discarded: bool = delivery is not None and delivery.disposal == DISCARDED
        what = "discarded it" if is_discarded else f"put it on {self.engine.dead_letter_queue}"
        queue = queue_of(request.body)
        self.port.note(
            f"AMQ7571W: The intra-group queuing agent could not put a message on queue {queue}: {why}. It has {what}."
        )

    def _begin_commit(self) -> None:
        unit = self._unit
        connection = self._connection
        assert unit is not None
        assert connection is not None
        connection.unit_of_work = None
        self._messages = 0
        if unit.state != ACTIVE:
            self._fail(mq.MQRC_BACKED_OUT)
            return
        self.state = COMMITTING
        self._commit = commit_work(self.engine, unit)
        task = self._commit.task
        if task is not None and not task.is_done:
            self.engine.notify_when_done(task, self.waker)
        else:
            self._on_committed()

    def _on_committed(self) -> None:
        outcome = self._commit
        if outcome is None or (outcome.task is not None and not outcome.task.is_done):
            return
        self._commit = None
        self._unit = None
        if outcome.reason != 0:
            self._fail(mq.MQRC_CF_NOT_AVAILABLE)
            return
        self._retries = _new_retries()
        self._get()

    # -- authority -----------------------------------------------------------------------------------------------------

    def _delivery_for(self, md: bytes) -> InboundDelivery:
        """Return what puts a message with the authority that IGQAUT asks for."""
        attributes = self.engine.manager.attributes
        kind = attributes.get("IGQAUT", mq.MQIGQPA_DEFAULT)
        igq_user = attributes.get("IGQUSER", "")
        user = igq_user.strip() if isinstance(igq_user, str) else ""
        if kind == mq.MQIGQPA_DEFAULT or kind == mq.MQIGQPA_CONTEXT:
            user = field_text(md[CONTEXT_AT : CONTEXT_AT + _USER_BYTES])
        by_context: bool = kind == mq.MQIGQPA_CONTEXT or kind == mq.MQIGQPA_ALTERNATE_OR_IGQ
        key = f"{kind} {user}"
        found = self._deliveries.get(key)
        if found is None:
            if len(self._deliveries) >= _USERS_MAX:
                oldest = self._deliveries.pop(next(iter(self._deliveries)))
                oldest.close()
                self.port.release(oldest.connection)
            found = InboundDelivery(self.engine, self.port.connect(user), self._definition)
            found.by_context = by_context
            self._deliveries[key] = found
        return found


def _new_retries() -> RetryCounter:
    return RetryCounter(_SHORT_RETRIES, _SHORT_SECONDS, _LONG_RETRIES, _LONG_SECONDS)
