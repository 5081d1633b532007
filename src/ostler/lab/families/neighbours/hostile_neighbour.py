"""Family `neighbours`: the effect of one client that uses all it may on the response times of another.

The victim is an application whose requests are due at fixed times, whatever the queue manager does. A round trip is
timed from when its request was due. All requests due by the end of the window count: those answered later with their
whole time, until the victim gives up, and unanswered ones with the time they have waited (no coordinated omission).
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from ostler import __version__
from ostler.lab.common.processor_time import process_ns
from ostler.lab.families.held_connections import resident_bytes
from ostler.lab.families.neighbours.neighbours import (
    COLD,
    DEEP_BROWSE,
    DISPLAY,
    DISPLAYED_QUEUES,
    NONE,
    PURGE,
    SELECTOR,
    STORE,
    UNIT,
    UNREAD,
    WILDCARD,
    WORK,
    Address,
    Sizes,
    make_neighbour,
)
from ostler.lab.families.task import RESULT, Task
from ostler.lab.families.task_process import TaskProcess
from ostler.lab.load.client import LoadClient, LoadFailed, Pace
from ostler.lab.load.drivers.epoll_driver import EpollDriver
from ostler.lab.load.mq.client import MqTerms
from ostler.lab.load.mq.mqsc_by_message import REPLY_MODEL
from ostler.lab.load.mq.queue_filler import FILL
from ostler.lab.load.mq.request_reply import MqRequester, MqResponder
from ostler.lab.load.mq.topic_maker import GROUPED, MAKE, RETAIN
from ostler.lab.load.pacing import NEVER_NS, Pacing
from ostler.lab.load.progress import ReportProgress
from ostler.lab.load.timeline import MEASURED, PhaseRecorder, Timeline
from ostler.lab.runner.contract import (
    ROUND_TRIP,
    Contestant,
    ContestantKind,
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
from ostler.lab.runner.queue_managers.plan import CHANNEL, NAME, USUAL_LOG, QueueManagerPlan, pair_commands
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.histogram import merge, percentile_ns
from ostler.lab.store.recorder import OperationRecorder
from ostler.lab.store.roles import NEIGHBOUR
from ostler.server.config.qm_ini import LogSection
from ostler.server.storage.delayed_disk import READ_DELAY_VARIABLE

AIM_MET: Final = "aim met"
"""1 or 0: p99 and the maximum of all round trips meet the aim of the scenario."""
HIGHEST: Final = "highest round trip, ms"
SAMPLES: Final = "round trips, samples"
ANSWERED: Final = "round trips answered within the window, per second"
UNANSWERED: Final = "round trips never answered"
LINKS_LOST: Final = "victim's links lost"
PROCESSOR: Final = "queue manager processor use, percent of a core"
PEAK_MEMORY: Final = "queue manager peak memory, MB"
MEMORY_GROWN: Final = "queue manager memory grown, MB"
STOCK: Final = "messages or topics prepared"
GIVE_UP_SECONDS: Final = 60.0
"""The victim waits this long after the window for answers that were due in it."""
REQUESTERS: Final = 4
_PREPARE_SECONDS_MAX: Final = 900.0
_AT_ONCE: Final = 10_000
_POLL_SECONDS: Final = 0.02
_MEGABYTE: Final = 1_000_000
_MANY: Final = 999_999_999
_SECOND_NS: Final = 1_000_000_000
_MESSAGE_BYTES: Final = 1024
_UNIT_LOG: Final = LogSection(primary_files=12, file_pages=16_384)
_LONGEST: Final = 104_857_600

OSTLER: Final = Contestant(
    "Ostler", ContestantKind.OSTLER, "a client with round trips at a rate, beside one neighbour", version=__version__
)


def experiment(context: RunContext) -> Experiment:
    return HostileNeighbours(context)


class HostileNeighbours(Experiment):
    """A queue manager for each neighbour, so that none finds leftovers of another. It is kept for all repetitions with
    its contents, unless it is still busy with requests of the neighbour."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        found = {name: value for name, value in context.scenario.parameters.items() if isinstance(value, int)}
        self._aim = found["aim_p99_ms"], found["aim_highest_ms"]
        self._read_delay_ms = found["read_delay_ms"]
        self._sizes = Sizes.of(found, context.settings.is_quick)
        self._test_bed: _TestBed | None = None
        self._made = 0

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER]

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        kind = str(step.points["neighbour"])
        load = self._context.scenario.load
        assert load is not None
        (message_bytes,) = self._context.scenario.message_bytes
        victim_of = partial(_victim, per_second=load.per_second, message_bytes=message_bytes)
        ground, stock, victim = self._settle_manager(kind, victim_of)
        neighbour: TaskProcess | None = None
        if kind != NONE:
            try:
                make = partial(make_neighbour, kind, ground.manager.address, self._sizes)
                neighbour = TaskProcess(make, NEIGHBOUR)
            except BaseException:
                victim.end()
                raise
        point_spec = PointSpec(REQUESTERS, message_bytes, False, load.per_second, {STOCK: str(stock)})
        return Neighbourhood(point_spec, ground, victim, neighbour, self._aim)

    def _settle_manager(
        self, kind: str, victim_of: Callable[[Address], TaskProcess]
    ) -> tuple[_TestBed, int, TaskProcess]:
        """Return a queue manager with its contents, their number, and the connected victim.

        A queue manager that does not accept the victim is still busy with earlier requests, and is replaced.
        """
        is_used = self._test_bed is not None and self._test_bed.kind == kind
        ground = self._test_bed_for(kind)
        try:
            return ground, ground.fill(), victim_of(ground.manager.address)
        except PointFailed:
            ground.is_spoilt = True
            if not is_used:
                raise
        ground = self._test_bed_for(kind)
        return ground, ground.fill(), victim_of(ground.manager.address)

    def _test_bed_for(self, kind: str) -> _TestBed:
        ground = self._test_bed
        if ground is not None and ground.kind == kind and not ground.is_spoilt and ground.manager.is_alive:
            return ground
        self.close()
        self._made += 1
        root = self._context.scratch / f"manager-{self._made}"
        plan = QueueManagerPlan(
            log=_UNIT_LOG if kind == UNIT else USUAL_LOG,
            commands=_commands(kind, self._sizes),
            is_accounting=self._context.settings.accounting,
            environment={READ_DELAY_VARIABLE: str(self._read_delay_ms)} if kind == COLD else {},
        )
        self._test_bed = _TestBed(kind, LabQueueManager(root, plan), self._sizes, self._context.note)
        return self._test_bed

    def close(self) -> None:
        if self._test_bed is not None:
            self._test_bed.manager.end()
            self._test_bed = None


