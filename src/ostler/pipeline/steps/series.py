"""Series: the steps of a sweep that belong to one curve, which differ in the number of clients only."""

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
"""Sweeps that determine the number of requesters."""
# Channels are as many as clients, or a multiple, where each has applications of its own. Elsewhere they are an option
# of the shared connection.
_CHANNEL_SWEEPS: Final = frozenset({"channels", "channel_pairs"})
_PER_CHANNEL: Final = frozenset({"channel", "channel pair"})
# Parameters that the laboratory adds to the sweeps' points, and those that follow from the number of clients.
_ADDED: Final = frozenset({"operation", "asked rate", "responders", "queue pairs"})


def sweeps_of_scenarios() -> dict[str, tuple[str, ...]]:
    """Return the names of all sweeps but those of clients, for each scenario of the catalogue."""
    return {
        name: tuple(sweep.name for sweep in scenario.sweeps if sweep.name not in client_sweeps(scenario))
        for name, scenario in catalogue().scenarios.items()
    }


def client_sweeps(scenario: Scenario) -> frozenset[str]:
    """Return the sweeps of a scenario that change the number of requesters."""
    is_by_channel = any(role.per in _PER_CHANNEL for role in scenario.roles)
    return CLIENT_SWEEPS if is_by_channel else CLIENT_SWEEPS - _CHANNEL_SWEEPS


def series_text(sweeps: Mapping[str, tuple[str, ...]]) -> Column:
    """Return the constant parameters of a curve, by name: `cipher_spec=none, message_bytes=2048`.

    From the columns `scenario` and `parameters`. Those that the catalogue sweeps; of an unknown scenario, all but the
    number of clients.
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
