"""Metrics of published figures in our words and units, and their variants as parameters of our steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ostler.lab.store.courses import BACKED_UP
from ostler.pipeline.steps.comparison_metrics import (
    CLIENTS_WITHIN_SECOND,
    MEMORY,
    MESSAGES,
    PROCESSOR_TIME,
    PUBLICATIONS,
    RATE,
    RESPONSE_TIME,
)


@dataclass(frozen=True)
class PublishedMetric:
    """A metric and its unit in reports. A figure times `factor` has the unit of `ours`."""

    metric: str
    unit: str
    ours: str
    factor: float = 1.0


PUBLISHED_METRICS: Final = (
    PublishedMetric("round_trips_per_s", "round trips/s", RATE),
    PublishedMetric("transactions_per_s", "transactions/s", RATE),
    PublishedMetric("messages_per_s", "messages/s", MESSAGES),
    PublishedMetric("publications_per_s", "publications/s", PUBLICATIONS),
    PublishedMetric("response_time_s", "s", RESPONSE_TIME, 1e6),
    PublishedMetric("latency_ms", "ms", RESPONSE_TIME, 1e3),
    PublishedMetric("cpu_us_per_tx", "CPU microseconds/transaction", PROCESSOR_TIME),
    PublishedMetric("max_apps_rt_le_1s", "applications", CLIENTS_WITHIN_SECOND),
    PublishedMetric("storage_kb", "KB", MEMORY, 1024.0),
    PublishedMetric("mb_per_s", "MB/s", BACKED_UP),
)
AT_CLIENTS: Final = (RESPONSE_TIME,)
"""Metrics that are compared at the same number of clients; the others at peaks."""
PARAMETERS: Final = {
    "cipher": "cipher_spec",
    "cores": "cores",
    "latency_ms": "added_latency_ms",
    "log": "log",
    "sharecnv": "shared_conversations",
    "subscribers": "subscribers",
    "channels": "channels",
}
"""Variants of published figures that are parameters of our steps."""
SWEPT: Final = {"rate_per_app_per_h": "requests_per_hour"}
"""Variants that are parameters where a scenario sweeps them, and describe the scenario elsewhere."""
DESCRIBED: Final = (
    *("api", "bind", "qmgrs", "queue_pairs", "responders", "requesters", "think_time", "point", "server", "driver"),
    *("server_threads", "publishers", "rate_per_producer", "rate_per_app_per_h", "channel_pairs", "MaxChannels"),
    *("LogPrimaryFiles", "LogSecondaryFiles", "LogFileSize", "LogBufferPages", "common_reply_queue", "bound", "ha"),
    *("dr", "size includes headers", "round_trips_per_session", "requesters_per_pair", "publication_rate"),
)
"""Variants that describe what the scenario itself is: every run of it has them."""
# Of footprints only those of one channel or connection are what we measure.
_FOOTPRINTS: Final = ("channel initiator footprint per SVRCONN channel", "channel initiator footprint per channel")
# Of megabytes those of backups: the others are what disks and channel paths did.
_BACKUP: Final = "backup rate"
_JMS: Final = "JMS"


def in_our_words(published: DataFrame) -> DataFrame:
    """Return figures with `our_metric` and `our_value`; both are null where we have no such metric."""
    known = [(F.col("metric") == each.metric) & (F.col("unit") == each.unit) for each in PUBLISHED_METRICS]
    what = F.coalesce(F.col("variants")["what"], F.lit(""))
    is_ours = (
        F.when(F.col("metric") == "storage_kb", what.isin(*_FOOTPRINTS))
        .when(F.col("metric") == "mb_per_s", what == _BACKUP)
        .otherwise(F.lit(True))
    )
    return published.withColumns(
        {
            "our_metric": F.when(is_ours, _first(known, [F.lit(each.ours) for each in PUBLISHED_METRICS])),
            "our_value": F.when(
                is_ours, F.col("value") * _first(known, [F.lit(each.factor) for each in PUBLISHED_METRICS])
            ),
        }
    )


def _first(conditions: list[Column], answers: list[Column]) -> Column:
    found = F.lit(None)
    for condition, answer in zip(reversed(conditions), reversed(answers), strict=True):
        found = F.when(condition, answer).otherwise(found)
    return found


def unknown_variant() -> Column:
    """Return the first variant of a figure that no run of ours has, as `name=value`; null when there is none."""
    known = [*PARAMETERS, *DESCRIBED, "what"]
    entries = F.map_entries("variants")
    others = F.filter(entries, lambda each: ~each["key"].isin(known))
    texts = F.array_sort(F.transform(others, lambda each: F.concat(each["key"], F.lit("="), each["value"])))
    return F.when(F.size(texts) > 0, F.element_at(texts, 1))


def is_jms() -> Column:
    """Return whether the programs of a figure used JMS."""
    return F.startswith(F.coalesce(F.col("variants")["api"], F.lit("")), F.lit(_JMS))
