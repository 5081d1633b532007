"""The result of a run for people: a row for each step and contestant, the flags, and the location of the data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ostler.lab.runner import formatting
from ostler.lab.runner.contract import ContestantKind
from ostler.lab.runner.step_results import StepMetric, StepResult, noise_percent, step_metrics, step_results
from ostler.lab.runner.text_table import TextColumn, TextTable, show
from ostler.lab.store.manifest import describe_contestants, listed_contestants
from ostler.lab.store.run_reader import StoredRun

_NUMBER_COLUMNS = (
    TextColumn("rate/s"),
    TextColumn("asked/s", keep=6),
    TextColumn("±", keep=5),
    TextColumn("mean", keep=1),
    TextColumn("p50", keep=3),
    TextColumn("p90", keep=4),
    TextColumn("p99", keep=9),
    TextColumn("p99.9", keep=7),
    TextColumn("highest", keep=9),
    TextColumn("aim", right=False),
    TextColumn("broker us", keep=7),
    TextColumn("near us", keep=6),
    TextColumn("far us", keep=6),
    TextColumn("leader us", keep=6),
    TextColumn("follower us", keep=6),
    TextColumn("recovery us", keep=6),
    TextColumn("facility us", keep=6),
    TextColumn("log us", keep=5),
    TextColumn("driver us", keep=2),
    TextColumn("of limit", keep=8),
    TextColumn("failed", keep=4),
)


def show_run(run: StoredRun, console: Console) -> None:
    """Print the complete result of a run that has ended."""
    results = step_results(run)
    if results:
        show(run_table(run.manifest.scenario, results), console)
        fixed = constants(results)
        if fixed:
            _say(console, f"Everywhere: {formatting.points(fixed)}.")
        everywhere = common_flags(results)
        if everywhere:
            _say(console, f"Doubts of all points: {', '.join(everywhere)}.", "yellow")
        _say(console, _legend(results), "dim")
    metrics = step_metrics(run)
    if metrics:
        if results and not console.is_terminal:
            console.print()
        show(metric_table(run.manifest.scenario, metrics), console)
    for text in promises(run):
        _say(console, text, "dim")
    for text in measured_and_skipped(run):
        _say(console, text)
    for text in doubts(run):
        _say(console, text, "yellow")
    for text in where(run, results):
        # The text is to be copied: a terminal may wrap it anywhere, nothing else may.
        console.print(Text(text), soft_wrap=True)


def run_table(scenario: str, results: Sequence[StepResult]) -> TextTable:
    """Return a row for each operation of each contestant at each step, numbers as texts."""
    fixed = constants(results)
    sweeps = [name for name in sweep_names(results) if name not in fixed]
    has_operations = len({each.operation for each in results}) > 1
    everywhere = common_flags(results)
    columns = (
        *(TextColumn(name, group=True) for name in sweeps),
        TextColumn("contestant", right=False, group=True, least=16),
        *((TextColumn("operation", right=False),) if has_operations else ()),
        *_NUMBER_COLUMNS,
        TextColumn("doubts", right=False, least=16, style="yellow"),
    )
    rows = tuple(
        (
            *(each.points.get(name, "") for name in sweeps),
            each.contestant,
            *((each.operation,) if has_operations else ()),
            *_metrics(each),
            flags_text({name: count for name, count in each.flags.items() if name not in everywhere}, each.repetitions),
        )
        for each in results
    )
    return TextTable(scenario, columns, rows)


def metric_table(scenario: str, metrics: Sequence[StepMetric]) -> TextTable:
    """Return a row for each metric that is not a rate."""
    sweeps = sweep_names(metrics)
    columns = (
        *(TextColumn(name, group=True) for name in sweeps),
        TextColumn("contestant", right=False, group=True),
        TextColumn("figure", right=False),
        TextColumn("median"),
        TextColumn("±", keep=1),
    )
    rows = tuple(
        (
            *(each.points.get(name, "") for name in sweeps),
            each.contestant,
            each.name,
            formatting.figure(each.values.median),
            formatting.percent(each.values.spread_percent),
        )
        for each in metrics
    )
    return TextTable(f"{scenario}: what was found beside", columns, rows)


def _metrics(each: StepResult) -> tuple[str, ...]:
    return (
        formatting.rate(each.rate_per_second),
        # Limits are probed at full speed, even where the contestants have a fixed rate.
        "" if each.asked_rate is None or each.kind is ContestantKind.LIMIT else formatting.rate(each.asked_rate),
        formatting.percent(each.rate.spread_percent),
        formatting.response_time(each.mean_ns.median),
        formatting.response_time(each.p50_ns.median),
        formatting.response_time(each.p90_ns.median),
        formatting.response_time(each.p99_ns.median),
        *_aimed(each),
        formatting.cost(each.broker_us.median),
        formatting.cost(each.costs.near_us.median),
        formatting.cost(each.costs.far_us.median),
        formatting.cost(each.costs.leader_us.median),
        formatting.cost(each.costs.follower_us.median),
        formatting.cost(each.costs.recovery_us.median),
        formatting.cost(each.costs.facility_us.median),
        formatting.cost(each.costs.log_us.median or None),
        formatting.cost(each.driver_us.median),
        "" if each.of_limit is None else formatting.percent(100 * each.of_limit),
        f"{each.failed:,}" if each.failed else "",
    )


def _aimed(each: StepResult) -> tuple[str, str, str]:
    """Return the columns of scenarios with an aim: p99.9, the maximum of all repetitions, and whether the aim is
    met."""
    if each.aim is None:
        return "", "", ""
    missed = each.aim.missed(each)
    return (
        formatting.response_time(each.p999_ns.median),
        formatting.response_time(max(each.highest_ns.values, default=None)),
        flags_text({"missed": missed}, each.repetitions) if missed else "met",
    )


def flags_text(flags: Mapping[str, int], repetitions: int) -> str:
    """Return the flags, each with its number of repetitions unless all repetitions have it."""
    return ", ".join(name if count >= repetitions else f"{name} {count}/{repetitions}" for name, count in flags.items())


def common_flags(results: Sequence[StepResult]) -> list[str]:
    """Return the flags of every repetition of every point: they are shown once instead of in every row."""
    mains = [each for each in results if each.is_main]
    if len(mains) < 2:
        return []
    return [name for name in mains[0].flags if all(each.flags.get(name, 0) >= each.repetitions for each in mains)]


def sweep_names(results: Iterable[StepResult | StepMetric]) -> list[str]:
    return list(dict.fromkeys(name for each in results for name in each.points))


def constants(results: Sequence[StepResult]) -> dict[str, str]:
    """Return the sweeps with the same value everywhere: they are shown once instead of in a column. The first sweep
    always has a column."""
    found: dict[str, str] = {}
    for name in sweep_names(results)[1:]:
        values = {each.points.get(name, "") for each in results}
        if len(values) == 1:
            found[name] = values.pop()
    return found


def _legend(results: Sequence[StepResult]) -> str:
    repetitions = max(each.repetitions for each in results)
    sentences = [f"Medians of {repetitions} repetitions, ± half the distance between the lowest and the highest rate"]
    if repetitions == 1:
        sentences = ["Measured once each, so there is no spread"]
    if any(each.broker_us.values for each in results):
        sentences.append("broker us and driver us: processor time for each operation")
    if any(each.costs.near_us.values for each in results):
        sentences.append(
            "near us: the part of broker us of the queue manager or node that requests go in at; far us: the other"
        )
    if any(each.costs.leader_us.values for each in results):
        sentences.append(
            "leader us: the part of broker us of the instance that applications use; follower us: of all its "
            "followers; recovery us: of the instance at another site"
        )
    if any(each.costs.facility_us.values for each in results):
        sentences.append("facility us: the part of broker us of the coupling facility")
    if any(each.costs.log_us.median for each in results):
        sentences.append("log us: the part of broker us of threads that write the log")
    aims = dict.fromkeys(each.aim for each in results if each.aim)
    sentences += [
        f"aim: p99 at most {aim.p99_ms:g} ms and the highest at most {aim.highest_ms:g} ms, each time" for aim in aims
    ]
    limits = dict.fromkeys(each.limit for each in results if each.limit)
    if limits:
        sentences.append(f"of limit: speed as a share of {' or '.join(limits)}, the slowest probe of the step")
    return "; ".join(sentences) + "."


def promises(run: StoredRun) -> list[str]:
    """Return the meaning of each contestant's acknowledgements, and substitutes for features that are missing here."""
    environment = run.manifest.environment
    found = [
        f"{' '.join(filter(None, (str(each.get('name')), str(each.get('version', '')))))}: {each['promise']}."
        for each in listed_contestants(environment)
        if each.get("promise")
    ]
    stand_ins, left_out = environment.get("stand_ins"), environment.get("left_out")
    if isinstance(stand_ins, dict):
        found += [f"Stands in for {name}: {note}" for name, note in stand_ins.items()]
    if isinstance(left_out, dict):
        found += [f"Left out: {name}, which needs {', '.join(needs)}." for name, needs in left_out.items()]
    deviations = environment.get("deviations")
    if isinstance(deviations, list):
        found += [f"Differs from the report: {each['what'].rstrip('.')}: {each['why']}" for each in deviations]
    return found


