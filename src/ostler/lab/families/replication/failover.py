"""Scenarios in which an instance or a site is lost, hands over or comes back, while clients put and get without end."""

from __future__ import annotations

import queue
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from ostler.lab.families.replication.numbered_clients import NumberedClients
from ostler.lab.families.replication.replicated_loads import group_text
from ostler.lab.families.replication.stories import Story, metrics_text, story_of
from ostler.lab.families.task_process import TaskProcess
from ostler.lab.load.timeline import Timeline
from ostler.lab.runner.contract import (
    PUT,
    Contestant,
    ContestantKind,
    Experiment,
    Metric,
    PointFailed,
    PointSpec,
    ProgressSample,
    ReadyLoad,
    RunContext,
    Watcher,
    WorkerCounts,
)
from ostler.lab.runner.replication.by_commands import start_group
from ostler.lab.runner.replication.port import GroupPlan, ReplicatedQueueManager, StartGroup
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.courses import LOST, MOMENT

OSTLER: Final = Contestant(
    "Ostler",
    ContestantKind.OSTLER,
    "forced by two instances before an answer, or by the only one of a site",
)
_BEYOND_SECONDS: Final = 240.0
"""A story goes on behind the window while instances get in sync, and clients take what is left."""
_POLL_SECONDS: Final = 0.05
_SECOND_NS: Final = 1_000_000_000


class ReadyStory(ReadyLoad):
    """Clients in a process of their own, and the story in the thread of the caller."""

    drain_seconds_max = _BEYOND_SECONDS

    def __init__(
        self,
        group: ReplicatedQueueManager,
        process: TaskProcess,
        story: Story,
        point_spec: PointSpec,
        context: RunContext,
    ) -> None:
        self.point_spec = point_spec
        self.measured_seconds_least = story.seconds_least
        self._group = group
        self._process = process
        self._story = story
        self._context = context
        self._told: list[Metric] = []
        self.is_over = False

    def processes(self) -> Sequence[WatchedProcess]:
        return [*self._group.watched(), self._process.watched()]

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        self._told = []
        heard: queue.SimpleQueue[ProgressSample] = queue.SimpleQueue()
        outcome: list[tuple[WorkerCounts, list[Metric]] | PointFailed] = []

        def drive() -> None:
            try:
                outcome.append(self._process.run(timeline, _Heard(heard), drain_seconds_max=_BEYOND_SECONDS))
            except PointFailed as failure:
                outcome.append(failure)

        # Instances are started by this thread: they end with it when the laboratory is killed.
        clients = threading.Thread(target=drive, name="lab-clients", daemon=True)
        clients.start()
        for chapter in self._story.chapters:
            at_ns = timeline.measured_ns + round(chapter.share * timeline.measured_seconds * _SECOND_NS)
            _watch_until(at_ns, clients, heard, watcher)
            self._told.append(_moment(chapter.begin, timeline))
            told = chapter.deed(self._group)
            self._told.append(_moment(chapter.end, timeline))
            self._context.note(f"{chapter.begin.capitalize()}: {metrics_text(told)}.")
            self._told += told
        _watch_until(None, clients, heard, watcher)
        self.is_over = True
        found = outcome[0]
        if isinstance(found, PointFailed):
            raise found
        counted, results = found
        self._told = [*results, *self._told]
        self._check()
        return (counted,)

    def _check(self) -> None:
        """Say aloud that messages were lost: it is what the scenario is about, and no figure among others."""
        lost = sum(each.value for each in self._told if each.name == LOST)
        if lost and self._story.is_lossless:
            self._context.note(f"{lost:.0f} acknowledged messages are lost, and none may be.")

    def results(self) -> Sequence[Metric]:
        return self._told

    def close(self) -> None:
        self._process.end()


def _moment(name: str, timeline: Timeline) -> Metric:
    return Metric(MOMENT, name, (time.perf_counter_ns() - timeline.measured_ns) / _SECOND_NS)


class _Heard:
    """Keeps progress for the thread that may tell it."""

    def __init__(self, heard: queue.SimpleQueue[ProgressSample]) -> None:
        self._heard = heard

    def on_progress(self, sample: ProgressSample) -> None:
        self._heard.put(sample)


def _watch_until(
    at_ns: int | None, clients: threading.Thread, heard: queue.SimpleQueue[ProgressSample], watcher: Watcher
) -> None:
    """Pass progress on until a moment, or until clients have ended."""
    while clients.is_alive() and (at_ns is None or time.perf_counter_ns() < at_ns):
        try:
            watcher.on_progress(heard.get(timeout=_POLL_SECONDS))
        except queue.Empty:
            continue


class FailoverExperiment(Experiment):
    """A new group for every point: a story leaves it otherwise than it was."""

    def __init__(self, context: RunContext, start: StartGroup = start_group) -> None:
        self._context = context
        self._start = start
        window_seconds = context.settings.measured_seconds
        self._stories = {step.number: story_of(context.scenario, step, window_seconds) for step in context.steps}
        self._group: ReplicatedQueueManager | None = None
        self._made = 0

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER]

    @property
    def configuration(self) -> Mapping[str, str]:
        plans = dict.fromkeys(story.plan for story in self._stories.values())
        return {f"copies, form {number}": group_text(plan) for number, plan in enumerate(plans, 1)}

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        story = self._stories[step.number]
        group = self._new_group(story.plan)
        body_bytes = self._context.scenario.message_bytes[0]
        point_spec = PointSpec(clients=2 * story.clients, message_bytes=body_bytes, persistent=True, main_operation=PUT)
        make = partial(NumberedClients, group.name, tuple(group.addresses), story.clients, body_bytes)
        return ReadyStory(group, TaskProcess(make, beyond_seconds=_BEYOND_SECONDS), story, point_spec, self._context)

    def _new_group(self, plan: GroupPlan) -> ReplicatedQueueManager:
        self._end_group()
        self._made += 1
        self._context.note(f"Queue manager {plan.manager.name} starts with {plan.all_instances} instances.")
        self._group = self._start(self._context.scratch / f"group-{self._made}", plan)
        return self._group

    def _end_group(self) -> None:
        if self._group is not None:
            self._group.end()
            shutil.rmtree(self._group.root, ignore_errors=True)
            self._group = None

    def close(self) -> None:
        self._end_group()