def _victim(address: Address, per_second: float, message_bytes: int) -> TaskProcess:
    return TaskProcess(partial(Victim, address, per_second, message_bytes))


def _commands(kind: str, sizes: Sizes) -> tuple[str, ...]:
    """Return the queues of the victim and of the neighbour, and attributes that lift default limits which are not a
    defence."""
    queues = tuple(f"DEFINE QLOCAL({name}) MAXDEPTH({_MANY}) MAXMSGL({_LONGEST})" for name in (STORE, WORK))
    found = (
        *pair_commands(1),
        *queues,
        f"ALTER QMGR MAXUMSGS({_MANY}) MAXMSGL({_LONGEST})",
        f"ALTER CHANNEL({CHANNEL}) CHLTYPE(SVRCONN) MAXMSGL({_LONGEST})",
        *(f"ALTER QMODEL({model}) MAXDEPTH({_MANY})" for model in ("SYSTEM.NDURABLE.MODEL.QUEUE", REPLY_MODEL)),
    )
    if kind != DISPLAY:
        return found
    return (*found, *(f"DEFINE QLOCAL({DISPLAYED_QUEUES}.{number})" for number in range(sizes.queues)))


class _TestBed:
    """A queue manager, and the objects and messages that one kind of neighbour needs."""

    def __init__(self, kind: str, manager: LabQueueManager, sizes: Sizes, say: Callable[[str], None]) -> None:
        self.kind = kind
        self.manager = manager
        self.is_spoilt = False
        """It may still be busy with requests of a client that is gone."""
        self._sizes = sizes
        self._say = say
        self._topics = 0

    def fill(self) -> int:
        """Create as many messages or topics as this kind needs, and return their number. It does without those that a
        limit rejects.

        The progress is reported, and it gives up after a quarter of an hour.
        """
        sizes = self._sizes
        if self.kind in (WILDCARD, DISPLAY):
            is_retained = self.kind == WILDCARD
            return self._fill_topics(sizes.retained if is_retained else sizes.displayed_topics, is_retained)
        wanted = {
            DEEP_BROWSE: (sizes.browse_messages, _MESSAGE_BYTES, ""),
            COLD: (sizes.browse_messages, _MESSAGE_BYTES, ""),
            SELECTOR: (sizes.selector_messages, _MESSAGE_BYTES, "k"),
            PURGE: (sizes.purged_messages, 100, ""),
            UNREAD: (sizes.unread_messages, sizes.middle_bytes, ""),
        }.get(self.kind)
        if wanted is None:
            return 0
        count, message_bytes, has_property = wanted
        there = self._depth()

        def more(number: int) -> None:
            arguments = (NAME, STORE, str(number), str(message_bytes), has_property)
            self.manager.call_trusted(FILL, *arguments)

        return self._in_parts("messages", there, count, more)

    def _fill_topics(self, count: int, is_retained: bool) -> int:
        def more(number: int) -> None:
            retain = RETAIN if is_retained else ""
            self.manager.call_trusted(MAKE, "stock", str(self._topics), str(number), str(GROUPED), retain)
            self._topics += number

        return self._in_parts("topics", self._topics, count, more)

    def _in_parts(self, what: str, there: int, wanted: int, more: Callable[[int], None]) -> int:
        deadline = time.monotonic() + _PREPARE_SECONDS_MAX
        reported_at = time.monotonic()
        while there < wanted:
            number = min(_AT_ONCE, wanted - there)
            try:
                more(number)
            except PointFailed as failed:
                if not self.manager.is_alive or not there:
                    raise
                self._say(f"{self.kind}: no more than about {there:,} of {wanted:,} {what}: {failed}")
                return there
            there += number
            if there < wanted and time.monotonic() > deadline:
                self._say(f"{self.kind}: {there:,} of {wanted:,} {what} have to do: it takes too long.")
                return there
            if time.monotonic() - reported_at > 2.0:
                reported_at = time.monotonic()
                self._say(f"{self.kind}: {there:,} of {wanted:,} {what} are there.")
        return there

    def _depth(self) -> int:
        for line in self.manager.mqsc(f"DISPLAY QLOCAL({STORE}) CURDEPTH"):
            if "CURDEPTH(" in line:
                return int(line.partition("CURDEPTH(")[2].partition(")")[0])
        raise PointFailed(f"DISPLAY QLOCAL({STORE}) shows no depth")


