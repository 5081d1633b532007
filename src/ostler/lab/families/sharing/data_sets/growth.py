"""Puts while a data set grows: the rates before, meanwhile and after.

Moments of the growth are those of the messages in the error log of the queue manager, which have milliseconds. A data
set may grow several times in one window: what was put while it grew is counted together.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

from ostler.client.api.connection import connect
from ostler.client.api.message import Message
from ostler.coupling.data_sets.space_map import PAGE_BYTES
from ostler.lab.families.eventful_load import BEYOND_SECONDS, EventfulLoad
from ostler.lab.families.replication.history import tenths
from ostler.lab.families.sharing.data_sets.groups import DataSetExperiment, format_beforehand
from ostler.lab.families.task import RESULT, Task, wait_until
from ostler.lab.families.task_process import TaskProcess
from ostler.lab.load.progress import ProgressReporter, ReportProgress
from ostler.lab.load.timeline import PhaseRecorder
from ostler.lab.runner.contract import PUT, Contestant, Metric, PointFailed, PointSpec, ReadyLoad
from ostler.lab.runner.sharing.plan import Offload, SharedQueue, SharingPlan, StructurePlan
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.courses import (
    GROWN_SECONDS,
    MOMENT,
    RATE_AFTER_GROWTH,
    RATE_BEFORE_GROWTH,
    RATE_IN_GROWTH,
    TENTH,
)
from ostler.model.errors import MQError

MEGABYTES: Final = "megabytes"
"""The size of the data set at first, in 2**20 bytes."""
GROWS, HAS_GROWN = "the data set grows", "the data set has grown"
SHARE: Final = "puts/s while it grows to those before"
GROWTHS: Final = "growths"
_QUEUE: Final = "LAB.GROWING"
_HELD_QUEUE: Final = "LAB.HELD"
_STRUCTURE: Final = StructurePlan("LAB1", offload=Offload.SMDS, block_bytes=256 << 10)
_BEGINS, _ENDS = "AMQ7525I", "AMQ7527I"
_LINE: Final = re.compile(rf"^(\S+Z) .*({_BEGINS}|{_ENDS}):", re.MULTILINE)
_FILLED_PERCENT: Final = 70
_FILLING_BYTES: Final = 1 << 20
"""Messages that fill the data set before are long: that is quick."""
_POLL_SECONDS: Final = 0.01
_LOOK_SECONDS: Final = 0.2
_GROWTH_SECONDS_MAX: Final = 120.0
_SECOND_NS: Final = 1_000_000_000

Growth = tuple[int, int]
"""The nanoseconds of its begin and of its end."""


def growths(log: Path) -> list[Growth]:
    """Return the growths that an error log tells of, with their times of day. The last one may still go on: then it is
    not there."""
    if not log.exists():
        return []
    found: list[Growth] = []
    began = 0
    for at, number in _LINE.findall(log.read_text(encoding="utf-8", errors="replace")):
        at_ns = round(datetime.fromisoformat(at).timestamp() * 1000) * 1_000_000
        if number == _BEGINS:
            began = at_ns
        elif began:
            found.append((began, at_ns))
            began = 0
    return found


def growth_metrics(
    ended_ns: Sequence[int], began_ns: int, over_ns: int, measured_ns: int, grown: Sequence[Growth]
) -> list[Metric]:
    """Return the rates of puts, from the times at which they ended, and moments. Raises PointFailed without a growth.

    The first growth parts what is before it from the rest; after it, puts between growths and behind the last one count
    together.
    """
    seen = [(max(begin, began_ns), min(end, over_ns)) for begin, end in grown if begin < over_ns and end > began_ns]
    seen = [(begin, end) for begin, end in seen if end > begin]
    if not seen:
        raise PointFailed("the data set has not grown while messages were put")
    first, last = seen[0][0], seen[-1][1]
    grown_ns = sum(end - begin for begin, end in seen)
    inside = sum(1 for at in ended_ns if any(begin <= at < end for begin, end in seen))
    before = sum(1 for at in ended_ns if began_ns <= at < first)
    after = sum(1 for at in ended_ns if first <= at < over_ns) - inside
    parts = (
        (RATE_BEFORE_GROWTH, before, first - began_ns),
        (RATE_IN_GROWTH, inside, grown_ns),
        (RATE_AFTER_GROWTH, after, over_ns - first - grown_ns),
    )
    rates = {name: count * _SECOND_NS / spent_ns for name, count, spent_ns in parts if spent_ns > 0}
    found = [Metric(RESULT, name, rate) for name, rate in rates.items()]
    if rates.get(RATE_BEFORE_GROWTH):
        found.append(Metric(RESULT, SHARE, rates[RATE_IN_GROWTH] / rates[RATE_BEFORE_GROWTH]))
    found.append(Metric(RESULT, GROWN_SECONDS, grown_ns / len(seen) / _SECOND_NS))
    found.append(Metric(RESULT, GROWTHS, float(len(seen))))
    moments = ((GROWS, first), (HAS_GROWN, last))
    return [*found, *(Metric(MOMENT, name, (at - measured_ns) / _SECOND_NS) for name, at in moments)]


class Putters(Task):
    """Each with a connection and a thread of its own: they put as fast as they can, and nobody gets.

    They go on behind the window until the data set has grown once.
    """

    def __init__(self, queue_manager: str, root: Path, log: Path, putters: int, size: int) -> None:
        self._queue_manager = queue_manager
        self._root = root
        self._log = log
        self._putters = putters
        self._body = bytes(size)
        self._lock = threading.Lock()
        self._ended_ns: list[int] = []
        self._failure = ""
        self._is_over = False
        self._begun = threading.Event()
        """Set when the window begins: connections are made before."""

    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        timeline = recorder.timeline
        self._ended_ns, self._failure, self._is_over = [], "", False
        self._puts = recorder.operation(PUT)
        threads = [threading.Thread(target=self._put, daemon=True) for _ in range(self._putters)]
        self._begun.clear()
        for thread in threads:
            thread.start()
        wait_until(timeline.begin_ns)
        # Times of day in the log, and times of the putters.
        offset_ns = time.time_ns() - time.perf_counter_ns()
        known = len(growths(self._log))
        self._begun.set()
        self._watch(recorder, report)
        look_ns, limit_ns = 0, timeline.end_ns + round(_GROWTH_SECONDS_MAX * _SECOND_NS)
        while not self._failure and (now_ns := time.perf_counter_ns()) < limit_ns:
            if now_ns >= look_ns:
                if len(growths(self._log)) > known:
                    break
                look_ns = now_ns + round(_LOOK_SECONDS * _SECOND_NS)
            time.sleep(_POLL_SECONDS)
        over_ns = time.perf_counter_ns()
        self._is_over = True
        for thread in threads:
            thread.join()
        if self._failure:
            raise PointFailed(self._failure)
        grown = [(begin - offset_ns, end - offset_ns) for begin, end in growths(self._log)[known:]]
        course = tenths(self._ended_ns, timeline.measured_ns, timeline.cool_ns)
        return [
            *growth_metrics(self._ended_ns, timeline.begin_ns, over_ns, timeline.measured_ns, grown),
            *(Metric(TENTH, PUT, float(count), position=number) for number, count in enumerate(course)),
        ]

    def _watch(self, recorder: PhaseRecorder, report: ReportProgress) -> None:
        """Tell how far it is, until the window is over."""
        progress = ProgressReporter(recorder, PUT, 0, report)
        while (now_ns := time.perf_counter_ns()) < recorder.timeline.end_ns and not self._failure:
            if now_ns >= progress.next_ns:
                with self._lock:
                    progress.report(now_ns, len(self._ended_ns))
            time.sleep(_POLL_SECONDS)

    def _put(self) -> None:
        try:
            with connect(self._queue_manager, data=self._root, binding="local", application="ostler-lab") as connection:
                queue = connection.open(_QUEUE, "w")
                self._begun.wait()
                while not self._is_over:
                    began_ns = time.perf_counter_ns()
                    queue.put(Message(self._body, persistent=False), syncpoint=False)
                    ended_ns = time.perf_counter_ns()
                    with self._lock:
                        self._puts.record(began_ns, ended_ns)
                        self._ended_ns.append(ended_ns)
        except MQError as error:
            self._failure = str(error)

    def close(self) -> None:
        self._is_over = True
        self._begun.set()


class GrowthExperiment(DataSetExperiment):
    """A data set of some size, filled up to a few percent below the point at which it grows."""

    def plan(self, step: Step) -> SharingPlan:
        queues = (SharedQueue(_QUEUE, _STRUCTURE.name), SharedQueue(_HELD_QUEUE, _STRUCTURE.name))
        return SharingPlan(structures=(_STRUCTURE,), queues=queues)

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        size = self._context.scenario.message_bytes[0]
        megabytes = int(str(step.points[MEGABYTES]))
        self.check_space(3 * megabytes << 20)
        group = self.new_group(step)
        member = group.members[0]
        path = group.directory / f"LAB.{member.name}.{_STRUCTURE.name}"
        format_beforehand(path, _STRUCTURE, member.name, 1, megabytes)
        filled = (megabytes << 20) * _FILLED_PERCENT // 100
        self.fill(group, [_HELD_QUEUE], filled // (_FILLING_BYTES + PAGE_BYTES), _FILLING_BYTES, False)
        putters = self._context.scenario.roles[0].counts[0]
        log = member.directory.errors / "AMQERR01.LOG"
        make = partial(Putters, member.name, member.root, log, putters, size)
        process = TaskProcess(make, beyond_seconds=BEYOND_SECONDS)
        point_spec = PointSpec(clients=putters, message_bytes=size, persistent=False, main_operation=PUT)
        return EventfulLoad(group, group.watched, process, (), point_spec, self._context)
