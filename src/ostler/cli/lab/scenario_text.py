"""The text of `ostler lab show`: a scenario as labels and lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ostler.lab.scenarios.families import FAMILIES

if TYPE_CHECKING:
    from ostler.lab.scenarios.features import Readiness
    from ostler.lab.scenarios.model import Deviation, Point, Role, Scenario, ScenarioLoad, StopRule, Sweep

_LOADS: Final = {
    "closed": "the next request as soon as the reply is in",
    "flat-out": "as fast as messages are taken",
    "sequential": "one application, verb after verb",
    "idle": "none while it is measured",
}
_STOPS: Final = {
    "sweep": "at the last point",
    "peak": "when the rate no longer rises",
    "capacity": "when nothing more fits",
}
_KB: Final = 1024


def rows(
    scenario: Scenario, readiness: Readiness, today: str, expected: Sequence[Deviation] = ()
) -> Iterator[tuple[str, str]]:
    """Yields labels and texts; a label is empty if the text continues the previous line. `expected` are deviations of a
    run on this machine."""
    yield "today", today
    yield from _listed("left out", [f"{part.name}: needs {', '.join(part.needs)}" for part in readiness.left_out])
    yield from _listed("missing", [f"{each.name} ({each.id}). {each.note}" for each in readiness.missing])
    yield from _listed("stands in", [f"{each.name}: {each.note}" for each in readiness.stand_ins])
    yield from _listed("differs", [f"{each.what}: {each.why}" for each in scenario.deviations])
    yield from _listed("differs here", [f"{each.what}: {each.why}" for each in expected])
    if scenario.family:
        family = FAMILIES[scenario.family]
        yield "family", f"{family.name}: {family.title}"
    yield from _listed("topology", [", ".join(scenario.topology)] if scenario.topology else [])
    for label, values in (("persistence", scenario.persistence), ("syncpoint", scenario.syncpoint)):
        if values:
            yield label, ", ".join(values)
    if scenario.queue_managers:
        yield "queue managers", ", ".join(str(each) for each in scenario.queue_managers)
    if scenario.message_bytes:
        yield "messages", ", ".join(size(each) for each in scenario.message_bytes)
    yield from _listed("roles", [_role(each) for each in scenario.roles])
    if scenario.load is not None:
        yield "load", _load(scenario.load)
    yield from _listed("swept", [_sweep(each) for each in scenario.sweeps])
    if scenario.stop is not None:
        yield "stops", _stop(scenario.stop)
    yield from _listed("parameters", [f"{name} = {_value(value)}" for name, value in scenario.parameters.items()])
    yield from _listed("measured", [", ".join(scenario.metrics)] if scenario.metrics else [])
    yield from _listed("report compares", list(scenario.compared))
    yield "needs", ", ".join(scenario.needs) or "nothing"
    yield from _source(scenario)


def size(length: int) -> str:
    """Returns bytes in the notation of the reports."""
    for unit, bytes_each in (("MB", _KB * _KB), ("KB", _KB)):
        if length >= bytes_each and length % bytes_each == 0:
            return f"{length // bytes_each} {unit}"
    return f"{length} bytes"


def _listed(label: str, texts: list[str]) -> Iterator[tuple[str, str]]:
    for number, text in enumerate(texts):
        yield (label if number == 0 else ""), text


def _role(role: Role) -> str:
    count = " or ".join(str(each) for each in role.counts)
    per = f"for each {role.per}" if role.per else ""
    about = [f"{count} {per}".strip(), role.binding.value if role.binding is not None else ""]
    details = ", ".join(each for each in about if each)
    return f"{role.name} ({details}): {role.does}" if details else f"{role.name}: {role.does}"


def _sweep(sweep: Sweep) -> str:
    text = f"{sweep.name}: {_points(sweep, sweep.values)}; quick: {_points(sweep, sweep.quick)}"
    return text + (f"; printed: {_points(sweep, sweep.printed)}" if sweep.printed else "")


def _points(sweep: Sweep, points: tuple[Point, ...]) -> str:
    if sweep.unit == "bytes":
        return ", ".join(size(each) if isinstance(each, int) else each for each in points)
    unit = f" {sweep.unit}" if sweep.unit else ""
    # Texts may have commas of their own.
    between = ", " if any(isinstance(each, int) for each in points) else " | "
    return between.join(str(each) for each in points) + unit


def _load(load: ScenarioLoad) -> str:
    if load.kind != "rated":
        return _LOADS[load.kind.value]
    pace = ", when it has its reply and that time has passed since its last put" if load.since_put else ""
    return f"{_rate(load)} from each{pace}"


def _rate(load: ScenarioLoad) -> str:
    if load.per_second >= 1:
        return f"{load.per_second:,.4g} a second" if load.per_second < _KB else f"{load.per_second:,.0f} a second"
    return f"one in {1 / load.per_second:,.4g} seconds"


def _stop(stop: StopRule) -> str:
    if stop.kind == "response-time":
        text = f"when the mean response time passes {stop.limit:g} s"
        text += f" at {stop.after} successive points" if stop.after > 1 else ""
        text += "".join(f", with {name} {point} only" for name, point in stop.only.items())
    elif stop.kind == "samples":
        text = f"after {stop.limit:,.0f} measurements of each point"
    elif stop.kind == "event":
        return f"when {stop.text}"
    else:
        text = _STOPS[stop.kind.value]
    return f"{text} ({stop.text})" if stop.text else text


def _value(value: object) -> str:
    return ", ".join(str(each) for each in value) if isinstance(value, tuple) else str(value)


def _source(scenario: Scenario) -> Iterator[tuple[str, str]]:
    source, report = scenario.source, scenario.report
    yield "report", f"{report.title}, {report.year} ({report.name})"
    yield "where", source.sections + (f"; {source.tables}" if source.tables else "")
    if source.tests:
        yield "called there", ", ".join(source.tests)
    yield "figures", f"{source.figures} printed" if source.figures else "none printed"