# -- the victim --------------------------------------------------------------------------------------------------------


class Victim(Task):
    """The requesters and responders of one application, in one loop, at a fixed rate."""

    def __init__(self, address: Address, per_second: float, message_bytes: int) -> None:
        terms = MqTerms(1, message_bytes, persistent=False, channel=CHANNEL)
        self._pace = Pace(Pacing(ROUND_TRIP, per_second / REQUESTERS, is_timed_once=True))
        self._driver = EpollDriver(address, self._pace)
        clients: list[LoadClient] = [MqResponder(self._pace, number, terms) for number in range(REQUESTERS)]
        clients += [MqRequester(self._pace, number, terms) for number in range(REQUESTERS)]
        self._driver.open(clients)

    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        timeline = recorder.timeline
        # Nothing is due after the window. Operations that end after it count in it.
        own = Timeline(timeline.begin_ns, timeline.measured_ns, NEVER_NS, timeline.cool_ns)
        give_up_ns = timeline.cool_ns + round(GIVE_UP_SECONDS * _SECOND_NS)
        lost = 0
        gc.collect()
        gc.freeze()
        try:
            self._driver.run_out(own, give_up_ns, report)
        except LoadFailed:
            lost = 1
        gc.unfreeze()
        now = time.perf_counter_ns()
        found = self._pace.recorder
        operation = found.phases[MEASURED].operation(ROUND_TRIP)
        schedule = self._pace.schedule
        unfinished = schedule.unfinished_ns() if schedule is not None else []
        for due_ns in unfinished:
            # It is not answered, and must not be omitted: it has waited at least this long.
            if due_ns < now:
                operation.record(due_ns, now, late=True)
        if lost:
            operation.fail(now)
        in_time = answered_within(operation, timeline)
        keep_within(operation, timeline)
        recorder.phases = found.phases
        return [
            Metric(RESULT, ANSWERED, in_time / timeline.measured_seconds),
            Metric(RESULT, UNANSWERED, float(len(unfinished))),
            Metric(RESULT, LINKS_LOST, float(lost)),
        ]

    def close(self) -> None:
        self._driver.close()


def answered_within(operation: OperationRecorder, timeline: Timeline) -> int:
    """Return the number of operations that ended within the window, of those counted in it, to the second."""
    seconds = timeline.measured_seconds
    return sum(found.count for number, found in operation.seconds.items() if number < seconds)


def keep_within(operation: OperationRecorder, timeline: Timeline) -> None:
    """Count operations that ended after the window in its last second, with the time that they took."""
    last = max(int(timeline.measured_seconds - 1e-9), 0)
    behind = [operation.seconds.pop(number) for number in sorted(operation.seconds) if number > last]
    for second in behind:
        kept = operation.seconds.setdefault(last, second)
        if kept is second:
            continue
        if second.count:
            kept.lowest_ns = min(kept.lowest_ns, second.lowest_ns) if kept.count else second.lowest_ns
        kept.highest_ns = max(kept.highest_ns, second.highest_ns)
        kept.count += second.count
        kept.failed += second.failed
        kept.late += second.late
        kept.total_ns += second.total_ns
        merge(kept.counts, second.counts)


