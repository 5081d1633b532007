"""Family `group-commit`: durable commits of units of work that are in flight together, submitted by one thread.

A unit of work puts a persistent message on a queue that grows, and so is spilled to its file; or it gets the message
that its connection put before and puts another one, so that nothing but the log is written. Each connection begins its
next unit when it learns that the last one is durable.
"""

from __future__ import annotations

import queue
import time
from functools import partial
from pathlib import Path
from typing import Final

from ostler.client.locate.embedded import start
from ostler.client.mqi.put_get import get_message, put_message
from ostler.engine import syncpoint
from ostler.lab.common.embedded import (
    NAME,
    QUEUE,
    EmbeddedApplication,
    define_queue,
    descriptor,
    get_options,
    put_options,
)
from ostler.lab.families.micro.tasks import ForceLoop, Points, TaskExperiment, limit, needing, ostler
from ostler.lab.families.task import RESULT, Task, wait_until
from ostler.lab.load.drivers.probe_drivers import COMMIT
from ostler.lab.load.progress import ProgressReporter, ReportProgress
from ostler.lab.load.spec import MQ_VERBS, LoadSpec
from ostler.lab.load.timeline import PhaseRecorder
from ostler.lab.runner.contract import Contestant, Experiment, Metric, PointFailed, PointSpec, ReadyLoad, RunContext
from ostler.lab.runner.limits import FORCES, LimitProbes, contestant_of
from ostler.lab.runner.queue_managers.child import read_metrics
from ostler.lab.scenarios.steps import Step
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.config.qm_ini import LogSection

GET_AND_PUT: Final = "get and put"
COMMITS_PER_FORCE: Final = "commits per force"
LOG_BYTES_PER_COMMIT: Final = "log bytes per commit"
SUBMIT_TIME: Final = "processor us per commit"
BARE_FORCES: Final = limit(
    "bare forces", "a record written and forced, one after the other; each could serve all in flight"
)
_LOG: Final = LogSection(primary_files=4, file_pages=16_384)
_DURABLE_SECONDS_MAX: Final = 30.0


def experiment(context: RunContext) -> Experiment:
    return GroupCommit(context)


class GroupCommit(TaskExperiment):
    def __init__(self, context: RunContext) -> None:
        tasks = {
            ostler("in one process", "a commit is told when it is durable"): CommitTask,
            contestant_of(FORCES): forced_records,
            BARE_FORCES: forced_records,
        }
        super().__init__(context, tasks, _point_spec)
        self._probes = LimitProbes(context.scratch)

    def point_spec(self, contestant: Contestant, step: Step) -> PointSpec:
        point_spec = super().point_spec(contestant, step)
        return needing(point_spec, 1 / point_spec.clients) if contestant.name == BARE_FORCES.name else point_spec

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        if contestant.name != FORCES.name:
            return super().prepare(contestant, step)
        point_spec = self.point_spec(contestant, step)
        in_flight = range(point_spec.clients)
        like = LoadSpec(MQ_VERBS, "", in_flight, in_flight, 1, point_spec.message_bytes, True)
        return self._probes.prepare(contestant, like, point_spec)

    def close(self) -> None:
        super().close()
        self._probes.close()


def _point_spec(points: Points) -> PointSpec:
    return PointSpec(int(points["in_flight"]), int(points["message_bytes"]), True, main_operation=COMMIT)


def forced_records(points: Points, root: Path) -> ForceLoop:
    return ForceLoop(root / "forced", COMMIT, int(points["message_bytes"]))


class CommitTask(Task):
    """Connections that put and commit without waiting, and a queue of those that are durable."""

    def __init__(self, points: Points, root: Path) -> None:
        self._manager = start(NAME, root, True, _LOG, False)
        self._body = bytes(int(points["message_bytes"]))
        self._gets = points["unit"] == GET_AND_PUT
        self._md, self._pmo, self._gmo = descriptor(True), put_options(syncpoint=True), get_options(syncpoint=True)
        self._durable: queue.SimpleQueue[int] = queue.SimpleQueue()
        count = int(points["in_flight"])
        names = [f"{QUEUE}.{number if self._gets else 0}" for number in range(count)]
        for name in sorted(set(names)):
            define_queue(self._manager, name)
        self._applications = [EmbeddedApplication(self._manager) for _ in range(count)]
        options = mq.MQOO_OUTPUT | mq.MQOO_INPUT_SHARED
        self._handles = [each.open(name, options) for each, name in zip(self._applications, names, strict=True)]
        # All that a submission needs is at hand, so that the driver itself costs little.
        self._units = [
            (each.hconn, handle, each.bound.connection, partial(self._durable.put, number))
            for number, (each, handle) in enumerate(zip(self._applications, self._handles, strict=True))
        ]
        if self._gets:
            for each, handle in zip(self._applications, self._handles, strict=True):
                each.load(handle, 1, self._body, True)

    def _submit(self, number: int) -> None:
        hconn, handle, connection, tell = self._units[number]
        manager = self._manager
        if self._gets:
            code, reason = get_message(hconn, handle, self._md, self._gmo, len(self._body))[4:]
            if code != mq.MQCC_OK:
                raise MQError(reason)
        code, reason = put_message(hconn, handle, self._md, self._pmo, self._body)[2:]
        if code != mq.MQCC_OK:
            raise MQError(reason)
        with manager.turn as engine:
            manager.writer.call_when_durable(syncpoint.commit(engine, connection).after_lsn, tell)

    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        timeline, commits = recorder.timeline, recorder.operation(COMMIT)
        progress = ProgressReporter(recorder, COMMIT, 0, report)
        began = [0] * len(self._units)
        now = wait_until(timeline.begin_ns)
        counted = [self._counters()]
        for number in range(len(began)):
            began[number] = time.perf_counter_ns()
            self._submit(number)
        done, in_flight = 0, len(began)
        while in_flight:
            number = self._durable.get(timeout=_DURABLE_SECONDS_MAX)
            now = time.perf_counter_ns()
            commits.record(began[number], now)
            done += 1
            if now < timeline.end_ns:
                began[number] = now
                self._submit(number)
            else:
                in_flight -= 1
            if now >= progress.next_ns:
                progress.report(now, done)
        counted.append(self._counters())
        self._check(done)
        forces, written, cpu_ns = (after - before for before, after in zip(*counted, strict=True))
        return [
            Metric(RESULT, COMMITS_PER_FORCE, done / max(forces, 1)),
            Metric(RESULT, LOG_BYTES_PER_COMMIT, written / done),
            Metric(RESULT, SUBMIT_TIME, cpu_ns / 1000 / done),
        ]

    def _counters(self) -> tuple[int, int, int]:
        """Return the forces of the log, its bytes, and the processor time of this process, since the beginning."""
        metrics = self._manager.log.metrics
        return int(metrics.forces), int(metrics.physical_bytes), time.process_time_ns()

    def _check(self, done: int) -> None:
        """Check that the queues have the messages that were committed, and empty a queue that grew."""
        expected = len(self._units) if self._gets else done
        depths = [each.depth for name, each in self._manager.engine.queues.items() if name.startswith(QUEUE)]
        if sum(depths) != expected:
            raise PointFailed(f"{sum(depths):,} messages are on the queues, and {expected:,} were committed")
        if not self._gets:
            self._applications[0].drain(self._handles[0])
        self._manager.checkpoint()

    def metrics(self) -> list[Metric]:
        return [Metric(source, name, float(value)) for source, name, value in read_metrics(self._manager)]

    def close(self) -> None:
        self._manager.end("preemptive")
