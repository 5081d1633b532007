"""The runner: measures every step of a scenario's sweeps, contestants in turn, until the sweep or its stop rule ends.

Other modules plan the steps (`scenarios.steps`), decide when to stop (`stop_rules`), flag doubtful values
(`sampling.flags`), start and load the contestants (`contract.Experiment`), measure one point (`point_measurement`) and
store it (`store`). The runner calls them in order, and leaves a valid run behind however it ends.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Final

from ostler.lab.common.memory_copy_probe import memory_limit
from ostler.lab.common.samples import median
from ostler.lab.runner.contract import (
    Contestant,
    ContestantKind,
    Experiment,
    PointFailed,
    ReadyLoad,
    RunAborted,
    RunContext,
    Settings,
    View,
)
from ostler.lab.runner.point_measurement import LEAD_SECONDS, OPERATION_PARAMETER, PointMeasurement
from ostler.lab.runner.run_parameters import as_parameters, chosen_from, settings_from
from ostler.lab.runner.stop_rules import StepOutcome, reason_to_stop
from ostler.lab.runner.windows import stated_windows, window_seconds
from ostler.lab.sampling.clock import SystemClock
from ostler.lab.sampling.machine_sampler import MachineSampler
from ostler.lab.sampling.noise import PIECES, NoiseMeter
from ostler.lab.sampling.observer import Observer, observing
from ostler.lab.sampling.process_sampler import ProcessSampler
from ostler.lab.sampling.window import SampleWindow
from ostler.lab.scenarios.as_json import plain, whole
from ostler.lab.scenarios.families import FAMILIES
from ostler.lab.scenarios.features import Readiness
from ostler.lab.scenarios.loader import UnknownScenario, catalogue
from ostler.lab.scenarios.model import Deviation, Scenario
from ostler.lab.scenarios.steps import ParametersError, Step, steps
from ostler.lab.store.environment import describe_environment
from ostler.lab.store.manifest import Manifest, PlannedPoint, RunUnreadable, describe_contestants
from ostler.lab.store.points import measured_points
from ostler.lab.store.run_reader import read_run
from ostler.lab.store.run_writer import RunWriter, is_owned, new_run_name, now_text

SCRATCH: Final = ".scratch-"
_OVERHEAD_SECONDS: Final = 0.6
_FAILURES_MAX: Final = 3
"""A contestant that fails this often in a row takes no further part in the run."""
NOISE_PERCENT_MAX: Final = 15.0
_PIECES_BETWEEN: Final = 20

Key = tuple[str, int, int]
MakeExperiment = Callable[[RunContext], Experiment]


def run_scenario(
    scenario: Scenario,
    settings: Settings,
    chosen: Mapping[str, Sequence[str]],
    output: Path,
    view: View,
    command: tuple[str, ...] = (),
    make: MakeExperiment | None = None,
    made: Callable[[Path], object] | None = None,
) -> Path:
    """Measure a scenario and return the directory of the run. `make` replaces the experiment of the family, and `made`
    is called with the directory as soon as it exists.

    Queue managers collect accounting where the settings or the report have it.

    Raises ParametersError when the scenario cannot run with these settings, RunAborted when nothing more can be
    measured, and RunNotWritten when samples cannot be stored. In every case the points measured so far are kept, and
    the run can be resumed.
    """
    readiness = _ready(scenario)
    settings = replace(settings, accounting=settings.accounting or scenario.report.accounting)
    planned = steps(scenario, readiness, settings.is_quick, chosen)
    output = output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    manifest = Manifest(
        run=new_run_name(scenario.id),
        scenario=scenario.id,
        began=now_text(),
        environment=_environment(output, scenario, readiness),
        command=command,
        parameters=as_parameters(settings, chosen),
    )
    with RunWriter.create(output, manifest) as run:
        if made is not None:
            made(run.directory)
        _run(run, scenario, settings, planned, view, make or make_experiment)
    return run.directory


def resume_run(directory: Path, view: View, make: MakeExperiment | None = None) -> Path:
    """Resume a run that ended early. Raises RunUnreadable when it is not a run, or complete; otherwise as
    `run_scenario`."""
    stored = read_run(directory)
    try:
        scenario = catalogue().find(stored.manifest.scenario)
    except UnknownScenario as unknown:
        raise RunUnreadable(f"{directory.name} is of a scenario {unknown.name!r} that is not known here.") from None
    readiness = _ready(scenario)
    settings = settings_from(stored.manifest.parameters)
    planned = steps(scenario, readiness, settings.is_quick, chosen_from(stored.manifest.parameters))
    with RunWriter.resume(directory) as run:
        _run(run, scenario, settings, planned, view, make or make_experiment)
    return directory


def _ready(scenario: Scenario) -> Readiness:
    readiness = catalogue().readiness(scenario)
    if not readiness.can_run:
        needs = ", ".join(readiness.needs()) or "another platform"
        raise ParametersError(f"{scenario.id} cannot run yet: it needs {needs}.")
    return readiness


def _environment(output: Path, scenario: Scenario, readiness: Readiness) -> dict[str, object]:
    """Return the environment of a run, with all that distinguishes it from the run of the report."""
    return {
        **describe_environment(output),
        "stand_ins": {each.id: each.note for each in readiness.stand_ins},
        "left_out": {each.name: list(each.needs) for each in readiness.left_out},
        "deviations": plain(scenario.deviations),
        "workload": whole(scenario, readiness),
    }


@contextmanager
def _scratch(run: RunWriter) -> Iterator[Path]:
    """Create a directory beside the runs, on the same disk, and remove it after the run. Leftovers of killed runs are
    removed first."""
    parent = run.directory.parent
    for left in parent.glob(f"{SCRATCH}*"):
        if not is_owned(parent / left.name.removeprefix(SCRATCH)):
            shutil.rmtree(left, ignore_errors=True)
    path = parent / f"{SCRATCH}{run.directory.name}"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def make_experiment(context: RunContext) -> Experiment:
    """Return the experiment of the scenario's family. Raises RunAborted when a package that it needs is missing."""
    module, _, function = FAMILIES[context.scenario.family].runner.partition(":")
    try:
        make: MakeExperiment = getattr(import_module(module), function)
    except ModuleNotFoundError as missing:
        extra = "pipeline" if module.startswith("ostler.pipeline.") else "lab"
        text = f"{context.scenario.id} needs the package {missing.name}: pip install 'ostler[{extra}]'"
        raise RunAborted(text) from missing
    return make(context)