# -- both --------------------------------------------------------------------------------------------------------------


class Neighbourhood(ReadyLoad):
    """The victim and its neighbour, connected."""

    def __init__(
        self,
        point_spec: PointSpec,
        ground: _TestBed,
        victim: TaskProcess,
        neighbour: TaskProcess | None,
        aim_ms: tuple[int, int],
    ) -> None:
        self.point_spec = point_spec
        self._test_bed = ground
        self._victim = victim
        self._neighbour = neighbour
        self._aim_ms = aim_ms
        self._results: list[Metric] = []

    def processes(self) -> Sequence[WatchedProcess]:
        neighbour = [] if self._neighbour is None else [self._neighbour.watched()]
        return (self._victim.watched(), *neighbour, *self._test_bed.manager.watched())

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        self._results = []
        beside = _NeighbourThread(self._neighbour, timeline)
        watch = _ManagerWatch(self._test_bed.manager.pid, timeline)
        try:
            counted, results = self._victim.run(timeline, watcher)
        finally:
            watch.end()
            beside.join()
        manager = self._test_bed.manager
        if not manager.is_alive:
            raise PointFailed(manager.describe_end())
        theirs, counts = beside.found()
        metrics = {each.name: each.value for each in results}
        self._test_bed.is_spoilt = bool(metrics[UNANSWERED] or metrics[LINKS_LOST])
        self._results = [*self._grade(counted, metrics), *results, *watch.metrics(), *counts]
        return [counted, *theirs]

    def _grade(self, counted: WorkerCounts, metrics: Mapping[str, float]) -> list[Metric]:
        seconds = counted.phases[MEASURED].operation(ROUND_TRIP).seconds.values()
        buckets: dict[int, int] = {}
        for each in seconds:
            merge(buckets, each.counts)
        samples = sum(each.count for each in seconds)
        highest = max((each.highest_ns for each in seconds), default=0)
        if not samples:
            return [Metric(RESULT, AIM_MET, 0.0), Metric(RESULT, SAMPLES, 0.0)]
        p99_most, highest_most = (each * 1_000_000 for each in self._aim_ms)
        is_met = percentile_ns(buckets, 99.0, highest) <= p99_most and highest <= highest_most
        is_met = is_met and not metrics[UNANSWERED] and not metrics[LINKS_LOST]
        return [
            Metric(RESULT, AIM_MET, float(is_met)),
            Metric(RESULT, HIGHEST, highest / 1e6),
            Metric(RESULT, SAMPLES, float(samples)),
        ]

    def results(self) -> Sequence[Metric]:
        return self._results

    def close(self) -> None:
        if self._neighbour is not None:
            self._neighbour.end()
        self._victim.end()


class _NeighbourThread:
    """The neighbour, in a thread that waits for its process."""

    def __init__(self, neighbour: TaskProcess | None, timeline: Timeline) -> None:
        self._neighbour = neighbour
        self._timeline = timeline
        self._found: tuple[list[WorkerCounts], list[Metric]] = [], []
        self._failure: PointFailed | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        if self._neighbour is None:
            return
        try:
            counted, metrics = self._neighbour.run(self._timeline, SilentWatcher(), worker=1)
            self._found = [counted], metrics
        except PointFailed as failure:
            self._failure = failure

    def join(self) -> None:
        self._thread.join()

    def found(self) -> tuple[list[WorkerCounts], list[Metric]]:
        if self._failure is not None:
            raise self._failure
        return self._found


class _ManagerWatch:
    """Processor time of the queue manager in the window, and its memory from the beginning of the load to the end."""

    def __init__(self, pid: int, timeline: Timeline) -> None:
        self._pid = pid
        self._timeline = timeline
        self._before = self._most = resident_bytes(pid)
        self._used = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        timeline = self._timeline
        try:
            self._poll_until(timeline.measured_ns)
            from_ns, used = time.perf_counter_ns(), process_ns(self._pid)
            self._poll_until(timeline.cool_ns)
            seconds = max(time.perf_counter_ns() - from_ns, 1)
            self._used = 100 * (process_ns(self._pid) - used) / seconds
            self._poll_until(NEVER_NS)
        except (OSError, ValueError, IndexError):
            # The process has ended, which the load reports.
            return

    def _poll_until(self, moment_ns: int) -> None:
        while time.perf_counter_ns() < moment_ns and not self._over.wait(_POLL_SECONDS):
            self._most = max(self._most, resident_bytes(self._pid))

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def metrics(self) -> list[Metric]:
        return [
            Metric(RESULT, PROCESSOR, self._used),
            Metric(RESULT, PEAK_MEMORY, self._most / _MEGABYTE),
            Metric(RESULT, MEMORY_GROWN, (self._most - self._before) / _MEGABYTE),
        ]
