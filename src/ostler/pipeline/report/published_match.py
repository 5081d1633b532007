"""Our figure beside a published one: only where metric and variant agree.

The metric must count the same things: round trips, publications, or puts and gets together. Every variant of the
published figure that changes the work (CipherSpec, subscribers, cores, replication, distance, interface, rate) must be
the same in our step. A variant that is unknown here is not assumed to agree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ostler.lab.scenarios.model import Scenario
from ostler.pipeline.report.charts.spreads import spread
from ostler.pipeline.report.drivers import LEAN, driver_of
from ostler.pipeline.report.rows import OSTLER, PointRow, PublishedRow
from ostler.pipeline.steps.contestants import ONE_QUEUE_MANAGER

ROUND_TRIPS: Final = "round_trips_per_s"
MESSAGES: Final = "messages_per_s"
PUBLICATIONS: Final = "publications_per_s"
TRANSACTIONS: Final = "transactions_per_s"
SESSIONS: Final = "sessions_per_s"
RATES: Final = frozenset({ROUND_TRIPS, MESSAGES, PUBLICATIONS, TRANSACTIONS, SESSIONS})
_PER_PUBLISHER: Final = "per publisher"
_ROUND_TRIP, _PUT, _GET, _SESSION = "round trip", "put", "get", "session"
_OPERATIONS: Final = {
    ROUND_TRIPS: (_ROUND_TRIP,),
    TRANSACTIONS: (_ROUND_TRIP,),
    SESSIONS: (_SESSION,),
    PUBLICATIONS: (_PUT,),
    # The publish/subscribe report counts what is put and what is got.
    MESSAGES: (_PUT, _GET),
}
# Variants that a step must have in a parameter of its own; the first name that the step has counts.
_PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = {
    "cipher": ("cipher_spec",),
    "subscribers": ("subscribers",),
    "cores": ("cores",),
    "latency_ms": ("added_latency_ms",),
    "qmgrs": ("queue_managers",),
    "server": ("responder_binding",),
    "shared_conversations": ("shared_conversations",),
    "rate_per_app_per_h": ("requests_per_hour",),
}
_SAME_VALUES: Final = {
    ("server", "trusted"): "trusted",
    ("server", "non-trusted"): "local",
}
_REPLICATIONS: Final = {
    "ha": {"synchronous replication": "synchronous"},
    "dr": {"asynchronous replication": "asynchronous"},
}
# Variants that the scenario fixes, or that name the point of a sweep: they are the same in all of its figures.
_FIXED: Final = frozenset(
    {"think_time", "point", "responders", "queue_pairs", "bind", "driver", "server_threads", "publishers", "channels",
     "requesters", "LogPrimaryFiles", "LogSecondaryFiles", "LogFileSize", "LogBufferPages", "channel_pairs",
     "MaxChannels", "tls", "round_trips_per_session", "common_reply_queue", "queues", "log"}
)  # fmt: skip
_JMS: Final = "JMS"
_HOUR: Final = 3600.0


@dataclass(frozen=True)
class OurFigure:
    """Our value in the unit of the published figure, and the step that it is the best of."""

    value: float
    clients: int
    contestant: str


def our_figure(row: PublishedRow, scenario: Scenario | None, points: Sequence[PointRow]) -> OurFigure | None:
    """Return our highest figure of the same metric and variant with the lean driver, from all points of a run; None
    where we have none."""
    operations = _OPERATIONS.get(row.metric)
    if operations is None or (row.metric == MESSAGES and not _counts_both(scenario)):
        return None
    alike = [point for point in points if _is_candidate(point, row) and _agrees(row, scenario, point)]
    steps: dict[tuple[str, int], list[PointRow]] = defaultdict(list)
    for point in alike:
        steps[point.contestant, point.step].append(point)
    found = [
        OurFigure(value, each[0].clients, each[0].contestant)
        for each in steps.values()
        if _is_same_place(row, each[0]) and (value := _value(row, operations, each)) is not None
    ]
    return max(found, key=lambda each: each.value, default=None)


def _counts_both(scenario: Scenario | None) -> bool:
    """Return whether the report of a scenario counts puts and gets together in messages a second."""
    return scenario is not None and scenario.report.name == "pubsub-v701"


def _is_candidate(point: PointRow, row: PublishedRow) -> bool:
    return (
        point.kind == OSTLER
        and point.contestant != ONE_QUEUE_MANAGER
        and driver_of(point.contestant, point.kind) == LEAN
        and (row.message_bytes is None or point.message_bytes == row.message_bytes)
        and (not row.persistence or point.persistent == (row.persistence == "persistent"))
    )


def _agrees(row: PublishedRow, scenario: Scenario | None, point: PointRow) -> bool:
    return all(_agrees_in(name, value, scenario, point) for name, value in row.variants.items())


def _agrees_in(name: str, value: str, scenario: Scenario | None, point: PointRow) -> bool:
    """Return whether our step has the value of a variant."""
    if name in _FIXED:
        return True
    if name == "api":
        return (value == _JMS) == (_JMS in point.contestant)
    if name in _REPLICATIONS:
        return point.parameters.get("replication") == _REPLICATIONS[name].get(value)
    ours = next((point.parameters[each] for each in _PARAMETERS.get(name, ()) if each in point.parameters), None)
    if ours is not None:
        return ours == _SAME_VALUES.get((name, value), value)
    if scenario is None:
        return False
    return _is_fixed_by(name, value, scenario)


def _is_fixed_by(name: str, value: str, scenario: Scenario) -> bool:
    """Return whether a scenario always has the value of a variant, which none of its sweeps changes."""
    per_second = scenario.load.per_second if scenario.load is not None else 0.0
    if name == "rate_per_producer":
        return value == f"{per_second:g}/s"
    if name == "rate_per_app_per_h":
        return value == f"{per_second * _HOUR:g}"
    if name == "qmgrs":
        return [str(each) for each in scenario.queue_managers] == [value]
    if name == "server":
        roles = [role for role in scenario.roles if role.name == "responders" and role.binding is not None]
        return bool(roles) and all(role.binding == _SAME_VALUES.get((name, value)) for role in roles)
    return False


def _is_same_place(row: PublishedRow, point: PointRow) -> bool:
    """Return whether a step has the clients of a publication rate: it depends on how many subscribers there are."""
    return row.metric != PUBLICATIONS or row.clients is None or row.clients == point.clients


def _value(row: PublishedRow, operations: Sequence[str], points: Sequence[PointRow]) -> float | None:
    """Return the median over repetitions of the sum of operations; None where one of them was not measured."""
    sums: dict[int, dict[str, float]] = defaultdict(dict)
    for point in points:
        if point.operation in operations:
            sums[point.repetition][point.operation] = point.rate
    found = spread(sum(rates.values()) for rates in sums.values() if len(rates) == len(operations))
    if found is None:
        return None
    if _PER_PUBLISHER in row.unit:
        # Each publisher has one subscriber there.
        return found.middle / (points[0].clients / 2) if points[0].clients else None
    return found.middle
