"""A limit on the processors of a process: a control group with a quota where that is permitted, else its affinity."""

from __future__ import annotations

import contextlib
import math
import os
import time
from pathlib import Path
from typing import Final

_PERIOD_US: Final = 10_000
_REMOVE_SECONDS_MAX: Final = 5.0
_MOUNT: Final = Path("/sys/fs/cgroup")


class ProcessorLimit:
    """Limits a process and the threads and children that it makes from now on. `note` says how, in words."""

    def __init__(self, pid: int, cores: float, mount: Path = _MOUNT) -> None:
        self._directory: Path | None = None
        self.note = self._by_quota(pid, cores, mount) or _by_affinity(pid, cores)

    def _by_quota(self, pid: int, cores: float, mount: Path) -> str:
        quota = max(round(cores * _PERIOD_US), 1000)
        name = f"ostler-lab-{os.getpid()}-{pid}"
        # Version 1, then version 2 of control groups.
        for top, values in (
            (mount / "cpu", {"cpu.cfs_period_us": str(_PERIOD_US), "cpu.cfs_quota_us": str(quota)}),
            (mount, {"cpu.max": f"{quota} {_PERIOD_US}"}),
        ):
            directory = top / name
            if not (top / "cgroup.procs").exists():
                continue
            try:
                directory.mkdir()
            except OSError:
                continue
            self._directory = directory
            try:
                for file, value in values.items():
                    (directory / file).write_text(value)
                (directory / "cgroup.procs").write_text(str(pid))
            except OSError:
                self.remove()
                continue
            return f"a control group gives it {cores:g} of a processor's time, {quota} of each {_PERIOD_US} us"
        return ""

    def remove(self) -> None:
        """Remove the control group, when its process has ended. Repeated calls do nothing."""
        directory, self._directory = self._directory, None
        deadline = time.monotonic() + _REMOVE_SECONDS_MAX
        while directory is not None and directory.exists():
            with contextlib.suppress(OSError):
                directory.rmdir()
            if time.monotonic() > deadline:
                return
            if directory.exists():
                time.sleep(0.01)


def _by_affinity(pid: int, cores: float) -> str:
    """Bind the process to whole cores, which others use as well."""
    usable = sorted(os.sched_getaffinity(0))
    given = usable[: max(math.ceil(cores), 1)]
    os.sched_setaffinity(pid, given)
    note = f"it is bound to {len(given)} of {len(usable)} cores"
    return note if cores >= 1 else f"{note}; a share of {cores:g} is not permitted here"
