"""Flags: problems of a measured window, found in its samples and shown beside its results, never hidden.

A flag is a doubt when results are not what they seem (the driver was measured, neighbours took the machine), and a note
when a reader should know (the machine was full, as it is meant to be at the end of a sweep).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ostler.lab.sampling.noise import Noise
from ostler.lab.sampling.process_sampler import ENDED
from ostler.lab.sampling.samples import Event, MachineSample, ProcessSample

DOUBT: Final = "doubt"
NOTE: Final = "note"

DRIVER: Final = "driver"


@dataclass(frozen=True)
class Limits:
    """The thresholds of flags."""

    driver_core_percent: float = 90.0
    """Of one core. A driver's process is one loop: it cannot use a second core."""
    steal_percent: float = 2.0
    others_percent: float = 15.0
    """Of all cores, by processes that are not part of the run."""
    busy_percent: float = 95.0
    noise_percent: float = 15.0
    core_wait_percent: float = 20.0
    """Of elapsed time in which the driver was ready and had no core: its clocks read late then."""
    sample_seconds: float = 2.0
    """The interval between two samples from which the observer itself had no core."""
    memory_available_bytes: int = 256 << 20
    disk_free_bytes: int = 1 << 30
    seconds_fraction: float = 0.1
    """The part of the window that must be beyond a limit, or the window as a whole."""


LIMITS: Final = Limits()


@dataclass(frozen=True)
class Flag:
    """One flag. `value` and `limit` are in the unit that `text` names."""

    name: str
    severity: str
    text: str
    value: float
    limit: float
    role: str = ""
    pid: int = 0

    def as_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "severity": self.severity,
            "text": self.text,
            "value": round(self.value, 2),
            "limit": round(self.limit, 2),
            "role": self.role,
            "pid": self.pid,
        }


def find_flags(
    processes: Sequence[ProcessSample],
    machines: Sequence[MachineSample],
    events: Sequence[Event] = (),
    noises: Sequence[Noise] = (),
    limits: Limits = LIMITS,
) -> list[Flag]:
    """Return all flags of one window; none when it was good."""
    found: list[Flag] = []
    found += driver_flags(processes, limits)
    found += neighbour_flags(processes, machines, limits)
    found += machine_flags(machines, limits)
    for each in events:
        if each.name == ENDED:
            text = f"the {each.role} process {each.pid} ({each.text}) ended"
            found.append(Flag("process-ended", DOUBT, text, 1, 0, each.role, each.pid))
    found += noise_flags(noises, limits)
    return found


def driver_flags(processes: Iterable[ProcessSample], limits: Limits) -> list[Flag]:
    """Flag drivers that had no reserve: they were measured instead of the broker."""
    by_process: dict[int, list[ProcessSample]] = defaultdict(list)
    for each in processes:
        if each.role == DRIVER:
            by_process[each.pid].append(each)
    found: list[Flag] = []
    for pid, samples in sorted(by_process.items()):
        length = sum(each.interval.microseconds for each in samples)
        if length <= 0:
            continue
        used = 100 * sum(each.cpu_us for each in samples) / length
        above = _fraction(
            [(each.core_percent, each.interval.microseconds) for each in samples], limits.driver_core_percent
        )
        if used > limits.driver_core_percent or above > limits.seconds_fraction:
            text = (
                f"driver {pid} used {used:.0f}% of a core, and more than {limits.driver_core_percent:.0f}% "
                f"in {100 * above:.0f}% of the time: the driver was measured"
            )
            found.append(Flag("driver-saturated", DOUBT, text, used, limits.driver_core_percent, DRIVER, pid))
        waited = sum(each.core_wait_us or 0 for each in samples)
        percent = 100 * waited / length
        if percent > limits.core_wait_percent:
            text = f"driver {pid} was ready {percent:.0f}% of the time and had no core: response times include that"
            found.append(Flag("driver-waited", DOUBT, text, percent, limits.core_wait_percent, DRIVER, pid))
    return found


