"""Figures of the machine and the process for resource publications: processors, memory and file systems.

They come from /proc and statvfs. A figure that this system does not have is 0.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ostler.observe.resource_values import percent

_MEGABYTE_SHIFT: Final = 20
_KILOBYTE_SHIFT: Final = 10
_MICROSECONDS: Final = 1_000_000
# Fields of the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
_TIMES: Final = 8
_USER: Final = (0, 1)
_SYSTEM: Final = (2, 5, 6)


def processor_times() -> dict[str, int]:
    """Return processor times since a beginning: of the machine in ticks, of this process in microseconds."""
    times = [0] * _TIMES
    with suppress(OSError, ValueError), open("/proc/stat") as file:
        read = [int(field) for field in file.readline().split()[1 : _TIMES + 1]]
        times = (read + times)[:_TIMES]
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "user_ticks": sum(times[at] for at in _USER),
        "system_ticks": sum(times[at] for at in _SYSTEM),
        "all_ticks": sum(times),
        "own_user_us": int(used.ru_utime * _MICROSECONDS),
        "own_system_us": int(used.ru_stime * _MICROSECONDS),
    }


def processor_values(times: Mapping[str, int], interval_us: int) -> dict[str, int]:
    """Return the shares of an interval's times. All processors together are 100 per cent, also for this process."""
    total = times["all_ticks"]
    own_total = interval_us * (os.cpu_count() or 1)
    return {
        "system_user_percent": percent(times["user_ticks"], total),
        "system_system_percent": percent(times["system_ticks"], total),
        "own_user_percent": percent(times["own_user_us"], own_total),
        "own_system_percent": percent(times["own_system_us"], own_total),
    }


def memory_values() -> dict[str, int]:
    """Return load averages, the memory of the machine, and what the process uses of it."""
    loads = (0.0, 0.0, 0.0)
    with suppress(OSError):
        loads = os.getloadavg()
    sizes = _kilobytes("/proc/meminfo", ("MemTotal", "MemAvailable"))
    own = _kilobytes("/proc/self/status", ("VmRSS",))
    return {
        "load_1": int(loads[0] * 100),
        "load_5": int(loads[1] * 100),
        "load_15": int(loads[2] * 100),
        "memory_free_percent": percent(sizes["MemAvailable"], sizes["MemTotal"]),
        "memory_total_mb": sizes["MemTotal"] >> _KILOBYTE_SHIFT,
        "own_memory_mb": own["VmRSS"] >> _KILOBYTE_SHIFT,
    }


def _kilobytes(path: str, names: tuple[str, ...]) -> dict[str, int]:
    found = dict.fromkeys(names, 0)
    with suppress(OSError, ValueError), open(path) as file:
        for line in file:
            name, _, rest = line.partition(":")
            if name in found:
                found[name] = int(rest.split()[0])
    return found


class FileSystem(NamedTuple):
    used_bytes: int
    all_bytes: int
    free_percent: int  # in hundredths


def file_system(path: Path) -> FileSystem:
    """Return the use of the file system that holds a path; zeros if there is none."""
    try:
        found = os.statvfs(path)
    except OSError:
        return FileSystem(0, 0, 0)
    every = found.f_blocks * found.f_frsize
    return FileSystem((found.f_blocks - found.f_bfree) * found.f_frsize, every, percent(found.f_bavail, found.f_blocks))


def disk_values(data: Path, errors: Path, log: Path) -> dict[str, int]:
    """Return the use of the file systems of queue files, error logs and recovery log. There is no trace directory."""
    of_data, of_errors, of_log = file_system(data), file_system(errors), file_system(log)
    reports = 0
    with suppress(OSError):
        reports = sum(1 for each in os.scandir(errors) if each.name.endswith(".FDC"))
    return {
        "errors_used_mb": of_errors.used_bytes >> _MEGABYTE_SHIFT,
        "errors_free_percent": of_errors.free_percent,
        "fdc_files": reports,
        "data_used_mb": of_data.used_bytes >> _MEGABYTE_SHIFT,
        "data_free_percent": of_data.free_percent,
        "log_disk_used_bytes": of_log.used_bytes,
        "log_disk_bytes_max": of_log.all_bytes,
        "log_disk_free_percent": of_log.free_percent,
    }
