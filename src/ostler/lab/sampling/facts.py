"""The facts of the doctor: properties of this machine, gathered in a few seconds without changing anything."""

from __future__ import annotations

import os
import resource
import socket
import threading
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import psutil

from ostler.lab.common.hardware import clock_ns, clock_source, force_times_ns, governors, read_text
from ostler.lab.common.machine import file_system, is_compiled
from ostler.lab.peers.broker_process import LOOPBACK
from ostler.lab.sampling import kernel_text
from ostler.lab.sampling.clock import Clock
from ostler.lab.sampling.control_group import ControlGroup, control_group
from ostler.lab.sampling.machine_sampler import MachineSampler
from ostler.lab.sampling.noise import Noise, NoiseMeter
from ostler.lab.sampling.samples import Interval, MachineSample

_BUSIEST: Final = 3
_CONNECT_SECONDS_MAX: Final = 2.0
# Used where the kernel reports no limit.
_MANY: Final = 1 << 40
_PACKAGES: Final = {"psutil": "psutil", "pyarrow": "pyarrow"}


@dataclass(frozen=True)
class Busy:
    """A process that uses the machine now."""

    pid: int
    name: str
    core_percent: float


@dataclass(frozen=True)
class Facts:
    """The input of all findings. None: the system does not report it."""

    cores: int
    cores_usable: int
    group: ControlGroup
    descriptors_soft: int
    descriptors_hard: int
    files_open: int
    files_max: int
    processes_max: int
    ports: int
    """Local ports for connections, for each pair of addresses."""
    ports_waiting: int
    """Ports in TIME_WAIT after connections were closed."""
    loopback_error: str
    """The reason why a loopback connection failed; empty when it succeeded."""
    backlog_max: int
    scratch: Path
    scratch_error: str
    file_system: str
    disk_free_bytes: int
    files_free: int
    force_ns: tuple[int, ...]
    """The time of each write and force."""
    governors: frozenset[str]
    clock_source: str
    clock_ns: int
    machine: MachineSample
    busiest: tuple[Busy, ...]
    memory: kernel_text.MemoryUse
    noise: Noise
    is_compiled: bool
    packages_missing: tuple[str, ...]


def gather(scratch: Path, seconds: float, clock: Clock) -> Facts:
    """Observe the machine for this many seconds, then probe it."""
    machine, busiest = _watch(scratch, seconds, clock)
    group = control_group()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    open_files = read_text("/proc/sys/fs/file-nr").split()
    scratch_error, forces = force_times_ns(scratch)
    return Facts(
        cores=os.cpu_count() or 1,
        cores_usable=len(os.sched_getaffinity(0)),
        group=group,
        descriptors_soft=_unlimited(soft),
        descriptors_hard=_unlimited(hard),
        files_open=int(open_files[0]) if open_files else 0,
        files_max=int(open_files[2]) if open_files else _MANY,
        processes_max=_processes_max(),
        ports=local_ports(),
        ports_waiting=_ports_waiting(read_text("/proc/net/sockstat")),
        loopback_error=_loopback_error(),
        backlog_max=_number("/proc/sys/net/core/somaxconn", _MANY),
        scratch=scratch,
        scratch_error=scratch_error,
        file_system="" if scratch_error else file_system(scratch),
        disk_free_bytes=machine.disk_free_bytes,
        files_free=0 if scratch_error else _files_free(scratch),
        force_ns=forces,
        governors=governors(),
        clock_source=clock_source(),
        clock_ns=clock_ns(),
        machine=machine,
        busiest=busiest,
        memory=kernel_text.memory_use(read_text("/proc/meminfo")),
        noise=NoiseMeter.calibrated(clock).measure("doctor"),
        is_compiled=is_compiled(),
        packages_missing=tuple(package for module, package in _PACKAGES.items() if find_spec(module) is None),
    )


def _number(path: str, otherwise: int) -> int:
    text = read_text(path).strip()
    return int(text) if text.isdecimal() else otherwise


def _unlimited(limit: int) -> int:
    return _MANY if limit == resource.RLIM_INFINITY else limit


def _processes_max() -> int:
    """Return the limit of processes and threads, which the kernel counts together."""
    own = _unlimited(resource.getrlimit(resource.RLIMIT_NPROC)[0])
    return min(own, _number("/proc/sys/kernel/pid_max", _MANY), _number("/proc/sys/kernel/threads-max", _MANY))


def local_ports() -> int:
    """Return the number of local ports for connections, for each pair of addresses."""
    low, high = [*read_text("/proc/sys/net/ipv4/ip_local_port_range").split(), "32768", "60999"][:2]
    return int(high) - int(low) + 1


def _ports_waiting(text: str) -> int:
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["TCP:"] and "tw" in words:
            return int(words[words.index("tw") + 1])
    return 0


def _loopback_error() -> str:
    try:
        with closing(socket.create_server((LOOPBACK, 0))) as server:
            socket.create_connection(server.getsockname(), _CONNECT_SECONDS_MAX).close()
    except OSError as error:
        return str(error)
    return ""


def _files_free(scratch: Path) -> int:
    found = os.statvfs(scratch)
    # Some file systems create inodes as they are needed, and report none.
    return found.f_favail if found.f_files else _MANY


def _watch(scratch: Path, seconds: float, clock: Clock) -> tuple[MachineSample, tuple[Busy, ...]]:
    """Observe the idle machine: steal, and other busy processes."""
    place = scratch if scratch.is_dir() else Path("/")
    sampler = MachineSampler(place)
    before = _cpu_by_process()
    began = clock.now_ns()
    clock.wait(threading.Event(), seconds)
    passed = max(clock.now_ns() - began, 1)
    machine = sampler.sample(Interval("doctor", 0, 0, passed))
    busy: list[Busy] = []
    for (pid, name), used in _cpu_by_process().items():
        percent = 100 * (used - before.get((pid, name), 0.0)) / (passed / 1e9)
        if pid != os.getpid() and percent >= 1:
            busy.append(Busy(pid, name, percent))
    busy.sort(key=_busiest_first)
    return machine, tuple(busy[:_BUSIEST])


def _busiest_first(busy: Busy) -> float:
    return -busy.core_percent


def _cpu_by_process() -> dict[tuple[int, str], float]:
    found: dict[tuple[int, str], float] = {}
    for process in psutil.process_iter():
        try:
            times = process.cpu_times()
            found[(process.pid, process.name())] = times.user + times.system
        except psutil.Error:
            continue
    return found
