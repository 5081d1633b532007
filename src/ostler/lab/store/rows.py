"""Rows of the sample tables, without the columns that are the same in a whole segment."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from ostler.lab.store import schema


class PhaseRow(NamedTuple):
    scenario: str
    began: datetime
    seconds: float
    clients: int
    message_bytes: int
    persistent: bool
    rate_per_second: float | None = None
    parameters: dict[str, str] = {}


class OperationRow(NamedTuple):
    worker: int
    second: int
    operation: str
    count: int  # type: ignore[assignment]  # tuple.count is not missed
    failed: int
    late: int
    lowest_ns: int | None
    highest_ns: int | None
    total_ns: int


class LatencyRow(NamedTuple):
    worker: int
    second: int
    operation: str
    bucket: int
    count: int  # type: ignore[assignment]


class ProcessRow(NamedTuple):
    second: int
    role: str
    pid: int
    name: str
    interval_us: int
    user_us: int
    system_us: int
    core_wait_us: int | None
    voluntary_switches: int | None
    involuntary_switches: int | None
    resident_bytes: int
    threads: int
    read_bytes: int | None
    written_bytes: int | None
    read_calls: int | None
    write_calls: int | None


class ThreadRow(NamedTuple):
    second: int
    role: str
    pid: int
    thread: int
    name: str
    interval_us: int
    user_us: int
    system_us: int


class MachineRow(NamedTuple):
    second: int
    interval_us: int
    cores: int
    user_us: int
    nice_us: int
    system_us: int
    idle_us: int
    iowait_us: int
    irq_us: int
    softirq_us: int
    steal_us: int
    busiest_core_percent: float
    load: float
    running: int
    context_switches: int
    loopback_bytes: int
    loopback_packets: int
    network_received_bytes: int
    network_sent_bytes: int
    dropped_packets: int
    disk: str
    disk_reads: int
    disk_read_bytes: int
    disk_writes: int
    disk_written_bytes: int
    disk_flushes: int
    disk_busy_us: int
    disk_free_bytes: int
    memory_available_bytes: int
    dirty_bytes: int
    swapped_pages: int
    disk_wait_us: int | None = None
    disk_queue_us: int | None = None


class StatisticRow(NamedTuple):
    second: int
    source: str
    record: int
    object: str
    name: str
    position: int
    value: float


class EventRow(NamedTuple):
    second: int
    kind: str
    name: str
    text: str
    value: float | None = None


Row = OperationRow | LatencyRow | ProcessRow | ThreadRow | MachineRow | StatisticRow | EventRow
"""A row of a segment; its one `PhaseRow` is given when it is committed."""

TABLE_OF: dict[type[PhaseRow] | type[Row], schema.SampleTable] = {
    PhaseRow: schema.PHASE,
    OperationRow: schema.OPERATION,
    LatencyRow: schema.LATENCY,
    ProcessRow: schema.PROCESS,
    ThreadRow: schema.THREAD,
    MachineRow: schema.MACHINE,
    StatisticRow: schema.STATISTIC,
    EventRow: schema.EVENT,
}
