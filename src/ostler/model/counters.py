"""The engine's counters: plain numbers, cheap enough to be always on.

They only grow. An interval is the difference of two snapshots, so that several readers, such as statistics and RESET
QSTATS, do not disturb each other. `observe` turns them into messages and displays.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

Counts = dict[str, int]

# Calls on objects other than queues are rare and counted separately, by call and type of object.
OPEN: Final = 0
OPEN_FAILED: Final = 1
CLOSE: Final = 2
CLOSE_FAILED: Final = 3
INQUIRE: Final = 4
INQUIRE_FAILED: Final = 5
SET: Final = 6
SET_FAILED: Final = 7
_TYPES: Final = 16

# Counters of publish/subscribe, callbacks and MQSTAT.
_TOPIC: Final = (
    "subs_durable_created",
    "subs_durable_altered",
    "subs_durable_resumed",
    "subs_nondurable_created",
    "subs_nondurable_altered",
    "subs_nondurable_resumed",
    "subs_failed",
    "unsubs_durable_kept",
    "unsubs_durable_removed",
    "unsubs_nondurable_removed",
    "unsubs_failed",
    "subrqs",
    "subrqs_failed",
    "cbs_registered",
    "cbs_deregistered",
    "cbs_resumed",
    "cbs_suspended",
    "cbs_failed",
    "ctls_started",
    "ctls_stopped",
    "ctls_resumed",
    "ctls_suspended",
    "ctls_failed",
    "stats",
    "stats_failed",
    "topic_puts",
    "topic_puts_persistent",
    "topic_put_bytes",
    "topic_put_bytes_persistent",
    "topic_puts_failed",
    "topic_put1s",
    "topic_put1s_persistent",
    "topic_put1s_failed",
    "published",
    "published_persistent",
    "published_bytes",
    "published_bytes_persistent",
)
_VERBS: Final = (
    "opens",
    "opens_failed",
    "closes",
    "closes_failed",
    "puts",
    "put_bytes",
    "puts_persistent",
    "put_bytes_persistent",
    "puts_failed",
    "put1s",
    "put1s_persistent",
    "put1s_failed",
    "gets",
    "get_bytes",
    "gets_persistent",
    "get_bytes_persistent",
    "gets_failed",
    "gets_empty",
    "browses",
    "browse_bytes",
    "browses_persistent",
    "browse_bytes_persistent",
    "browses_failed",
    "commits",
    "commits_failed",
    "backouts",
    "waits",
    "inquires",
    "inquires_failed",
    "sets",
    "sets_failed",
    "expired",
    "purged",
    "backed_out_messages",
)
_QUEUE: Final = (
    "opens",
    "closes",
    "inquires",
    "sets",
    "puts",
    "put_bytes",
    "puts_persistent",
    "put_bytes_persistent",
    "puts_failed",
    "put1s",
    "put1s_persistent",
    "put1s_failed",
    "gets",
    "get_bytes",
    "gets_persistent",
    "get_bytes_persistent",
    "gets_failed",
    "gets_empty",
    "gets_truncated",
    "browses",
    "browse_bytes",
    "browses_persistent",
    "browse_bytes_persistent",
    "browses_failed",
    "browses_empty",
    "browses_truncated",
    "waits",
    "handed_over",
    "handed_over_bytes",
    "expired",
    "purged",
    "puts_backed_out",
    "backed_out",
    "spilled",
    "spill_reads",
    "depth_high",
    "depth_low",
    "last_put_ms",
    "last_get_ms",
    "age_total_ms",
    "age_persistent_ms",
    "age_max_ms",
)


@final
class TopicCounters:
    """Calls of publish/subscribe, callbacks and MQSTAT, of one connection or of the whole queue manager."""

    def __init__(self) -> None:
        # MQSUB by its effect.
        self.subs_durable_created: i64 = 0
        self.subs_durable_altered: i64 = 0
        self.subs_durable_resumed: i64 = 0
        self.subs_nondurable_created: i64 = 0
        self.subs_nondurable_altered: i64 = 0
        self.subs_nondurable_resumed: i64 = 0
        self.subs_failed: i64 = 0
        # MQCLOSE of subscriptions. One that is not durable is never kept.
        self.unsubs_durable_kept: i64 = 0
        self.unsubs_durable_removed: i64 = 0
        self.unsubs_nondurable_removed: i64 = 0
        self.unsubs_failed: i64 = 0
        self.subrqs: i64 = 0
        self.subrqs_failed: i64 = 0
        self.cbs_registered: i64 = 0
        self.cbs_deregistered: i64 = 0
        self.cbs_resumed: i64 = 0
        self.cbs_suspended: i64 = 0
        self.cbs_failed: i64 = 0
        self.ctls_started: i64 = 0
        self.ctls_stopped: i64 = 0
        self.ctls_resumed: i64 = 0
        self.ctls_suspended: i64 = 0
        self.ctls_failed: i64 = 0
        self.stats: i64 = 0
        self.stats_failed: i64 = 0
        # Publications. They are part of the puts of VerbCounters.
        self.topic_puts: i64 = 0  # MQPUT and MQPUT1
        self.topic_puts_persistent: i64 = 0
        self.topic_put_bytes: i64 = 0
        self.topic_put_bytes_persistent: i64 = 0
        self.topic_puts_failed: i64 = 0
        self.topic_put1s: i64 = 0  # of the publications
        self.topic_put1s_persistent: i64 = 0
        self.topic_put1s_failed: i64 = 0  # of those that failed
        # Copies of publications on the queues of subscriptions; of the whole queue manager only.
        self.published: i64 = 0
        self.published_persistent: i64 = 0
        self.published_bytes: i64 = 0
        self.published_bytes_persistent: i64 = 0


@final
class VerbCounters:
    """Calls of one connection, or of the whole queue manager. Failed calls are counted separately."""

    def __init__(self) -> None:
        self.opens: i64 = 0
        self.opens_failed: i64 = 0
        self.closes: i64 = 0
        self.closes_failed: i64 = 0
        self.puts: i64 = 0  # MQPUT and MQPUT1
        self.put_bytes: i64 = 0
        self.puts_persistent: i64 = 0
        self.put_bytes_persistent: i64 = 0
        self.puts_failed: i64 = 0
        self.put1s: i64 = 0  # of the puts
        self.put1s_persistent: i64 = 0
        self.put1s_failed: i64 = 0  # of the puts that failed
        self.gets: i64 = 0
        self.get_bytes: i64 = 0
        self.gets_persistent: i64 = 0
        self.get_bytes_persistent: i64 = 0
        self.gets_failed: i64 = 0  # gets and browses
        self.gets_empty: i64 = 0  # gets and browses: MQRC_NO_MSG_AVAILABLE
        self.browses: i64 = 0
        self.browse_bytes: i64 = 0
        self.browses_persistent: i64 = 0
        self.browse_bytes_persistent: i64 = 0
        self.browses_failed: i64 = 0  # browses that failed or found nothing
        self.commits: i64 = 0
        self.commits_failed: i64 = 0
        self.backouts: i64 = 0
        self.waits: i64 = 0
        self.inquires: i64 = 0
        self.inquires_failed: i64 = 0
        self.sets: i64 = 0
        self.sets_failed: i64 = 0
        self.expired: i64 = 0
        self.purged: i64 = 0
        self.backed_out_messages: i64 = 0
        self.on_others: dict[int, int] | None = None  # the calls above on objects other than queues
        self.topics: TopicCounters | None = None  # None: none of these calls yet

    def topic_counters(self) -> TopicCounters:
        """Return the counters of publish/subscribe, callbacks and MQSTAT."""
        topics = self.topics
        if topics is None:
            topics = TopicCounters()
            self.topics = topics
        return topics

    def count_on(self, call: i64, object_type: i64) -> None:
        """Count a call on an object other than a queue (an MQOT number)."""
        others = self.on_others
        if others is None:
            others = {}
            self.on_others = others
        key: i64 = call * _TYPES + object_type
        others[key] = others.get(key, 0) + 1


@final
class QueueCounters:
    """Counters of one queue."""

    def __init__(self) -> None:
        self.opens: i64 = 0
        self.closes: i64 = 0
        self.inquires: i64 = 0
        self.sets: i64 = 0
        self.puts: i64 = 0  # by MQPUT, MQPUT1 or the queue manager itself
        self.put_bytes: i64 = 0
        self.puts_persistent: i64 = 0
        self.put_bytes_persistent: i64 = 0
        self.puts_failed: i64 = 0
        self.put1s: i64 = 0
        self.put1s_persistent: i64 = 0
        self.put1s_failed: i64 = 0
        self.gets: i64 = 0
        self.get_bytes: i64 = 0
        self.gets_persistent: i64 = 0
        self.get_bytes_persistent: i64 = 0
        self.gets_failed: i64 = 0
        self.gets_empty: i64 = 0
        self.gets_truncated: i64 = 0  # of the gets and browses that failed: MQRC_TRUNCATED_MSG_FAILED
        self.browses: i64 = 0
        self.browse_bytes: i64 = 0
        self.browses_persistent: i64 = 0
        self.browse_bytes_persistent: i64 = 0
        self.browses_failed: i64 = 0
        self.browses_empty: i64 = 0  # of the browses that failed, as the next
        self.browses_truncated: i64 = 0
        self.waits: i64 = 0
        self.handed_over: i64 = 0  # puts that went straight to a waiting getter
        self.handed_over_bytes: i64 = 0
        self.expired: i64 = 0
        self.purged: i64 = 0  # by CLEAR QLOCAL
        self.puts_backed_out: i64 = 0
        self.backed_out: i64 = 0  # gets
        self.spilled: i64 = 0
        self.spill_reads: i64 = 0
        # Extremes of the depth since `Queue.update_depth_extremes` was last called.
        self.window_high: i64 = 0
        self.window_low: i64 = 0
        self.depth_high: i64 = 0
        self.depth_low: i64 = 0
        self.last_put_ms: i64 = 0
        self.last_get_ms: i64 = 0
        # Time on the queue of the messages got destructively.
        self.age_total_ms: i64 = 0
        self.age_persistent_ms: i64 = 0
        self.age_max_ms: i64 = 0


@final
class ForceCounters:
    """Forces of the recovery log and their latency."""

    def __init__(self) -> None:
        self.forces: i64 = 0
        self.total_us: i64 = 0
        self.max_us: i64 = 0
        self.last_us: i64 = 0
        # Moving averages over the last few dozen and thousand forces, in 1/1024 of a microsecond.
        self.short_average: i64 = 0
        self.long_average: i64 = 0

    def count(self, microseconds: i64) -> None:
        self.forces += 1
        self.total_us += microseconds
        self.last_us = microseconds
        if microseconds > self.max_us:
            self.max_us = microseconds
        if self.forces == 1:
            self.short_average = microseconds << 10
            self.long_average = microseconds << 10
        else:
            self.short_average += ((microseconds << 10) - self.short_average) >> 5
            self.long_average += ((microseconds << 10) - self.long_average) >> 10


def verb_counts(counters: VerbCounters) -> Counts:
    """Return a snapshot. Calls on other objects than queues have the key `others_name`."""
    taken: Counts = {name: getattr(counters, name) for name in _VERBS}
    topics = counters.topics
    for name in _TOPIC:
        taken[name] = getattr(topics, name) if topics is not None else 0
    others = counters.on_others
    if others is not None:
        for key, number in others.items():
            taken[others_name(key // _TYPES, key % _TYPES)] = number
    return taken


def others_name(call: int, object_type: int) -> str:
    return f"call {call} on type {object_type}"


def queue_counts(counters: QueueCounters) -> Counts:
    """Return a snapshot."""
    return {name: getattr(counters, name) for name in _QUEUE}
