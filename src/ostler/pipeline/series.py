"""Which steps of a sweep belong to one curve: those that differ in the number of clients only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from ostler.lab.scenarios.loader import catalogue

CLIENT_SWEEPS: Final = frozenset(
    {"applications", "channel_pairs", "channels", "clients", "connections", "pipes", "publishers", "queue_pairs"}
    | {"queues", "requesters", "subscribers", "triplets"}
)
"""Sweeps that say how many there are of those who make requests."""
# What the laboratory adds to the points of the sweeps, and what follows from the number of clients.
_ADDED: Final = frozenset({"operation", "asked rate", "responders", "queue pairs"})


def sweeps_of_scenarios() -> dict[str, tuple[str, ...]]:
    """The names of all sweeps but those of clients, for each scenario of the catalogue."""
    return {
        name: tuple(sweep.name for sweep in scenario.sweeps if sweep.name not in CLIENT_SWEEPS)
        for name, scenario in catalogue().scenarios.items()
    }


def series_text(scenario: Column, parameters: Column, sweeps: Mapping[str, tuple[str, ...]]) -> Column:
    """The parameters that stay the same along a curve, `message_bytes=2048, cipher_spec=none`, by name.

    Those that the catalogue sweeps; of a scenario that it does not know, all that do not tell the number of clients.
    """
    known = F.lit(None).cast("array<string>")
    # The scenarios of a lake are few of many that share their sweeps.
    by_names: dict[tuple[str, ...], list[str]] = {}
    for name, names in sweeps.items():
        by_names.setdefault(names, []).append(name)
    for names, scenarios in by_names.items():
        listed = F.array(*(F.lit(each) for each in names)).cast("array<string>")
        known = F.when(scenario.isin(scenarios), listed).otherwise(known)
    others = sorted(CLIENT_SWEEPS | _ADDED)
    kept = F.map_filter(
        parameters,
        lambda name, _: F.when(known.isNotNull(), F.array_contains(known, name)).otherwise(~name.isin(others)),
    )
    texts = F.transform(F.map_entries(kept), lambda each: F.concat(each["key"], F.lit("="), each["value"]))
    return F.array_join(F.array_sort(texts), ", ")
