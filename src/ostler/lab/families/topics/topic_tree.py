"""Family `topic-tree`: the cost of trees of many topics, and of removing unused topics."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from ostler import __version__
from ostler.lab.common.processor_time import process_ns
from ostler.lab.families.task import RESULT, count_in, wait_until
from ostler.lab.families.task_process import Agreement, ReadyTask, TaskProcess
from ostler.lab.families.topics.topic_tasks import (
    LOOK,
    MINUTE_US,
    IdleWatch,
)
from ostler.lab.families.topics.tree_experiment import LIFE_HERE, OSTLER, ROUNDS, OnTrees
from ostler.lab.families.topics.tree_manager import (
    MEMORY_PER_TOPIC,
    NEVER,
    PROBES_PER_SECOND,
    TOPICS,
    LagProbe,
    SharedFlag,
    TopicTreeManager,
)
from ostler.lab.families.topics.used_trees import DisplayedTrees, SubscribedTrees
from ostler.lab.load.timeline import MEASURED, PhaseRecorder, Timeline
from ostler.lab.runner.contract import (
    ROUND_TRIP,
    Contestant,
    ContestantKind,
    CountCheck,
    Experiment,
    Metric,
    PointFailed,
    PointSpec,
    ReadyLoad,
    RunContext,
    Watcher,
    WorkerCounts,
)
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.scenarios.steps import Step

GONE: Final = "clearing"
UNTIL_GONE: Final = "seconds until all are gone"
REMOVED: Final = "topics removed"
_GONE_SECONDS_MAX: Final = 80.0
_POLL_SECONDS: Final = 0.02
_REMOVABLE: Final = "yes"
CONTROL: Final = Contestant(
    "Ostler, idle control", ContestantKind.OSTLER, "the same tree, TREELIFE(0): nothing goes", version=__version__
)


def experiment(context: RunContext) -> Experiment:
    names = {sweep.name for sweep in context.scenario.sweeps}
    kinds: dict[frozenset[str], Callable[[RunContext], Experiment]] = {
        frozenset({"tree_life_seconds"}): IdleTrees,
        frozenset({"removable"}): ScavengedTrees,
        frozenset({"levels"}): LeveledTrees,
        frozenset({"topics", "tree_life_seconds"}): SubscribedTrees,
        frozenset({"topics", "subscription"}): SubscribedTrees,
        frozenset({"topics"}): DisplayedTrees,
    }
    return kinds[frozenset(names)](context)


# -- nothing to do -----------------------------------------------------------------------------------------------------


class IdleTrees(OnTrees):
    """An idle queue manager without topics."""

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER, CONTROL]

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        tree = self.tree("")
        life = NEVER if contestant == CONTROL else self.life(step)
        tree.live(life)
        point_spec = PointSpec(0, 0, False, parameters={LIFE_HERE: str(life)}, main_operation=LOOK)
        ready = Watching(point_spec, TaskProcess(partial(IdleWatch, tree.manager.pid)), tree)
        # All windows are as long as that of the longest life: half an hour of the report, and a little more.
        ready.measured_seconds_least = 1.0 + 1.1 * max(self.life(each) for each in self._context.steps)
        return ready


class Watching(ReadyTask):
    """An idle queue manager, and how often its scavenger runs in the window."""

    def __init__(self, point_spec: PointSpec, task: TaskProcess, tree: TopicTreeManager) -> None:
        super().__init__(point_spec, task, tree.manager.watched(), tree.manager.metrics)
        self._tree = tree
        self._rounds: list[Metric] = []

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        self._rounds = []
        beside = threading.Thread(target=self._count, args=(timeline,), daemon=True)
        beside.start()
        try:
            return super().run(timeline, watcher)
        finally:
            beside.join()

    def _count(self, timeline: Timeline) -> None:
        # The runner reports a queue manager that has ended.
        with suppress(PointFailed):
            wait_until(timeline.measured_ns)
            before = self._tree.counters()[1]
            wait_until(timeline.cool_ns)
            self._rounds = [Metric(RESULT, ROUNDS, self._tree.counters()[1] - before)]

    def results(self) -> Sequence[Metric]:
        return [*super().results(), *self._rounds]


# -- many topics, some of which may go ---------------------------------------------------------------------------------


class ScavengedTrees(OnTrees):
    """Many topics that are removed, or examined repeatedly, and the effect on a client."""

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER, CONTROL]

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        removable = str(step.points["removable"])
        tree = self.tree(removable, is_only_one=True)
        tree.fill(self.topics(), retain=removable != _REMOVABLE)
        life = self.life(step)
        parameters = {TOPICS: str(self.topics()), LIFE_HERE: str(life)}
        point_spec = PointSpec(1, 0, False, PROBES_PER_SECOND, parameters, ROUND_TRIP)
        flag: SharedFlag | None = None
        if contestant == OSTLER:
            flag = multiprocessing.get_context("spawn").Value("b", 0, lock=False)
        task = TaskProcess(partial(LagProbe, tree.manager.address, flag))
        ready = Scavenging(point_spec, task, tree, flag, removable == _REMOVABLE, life)
        ready.measured_seconds_least = 2.0 * life
        return ready


class Scavenging(ReadyTask):
    """A light client while topics are removed. Without a flag the topics stay."""

    def __init__(
        self,
        point_spec: PointSpec,
        task: TaskProcess,
        tree: TopicTreeManager,
        flag: SharedFlag | None,
        is_removable: bool,
        life: int,
    ) -> None:
        manager = tree.manager
        # The queue manager counts a get that finds no message as failed.
        agreements = (Agreement((ROUND_TRIP,), "gets_empty"),)
        super().__init__(point_spec, task, manager.watched(), manager.metrics, agreements)
        self._tree = tree
        self._flag = flag
        self._is_removable = is_removable
        self._life = life
        self._found: list[Metric] = []
        self._failure: PointFailed | None = None

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        self._found, self._failure = [], None
        beside = threading.Thread(target=self._beside, args=(timeline,), daemon=True)
        beside.start()
        try:
            return super().run(timeline, watcher)
        finally:
            beside.join()
            if self._failure is not None:
                raise self._failure

    def results(self) -> Sequence[Metric]:
        return [*super().results(), *self._found]

    def _beside(self, timeline: Timeline) -> None:
        """Run `_scavenge` in a thread of its own."""
        try:
            self._scavenge(timeline)
        except PointFailed as failure:
            self._failure = failure

    def _scavenge(self, timeline: Timeline) -> None:
        tree, pid = self._tree, self._tree.manager.pid
        made = tree.made()
        removed, rounds = tree.counters()
        began = wait_until(timeline.measured_ns)
        used = process_ns(pid)
        gone_seconds: float | None = None
        if self._flag is not None:
            self._flag.value = 1
            tree.live(self._life)
            if self._is_removable:
                gone_seconds = _wait_until_gone(tree, removed + made, began)
                self._flag.value = 0
        now = wait_until(timeline.cool_ns)
        minute_us = (process_ns(pid) - used) / 1000 / ((now - began) / 1e9) * 60
        if self._flag is not None:
            self._flag.value = 0
        tree.live(0)
        removed_now, rounds_now = tree.counters()
        metrics = {
            MINUTE_US: minute_us,
            TOPICS: made,
            REMOVED: removed_now - removed,
            ROUNDS: rounds_now - rounds,
            MEMORY_PER_TOPIC: tree.memory_per_topic,
        }
        if gone_seconds is not None:
            metrics[UNTIL_GONE] = gone_seconds
        self._found = [Metric(RESULT, name, value) for name, value in metrics.items()]


def _wait_until_gone(tree: TopicTreeManager, removed: int, began_ns: int) -> float:
    """Wait until this many topics were removed, and return the seconds."""
    while True:
        seconds = (time.perf_counter_ns() - began_ns) / 1e9
        there = removed - tree.counters()[0]
        if there <= 0:
            return seconds
        if seconds > _GONE_SECONDS_MAX:
            raise PointFailed(f"{there:,} topics were still there after {seconds:.0f} s")
        time.sleep(_POLL_SECONDS)


# -- level by level ----------------------------------------------------------------------------------------------------


class LeveledTrees(OnTrees):
    """Unused topics in branches of this many levels."""

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER]

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        life = self.life(step)
        parameters = {TOPICS: str(self.topics()), LIFE_HERE: str(life)}
        point_spec = PointSpec(0, 0, False, parameters=parameters, main_operation=GONE)
        return Passes(point_spec, self.tree(""), self.topics(), int(step.points["levels"]), life)


class Passes(ReadyLoad):
    """Topics are created and removed repeatedly until the window is over, at least once in it."""

    def __init__(self, point_spec: PointSpec, tree: TopicTreeManager, topics: int, levels: int, life: int) -> None:
        self.point_spec = point_spec
        self._tree = tree
        self._topics = topics
        self._levels = levels
        self._life = life
        self._results: list[Metric] = []
        self._made = self._removed = 0

    def processes(self) -> Sequence[WatchedProcess]:
        return self._tree.manager.watched()

    def metrics(self) -> Sequence[Metric]:
        return self._tree.manager.metrics()

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        recorder = PhaseRecorder(timeline)
        tree = self._tree
        self._results, self._made = [], 0
        first = tree.counters()[0]
        now = wait_until(timeline.measured_ns)
        while not self._results or now < timeline.cool_ns:
            made = tree.fill(self._topics, self._levels)
            removed, rounds = tree.counters()
            began = time.perf_counter_ns()
            tree.live(self._life)
            seconds = _wait_until_gone(tree, removed + made, began)
            tree.live(0)
            now = time.perf_counter_ns()
            count_in(recorder, MEASURED, GONE, seconds, now)
            self._made += made
            passes = tree.counters()[1] - rounds
            position = len(self._results) // 2
            self._results.append(Metric(RESULT, UNTIL_GONE, seconds, position=position))
            self._results.append(Metric(RESULT, ROUNDS, passes, position=position))
        self._removed = tree.counters()[0] - first
        return (WorkerCounts(0, recorder.phases),)

    def results(self) -> Sequence[Metric]:
        return self._results

    def check_counts(self, counted: Sequence[WorkerCounts]) -> Sequence[CountCheck]:
        return [CountCheck(REMOVED, self._made, self._removed)]

    def close(self) -> None:
        return
