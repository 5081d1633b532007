"""The laboratory's doctor: properties of this machine that will limit a run, with advice.

Facts in, findings out. A finding is bad when runs would fail or mean little, limited when some scenarios are cut short
or results need care, and unknown when the system does not report it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ostler.lab.common.machine import IN_MEMORY
from ostler.lab.common.samples import median
from ostler.lab.sampling.facts import Facts


class Fitness(StrEnum):
    GOOD = "good"
    UNKNOWN = "unknown"
    LIMITED = "limited"
    BAD = "bad"


_WORSE: Final = tuple(Fitness)


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    name: str
    verdict: Fitness
    found: str
    """The observed values."""
    limits: str = ""
    """The consequence for runs."""
    advice: str = ""
    """The remedy."""

    def as_json(self) -> dict[str, str]:
        return {
            "name": self.name,
            "verdict": self.verdict.value,
            "found": self.found,
            "limits": self.limits,
            "advice": self.advice,
        }


CORES_GOOD: Final = 4
CLIENTS_MOST: Final = 60_000
"""The largest number of clients in any scenario."""
DESCRIPTORS_KEPT: Final = 200
DESCRIPTORS_LEAST: Final = 1024
PROCESSES_LEAST: Final = 512
PROCESSES_GOOD: Final = 4096
PORTS_LEAST: Final = 1000
PORTS_GOOD: Final = 10_000
BACKLOG_GOOD: Final = 1024
DISK_BYTES_LEAST: Final = 2 << 30
DISK_BYTES_GOOD: Final = 20 << 30
FILES_GOOD: Final = 10_000
FORCE_NS_SLOW: Final = 5_000_000
FORCE_NS_USELESS: Final = 50_000_000
FORCE_NS_QUICK: Final = 15_000
FORCE_UNEVEN: Final = 5.0
MEMORY_BYTES_LEAST: Final = 1 << 30
MEMORY_BYTES_GOOD: Final = 4 << 30
STEAL_PERCENT_GOOD: Final = 2.0
STEAL_PERCENT_MOST: Final = 10.0
BUSY_PERCENT_GOOD: Final = 15.0
BUSY_PERCENT_MOST: Final = 50.0
NOISE_PERCENT_GOOD: Final = 15.0
NOISE_PERCENT_MOST: Final = 50.0
CLOCK_NS_GOOD: Final = 500


def examine(facts: Facts) -> list[Finding]:
    """Return all findings, in the order of `CHECKS`."""
    return [check(facts) for check in CHECKS]


def worst(findings: list[Finding]) -> Fitness:
    return max((each.verdict for each in findings), key=_WORSE.index, default=Fitness.GOOD)


def _graded(value: float, limited_below: float, bad_below: float) -> Fitness:
    if value < bad_below:
        return Fitness.BAD
    return Fitness.LIMITED if value < limited_below else Fitness.GOOD


def cores(facts: Facts) -> Finding:
    usable: float = facts.cores_usable
    quota = ""
    if facts.group.cores is not None and facts.group.cores < usable:
        usable = facts.group.cores
        quota = f", and the control group allows {usable:g}"
    found = f"{facts.cores_usable} of {facts.cores} usable{quota}"
    verdict = _graded(usable, CORES_GOOD, 2)
    if verdict == Fitness.GOOD:
        return Finding("cores", verdict, found)
    if verdict == Fitness.BAD:
        limits = "driver and queue manager take turns on one core: rates and response times mean little"
        return Finding("cores", verdict, found, limits, "use a machine with at least 2 cores, better 4")
    limits = "driver, queue manager and peers share them: a rate is that of all together"
    return Finding(
        "cores", verdict, found, limits, "compare within one run only, and processor time for each round trip"
    )


def descriptors(facts: Facts) -> Finding:
    hard = min(facts.descriptors_hard, facts.files_max - facts.files_open)
    sockets = max(hard - DESCRIPTORS_KEPT, 0)
    found = f"{facts.descriptors_soft:,} for a process, may be raised to {facts.descriptors_hard:,}"
    verdict = _graded(hard, CLIENTS_MOST + DESCRIPTORS_KEPT, DESCRIPTORS_LEAST)
    if verdict == Fitness.GOOD:
        return Finding("descriptors", verdict, found)
    limits = (
        f"at most {sockets:,} sockets to one queue manager: scenarios with more clients (up to {CLIENTS_MOST:,}) "
        f"share sockets"
    )
    advice = f"ulimit -Hn {CLIENTS_MOST + DESCRIPTORS_KEPT} as root, or nofile in limits.conf"
    return Finding("descriptors", verdict, found, limits, advice)


def processes(facts: Facts) -> Finding:
    found = f"{facts.processes_max:,} processes and threads at most"
    verdict = _graded(facts.processes_max, PROCESSES_GOOD, PROCESSES_LEAST)
    if verdict == Fitness.GOOD:
        return Finding("processes", verdict, found)
    limits = "library clients have a thread each: runs with many of them stop early"
    return Finding("processes", verdict, found, limits, "raise ulimit -u, kernel.pid_max or kernel.threads-max")


def ports(facts: Facts) -> Finding:
    if facts.loopback_error:
        return Finding(
            "ports", Fitness.BAD, f"no loopback connection could be made: {facts.loopback_error}",
            "nothing that talks over TCP can run", "look at firewall rules and at `ip address show lo`",
        )  # fmt: skip
    left = max(facts.ports - facts.ports_waiting, 0)
    found = f"{facts.ports:,} to connect from, {facts.ports_waiting:,} held by closed connections"
    verdict = _graded(left, PORTS_GOOD, PORTS_LEAST)
    if verdict == Fitness.GOOD:
        return Finding("ports", verdict, found)
    limits = f"about {left:,} new connections a minute from each loopback address: short sessions run out of them"
    return Finding("ports", verdict, found, limits, "wait a minute, or widen net.ipv4.ip_local_port_range")


def backlog(facts: Facts) -> Finding:
    found = f"{facts.backlog_max:,} connections may wait to be accepted"
    if facts.backlog_max >= BACKLOG_GOOD:
        return Finding("backlog", Fitness.GOOD, found)
    limits = "connection scaling: bursts are refused or retried after a second"
    return Finding("backlog", Fitness.LIMITED, found, limits, f"sysctl net.core.somaxconn={BACKLOG_GOOD * 4}")


def disk_space(facts: Facts) -> Finding:
    if facts.scratch_error:
        return Finding(
            "disk space", Fitness.BAD, f"{facts.scratch} cannot be used: {facts.scratch_error}",
            "no queue manager can be made there", "choose another directory with --scratch",
        )  # fmt: skip
    found = f"{_size(facts.disk_free_bytes)} free in {facts.scratch} ({facts.file_system})"
    verdict = _graded(facts.disk_free_bytes, DISK_BYTES_GOOD, DISK_BYTES_LEAST)
    if facts.files_free < FILES_GOOD:
        verdict, found = Fitness.BAD, f"{found}, and room for {facts.files_free:,} files only"
    if verdict == Fitness.GOOD:
        return Finding("disk space", verdict, found)
    limits = "large persistent messages, linear logging and long runs may fill it"
    return Finding("disk space", verdict, found, limits, "make room, or choose another directory with --scratch")


def forces(facts: Facts) -> Finding:
    name = "forced writes"
    if not facts.force_ns:
        return Finding(name, Fitness.UNKNOWN, "not measured", "persistent messages cannot be judged")
    times = sorted(facts.force_ns)
    middle, high = median(times), times[(len(times) * 99) // 100]
    found = f"4 KB in {_time(middle)}, one of a hundred takes {_time(high)}: {1e9 / middle:,.0f} a second in a row"
    if facts.file_system in IN_MEMORY:
        limits = f"{facts.file_system} keeps nothing: persistent figures are those of memory"
        return Finding(name, Fitness.LIMITED, found, limits, "choose a directory on a disk with --scratch")
    if middle >= FORCE_NS_SLOW:
        limits = f"one client commits at most {1e9 / middle:,.0f} times a second; many clients share a force"
        verdict = Fitness.BAD if middle >= FORCE_NS_USELESS else Fitness.LIMITED
        return Finding(name, verdict, found, limits, "choose a faster disk with --scratch")
    if middle < FORCE_NS_QUICK:
        limits = "quicker than a disk can be: what is forced may not be safe, and persistent figures are too good"
        return Finding(
            name, Fitness.LIMITED, found, limits, "find out whether the disk or the hypervisor ignores forces"
        )
    if high > FORCE_UNEVEN * middle:
        limits = "the slowest persistent round trips are those of the disk"
        return Finding(name, Fitness.LIMITED, found, limits, "see that nothing else writes to this disk")
    return Finding(name, Fitness.GOOD, found)


def governor(facts: Facts) -> Finding:
    if not facts.governors:
        found = "unknown: a virtual machine, or a fixed frequency"
        return Finding("governor", Fitness.UNKNOWN, found, "the frequency of the cores may change unseen")
    found = ", ".join(sorted(facts.governors))
    if facts.governors == {"performance"}:
        return Finding("governor", Fitness.GOOD, found)
    limits = "cores grow faster under load: light loads show longer response times than they need"
    return Finding("governor", Fitness.LIMITED, found, limits, "cpupower frequency-set -g performance")


def clock(facts: Facts) -> Finding:
    found = f"{facts.clock_source or 'unknown source'}, {facts.clock_ns:,} ns for each look at it"
    if facts.clock_ns <= CLOCK_NS_GOOD:
        return Finding("clock", Fitness.GOOD, found)
    limits = "drivers look at the clock for each message: the highest rates are slowed by being measured"
    return Finding("clock", Fitness.LIMITED, found, limits, "see available_clocksource; tsc is the quickest")


def steal(facts: Facts) -> Finding:
    percent = facts.machine.steal_percent
    found = f"{percent:.1f}% of the processors over {facts.machine.interval.microseconds / 1e6:.0f} s"
    if percent <= STEAL_PERCENT_GOOD:
        return Finding("steal", Fitness.GOOD, found)
    verdict = Fitness.BAD if percent > STEAL_PERCENT_MOST else Fitness.LIMITED
    limits = "the hypervisor gives this machine's cores to others: runs are flagged"
    return Finding("steal", verdict, found, limits, "run at another time, or on a machine of its own")


def others(facts: Facts) -> Finding:
    percent = facts.machine.busy_percent
    found = f"{percent:.0f}% of the processors in use, load {facts.machine.load:.1f}"
    if facts.busiest:
        found += ": " + ", ".join(f"{each.name} ({each.pid}) {each.core_percent:.0f}%" for each in facts.busiest)
    if percent <= BUSY_PERCENT_GOOD:
        return Finding("other work", Fitness.GOOD, found)
    verdict = Fitness.BAD if percent > BUSY_PERCENT_MOST else Fitness.LIMITED
    limits = "what else runs here is measured, too: runs are flagged"
    return Finding("other work", verdict, found, limits, "end it, or wait until it is done")


def memory(facts: Facts) -> Finding:
    available = facts.memory.available_bytes
    found = f"{_size(available)} of {_size(facts.memory.total_bytes)} available"
    group = facts.group
    if group.memory_bytes is not None:
        left = max(group.memory_bytes - (group.memory_used_bytes or 0), 0)
        if left < available:
            available = left
            found += f", and the control group leaves {_size(left)}"
    verdict = _graded(available, MEMORY_BYTES_GOOD, MEMORY_BYTES_LEAST)
    if verdict == Fitness.GOOD:
        return Finding("memory", verdict, found)
    limits = "many connections, deep queues and peers on the JVM or Erlang may not fit"
    return Finding("memory", verdict, found, limits, "end what is not needed, or leave peers out")


def swap(facts: Facts) -> Finding:
    total, used = facts.memory.swap_total_bytes, facts.memory.swap_total_bytes - facts.memory.swap_free_bytes
    if not total:
        return Finding("swap", Fitness.GOOD, "none")
    found = f"{_size(used)} of {_size(total)} in use"
    if not used:
        return Finding("swap", Fitness.GOOD, found)
    limits = "memory that went to swap comes back in the middle of a run: runs that swap are flagged"
    return Finding("swap", Fitness.LIMITED, found, limits, "swapoff -a while there is memory enough")


def noise(facts: Facts) -> Finding:
    measured = facts.noise
    found = (
        f"the same millisecond of work differs by {measured.spread_percent:.0f}%, "
        f"and waited {measured.waited_percent:.0f}% of the time for a core"
    )
    worst_percent = max(measured.spread_percent, measured.waited_percent)
    if worst_percent <= NOISE_PERCENT_GOOD:
        return Finding("noise", Fitness.GOOD, found)
    verdict = Fitness.BAD if worst_percent > NOISE_PERCENT_MOST else Fitness.LIMITED
    limits = f"differences below {worst_percent:.0f}% mean nothing here now"
    return Finding("noise", verdict, found, limits, "quieten the machine, and let contestants take more turns")


def installation(facts: Facts) -> Finding:
    if facts.packages_missing:
        return Finding(
            "installation", Fitness.BAD, f"without {', '.join(facts.packages_missing)}",
            "nothing can be run or recorded", f"pip install {shlex.quote('ostler[lab]')}",
        )  # fmt: skip
    if facts.is_compiled:
        return Finding("installation", Fitness.GOOD, "compiled, with the laboratory's packages")
    return Finding(
        "installation", Fitness.LIMITED, "interpreted, with the laboratory's packages",
        "queue manager and drivers are several times slower than compiled ones",
        "install it where there is a C compiler, without OSTLER_PURE",
    )  # fmt: skip


Check = Callable[[Facts], Finding]

CHECKS: Final[tuple[Check, ...]] = (
    cores, descriptors, processes, ports, backlog, disk_space, forces, governor, clock, steal, others, memory, swap,
    noise, installation,
)  # fmt: skip


def _size(value: int) -> str:
    if value >= 1 << 30:
        return f"{value / (1 << 30):,.1f} GiB"
    return f"{value / (1 << 20):,.0f} MiB"


def _time(nanoseconds: float) -> str:
    if nanoseconds >= 1e6:
        return f"{nanoseconds / 1e6:,.1f} ms"
    return f"{nanoseconds / 1e3:,.0f} us"
