"""Reads the catalogue of scenarios from the files in `data/`, and rejects errors in them."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import Final

from ostler.lab.scenarios.families import FAMILIES
from ostler.lab.scenarios.features import Feature, FeatureState, Readiness, readiness
from ostler.lab.scenarios.fields import CatalogueError, Fields
from ostler.lab.scenarios.model import (
    Binding,
    Deviation,
    LoadKind,
    Persistence,
    Point,
    Report,
    Role,
    Scenario,
    ScenarioKind,
    ScenarioLoad,
    ScenarioPart,
    Source,
    StopKind,
    StopRule,
    Sweep,
    Syncpoint,
    Topology,
    Value,
    windows_text,
)

FEATURES_FILE: Final = "features.toml"
_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_NEAR_MAX: Final = 3


class UnknownScenario(Exception):
    """No scenario has that name; `near` are similar names."""

    def __init__(self, name: str, near: tuple[str, ...]) -> None:
        super().__init__(name)
        self.name = name
        self.near = near


@dataclass(frozen=True)
class Catalogue:
    """All scenarios and features; the oldest report comes first."""

    scenarios: Mapping[str, Scenario]
    features: Mapping[str, Feature]
    reports: Mapping[str, Report]

    def find(self, name: str) -> Scenario:
        """Return the scenario of that name. Raises UnknownScenario with similar names."""
        found = self.scenarios.get(name)
        if found is None:
            raise UnknownScenario(name, near_names(name, tuple(self.scenarios)))
        return found

    def readiness(self, scenario: Scenario) -> Readiness:
        return readiness(scenario, self.features)


def near_names(name: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return names with the same beginning, then names with a similar spelling."""
    wanted = name.lower()
    starting = [each for each in known if wanted and each.startswith(wanted)]
    similar = difflib.get_close_matches(wanted, known, _NEAR_MAX)
    return tuple(dict.fromkeys(starting + similar))[:_NEAR_MAX]


@cache
def catalogue() -> Catalogue:
    """Return the catalogue of this installation. Raises CatalogueError when a file of it is wrong."""
    return read_catalogue(files("ostler.lab.scenarios") / "data")


def read_catalogue(directory: Traversable) -> Catalogue:
    """Read a catalogue from a directory with a file of features and one file for each report."""
    features = read_features(_toml(directory / FEATURES_FILE))
    names = sorted(each.name for each in directory.iterdir() if each.name.endswith(".toml"))
    read = [read_report(_toml(directory / name), name, features) for name in names if name != FEATURES_FILE]
    scenarios: dict[str, Scenario] = {}
    reports: dict[str, Report] = {}
    for report, found in sorted(read, key=lambda each: each[0].year):
        if report.name in reports:
            raise CatalogueError(f"report {report.name} is in two files.")
        reports[report.name] = report
        for scenario in found:
            if scenario.id in scenarios:
                raise CatalogueError(f"{report.name}: {scenario.id} is there twice.")
            scenarios[scenario.id] = scenario
    return Catalogue(MappingProxyType(scenarios), MappingProxyType(features), MappingProxyType(reports))


def read_features(document: Mapping[str, object]) -> dict[str, Feature]:
    found = {}
    for name, table in document.items():
        fields = Fields(table, f"{FEATURES_FILE}: {name}")
        _check_name(name, fields)
        feature = Feature(name, fields.text("name"), fields.word("state", FeatureState), fields.text("note"))
        part = fields.text("part", "")
        if bool(part) != (feature.state is FeatureState.MISSING):
            raise fields.wrong("part", "it is for features that are missing, and for all of them.")
        fields.end()
        found[name] = Feature(feature.id, feature.name, feature.state, feature.note, part)
    return found


def read_report(
    document: Mapping[str, object], file_name: str, features: Mapping[str, Feature]
) -> tuple[Report, list[Scenario]]:
    """Read the report of a file, and its scenarios."""
    whole = Fields(document, file_name)
    head = whole.table("report")
    if head is None:
        raise whole.wrong("report", "it is not given.")
    report = Report(
        head.text("name"),
        head.text("title"),
        head.text("product"),
        head.text("version"),
        head.text("platform"),
        head.whole("year"),
        head.text("text"),
        head.flag("accounting"),
    )
    windows = head.text("windows", "")
    shared = tuple(_deviation(each) for each in head.tables("deviations"))
    if windows:
        shared = (*shared, Deviation(windows_text(), windows))
    head.end()
    found = [_scenario(fields, file_name, report, features, shared) for fields in whole.tables("scenario")]
    whole.end()
    return report, found


def _scenario(
    fields: Fields, file_name: str, report: Report, features: Mapping[str, Feature], shared: tuple[Deviation, ...]
) -> Scenario:
    name = fields.text("id")
    fields.where = f"{file_name}: {name}"
    _check_name(name, fields)
    scenario = Scenario(
        id=name,
        kind=(kind := fields.word("kind", ScenarioKind)),
        title=fields.text("title"),
        summary=fields.text("summary"),
        report=report,
        source=_source(fields),
        family=fields.text("family", ""),
        topology=fields.words("topology", Topology),
        persistence=fields.words("persistence", Persistence),
        syncpoint=fields.words("syncpoint", Syncpoint),
        message_bytes=fields.wholes("message_bytes"),
        queue_managers=fields.wholes("queue_managers"),
        load=_load(fields),
        stop=_stop(fields),
        roles=tuple(_role(each) for each in fields.tables("roles")),
        sweeps=tuple(_sweep(each) for each in fields.tables("sweeps")),
        parameters=_parameters(fields),
        metrics=fields.texts("metrics"),
        compared=fields.texts("compared"),
        needs=_needs(fields, features),
        parts=tuple(_part(each, features) for each in fields.tables("parts")),
        deviations=(
            *(_deviation(each) for each in fields.tables("deviations")),
            *(shared if kind is ScenarioKind.SCENARIO else ()),
        ),
    )
    fields.end()
    _check(scenario, fields)
    return scenario