def measured_and_skipped(run: StoredRun) -> list[str]:
    """Return sentences on measured and skipped points, with reasons."""
    planned, remaining = len(run.manifest.points), len(run.remaining())
    skipped: dict[tuple[str, str], set[int]] = defaultdict(set)
    for each in run.manifest.skipped:
        skipped[each.contestant, each.reason].add(each.step)
    measured = planned - remaining - len(run.manifest.skipped)
    sentences = [f"{measured} of {planned} points were measured{'' if remaining else '; the others were not needed'}."]
    if measured == planned:
        sentences = [f"All {planned} points were measured."]
    for (contestant, reason), steps in skipped.items():
        sentences.append(f"{contestant} skipped {len(steps)} step{'' if len(steps) == 1 else 's'}: {reason}.")
    noise = noise_percent(run)
    if noise is not None:
        sentences.append(f"Noise of the machine: {formatting.percent(noise)}; smaller differences mean nothing.")
    return sentences


def doubts(run: StoredRun) -> list[str]:
    """Return the flags of the run."""
    damaged = [f"Segment {each.directory.name}: {each.damage}." for each in run.segments if each.damage]
    flags = [f"{each.name}: {each.text}" for each in run.manifest.flags]
    resumed = [f"Resumed: {moment}; figures are from several parts of the run." for moment in run.manifest.resumed[-1:]]
    return flags + resumed + damaged


