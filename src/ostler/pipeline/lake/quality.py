"""Rules of data quality, as data: the condition of each row, and the text of a violation.

Most rules follow from the description of the tables: columns that must not be empty or negative. The others relate
columns of one row. Nothing here needs Spark: conditions are Spark SQL as text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ostler.lab.store import schema as samples
from ostler.lab.store.histogram import BUCKETS, VALUE_NS_MAX
from ostler.lab.store.segments import PHASES
from ostler.pipeline.lake.tables import BRONZE, PUBLISHED, LakeTable


@dataclass(frozen=True)
class QualityRule:
    """A rule. `keeps` is true for a row that keeps it; false and unknown both violate it. `text` describes the
    violation."""

    name: str
    table: str
    keeps: str
    text: str


def _not_empty(table: LakeTable) -> list[QualityRule]:
    return [
        QualityRule(f"{each.name}-empty", table.name, f"`{each.name}` IS NOT NULL", f"{each.name} must not be empty")
        for each in table.columns
        if not each.optional
    ]


def _a_number(table: samples.SampleTable) -> list[QualityRule]:
    """Return the rules of real numbers; empty ones have another rule. NaN would be above 0 for Spark."""
    return [
        QualityRule(
            f"{each.name}-no-number",
            table.name,
            f"coalesce(NOT isnan(`{each.name}`) AND abs(`{each.name}`) < double('infinity'), true)",
            f"{each.name} is no number",
        )
        for each in table.columns
        if each.kind is samples.ColumnKind.REAL
    ]


def _not_negative(table: samples.SampleTable) -> list[QualityRule]:
    """Return the rules of counters, extremes and seconds; empty ones have another rule."""
    adding = (samples.Aggregation.SUM, samples.Aggregation.LOWEST, samples.Aggregation.HIGHEST)
    numbers = (samples.ColumnKind.INTEGER, samples.ColumnKind.LONG, samples.ColumnKind.REAL)
    return [
        QualityRule(f"{each.name}-negative", table.name, f"coalesce(`{each.name}`, 0) >= 0", f"{each.name} is below 0")
        for each in table.columns
        if each.kind in numbers and (each.adding in adding or each.name in ("second", "step", "repetition"))
    ]


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{each}'" for each in words)


_TOGETHER: Final = (
    QualityRule("seconds-none", "phase", "seconds > 0 OR phase <> 'measured'", "a measured phase took no time"),
    QualityRule("clients-negative", "phase", "clients >= 0", "clients is below 0"),
    QualityRule("message-bytes-negative", "phase", "message_bytes >= 0", "message_bytes is below 0"),
    QualityRule(
        "extremes-missing",
        "operation",
        "(count > 0) = (lowest_ns IS NOT NULL) AND (count > 0) = (highest_ns IS NOT NULL)",
        "lowest_ns and highest_ns must be there when something was counted, and only then",
    ),
    QualityRule(
        "extremes-turned",
        "operation",
        "lowest_ns IS NULL OR highest_ns IS NULL OR lowest_ns <= highest_ns",
        "lowest_ns is above highest_ns",
    ),
    QualityRule(
        "total-outside",
        "operation",
        # As double: the sum of a second's latencies is far below the precision of a double; products may be above.
        "coalesce(total_ns BETWEEN 0.999999D * lowest_ns * count AND 1.000001D * highest_ns * count, total_ns = 0)",
        "total_ns is not between count times the lowest and count times the highest latency",
    ),
    QualityRule(
        "bucket-unknown", "latency", f"bucket BETWEEN 0 AND {BUCKETS - 1}", f"bucket is not 0 to {BUCKETS - 1}"
    ),
    QualityRule("count-none", "latency", "count >= 1", "count is below 1: buckets that were not hit have no row"),
    QualityRule(
        "core-percent-impossible", "machine", "busiest_core_percent <= 101", "a core was busy more than all the time"
    ),
    QualityRule("cores-none", "machine", "cores >= 1", "cores is below 1"),
    QualityRule(
        "kind-unknown", "event", f"kind IN ({_listed(('flag', 'error', 'note'))})", "kind is not flag, error or note"
    ),
)

_PUBLISHED: Final = (
    QualityRule("report-unknown", PUBLISHED.name, "report <> ''", "report is none of the catalogue"),
    QualityRule("scenario-unknown", PUBLISHED.name, "is_known_scenario", "scenario is none of the catalogue"),
    QualityRule("value-no-number", PUBLISHED.name, "value IS NOT NULL", "value is no number"),
    QualityRule("bytes-no-number", PUBLISHED.name, "are_bytes_sound", "message_bytes is no whole number"),
    QualityRule("clients-no-number", PUBLISHED.name, "are_clients_sound", "clients is no whole number"),
    QualityRule("metric-empty", PUBLISHED.name, "metric <> '' AND unit <> ''", "metric and unit must not be empty"),
    QualityRule(
        "persistence-unknown",
        PUBLISHED.name,
        "persistence IN ('', 'persistent', 'nonpersistent')",
        "persistence is neither persistent nor nonpersistent",
    ),
)

# Rules of a point, over all its rows of `operation` and `latency`.
POINT_RULES: Final = (
    QualityRule(
        "histogram-total",
        "point",
        "count = histogram_count",
        "operations and their histograms do not have the same count",
    ),
    QualityRule(
        "histogram-extremes",
        "point",
        f"count = 0 OR max_ns > {VALUE_NS_MAX} OR max_ns BETWEEN last_bucket_low_ns AND last_bucket_high_ns",
        "the highest latency is not in the last bucket of the histogram",
    ),
)


def _rules(table: LakeTable) -> tuple[QualityRule, ...]:
    own = [each for each in _TOGETHER if each.table == table.name]
    phase = QualityRule(
        "phase-unknown", table.name, f"phase IN ({_listed(PHASES)})", f"phase is none of {', '.join(PHASES)}"
    )
    described = samples.TABLES[table.name]
    return (*_not_empty(table), phase, *_a_number(described), *_not_negative(described), *own)


RULES: Final[dict[str, tuple[QualityRule, ...]]] = {
    **{name: _rules(table) for name, table in BRONZE.items()},
    PUBLISHED.name: _PUBLISHED,
    "point": POINT_RULES,
}
"""All rules of rows, by table."""

FILE_RULES: Final = {
    "segment": "a phase is taken whole or not at all, and something of it is damaged",
    "once": "a phase may be in a run once",
    "file": "a file must be the one that was written, by length and checksum",
    "columns": "a file must have the columns of its table",
    "rows": "a file must have as many rows as its segment says",
    "key": "all rows of a file must have the key of their segment",
    "phase": "a segment must have exactly one row in the table of phases",
}
"""Rules of whole files, which are checked before any row is read."""