def _source(fields: Fields) -> Source:
    table = fields.table("source")
    if table is None:
        raise fields.wrong("source", "it is not given.")
    source = Source(table.text("sections"), table.text("tables", ""), table.texts("tests"), table.whole("figures", 0))
    table.end()
    return source


def _load(fields: Fields) -> ScenarioLoad | None:
    table = fields.table("load")
    if table is None:
        return None
    since = table.text("since", "")
    load = ScenarioLoad(table.word("kind", LoadKind), table.number("per_second", 0.0), since)
    if since not in ("", "put") or (since and load.kind is not LoadKind.RATED):
        raise table.wrong("since", 'rated load may be paced since the last "put".')
    if (load.per_second > 0) != (load.kind is LoadKind.RATED):
        raise table.wrong("per_second", "it is for rated load, and for all of it.")
    table.end()
    return load


def _stop(fields: Fields) -> StopRule | None:
    table = fields.table("stop")
    if table is None:
        return None
    stop = StopRule(
        table.word("kind", StopKind),
        table.number("limit", 0.0),
        table.text("text", ""),
        table.whole("after", 1),
        _only(table),
    )
    if stop.after < 1 or (stop.after > 1 and stop.kind is not StopKind.RESPONSE_TIME):
        raise table.wrong("after", "it is a number of points from 1 on, for response times.")
    if stop.kind in (StopKind.RESPONSE_TIME, StopKind.SAMPLES) and stop.limit <= 0:
        raise table.wrong("limit", f"{stop.kind} needs one.")
    if stop.kind is StopKind.EVENT and not stop.text:
        raise table.wrong("text", "an event must be described.")
    table.end()
    return stop


def _only(fields: Fields) -> Mapping[str, Point]:
    table = fields.table("only")
    found: dict[str, Point] = {}
    for name, value in (table.items() if table is not None else {}).items():
        if not isinstance(value, int | str) or isinstance(value, bool):
            raise fields.wrong(f"only: {name}", f"{value!r} is no point.")
        found[name] = value
    return MappingProxyType(found)


def _role(fields: Fields) -> Role:
    binding = fields.text("binding", "")
    if binding and binding not in tuple(Binding):
        raise fields.wrong("binding", f"{binding!r} is none of {', '.join(Binding)}.")
    role = Role(
        fields.text("name"),
        fields.text("does"),
        Binding(binding) if binding else None,
        fields.wholes("counts"),
        fields.text("per", ""),
    )
    fields.end()
    return role


def _sweep(fields: Fields) -> Sweep:
    sweep = Sweep(
        fields.text("name"),
        fields.points("values", is_needed=True),
        fields.points("quick", is_needed=True),
        fields.points("printed"),
        fields.text("unit", ""),
    )
    if not set(sweep.quick) <= set(sweep.values):
        raise fields.wrong("quick", "a quick sweep runs some of the values and no others.")
    fields.end()
    return sweep


def _parameters(fields: Fields) -> Mapping[str, Value]:
    table = fields.table("parameters")
    found: dict[str, Value] = {}
    for name, value in (table.items() if table is not None else {}).items():
        if isinstance(value, list) and all(type(each) in (int, str) for each in value):
            found[name] = tuple(value)
        elif isinstance(value, int | float | str | bool):
            found[name] = value
        else:
            raise fields.wrong(f"parameters: {name}", f"{value!r} is no plain value.")
    return MappingProxyType(found)


def _needs(fields: Fields, features: Mapping[str, Feature]) -> tuple[str, ...]:
    needs = fields.texts("needs")
    for name in needs:
        if name not in features:
            raise fields.wrong("needs", f"there is no feature {name}.")
    return needs


def _part(fields: Fields, features: Mapping[str, Feature]) -> ScenarioPart:
    part = ScenarioPart(fields.text("name"), _needs(fields, features))
    if not part.needs:
        raise fields.wrong("needs", "without needs of its own it is no part.")
    fields.end()
    return part


def _deviation(fields: Fields) -> Deviation:
    deviation = Deviation(fields.text("what"), fields.text("why"))
    fields.end()
    return deviation


def _check_name(name: str, fields: Fields) -> None:
    if not _NAME.fullmatch(name):
        raise fields.wrong(name, "names are small letters and digits, with hyphens between.")


def _check(scenario: Scenario, fields: Fields) -> None:
    """Check the rules that concern several fields."""
    if scenario.family and scenario.family not in FAMILIES:
        raise fields.wrong("family", f"there is no family {scenario.family}.")
    for kind, names in (("sweeps", [s.name for s in scenario.sweeps]), ("roles", [r.name for r in scenario.roles])):
        if len(set(names)) != len(names):
            raise fields.wrong(kind, "a name is there twice.")
    if scenario.stop is not None:
        for sweep, point in scenario.stop.only.items():
            if not any(each.name == sweep and point in each.values for each in scenario.sweeps):
                raise fields.wrong("stop: only", f"{sweep} {point} is not swept.")
    if not scenario.is_measured:
        return
    for key, value in (("family", scenario.family), ("metrics", scenario.metrics), ("sweeps", scenario.sweeps)):
        if not value:
            raise fields.wrong(key, "a scenario that is measured needs it.")


def _toml(path: Traversable) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CatalogueError(f"{path.name}: {error}") from error
