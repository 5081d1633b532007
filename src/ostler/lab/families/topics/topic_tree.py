"""Family `topic-tree`: the cost of trees of many topics, and of removing unused topics.

Unused topics are removed after TREELIFE seconds. The lives of the reports are minutes and their windows half an hour:
both are divided by `life_scale`, so that the scavenger runs in a window as often as it does there. A life of an hour
stands for a scavenger that does not run during the test, and is kept.
"""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from ostler import __version__
from ostler.lab.common.processor_time import process_ns
from ostler.lab.families.bare_exchange import BareExchange
from ostler.lab.families.plan_description import describe_plan
from ostler.lab.families.restart import count_in
from ostler.lab.families.task import RESULT, wait_until
from ostler.lab.families.task_process import Agreement, ReadyTask, TaskProcess
from ostler.lab.families.topics.topic_tasks import (
    CLOSE,
    DISPLAY,
    DISPLAYED,
    LOOK,
    MINUTE_US,
    NEW_TOPIC,
    SUBSCRIBE,
    SUBSCRIPTIONS_PER_SECOND,
    DisplayTask,
    IdleWatch,
    SubscribeLoop,
    UtilityTask,
)
from ostler.lab.families.topics.tree_manager import (
    MEMORY_PER_TOPIC,
    NEVER,
    PROBES_PER_SECOND,
    TOPICS,
    LagProbe,
    SharedFlag,
    TopicTreeManager,
    tree_plan,
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
LIFE_HERE: Final = "TREELIFE here, seconds"
NOT_RUNNING_SECONDS: Final = 3600
"""The life of the report in which the scavenger does not run during the test."""
SUBSCRIPTIONS_WANTED: Final = 100_000
_GONE_SECONDS_MAX: Final = 80.0
# Before a window there is time for a million topics.
_REMOVAL_SECONDS_MAX: Final = 300.0
# The rate of a short trial is not exactly that of a long window.
_TRIAL_MARGIN: Final = 1.2
_SUBSCRIBE_SECONDS_MAX: Final = 60.0
_RESPONSE_SECONDS: Final = 30
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
BY_MESSAGE: Final = Contestant(
    "Ostler, by command message",
    ContestantKind.OSTLER,
    "answers are messages, waited for as long as RESPTIME says",
    version=__version__,
)
EXCHANGES: Final = Contestant("bare exchanges", ContestantKind.LIMIT, "64 bytes there and back, for each")


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


class OnTrees(Experiment):
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

    def life(self, step: Step) -> int:
        """Return TREELIFE of a step: that of the report, divided by the scale where the scavenger runs in the test."""
        parameters = self._context.scenario.parameters
        return scaled_life(
            int(str(step.points.get("tree_life_seconds", parameters.get("tree_life_seconds", NEVER)))),
            int(str(parameters.get("life_scale", 1))),
        )

    @property
    def configuration(self) -> Mapping[str, str]:
        return {"queue manager": describe_plan(tree_plan(self._context.settings.accounting))}

    def close(self) -> None:
        while self._trees:
            self._trees.popitem()[1].end()


def scaled_life(seconds: int, scale: int) -> int:
    """Return TREELIFE in seconds, at least 1. NEVER and a life in which the scavenger does not run are kept."""
    return seconds if seconds in (NEVER, NOT_RUNNING_SECONDS) else max(round(seconds / scale), 1)


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


# -- subscribing -------------------------------------------------------------------------------------------------------


class SubscribedTrees(OnTrees):
    """Subscriptions to new topics, beside many unused ones, or few; with wildcards, too.

    Where the scavenger runs, it has removed the unused topics before the window, and runs on in it.
    """

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER, FEW, EXCHANGES] if self._context.settings.limits else [OSTLER, FEW]

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        life, kind = self.life(step), str(step.points.get("subscription", NEW_TOPIC))
        point_spec = PointSpec(1, 0, False, parameters={LIFE_HERE: str(life)}, main_operation=SUBSCRIBE)
        if contestant == EXCHANGES:
            exchanges = partial(BareExchange, _EXCHANGE_BYTES, (SUBSCRIBE, CLOSE), SUBSCRIBE)
            return ReadyTask(point_spec, TaskProcess(exchanges, PROBE))
        tree = self.tree(contestant.name)
        if contestant == FEW:
            tree.empty(_GONE_SECONDS_MAX)
        else:
            tree.fill(int(step.points["topics"]))
            if life != NOT_RUNNING_SECONDS:
                tree.empty(_REMOVAL_SECONDS_MAX, life)
        tree.live(life)
        task = TaskProcess(partial(SubscribeLoop, tree.manager.root, tree.manager.pid, kind))
        wanted = SUBSCRIPTIONS_WANTED // (FEWER_WHEN_QUICK if self._context.settings.is_quick else 1)
        return Subscribing(point_spec, task, tree, wanted)


class Subscribing(ReadyTask):
    """A subscriber, and the size of the tree before and after. The window is long enough for the wanted
    subscriptions."""

    def __init__(self, point_spec: PointSpec, task: TaskProcess, tree: TopicTreeManager, wanted: int) -> None:
        manager = tree.manager
        super().__init__(point_spec, task, manager.watched(), manager.metrics, (Agreement((CLOSE,), "closes"),))
        self._tree = tree
        self._topics: list[int] = []
        self._rounds = 0
        rates = [each.value for each in task.metrics() if each.name == SUBSCRIPTIONS_PER_SECOND]
        if rates:
            self.measured_seconds_least = min(_TRIAL_MARGIN * wanted / max(rates[0], 1.0), _SUBSCRIBE_SECONDS_MAX)

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        self._topics, rounds = [self._tree.made()], self._tree.counters()[1]
        try:
            return super().run(timeline, watcher)
        finally:
            self._topics.append(self._tree.made())
            self._rounds = self._tree.counters()[1] - rounds

    def results(self) -> Sequence[Metric]:
        names = (TOPICS_BEFORE, TOPICS_AFTER, ROUNDS)
        counts = (*self._topics, self._rounds)
        found = [Metric(RESULT, name, count) for name, count in zip(names, counts, strict=False)]
        if self._tree.memory_per_topic:
            found.append(Metric(RESULT, MEMORY_PER_TOPIC, self._tree.memory_per_topic))
        return [*super().results(), *found]


# -- displaying --------------------------------------------------------------------------------------------------------


class DisplayedTrees(OnTrees):
    """All topics are displayed by one command, and the effect on a client. The warm-up is its idle control.

    The administrator uses runmqsc, or a utility that sends the command as a message and waits so long for answers.
    """

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER, BY_MESSAGE]

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        tree = self.tree("")
        tree.fill(int(step.points["topics"]))
        manager = tree.manager
        make: Callable[[], DisplayTask] = partial(DisplayTask, manager.directory, manager.pid)
        if contestant == BY_MESSAGE:
            seconds = float(str(self._context.scenario.parameters.get("response_seconds", _RESPONSE_SECONDS)))
            make = partial(UtilityTask, manager.root, manager.directory, manager.pid, seconds)
        probe = TaskProcess(partial(LagProbe, manager.address, None, True))
        try:
            task = TaskProcess(make)
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
