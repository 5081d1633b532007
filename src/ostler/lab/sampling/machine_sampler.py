"""Samples of the whole machine: the use of its cores, network and disk since the last sample."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ostler.lab.sampling import kernel_text
from ostler.lab.sampling.kernel_text import DiskUse, MachineStat, NetworkUse
from ostler.lab.sampling.process_sampler import PROC
from ostler.lab.sampling.samples import Interval, MachineSample


@dataclass(frozen=True)
class _Reading:
    stat: MachineStat
    loopback: NetworkUse
    network: NetworkUse
    disk: DiskUse | None
    swapped_pages: int

    @property
    def dropped_packets(self) -> int:
        return self.loopback.dropped_packets + self.network.dropped_packets


class MachineSampler:
    """Samples the machine on request, counting from its construction. `scratch` is on the disk that matters."""

    def __init__(self, scratch: Path, proc: Path = PROC, tick_us: int = 0, device: int | None = None) -> None:
        self._scratch = scratch
        self._proc = proc
        self._tick_us = tick_us or 1_000_000 // os.sysconf("SC_CLK_TCK")
        self._device = os.stat(scratch).st_dev if device is None else device
        self._before = self._moment()

    def sample(self, interval: Interval) -> MachineSample:
        """Return the use of the machine within the interval, which ends now."""
        before, now = self._before, self._moment()
        self._before = now
        spent = now.stat.together.minus(before.stat.together)
        memory = kernel_text.memory_use(self._text("meminfo"))
        disk = _disk_between(before.disk, now.disk)
        tick_us = self._tick_us
        return MachineSample(
            interval=interval,
            cores=max(len(now.stat.cores), 1),
            user_us=spent.user * tick_us,
            nice_us=spent.nice * tick_us,
            system_us=spent.system * tick_us,
            idle_us=spent.idle * tick_us,
            iowait_us=spent.iowait * tick_us,
            irq_us=spent.irq * tick_us,
            softirq_us=spent.softirq * tick_us,
            steal_us=spent.steal * tick_us,
            busiest_core_percent=_busiest(before.stat, now.stat),
            load=kernel_text.load_average(self._text("loadavg")),
            running=now.stat.running,
            context_switches=now.stat.context_switches - before.stat.context_switches,
            loopback_bytes=now.loopback.sent_bytes - before.loopback.sent_bytes,
            loopback_packets=now.loopback.sent_packets - before.loopback.sent_packets,
            network_received_bytes=now.network.received_bytes - before.network.received_bytes,
            network_sent_bytes=now.network.sent_bytes - before.network.sent_bytes,
            dropped_packets=now.dropped_packets - before.dropped_packets,
            disk=disk.name,
            disk_reads=disk.reads,
            disk_read_bytes=disk.read_bytes,
            disk_writes=disk.writes,
            disk_written_bytes=disk.written_bytes,
            disk_flushes=disk.flushes,
            disk_busy_us=disk.busy_ms * 1000,
            disk_free_bytes=free_bytes(self._scratch),
            memory_available_bytes=memory.available_bytes,
            dirty_bytes=memory.dirty_bytes,
            swapped_pages=now.swapped_pages - before.swapped_pages,
            disk_wait_us=disk.wait_ms * 1000 if disk.name else None,
            disk_queue_us=disk.queue_ms * 1000 if disk.name else None,
        )

    def _moment(self) -> _Reading:
        network = self._text("net/dev")
        return _Reading(
            stat=kernel_text.machine_stat(self._text("stat")),
            loopback=kernel_text.network_use(network, loopback=True),
            network=kernel_text.network_use(network, loopback=False),
            disk=kernel_text.disk_use(self._text("diskstats"), os.major(self._device), os.minor(self._device)),
            swapped_pages=kernel_text.swapped_pages(self._text("vmstat")),
        )

    def _text(self, name: str) -> str:
        return (self._proc / name).read_text()


def free_bytes(directory: Path) -> int:
    """Return the bytes that may still be written there without being root."""
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize


def _busiest(before: MachineStat, now: MachineStat) -> float:
    busiest = 0.0
    for early, late in zip(before.cores, now.cores, strict=False):
        spent = late.minus(early)
        if spent.total:
            busiest = max(busiest, 100 * spent.busy / spent.total)
    return busiest


def _disk_between(before: DiskUse | None, now: DiskUse | None) -> DiskUse:
    if before is None or now is None:
        return DiskUse("", 0, 0, 0, 0, 0, 0)
    return DiskUse(
        now.name,
        now.reads - before.reads,
        now.read_bytes - before.read_bytes,
        now.writes - before.writes,
        now.written_bytes - before.written_bytes,
        now.busy_ms - before.busy_ms,
        now.flushes - before.flushes,
        now.wait_ms - before.wait_ms,
        now.queue_ms - before.queue_ms,
    )