def where(run: StoredRun, results: Sequence[StepResult]) -> list[str]:
    """Return the location of the data, and commands that use it."""
    directory = shown_path(run.directory)
    sentences = [f"Data: {directory}, as manifest.json and segments/*/*.parquet."]
    others = {each.contestant for each in results if each.kind is not ContestantKind.LIMIT}
    if len(others) > 1:
        sentences.append(f"Contestants against Ostler: ostler lab compare {directory}")
    sentences.append(f"Against another run: ostler lab compare OTHER {directory}")
    return sentences


def shown_path(directory: Path) -> str:
    """Return the shortest form of a path, relative to the working directory where possible."""
    try:
        return str(directory.resolve().relative_to(Path.cwd().resolve()))
    except ValueError:
        return str(directory)


def as_json(run: StoredRun) -> dict[str, object]:
    """Return the summary of a run for programs."""
    manifest = run.manifest
    return {
        "run": manifest.run,
        "scenario": manifest.scenario,
        "directory": str(run.directory),
        "condition": run.condition.value,
        "reason": manifest.reason,
        "began": manifest.began,
        "ended": manifest.ended,
        "points": len(manifest.points),
        "remaining": len(run.remaining()),
        "skipped": len(manifest.skipped),
        "noise_percent": noise_percent(run),
        **describe_contestants(listed_contestants(manifest.environment)),
        "flags": [{"name": each.name, "text": each.text} for each in manifest.flags],
        "results": [each.as_json() for each in step_results(run)],
        "figures": [each.as_json() for each in step_metrics(run)],
    }


def _say(console: Console, text: str, style: str = "") -> None:
    """Print a sentence, wrapped between words on a terminal and not wrapped elsewhere."""
    console.print(Text(text, style=style), soft_wrap=not console.is_terminal)
