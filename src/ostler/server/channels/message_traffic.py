"""What went over message channels, for channel statistics: of those that run, and of those that have ended meanwhile.

The ends count for themselves, and are kept here until what they did was written down. All here is called with the
engine's lock held.
"""

from __future__ import annotations

from typing import NamedTuple

from ostler.channel.batch import Figures
from ostler.channel.receiver import OVER as RECEIVER_OVER
from ostler.channel.receiver import ReceivingEnd
from ostler.channel.sender import OVER as SENDER_OVER
from ostler.channel.sender import SendingEnd
from ostler.model.accounts import Spread
from ostler.observe.statistics_messages import MessageChannelInterval, MessageCounts, NetworkTimes


class Party(NamedTuple):
    """Whose statistics they are: two instances of a channel differ by the partner or its address."""

    channel: str
    channel_type: int  # MQCHT
    remote_manager: str
    connection_name: str


class _Running:
    """An end, what it had done before the interval, and what ends before it did within the interval."""

    def __init__(self, end: SendingEnd | ReceivingEnd) -> None:
        self.end = end
        self.before = MessageCounts()
        self.earlier = MessageCounts()
        self.network = NetworkTimes()

    def is_over(self) -> bool:
        return self.end.state == (SENDER_OVER if isinstance(self.end, SendingEnd) else RECEIVER_OVER)

    def fold(self) -> tuple[MessageCounts, NetworkTimes]:
        """All of the interval up to now."""
        now = _counts(self.end.figures)
        done = zip(self.earlier, now, self.before, strict=True)
        monitor = self.end.monitor
        if monitor is not None:
            self.network = _joined(self.network, monitor.take_network_spread())
        return MessageCounts(*[earlier + after - before for earlier, after, before in done]), self.network

    def begin(self) -> None:
        """A new interval."""
        self.before = _counts(self.end.figures)
        self.earlier = MessageCounts()
        self.network = NetworkTimes()


class MessageTraffic:
    def __init__(self) -> None:
        self._running: dict[Party, _Running] = {}

    def began(self, party: Party, end: SendingEnd | ReceivingEnd) -> None:
        """A channel whose statistics are wanted has started."""
        running = _Running(end)
        earlier = self._running.get(party)
        if earlier is not None:
            running.earlier, running.network = earlier.fold()
        self._running[party] = running

    def take(self) -> list[MessageChannelInterval]:
        """What went over each channel since the last time. Nothing for those that were silent."""
        found: list[MessageChannelInterval] = []
        for party, running in list(self._running.items()):
            counts, network = running.fold()
            if any(counts):
                found.append(MessageChannelInterval(*party, counts, network))
            if running.is_over():
                del self._running[party]
            else:
                running.begin()
        return found


def _counts(figures: Figures) -> MessageCounts:
    return MessageCounts(
        int(figures.messages),
        int(figures.persistent),
        int(figures.plain_bytes),
        int(figures.persistent_bytes),
        int(figures.batches),
        int(figures.full_batches),
        int(figures.batch_messages),
        int(figures.put_retries),
    )


def _joined(times: NetworkTimes, more: Spread) -> NetworkTimes:
    if more.count == 0:
        return times
    lowest = int(more.lowest) if times.answers == 0 else min(times.lowest, int(more.lowest))
    highest = max(times.highest, int(more.highest))
    return NetworkTimes(times.answers + int(more.count), times.total + int(more.total), lowest, highest)
