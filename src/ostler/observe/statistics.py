"""Snapshots of counters as plain dictionaries, and differences of two snapshots.

The engine counts; the dictionaries can be compared, displayed and stored.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ostler.model import counters as counting
from ostler.model.counters import Counts, QueueCounters, VerbCounters

# Not sums: a difference has the later value.
_LEVELS: Final = frozenset(
    (
        "depth",
        "depth_high",
        "depth_low",
        "last_put_ms",
        "last_get_ms",
        "age_max_ms",
        "force_max_us",
        "force_last_us",
        "force_average_us",
        "force_long_average_us",
        "write_bytes_last",
        "write_bytes_average",
        "primary_space_in_use_percent",
        "utilisation_percent",
        "restart_bytes",
    )
)


class Statistics(NamedTuple):
    """All counters of a queue manager at one time (seconds since the epoch)."""

    at: float
    queue_manager: Counts
    queues: dict[str, Counts]
    connections: dict[int, Counts]
    log: Counts


def counts(counters: VerbCounters) -> Counts:
    return counting.verb_counts(counters)


def queue_counts(counters: QueueCounters, depth: int) -> Counts:
    taken = counting.queue_counts(counters)
    taken["depth"] = depth
    taken["depth_high"] = max(taken["depth_high"], counters.window_high)
    return taken


def difference(after: Counts, before: Counts) -> Counts:
    """Return the difference of two snapshots: sums are subtracted, levels are those of the later one."""
    return {name: value if name in _LEVELS else value - before.get(name, 0) for name, value in after.items()}


def between(before: Statistics, after: Statistics) -> Statistics:
    """Return the statistics between two snapshots; `at` is the time between them in seconds."""
    return Statistics(
        after.at - before.at,
        difference(after.queue_manager, before.queue_manager),
        {name: difference(each, before.queues.get(name, {})) for name, each in after.queues.items()},
        {number: difference(each, before.connections.get(number, {})) for number, each in after.connections.items()},
        difference(after.log, before.log),
    )
