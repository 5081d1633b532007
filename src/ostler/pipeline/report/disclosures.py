"""Disclosures of a run: how it differs from the run of the published report, its workload and configuration.

`disclosure_of` is the only function that knows where these are kept: in the table of disclosures, which is made from
manifests. Runs that were made before manifests kept them are described by the catalogue, and say so.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ostler.lab.scenarios.as_json import whole
from ostler.lab.scenarios.loader import catalogue
from ostler.pipeline.report.rows import DisclosureRow, RunRow

_STAND_IN, _LEFT_OUT, _DEVIATION = "stand-in", "left-out", "deviation"
_CONFIGURATION, _WORKLOAD = "configuration", "workload"


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


def disclosure_of(run: RunRow, disclosed: Sequence[DisclosureRow]) -> Disclosure:
    """Return what a run discloses, from its rows of the table."""
    known = _of_catalogue(run.scenario)
    rows: dict[str, list[Statement]] = defaultdict(list)
    for row in sorted(disclosed, key=lambda each: each.position):
        rows[row.kind].append(Statement(row.name, row.text))
    if not rows:
        return known
    # Manifests keep deviations since they keep the workload.
    workload = _workload(rows[_WORKLOAD][0].text) if rows[_WORKLOAD] else None
    return Disclosure(
        tuple(Statement(_feature(each.name), each.text) for each in rows[_STAND_IN]),
        tuple(Statement(each.name, _needs(each.text.split(", "))) for each in rows[_LEFT_OUT]),
        tuple(rows[_DEVIATION]) if workload is not None else known.deviations,
        tuple(rows[_CONFIGURATION]),
        workload if workload is not None else known.workload,
        workload is not None,
    )


def _workload(text: str) -> Mapping[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _of_catalogue(scenario: str) -> Disclosure:
    listed = catalogue()
    found = listed.scenarios.get(scenario)
    if found is None:
        return Disclosure(is_of_run=False)
    readiness = listed.readiness(found)
    return Disclosure(
        tuple(Statement(each.name, each.note) for each in readiness.stand_ins),
        tuple(Statement(each.name, _needs(each.needs)) for each in readiness.left_out),
        tuple(Statement(each.what, each.why) for each in found.deviations),
        (),
        whole(found, readiness),
        False,
    )


def _feature(name: str) -> str:
    known = catalogue().features.get(name)
    return known.name if known is not None else name


def _needs(needs: Iterable[str]) -> str:
    names = [_feature(each) for each in needs if each]
    return f"needs {', '.join(names)}" if names else "cannot run here"
