"""Which steps of a sweep belong to one curve: those that differ in the number of clients only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.model import Scenario

CLIENT_SWEEPS: Final = frozenset(
    {"applications", "channel_pairs", "channels", "clients", "connections", "pipes", "publishers", "queue_pairs"}
    | {"queues", "requesters", "subscribers", "triplets"}
)
"""Sweeps that say how many there are of those who make requests."""
# Channels are as many as clients, or as many times so, where each has applications of its own. Elsewhere they are an
# option of the road that all take.
_CHANNEL_SWEEPS: Final = frozenset({"channels", "channel_pairs"})
_PER_CHANNEL: Final = frozenset({"channel", "channel pair"})
# What the laboratory adds to the points of the sweeps, and what follows from the number of clients.
_ADDED: Final = frozenset({"operation", "asked rate", "responders", "queue pairs"})


def sweeps_of_scenarios() -> dict[str, tuple[str, ...]]:
    """The names of all sweeps but those of clients, for each scenario of the catalogue."""
    return {
        name: tuple(sweep.name for sweep in scenario.sweeps if sweep.name not in client_sweeps(scenario))
        for name, scenario in catalogue().scenarios.items()
    }


def client_sweeps(scenario: Scenario) -> frozenset[str]:
    """Sweeps of a scenario that change how many make requests."""
    is_by_channel = any(role.per in _PER_CHANNEL for role in scenario.roles)
    return CLIENT_SWEEPS if is_by_channel else CLIENT_SWEEPS - _CHANNEL_SWEEPS


def series_text(sweeps: Mapping[str, tuple[str, ...]]) -> Column:
    """The parameters that stay the same along a curve, by name: `cipher_spec=none, message_bytes=2048`.

    Of the columns `scenario` and `parameters`. Those that the catalogue sweeps; of a scenario that it does not know,
    all that do not tell the number of clients.
    """
    # One expression as text: built from columns, it would be thousands of calls to Spark.
    known = f"map({', '.join(f'{_quoted(name)}, {_array(names)}' for name, names in sweeps.items())})"
    others = _array(sorted(CLIENT_SWEEPS | _ADDED))
    kept = (
        f"map_filter(parameters, (name, value) -> coalesce(array_contains(try_element_at({known}, scenario), name), "
        f"NOT array_contains({others}, name)))"
    )
    texts = f"transform(map_entries({kept}), each -> concat(each.key, '=', each.value))"
    return F.expr(f"array_join(array_sort({texts}), ', ')")


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _array(names: Iterable[str]) -> str:
    return f"CAST(array({', '.join(_quoted(each) for each in names)}) AS array<string>)"
