"""Channel capacity: counts channels against MaxChannels and MaxActiveChannels, and queues those that have to wait.

Runs on the reactor's thread and under the engine's lock. The rules are in `limits.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import chain
from typing import Final, Protocol

from ostler.channel.negotiation import number_of, text_of
from ostler.channel.states import INACTIVE, STARTING, STOPPED
from ostler.command.admin.context import CommandRefused
from ostler.engine.core import Engine
from ostler.engine.events import channel_events
from ostler.engine.queue.delivery import send_own_messages
from ostler.model import constants as mq
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.server.channels.host import ChannelHost
from ostler.server.channels.instance import ChannelInstance
from ostler.server.channels.limits import (
    ChannelCounts,
    ChannelLimits,
    LimitReached,
    McaAdoption,
    check_instance_limits,
    count_channels,
)
from ostler.server.channels.settings import ClientInstances
from ostler.server.net.link import ServerLink
from ostler.server.net.link_status import host_of
from ostler.server.net.reactor import Reactor
from ostler.server.queue_manager import QueueManager

_MESSAGE_NUMBER: Final = "AMQ9513E"


class ChannelInstances(Protocol):
    """The channel instances of a queue manager, as ChannelService has them."""

    outbound_instances: dict[str, ChannelInstance]
    inbound_instances: dict[tuple[str, str], ChannelInstance]
    stopped: set[str]
    is_ending: bool

    @property
    def server(self) -> ChannelHost: ...
    @property
    def manager(self) -> QueueManager: ...
    @property
    def engine(self) -> Engine: ...
    @property
    def reactor(self) -> Reactor: ...

    def note_channel(self, text: str) -> None: ...


class ChannelCapacity:
    """Slots for current and active channels, of clients and queue managers together."""

    def __init__(self, channels: ChannelInstances, connect: Callable[[ChannelInstance], None]) -> None:
        """`connect` starts the connection of a channel that has waited for its slot."""
        settings = channels.manager.settings.channels
        self.limits = ChannelLimits(settings.channels_max, settings.active_channels_max)
        self.adoption = McaAdoption(settings.adopt_new_mca, settings.adopt_new_mca_check)
        self._channels = channels
        self._connect = connect
        self._waiting: deque[ChannelInstance] = deque()
        self._is_posted = False

    # -- inbound channels ----------------------------------------------------------------------------------------------

    def check_inbound(self, name: str, link: ServerLink, *leaving: ChannelInstance | None) -> None:
        """MQError if a limit refuses a queue manager that has connected. `leaving` instances end for it."""
        self._require(name, link, self._limit_reached(name, False, leaving))

    def check_client(self, channel: Definition, link: ServerLink, instances: ClientInstances) -> None:
        """MQError if a limit refuses a client that has connected."""
        name, host = channel.name, host_of(link)
        most, most_each = number_of(channel, "MAXINST", 0), number_of(channel, "MAXINSTC", 0)
        of_channel = check_instance_limits(name, host, instances.of(name), most, instances.of(name, host), most_each)
        self._require(name, link, of_channel or self._limit_reached(name, False, ()))

    def _require(self, name: str, link: ServerLink, shortage: LimitReached | None) -> None:
        if shortage is None:
            return
        engine = self._channels.engine
        event = channel_events.on_channel_not_available(engine, shortage.qualifier, name, host_of(link), shortage.most)
        send_own_messages(engine, event, None)
        raise MQError(mq.MQRC_CHANNEL_NOT_AVAILABLE, shortage.text)

    # -- outbound channels ---------------------------------------------------------------------------------------------

    def check_start(self, name: str, kind: str, before: ChannelInstance | None) -> None:
        """CommandRefused if a limit refuses a start. Sending ends may wait until they can be active."""
        shortage = self._limit_reached(name, kind != "RQSTR", (before,))
        if shortage is not None:
            raise CommandRefused(_MESSAGE_NUMBER, shortage.text.removeprefix(f"{_MESSAGE_NUMBER}: "))

    def acquire(self, instance: ChannelInstance) -> bool:
        """Return True if a STARTING channel may become active now. Otherwise it is queued for the next free slot."""
        self._drop_cancelled()
        if not self._waiting and self._has_slot(instance):
            return True
        self._waiting.append(instance)
        self._channels.note_channel(self.limits.waiting_text(instance.name))
        queue, address = _destination(instance)
        engine = self._channels.engine
        event = channel_events.on_channel_not_activated(engine, instance.name, queue, address)
        send_own_messages(engine, event, None)
        self.release()  # a slot may have become free a moment ago
        return False

    def release(self) -> None:
        """Give free slots to waiting channels, after a channel may have ceased to be active."""
        if self._waiting and not self._is_posted:
            self._is_posted = True
            self._channels.reactor.post(self._serve_waiting)

    def _serve_waiting(self) -> None:
        """Start waiting channels in their order while slots are free."""
        self._is_posted = False
        while not self._channels.is_ending:
            self._drop_cancelled()
            if not self._waiting or not self._has_slot(self._waiting[0]):
                return
            instance = self._waiting.popleft()
            queue, address = _destination(instance)
            engine = self._channels.engine
            event = channel_events.on_channel_activated(engine, instance.name, queue, address)
            send_own_messages(engine, event, None)
            self._channels.manager.note(f"AMQ9002I: Channel '{instance.name}' is starting: it may be active now.")
            self._connect(instance)

    def _drop_cancelled(self) -> None:
        """Drop waiting channels that were stopped meanwhile."""
        calling = self._channels.outbound_instances
        gone = [each for each in self._waiting if each.state != STARTING or calling.get(each.name) is not each]
        for instance in gone:
            self._waiting.remove(instance)

    # -- counting ------------------------------------------------------------------------------------------------------

    def _has_slot(self, instance: ChannelInstance) -> bool:
        return self._has_spare_slots() or self.limits.may_be_active(self.channel_counts((instance,)))

    def _limit_reached(
        self, name: str, is_outbound: bool, leaving: tuple[ChannelInstance | None, ...]
    ) -> LimitReached | None:
        return (
            None
            if self._has_spare_slots()
            else self.limits.limit_reached(name, self.channel_counts(leaving), is_outbound)
        )

    def _has_spare_slots(self) -> bool:
        """Return True if one more channel fits even if all known channels were active; this saves the exact count."""
        channels = self._channels
        known = len(channels.outbound_instances) + len(channels.inbound_instances) + len(channels.stopped)
        return channels.server.client_channel_counts().current + known < self.limits.lower

    def channel_counts(self, leaving: tuple[ChannelInstance | None, ...] = ()) -> ChannelCounts:
        """Count all channels except those in `leaving`."""
        channels = self._channels
        there = [
            each
            for each in chain(channels.outbound_instances.values(), channels.inbound_instances.values())
            if each not in leaving
        ]
        names = {each.name for each in there if each.state != INACTIVE}
        stopped = [STOPPED for name in channels.stopped if name not in names]
        return count_channels([*(each.state for each in there), *stopped]).plus(channels.server.client_channel_counts())


def _destination(instance: ChannelInstance) -> tuple[str, str]:
    """Return the transmission queue and the connection name of the definition, since there is no connection."""
    return text_of(instance.definition, "XMITQ"), text_of(instance.definition, "CONNAME")
