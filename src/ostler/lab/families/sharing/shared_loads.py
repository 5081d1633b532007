"""The experiment of all loads on shared queues: members of a group under load, beside private queues where asked."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from ostler.lab.families.load_experiment import VERB_BY_VERB, LoadExperiment, OstlerContestant
from ostler.lab.families.load_points import LoadPoint
from ostler.lab.families.ready_loads import AnyLoad, ReadyOstlerLoad, open_load
from ostler.lab.families.set_up import run_descriptions
from ostler.lab.families.sharing.points import SharedPoint, shared_point
from ostler.lab.families.task import RESULT
from ostler.lab.load.spec import LoadSpec
from ostler.lab.load.timeline import Timeline
from ostler.lab.runner.contract import (
    Contestant,
    ContestantKind,
    Metric,
    PointFailed,
    PointSpec,
    ReadyLoad,
    RunContext,
    Watcher,
    WorkerCounts,
)
from ostler.lab.runner.queue_managers.loaded_manager import LoadedManager
from ostler.lab.runner.sharing.by_commands import start_sharing
from ostler.lab.runner.sharing.plan import Offload, SharingPlan
from ostler.lab.runner.sharing.port import (
    BUFFER_WAITS,
    LOWEST_FREE,
    OFFLOADED,
    READS_SAVED,
    USED_PERCENT,
    SharingGroup,
    StartSharing,
)
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.model import Binding, Deviation

PRIVATE: Final = OstlerContestant("Ostler, private queues")
"""The same load on one queue manager whose queues nobody shares."""
_PROMISE: Final = (
    "answered when the coupling facility has the message; persistent messages and units of work are forced to the log "
    "of the queue manager first"
)


class ReadySharedLoad(ReadyOstlerLoad):
    """A load on the members of a group."""

    def __init__(self, load: AnyLoad, point_spec: PointSpec, group: SharingGroup, kind: str) -> None:
        super().__init__(load, (), point_spec, group.members, kind)
        self._group = group

    def processes(self) -> Sequence[WatchedProcess]:
        return [*super().processes(), *self._group.watched_facility()]

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        self._figures()  # from here on
        return super().run(timeline, watcher)

    def _figures(self) -> list[Metric]:
        """Return what buffers of data sets did since the last call, at the first member: those of all are alike."""
        if not any(each.offload is Offload.SMDS for each in self._group.plan.structures):
            return []
        return self._group.data_set_figures(0)

    def results(self) -> Sequence[Metric]:
        kept = (USED_PERCENT, OFFLOADED, BUFFER_WAITS, READS_SAVED, LOWEST_FREE)
        found = [*self._group.results(), *self._figures()]
        # Structures are as many as queues in some steps: what is in the fullest says it.
        values: dict[str, list[float]] = {}
        for each in found:
            if each.name in kept:
                values.setdefault(each.name, []).append(each.value)
        told = {name: min(many) if name in (READS_SAVED, LOWEST_FREE) else max(many) for name, many in values.items()}
        return [*super().results(), *(Metric(RESULT, name, value) for name, value in told.items())]


class SharedQueueExperiment(LoadExperiment):
    """Members of a group under load, and bare limits."""

    def __init__(
        self,
        context: RunContext,
        ostler_contestants: Sequence[OstlerContestant] = (VERB_BY_VERB,),
        start: StartSharing = start_sharing,
    ) -> None:
        self._start = start
        self._groups: dict[str, tuple[SharingPlan, SharingGroup]] = {}
        """By contestant: those that take turns keep their groups."""
        super().__init__(context, shared_point, ostler_contestants)

    @staticmethod
    def _point(point: LoadPoint) -> SharedPoint:
        assert isinstance(point, SharedPoint)
        return point

    # -- who takes part ------------------------------------------------------------------------------------------------

    def _ostler(self, ours: OstlerContestant) -> Contestant | None:
        found = super()._ostler(ours)
        if found is None or found.steps is None:
            return found
        steps = frozenset(number for number in found.steps if not self._missing(self._points[number]))
        if ours is PRIVATE:
            return replace(found, steps=steps) if steps else None
        return replace(found, steps=steps, promise=_PROMISE) if steps else None

    def _missing(self, point: LoadPoint) -> list[str]:
        """Return the features that a step needs and that are not there."""
        features = catalogue().features
        return [need for need in self._point(point).needs if not features[need].is_usable]

    def _peer_contestants(self) -> list[Contestant]:
        """Return none: peers share no queues among brokers without copying them."""
        return []

    def _limit_contestants(self) -> list[Contestant]:
        able = frozenset(number for number, point in self._points.items() if not self._missing(point))
        found = []
        for each in super()._limit_contestants():
            steps = able if each.steps is None else each.steps & able
            if steps:
                found.append(replace(each, steps=steps))
        return found

    @property
    def deviations(self) -> Sequence[Deviation]:
        left_out: dict[str, list[str]] = {}
        for step in self._context.steps:
            for need in self._missing(self._points[step.number]):
                left_out.setdefault(need, []).append(" ".join(str(each) for each in step.points.values()))
        features = catalogue().features
        found = [
            Deviation(f"Not measured: {'; '.join(steps)}", f"They need what is not there yet: {features[need].name}.")
            for need, steps in left_out.items()
        ]
        shares = {self._point(each).facility_cores for each in self._points.values()} - {0.0}
        if shares:
            listed = ", ".join(f"{each:g}" for each in sorted(shares))
            what = f"The coupling facility may use {listed} of a processor of this machine, where a step says so"
            found.append(Deviation(what, "The report's is a partition with 3 shared processors."))
        return [*found, *super().deviations]

    def _configuration_texts(self, point: LoadPoint) -> Mapping[str, str]:
        shared = self._point(point)
        plan = shared.group_plan()
        member = replace(shared, manager=plan.manager)
        lines = [
            f"strcf LABCF: the coupling facility, {plan.facility}",
            *run_descriptions.shortened([*plan.commands()]),
        ]
        return {**run_descriptions.manager_texts(member), "queue-sharing group": "\n".join(lines)}

    # -- one point -----------------------------------------------------------------------------------------------------

    def _group_plan(self, ours: OstlerContestant, point: SharedPoint) -> SharingPlan:
        plan = point.group_plan()
        is_accounting = self._context.settings.accounting
        return replace(plan, manager=replace(plan.manager, is_accounting=is_accounting))

    def _prepare_ostler(self, ours: OstlerContestant, point: LoadPoint) -> ReadyLoad:
        if ours is PRIVATE:
            return super()._prepare_ostler(ours, replace(point, managers=1))
        group = self._running_group(ours.name, self._group_plan(ours, self._point(point)))
        driver = self._load(ours.name, self._context.settings.drivers)
        open_load(driver, self._spec(point, ours, group.members))
        return ReadySharedLoad(driver, self._point_spec(point), group, point.kind)

    def _spec(self, point: LoadPoint, ours: OstlerContestant, managers: Sequence[LoadedManager]) -> LoadSpec:
        shared = self._point(point)
        if ours is PRIVATE or not managers:
            return super()._spec(point, ours, managers)
        made = super()._spec(point, ours, [managers[number] for number in shared.asking()])
        is_client = point.responder_binding is Binding.CLIENT
        there = [managers[at].address if is_client else managers[at].local_path for at in shared.answering()]
        return replace(made, is_shared=True, responder_address=there[0], responder_others=tuple(there[1:]))

    def _running_group(self, contestant: str, plan: SharingPlan) -> SharingGroup:
        """Return the group of a contestant: the running one if it is alive and matches, otherwise a new one."""
        known = self._groups.get(contestant)
        if known is not None and known[0] == plan and known[1].is_alive:
            return known[1]
        self._end_group(contestant)
        self._made += 1
        members = f"{plan.members} queue manager{'' if plan.members == 1 else 's'}"
        self._context.note(f"A queue-sharing group of {members} starts.")
        group = self._start(self._context.scratch / f"group-{self._made}", plan)
        if group.limit_note:
            self._context.note(f"The coupling facility: {group.limit_note}.")
        self._groups[contestant] = plan, group
        return group

    def _end_group(self, contestant: str) -> None:
        known = self._groups.pop(contestant, None)
        if known is not None:
            known[1].end()
            shutil.rmtree(known[1].root, ignore_errors=True)

    def close(self) -> None:
        # Drivers first: they would report that their queue managers have ended.
        for load in self._loads.values():
            load.end()
        self._loads.clear()
        for contestant in list(self._groups):
            with suppress(PointFailed):
                self._end_group(contestant)
        super().close()


class SharedAndPrivate(SharedQueueExperiment):
    """Shared queues of one queue manager beside private ones."""

    def __init__(self, context: RunContext, start: StartSharing = start_sharing) -> None:
        super().__init__(context, (VERB_BY_VERB, PRIVATE), start)

    def contestants(self) -> Sequence[Contestant]:
        found = list(super().contestants())
        alone = frozenset(number for number, point in self._points.items() if point.managers == 1)
        return [
            replace(each, steps=(each.steps or alone) & alone)
            if each.name == PRIVATE.name and each.kind is ContestantKind.OSTLER
            else each
            for each in found
        ]
