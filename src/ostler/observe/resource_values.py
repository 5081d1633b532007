"""Values of resource publications, derived from the counts of an interval under the sources of `resource_table`."""

from __future__ import annotations

from typing import Final

from ostler.model.counters import Counts
from ostler.observe.verb_fields import puts_to_queues

_PERCENT: Final = 10_000  # 100 per cent, in hundredths
_MICROSECONDS: Final = 1000


def percent(part: int, whole: int) -> int:
    """Return a share in hundredths of a per cent; 0 of nothing."""
    return part * _PERCENT // whole if whole > 0 else 0


def verb_values(verbs: Counts) -> Counts:
    """Return the values of STATMQI that come from counters of calls, connects and disconnects."""
    values: Counts = {**verbs, **_put_values(verbs), **_get_values(verbs)}
    put = puts_to_queues(verbs)
    values["queue_puts_total"] = put.nonpersistent + put.persistent + put.nonpersistent_put1s + put.persistent_put1s
    values["queue_put_bytes_total"] = put.nonpersistent_bytes + put.persistent_bytes
    values["all_disconnects"] = verbs["disconnects"] + verbs["disconnects_lost"] + verbs["disconnects_by_manager"]
    values["commits_done"] = verbs["commits"] - verbs["commits_failed"]
    values["callbacks"] = sum(verbs[f"cbs_{e}"] for e in ("registered", "deregistered", "resumed", "suspended"))
    values["controls"] = sum(verbs[f"ctls_{e}"] for e in ("started", "stopped", "resumed", "suspended"))
    values["topic_puts_nonpersistent"] = verbs["topic_puts"] - verbs["topic_puts_persistent"]
    return values


def queue_values(counts: Counts, depth: int) -> Counts:
    """Return the values of STATQ."""
    values: Counts = {**counts, **_put_values(counts), **_get_values(counts)}
    values["avoided_puts_percent"] = percent(counts["handed_over"], counts["puts"])
    values["avoided_bytes_percent"] = percent(counts["handed_over_bytes"], counts["put_bytes"])
    values["gets_and_browses"] = counts["gets"] + counts["browses"]
    values["get_and_browse_bytes"] = counts["get_bytes"] + counts["browse_bytes"]
    values["destructive_empty"] = counts["gets_empty"] - counts["browses_empty"]
    values["destructive_truncated"] = counts["gets_truncated"] - counts["browses_truncated"]
    gets = counts["gets"]
    values["queue_time_us"] = counts["age_total_ms"] * _MICROSECONDS // gets if gets > 0 else 0
    values["depth"] = depth
    return values


def _put_values(c: Counts) -> Counts:
    put = puts_to_queues(c)
    return {
        "queue_puts_nonpersistent": put.nonpersistent,
        "queue_puts_persistent": put.persistent,
        "queue_puts_failed": put.failed,
        "queue_put1s_nonpersistent": put.nonpersistent_put1s,
        "queue_put1s_persistent": put.persistent_put1s,
        "queue_put1s_failed": put.failed_put1s,
        "queue_put_bytes_nonpersistent": put.nonpersistent_bytes,
        "queue_put_bytes_persistent": put.persistent_bytes,
    }


def _get_values(c: Counts) -> Counts:
    return {
        "gets_nonpersistent": c["gets"] - c["gets_persistent"],
        "get_bytes_nonpersistent": c["get_bytes"] - c["get_bytes_persistent"],
        "browses_nonpersistent": c["browses"] - c["browses_persistent"],
        "browse_bytes_nonpersistent": c["browse_bytes"] - c["browse_bytes_persistent"],
        # A get that finds no message has failed; counts of failures include browses.
        "destructive_failed": c["gets_failed"] + c["gets_empty"] - c["browses_failed"],
    }
