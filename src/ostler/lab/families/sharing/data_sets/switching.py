"""OFFLOAD of a structure is changed under load: from data sets to the database, and back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from ostler.lab.families.eventful_load import BEYOND_SECONDS, Chapter, EventfulLoad
from ostler.lab.families.replication.numbered_clients import QUEUE, NumberedClients
from ostler.lab.families.sharing.data_sets.groups import DataSetExperiment
from ostler.lab.families.sharing.points import REPOSITORY
from ostler.lab.families.task import RESULT
from ostler.lab.families.task_process import TaskProcess
from ostler.lab.runner.contract import PUT, Contestant, Metric, PointSpec, ReadyLoad
from ostler.lab.runner.sharing.plan import (
    Offload,
    RepositoryKind,
    SharedQueue,
    SharingPlan,
    StructurePlan,
)
from ostler.lab.runner.sharing.port import SharingGroup
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.courses import MOMENT, RATES_OF_OFFLOAD, TENTH, TENTHS_PER_SECOND

TO_DATABASE: Final = "OFFLOAD(DB2)"
BACK: Final = "OFFLOAD(SMDS) again"
_DONE: Final = ", done"
_SHARES: Final = (1 / 3, 2 / 3)
_STRUCTURE: Final = StructurePlan("LAB1", offload=Offload.SMDS, is_recoverable=True)
_CLIENTS: Final = 5


class SwitchExperiment(DataSetExperiment):
    def plan(self, step: Step) -> SharingPlan:
        return SharingPlan(
            structures=(_STRUCTURE,),
            queues=(SharedQueue(QUEUE, _STRUCTURE.name),),
            repository=RepositoryKind(str(step.points[REPOSITORY])),
        )

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        group = self.new_group(step)
        size = self._context.scenario.message_bytes[0]
        member = group.members[0]
        make = partial(NumberedClients, member.name, (member.address,), _CLIENTS, size)
        point_spec = PointSpec(clients=2 * _CLIENTS, message_bytes=size, persistent=True, main_operation=PUT)
        process = TaskProcess(make, beyond_seconds=BEYOND_SECONDS)
        chapters = (
            _switch(_SHARES[0], "DB2", TO_DATABASE),
            _switch(_SHARES[1], "SMDS", BACK),
        )
        return _SwitchedLoad(group, group.watched, process, chapters, point_spec, self._context)


def _switch(share: float, place: str, name: str) -> Chapter[SharingGroup]:
    def alter(group: SharingGroup) -> list[Metric]:
        group.mqsc(0, f"ALTER CFSTRUCT({_STRUCTURE.name}) OFFLOAD({place})")
        return []

    return Chapter(share, alter, name, f"{name}{_DONE}")


class _SwitchedLoad(EventfulLoad[SharingGroup]):
    def results(self) -> Sequence[Metric]:
        found = list(super().results())
        return [*found, *phase_rates(found)]


def phase_rates(found: Sequence[Metric]) -> list[Metric]:
    """Return the rates before, between and behind the two changes, from the course of the window."""
    moments = {each.name: each.value for each in found if each.source == MOMENT}
    course = [each.value for each in sorted(found, key=lambda each: each.position) if each.source == TENTH]
    if TO_DATABASE not in moments or BACK not in moments:
        return []
    first, second = (round(moments[name] * TENTHS_PER_SECOND) for name in (TO_DATABASE, BACK))
    parts = (course[:first], course[first:second], course[second:])
    return [
        Metric(RESULT, name, sum(part) * TENTHS_PER_SECOND / len(part))
        for name, part in zip(RATES_OF_OFFLOAD, parts, strict=True)
        if part
    ]
