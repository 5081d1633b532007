"""Family `creation`: the time to create a queue manager, by number and size of its log files."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from ostler import __version__
from ostler.lab.families.set_up.run_descriptions import plan_text
from ostler.lab.families.task import Task, count_in, wait_until
from ostler.lab.families.task_process import ReadyTask, TaskProcess
from ostler.lab.load.progress import ReportProgress
from ostler.lab.load.timeline import MEASURED, WARMING_UP, PhaseRecorder
from ostler.lab.runner.contract import (
    Contestant,
    ContestantKind,
    Experiment,
    Metric,
    PointFailed,
    PointSpec,
    ReadyLoad,
    RunContext,
)
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.roles import QUEUE_MANAGER
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import create_queue_manager

CREATE: Final = "create"
OSTLER: Final = Contestant(
    "Ostler",
    ContestantKind.OSTLER,
    "created when all primary files of its log are formatted and forced",
    version=__version__,
)
_PAGE_BYTES: Final = 4096
_FREE_BYTES_KEPT: Final = 4 << 30
_CREATE_SECONDS_MAX: Final = 600.0


def experiment(context: RunContext) -> Experiment:
    return Creation(context)


def log_of_step(step: Step) -> LogSection:
    files, pages = step.points["log_primary_files"], step.points["log_file_pages"]
    return LogSection(primary_files=int(files), file_pages=int(pages))


class CreationTask(Task):
    """Creates queue managers one after the other until the window is over, at least one in it, and removes each."""

    def __init__(self, root: Path, log: LogSection) -> None:
        self._root = root
        self._log = log

    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        timeline = recorder.timeline
        now = wait_until(timeline.begin_ns)
        is_measured = False
        while now < timeline.cool_ns or not is_measured:
            # A creation may take longer than a window, so it counts in the phase in which it began.
            phase = MEASURED if now >= timeline.measured_ns else WARMING_UP
            is_measured = is_measured or phase == MEASURED
            seconds = self._create()
            count_in(recorder, phase, CREATE, seconds, time.perf_counter_ns())
            shutil.rmtree(self._root)
            now = time.perf_counter_ns()
        return []

    def _create(self) -> float:
        self._root.mkdir(parents=True)
        began = time.perf_counter()
        create_queue_manager(self._root, "LAB", self._log)
        return time.perf_counter() - began

    def close(self) -> None:
        shutil.rmtree(self._root, ignore_errors=True)


class Creation(Experiment):
    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._made = 0

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER]

    @property
    def configuration(self) -> Mapping[str, str]:
        return {
            f"queue manager, step {step.number}": plan_text(QueueManagerPlan(log=log_of_step(step)))
            for step in self._context.steps
        }

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        log = log_of_step(step)
        needed = log.primary_files * log.file_pages * _PAGE_BYTES
        free = shutil.disk_usage(self._context.scratch).free
        if needed + _FREE_BYTES_KEPT > free:
            raise PointFailed(f"the log takes {needed >> 30} GB, and {free >> 30} GB are free on the disk of the run")
        self._made += 1
        point_spec = PointSpec(1, 0, False, main_operation=CREATE)
        make = partial(CreationTask, self._context.scratch / f"created-{self._made}", log)
        return ReadyTask(point_spec, TaskProcess(make, QUEUE_MANAGER, beyond_seconds=_CREATE_SECONDS_MAX))

    def close(self) -> None:
        return
