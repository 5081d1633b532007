"""Sending channels of the queue-sharing group: CHLDISP(SHARED) and CHLDISP(FIXSHARED).

One member runs such a channel: the one that has its lock, from the start until the channel ends, also while it retries.
The members look about once a second for channels that are to run and have no lock: those of a member that has failed,
once it is recovered, or that has ended. The first one that gets the lock goes on.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, final

from ostler.channel import sync_records
from ostler.channel.group.group_record import group_sync_queue
from ostler.channel.group.group_sender import (
    LOCK_PREFIX,
    DesiredStateReader,
    GroupSenderPosition,
    PositionListener,
    StartedBy,
    StateListener,
    decode_holder,
)
from ostler.channel.negotiation import number_of, text_of
from ostler.channel.positions import UNAVAILABLE, WAITING
from ostler.channel.states import INACTIVE, STOPPED
from ostler.channel.sync_records import DesiredState, SyncRecords, batches_in_doubt
from ostler.command.admin.context import CommandRefused
from ostler.engine.core import Engine
from ostler.engine.shared.membership import Membership
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, subtype_of
from ostler.model.coupling.answers import Answer, LocksAnswer
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import LocksProgram
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.server.channels.instance import SENDER_TYPES, ChannelInstance, RetryTimer
from ostler.server.net.reactor import Reactor

if TYPE_CHECKING:
    from collections.abc import Callable

LOOK_MS: Final = 1_000
_YIELD_LOOKS: Final = 5  # after a start that another member has to make
_WORDS: Final = {mq.MQCHLD_PRIVATE: "PRIVATE", mq.MQCHLD_SHARED: "SHARED", mq.MQCHLD_FIXSHARED: "FIXSHARED"}


class GroupChannelHost(Protocol):
    """The parts of ChannelService that run channels of the group."""

    outbound_instances: dict[str, ChannelInstance]

    @property
    def engine(self) -> Engine: ...
    @property
    def reactor(self) -> Reactor: ...
    @property
    def records(self) -> SyncRecords: ...
    @property
    def is_ending(self) -> bool: ...

    def start(self, name: str, disposition: str = "", by: StartedBy = StartedBy.OPERATOR) -> None: ...
    def on_located(self, instance: ChannelInstance) -> None: ...
    def note_channel(self, text: str) -> None: ...


def default_disposition(definition: Definition) -> str:
    """Return DEFCDISP of a channel as a word."""
    return _WORDS.get(number_of(definition, "DEFCDISP", mq.MQCHLD_PRIVATE), "PRIVATE")


class GroupChannels(StateListener):
    """All calls are made on the reactor's thread, under the engine's lock."""

    def __init__(self, channels: GroupChannelHost) -> None:
        self._channels = channels
        self._engine = channels.engine
        self.desired: dict[str, DesiredState] = {}  # of channels without a lock, as they were seen last
        self._yields: dict[str, int] = {}  # looks to pass by, by channel
        self._is_looking = False

    # -- one instance --------------------------------------------------------------------------------------------------

    def choose(self, instance: ChannelInstance, disposition: str, by: StartedBy) -> None:
        """Set the disposition of a channel that starts. CommandRefused if it cannot be that of the group."""
        instance.disposition = disposition or default_disposition(instance.definition)
        instance.started_by = by
        if not instance.is_group or instance.kind not in SENDER_TYPES:
            instance.disposition = "PRIVATE"
            return
        sharing = self._engine.sharing
        name = text_of(instance.definition, "XMITQ")
        queue = self._engine.queues.get(name)
        word = instance.disposition
        if sharing is None:
            raise CommandRefused("AMQ8101E", f"CHLDISP({word}) needs a queue-sharing group.")
        if queue is None or not queue.is_shared:
            text = f"Channel {instance.name} with CHLDISP({word}) needs a shared transmission queue, and {name} is not."
            raise CommandRefused("AMQ8101E", text)
        instance.position = self.new_position(sharing, instance.name, word)

    def new_position(self, sharing: Membership, channel: str, disposition: str) -> GroupSenderPosition:
        return GroupSenderPosition(self._engine, sharing.group, channel, disposition)

    def begin(self, instance: ChannelInstance) -> None:
        """Begin to find the position of a channel of the group that starts or tries again."""
        position = instance.position
        if position is not None:
            position.listener = InstanceLocated(self, instance)
            position.open(instance.started_by)

    def replace(self, before: ChannelInstance, instance: ChannelInstance) -> None:
        """Let a new instance have the lock of one that retries, or free that."""
        if instance.position is None:
            self.release(before, DesiredState.NONE)
        before.position = None

    def on_position_changed(self, instance: ChannelInstance, position: GroupSenderPosition) -> None:
        if instance.position is not position or position.state() == WAITING:
            return
        position.listener = None  # from now on the sending end looks at it
        if not position.failure and instance.disposition == "SHARED":
            self._set(position, DesiredState.ACTIVE)
        elif not position.failure:
            self._set(position, DesiredState.NONE)
        instance.location = position.failure
        instance.is_elsewhere = position.is_elsewhere
        # Not from within a call of the service.
        self._channels.reactor.post(partial(self._channels.on_located, instance))

    def _set(self, position: GroupSenderPosition, state: DesiredState) -> None:
        try:
            position.set_desired(state)
        except MQError as error:
            self._channels.note_channel(
                f"AMQ9509E: The state of channel {position.channel} could not be saved: {error.detail or error}"
            )

    def has_lost(self, instance: ChannelInstance) -> bool:
        """Return True if the position of a channel is not to be had here now."""
        position = instance.position
        if position is None or position.state() != UNAVAILABLE:
            return False
        self._yields[instance.name] = _YIELD_LOOKS if "in doubt" in position.failure else 1
        return True

    def release(self, instance: ChannelInstance, desired: DesiredState | None) -> None:
        """Let other members have a channel that has ended here."""
        position, instance.position = instance.position, None
        if position is None:
            return
        if instance.location is None:
            instance.location = position.failure or "it has ended"
        if desired is not None and instance.disposition == "SHARED":
            self.desired[instance.name] = desired
        elif desired is not None:
            desired = DesiredState.NONE  # the state of FIXSHARED is that of its member
        position.listener = None
        position.release(desired)
        if instance.disposition == "SHARED" and instance.state == STOPPED:
            instance.state = INACTIVE  # the group keeps it stopped, wherever it is started next

    # -- looking -------------------------------------------------------------------------------------------------------

    def begin_looking(self) -> None:
        """Look for channels to start, now and then."""
        if self._engine.sharing is not None:
            self._schedule()

    def _schedule(self) -> None:
        reactor = self._channels.reactor
        reactor.wheel.add(RetryTimer(self._due), reactor.now_ms + LOOK_MS)

    def _due(self) -> None:
        if not self._channels.is_ending:
            self.look()
            self._schedule()

    def _candidates(self) -> list[str]:
        found: list[str] = []
        for definition in self._engine.of_type(ObjectType.CHANNEL).values():
            queue = self._engine.queues.get(text_of(definition, "XMITQ"))
            if queue is None or not queue.is_shared:
                continue
            if subtype_of(ObjectType.CHANNEL, definition.attributes) in SENDER_TYPES:
                found.append(definition.name)
        return found

    def look(self) -> None:
        """Ask which channels have a lock; then read the desired states of the others."""
        sharing = self._engine.sharing
        if self._is_looking or sharing is None or not sharing.is_joined or sharing.is_unsettled:
            return
        try:
            queue = group_sync_queue(self._engine)
        except MQError:
            return
        names = [each for each in self._candidates() if self._is_idle(each)]
        if not names or sharing.reason(queue.structure) != 0:
            return
        self._is_looking = True
        sharing.submit(LocksProgram(LOCK_PREFIX), 0, LocksListed(partial(self._on_locks, names)))

    def _is_idle(self, name: str) -> bool:
        left = self._yields.pop(name, 0)
        if left > 1:
            self._yields[name] = left - 1
        instance = self._channels.outbound_instances.get(name)
        return left <= 1 and (instance is None or instance.state == INACTIVE)

    def _on_locks(self, names: list[str], answer: Answer) -> None:
        self._is_looking = False
        if not isinstance(answer, LocksAnswer):
            return
        locked = {each.name.removeprefix(LOCK_PREFIX) for each in answer.locks}
        for name in names:
            if name in locked:
                self.desired.pop(name, None)
                continue
            own = self._channels.records.find(sync_records.DESIRED_STATE, name).desired_state
            if own is DesiredState.FIXED:
                self._start(name, "FIXSHARED", StartedBy.OPERATOR)
                continue
            try:
                DesiredStateReader(name, self).begin(self._engine)
            except MQError:
                return

    def on_state_seen(self, channel: str, state: DesiredState) -> None:
        """Start a channel that is to run in the group, or has left a batch in doubt here."""
        self.desired[channel] = state
        instance = self._channels.outbound_instances.get(channel)
        is_in_doubt = state is DesiredState.NONE and bool(batches_in_doubt(self._engine, channel, True))
        if instance is not None and instance.state != INACTIVE:
            return
        if state is DesiredState.ACTIVE or is_in_doubt:
            self._start(channel, "SHARED", StartedBy.OPERATOR if is_in_doubt else StartedBy.PEER)

    def _start(self, name: str, disposition: str, by: StartedBy) -> None:
        if self._channels.is_ending:
            return
        try:
            self._channels.start(name, disposition, by)
        except (CommandRefused, MQError) as error:
            self._yields[name] = _YIELD_LOOKS
            self._channels.note_channel(f"AMQ9519E: Channel {name} could not be started for the group: {error}")


@final
class InstanceLocated(PositionListener):
    def __init__(self, groups: GroupChannels, instance: ChannelInstance) -> None:
        self._groups = groups
        self._instance = instance

    def on_position_changed(self, position: GroupSenderPosition) -> None:
        self._groups.on_position_changed(self._instance, position)


class LocksListed(Continuation):
    def __init__(self, done: Callable[[Answer], None]) -> None:
        self._done = done

    def answered(self, answer: Answer) -> None:
        self._done(answer)


def holder_in(answer: Answer, channel: str) -> tuple[str, str]:
    """Return the queue manager that has the lock of a channel, and its disposition; empty: none."""
    if isinstance(answer, LocksAnswer):
        for each in answer.locks:
            if each.name == LOCK_PREFIX + channel:
                return decode_holder(each.value)
    return "", ""
