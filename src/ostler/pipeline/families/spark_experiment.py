"""Experiments in one Spark application: a process has only one, so all contestants share it and take turns."""

from __future__ import annotations

import os
import shutil
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from pyspark import SparkContext
from pyspark.sql import SparkSession

from ostler.lab.families.task import Rounds
from ostler.lab.families.task_process import Counters, ReadyTask, TaskProcess
from ostler.lab.load.timeline import Timeline
from ostler.lab.runner.contract import (
    Contestant,
    ContestantKind,
    Experiment,
    PointFailed,
    PointSpec,
    ReadyLoad,
    RunAborted,
    RunContext,
    Watcher,
    WorkerCounts,
)
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.scenarios.model import Point
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.roles import DRIVER
from ostler.pipeline.errors import PipelineError
from ostler.pipeline.spark.session import LOCAL, check_java, open_session

_END_SECONDS_MAX: Final = 30.0
_START_SECONDS_MAX: Final = 300.0
_ROUND_SECONDS_MAX: Final = 3600.0


@contextmanager
def spark_application(master: str) -> Iterator[SparkSession]:
    """Open a session of this process. Java ends with it, and has ended when this returns."""
    try:
        session = open_session(master, "ostler lab")
    except PipelineError as error:
        raise PointFailed(str(error)) from error
    try:
        yield session
    finally:
        session.stop()
        gateway = SparkContext._gateway
        if gateway is not None:
            process = gateway.proc
            gateway.shutdown()
            process.stdin.close()
            process.wait(_END_SECONDS_MAX)


class SparkRounds(Rounds):
    """Rounds of the selected contestant at the selected points, in a Spark application that is opened with it."""

    contestant: str
    points: Mapping[str, Point]

    def __init__(self, master: str) -> None:
        self._application = spark_application(master)
        self.spark = self._application.__enter__()

    def select(self, work: object) -> None:
        assert isinstance(work, tuple)
        self.contestant, self.points = work

    def close(self) -> None:
        self._application.__exit__(None, None, None)


class SparkExperiment(Experiment):
    """One process with Spark for all points. `rounds` is made in it, with the name of the master."""

    def __init__(
        self, context: RunContext, contestants: Sequence[Contestant], rounds: Callable[[str], SparkRounds]
    ) -> None:
        self.context = context
        self._contestants = contestants
        self._rounds = rounds
        self._process: TaskProcess | None = None
        try:
            # Checked before a process is started, so that the advice is all that is shown.
            check_java(os.environ)
        except PipelineError as error:
            raise RunAborted(str(error)) from error

    def contestants(self) -> Sequence[Contestant]:
        has_limits = self.context.settings.limits
        return [each for each in self._contestants if has_limits or each.kind is not ContestantKind.LIMIT]

    @abstractmethod
    def point_spec(self, step: Step) -> PointSpec: ...

    @abstractmethod
    def disk_bytes(self, step: Step) -> int:
        """Return the disk space that a step needs."""

    def others(self, contestant: Contestant) -> tuple[Sequence[WatchedProcess], Counters | None]:
        """Return further processes that the contestant uses, and their counters."""
        return (), None

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        needed, free = self.disk_bytes(step), shutil.disk_usage(self.context.scratch).free
        if free < needed:
            raise PointFailed(f"it needs {needed / 1e9:.1f} GB on disk, and {free / 1e9:.1f} GB are free")
        if self._process is None:
            self.context.note("Starting Spark.")
            master = str(self.context.scenario.parameters.get("master", LOCAL))
            self._process = TaskProcess(partial(self._rounds, master), DRIVER, _START_SECONDS_MAX)
        try:
            self._process.select((contestant.name, dict(step.points)), _ROUND_SECONDS_MAX)
        except PointFailed:
            self._drop()
            raise
        watched, counters = self.others(contestant)
        return _Turn(self.point_spec(step), self._process, watched, counters, self._drop)

    def _drop(self) -> None:
        """End the process, as after a failure: the next point has a new one."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def close(self) -> None:
        self._drop()


class _Turn(ReadyTask):
    """The turn of one contestant in the process of all."""

    is_one_by_one = True

    drain_seconds_max = _ROUND_SECONDS_MAX

    def __init__(
        self,
        point_spec: PointSpec,
        process: TaskProcess,
        watched: Sequence[WatchedProcess],
        counters: Counters | None,
        drop: Callable[[], None],
    ) -> None:
        super().__init__(point_spec, process, watched, counters)
        self._drop = drop

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        try:
            return super().run(timeline, watcher)
        except PointFailed:
            self._drop()
            raise

    def close(self) -> None:
        return


def fresh_directory(path: Path) -> Path:
    """Return the absolute path of a directory that does not exist, or no longer."""
    shutil.rmtree(path, ignore_errors=True)
    return path.absolute()