def neighbour_flags(
    processes: Sequence[ProcessSample], machines: Sequence[MachineSample], limits: Limits
) -> list[Flag]:
    """Flag the hypervisor, and other programs on the same machine."""
    total = sum(each.total_us for each in machines)
    if total <= 0:
        return []
    found: list[Flag] = []
    steal = 100 * sum(each.steal_us for each in machines) / total
    above = _fraction([(each.steal_percent, each.interval.microseconds) for each in machines], limits.steal_percent)
    if steal > limits.steal_percent or above > limits.seconds_fraction:
        text = (
            f"{steal:.1f}% of all processor time was stolen, and more than {limits.steal_percent:.0f}% "
            f"in {100 * above:.0f}% of the time"
        )
        found.append(Flag("steal", DOUBT, text, steal, limits.steal_percent))
    # Interrupts belong to the owner of the packets: they are not counted for others.
    used = sum(each.user_us + each.nice_us + each.system_us for each in machines)
    others = 100 * max(used - sum(each.cpu_us for each in processes), 0) / total
    if others > limits.others_percent:
        text = f"processes that are no part of the run used {others:.0f}% of the machine"
        found.append(Flag("others-busy", DOUBT, text, others, limits.others_percent))
    return found


def machine_flags(machines: Sequence[MachineSample], limits: Limits) -> list[Flag]:
    """Flag a full machine, too little memory or disk, and an observer that sampled late."""
    total = sum(each.total_us for each in machines)
    if total <= 0:
        return []
    found: list[Flag] = []
    busy = 100 * sum(each.busy_us for each in machines) / total
    if busy > limits.busy_percent:
        text = f"all cores were busy {busy:.0f}% of the time: driver and queue manager shared what there is"
        found.append(Flag("machine-full", NOTE, text, busy, limits.busy_percent))
    swapped = sum(each.swapped_pages for each in machines)
    if swapped:
        found.append(Flag("swapping", DOUBT, f"{swapped:,} pages were swapped", swapped, 0))
    memory = min(each.memory_available_bytes for each in machines)
    if memory < limits.memory_available_bytes:
        text = f"only {memory >> 20:,} MiB of memory were left"
        found.append(Flag("memory-low", DOUBT, text, memory, limits.memory_available_bytes))
    free = min(each.disk_free_bytes for each in machines)
    if free < limits.disk_free_bytes:
        text = f"only {free >> 20:,} MiB were left on the disk"
        found.append(Flag("disk-low", DOUBT, text, free, limits.disk_free_bytes))
    dropped = sum(each.dropped_packets for each in machines)
    if dropped:
        found.append(Flag("packets-dropped", NOTE, f"{dropped:,} packets were dropped by the network", dropped, 0))
    found += _late_samples(machines, limits)
    return found


def _late_samples(machines: Sequence[MachineSample], limits: Limits) -> list[Flag]:
    longest = max(each.interval.microseconds for each in machines) / 1e6
    if longest <= limits.sample_seconds:
        return []
    text = f"one look came only after {longest:.1f} s: the machine was too busy to be observed every second"
    return [Flag("observer-late", NOTE, text, longest, limits.sample_seconds)]


def noise_flags(noises: Sequence[Noise], limits: Limits) -> list[Flag]:
    """Flag a machine on which the same work took different times before, between and after."""
    medians = [each.median_ns for each in noises if each.median_ns > 0]
    if not medians:
        return []
    drift = 100 * (max(medians) - min(medians)) / min(medians)
    spread = max(each.spread_percent for each in noises)
    worst = max(drift, spread)
    if worst <= limits.noise_percent:
        return []
    text = f"the same work took up to {worst:.0f}% longer: differences below that mean nothing"
    return [Flag("noise", DOUBT, text, worst, limits.noise_percent)]


def _fraction(values: Sequence[tuple[float, float]], limit: float) -> float:
    """Return the fraction of time beyond a limit; each value comes with the length of its interval."""
    length = sum(each for _, each in values)
    return sum(each for value, each in values if value > limit) / length if length else 0.0
