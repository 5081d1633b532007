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
from ostler.engine.queue.transfer import send_reports
from ostler.model.constants import MQRC_CHANNEL_NOT_AVAILABLE
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.server.channels.instance import Instance
from ostler.server.channels.limits import Adoption, Census, ChannelLimits, Shortage, count, instance_shortage
from ostler.server.channels.settings import Instances, host_of
from ostler.server.net.link import ServerLink

if TYPE_CHECKING:
    from ostler.server.channels.service import MessageChannels

_NUMBER: Final = "AMQ9513E"


class ChannelPlaces:
    def __init__(self, channels: MessageChannels, call: Callable[[Instance], None]) -> None:
        """`call` has a channel connect that has waited for its place."""
        settings = channels.manager.settings.channels
        self.limits = ChannelLimits(settings.channels_max, settings.active_channels_max)
        self.adoption = Adoption(settings.adopt_new_mca, settings.adopt_new_mca_check)
        self._channels = channels
        self._call = call
        self._waiting: deque[Instance] = deque()
        self._is_posted = False

    # -- those who come in ---------------------------------------------------------------------------------------------

    def check_partner(self, name: str, link: ServerLink, *leaving: Instance | None) -> None:
        """MQError when a queue manager that has connected cannot use a channel. `leaving` make way for it."""
        self._require(name, link, self._shortage(name, False, leaving))

    def check_client(self, channel: Definition, link: ServerLink, instances: Instances) -> None:
        """MQError when a client that has connected cannot use a channel."""
        name, host = channel.name, host_of(link)
        most, most_each = number_of(channel, "MAXINST", 0), number_of(channel, "MAXINSTC", 0)
        of_channel = instance_shortage(name, host, instances.of(name), most, instances.of(name, host), most_each)
        self._require(name, link, of_channel or self._shortage(name, False, ()))

    def _require(self, name: str, link: ServerLink, shortage: Shortage | None) -> None:
        if shortage is None:
            return
        engine = self._channels.engine
        made = channel_events.on_channel_not_available(engine, shortage.qualifier, name, host_of(link), shortage.most)
        send_reports(engine, made, None)
        raise MQError(MQRC_CHANNEL_NOT_AVAILABLE, shortage.text)

    # -- those who call by themselves ----------------------------------------------------------------------------------

    def check_start(self, name: str, kind: str, before: Instance | None) -> None:
        """CommandRefused when a channel cannot be started. Sending ends may wait until they can be active."""
        shortage = self._shortage(name, kind != "RQSTR", (before,))
        if shortage is not None:
            raise CommandRefused(_NUMBER, shortage.text.removeprefix(f"{_NUMBER}: "))

    def finds(self, instance: Instance) -> bool:
        """Whether a channel that is STARTING has a place among the active ones. If not, it waits for one."""
        self._forget_gone()
        if not self._waiting and self._has_place(instance):
            return True
        self._waiting.append(instance)
        self._channels.note_channel(self.limits.waits_text(instance.name))
        queue, address = _whereto(instance)
        engine = self._channels.engine
        made = channel_events.on_channel_not_activated(engine, instance.name, queue, address)
        send_reports(engine, made, None)
        self.one_ended()  # others may have left a place a moment ago
        return False

    def one_ended(self) -> None:
        """A channel may have ceased to be active: see who waits, as soon as that is done."""
        if self._waiting and not self._is_posted:
            self._is_posted = True
            self._channels.reactor.post(self._look)

    def _look(self) -> None:
        """Those who wait take the places that are free, in their order."""
        self._is_posted = False
        while not self._channels.is_ending:
            self._forget_gone()
            if not self._waiting or not self._has_place(self._waiting[0]):
                return
            instance = self._waiting.popleft()
            queue, address = _whereto(instance)
            engine = self._channels.engine
            made = channel_events.on_channel_activated(engine, instance.name, queue, address)
            send_reports(engine, made, None)
            self._channels.manager.note(f"AMQ9002I: Channel '{instance.name}' is starting: it has its place now.")
            self._call(instance)

    def _forget_gone(self) -> None:
        """Some of those who waited were stopped meanwhile."""
        calling = self._channels.calling
        gone = [each for each in self._waiting if each.state != STARTING or calling.get(each.name) is not each]
        for instance in gone:
            self._waiting.remove(instance)

    # -- counting ------------------------------------------------------------------------------------------------------

    def _has_place(self, instance: Instance) -> bool:
        return self._is_roomy() or self.limits.may_be_active(self.census((instance,)))

    def _shortage(self, name: str, is_calling: bool, leaving: tuple[Instance | None, ...]) -> Shortage | None:
        return None if self._is_roomy() else self.limits.shortage(name, self.census(leaving), is_calling)

    def _is_roomy(self) -> bool:
        """Whether there is a place for one more even if all that is remembered were active: then nobody is counted."""
        channels = self._channels
        remembered = len(channels.calling) + len(channels.called) + len(channels.stopped)
        return channels.server.client_census().current + remembered < self.limits.lower

    def census(self, leaving: tuple[Instance | None, ...] = ()) -> Census:
        """All channels, but for some."""
        channels = self._channels
        there = [each for each in chain(channels.calling.values(), channels.called.values()) if each not in leaving]
        names = {each.name for each in there if each.state != INACTIVE}
        stopped = [STOPPED for name in channels.stopped if name not in names]
        return count([*(each.state for each in there), *stopped]).joined(channels.server.client_census())


def _whereto(instance: Instance) -> tuple[str, str]:
    """The transmission queue and the connection name, as defined: there is no connection."""
    return text_of(instance.definition, "XMITQ"), text_of(instance.definition, "CONNAME")
