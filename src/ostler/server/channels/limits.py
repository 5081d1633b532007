"""Rules of the Channels stanza of qm.ini: MaxChannels, MaxActiveChannels, AdoptNewMCA and AdoptNewMCACheck.

A channel is current unless it is INACTIVE. A current one is active unless it is STARTING, RETRYING or STOPPED. Client
channels and message channels are counted together. A channel that cannot be current is refused. An inbound channel that
cannot be active is refused, too; an outbound sending end waits until another channel ceases to be active.

These are pure functions of numbers and names, without sockets, time or objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from ostler.channel.states import (
    BINDING,
    INACTIVE,
    INITIALIZING,
    PAUSED,
    REQUESTING,
    RUNNING,
    STOPPING,
    SWITCHING,
)
from ostler.model import constants as mq

ACTIVE: Final = frozenset((INITIALIZING, BINDING, REQUESTING, RUNNING, PAUSED, STOPPING, SWITCHING))
ALL: Final = "ALL"
# The values that AdoptNewMCACheck compares besides the channel name, which is always the same.
ADDRESS: Final = "ADDRESS"
QUEUE_MANAGER: Final = "QM"
_ADVICE: Final = {
    mq.MQRQ_MAX_CHANNELS: (
        "Stop channels with STATUS(INACTIVE), end clients, or raise MaxChannels in qm.ini and restart the queue manager"
    ),
    mq.MQRQ_MAX_ACTIVE_CHANNELS: (
        "Stop channels, give them a shorter DISCINT, end clients, or raise MaxActiveChannels in qm.ini and restart the "
        "queue manager"
    ),
}
_QM_INI_NAMES: Final = {mq.MQRQ_MAX_CHANNELS: "MaxChannels", mq.MQRQ_MAX_ACTIVE_CHANNELS: "MaxActiveChannels"}


class ChannelCounts(NamedTuple):
    """Numbers of current and of active channels."""

    current: int = 0
    active: int = 0

    def plus(self, other: ChannelCounts) -> ChannelCounts:
        return ChannelCounts(self.current + other.current, self.active + other.active)


def count_channels(states: Iterable[int]) -> ChannelCounts:
    """Count channels by their states."""
    current = active = 0
    for state in states:
        if state != INACTIVE:
            current += 1
            if state in ACTIVE:
                active += 1
    return ChannelCounts(current, active)


class LimitReached(NamedTuple):
    """A limit that refuses one more channel. `qualifier` is that of the event Channel Not Available."""

    qualifier: int
    most: int
    text: str


class ChannelLimits:
    """MaxChannels and MaxActiveChannels. They never end a running channel."""

    def __init__(self, channels_max: int, active_channels_max: int) -> None:
        self.channels_max = channels_max
        self.active_max = active_channels_max

    @property
    def lower(self) -> int:
        """With fewer channels than this, in any state, one more is within both limits."""
        return min(self.channels_max, self.active_max)

    def may_be_current(self, others: ChannelCounts) -> bool:
        return others.current < self.channels_max

    def may_be_active(self, others: ChannelCounts) -> bool:
        return others.active < self.active_max

    def limit_reached(self, name: str, others: ChannelCounts, is_outbound: bool = False) -> LimitReached | None:
        """Return the limit that refuses one more channel, or None. An outbound channel only has to be current."""
        if not self.may_be_current(others):
            return self._limit_reached(name, mq.MQRQ_MAX_CHANNELS, self.channels_max, "current")
        if not is_outbound and not self.may_be_active(others):
            return self._limit_reached(name, mq.MQRQ_MAX_ACTIVE_CHANNELS, self.active_max, "active")
        return None

    def waiting_text(self, name: str) -> str:
        """Return the operator message for a channel that waits until it may be active."""
        return (
            f"AMQ9513W: Channel {name} waits: {self.active_max} channels are active, which is MaxActiveChannels of "
            f"qm.ini. It starts when one of them ends. {_ADVICE[mq.MQRQ_MAX_ACTIVE_CHANNELS]}."
        )

    def _limit_reached(self, name: str, qualifier: int, most: int, what: str) -> LimitReached:
        why = f"{most} are {what}, which is {_QM_INI_NAMES[qualifier]} of qm.ini"
        text = f"AMQ9513E: Maximum number of channels reached: {name} is refused, as {why}. {_ADVICE[qualifier]}."
        return LimitReached(qualifier, most, text)


def check_instance_limits(
    name: str, host: str, instances: int, most: int, of_host: int, most_each: int
) -> LimitReached | None:
    """Return the limit of a client channel (MAXINST, MAXINSTC) that refuses one more instance, or None."""
    if instances >= most:
        return LimitReached(mq.MQRQ_SVRCONN_INST_LIMIT, most, f"Channel {name} has its MAXINST of {most} instances.")
    if of_host >= most_each:
        text = f"Channel {name} has its MAXINSTC of {most_each} instances from {host}."
        return LimitReached(mq.MQRQ_CLIENT_INST_LIMIT, most_each, text)
    return None


class McaAdoption:
    """AdoptNewMCA and AdoptNewMCACheck: the rules by which a partner that connects again replaces its old instance."""

    def __init__(self, kinds: Iterable[str], checks: Iterable[str]) -> None:
        """`kinds` are channel types or ALL; NO and FASTPATH add none. `checks` are values that must match, or ALL."""
        self._kinds = frozenset(kinds)
        self._checks = frozenset(checks)

    def refusal_reason(self, kind: str, is_same_manager: bool, is_same_address: bool) -> str:
        """Return the reason for which an instance of this channel type is not replaced; empty if it is.

        The flags compare the queue manager name and the address of the new connection with those of the instance.
        """
        if kind not in self._kinds and ALL not in self._kinds:
            words = ",".join(sorted(self._kinds))
            return f"AdoptNewMCA={words} in qm.ini does not include channels of type {kind}"
        if not is_same_manager and self._checks_for(QUEUE_MANAGER):
            return "another queue manager has connected (AdoptNewMCACheck in qm.ini)"
        if not is_same_address and self._checks_for(ADDRESS):
            return "the connection comes from another address (AdoptNewMCACheck in qm.ini)"
        return ""

    def _checks_for(self, what: str) -> bool:
        return what in self._checks or ALL in self._checks
