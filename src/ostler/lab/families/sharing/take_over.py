"""A member of a group is lost while clients at all members put and get: peers settle its units, and work goes on."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from ostler.lab.families.eventful_load import BEYOND_SECONDS, Chapter, EventfulLoad
from ostler.lab.families.replication.numbered_clients import QUEUE, NumberedClients
from ostler.lab.families.set_up import run_descriptions
from ostler.lab.families.set_up.fresh_groups import FreshGroups
from ostler.lab.families.task import RESULT
from ostler.lab.families.task_process import TaskProcess
from ostler.lab.runner.contract import (
    PUT,
    Contestant,
    ContestantKind,
    Experiment,
    Metric,
    PointSpec,
    ReadyLoad,
    RunContext,
)
from ostler.lab.runner.sharing.by_commands import start_sharing
from ostler.lab.runner.sharing.plan import GROUP, SharedQueue, SharingPlan, StructurePlan
from ostler.lab.runner.sharing.port import SharingGroup, StartSharing
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.courses import BACK_IN_GROUP, RECOVERED

EVENT: Final = "event"
KILLED: Final = "killed"
ENDED: Final = "ended in good order"
OSTLER: Final = Contestant(
    "Ostler",
    ContestantKind.OSTLER,
    "forced to the log of the queue manager, and in the coupling facility, before an answer",
)
_VICTIM: Final = 0
_RECOVERED_SECONDS_MAX: Final = 60.0
_STRUCTURE: Final = StructurePlan("LAB1", is_recoverable=True)


class TakeOverExperiment(Experiment):
    """A new group for every point."""

    def __init__(self, context: RunContext, start: StartSharing = start_sharing) -> None:
        self._context = context
        self._groups = FreshGroups(start, context.scratch)

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER]

    @property
    def configuration(self) -> Mapping[str, str]:
        plans = {step.points["queue_managers"]: self._plan(step) for step in self._context.steps}
        return {
            f"group of {members}": "\n".join(run_descriptions.shortened([*plan.commands()]))
            for members, plan in plans.items()
        }

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        group = self._new_group(self._plan(step))
        clients = int(str(step.points["clients"]))
        body_bytes = self._context.scenario.message_bytes[0]
        point_spec = PointSpec(clients=2 * clients, message_bytes=body_bytes, persistent=True, main_operation=PUT)
        addresses = tuple(each.address for each in group.members)
        make = partial(NumberedClients, f"*{GROUP}", addresses, clients, body_bytes, is_spread=True)
        chapters = _killed() if step.points[EVENT] == KILLED else _ended()
        process = TaskProcess(make, beyond_seconds=BEYOND_SECONDS)
        return EventfulLoad(group, group.watched, process, chapters, point_spec, self._context)

    @staticmethod
    def _plan(step: Step) -> SharingPlan:
        members = int(str(step.points["queue_managers"]))
        return SharingPlan(members=members, structures=(_STRUCTURE,), queues=(SharedQueue(QUEUE, _STRUCTURE.name),))

    def _new_group(self, plan: SharingPlan) -> SharingGroup:
        self._context.note(f"A queue-sharing group of {plan.members} queue managers starts.")
        return self._groups.new(plan)

    def close(self) -> None:
        self._groups.end()


def _killed() -> tuple[Chapter[SharingGroup], ...]:
    def kill(group: SharingGroup) -> list[Metric]:
        began = time.perf_counter()
        group.kill(_VICTIM)
        group.wait_until_recovered(_VICTIM, _RECOVERED_SECONDS_MAX)
        return [Metric(RESULT, RECOVERED, time.perf_counter() - began)]

    return Chapter(0.33, kill, "queue manager killed", "recovered by peers"), _returns()


def _ended() -> tuple[Chapter[SharingGroup], ...]:
    def end(group: SharingGroup) -> list[Metric]:
        group.stop(_VICTIM)
        return []

    return Chapter(0.33, end, "queue manager ends", "it has ended"), _returns()


def _returns() -> Chapter[SharingGroup]:
    def start(group: SharingGroup) -> list[Metric]:
        began = time.perf_counter()
        group.start(_VICTIM)
        return [Metric(RESULT, BACK_IN_GROUP, time.perf_counter() - began)]

    return Chapter(0.6, start, "started again", "in the group again")
