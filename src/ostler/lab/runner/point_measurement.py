"""The measurement of one point: a load that warms up, is measured and cools down, sampled all the time.

The load runs in a thread of its own, mostly waiting for driver processes. This thread keeps the time: it switches the
observer from phase to phase according to the timeline, reads the metrics of the queue manager once a second, and
reports the status to the view.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from ostler.lab.load.timeline import COOLING_DOWN, WARMING_UP, Timeline
from ostler.lab.load.timeline import MEASURED as IN_WINDOW
from ostler.lab.runner.contract import (
    Contestant,
    CountCheck,
    LiveStatus,
    Metric,
    PointFailed,
    PointResult,
    PointSpec,
    ProgressSample,
    ReadyLoad,
    Settings,
    View,
    WorkerCounts,
)
from ostler.lab.runner.queue_managers.log_results import log_results
from ostler.lab.sampling.noise import Noise
from ostler.lab.sampling.observer import Observer
from ostler.lab.sampling.row_sink import RowSink, flag_rows
from ostler.lab.sampling.samples import Several
from ostler.lab.sampling.window import SampleWindow
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.histogram import merge, percentile_ns
from ostler.lab.store.manifest import PlannedPoint
from ostler.lab.store.rows import EventRow, PhaseRow, StatisticRow
from ostler.lab.store.run_writer import RunWriter
from ostler.lab.store.segments import COOL_DOWN, MEASURED, WARM_UP, SegmentWriter

LEAD_SECONDS: Final = 0.1
"""The time between the order to the drivers and the first message."""
OPERATION_PARAMETER: Final = "operation"
# A load that notices itself that it takes too long knows more about it.
_LAST_WORD_SECONDS: Final = 10.0
_SECOND_NS: Final = 1_000_000_000
_PHASES: Final = (WARM_UP, MEASURED, COOL_DOWN)


class _Load:
    """A load in a thread of its own."""

    def __init__(self, ready: ReadyLoad, timeline: Timeline, report: Callable[[ProgressSample], None]) -> None:
        self._ready = ready
        self._timeline = timeline
        self._report = report
        self._counted: Sequence[WorkerCounts] = ()
        self._failure: Exception | None = None
        self.is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lab-load", daemon=True)
        self._thread.start()

    def on_progress(self, sample: ProgressSample) -> None:
        self._report(sample)

    def _run(self) -> None:
        try:
            self._counted = self._ready.run(self._timeline, self)
        except Exception as failure:
            self._failure = failure
        finally:
            self.is_over.set()

    def wait_until(self, moment_ns: int) -> bool:
        """Wait until a point in time. Returns False when the load ended before."""
        seconds = (moment_ns - time.perf_counter_ns()) / _SECOND_NS
        return not self.is_over.wait(max(seconds, 0.0))

    def counted(self) -> Sequence[WorkerCounts]:
        seconds_max = self._ready.drain_seconds_max + _LAST_WORD_SECONDS
        if not self.is_over.wait(seconds_max):
            raise PointFailed(f"the load did not end within {seconds_max:.0f} seconds after its time")
        if self._failure is not None:
            if isinstance(self._failure, PointFailed):
                raise self._failure
            raise PointFailed(str(self._failure) or type(self._failure).__name__) from self._failure
        return self._counted


class PointMeasurement:
    """One repetition of one contestant at one step."""

    def __init__(
        self,
        run: RunWriter,
        observer: Observer,
        settings: Settings,
        view: View,
        noises: Sequence[Noise],
        seconds_left: Callable[[], float],
    ) -> None:
        self._run = run
        self._observer = observer
        self._settings = settings
        self._view = view
        self._noises = noises
        self._seconds_left = seconds_left
        self._samples: dict[int, ProgressSample] = {}

    def measure(self, ready: ReadyLoad, contestant: Contestant, step: Step, point: PlannedPoint) -> PointResult:
        """Measure the point. Raises PointFailed; then nothing of the point is kept."""
        watched = list(ready.processes())
        for each in watched:
            self._observer.watch(each)
        segments = [self._run.begin(point, phase) for phase in _PHASES]
        try:
            return self._measure(ready, contestant, step, point, segments)
        finally:
            # Later samples belong to no phase. Segments that were not committed are discarded.
            self._observer.enter("between", SampleWindow())
            for segment in segments:
                segment.abandon()
            for each in watched:
                self._observer.forget(each.pid)

    def _measure(
        self,
        ready: ReadyLoad,
        contestant: Contestant,
        step: Step,
        point: PlannedPoint,
        segments: list[SegmentWriter],
    ) -> PointResult:
        settings = self._settings
        # The last operation may outlast the window: what it costs belongs to the window, and nothing comes after it.
        is_one_by_one = ready.is_one_by_one and ready.point_spec.clients == 1
        timeline = Timeline.starting(
            time.perf_counter_ns() + round(LEAD_SECONDS * _SECOND_NS),
            max(settings.warm_up_seconds, ready.warm_up_seconds_least),
            max(settings.measured_seconds, ready.measured_seconds_least),
            0.0 if is_one_by_one else settings.cool_down_seconds,
        )
        began = datetime.now(UTC) + timedelta(seconds=LEAD_SECONDS)
        window = SampleWindow()
        self._samples.clear()
        load = _Load(ready, timeline, self._hear)
        if load.wait_until(timeline.begin_ns):
            self._observer.enter(WARM_UP, RowSink(segments[WARMING_UP].add))
        self._watch(load, ready, WARM_UP, timeline.begin_ns, timeline.measured_ns, None, SampleWindow())
        self._observer.enter(MEASURED, Several(RowSink(segments[IN_WINDOW].add), window))
        last_ns = timeline.cool_ns + round(ready.drain_seconds_max * _SECOND_NS) if is_one_by_one else timeline.cool_ns
        logged = self._watch(load, ready, MEASURED, timeline.measured_ns, last_ns, segments[IN_WINDOW], window)
        self._observer.enter(COOL_DOWN, RowSink(segments[COOLING_DOWN].add))
        counted = load.counted()
        ended_ns = max(time.perf_counter_ns(), timeline.end_ns)
        self._observer.enter("between", SampleWindow())
        for number, segment in enumerate(segments):
            for each in counted:
                segment.add(each.phases[number].rows(each.worker))
        segments[IN_WINDOW].add(_statistics([*ready.results(), *logged], 0))
        last_second = max(int(timeline.measured_seconds - 1e-9), 0)
        doubts = flag_rows(window.flags(self._noises), last_second)
        doubts += _agreement(ready.check_counts(counted), last_second)
        doubts += _emptiness(ready.point_spec, counted, last_second)
        segments[IN_WINDOW].add(doubts)
        measured_seconds = timeline.measured_seconds
        if is_one_by_one:
            measured_seconds = max(measured_seconds, _busy_seconds(counted, ready.point_spec.main_operation))
        edges = (timeline.begin_ns, timeline.measured_ns, timeline.cool_ns, ended_ns)
        # The measured phase is committed last: a point counts as finished when its measured phase exists.
        for number in (WARMING_UP, COOLING_DOWN, IN_WINDOW):
            at = began + timedelta(microseconds=(edges[number] - timeline.begin_ns) / 1000)
            seconds = measured_seconds if number == IN_WINDOW else (edges[number + 1] - edges[number]) / _SECOND_NS
            segments[number].commit(self._row(ready.point_spec, step, at, seconds))
        names = tuple(dict.fromkeys(each.name.partition(":")[0] for each in doubts if each.kind == "flag"))
        return _outcome(ready.point_spec, contestant, step, point, counted, measured_seconds, names)

    def _row(self, point_spec: PointSpec, step: Step, began: datetime, seconds: float) -> PhaseRow:
        parameters = {name: str(value) for name, value in step.points.items()}
        parameters |= point_spec.parameters
        parameters[OPERATION_PARAMETER] = point_spec.main_operation
        return PhaseRow(
            self._run.manifest.scenario,
            began,
            seconds,
            point_spec.clients,
            point_spec.message_bytes,
            point_spec.persistent,
            point_spec.rate_per_second,
            parameters,
        )

    def _watch(
        self,
        load: _Load,
        ready: ReadyLoad,
        phase: str,
        from_ns: int,
        to_ns: int,
        segment: SegmentWriter | None,
        window: SampleWindow,
    ) -> list[Metric]:
        """Add metrics to the segment and report the status once a second, until the phase or the load ends.

        Returns what the logs did meanwhile.
        """
        second = 0
        first: Sequence[Metric] = ()
        while True:
            last = _add_metrics(ready, segment, second)
            first = first or last
            if from_ns + second * _SECOND_NS >= to_ns:
                return log_results(first, last)
            second += 1
            goes_on = load.wait_until(min(from_ns + second * _SECOND_NS, to_ns))
            self._show(phase, window)
            if not goes_on:
                return log_results(first, _add_metrics(ready, segment, second))

    def _hear(self, sample: ProgressSample) -> None:
        self._samples[sample.worker] = sample

    def _show(self, phase: str, window: SampleWindow) -> None:
        samples = list(self._samples.values())
        machine = window.machines[-1] if window.machines else None
        self._view.on_status(
            LiveStatus(
                phase,
                sum(each.rate_per_second for each in samples),
                max((each.p50_ns for each in samples), default=0),
                max((each.p99_ns for each in samples), default=0),
                window.core_percent_now(),
                machine.steal_percent if machine is not None else 0.0,
                self._seconds_left(),
            )
        )


def _add_metrics(ready: ReadyLoad, segment: SegmentWriter | None, second: int) -> Sequence[Metric]:
    """Read metrics and add them to a segment; none without one."""
    if segment is None:
        return ()
    found = _metrics(ready)
    segment.add(_statistics(found, second))
    return found


def _metrics(ready: ReadyLoad) -> Sequence[Metric]:
    try:
        return ready.metrics()
    except (OSError, ValueError, PointFailed):
        # The process has ended. The load notices that too, and reports it with more detail.
        return ()


def _statistics(metrics: Sequence[Metric], second: int) -> list[StatisticRow]:
    return [
        StatisticRow(second, each.source, each.record, each.object, each.name, each.position, each.value)
        for each in metrics
    ]


def _agreement(expected: Sequence[CountCheck], second: int) -> list[EventRow]:
    """Return an event for each comparison of counts, whether they agree or differ."""
    rows = []
    for each in expected:
        text = f"{each.what}: the drivers counted {each.drivers:,}, the queue manager {each.queue_manager:,}"
        kind, name = ("note", "counts-agree") if each.agrees else ("flag", "counts-differ")
        rows.append(EventRow(second, kind, f"{name}: {each.what}", text, float(each.queue_manager - each.drivers)))
    return rows


def _emptiness(point_spec: PointSpec, counted: Sequence[WorkerCounts], second: int) -> list[EventRow]:
    """Return a flag if no operation ended within the window: such a window shows no rate."""
    seconds = [each.phases[IN_WINDOW].operation(point_spec.main_operation).seconds.values() for each in counted]
    if any(found.count for each in seconds for found in each):
        return []
    text = f"no {point_spec.main_operation} ended within the window: it was too short, or everything stood still"
    return [EventRow(second, "flag", "nothing-ended", text, 0.0)]


def _busy_seconds(counted: Sequence[WorkerCounts], operation: str) -> float:
    """Return the time that operations of the measured phase took, one after the other."""
    phases = [each.phases[IN_WINDOW].operation(operation) for each in counted]
    return sum(found.total_ns for phase in phases for found in phase.seconds.values()) / _SECOND_NS


def _outcome(
    point_spec: PointSpec,
    contestant: Contestant,
    step: Step,
    point: PlannedPoint,
    counted: Sequence[WorkerCounts],
    seconds: float,
    flags: tuple[str, ...],
) -> PointResult:
    count = total_ns = highest_ns = 0
    buckets: dict[int, int] = {}
    for each in counted:
        for found in each.phases[IN_WINDOW].operation(point_spec.main_operation).seconds.values():
            count += found.count
            total_ns += found.total_ns
            highest_ns = max(highest_ns, found.highest_ns)
            merge(buckets, found.counts)
    p50, p99 = (percentile_ns(buckets, percent, highest_ns) if count else None for percent in (50.0, 99.0))
    mean = total_ns / count if count else None
    rate = count / seconds if seconds else 0.0
    return PointResult(contestant.name, step, point.repetition, point_spec.main_operation, rate, mean, p50, p99, flags)
