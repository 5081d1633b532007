"""Trees that are used: subscriptions beside unused topics, and commands that display all topics."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from ostler import __version__
from ostler.lab.families.bare_exchange import BareExchange
from ostler.lab.families.task import RESULT
from ostler.lab.families.task_process import Agreement, ReadyTask, TaskProcess
from ostler.lab.families.topics.topic_tasks import (
    CLOSE,
    DISPLAY,
    DISPLAYED,
    NEW_TOPIC,
    SUBSCRIBE,
    SUBSCRIPTIONS_PER_SECOND,
    DisplayTask,
    SubscribeLoop,
    UtilityTask,
)
from ostler.lab.families.topics.tree_experiment import (
    FEWER_WHEN_QUICK,
    LIFE_HERE,
    NOT_RUNNING_SECONDS,
    OSTLER,
    ROUNDS,
    OnTrees,
)
from ostler.lab.families.topics.tree_manager import (
    MEMORY_PER_TOPIC,
    LagProbe,
    TopicTreeManager,
)
from ostler.lab.load.timeline import Timeline
from ostler.lab.runner.contract import (
    ROUND_TRIP,
    Contestant,
    ContestantKind,
    CountCheck,
    Metric,
    PointFailed,
    PointSpec,
    ReadyLoad,
    RunContext,
    SilentWatcher,
    Watcher,
    WorkerCounts,
)
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.roles import PROBE

TOPICS_BEFORE: Final = "topics at the beginning"
TOPICS_AFTER: Final = "topics at the end"
SUBSCRIPTIONS_WANTED: Final = 100_000
# Before a window there is time for a million topics.
_REMOVAL_SECONDS_MAX: Final = 300.0
# The rate of a short trial is not exactly that of a long window.
_TRIAL_MARGIN: Final = 1.2
_SUBSCRIBE_SECONDS_MAX: Final = 60.0
_RESPONSE_SECONDS: Final = 30
_EXCHANGE_BYTES: Final = 64
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
            tree.empty(_REMOVAL_SECONDS_MAX)
        else:
            tree.refill(int(step.points["topics"]), _REMOVAL_SECONDS_MAX)
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

    The administrator uses runmqsc, or a utility that sends the command as a message and waits so long for answers. The
    window is as long as a display, which is tried before the first one.
    """

    def __init__(self, context: RunContext) -> None:
        super().__init__(context)
        self._tried: dict[tuple[str, int], float] = {}

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER, BY_MESSAGE]

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        tree = self.tree("")
        topics = int(step.points["topics"])
        tree.fill(topics)
        manager = tree.manager
        make: Callable[[], DisplayTask] = partial(DisplayTask, manager.directory, manager.pid)
        if contestant == BY_MESSAGE:
            seconds = float(str(self._context.scenario.parameters.get("response_seconds", _RESPONSE_SECONDS)))
            make = partial(UtilityTask, manager.root, manager.directory, manager.pid, seconds)
        at = (contestant.name, topics)
        if at not in self._tried:
            self._tried[at] = make().try_once()
        probe = TaskProcess(partial(LagProbe, manager.address, None, True))
        try:
            task = TaskProcess(make)
        except BaseException:
            probe.end()
            raise
        ready = Displaying(PointSpec(1, 0, False, main_operation=DISPLAY), task, tree, probe)
        ready.measured_seconds_least = _TRIAL_MARGIN * self._tried[at]
        return ready


class Displaying(ReadyTask):
    """An administrator, and a light client beside it."""

    is_one_by_one = True

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
        topics = self._tree.displayed()
        return [*super().check_counts(counted), *(CountCheck(DISPLAYED, count, topics) for count in shown[:1])]

    def close(self) -> None:
        super().close()
        self._probe.end()
