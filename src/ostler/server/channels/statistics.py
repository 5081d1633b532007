"""Channel statistics (STATCHL): the traffic of client channels and of message channels in one interval.

Links and channel ends count for themselves; these classes keep the counts at the start of the interval and the counts
of links and ends that have closed since. Every method is called with the engine's lock held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ostler.channel.batch import ChannelCounters
from ostler.channel.receiver import ENDED as RECEIVER_ENDED
from ostler.channel.receiver import ReceivingEnd
from ostler.channel.sender import ENDED as SENDER_ENDED
from ostler.channel.sender import SendingEnd
from ostler.model.accounts import Spread
from ostler.observe.statistics_messages import ChannelInterval, MessageChannelInterval, MessageCounts, NetworkTimes
from ostler.server.net.link import ServerLink
from ostler.server.net.link_status import host_of

_LinkCounts = tuple[int, int, int]  # calls, bytes sent, bytes received
_ZERO: _LinkCounts = (0, 0, 0)


class ClientChannelStatistics:
    """Counts per client channel and client address."""

    def __init__(self) -> None:
        self.links: Callable[[], Iterable[ServerLink]] = tuple  # set by the owner of the links
        self._is_on = False
        self._before: dict[ServerLink, _LinkCounts] = {}
        self._closed: dict[tuple[str, str], _LinkCounts] = {}

    def switch(self, is_on: bool) -> None:
        """Start or stop collecting. Repeating the current setting has no effect."""
        if is_on == self._is_on:
            return
        self._is_on = is_on
        self._closed = {}
        self._before = {link: _link_counts(link) for link in self.links()} if is_on else {}

    def link_closed(self, link: ServerLink) -> None:
        """Keep the counts of a link that has closed for the current interval."""
        if self._is_on and link.channel:
            _add(self._closed, link, _difference(_link_counts(link), self._before.pop(link, _ZERO)))

    def take(self) -> list[ChannelInterval]:
        """Return the traffic of each channel and address since the last call; those without traffic are left out."""
        if not self._is_on:
            return []
        found = self._closed
        before: dict[ServerLink, _LinkCounts] = {}
        for link in self.links():
            if link.channel:
                now = _link_counts(link)
                _add(found, link, _difference(now, self._before.get(link, _ZERO)))
                before[link] = now
        self._closed = {}
        self._before = before
        return [ChannelInterval(name, address, *counts) for (name, address), counts in found.items() if any(counts)]


def _link_counts(link: ServerLink) -> _LinkCounts:
    return int(link.calls), int(link.sent_bytes), int(link.received_bytes)


def _difference(now: _LinkCounts, before: _LinkCounts) -> _LinkCounts:
    return now[0] - before[0], now[1] - before[1], now[2] - before[2]


def _add(found: dict[tuple[str, str], _LinkCounts], link: ServerLink, counts: _LinkCounts) -> None:
    key = (link.channel, host_of(link))
    total = found.get(key, _ZERO)
    found[key] = (total[0] + counts[0], total[1] + counts[1], total[2] + counts[2])


class StatisticsKey(NamedTuple):
    """Identifies an instance of a message channel: two of them differ by the partner or its address."""

    channel: str
    channel_type: int  # MQCHT
    remote_manager: str
    connection_name: str


class _InstanceCounts:
    """The counts of one channel end before the interval, and those of its predecessors within the interval."""

    def __init__(self, end: SendingEnd | ReceivingEnd) -> None:
        self.end = end
        self.before = MessageCounts()
        self.predecessors = MessageCounts()
        self.network = NetworkTimes()

    def has_ended(self) -> bool:
        return self.end.state == (SENDER_ENDED if isinstance(self.end, SendingEnd) else RECEIVER_ENDED)

    def total(self) -> tuple[MessageCounts, NetworkTimes]:
        """Return the counts of the interval up to now."""
        now = _message_counts(self.end.counters)
        counts = zip(self.predecessors, now, self.before, strict=True)
        monitor = self.end.monitor
        if monitor is not None:
            self.network = _add_network_times(self.network, monitor.take_network_spread())
        return MessageCounts(*[earlier + after - before for earlier, after, before in counts]), self.network

    def begin_interval(self) -> None:
        self.before = _message_counts(self.end.counters)
        self.predecessors = MessageCounts()
        self.network = NetworkTimes()


class MessageChannelStatistics:
    """Counts per instance of a message channel."""

    def __init__(self) -> None:
        self._instances: dict[StatisticsKey, _InstanceCounts] = {}

    def add(self, key: StatisticsKey, end: SendingEnd | ReceivingEnd) -> None:
        """Count for a channel that has started, and continue the counts of its predecessor in this interval."""
        counts = _InstanceCounts(end)
        predecessor = self._instances.get(key)
        if predecessor is not None:
            counts.predecessors, counts.network = predecessor.total()
        self._instances[key] = counts

    def take(self) -> list[MessageChannelInterval]:
        """Return the traffic of each channel since the last call; channels without traffic are left out."""
        found: list[MessageChannelInterval] = []
        for key, instance in list(self._instances.items()):
            counts, network = instance.total()
            if any(counts):
                found.append(MessageChannelInterval(*key, counts, network))
            if instance.has_ended():
                del self._instances[key]
            else:
                instance.begin_interval()
        return found


def _message_counts(counters: ChannelCounters) -> MessageCounts:
    return MessageCounts(
        int(counters.messages),
        int(counters.persistent),
        int(counters.plain_bytes),
        int(counters.persistent_bytes),
        int(counters.batches),
        int(counters.full_batches),
        int(counters.batch_messages),
        int(counters.put_retries),
    )


def _add_network_times(times: NetworkTimes, more: Spread) -> NetworkTimes:
    if more.count == 0:
        return times
    lowest = int(more.lowest) if times.answers == 0 else min(times.lowest, int(more.lowest))
    highest = max(times.highest, int(more.highest))
    return NetworkTimes(times.answers + int(more.count), times.total + int(more.total), lowest, highest)
