"""Family `topic-tree`: the cost of trees of many topics, and of removing unused topics.

Unused topics are removed after TREELIFE seconds. Windows are shorter than the lives in reports, so where topics should
go within one, TREELIFE is set to a second when it begins: all of them are older than that.
"""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from ostler import __version__
from ostler.lab.common.processor_time import process_ns
from ostler.lab.families.bare_exchange import BareExchange
from ostler.lab.families.task import RESULT, count_in, wait_until
from ostler.lab.families.task_process import Agreement, ReadyTask, TaskProcess
from ostler.lab.families.topics.topic_tasks import (
    CLOSE,
    DISPLAY,
    DISPLAYED,
    LOOK,
    MINUTE_US,
    SUBSCRIBE,
    DisplayTask,
    IdleWatch,
    SubscribeLoop,
)
from ostler.lab.families.topics.tree_manager import (
    MEMORY_PER_TOPIC,
    PROBES_PER_SECOND,
    TOPICS,
    LagProbe,
    SharedFlag,
    TopicTreeManager,
)
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
    SilentWatcher,
    Watcher,
    WorkerCounts,
)
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.roles import PROBE

GONE: Final = "clearing"
UNTIL_GONE: Final = "seconds until all are gone"
REMOVED: Final = "topics removed"
ROUNDS: Final = "rounds"
TOPICS_BEFORE: Final = "topics at the beginning"
TOPICS_AFTER: Final = "topics at the end"
FEWER_WHEN_QUICK: Final = 10
_SHORT_LIFE: Final = 1
_GONE_SECONDS_MAX: Final = 80.0
_POLL_SECONDS: Final = 0.02
_EXCHANGE_BYTES: Final = 64
_REMOVABLE: Final = "yes"

OSTLER: Final = Contestant(
    "Ostler", ContestantKind.OSTLER, "unused topics go after TREELIFE seconds", version=__version__
)
CONTROL: Final = Contestant(
    "Ostler, idle control", ContestantKind.OSTLER, "the same tree, TREELIFE(0): nothing goes", version=__version__
)
FEW: Final = Contestant(
    "Ostler, few topics", ContestantKind.OSTLER, "no topics but those of these subscriptions", version=__version__
)
EXCHANGES: Final = Contestant("bare exchanges", ContestantKind.LIMIT, "64 bytes there and back, for each")


def experiment(context: RunContext) -> Experiment:
    names = {sweep.name for sweep in context.scenario.sweeps}
    kinds: dict[frozenset[str], Callable[[RunContext], Experiment]] = {
        frozenset({"tree_life_seconds"}): IdleTrees,
        frozenset({"removable"}): ScavengedTrees,
        frozenset({"levels"}): LeveledTrees,
        frozenset({"topics", "tree_life_seconds"}): SubscribedTrees,
        frozenset({"topics"}): DisplayedTrees,
    }
    return kinds[frozenset(names)](context)


