"""The parameters of a run as its manifest keeps them: enough to resume it in the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Final

from ostler.lab.runner.contract import Settings
from ostler.lab.store.manifest import RunUnreadable, Value

_CHOSEN = "set "
# The valid ranges of numbers.
_RANGES: Final = {
    "warm_up_seconds": (0.0, 3600.0),
    "measured_seconds": (0.001, 3600.0),
    "cool_down_seconds": (0.0, 3600.0),
    "repetitions": (1, 100),
    "drivers": (1, 64),
}


def as_parameters(settings: Settings, chosen: Mapping[str, Sequence[str]]) -> dict[str, Value]:
    """Return settings by name, and chosen points by the name of their sweep."""
    found: dict[str, Value] = {}
    for name, value in asdict(settings).items():
        found[name] = ",".join(value) if isinstance(value, tuple) else value
    for name, points in chosen.items():
        found[_CHOSEN + name] = ",".join(points)
    return found


def settings_from(parameters: Mapping[str, Value]) -> Settings:
    """Return the settings of a stored run. Raises RunUnreadable for an unknown parameter, or a value of the wrong
    type."""
    usual = Settings()
    given: dict[str, object] = {}
    known = {each.name for each in fields(Settings)}
    for name, value in parameters.items():
        if name.startswith(_CHOSEN):
            continue
        if name not in known:
            raise RunUnreadable(f"The run has a parameter {name!r} that this version of ostler does not know.")
        kind = type(getattr(usual, name))
        if kind is tuple and isinstance(value, str):
            given[name] = tuple(each for each in value.split(",") if each)
        elif kind is float and isinstance(value, int | float) and not isinstance(value, bool):
            given[name] = float(value)
        elif type(value) is kind:
            given[name] = value
        else:
            raise RunUnreadable(f"The run's parameter {name!r} is {value!r}, which makes no sense.")
        least, most = _RANGES.get(name, (0, 0))
        # A value that is not a number is in no range either.
        if name in _RANGES and not (isinstance(value, int | float) and least <= value <= most):
            raise RunUnreadable(f"The run's parameter {name!r} is {value!r}, and not from {least:g} to {most:g}.")
    return Settings(**given)  # type: ignore[arg-type]


def chosen_from(parameters: Mapping[str, Value]) -> dict[str, tuple[str, ...]]:
    """Return the points that were chosen."""
    return {
        name.removeprefix(_CHOSEN): tuple(str(value).split(","))
        for name, value in parameters.items()
        if name.startswith(_CHOSEN)
    }
