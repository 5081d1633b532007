"""The result of a benchmark, and the file it is kept in. Result files are written here and nowhere else."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ostler import __version__
from ostler.lab.common.samples import NOISE_FRACTION, Label, Measurement

SCHEMA = 1
# Of all cores: beyond this the neighbours are measured, too.
OTHERS_PERCENT_MAX = 15.0


@dataclass(frozen=True)
class Aim:
    """What a figure should come to. `at_most`: it is a ceiling; else it is a floor."""

    text: str
    limit: float
    measured: float
    at_most: bool

    @property
    def met(self) -> bool:
        return self.measured <= self.limit if self.at_most else self.measured >= self.limit

    def as_json(self) -> dict[str, object]:
        return {
            "text": self.text,
            "limit": self.limit,
            "at_most": self.at_most,
            "measured": self.measured,
            "met": self.met,
        }


@dataclass(frozen=True)
class Chart:
    """Lines to be drawn beside the result: named points, on logarithmic axes."""

    title: str
    across: str
    up: str
    lines: dict[str, list[tuple[float, float]]]


@dataclass
class Result:
    """All that one benchmark found. `table` is for people: a row of headings, then rows of text."""

    name: str
    title: str
    parameters: dict[str, object]
    measurements: list[Measurement] = field(default_factory=list)
    limits: list[Measurement] = field(default_factory=list)
    ratios: dict[str, float] = field(default_factory=dict)
    aims: list[Aim] = field(default_factory=list)
    table: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    chart: Chart | None = None

    def find(self, name: str, **labels: Label) -> Measurement:
        """The measurement or limit with this name and these labels."""
        for each in self.measurements + self.limits:
            if each.name == name and all(each.labels.get(key) == value for key, value in labels.items()):
                return each
        raise KeyError(f"{name} {labels}")


@dataclass(frozen=True)
class Conditions:
    """Where and when a result was measured, and how quiet it was."""

    flavour: str
    machine: dict[str, object]
    began: datetime
    seconds: float
    cpu: dict[str, float]
    probe_first_ns: float
    probe_last_ns: float

    def noise_percent(self) -> float:
        """How much the bare probe differed between the beginning and the end."""
        low, high = sorted((self.probe_first_ns, self.probe_last_ns))
        return 100 * (high - low) / low if low else 0.0

    def is_quiet(self) -> bool:
        """Whether the machine was left alone enough for figures to mean something."""
        disturbed = self.cpu["others_percent"] + self.cpu["steal_percent"]
        return disturbed <= OTHERS_PERCENT_MAX and self.noise_percent() <= 100 * NOISE_FRACTION

    def as_json(self) -> dict[str, object]:
        return {
            "flavour": self.flavour,
            "machine": self.machine,
            "python": f"{platform.python_implementation()} {platform.python_version()}",
            "ostler": __version__,
            "time": self.began.astimezone(UTC).isoformat(timespec="seconds"),
            "seconds": round(self.seconds, 3),
            "cpu": self.cpu,
            "quiet": self.is_quiet(),
            "noise": {
                "bare_pair_first_ns": round(self.probe_first_ns, 1),
                "bare_pair_last_ns": round(self.probe_last_ns, 1),
                "difference_percent": round(self.noise_percent(), 1),
            },
        }


def as_json(result: Result, conditions: Conditions) -> dict[str, object]:
    """The whole content of a result file."""
    return {
        "schema": SCHEMA,
        "name": result.name,
        "title": result.title,
        **conditions.as_json(),
        "parameters": result.parameters,
        "measurements": [each.as_json() for each in result.measurements],
        "limits": [each.as_json() for each in result.limits],
        "ratios": result.ratios,
        "aims": [each.as_json() for each in result.aims],
        "notes": result.notes,
    }


def _text(content: dict[str, object]) -> str:
    """JSON with a line for each entry, and for each measurement: samples in columns would fill thousands of lines."""
    entries: list[str] = []
    for key, value in content.items():
        shown = json.dumps(value)
        if isinstance(value, list) and value:
            shown = "[\n  " + ",\n  ".join(json.dumps(each) for each in value) + "\n ]"
        entries.append(f" {json.dumps(key)}: {shown}")
    return "{\n" + ",\n".join(entries) + "\n}\n"


def write_result(directory: Path, result: Result, conditions: Conditions) -> Path:
    """Write the result file, whole or not at all; its path."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{result.name}.json"
    fresh = path.with_suffix(".json.new")
    fresh.write_text(_text(as_json(result, conditions)), encoding="utf-8")
    os.replace(fresh, path)
    return path
