"""Places for channels: those that are taken, those who are refused for want of one, and those who wait for one.

On the reactor's thread and under the engine's lock. What is decided, `channel_limits.py` decides.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Final

from ostler.channel.negotiation import number_of, text_of
from ostler.channel.states import INACTIVE, STARTING, STOPPED
from ostler.command.admin.context import CommandRefused
from ostler.engine.events import channel_events
from ostler.engine.queue.delivery import send_own_messages
from ostler.model.constants import MQRC_CHANNEL_NOT_AVAILABLE
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.server.channels.instance import ChannelInstance
from ostler.server.channels.limits import (
    ChannelCounts,
    ChannelLimits,
    LimitReached,
    McaAdoption,
    check_instance_limits,
    count_channels,
)
from ostler.server.channels.settings import ClientInstances, host_of
from ostler.server.net.link import ServerLink

if TYPE_CHECKING:
    from ostler.server.channels.service import ChannelService

_NUMBER: Final = "AMQ9513E"


class ChannelCapacity:
    def __init__(self, channels: ChannelService, call: Callable[[ChannelInstance], None]) -> None:
        """`call` has a channel connect that has waited for its place."""
        settings = channels.manager.settings.channels
        self.limits = ChannelLimits(settings.channels_max, settings.active_channels_max)
        self.adoption = McaAdoption(settings.adopt_new_mca, settings.adopt_new_mca_check)
        self._channels = channels
        self._connect = call
        self._waiting: deque[ChannelInstance] = deque()
        self._is_posted = False

    # -- those who come in ---------------------------------------------------------------------------------------------

    def check_inbound(self, name: str, link: ServerLink, *leaving: ChannelInstance | None) -> None:
        """MQError when a queue manager that has connected cannot use a channel. `leaving` make way for it."""
        self._require(name, link, self._limit_reached(name, False, leaving))

    def check_client(self, channel: Definition, link: ServerLink, instances: ClientInstances) -> None:
        """MQError when a client that has connected cannot use a channel."""
        name, host = channel.name, host_of(link)
        most, most_each = number_of(channel, "MAXINST", 0), number_of(channel, "MAXINSTC", 0)
        of_channel = check_instance_limits(name, host, instances.of(name), most, instances.of(name, host), most_each)
        self._require(name, link, of_channel or self._limit_reached(name, False, ()))

    def _require(self, name: str, link: ServerLink, shortage: LimitReached | None) -> None:
        if shortage is None:
            return
        engine = self._channels.engine
        made = channel_events.on_channel_not_available(engine, shortage.qualifier, name, host_of(link), shortage.most)
        send_own_messages(engine, made, None)
        raise MQError(MQRC_CHANNEL_NOT_AVAILABLE, shortage.text)

    # -- those who call by themselves ----------------------------------------------------------------------------------

    def check_start(self, name: str, kind: str, before: ChannelInstance | None) -> None:
        """CommandRefused when a channel cannot be started. Sending ends may wait until they can be active."""
        shortage = self._limit_reached(name, kind != "RQSTR", (before,))
        if shortage is not None:
            raise CommandRefused(_NUMBER, shortage.text.removeprefix(f"{_NUMBER}: "))

    def acquire(self, instance: ChannelInstance) -> bool:
        """Whether a channel that is STARTING has a place among the active ones. If not, it waits for one."""
        self._drop_cancelled()
        if not self._waiting and self._has_slot(instance):
            return True
        self._waiting.append(instance)
        self._channels.note_channel(self.limits.waiting_text(instance.name))
        queue, address = _whereto(instance)
        engine = self._channels.engine
        made = channel_events.on_channel_not_activated(engine, instance.name, queue, address)
        send_own_messages(engine, made, None)
        self.release()  # others may have left a place a moment ago
        return False

    def release(self) -> None:
        """A channel may have ceased to be active: see who waits, as soon as that is done."""
        if self._waiting and not self._is_posted:
            self._is_posted = True
            self._channels.reactor.post(self._serve_waiting)

    def _serve_waiting(self) -> None:
        """Those who wait take the places that are free, in their order."""
        self._is_posted = False
        while not self._channels.is_ending:
            self._drop_cancelled()
            if not self._waiting or not self._has_slot(self._waiting[0]):
                return
            instance = self._waiting.popleft()
            queue, address = _whereto(instance)
            engine = self._channels.engine
            made = channel_events.on_channel_activated(engine, instance.name, queue, address)
            send_own_messages(engine, made, None)
            self._channels.manager.note(f"AMQ9002I: Channel '{instance.name}' is starting: it has its place now.")
            self._connect(instance)

    def _drop_cancelled(self) -> None:
        """Some of those who waited were stopped meanwhile."""
        calling = self._channels.outbound_instances
        gone = [each for each in self._waiting if each.state != STARTING or calling.get(each.name) is not each]
        for instance in gone:
            self._waiting.remove(instance)

    # -- counting ------------------------------------------------------------------------------------------------------

    def _has_slot(self, instance: ChannelInstance) -> bool:
        return self._has_spare_slots() or self.limits.may_be_active(self.channel_counts((instance,)))

    def _limit_reached(
        self, name: str, is_calling: bool, leaving: tuple[ChannelInstance | None, ...]
    ) -> LimitReached | None:
        return (
            None
            if self._has_spare_slots()
            else self.limits.limit_reached(name, self.channel_counts(leaving), is_calling)
        )

    def _has_spare_slots(self) -> bool:
        """Whether there is a place for one more even if all that is remembered were active: then nobody is counted."""
        channels = self._channels
        remembered = len(channels.outbound_instances) + len(channels.inbound_instances) + len(channels.stopped)
        return channels.server.client_channel_counts().current + remembered < self.limits.lower

    def channel_counts(self, leaving: tuple[ChannelInstance | None, ...] = ()) -> ChannelCounts:
        """All channels, but for some."""
        channels = self._channels
        there = [
            each
            for each in chain(channels.outbound_instances.values(), channels.inbound_instances.values())
            if each not in leaving
        ]
        names = {each.name for each in there if each.state != INACTIVE}
        stopped = [STOPPED for name in channels.stopped if name not in names]
        return count_channels([*(each.state for each in there), *stopped]).plus(channels.server.client_channel_counts())


def _whereto(instance: ChannelInstance) -> tuple[str, str]:
    """The transmission queue and the connection name, as defined: there is no connection."""
    return text_of(instance.definition, "XMITQ"), text_of(instance.definition, "CONNAME")
