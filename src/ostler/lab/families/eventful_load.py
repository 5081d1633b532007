"""Loads during which something happens: chapters that begin at a share of the measured window, while clients work."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from ostler.lab.families.task_process import TaskProcess
from ostler.lab.load.timeline import Timeline
from ostler.lab.runner.contract import (
    Metric,
    PointFailed,
    PointSpec,
    ProgressSample,
    ReadyLoad,
    RunContext,
    Watcher,
    WorkerCounts,
)
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.store.courses import LOST, MOMENT

BEYOND_SECONDS: Final = 240.0
"""Chapters go on behind the window while systems recover, and clients take what is left."""
_POLL_SECONDS: Final = 0.05
_SECOND_NS: Final = 1_000_000_000

System = TypeVar("System")


@dataclass(frozen=True)
class Chapter(Generic[System]):
    """Something that happens when this share of the window is over. `begin` and `end` say what can be seen of it in the
    rate over time."""

    share: float
    deed: Callable[[System], list[Metric]]
    begin: str
    end: str


class EventfulLoad(ReadyLoad, Generic[System]):
    """Clients in a process of their own, and the chapters in the thread of the caller."""

    drain_seconds_max = BEYOND_SECONDS

    def __init__(
        self,
        system: System,
        watched: Callable[[], Sequence[WatchedProcess]],
        process: TaskProcess,
        chapters: Sequence[Chapter[System]],
        point_spec: PointSpec,
        context: RunContext,
        *,
        seconds_least: float = 0.0,
        is_lossless: bool = True,
    ) -> None:
        self.point_spec = point_spec
        self.measured_seconds_least = seconds_least
        self._system = system
        self._watched = watched
        self._process = process
        self._chapters = tuple(chapters)
        self._context = context
        self._is_lossless = is_lossless
        self._told: list[Metric] = []
        self.is_over = False

    def processes(self) -> Sequence[WatchedProcess]:
        return [*self._watched(), self._process.watched()]

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        self._told = []
        heard: queue.SimpleQueue[ProgressSample] = queue.SimpleQueue()
        outcome: list[tuple[WorkerCounts, list[Metric]] | PointFailed] = []

        def drive() -> None:
            try:
                outcome.append(self._process.run(timeline, _Heard(heard), drain_seconds_max=BEYOND_SECONDS))
            except PointFailed as failure:
                outcome.append(failure)

        # Systems are started by this thread: they end with it when the laboratory is killed.
        clients = threading.Thread(target=drive, name="lab-clients", daemon=True)
        clients.start()
        for chapter in self._chapters:
            at_ns = timeline.measured_ns + round(chapter.share * timeline.measured_seconds * _SECOND_NS)
            _watch_until(at_ns, clients, heard, watcher)
            self._told.append(_moment(chapter.begin, timeline))
            told = chapter.deed(self._system)
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
        if lost and self._is_lossless:
            self._context.note(f"{lost:.0f} acknowledged messages are lost, and none may be.")

    def results(self) -> Sequence[Metric]:
        return self._told

    def close(self) -> None:
        self._process.end()


def metrics_text(found: Sequence[Metric]) -> str:
    """Return figures in words, for a note of progress."""
    return ", ".join(f"{each.name} {each.value:.3g}" for each in found) or "done"


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
