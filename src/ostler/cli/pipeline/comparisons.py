"""The comparisons of the lake that `ostler pipeline compare` shows: kinds, selection and order."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

WORSE: Final = "worse"
NOT_COMPARABLE: Final = "not comparable"
RATIO: Final = "ratio"
RELEASE: Final = "release"
REPEAT: Final = "repeat"
RATE: Final = "rate"
KINDS: Final = {
    RELEASE: "Release to release",
    REPEAT: "The same again",
    "option": "Option to option",
    "product": "Product to product",
    RATIO: "Ratios of published reports beside ours",
}
_AGAIN: Final = ", the same again"

Row = Mapping[str, Any]


@dataclass(frozen=True)
class ShownComparisons:
    """The comparisons to show, and the number of those left out, by the option that shows them."""

    rows: tuple[Row, ...]
    left_out: Mapping[str, int]


def select_comparisons(rows: Sequence[Row], arguments: argparse.Namespace) -> ShownComparisons:
    """Returns the comparisons that the options select, in the order of kinds."""
    order = list(KINDS)
    selected = [
        row
        for row in rows
        if (not arguments.kind or row["kind"] in arguments.kind)
        and (not arguments.scenario or row["scenario"] in arguments.scenario)
        and (not arguments.runs or row["left_run"] in arguments.runs or row["right_run"] in arguments.runs)
    ]
    # Runs that are named are shown even if later ones exist.
    earlier = set() if arguments.history or arguments.runs else _superseded_runs(rows)
    kept: list[Row] = []
    left_out = {"--published": 0, "--history": 0, "--all": 0}
    for row in selected:
        option = _needed_option(row, arguments, earlier)
        if option:
            left_out[option] += 1
        else:
            kept.append(row)
    kept.sort(key=lambda row: (order.index(row["kind"]), *_sort_key(row)))
    return ShownComparisons(tuple(kept), left_out)


def _needed_option(row: Row, arguments: argparse.Namespace, earlier: set[tuple[str, ...]]) -> str:
    """Returns the option that is needed to show a comparison; empty if it is shown."""
    if row["kind"] == RATIO and row["our_ratio"] is None:
        return "" if arguments.published else "--published"
    if row["kind"] in (RELEASE, REPEAT) and (row["right_run"], *_series_key(row)) in earlier:
        return "--history"
    if row["clients"] is None and row["metric"] == RATE:
        return ""
    return "" if arguments.is_all else "--all"


def _superseded_runs(rows: Sequence[Row]) -> set[tuple[str, ...]]:
    """Returns runs that were compared with later ones, each with its series."""
    return {(row["left_run"], *_series_key(row)) for row in rows if row["kind"] in (RELEASE, REPEAT)}


def _series_key(row: Row) -> tuple[str, ...]:
    """Returns the key that successive runs of one contestant share."""
    name = row["subject"].removesuffix(_AGAIN) if row["kind"] == REPEAT else row["subject"].partition(": ")[0]
    return name, row["scenario"], row["series"], row["metric"], str(row["clients"])


def _sort_key(row: Row) -> tuple[str, str, str, str, int, str]:
    return row["subject"], row["scenario"], row["series"], row["metric"], row["clients"] or 0, row["right_run"]
