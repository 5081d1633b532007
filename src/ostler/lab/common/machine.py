"""The machine of a benchmark, and its load from other programs."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from ostler.client.mqi import put_get as mqi


def is_compiled() -> bool:
    return not mqi.__file__.endswith(".py")


def flavour() -> str:
    return "compiled" if is_compiled() else "interpreted"


def describe(directory: Path) -> dict[str, object]:
    """Describe the machine as far as it affects results; `directory` is where queue managers are made."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "memory_megabytes": psutil.virtual_memory().total >> 20,
        "file_system": file_system(directory),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def file_system(directory: Path) -> str:
    """Return the type of a directory's file system: a force means nothing on tmpfs."""
    best, kind = "", "unknown"
    path = str(directory.resolve())
    for partition in psutil.disk_partitions(all=True):
        mount = partition.mountpoint
        inside = path == mount or path.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):
            best, kind = mount, partition.fstype
    return kind


@dataclass(frozen=True)
class CpuTimes:
    """The processor seconds of the machine so far, of all cores together."""

    clock: float
    total: float
    idle: float
    steal: float
    own: float
    load: float


def read_cpu_times() -> CpuTimes:
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    steal = getattr(times, "steal", 0.0)
    used = os.times()
    own = used.user + used.system + used.children_user + used.children_system
    # Time of virtual processors is already counted in user.
    total = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
    return CpuTimes(time.monotonic(), total, idle, steal, own, os.getloadavg()[0])


def cpu_use_between(before: CpuTimes, after: CpuTimes) -> dict[str, float]:
    """Return the use of the machine between two readings, in percent of all its cores."""
    total = max(after.total - before.total, 0.01)
    steal = after.steal - before.steal
    own = after.own - before.own
    others = max(total - (after.idle - before.idle) - steal - own, 0.0)
    return {
        "steal_seconds_before": round(before.steal, 2),
        "steal_seconds_after": round(after.steal, 2),
        "steal_percent": round(100 * steal / total, 2),
        "own_percent": round(100 * own / total, 1),
        "others_percent": round(100 * others / total, 1),
        "load_before": round(before.load, 2),
        "load_after": round(after.load, 2),
    }