class _OnTrees(Experiment):
    """Queue managers with topic trees. Each is kept until the experiment ends or another replaces it."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._trees: dict[str, TopicTreeManager] = {}
        self._made = 0

    def tree(self, name: str, is_only_one: bool = False) -> TopicTreeManager:
        found = self._trees.get(name)
        if found is not None and found.manager.is_alive:
            return found
        if is_only_one:
            self.close()
        self._made += 1
        root = self._context.scratch / f"tree-{self._made}"
        settings = self._context.settings
        found = self._trees[name] = TopicTreeManager(root, settings.accounting, self._context.note)
        return found

    def topics(self) -> int:
        """Return the number of topics of a scenario that does not sweep it; the quick form has fewer."""
        topics = self._context.scenario.parameters["topics"]
        assert isinstance(topics, int)
        return topics // FEWER_WHEN_QUICK if self._context.settings.is_quick else topics

    def close(self) -> None:
        while self._trees:
            self._trees.popitem()[1].end()


# -- nothing to do -----------------------------------------------------------------------------------------------------


class IdleTrees(_OnTrees):
    """An idle queue manager without topics."""

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER, CONTROL]

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        tree = self.tree("")
        tree.live(0 if contestant == CONTROL else int(step.points["tree_life_seconds"]))
        point_spec = PointSpec(0, 0, False, main_operation=LOOK)
        return ReadyTask(
            point_spec, TaskProcess(partial(IdleWatch, tree.manager.pid)), tree.manager.watched(), tree.manager.metrics
        )


# -- many topics, some of which may go ---------------------------------------------------------------------------------


class ScavengedTrees(_OnTrees):
    """Many topics that are removed, or examined repeatedly, and the effect on a client."""

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER, CONTROL]

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        removable = str(step.points["removable"])
        tree = self.tree(removable, is_only_one=True)
        tree.fill(self.topics(), retain=removable != _REMOVABLE)
        point_spec = PointSpec(1, 0, False, PROBES_PER_SECOND, {TOPICS: str(self.topics())}, ROUND_TRIP)
        flag: SharedFlag | None = None
        if contestant == OSTLER:
            flag = multiprocessing.get_context("spawn").Value("b", 0, lock=False)
        task = TaskProcess(partial(LagProbe, tree.manager.address, flag))
        return Scavenging(point_spec, task, tree, flag, removable == _REMOVABLE)


class Scavenging(ReadyTask):
    """A light client while topics are removed. Without a flag the topics stay."""

    def __init__(
        self,
        point_spec: PointSpec,
        task: TaskProcess,
        tree: TopicTreeManager,
        flag: SharedFlag | None,
        is_removable: bool,
    ) -> None:
        manager = tree.manager
        # The queue manager counts a get that finds no message as failed.
        agreements = (Agreement((ROUND_TRIP,), "gets_empty"),)
        super().__init__(point_spec, task, manager.watched(), manager.metrics, agreements)
        self._tree = tree
        self._flag = flag
        self._is_removable = is_removable
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
            tree.live(_SHORT_LIFE)
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


class LeveledTrees(_OnTrees):
    """Unused topics in branches of this many levels."""

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER]

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        point_spec = PointSpec(0, 0, False, parameters={TOPICS: str(self.topics())}, main_operation=GONE)
        return Passes(point_spec, self.tree(""), self.topics(), int(step.points["levels"]))


class Passes(ReadyLoad):
    """Topics are created and removed repeatedly until the window is over, at least once in it."""

    def __init__(self, point_spec: PointSpec, tree: TopicTreeManager, topics: int, levels: int) -> None:
        self.point_spec = point_spec
        self._tree = tree
        self._topics = topics
        self._levels = levels
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
            tree.live(_SHORT_LIFE)
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


# -- subscribing -------------------------------------------------------------------------------------------------------


class SubscribedTrees(_OnTrees):
    """Subscriptions to new topics, beside many unused ones, or few."""

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER, FEW, EXCHANGES] if self._context.settings.limits else [OSTLER, FEW]

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        point_spec = PointSpec(1, 0, False, main_operation=SUBSCRIBE)
        if contestant == EXCHANGES:
            exchanges = partial(BareExchange, _EXCHANGE_BYTES, (SUBSCRIBE, CLOSE), SUBSCRIBE)
            return ReadyTask(point_spec, TaskProcess(exchanges, PROBE))
        tree = self.tree(contestant.name)
        if contestant == FEW:
            tree.empty(_GONE_SECONDS_MAX)
        else:
            tree.fill(int(step.points["topics"]))
        tree.live(int(step.points["tree_life_seconds"]))
        return Subscribing(point_spec, TaskProcess(partial(SubscribeLoop, tree.manager.root, tree.manager.pid)), tree)


class Subscribing(ReadyTask):
    """A subscriber, and the size of the tree before and after."""

    def __init__(self, point_spec: PointSpec, task: TaskProcess, tree: TopicTreeManager) -> None:
        manager = tree.manager
        super().__init__(point_spec, task, manager.watched(), manager.metrics, (Agreement((CLOSE,), "closes"),))
        self._tree = tree
        self._topics: list[int] = []

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        self._topics = [self._tree.made()]
        try:
            return super().run(timeline, watcher)
        finally:
            self._topics.append(self._tree.made())

    def results(self) -> Sequence[Metric]:
        names = (TOPICS_BEFORE, TOPICS_AFTER)
        found = [Metric(RESULT, name, count) for name, count in zip(names, self._topics, strict=False)]
        if self._tree.memory_per_topic:
            found.append(Metric(RESULT, MEMORY_PER_TOPIC, self._tree.memory_per_topic))
        return [*super().results(), *found]


# -- displaying --------------------------------------------------------------------------------------------------------


class DisplayedTrees(_OnTrees):
    """All topics are displayed by one command, and the effect on a client. The warm-up is its idle control."""

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER]

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        tree = self.tree("")
        tree.fill(int(step.points["topics"]))
        probe = TaskProcess(partial(LagProbe, tree.manager.address, None, True))
        try:
            task = TaskProcess(partial(DisplayTask, tree.manager.directory, tree.manager.pid))
        except BaseException:
            probe.end()
            raise
        return Displaying(PointSpec(1, 0, False, main_operation=DISPLAY), task, tree, probe)


class Displaying(ReadyTask):
    """An administrator, and a light client beside it."""

    def __init__(self, point_spec: PointSpec, task: TaskProcess, tree: TopicTreeManager, probe: TaskProcess) -> None:
        manager = tree.manager
        agreements = (Agreement((ROUND_TRIP,), "gets_empty"),)
        super().__init__(point_spec, task, [probe.watched(), *manager.watched()], manager.metrics, agreements)
        self._tree = tree
        self._probe = probe
        self._probed: tuple[WorkerCounts, list[Metric]] | None = None
        self._failure: PointFailed | None = None

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        self._probed, self._failure = None, None
        beside = threading.Thread(target=self._beside, args=(timeline, watcher), daemon=True)
        beside.start()
        try:
            counted = super().run(timeline, SilentWatcher())
        finally:
            beside.join()
        return [*counted, self._hear()[0]]

    def _hear(self) -> tuple[WorkerCounts, list[Metric]]:
        """Keep the result of the probe."""
        if self._failure is not None:
            raise self._failure
        assert self._probed is not None
        return self._probed

    def _beside(self, timeline: Timeline, watcher: Watcher) -> None:
        try:
            self._probed = self._probe.run(timeline, watcher, worker=1)
        except PointFailed as failure:
            self._failure = failure

    def results(self) -> Sequence[Metric]:
        probed = self._probed[1] if self._probed is not None else []
        return [*super().results(), *probed, Metric(RESULT, MEMORY_PER_TOPIC, self._tree.memory_per_topic)]

    def check_counts(self, counted: Sequence[WorkerCounts]) -> Sequence[CountCheck]:
        shown = [round(each.value) for each in self._results if each.name == DISPLAYED]
        topics = self._tree.topics()
        return [*super().check_counts(counted), *(CountCheck(DISPLAYED, count, topics) for count in shown[:1])]

    def close(self) -> None:
        super().close()
        self._probe.end()
