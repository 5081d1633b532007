"""Parsers of the kernel's numbers on processes and the machine: text of /proc in, numbers out. See proc(5).

All functions are pure: `process_sampler` and `machine_sampler` read the files. Text that is not as documented raises
ValueError, so that a value is never made up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# The unit of /proc/diskstats, whatever the real size of a block is.
_SECTOR_BYTES: Final = 512
# Milliseconds of reads, writes and, since Linux 5.5, flushes.
_WAIT_FIELDS: Final = (6, 10, 19)
_STATES: Final = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


@dataclass(frozen=True)
class ProcessStat:
    """/proc/PID/stat, or that of one thread. Times are in clock ticks."""

    pid: int
    name: str
    state: str
    parent: int
    user_ticks: int
    system_ticks: int
    threads: int
    start_ticks: int
    """The start time. With the process id it distinguishes a process from a later one of the same number."""
    resident_pages: int

    @property
    def is_over(self) -> bool:
        """It has ended, and waits for its parent to collect it (zombie)."""
        return self.state in ("Z", "X")


def process_stat(text: str) -> ProcessStat:
    # The name may contain spaces and brackets: it ends at the last one.
    opening, closing = text.find("("), text.rfind(")")
    if opening < 0 or closing < opening:
        raise ValueError(f"there is no name in {text[:80]!r}")
    rest = text[closing + 1 :].split()
    if len(rest) < 22:
        raise ValueError(f"there are only {len(rest)} fields after the name in {text[:80]!r}")
    return ProcessStat(
        pid=int(text[:opening]),
        name=text[opening + 1 : closing],
        state=rest[0],
        parent=int(rest[1]),
        user_ticks=int(rest[11]),
        system_ticks=int(rest[12]),
        threads=int(rest[17]),
        start_ticks=int(rest[19]),
        resident_pages=int(rest[21]),
    )


@dataclass(frozen=True)
class StorageUse:
    """/proc/PID/io: bytes read from and written to storage, and the number of read and write calls."""

    read_bytes: int
    written_bytes: int
    read_calls: int
    write_calls: int


def storage_use(text: str) -> StorageUse:
    found = _named_numbers(text)
    return StorageUse(
        _require(found, "read_bytes"),
        _require(found, "write_bytes"),
        _require(found, "syscr"),
        _require(found, "syscw"),
    )


def context_switches(text: str) -> tuple[int, int]:
    """Return the switches from a thread's status: voluntary (it waited for something) and involuntary (preempted)."""
    found = _named_numbers(text)
    return _require(found, "voluntary_ctxt_switches"), _require(found, "nonvoluntary_ctxt_switches")


def run_ns(text: str) -> int | None:
    """Return from a thread's schedstat how long it ran; None from a kernel that does not count it."""
    return _schedstat(text)[0] or None


def core_wait_ns(text: str) -> int:
    """Return from a thread's schedstat how long it was ready to run and had no core."""
    return _schedstat(text)[1]


def _schedstat(text: str) -> tuple[int, int]:
    parts = text.split()
    if len(parts) != 3:
        raise ValueError(f"schedstat has three numbers, not {text[:80]!r}")
    return int(parts[0]), int(parts[1])


@dataclass(frozen=True)
class CoreTimes:
    """The use of cores so far, in clock ticks, by state. Time of virtual machines (guest) is within user."""

    user: int
    nice: int
    system: int
    idle: int
    iowait: int
    irq: int
    softirq: int
    steal: int

    @property
    def total(self) -> int:
        return (
            self.user + self.nice + self.system + self.idle + self.iowait + self.irq + self.softirq + self.steal
        )  # fmt: skip

    @property
    def busy(self) -> int:
        """All time that was not idle and not taken by the hypervisor."""
        return self.total - self.idle - self.iowait - self.steal

    def minus(self, earlier: CoreTimes) -> CoreTimes:
        """Return the increase since. The kernel corrects idle and iowait downwards at times: that counts as zero."""
        return CoreTimes(*(max(getattr(self, state) - getattr(earlier, state), 0) for state in _STATES))


@dataclass(frozen=True)
class MachineStat:
    """/proc/stat: all cores together, each of them, and context switches."""

    together: CoreTimes
    cores: tuple[CoreTimes, ...]
    context_switches: int
    running: int
    """Tasks that run or wait for a core now."""


