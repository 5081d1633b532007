"""The recovery log's work in a measured window, as results of a point: write sizes, latencies and LOGUTIL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ostler.lab.runner.contract import Metric

LOG: Final = "log"
LOG_RESULT: Final = "log result"
WRITES: Final = "writes"
WRITE_SIZE: Final = "write size bytes"
WRITE_LATENCY: Final = "write latency us"
WORKLOAD: Final = "workload percent"
IN_USE: Final = "in use percent"
# Metrics of the log that are states: LOGUTIL and LOGINUSE of DISPLAY QMSTATUS.
WORKLOAD_STATE: Final = "utilisation_percent"
IN_USE_STATE: Final = "in_use_percent"


def log_results(before: Sequence[Metric], after: Sequence[Metric]) -> list[Metric]:
    """Return what the log of each queue manager did between two readings of its metrics.

    A log that was not written in between has no size and no latency. One that began again in between, with its queue
    manager, has counted from 0.
    """
    found: list[Metric] = []
    earlier = _by_object(before)
    for name, late in _by_object(after).items():
        early = earlier.get(name, {})
        if late["writes"] < early.get("writes", 0.0):
            early = {}
        grown = {
            counter: late[counter] - early.get(counter, 0.0) for counter in ("writes", "written_bytes", "force_us")
        }
        found.append(Metric(LOG_RESULT, WRITES, grown["writes"], name))
        if grown["writes"] > 0:
            found.append(Metric(LOG_RESULT, WRITE_SIZE, grown["written_bytes"] / grown["writes"], name))
            found.append(Metric(LOG_RESULT, WRITE_LATENCY, grown["force_us"] / grown["writes"], name))
        found.append(Metric(LOG_RESULT, WORKLOAD, late[WORKLOAD_STATE], name))
        found.append(Metric(LOG_RESULT, IN_USE, late[IN_USE_STATE], name))
    return found


def _by_object(metrics: Sequence[Metric]) -> Mapping[str, dict[str, float]]:
    """Return the metrics of logs by queue manager, without those of peers, which lack some."""
    found: dict[str, dict[str, float]] = {}
    for each in metrics:
        if each.source == LOG:
            found.setdefault(each.object, {})[each.name] = each.value
    needed = {"writes", "written_bytes", "force_us", WORKLOAD_STATE, IN_USE_STATE}
    return {name: values for name, values in found.items() if needed <= set(values)}
