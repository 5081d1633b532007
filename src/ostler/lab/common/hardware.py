"""The hardware below a run: the device of the queue managers' files, what a force of it takes, and the processors'
governors and clock. Nothing is changed; None and empty texts stand for what the system does not report."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from ostler.lab.common.probes import ForcedFile
from ostler.lab.common.samples import median

FORCE_BYTES: Final = 4096
FORCES: Final = 200
FORCE_SECONDS_MAX: Final = 3.0
_FORCE_FILE_BYTES: Final = 1 << 20
_CLOCK_READINGS: Final = 2000
_CLOCK_TRIES: Final = 5
_DEVICES: Final = Path("/sys/dev/block")
_PROCESSORS: Final = Path("/sys/devices/system/cpu")
_CLOCK: Final = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


def read_text(path: str | Path) -> str:
    """Return the text of a file of the kernel; empty where there is none."""
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def force_times_ns(
    directory: Path, count: int = FORCES, seconds_max: float = FORCE_SECONDS_MAX
) -> tuple[str, tuple[int, ...]]:
    """Time writes of a page into a file that was filled before, each forced to disk as a recovery log is. Returns the
    error, or an empty text, and the times."""
    times: list[int] = []
    try:
        with (
            tempfile.TemporaryDirectory(prefix="ostler-force-", dir=directory) as scratch,
            closing(ForcedFile(Path(scratch) / "forced", _FORCE_FILE_BYTES)) as file,
        ):
            data = bytes(range(256)) * (FORCE_BYTES // 256)
            end = time.monotonic() + seconds_max
            while len(times) < count and (not times or time.monotonic() < end):
                began = time.perf_counter_ns()
                file.write_and_force(data)
                times.append(time.perf_counter_ns() - began)
    except OSError as error:
        return error.strerror or str(error), ()
    return "", tuple(times)


def describe_forces(directory: Path, count: int, seconds_max: float) -> dict[str, object]:
    """Describe what writing and forcing a page takes on the disk of a directory; empty where it cannot be written."""
    _, times = force_times_ns(directory, count, seconds_max)
    if not times:
        return {}
    ordered = sorted(times)
    return {
        "bytes": FORCE_BYTES,
        "count": len(ordered),
        "median_us": round(median(ordered) / 1000, 1),
        "p99_us": round(ordered[(len(ordered) * 99) // 100] / 1000, 1),
    }


def describe_device(directory: Path) -> dict[str, object]:
    """Describe the block device of a directory: its scheduler, and whether it rotates. Empty for memory and network."""
    number = directory.stat().st_dev
    device = (_DEVICES / f"{os.major(number)}:{os.minor(number)}").resolve()
    # A partition has the queue of its disk.
    queue = next((each / "queue" for each in (device, device.parent) if (each / "queue").is_dir()), None)
    if queue is None:
        return {}
    found: dict[str, object] = {}
    schedulers = read_text(queue / "scheduler").split()
    chosen = [each.strip("[]") for each in schedulers if each.startswith("[")] or schedulers
    if chosen:
        found["scheduler"] = chosen[0]
    rotational = read_text(queue / "rotational").strip()
    if rotational:
        found["rotates"] = rotational == "1"
    cache = read_text(queue / "write_cache").strip()
    if cache:
        found["write_cache"] = cache
    return found


def governors() -> frozenset[str]:
    """Return the frequency governors of all cores; empty on most virtual machines."""
    found = _PROCESSORS.glob("cpu[0-9]*/cpufreq/scaling_governor")
    return frozenset(read_text(each).strip() for each in found)


def clock_source() -> str:
    return read_text(_CLOCK).strip()


def clock_ns() -> int:
    """Return the cost of reading the clock: the fastest of a few tries."""
    tries = []
    for _ in range(_CLOCK_TRIES):
        began = time.perf_counter_ns()
        for _ in range(_CLOCK_READINGS):
            time.monotonic_ns()
        tries.append((time.perf_counter_ns() - began) // _CLOCK_READINGS)
    return min(tries)


def describe_processors() -> dict[str, object]:
    """Describe the clock and the governors of the processors."""
    return {"governors": sorted(governors()), "clock_source": clock_source(), "clock_ns": clock_ns()}
