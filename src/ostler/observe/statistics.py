"""Counters as data: what happened up to a moment, and between two moments.

The engine counts; here the numbers become plain dictionaries that can be compared, shown and written down.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ostler.model.counters import QueueCounters, VerbCounters

Counts = dict[str, int]

_VERBS: Final = (
    "opens",
    "closes",
    "puts",
    "put_bytes",
    "puts_persistent",
    "puts_failed",
    "gets",
    "get_bytes",
    "gets_persistent",
    "gets_failed",
    "gets_empty",
    "browses",
    "browse_bytes",
    "commits",
    "backouts",
    "waits",
    "inquires",
    "sets",
    "expired",
    "backed_out_messages",
)
_QUEUE: Final = (
    "puts",
    "put_bytes",
    "puts_persistent",
    "gets",
    "get_bytes",
    "gets_persistent",
    "browses",
    "browse_bytes",
    "waits",
    "handed_over",
    "expired",
    "backed_out",
    "gets_empty",
    "spilled",
    "spill_reads",
    "depth_high",
    "depth_low",
    "last_put_ms",
    "last_get_ms",
    "age_total_ms",
    "age_max_ms",
)
# Not sums: in a difference the later value stands.
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
        "write_bytes_last",
        "write_bytes_average",
        "primary_space_in_use_percent",
        "utilisation_percent",
        "restart_bytes",
    )
)


class Statistics(NamedTuple):
    """All counters of a queue manager at one moment (seconds since the epoch)."""

    at: float
    queue_manager: Counts
    queues: dict[str, Counts]
    connections: dict[int, Counts]
    log: Counts


def counts(counters: VerbCounters) -> Counts:
    return {name: getattr(counters, name) for name in _VERBS}


def queue_counts(counters: QueueCounters, depth: int) -> Counts:
    taken: Counts = {name: getattr(counters, name) for name in _QUEUE}
    taken["depth"] = depth
    return taken


def difference(after: Counts, before: Counts) -> Counts:
    """What happened in between: sums are subtracted, levels are as they were last."""
    return {name: value if name in _LEVELS else value - before.get(name, 0) for name, value in after.items()}


def between(before: Statistics, after: Statistics) -> Statistics:
    """The statistics of the time between two moments; `at` is its length in seconds."""
    return Statistics(
        after.at - before.at,
        difference(after.queue_manager, before.queue_manager),
        {name: difference(each, before.queues.get(name, {})) for name, each in after.queues.items()},
        {number: difference(each, before.connections.get(number, {})) for number, each in after.connections.items()},
        difference(after.log, before.log),
    )
