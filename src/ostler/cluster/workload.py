"""The cluster workload algorithm: one pure function that chooses a destination, step by step.

A candidate is an instance of a queue (or a queue manager alias, or a topic host) with one channel to its queue manager.
Each step removes candidates:

    step   goes out
    1      candidates of clusters that the local queue manager is not in
    2      channels that are not in the cluster of the queue
    3      channels below the highest CLWLRANK of a channel
    4      queues below the highest CLWLRANK of a queue
    5      PUT(DISABLED), if an enabled one is left; if all are disabled: the local instance, or PUT_INHIBITED
    6      everything but the local instance, if CLWLUSEQ prefers it or the message came over a cluster channel
    7      suspended queue managers, if others are left
    8      all but the best class of channel status
    9      channels below the highest NETPRTY to the same queue manager
    10     channels below the highest CLWLPRTY of a channel
    11     queues below the highest CLWLPRTY of a queue
    12     all but the CLWLMRUC most recently used channels
    13     all but one: the least recently used channel, or by CLWLWGHT the one with the lowest sequence factor

Ranks are looked at before status, so a message waits for an unreachable queue manager of higher rank. Priorities are
looked at behind it, so they fail over.

Steps 1 to 11 depend on definitions and statuses only: a caller keeps what `eligible` found until one of these changes,
and a put is then `pick`. Neither changes anything; `Counters.count` notes what was chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from ostler.model import constants as mq

DEFAULT_WEIGHT: Final = 50
ALL_CHANNELS: Final = 999999999
"""CLWLMRUC as it is defined at first: no limit."""

# Outcomes.
CHOSEN: Final = 0
NO_DESTINATION: Final = mq.MQRC_NO_DESTINATIONS_AVAILABLE
PUT_INHIBITED: Final = mq.MQRC_CLUSTER_PUT_INHIBITED

_FACTOR_OF_WEIGHT_ONE: Final = 1_000_000_000

# Classes of channel status, the best first.
_STATUS_CLASSES: Final[dict[int, int]] = {
    mq.MQCHS_INACTIVE: 0,
    mq.MQCHS_RUNNING: 0,
    mq.MQCHS_BINDING: 1,
    mq.MQCHS_INITIALIZING: 1,
    mq.MQCHS_STARTING: 1,
    mq.MQCHS_STOPPING: 1,
    mq.MQCHS_SWITCHING: 1,
    mq.MQCHS_RETRYING: 2,
}
_WORST_CLASS: Final = 3


@final
@dataclass(frozen=True)
class Candidate:
    """An instance of a queue with one channel to its queue manager. Attributes are as set on the target's CLUSRCVR."""

    qmid: str
    channel: str
    cluster: str = ""
    channel_cluster: str = ""
    is_local: bool = False
    is_put_enabled: bool = True
    is_suspended: bool = False
    status: int = mq.MQCHS_INACTIVE
    """Of the local sender; of a local instance the status of its CLUSRCVR."""
    channel_rank: int = 0
    channel_priority: int = 0
    weight: int = DEFAULT_WEIGHT
    net_priority: int = 0
    queue_rank: int = 0
    queue_priority: int = 0
    use_queue: int = mq.MQCLWL_USEQ_AS_Q_MGR
    """CLWLUSEQ of the queue; it counts for a local instance."""


@final
@dataclass(frozen=True)
class WorkloadOptions:
    """The local queue manager's part in a choice."""

    clusters: frozenset[str] = frozenset([""])
    use_queue: int = mq.MQCLWL_USEQ_LOCAL
    most_recent: int = ALL_CHANNELS
    """CLWLMRUC."""
    is_from_cluster_channel: bool = False


@final
@dataclass(frozen=True)
class Eligible:
    """The candidates that are left behind step 11, by their indexes; or the reason why there is none."""

    outcome: int
    indexes: tuple[int, ...] = ()
    is_local: bool = False
    """The local instance is preferred; no channel is used."""


@final
@dataclass(frozen=True)
class Choice:
    outcome: int
    index: int = -1
    channel: str = ""
    """The channel whose use is to be counted; empty: none."""
    step: int = 0
    """How far its sequence factor goes on."""


@final
class Counters:
    """The use of cluster channels at one queue manager, for all queues together."""

    def __init__(self) -> None:
        self.number: int = 0
        self.last_used: dict[str, int] = {}
        self.factors: dict[str, int] = {}

    def count(self, choice: Choice) -> None:
        """Note a choice."""
        if not choice.channel:
            return
        self.number += 1
        self.last_used[choice.channel] = self.number
        self.factors[choice.channel] = self.factors.get(choice.channel, 0) + choice.step

    def reset_factors(self) -> None:
        """Begin again with weights: a destination has come or come back, or its workload attributes have changed.

        A channel that was away would otherwise receive everything until its factor has reached those of the others.
        """
        self.factors.clear()

    def forget(self, channel: str) -> None:
        """Drop a channel that is no longer defined."""
        self.last_used.pop(channel, None)
        self.factors.pop(channel, None)