def machine_stat(text: str) -> MachineStat:
    together: CoreTimes | None = None
    cores: list[CoreTimes] = []
    switches = running = 0
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name == "cpu":
            together = _core_times(rest)
        elif name.startswith("cpu"):
            cores.append(_core_times(rest))
        elif name == "ctxt":
            switches = int(rest)
        elif name == "procs_running":
            running = int(rest)
    if together is None:
        raise ValueError("there is no line of all cores together in /proc/stat")
    return MachineStat(together, tuple(cores), switches, running)


def _core_times(text: str) -> CoreTimes:
    ticks = [int(part) for part in text.split()]
    if len(ticks) < len(_STATES):
        raise ValueError(f"a core has {len(_STATES)} states, not {len(ticks)}")
    return CoreTimes(*ticks[: len(_STATES)])


@dataclass(frozen=True)
class NetworkUse:
    """The traffic of network interfaces so far, all requested ones together."""

    received_bytes: int
    received_packets: int
    sent_bytes: int
    sent_packets: int
    dropped_packets: int


def network_use(text: str, loopback: bool) -> NetworkUse:
    """Parse /proc/net/dev: the loopback interface, or all others together."""
    totals = [0, 0, 0, 0, 0]
    for line in text.splitlines()[2:]:
        name, _, rest = line.partition(":")
        if (name.strip() == "lo") is not loopback:
            continue
        fields = [int(part) for part in rest.split()]
        if len(fields) < 16:
            raise ValueError(f"an interface has sixteen counters, not {len(fields)}")
        for at, value in enumerate((fields[0], fields[1], fields[8], fields[9], fields[3] + fields[11])):
            totals[at] += value
    return NetworkUse(*totals)


@dataclass(frozen=True)
class DiskUse:
    """The use of one disk so far."""

    name: str
    reads: int
    read_bytes: int
    writes: int
    written_bytes: int
    busy_ms: int
    """The time with at least one request in progress."""
    flushes: int
    """The number of flush requests; 0 where the kernel does not count them."""
    wait_ms: int = 0
    """The time of all reads, writes and flushes, from when they were queued until they were done."""
    queue_ms: int = 0
    """The time that requests were in progress, all together."""


def disk_use(text: str, major: int, minor: int) -> DiskUse | None:
    """Parse /proc/diskstats: the device with these numbers, or None. A file system in memory has no disk."""
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 14 or (fields[0], fields[1]) != (str(major), str(minor)):
            continue
        return DiskUse(
            name=fields[2],
            reads=int(fields[3]),
            read_bytes=int(fields[5]) * _SECTOR_BYTES,
            writes=int(fields[7]),
            written_bytes=int(fields[9]) * _SECTOR_BYTES,
            busy_ms=int(fields[12]),
            flushes=int(fields[18]) if len(fields) > 18 else 0,
            wait_ms=sum(int(fields[at]) for at in _WAIT_FIELDS if at < len(fields)),
            queue_ms=int(fields[13]),
        )
    return None


@dataclass(frozen=True)
class MemoryUse:
    """/proc/meminfo, in bytes."""

    total_bytes: int
    available_bytes: int
    dirty_bytes: int
    """Written to files and not yet on disk: the kernel may write it in the measured window."""
    swap_total_bytes: int
    swap_free_bytes: int


def memory_use(text: str) -> MemoryUse:
    found = _named_numbers(text)
    return MemoryUse(
        *(_require(found, name) * 1024 for name in ("MemTotal", "MemAvailable", "Dirty", "SwapTotal", "SwapFree"))
    )


def swapped_pages(text: str) -> int:
    """Parse /proc/vmstat: pages that went to or came from swap so far."""
    found = dict(line.split() for line in text.splitlines() if line)
    return int(found.get("pswpin", 0)) + int(found.get("pswpout", 0))


def load_average(text: str) -> float:
    """Parse /proc/loadavg: the average of the last minute."""
    return float(text.split()[0])


def _named_numbers(text: str) -> dict[str, int]:
    """Parse lines of `name: number`, perhaps followed by a unit; other lines are ignored."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        words = rest.split()
        if colon and words and words[0].isdecimal():
            found[name.strip()] = int(words[0])
    return found


def _require(found: dict[str, int], name: str) -> int:
    if name not in found:
        raise ValueError(f"the kernel does not report {name}")
    return found[name]
