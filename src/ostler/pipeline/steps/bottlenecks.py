"""The limit of a curve, from its best step. The rules are data, the first that holds is the answer.

The driver comes first: when it had no reserve, it was measured, whatever else was busy. The rate of the bare log or
network is a limit while it is near: a rate far above it shows that the probe was disturbed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from ostler.pipeline.steps.contestants import ONE_QUEUE_MANAGER

UNKNOWN: Final = "unknown"


@dataclass(frozen=True)
class LimitRule:
    """A rule. `holds` and `words` are SQL over the columns of a best step, as in `scaling`."""

    limited_by: str
    holds: str
    words: str


# The simulated distance and the batch size, where they are swept. One queue manager has no distance.
_TRIP_MS: Final = "nullif(try_cast(regexp_extract(series, 'round_trip_ms=([0-9]+)', 1) AS double), 0)"
_BATCH: Final = "try_cast(regexp_extract(series, 'batch_size=([0-9]+)', 1) AS double)"
_BY_CLIENTS: Final = f"(1000 * clients / {_TRIP_MS})"
_BY_BATCHES: Final = f"(1000 * {_BATCH} / {_TRIP_MS})"

RULES: Final = (
    LimitRule(UNKNOWN, "kind = 'limit'", "'it is a limit itself: what the bare machine does'"),
    LimitRule(
        UNKNOWN,
        "asked_rate IS NOT NULL AND rate >= 0.95 * asked_rate",
        "format_string('the load asked for %,.0f a second and had them: no limit was reached', asked_rate)",
    ),
    LimitRule(
        "driver",
        "exists(flags, each -> each LIKE 'driver-saturated%')",
        "'a driver used its whole core: the driver was measured'",
    ),
    LimitRule(
        "broker",
        "broker_core_percent >= 90 * usable_cores",
        "format_string('it used %.0f%% of a core, of %d that it can use', broker_core_percent, usable_cores)",
    ),
    LimitRule(
        "log",
        "persistent AND disk_busy_percent >= 90",
        "format_string('the disk was busy %.0f%% of the time', disk_busy_percent)",
    ),
    LimitRule(
        "log",
        "persistent AND rate BETWEEN 0.8 * log_limit_rate AND 1.25 * log_limit_rate",
        "format_string('%,.0f a second are %.0f%% of what the bare log could keep', rate, 100 * rate / log_limit_rate)",
    ),
    LimitRule(
        "network",
        "rate BETWEEN 0.8 * network_limit_rate AND 1.25 * network_limit_rate",
        "format_string('%,.0f a second are %.0f%% of the bare network', rate, 100 * rate / network_limit_rate)",
    ),
    LimitRule(
        "network",
        f"operation = 'round trip' AND contestant <> '{ONE_QUEUE_MANAGER}'"
        f" AND rate BETWEEN 0.8 * {_BY_CLIENTS} AND 1.25 * {_BY_CLIENTS}",
        f"format_string('over a distance of %.0f ms there and back %d clients make %,.0f a second at most',"
        f" {_TRIP_MS}, clients, {_BY_CLIENTS})",
    ),
    LimitRule(
        "network",
        f"operation <> 'round trip' AND contestant <> '{ONE_QUEUE_MANAGER}'"
        f" AND rate BETWEEN 0.8 * {_BY_BATCHES} AND 1.25 * {_BY_BATCHES}",
        f"format_string('%,.0f a second are %.0f%% of one batch of %.0f in each round trip of %.0f ms',"
        f" rate, 100 * rate / {_BY_BATCHES}, {_BATCH}, {_TRIP_MS})",
    ),
    LimitRule(
        "machine",
        "machine_busy_percent >= 90 AND exists(flags, each -> each LIKE 'others-busy%')",
        "format_string('all cores together were %.0f%% busy, much of it by programs that are no part of the run',"
        " machine_busy_percent)",
    ),
    LimitRule(
        "machine",
        "machine_busy_percent >= 90",
        "format_string('all cores together were %.0f%% busy, by drivers and all', machine_busy_percent)",
    ),
)
# Unknown values are omitted: `format_string` would turn them into the word null.
_OTHERWISE: Final = (
    "concat_ws(', ', 'nothing was full',"
    " CASE WHEN broker_core_percent IS NOT NULL"
    " THEN format_string('the broker used %.0f%% of a core', broker_core_percent) END,"
    " CASE WHEN machine_busy_percent IS NOT NULL"
    " THEN format_string('all cores were %.0f%% busy', machine_busy_percent) END,"
    " CASE WHEN persistent AND log_forces_per_second > 0"
    " THEN format_string('the log was forced %,.0f times a second', log_forces_per_second) END,"
    " CASE WHEN steps > 1 AND clients = most_clients"
    " THEN 'the rate was still rising with the most clients' END)"
)
NETWORK_PROBES: Final = ("bare ping-pong", "bare relay", "bare one-way", "bare exchanges over a Unix socket")
LOG_PROBES: Final = ("group commit", "writing and forcing")


def limited_by() -> Column:
    return _first(F.lit(UNKNOWN), [F.lit(rule.limited_by) for rule in RULES])


def why() -> Column:
    return _first(F.expr(_OTHERWISE), [F.expr(rule.words) for rule in RULES])


def _first(otherwise: Column, answers: list[Column]) -> Column:
    """Return the answer of the first rule that holds."""
    found = otherwise
    for rule, answer in reversed(list(zip(RULES, answers, strict=True))):
        found = F.when(F.coalesce(F.expr(rule.holds), F.lit(False)), answer).otherwise(found)
    return found
