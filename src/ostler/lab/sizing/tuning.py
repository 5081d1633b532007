"""Tuning advice of the reports as checks of a queue manager: its configuration, and its state while it runs.

Facts in, findings out, as in the doctor of machines. Each check names the section of the report that advises it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from ostler.lab.sampling.doctor import Finding, Fitness

LOG_FILE_PAGES_GOOD: Final = 16_384
LOG_FILES_GOOD: Final = 16
LOG_BUFFER_PAGES_GOOD: Final = 512
BUFFER_BYTES_GOOD: Final = 1 << 20
MEMORY_SHARE_MOST: Final = 0.25
LOG_BUSY_PERCENT: Final = 100
"""LOGUTIL above this means that the load needs secondary files."""
WRITE_LATENCY_US_MOST: Final = 5_000
_SHOWN: Final = 3
_ENDED: Final = "the queue manager does not run"


@dataclass(frozen=True)
class QueueFacts:
    """A queue of a running queue manager."""

    name: str
    depth: int
    getters: int
    putters: int
    buffer_bytes: int = 0


@dataclass(frozen=True)
class TuningFacts:
    """The input of all checks. `log_used_percent` and what follows is None while the queue manager does not run."""

    data_device: int
    log_device: int
    log_primary_files: int
    log_secondary_files: int
    log_file_pages: int
    log_buffer_pages: int
    queue_buffer_bytes: int
    memory_bytes: int
    ports: int
    log_used_percent: int | None = None
    """LOGUTIL."""
    log_write_us: int | None = None
    """LOGWRLAT."""
    queues: tuple[QueueFacts, ...] = ()


def separate_disks(facts: TuningFacts) -> Finding:
    name = "queues and log"
    if facts.data_device != facts.log_device:
        return Finding(name, Fitness.GOOD, "on separate file systems")
    limits = "writing a queue file and forcing the log wait for one another (Windows V5.3 report, 7.1.1)"
    return Finding(name, Fitness.LIMITED, "on one file system", limits, "crtmqm -ld DIRECTORY on another disk")


def log_size(facts: TuningFacts) -> Finding:
    pages = facts.log_primary_files * facts.log_file_pages
    found = f"{facts.log_primary_files} primary files of {facts.log_file_pages:,} pages: {pages >> 8:,} MB"
    if facts.log_primary_files >= LOG_FILES_GOOD and facts.log_file_pages >= LOG_FILE_PAGES_GOOD:
        return Finding("log size", Fitness.GOOD, found)
    limits = "small logs switch files and take checkpoints often under load (Windows V5.3 report, 7.1.2; V9.1, A.3)"
    advice = f"for persistent load: crtmqm -lp {LOG_FILES_GOOD} -lf {LOG_FILE_PAGES_GOOD}"
    return Finding("log size", Fitness.LIMITED, found, limits, advice)


def log_buffer(facts: TuningFacts) -> Finding:
    found = f"{facts.log_buffer_pages:,} pages"
    if not facts.log_buffer_pages:
        return Finding("log buffer", Fitness.GOOD, "chosen by the queue manager")
    if facts.log_buffer_pages >= LOG_BUFFER_PAGES_GOOD:
        return Finding("log buffer", Fitness.GOOD, found)
    limits = "a force writes no more than the buffer at once (Windows V5.3 report, 7.1.2)"
    advice = f"LogBufferPages={LOG_BUFFER_PAGES_GOOD} in the Log stanza, or 0"
    return Finding("log buffer", Fitness.LIMITED, found, limits, advice)


def queue_buffers(facts: TuningFacts) -> Finding:
    found = f"{facts.queue_buffer_bytes:,} bytes for nonpersistent messages of a queue"
    if facts.queue_buffer_bytes * max(len(facts.queues), 1) > facts.memory_bytes * MEMORY_SHARE_MOST:
        limits = f"full buffers of {len(facts.queues):,} queues would take more than a quarter of the memory"
        return Finding("queue buffers", Fitness.LIMITED, found, limits, "a smaller DefaultQBufferSize")
    if facts.queue_buffer_bytes >= BUFFER_BYTES_GOOD:
        return Finding("queue buffers", Fitness.GOOD, found)
    limits = "peaks of more messages go through the queue file (Windows V5.3 report, 7.1.1.1; Publish/Subscribe, 8)"
    return Finding(
        "queue buffers", Fitness.LIMITED, found, limits, "DefaultQBufferSize=1048576 in TuningParameters, if peaks come"
    )


def log_use(facts: TuningFacts) -> Finding:
    if facts.log_used_percent is None:
        return Finding("log use", Fitness.UNKNOWN, _ENDED, "", "start it, and look again")
    found = f"LOGUTIL({facts.log_used_percent})"
    if facts.log_used_percent <= LOG_BUSY_PERCENT:
        return Finding("log use", Fitness.GOOD, found)
    limits = "the load needs more than the primary files (V9.1 report, 3)"
    return Finding("log use", Fitness.LIMITED, found, limits, "more primary files: see `ostler lab size load`")


def log_latency(facts: TuningFacts) -> Finding:
    if facts.log_write_us is None:
        return Finding("log latency", Fitness.UNKNOWN, _ENDED)
    if not facts.log_write_us:
        return Finding("log latency", Fitness.UNKNOWN, "nothing was written yet")
    found = f"{facts.log_write_us:,} us for a write (LOGWRLAT)"
    if facts.log_write_us <= WRITE_LATENCY_US_MOST:
        return Finding("log latency", Fitness.GOOD, found)
    limits = "the disk of the log sets the rate of persistent messages (V9.1 report, 6.2)"
    return Finding("log latency", Fitness.LIMITED, found, limits, "a faster disk, or larger units of work")


def getters(facts: TuningFacts) -> Finding:
    """Look for queues that fill while nobody gets: messages then go through buffer and file."""
    if facts.log_used_percent is None:
        return Finding("getters", Fitness.UNKNOWN, _ENDED)
    alone = [each for each in facts.queues if each.putters and not each.getters and each.depth]
    if not alone:
        return Finding("getters", Fitness.GOOD, "every queue that fills has one")
    names = ", ".join(f"{each.name} ({each.depth:,})" for each in alone[:_SHOWN])
    more = f" and {len(alone) - _SHOWN} more" if len(alone) > _SHOWN else ""
    limits = (
        "a message goes straight to a getter that waits; without one it goes through the queue (V5.3 report, 7.2.2)"
    )
    return Finding("getters", Fitness.LIMITED, f"none at {names}{more}", limits, "start more consumers")


def client_ports(facts: TuningFacts) -> Finding:
    found = f"{facts.ports:,} ports to connect from"
    if facts.ports >= 10_000:
        return Finding("client ports", Fitness.GOOD, found)
    limits = "a machine cannot have more clients than ports (Windows V5.3 report, 7.3.1)"
    return Finding("client ports", Fitness.LIMITED, found, limits, "widen net.ipv4.ip_local_port_range")


TuningCheck = Callable[[TuningFacts], Finding]
TUNING_CHECKS: Final[tuple[TuningCheck, ...]] = (
    separate_disks, log_size, log_buffer, queue_buffers, log_use, log_latency, getters, client_ports,
)  # fmt: skip


def examine_tuning(facts: TuningFacts) -> list[Finding]:
    """Return all findings, in the order of `TUNING_CHECKS`."""
    return [check(facts) for check in TUNING_CHECKS]


def attributes_of(lines: Iterable[str]) -> list[dict[str, str]]:
    """Return the attributes of each object in the reply to an MQSC DISPLAY, read from its lines."""
    found: list[dict[str, str]] = []
    for line in lines:
        if line.startswith("AMQ8"):
            found.append({})
        elif found and line.startswith("   "):
            found[-1].update(_bracketed(line))
    return found


def _bracketed(line: str) -> Iterable[tuple[str, str]]:
    """Yield NAME(VALUE) pairs of a line; values may contain spaces."""
    rest = line.strip()
    while "(" in rest:
        name, _, rest = rest.partition("(")
        value, _, rest = rest.partition(")")
        yield name.strip(), value.strip()
