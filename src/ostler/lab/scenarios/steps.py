"""The steps of a run: all points of a scenario's sweeps, in the order in which they are measured."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Final

from ostler.lab.scenarios.features import Readiness
from ostler.lab.scenarios.model import Point, Scenario, Sweep

STEPS_MAX: Final = 10_000
_DIGITS_MAX: Final = 9
_UNITS: Final = {"K": 1 << 10, "M": 1 << 20}
_MOST: Final = 1_000_000
_MOST_OF: Final = {"message_bytes": 104_857_600, "messages": 100_000_000, "rows": 999_999_999}
"""More than any run here needs. Clients, queues and bodies are all made before anything is measured."""


class ParametersError(Exception):
    """The requested steps cannot be run. The message gives the reason and the alternatives."""


@dataclass(frozen=True)
class Step:
    """One point of each sweep. Steps of one `group` differ only in the first sweep, and a stop rule that is met ends
    the group only."""

    number: int
    group: int
    points: Mapping[str, Point]


def steps(
    scenario: Scenario,
    readiness: Readiness,
    is_quick: bool = False,
    chosen: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Step, ...]:
    """Return the steps of the full or of the quick form; `chosen` has other points for some sweeps, as typed.

    Points that need missing features are omitted. Raises ParametersError for unknown sweeps, invalid points, nothing
    left to run, and more than STEPS_MAX steps.
    """
    chosen = chosen or {}
    known = {sweep.name: sweep for sweep in scenario.sweeps}
    for name in chosen:
        if name not in known:
            raise ParametersError(f"{scenario.id} does not sweep {name!r}; it sweeps {', '.join(known)}.")
    left_out = {part.name for part in readiness.left_out}
    axes: list[list[Point]] = []
    for sweep in scenario.sweeps:
        points = (
            _typed(sweep, chosen[sweep.name]) if sweep.name in chosen else sweep.quick if is_quick else sweep.values
        )
        kept = [point for point in points if point not in left_out]
        if not kept:
            needed = [name for part in readiness.left_out if part.name in points for name in part.needs]
            raise ParametersError(f"{scenario.id}: nothing is left of {sweep.name}; it needs {', '.join(needed)}.")
        axes.append(kept)
    count = prod(len(axis) for axis in axes)
    if count > STEPS_MAX:
        raise ParametersError(f"{scenario.id}: {count:,} steps are more than the {STEPS_MAX:,} that a run may have.")
    return _combined([sweep.name for sweep in scenario.sweeps], axes)


def _combined(names: list[str], axes: list[list[Point]]) -> tuple[Step, ...]:
    """Return all combinations; the first sweep varies fastest."""
    first, *slower = axes
    found: list[Step] = []
    for group, rest in enumerate(product(*slower)):
        for point in first:
            points = dict(zip(names, (point, *rest), strict=True))
            found.append(Step(len(found), group, MappingProxyType(points)))
    return tuple(found)


def _put_together(sweep: Sweep, pieces: Sequence[str]) -> list[str]:
    """Join points that were typed with commas in between: some points contain commas."""
    known = {str(point) for point in sweep.values}
    rest, found = list(pieces), list[str]()
    while rest:
        # The longest match that is a point; an invalid piece is reported later.
        length = next((count for count in range(len(rest), 1, -1) if ",".join(rest[:count]).strip() in known), 1)
        found.append(",".join(rest[:length]).strip())
        del rest[:length]
    return found


def _typed(sweep: Sweep, texts: Sequence[str]) -> list[Point]:
    """Return numbers for a numeric sweep, and known words."""
    if not texts:
        raise ParametersError(f"{sweep.name}: at least one point is wanted.")
    texts = _put_together(sweep, texts)
    numbers = [point for point in sweep.values if isinstance(point, int)]
    found: list[Point] = []
    for text in texts:
        if text in sweep.values:
            found.append(text)
        elif numbers:
            found.append(_number(sweep, text, min(*numbers, 1)))
        else:
            known = " | ".join(str(point) for point in sweep.values)
            raise ParametersError(f"{sweep.name}: {text!r} is none of {known}.")
    return list(dict.fromkeys(found))


def _number(sweep: Sweep, text: str, least: int) -> int:
    most = _MOST_OF.get(sweep.name, _MOST)
    size = re.fullmatch(r"([0-9]{1,6}) ?([KM])B?", text.upper()) if sweep.unit == "bytes" else None
    if size is not None:
        text = str(int(size[1]) * _UNITS[size[2]])
    if not re.fullmatch(rf"[0-9]{{1,{_DIGITS_MAX}}}", text) or not least <= int(text) <= most:
        words = "".join(f", nor {point}" for point in sweep.values if isinstance(point, str))
        raise ParametersError(f"{sweep.name}: {text!r} is not a whole number from {least} to {most:,}{words}.")
    return int(text)
