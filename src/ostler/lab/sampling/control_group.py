"""The limits of this process's control group: containers have less than the machine they run on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

# Version 1 writes "no limit" as a number near the maximum.
_UNLIMITED_BYTES: Final = 1 << 60


@dataclass(frozen=True)
class ControlGroup:
    """The limits. None: there is no limit, or it is not visible."""

    cores: float | None
    memory_bytes: int | None
    memory_used_bytes: int | None


def control_group(proc: Path = Path("/proc"), mount: Path = Path("/sys/fs/cgroup")) -> ControlGroup:
    """Return the tightest limits of this process's groups and their parents, of both versions of control groups."""
    cores: list[float] = []
    memory: list[tuple[int, int]] = []
    for controllers, path in _groups(proc):
        if not controllers or "cpu" in controllers.split(","):
            cores += [
                each for directory in _directories(mount, controllers, path) if (each := _cores(directory)) is not None
            ]
        if controllers in ("", "memory"):
            memory += [
                pair for directory in _directories(mount, controllers, path) if (pair := _memory(directory)) is not None
            ]
    if not memory:
        return ControlGroup(min(cores, default=None), None, None)
    limit, used = min(memory)
    return ControlGroup(min(cores, default=None), limit, used)


def _groups(proc: Path) -> list[tuple[str, str]]:
    try:
        lines = (proc / "self/cgroup").read_text().splitlines()
    except OSError:
        return []
    parts = [line.split(":", 2) for line in lines]
    return [(each[1], each[2].strip("/")) for each in parts if len(each) == 3]


def _directories(mount: Path, controllers: str, path: str) -> list[Path]:
    """Return the group's directory and its parents. A container may see its path from outside: then only the top
    exists."""
    top = mount / controllers if controllers else mount
    places = [top]
    for part in path.split("/"):
        if part:
            places.append(places[-1] / part)
    return places


def _cores(directory: Path) -> float | None:
    quota, period = _words(directory / "cpu.max", 2)
    if not quota:
        (quota,), (period,) = _words(directory / "cpu.cfs_quota_us", 1), _words(directory / "cpu.cfs_period_us", 1)
    if not (quota.isdecimal() and period.isdecimal() and int(period) > 0):
        return None
    return int(quota) / int(period)


def _memory(directory: Path) -> tuple[int, int] | None:
    (limit,), (used,) = _words(directory / "memory.max", 1), _words(directory / "memory.current", 1)
    if not limit:
        (limit,), (used,) = (
            _words(directory / "memory.limit_in_bytes", 1),
            _words(directory / "memory.usage_in_bytes", 1),
        )
    if not limit.isdecimal() or int(limit) >= _UNLIMITED_BYTES:
        return None
    return int(limit), int(used) if used.isdecimal() else 0


def _words(path: Path, count: int) -> list[str]:
    """Return this many words of a file; empty ones when it does not exist."""
    try:
        found = path.read_text().split()[:count]
    except OSError:
        found = []
    return found + [""] * (count - len(found))
