"""The experiment of all loads on queue managers with copies, beside the same queue managers without.

Steps say which copies there are, or contestants do: where peers with copies of their own take part, Ostler stands
beside them with as many instances, and alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from ostler.lab.families.load_experiment import VERB_BY_VERB, LoadExperiment, OstlerContestant
from ostler.lab.families.load_points import LoadPoint
from ostler.lab.families.ready_loads import AnyLoad, ReadyOstlerLoad, open_load
from ostler.lab.families.replication.points import ReplicatedPoint, replicated_point
from ostler.lab.families.set_up import run_descriptions
from ostler.lab.families.task import RESULT
from ostler.lab.load.timeline import Timeline
from ostler.lab.peers.registry import REPLICATED
from ostler.lab.runner.contract import (
    WITHOUT_COPIES,
    Contestant,
    Metric,
    PointFailed,
    PointSpec,
    ReadyLoad,
    RunAborted,
    RunContext,
    Watcher,
    WorkerCounts,
)
from ostler.lab.runner.limits import REPLICATED_FORCES
from ostler.lab.runner.queue_managers.loaded_manager import LoadedManager
from ostler.lab.runner.replication.by_commands import start_group
from ostler.lab.runner.replication.port import GroupPlan, ReplicatedQueueManager, StartGroup

ALONE: Final = OstlerContestant(WITHOUT_COPIES)
FROM_MEMORY: Final = OstlerContestant("Ostler, acknowledged in memory")
BACKLOG: Final = "backlog of the other site at the end, bytes"
_FIRST_USE_SECONDS: Final = 0.03
"""The time that the first use of a pair of queues may take."""
_MEMORY_PROMISE: Final = "forced by one instance and received by another before an answer: ReplicationAck=Memory"
_FORCED_PROMISE: Final = "forced by two instances before an answer"
_ALONE_PROMISE: Final = "forced by the only queue manager before an answer"


class ReadyReplicatedLoad(ReadyOstlerLoad):
    """A load on queue managers with copies. How far the other site is behind at the end is among the results."""

    def __init__(
        self, load: AnyLoad, point_spec: PointSpec, groups: Sequence[ReplicatedQueueManager], kind: str, plan: GroupPlan
    ) -> None:
        super().__init__(load, (), point_spec, groups, kind)
        self._groups = groups
        self._plan = plan
        self._backlog_bytes: int | None = None

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        counted = super().run(timeline, watcher)
        if self._plan.has_recovery:
            self._backlog_bytes = sum(each.recovery_backlog_bytes() for each in self._groups)
        return counted

    def results(self) -> Sequence[Metric]:
        found = list(super().results())
        if self._backlog_bytes is not None:
            found.append(Metric(RESULT, BACKLOG, float(self._backlog_bytes)))
        return found


class ReplicationExperiment(LoadExperiment):
    """Queue managers with and without copies under the same load, and two logs in two processes as their limit."""

    keeps_all = False
    """Queue managers of other plans go on running, since contestants take turns."""

    def __init__(
        self,
        context: RunContext,
        ostler_contestants: Sequence[OstlerContestant] = (VERB_BY_VERB,),
        start: StartGroup = start_group,
    ) -> None:
        self._start = start
        self._groups: dict[tuple[GroupPlan, int], list[ReplicatedQueueManager]] = {}
        """By the shape of their plan and their number."""
        self._used: list[LoadedManager] = []
        """The first ones of those that were under load."""
        super().__init__(context, replicated_point, ostler_contestants)

    def _point(self, point: LoadPoint) -> ReplicatedPoint:
        assert isinstance(point, ReplicatedPoint)
        return point

    # -- who takes part ------------------------------------------------------------------------------------------------

    def _peer_contestants(self) -> list[Contestant]:
        """Return none: peers with copies take part where instances are as many as theirs."""
        return []

    def _limit_contestants(self) -> list[Contestant]:
        """Return the limits, each where it is the nearest: with copies that is the one of two logs, and the others are
        those of the same steps without."""
        copied = self._copied_steps()
        if len(copied) == len(self._points):
            return super()._limit_contestants()
        return [
            each
            if each.name == REPLICATED_FORCES.name or each.steps is None
            else replace(each, steps=each.steps - copied)
            for each in super()._limit_contestants()
        ]

    def _copied_steps(self) -> frozenset[int]:
        return frozenset(
            number for number, point in self._points.items() if self._point(point).replication.is_synchronous
        )

    def _copy_round_trip_ms(self, point: LoadPoint) -> float:
        found = self._point(point)
        return found.added_latency_ms if found.replication.is_synchronous else 0.0

    def _configuration_texts(self, point: LoadPoint) -> Mapping[str, str]:
        texts = dict(run_descriptions.manager_texts(point))
        plan = self._point(point).group_plan()
        if plan is not None:
            texts["copies of each queue manager"] = group_text(plan)
        return texts

    # -- one point -----------------------------------------------------------------------------------------------------

    def _group_plan(self, ours: OstlerContestant, point: ReplicatedPoint) -> GroupPlan | None:
        """Return the copies that a contestant has at a step; None for a queue manager without."""
        plan = point.group_plan()
        return plan if plan is None else replace(plan, acknowledges_from_memory=ours is FROM_MEMORY)

    def _prepare_ostler(self, ours: OstlerContestant, point: LoadPoint) -> ReadyLoad:
        plan = self._group_plan(ours, self._point(point))
        if plan is None:
            if not self.keeps_all:
                self._end_groups()
            alone = super()._prepare_ostler(ours, point)
            alone.warm_up_seconds_least = self._first_use_seconds(point, self._managers[0])
            return alone
        groups = self._running_groups(plan, point.managers)
        driver = self._load(ours.name, 1 if ours.is_library else self._context.settings.drivers)
        managers: Sequence[LoadedManager] = groups
        open_load(driver, self._spec(point, ours, managers))
        ready = ReadyReplicatedLoad(driver, self._point_spec(point), groups, point.kind, plan)
        ready.warm_up_seconds_least = self._first_use_seconds(point, groups[0])
        return ready

    def _first_use_seconds(self, point: LoadPoint, first: LoadedManager) -> float:
        """Return the warm-up of queue managers that were just started: each queue's file is made when it is used for
        the first time, at all instances. 0 when they were under load before."""
        if first in self._used:
            return 0.0
        self._used.append(first)
        return _FIRST_USE_SECONDS * point.managers * point.pairs

    def _running_groups(self, plan: GroupPlan, managers: int) -> list[ReplicatedQueueManager]:
        """Return the queue managers with copies: the running ones if they are alive and match, otherwise new ones."""
        key = (plan.shape, managers)
        found = self._groups.get(key, [])
        if not found or not all(each.is_alive for each in found):
            found = self._start_groups(key, plan)
        for each in found:
            each.set_distances(plan.round_trip_ms, plan.recovery_round_trip_ms)
        return found

    def _start_groups(self, key: tuple[GroupPlan, int], plan: GroupPlan) -> list[ReplicatedQueueManager]:
        if self.keeps_all:
            self._end_group_of(key)
        else:
            self._end_groups()
            self._end_managers()
        self._made += 1
        directory = self._context.scratch / f"groups-{self._made}"
        started = self._groups[key] = []
        _, managers = key
        for number in range(managers):
            name = plan.manager.name if managers == 1 else f"{plan.manager.name}{number}"
            self._context.note(f"Queue manager {name} starts with {plan.all_instances} instances.")
            made = replace(plan, manager=replace(plan.manager, name=name))
            try:
                started.append(self._start(directory / name, made))
            except RunAborted as over:
                self._end_group_of(key)
                if not self.keeps_all:
                    raise
                # Others go on: it is one contestant that cannot take part.
                raise PointFailed(str(over)) from over
        return started

    def _end_group_of(self, key: tuple[GroupPlan, int]) -> None:
        for group in self._groups.pop(key, []):
            group.end()
            shutil.rmtree(group.root, ignore_errors=True)

    def _end_groups(self) -> None:
        for key in list(self._groups):
            self._end_group_of(key)

    def close(self) -> None:
        # Drivers first: they would report that their queue managers have ended.
        for load in self._loads.values():
            load.end()
        self._loads.clear()
        self._end_groups()
        super().close()


class CopiesExperiment(ReplicationExperiment):
    """Ostler with three instances beside peers with three copies of each queue, and beside itself without copies."""

    peer_catalogue = REPLICATED
    keeps_all = True

    def __init__(self, context: RunContext, start: StartGroup = start_group) -> None:
        super().__init__(context, (VERB_BY_VERB, FROM_MEMORY, ALONE), start)

    def _ostler(self, ours: OstlerContestant) -> Contestant | None:
        found = super()._ostler(ours)
        if found is None:
            return None
        promises = {VERB_BY_VERB.name: _FORCED_PROMISE, FROM_MEMORY.name: _MEMORY_PROMISE}
        return replace(found, promise=promises.get(ours.name, _ALONE_PROMISE))

    def _peer_contestants(self) -> list[Contestant]:
        return LoadExperiment._peer_contestants(self)

    def _group_plan(self, ours: OstlerContestant, point: ReplicatedPoint) -> GroupPlan | None:
        return None if ours is ALONE else super()._group_plan(ours, point)


def group_text(plan: GroupPlan) -> str:
    """Return the copies of a queue manager in words."""
    lines = [
        f"{plan.instances} instance{'' if plan.instances == 1 else 's'} at this site, {plan.copies} of which force a "
        "record before its application is answered."
        if plan.instances > 1
        else "One instance at this site."
    ]
    if plan.has_recovery:
        lines.append("One instance at another site, which nobody waits for.")
    if plan.round_trip_ms or plan.recovery_round_trip_ms:
        lines.append(
            f"A round trip takes {plan.round_trip_ms:g} ms more between the instances of this site, and "
            f"{plan.recovery_round_trip_ms:g} ms more to the other site."
        )
    if plan.acknowledges_from_memory:
        lines.append("ReplicationAck=Memory.")
    if plan.instances > 1:
        lines.append(f"Arbiter: {plan.arbiter}, LeaseSeconds={plan.lease_seconds}.")
    return "\n".join(lines)
