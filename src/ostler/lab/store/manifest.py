"""The manifest of a run: where it ran, its parameters, the planned points, and how it ended. One JSON file for each
run.

The file is replaced as a whole, so it always exists and is always readable. The segments beside it, not the manifest,
show what was measured: a segment that exists is complete.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path

from ostler.lab.store.schema import SCHEMA_VERSION

MANIFEST = "manifest.json"
_CONTESTANTS = "contestants"
_ENTRANTS = "entrants"

Value = str | int | float | bool | None


class RunUnreadable(Exception):
    """A directory is not a run, or one that this version cannot read. The text has advice."""


class RunState(StrEnum):
    RUNNING = "running"
    COMPLETE = "complete"
    PARTIAL = "partial"


@dataclass(frozen=True)
class PlannedPoint:
    """A unit of measurement: a contestant in a step of the sweep, for the first, second, ... time."""

    contestant: str
    step: int
    repetition: int = 0
    parameters: Mapping[str, Value] = field(default_factory=dict, hash=False)

    @property
    def key(self) -> tuple[str, int, int]:
        return (self.contestant, self.step, self.repetition)


@dataclass(frozen=True)
class SkippedPoint:
    """A planned point that is not needed any more, because of a stop rule."""

    contestant: str
    step: int
    repetition: int
    reason: str

    @property
    def key(self) -> tuple[str, int, int]:
        return (self.contestant, self.step, self.repetition)


@dataclass(frozen=True)
class RunFlag:
    """A problem of the whole run. Flags of one phase are rows of the table of events."""

    name: str
    text: str


@dataclass(frozen=True)
class Manifest:
    """The manifest. `environment` has machine, kernel, disk, versions and flavour; `parameters` are those of the whole
    run."""

    run: str
    scenario: str
    began: str
    environment: Mapping[str, object]
    command: tuple[str, ...] = ()
    parameters: Mapping[str, Value] = field(default_factory=dict)
    points: tuple[PlannedPoint, ...] = ()
    skipped: tuple[SkippedPoint, ...] = ()
    flags: tuple[RunFlag, ...] = ()
    state: RunState = RunState.RUNNING
    reason: str = ""
    ended: str = ""
    resumed: tuple[str, ...] = ()
    schema_version: int = SCHEMA_VERSION

    def flagged(self, name: str, text: str) -> Manifest:
        """Return the manifest with one more flag; the same flag is not added twice."""
        flag = RunFlag(name, text)
        return self if flag in self.flags else replace(self, flags=(*self.flags, flag))


def _from_json(content: dict[str, object]) -> Manifest:
    known = {each.name for each in fields(Manifest)}
    found: dict[str, object] = {name: value for name, value in content.items() if name in known}
    for name, kind in (("points", PlannedPoint), ("skipped", SkippedPoint), ("flags", RunFlag)):
        listed = found.get(name, [])
        assert isinstance(listed, list)
        found[name] = tuple(kind(**each) for each in listed)
    for name in ("command", "resumed"):
        listed = found.get(name, [])
        assert isinstance(listed, list)
        found[name] = tuple(str(each) for each in listed)
    found["state"] = RunState(str(found.get("state")))
    for name in ("run", "scenario", "began"):
        assert isinstance(found[name], str)
    for name in ("environment", "parameters"):
        if not isinstance(found.get(name, {}), dict):
            raise ValueError(f"{name} has no names")
    return Manifest(**found)  # type: ignore[arg-type]


def describe_contestants(listed: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return the entries of a manifest's environment for its contestants; the second has the name that earlier versions
    read."""
    return {_CONTESTANTS: list(listed), _ENTRANTS: list(listed)}


def listed_contestants(environment: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return the contestants in the environment of a manifest, of this version or an earlier one."""
    found = environment.get(_CONTESTANTS, environment.get(_ENTRANTS))
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def read_manifest(directory: Path) -> Manifest:
    """Return the manifest of a run. Raises RunUnreadable when there is none, it has a newer schema or is not a
    manifest."""
    path = directory / MANIFEST
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunUnreadable(f"{directory} is not the directory of a run: it has no {MANIFEST}.") from None
    except (OSError, ValueError) as error:
        raise RunUnreadable(f"{path} cannot be read: {error}. Restore it from a copy, or set the run aside.") from error
    version = content.get("schema_version") if isinstance(content, dict) else None
    if not isinstance(version, int) or version < 1:
        raise RunUnreadable(f"{path} is not the manifest of a run: it has no schema_version.")
    if version > SCHEMA_VERSION:
        raise RunUnreadable(
            f"{path} has schema version {version}, and this version of ostler knows up to {SCHEMA_VERSION}: "
            "read it with the version that wrote it, or a newer one."
        )
    try:
        return _from_json(content)
    except (AssertionError, KeyError, TypeError, ValueError) as error:
        raise RunUnreadable(f"{path} is damaged: {error!r}. Restore it from a copy, or set the run aside.") from error


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Replace the manifest atomically."""
    write_whole(directory / MANIFEST, json.dumps(asdict(manifest), indent=1) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically: it has this text or the previous one, whenever the machine stops."""
    fresh = path.with_name(path.name + ".new")
    with open(fresh, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Force the names in a directory to storage."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
