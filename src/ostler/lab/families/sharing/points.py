"""Translation of a scenario of shared queues and a step of its sweeps into a load, and into the group it is put on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Final

from ostler.lab.families.load_points import REQUESTERS, RESPONDERS, LoadPoint, load_point, role_of
from ostler.lab.families.set_up.queue_manager_plans import manager_commands
from ostler.lab.runner.sharing.plan import (
    FacilityKind,
    Offload,
    RepositoryKind,
    SharingPlan,
    StructurePlan,
    shared_pairs,
)
from ostler.lab.scenarios.model import Persistence, Point, Scenario
from ostler.lab.scenarios.steps import Step

HELD_BYTES_MAX: Final = 63 * 1024 - 512
"""A longer message, with its descriptor, is offloaded whatever the rules say."""
KEPT_BYTES: Final = 122
"""A shorter message is never offloaded."""
MEMBERS: Final = "queue_managers"
LAYOUT: Final = "layout"
LEVEL: Final = "level"
ALL_OFFLOADED: Final = "CFLEVEL(5), all offloaded"
STRUCTURES: Final = "structures"
SEVERAL: Final = "several of level 5"
FACILITY_CORES: Final = "facility_cores"
REPOSITORY: Final = "repository"
"""The engine of the shared repository: SQLite or PostgreSQL."""
APPLICATIONS_PER_PAIR: Final = "applications_per_pair"
_REQUESTERS_EACH, _SERVERS_EACH = 5, 4
"""At each queue manager, where the report does not say: as many as in its regression tests of shared queues."""
_SERVING_OF_SIX: Final = 4
_DATA_SETS, _DATABASE = "offload-smds", "offload-db2"


class Layout(StrEnum):
    """The queue managers that put and get, in the words of the parameter `layout`."""

    COMMON = "common"
    """All use one set of queues, and any may get a message."""
    CROSSED = "crossed"
    """What is put at a queue manager is got at the next one; with two that is data sharing, with three a ring."""
    APART = "apart"
    """Requesters are at some queue managers, servers at the others."""


@dataclass(frozen=True)
class SharedPoint(LoadPoint):
    """The load of a step, and the group. `manager` is the plan of a queue manager that has the queues for itself."""

    layout: Layout = Layout.COMMON
    structures: tuple[StructurePlan, ...] = ()
    own_commands: tuple[str, ...] = ()
    """MQSC for each member itself."""
    facility: FacilityKind = FacilityKind.OWN
    facility_cores: float = 0.0
    is_remote: bool = False
    structure_megabytes: int = 512
    repository: RepositoryKind = RepositoryKind.SQLITE

    @property
    def needs(self) -> tuple[str, ...]:
        """The features that this step needs besides those of its scenario."""
        return tuple(sorted({need for each in self.structures for need in self._needs(each)}))

    def _needs(self, structure: StructurePlan) -> tuple[str, ...]:
        is_offloaded = self.body_bytes > HELD_BYTES_MAX or (structure.offloads_all and self.body_bytes >= KEPT_BYTES)
        if not is_offloaded:
            return ()
        is_database = structure.level < 5 or structure.offload is Offload.DB2
        return (_DATABASE if is_database else _DATA_SETS,)

    def asking(self) -> range:
        """Return the members with requesters."""
        return range(self.managers - _SERVING_OF_SIX if self.layout is Layout.APART else self.managers)

    def answering(self) -> list[int]:
        """Return the members with servers: those of a pair are at the same place in this list as its requesters."""
        everybody = list(range(self.managers))
        if self.layout is Layout.APART:
            return everybody[self.managers - _SERVING_OF_SIX :]
        return everybody if self.layout is Layout.COMMON else [*everybody[1:], everybody[0]]

    def group_plan(self) -> SharingPlan:
        return SharingPlan(
            manager=replace(self.manager, commands=self.own_commands),
            members=self.managers,
            structures=self.structures,
            queues=shared_pairs(self.pairs, self.structures),
            facility=self.facility,
            facility_cores=self.facility_cores,
            is_remote=self.is_remote,
            structure_megabytes=self.structure_megabytes,
            repository=self.repository,
        )


def shared_point(scenario: Scenario, step: Step) -> SharedPoint:
    """Return the load of a step."""
    points = step.points
    members = int(str(points.get(MEMBERS, scenario.queue_managers[0] if scenario.queue_managers else 1)))
    layout = Layout(str(points.get(LAYOUT, scenario.parameters.get(LAYOUT, Layout.COMMON))))
    if members == 1:
        layout = Layout.COMMON
    pairs = _pairs(scenario, points, layout, members)
    # Queues are those of the group, and not of each queue manager.
    parameters = {**scenario.parameters, "queue_pairs": pairs}
    found = load_point(replace(scenario, queue_managers=(1,), parameters=parameters), step)
    requesters, servers = _applications(scenario, points, pairs, members, layout)
    values = {each.name: getattr(found, each.name) for each in fields(LoadPoint)}
    made = SharedPoint(
        **{**values, "requesters": requesters, "responders": servers, "managers": members, "goes_round": False},
        layout=layout,
        structures=_structures(scenario, points, pairs),
        own_commands=manager_commands(scenario),
        facility=FacilityKind(str(points.get("facility", FacilityKind.OWN))),
        facility_cores=_cores(str(points.get(FACILITY_CORES, scenario.parameters.get(FACILITY_CORES, 0)))),
        is_remote=bool(scenario.parameters.get("remote_facility", False)),
        structure_megabytes=int(str(scenario.parameters.get("structure_megabytes", 512))),
        repository=RepositoryKind(
            str(points.get(REPOSITORY, scenario.parameters.get(REPOSITORY, RepositoryKind.SQLITE)))
        ),
    )
    return replace(made, parameters=_shown(made))


def _pairs(scenario: Scenario, points: Mapping[str, Point], layout: Layout, members: int) -> int:
    if "queue_pairs" in points:
        return int(points["queue_pairs"])
    # A pair for the requesters of each queue manager, so that others answer them.
    return members if layout is Layout.CROSSED else int(str(scenario.parameters.get("queue_pairs", 1)))


def _applications(
    scenario: Scenario, points: Mapping[str, Point], pairs: int, members: int, layout: Layout
) -> tuple[int, int]:
    """Return the requesters and servers of all queue managers together."""
    if APPLICATIONS_PER_PAIR in points:
        return (pairs * int(points[APPLICATIONS_PER_PAIR]),) * 2
    asking, answering = role_of(scenario, REQUESTERS), role_of(scenario, RESPONDERS)
    if asking is not None and asking.per == "queue pair" and asking.counts and answering is not None:
        return pairs * asking.counts[0], pairs * max((*answering.counts, 1))
    asked = asking.counts[0] if asking is not None and asking.counts else _REQUESTERS_EACH
    answered = answering.counts[0] if answering is not None and answering.counts else _SERVERS_EACH
    if "requesters" in points:
        asked = int(points["requesters"])
        answered = max(asked, answered)
    if layout is Layout.APART:
        return asked * (members - _SERVING_OF_SIX), answered * _SERVING_OF_SIX
    return asked * members, max(answered * members, pairs)


def _structures(scenario: Scenario, points: Mapping[str, Point], pairs: int) -> tuple[StructurePlan, ...]:
    """Return the structures of a step: by level, by number, or one with the values of the scenario."""
    parameters = scenario.parameters
    persistence = points.get("persistence", scenario.persistence[0] if scenario.persistence else "")
    block = int(str(points.get("block_bytes", parameters.get("block_bytes", 0))))
    buffers = int(str(points.get("buffers", parameters.get("buffers", 0))))
    offloads_all = bool(parameters.get("offload_all", False)) or points.get("offload") == "all"
    level = str(points.get(LEVEL, parameters.get(LEVEL, "CFLEVEL(5)")))
    several = str(points.get(STRUCTURES, ""))
    if several:
        level = "CFLEVEL(4)" if several.endswith("level 4") else "CFLEVEL(5)"
    is_database = level == "CFLEVEL(4)" or points.get("offload") == Offload.DB2
    one = StructurePlan(
        "LAB1",
        level=4 if level == "CFLEVEL(4)" else 5,
        offload=Offload.DB2 if is_database else Offload.SMDS,
        offloads_all=level != "CFLEVEL(4)" and (offloads_all or level == ALL_OFFLOADED),
        is_recoverable=persistence == Persistence.PERSISTENT.value,
        block_bytes=block,
        buffers=buffers,
    )
    count = pairs if several == SEVERAL else 1
    return tuple(replace(one, name=f"LAB{number}") for number in range(1, count + 1))


def _cores(text: str) -> float:
    """Return the processors of the facility; 0 for all of them."""
    return 0.0 if text in ("", "all") else float(text)


def _shown(point: SharedPoint) -> dict[str, str]:
    found = {"queue managers": str(point.managers), "servers": str(point.responders)}
    if len(point.structures) > 1:
        found["structures"] = str(len(point.structures))
    if point.managers > 1:
        found["layout"] = point.layout.value
    return {**found, **point.parameters}
