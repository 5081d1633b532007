"""What a run discloses of itself: how it differs from the run of the published report, its workload and configuration.

`disclosure_of` is the only function that knows where these are kept: in the environment of the run's manifest. Runs
that were made before manifests kept them are described by the catalogue, and say so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ostler.lab.scenarios.as_json import whole
from ostler.lab.scenarios.loader import catalogue
from ostler.pipeline.report.rows import RunRow

_STAND_INS: Final = "stand_ins"


@dataclass(frozen=True)
class Statement:
    """A name, and the text on it: a feature and what stands in for it, a difference and its reason."""

    name: str
    text: str


@dataclass(frozen=True)
class Disclosure:
    """Everything that a run discloses. `workload` is the scenario as the run read it, with plain values. `is_of_run` is
    false where it comes from the catalogue of today, because the run did not keep it."""

    stand_ins: tuple[Statement, ...] = ()
    left_out: tuple[Statement, ...] = ()
    deviations: tuple[Statement, ...] = ()
    configuration: tuple[Statement, ...] = ()
    workload: Mapping[str, Any] | None = None
    is_of_run: bool = True

    @property
    def has_differences(self) -> bool:
        return bool(self.stand_ins or self.left_out or self.deviations)


def environment_of(run: RunRow) -> Mapping[str, Any]:
    """Return the environment of a run's manifest; empty where it cannot be read."""
    try:
        found = json.loads(run.environment or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def disclosure_of(run: RunRow) -> Disclosure:
    environment = environment_of(run)
    known = _of_catalogue(run.scenario)
    if _STAND_INS not in environment:
        return known
    has_deviations = "deviations" in environment
    workload = environment.get("workload")
    return Disclosure(
        tuple(Statement(_feature(name), str(note)) for name, note in _table(environment, _STAND_INS).items()),
        tuple(Statement(name, _needs(needs)) for name, needs in _table(environment, "left_out").items()),
        _pairs(environment, "deviations", "what", "why") if has_deviations else known.deviations,
        _pairs(environment, "configuration", "name", "text"),
        workload if isinstance(workload, dict) else known.workload,
        has_deviations,
    )


def _of_catalogue(scenario: str) -> Disclosure:
    listed = catalogue()
    found = listed.scenarios.get(scenario)
    if found is None:
        return Disclosure(is_of_run=False)
    readiness = listed.readiness(found)
    return Disclosure(
        tuple(Statement(each.name, each.note) for each in readiness.stand_ins),
        tuple(Statement(each.name, _needs(list(each.needs))) for each in readiness.left_out),
        tuple(Statement(each.what, each.why) for each in found.deviations),
        (),
        whole(found, readiness),
        False,
    )


def _feature(name: str) -> str:
    known = catalogue().features.get(name)
    return known.name if known is not None else name


def _needs(needs: object) -> str:
    names = [_feature(str(each)) for each in needs] if isinstance(needs, list) else []
    return f"needs {', '.join(names)}" if names else "cannot run here"


def _table(environment: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = environment.get(name)
    return found if isinstance(found, dict) else {}


def _pairs(environment: Mapping[str, Any], name: str, first: str, second: str) -> tuple[Statement, ...]:
    found = environment.get(name)
    return tuple(
        Statement(str(each.get(first, "")), str(each.get(second, "")))
        for each in (found if isinstance(found, list) else [])
        if isinstance(each, dict)
    )