def choose(candidates: list[Candidate], options: WorkloadOptions, counters: Counters) -> Choice:
    """Choose one candidate, or say why there is none. Nothing is changed; `Counters.count` notes the choice."""
    return pick(candidates, eligible(candidates, options), options.most_recent, counters)


def eligible(candidates: list[Candidate], options: WorkloadOptions) -> Eligible:
    """Take the steps 1 to 11, which look at definitions and statuses."""
    left = [
        index
        for index, each in enumerate(candidates)
        if each.cluster in options.clusters and each.channel_cluster == each.cluster
    ]
    if not left:
        return Eligible(NO_DESTINATION)
    left = _highest(left, [candidates[index].channel_rank for index in left])
    left = _highest(left, [candidates[index].queue_rank for index in left])
    enabled = [index for index in left if candidates[index].is_put_enabled]
    local = [index for index in enabled or left if candidates[index].is_local]
    if not enabled:
        return Eligible(CHOSEN, (local[0],), is_local=True) if local else Eligible(PUT_INHIBITED)
    left = enabled
    if local and _prefers_local(candidates[local[0]], options):
        return Eligible(CHOSEN, (local[0],), is_local=True)
    left = [index for index in left if not candidates[index].is_suspended] or left
    left = _highest(left, [-status_class(candidates[index].status) for index in left])
    left = _best_networks(left, candidates)
    left = _highest(left, [candidates[index].channel_priority for index in left])
    left = _highest(left, [candidates[index].queue_priority for index in left])
    return Eligible(CHOSEN, tuple(left))


def pick(candidates: list[Candidate], found: Eligible, most_recent: int, counters: Counters) -> Choice:
    """Take the steps 12 and 13, which look at the use of channels so far."""
    if found.outcome != CHOSEN:
        return Choice(found.outcome)
    left = found.indexes
    if found.is_local:
        return Choice(CHOSEN, left[0])
    if len(left) > most_recent:
        left = _most_recent(left, candidates, most_recent, counters)
    is_weighted = False
    for index in left:
        if candidates[index].weight != DEFAULT_WEIGHT:
            is_weighted = True
            break
    best = -1
    best_factor = 0
    best_used = 0
    for index in left:
        channel = candidates[index].channel
        factor = counters.factors.get(channel, 0) if is_weighted else 0
        used = counters.last_used.get(channel, 0)
        if best < 0 or factor < best_factor or (factor == best_factor and used < best_used):
            best, best_factor, best_used = index, factor, used
    chosen = candidates[best]
    return Choice(CHOSEN, best, chosen.channel, _FACTOR_OF_WEIGHT_ONE // max(1, chosen.weight))


def status_class(status: int) -> int:
    """Return the class of a channel status: 0 is the best, 3 the worst."""
    return _STATUS_CLASSES.get(status, _WORST_CLASS)


def _prefers_local(local: Candidate, options: WorkloadOptions) -> bool:
    if options.is_from_cluster_channel:
        return True
    use_queue = options.use_queue if local.use_queue == mq.MQCLWL_USEQ_AS_Q_MGR else local.use_queue
    return use_queue == mq.MQCLWL_USEQ_LOCAL


def _highest(indexes: list[int], values: list[int]) -> list[int]:
    best = max(values)
    return [index for index, value in zip(indexes, values, strict=True) if value == best]


def _best_networks(left: list[int], candidates: list[Candidate]) -> list[int]:
    best: dict[str, int] = {}
    for index in left:
        each = candidates[index]
        if each.net_priority > best.get(each.qmid, -1):
            best[each.qmid] = each.net_priority
    return [index for index in left if candidates[index].net_priority == best[candidates[index].qmid]]


def _most_recent(
    left: tuple[int, ...], candidates: list[Candidate], most_recent: int, counters: Counters
) -> tuple[int, ...]:
    """Keep the candidates of so many channels. Of those that were used equally long ago the first ones stay."""
    channels: list[str] = []
    for index in left:
        if candidates[index].channel not in channels:
            channels.append(candidates[index].channel)
    order = sorted([(-counters.last_used.get(name, 0), place, name) for place, name in enumerate(channels)])
    kept = {name for _, _, name in order[:most_recent]}
    return tuple([index for index in left if candidates[index].channel in kept])