def _run(
    run: RunWriter,
    scenario: Scenario,
    settings: Settings,
    planned: tuple[Step, ...],
    view: View,
    make: MakeExperiment,
) -> None:
    clock = SystemClock()
    settings = replace(settings, measured_seconds=window_seconds(scenario, settings))
    with ExitStack() as stack:
        scratch = stack.enter_context(_scratch(run))
        view.note("Measuring the noise of this machine.")
        noise = _Noise(run, NoiseMeter.calibrated(clock))
        noise.measure("before")
        experiment = make(RunContext(scenario, settings, planned, scratch, view.note))
        stack.callback(experiment.close)
        contestants = list(experiment.contestants())
        for name, why in experiment.absent.items():
            view.note(f"Without {name}: {why}")
            run.flag("absent", f"{name}: {why}")
        run.amend_environment(
            {
                **describe_contestants([_describe(each) for each in contestants]),
                "deviations": plain((*stated_windows(scenario.deviations, settings), *experiment.deviations)),
                "configuration": [{"name": name, "text": text} for name, text in experiment.configuration.items()],
            }
        )
        points = list(_points(contestants, planned, settings))
        if not points:
            raise RunAborted(_nothing(scenario, experiment.deviations))
        run.plan(points)
        observer = Observer(clock, ProcessSampler(), MachineSampler(scratch), SampleWindow(), "between")
        stack.enter_context(observing(observer))
        sweep = _Sweep(run, scenario, settings, experiment, contestants, observer, noise, view)
        sweep.go(planned)
        noise.measure("after")
        noise.report(view)
        run.finish()


def _nothing(scenario: Scenario, deviations: Sequence[Deviation]) -> str:
    """Return why nothing of what was asked for can be measured here."""
    reasons = " ".join(f"{each.what}: {each.why}" for each in deviations)
    return f"{scenario.id}: nothing of what was asked for can be measured here. {reasons}".rstrip()


def _describe(contestant: Contestant) -> dict[str, object]:
    return {
        "name": contestant.name,
        "kind": contestant.kind.value,
        "promise": contestant.promise,
        "version": contestant.version,
    }


