"""Translation of a scenario with copies and a step of its sweeps into a load, and into the copies it is put on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Final

from ostler.lab.families.load_points import LoadPoint, load_point
from ostler.lab.load import spec
from ostler.lab.runner.contract import PUT
from ostler.lab.runner.replication.port import GroupPlan
from ostler.lab.scenarios.model import LoadKind, Point, Scenario, Topology
from ostler.lab.scenarios.steps import Step

PAIR: Final = 2
"""The report's appliances are pairs."""
INSTANCES: Final = "instances"
"""A parameter: the instances of a group, where it is no pair."""
ADDED_LATENCY: Final = "added_latency_ms"
_COPIED: Final = "copied"
_WORKLOAD: Final = "workload"
_WINDOW_MESSAGES: Final = 4000


class Replication(StrEnum):
    """The copies of a step, in the words of the sweep `replication`."""

    NONE = "none"
    SYNCHRONOUS = "synchronous"
    ASYNCHRONOUS = "asynchronous"
    BOTH = "both"

    @property
    def is_synchronous(self) -> bool:
        return self in (Replication.SYNCHRONOUS, Replication.BOTH)

    @property
    def has_recovery(self) -> bool:
        return self in (Replication.ASYNCHRONOUS, Replication.BOTH)


@dataclass(frozen=True)
class ReplicatedPoint(LoadPoint):
    """The load of a step, and the copies of each of its queue managers."""

    replication: Replication = Replication.NONE
    instances: int = PAIR
    """The instances of a group that is copied to synchronously, with the one that leads."""
    added_latency_ms: float = 0.0
    """The addition to a round trip between the instances, or to the other site where only that has a copy."""
    instances_most: int = 1
    """The instances of a queue manager in the step that has most of them: all steps have logs of the same size."""

    @property
    def logs(self) -> int:
        return self.managers * self.instances_most

    def group_plan(self) -> GroupPlan | None:
        """Return the copies of each queue manager; None where there are none."""
        kind = self.replication
        if kind is Replication.NONE:
            return None
        instances = self.instances if kind.is_synchronous else 1
        return GroupPlan(
            manager=self.manager,
            instances=instances,
            copies=min(PAIR, instances),
            has_recovery=kind.has_recovery,
            round_trip_ms=self.added_latency_ms if kind.is_synchronous else 0.0,
            recovery_round_trip_ms=0.0 if kind.is_synchronous else self.added_latency_ms,
        )


def replicated_point(scenario: Scenario, step: Step) -> ReplicatedPoint:
    """Return the load of a step. Scenarios without a sweep of copies have those of their topology in all steps."""
    found = load_point(scenario, step)
    if scenario.load is not None and scenario.load.kind is LoadKind.FLAT_OUT:
        found = _one_way(found)
    replication = _replication(scenario, step.points)
    instances = int(str(scenario.parameters.get(INSTANCES, PAIR)))
    added = float(str(step.points.get(ADDED_LATENCY, 0)))
    values = {each.name: getattr(found, each.name) for each in fields(LoadPoint)}
    return ReplicatedPoint(
        **{**values, "parameters": _shown(found.parameters, replication, instances)},
        replication=replication,
        instances=instances,
        added_latency_ms=added,
        instances_most=_most(scenario, instances),
    )


def is_replicated(scenario: Scenario) -> bool:
    """Return whether some steps of a scenario have copies."""
    return any(each in (Topology.HIGH_AVAILABILITY, Topology.DISASTER_RECOVERY) for each in scenario.topology)


def _replication(scenario: Scenario, points: Mapping[str, Point]) -> Replication:
    if "replication" in points:
        return Replication(str(points["replication"]))
    if _WORKLOAD in points:
        is_copied = str(points[_WORKLOAD]).startswith(_COPIED)
        return Replication.SYNCHRONOUS if is_copied else Replication.NONE
    return of_topology(scenario)


def of_topology(scenario: Scenario) -> Replication:
    has_ha = Topology.HIGH_AVAILABILITY in scenario.topology
    has_dr = Topology.DISASTER_RECOVERY in scenario.topology
    if has_ha and has_dr:
        return Replication.BOTH
    return Replication.SYNCHRONOUS if has_ha else Replication.ASYNCHRONOUS if has_dr else Replication.NONE


def _most(scenario: Scenario, instances: int) -> int:
    most = of_topology(scenario)
    return (instances if most.is_synchronous else 1) + most.has_recovery


def _one_way(found: LoadPoint) -> LoadPoint:
    """Return producers and consumers of the request queues. A put is what waits for the copies."""
    return replace(
        found,
        kind=spec.ONE_WAY,
        goes_round=False,
        window=_WINDOW_MESSAGES,
        main_operation=PUT,
    )


def _shown(parameters: Mapping[str, str], replication: Replication, instances: int) -> dict[str, str]:
    shown = dict(parameters)
    if replication.is_synchronous:
        shown["instances"] = str(instances)
    if replication is not Replication.NONE:
        shown["copied"] = replication.value
    return shown
