"""The space map of a data set is made anew after an abnormal end, by the entries of its structure, one by one."""

from __future__ import annotations

import time
from typing import Final

from ostler.client.api.connection import connect
from ostler.client.api.message import Message
from ostler.lab.families.sharing.data_sets.groups import DataSetExperiment
from ostler.lab.families.sharing.data_sets.repeated import RepeatedOperation
from ostler.lab.runner.contract import Contestant, PointFailed, PointSpec, ReadyLoad
from ostler.lab.runner.sharing.plan import Offload, SharedQueue, SharingPlan, StructurePlan
from ostler.lab.runner.sharing.port import SharingGroup
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.courses import MAPPED
from ostler.model.errors import MQError

REBUILD: Final = "space map made"
_BODY_BYTES: Final = 1024


class SpaceMapExperiment(DataSetExperiment):
    def plan(self, step: Step) -> SharingPlan:
        count = int(str(step.points["structures"]))
        structures = tuple(
            StructurePlan(f"LAB{number}", offload=Offload.SMDS, offloads_all=True) for number in range(1, count + 1)
        )
        queues = tuple(SharedQueue(f"LAB.HELD.{each.name}", each.name) for each in structures)
        return SharingPlan(structures=structures, queues=queues)

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        group = self.new_group(step)
        queues = [each.name for each in group.plan.queues]
        messages = int(str(step.points["messages"])) // len(queues)
        self.fill(group, queues, messages, _BODY_BYTES, False)
        return _Rebuilding(group, queues, messages)


class _Rebuilding(RepeatedOperation):
    """Kill the queue manager and start it; the first put of a structure waits for its space map."""

    def __init__(self, group: SharingGroup, queues: list[str], messages: int) -> None:
        super().__init__(PointSpec(1, _BODY_BYTES, False, main_operation=REBUILD))
        self._group = group
        self._queues = queues
        self._messages = messages * len(queues)

    def operate(self) -> tuple[float, dict[str, float]]:
        group = self._group
        group.kill(0)
        group.start(0)
        member = group.members[0]
        try:
            with connect(member.name, data=member.root, binding="local", application="ostler-lab") as application:
                opened = [application.open(name, "w") for name in self._queues]
                began = time.perf_counter()
                for queue in opened:
                    queue.put(Message(bytes(_BODY_BYTES), persistent=False), syncpoint=False)
                seconds = time.perf_counter() - began
        except MQError as error:
            raise PointFailed(f"a message could not be put behind the restart: {error}") from None
        self._messages += len(self._queues)
        return seconds, {MAPPED: self._messages / seconds}