def _points(contestants: Sequence[Contestant], planned: Sequence[Step], settings: Settings) -> Iterator[PlannedPoint]:
    """Yield the points in the order of measurement: contestants take turns within a step."""
    for step in planned:
        for repetition in range(settings.repetitions):
            for contestant in contestants:
                if contestant.does(step.number):
                    yield PlannedPoint(contestant.name, step.number, repetition, dict(step.points))


class _Noise:
    """The variation of the same work within a run, including the time before it was resumed. Stored with the run when
    it is measured."""

    def __init__(self, run: RunWriter, meter: NoiseMeter) -> None:
        self._run = run
        self.meter = meter
        before = run.manifest.environment.get("noise")
        percent = before.get("percent") if isinstance(before, dict) else None
        self._before = float(percent) if isinstance(percent, int | float) else 0.0

    @property
    def percent(self) -> float:
        return max(self.meter.percent, self._before)

    def measure(self, moment: str, pieces: int = PIECES) -> None:
        self.meter.measure(moment, pieces)
        self._run.amend_environment({"noise": {**self.meter.as_json(), "percent": round(self.percent, 2)}})

    def report(self, view: View) -> None:
        """Report the noise, and flag the run when it hides differences that matter."""
        if self.percent > NOISE_PERCENT_MAX:
            text = f"The same work took up to {self.percent:.0f}% longer at some times of this run than at others."
            self._run.flag("noise", text)
        view.note(f"Noise: {self.percent:.0f}%. Smaller differences mean nothing.")


@dataclass
class _ContestantState:
    """The failures of a contestant in a row, and the reason for which it takes no further part."""

    failures: int = 0
    given_up: str = ""


class _Sweep:
    """All steps of a run, in order."""

    def __init__(
        self,
        run: RunWriter,
        scenario: Scenario,
        settings: Settings,
        experiment: Experiment,
        contestants: list[Contestant],
        observer: Observer,
        noise: _Noise,
        view: View,
    ) -> None:
        self._run = run
        self._scenario = scenario
        self._settings = settings
        self._experiment = experiment
        self._contestants = contestants
        self._observer = observer
        self._noise = noise
        self._view = view
        self._remaining: dict[Key, PlannedPoint] = {point.key: point for point in run.remaining()}
        self._states = {each.name: _ContestantState() for each in contestants}
        self._outcomes: dict[tuple[str, int], list[StepOutcome]] = defaultdict(list)
        self._found: dict[tuple[str, int], list[tuple[float, float | None, float]]] = defaultdict(list)

    def go(self, planned: Sequence[Step]) -> None:
        self._load_measured()
        total = len(self._run.manifest.points)
        self._view.on_planned(total, total - len(self._remaining), self._seconds_left())
        self._calibrate()
        for at, step in enumerate(planned):
            if at:
                self._noise.measure(f"before step {step.number}", _PIECES_BETWEEN)
            self._step(step, [each for each in planned[at + 1 :] if each.group == step.group])

    def _load_measured(self) -> None:
        """Load the points measured before the run was resumed, so that stop rules see the whole sweep."""
        for point in measured_points(read_run(self._run.directory)):
            timed = point.operations.get(point.parameters.get(OPERATION_PARAMETER, ""))
            if timed is not None:
                mean = None if timed.mean_ns is None else timed.mean_ns / 1e9
                asked = point.rate_per_second or 0.0
                self._found[point.contestant, point.step].append((timed.rate_per_second, mean, asked))

    def _seconds_left(self) -> float:
        settings = self._settings
        each = settings.warm_up_seconds + settings.measured_seconds + settings.cool_down_seconds
        return len(self._remaining) * (each + LEAD_SECONDS + _OVERHEAD_SECONDS)

    def _calibrate(self) -> None:
        """Measure the speed of memory copies, a limit common to all contestants, once for each start of the run."""
        if not self._settings.limits or not self._remaining:
            return
        sizes = sorted({int(size) for size in self._scenario.message_bytes} or {2048})
        found = {f"{size}": round(memory_limit(size).uncached_bytes_per_second) for size in sizes}
        known = self._run.manifest.environment.get("memory_copy_bytes_per_second")
        measured = [*known, found] if isinstance(known, list) else [found]
        self._run.amend_environment({"memory_copy_bytes_per_second": measured})

    # -- one step ------------------------------------------------------------------------------------------------------

    def _step(self, step: Step, behind: Sequence[Step]) -> None:
        # Only one contestant is connected at a time: applications of two contestants on the same queues would serve
        # each other.
        for repetition in range(self._settings.repetitions):
            for contestant in self._contestants:
                point = self._remaining.get((contestant.name, step.number, repetition))
                if point is not None and not self._states[contestant.name].given_up:
                    self._turn(contestant, step, point)
        for contestant in self._contestants:
            if contestant.does(step.number) and not self._states[contestant.name].given_up:
                self._apply_stop_rule(contestant, step, behind)

    def _turn(self, contestant: Contestant, step: Step, point: PlannedPoint) -> None:
        self._view.on_point_begun(contestant, step, point.repetition)
        try:
            ready = self._experiment.prepare(contestant, step)
        except PointFailed as failure:
            self._failed(contestant, step, str(failure))
            return
        try:
            self._point(ready, contestant, step, point)
        except PointFailed as failure:
            self._failed(contestant, step, str(failure))
        finally:
            try:
                ready.close()
            except PointFailed as failure:
                self._view.note(f"{contestant.name} did not end well: {failure}")

    def _point(self, ready: ReadyLoad, contestant: Contestant, step: Step, point: PlannedPoint) -> None:
        measurement = PointMeasurement(
            self._run, self._observer, self._settings, self._view, self._noise.meter.measured, self._seconds_left
        )
        done = measurement.measure(ready, contestant, step, point)
        del self._remaining[point.key]
        self._states[contestant.name].failures = 0
        mean = None if done.mean_ns is None else done.mean_ns / 1e9
        asked = ready.point_spec.rate_per_second or 0.0
        self._found[contestant.name, step.number].append((done.rate_per_second, mean, asked))
        self._view.on_point_done(done)

    def _failed(self, contestant: Contestant, step: Step, why: str) -> None:
        """Report a failed point and flag the run. The point stays open until the run is resumed."""
        self._view.on_point_failed(contestant, step, why)
        self._run.flag("point-failed", f"{contestant.name} at {_label(step)}: {why}")
        state = self._states[contestant.name]
        state.failures += 1
        self._outcomes[contestant.name, step.group].append(StepOutcome(_label(step), 0.0, None, 0.0, why, step.points))

    # -- what follows from it ------------------------------------------------------------------------------------------

    def _apply_stop_rule(self, contestant: Contestant, step: Step, behind: Sequence[Step]) -> None:
        outcomes = self._outcomes[contestant.name, step.group]
        found = self._found.get((contestant.name, step.number))
        if found and not (outcomes and outcomes[-1].label == _label(step)):
            means = [mean for _, mean, _ in found if mean is not None]
            rate = median([rate for rate, _, _ in found])
            mean = median(means) if means else None
            outcomes.append(StepOutcome(_label(step), rate, mean, found[-1][2], points=step.points))
        why = reason_to_stop(self._scenario.stop, outcomes)
        # Limits are probed as far as any contestant goes.
        if why and contestant.kind is not ContestantKind.LIMIT:
            self._skip(contestant, behind, why)
        elif self._states[contestant.name].failures >= _FAILURES_MAX:
            self._states[contestant.name].given_up = "it failed too often"
            self._view.note(f"{contestant.name} is given up: it failed {_FAILURES_MAX} times in a row.")
            if contestant.kind is ContestantKind.OSTLER and all(
                self._states[each.name].given_up for each in self._contestants if each.kind is ContestantKind.OSTLER
            ):
                raise RunAborted(f"{contestant.name} failed {_FAILURES_MAX} times in a row: {outcomes[-1].failure}")

    def _skip(self, contestant: Contestant, behind: Sequence[Step], why: str) -> None:
        numbers = {step.number for step in behind}
        points = [point for point in self._remaining.values() if point.contestant == contestant.name]
        points = [point for point in points if point.step in numbers]
        if points:
            self._view.on_steps_skipped(contestant, len({point.step for point in points}), why)
            for point in points:
                self._run.skip(point, why)
                del self._remaining[point.key]


def _label(step: Step) -> str:
    return ", ".join(f"{name} {value}" for name, value in step.points.items())
