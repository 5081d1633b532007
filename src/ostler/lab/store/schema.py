"""The sample schema: the tables of a run, with every column, its type, unit and meaning.

This is the contract between the laboratory, which writes, and all readers: a change increments `SCHEMA_VERSION`. Spark,
Arrow and everything else that reads Parquet agree about these types: no unsigned integers, no nanosecond timestamps, no
nesting but one map.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

SCHEMA_VERSION = 2
"""1: the first. 2: time and queue of disk requests."""


class ColumnKind(StrEnum):
    """The type of a column."""

    TEXT = "string"
    INTEGER = "int32"
    LONG = "int64"
    REAL = "double"
    FLAG = "boolean"
    TIME = "timestamp"
    MAP = "map"


class Aggregation(StrEnum):
    """The way to aggregate values of a column over rows: workers, processes, seconds."""

    KEY = "key"
    SUM = "sum"
    LOWEST = "min"
    HIGHEST = "max"
    LATEST = "last"


@dataclass(frozen=True)
class SampleColumn:
    name: str
    kind: ColumnKind
    adding: Aggregation
    text: str
    # May be empty, where the system does not report it.
    optional: bool = False
    # The first version that has it. Files of earlier ones are read as if it were empty in all rows.
    since: int = 1


@dataclass(frozen=True)
class SampleTable:
    name: str
    text: str
    columns: tuple[SampleColumn, ...]

    @property
    def own_columns(self) -> tuple[SampleColumn, ...]:
        """Return the columns that differ within a segment."""
        return self.columns[len(KEY) :]

    def columns_of(self, version: int) -> tuple[SampleColumn, ...]:
        """Return the columns that files of a schema version have."""
        return tuple(each for each in self.columns if each.since <= version)


def _key(name: str, text: str, kind: ColumnKind = ColumnKind.TEXT) -> SampleColumn:
    return SampleColumn(name, kind, Aggregation.KEY, text)


def _sum(name: str, text: str, optional: bool = False) -> SampleColumn:
    return SampleColumn(name, ColumnKind.LONG, Aggregation.SUM, text, optional)


def _last(name: str, text: str, kind: ColumnKind = ColumnKind.LONG, optional: bool = False) -> SampleColumn:
    return SampleColumn(name, kind, Aggregation.LATEST, text, optional)


KEY = (
    _key("run", "identity of the run, the name of its directory"),
    _key("contestant", "what was driven: a product with its settings, or a limit probe"),
    _key("step", "step of the sweep, from 0", ColumnKind.INTEGER),
    _key("repetition", "which time this step was measured with this contestant, from 0", ColumnKind.INTEGER),
    _key("phase", "calibration, warm-up, measured or cool-down"),
)
_SECOND = _key("second", "whole seconds since the phase began, from 0", ColumnKind.INTEGER)
_INTERVAL = _sum("interval_us", "how long the sample covers: a second, or less where a phase ended")
_WORKER = _key("worker", "driver process or thread, from 0", ColumnKind.INTEGER)
_OPERATION = _key("operation", "what was timed: round-trip, MQPUT, connect, ...")

PHASE = SampleTable(
    "phase",
    "One row for each phase: what was run, when and for how long. Rates divide by `seconds`.",
    (
        *KEY,
        SampleColumn("scenario", ColumnKind.TEXT, Aggregation.LATEST, "id in the catalogue"),
        SampleColumn("began", ColumnKind.TIME, Aggregation.LOWEST, "when the phase began, UTC, microseconds"),
        SampleColumn("seconds", ColumnKind.REAL, Aggregation.SUM, "how long it took, by the monotonic clock"),
        _last("clients", "clients that made requests", ColumnKind.INTEGER),
        _last("message_bytes", "length of a request", ColumnKind.LONG),
        _last("persistent", "whether messages were persistent", ColumnKind.FLAG),
        _last(
            "rate_per_second", "rate that was asked for; empty when as fast as it goes", ColumnKind.REAL, optional=True
        ),
        _last("parameters", "all other parameters of the step, name to text", ColumnKind.MAP),
    ),
)
OPERATION = SampleTable(
    "operation",
    "How many operations each worker completed in each second, and their exact extremes.",
    (
        *KEY,
        _WORKER,
        _SECOND,
        _OPERATION,
        _sum("count", "completed and timed; equals the sum of `latency.count` of the same key"),
        _sum("failed", "ended with an error or without an answer; not timed"),
        _sum("late", "begun later than they were due; timed from when they were due"),
        SampleColumn(
            "lowest_ns",
            ColumnKind.LONG,
            Aggregation.LOWEST,
            "exact lowest latency; empty when `count` is 0",
            optional=True,
        ),
        SampleColumn(
            "highest_ns",
            ColumnKind.LONG,
            Aggregation.HIGHEST,
            "exact highest latency; empty when `count` is 0",
            optional=True,
        ),
        _sum("total_ns", "sum of all latencies: divided by `count`, the exact mean"),
    ),
)
LATENCY = SampleTable(
    "latency",
    "Sparse latency histograms: only buckets that were hit. Merged by summing `count` for each `bucket`.",
    (
        *KEY,
        _WORKER,
        _SECOND,
        _OPERATION,
        _key("bucket", "number of the bucket in the fixed layout", ColumnKind.INTEGER),
        _sum("count", "values that fell into the bucket, at least 1"),
    ),
)
PROCESS = SampleTable(
    "process",
    "What each process used in each second.",
    (
        *KEY,
        _SECOND,
        _key(
            "role",
            "driver, queue-manager, peer, probe, neighbour, ...; of two that are joined with /near or /far behind it, "
            "of copies with /leader, /follower or /recovery",
        ),
        _key("pid", "process id", ColumnKind.INTEGER),
        _last("name", "name of the program", ColumnKind.TEXT),
        _INTERVAL,
        _sum("user_us", "processor time in user mode"),
        _sum("system_us", "processor time in the kernel"),
        _sum("core_wait_us", "ready to run, but without a core; all threads together", optional=True),
        _sum("voluntary_switches", "context switches while waiting", optional=True),
        _sum("involuntary_switches", "context switches forced upon it", optional=True),
        _last("resident_bytes", "resident memory"),
        _last("threads", "threads", ColumnKind.INTEGER),
        _sum("read_bytes", "read from storage", optional=True),
        _sum("written_bytes", "written to storage", optional=True),
        _sum("read_calls", "calls that read", optional=True),
        _sum("write_calls", "calls that wrote", optional=True),
    ),
)
THREAD = SampleTable(
    "thread",
    "Processor time by thread, where a process does several jobs: the log writer, trusted applications.",
    (
        *KEY,
        _SECOND,
        _key("role", "role of the process"),
        _key("pid", "process id", ColumnKind.INTEGER),
        _key("thread", "thread id", ColumnKind.INTEGER),
        _last("name", "name of the thread", ColumnKind.TEXT),
        _INTERVAL,
        _sum("user_us", "processor time in user mode; part of the process's"),
        _sum("system_us", "processor time in the kernel; part of the process's"),
    ),
)
MACHINE = SampleTable(
    "machine",
    "The whole machine in each second; processor time of all cores together.",
    (
        *KEY,
        _SECOND,
        _INTERVAL,
        _last("cores", "cores that were online", ColumnKind.INTEGER),
        _sum("user_us", "processor time in user mode"),
        _sum("nice_us", "processor time in user mode at low priority"),
        _sum("system_us", "processor time in the kernel"),
        _sum("idle_us", "idle"),
        _sum("iowait_us", "idle while storage had work"),
        _sum("irq_us", "processor time in hardware interrupts"),
        _sum("softirq_us", "processor time in soft interrupts: most of the loopback network"),
        _sum("steal_us", "taken by the hypervisor for others"),
        SampleColumn("busiest_core_percent", ColumnKind.REAL, Aggregation.HIGHEST, "how busy the busiest core was"),
        _last("load", "load average of one minute", ColumnKind.REAL),
        _last("running", "tasks that ran or wanted to", ColumnKind.INTEGER),
        _sum("context_switches", "context switches of all processes"),
        _sum("loopback_bytes", "sent through the loopback interface"),
        _sum("loopback_packets", "packets sent through the loopback interface"),
        _sum("network_received_bytes", "received by the other interfaces"),
        _sum("network_sent_bytes", "sent by the other interfaces"),
        _sum("dropped_packets", "packets dropped by any interface"),
        _last("disk", "device with the queue managers' files; empty when they are in memory", ColumnKind.TEXT),
        _sum("disk_reads", "reads that device completed"),
        _sum("disk_read_bytes", "read from it"),
        _sum("disk_writes", "writes it completed"),
        _sum("disk_written_bytes", "written to it"),
        _sum("disk_flushes", "flushes it completed"),
        _sum("disk_busy_us", "time it had work"),
        _last("disk_free_bytes", "free space where the queue managers' files are"),
        _last("memory_available_bytes", "memory that could be had without swapping"),
        _last("dirty_bytes", "written by programs and not yet to storage"),
        _sum("swapped_pages", "pages swapped in or out"),
        SampleColumn(
            "disk_wait_us",
            ColumnKind.LONG,
            Aggregation.SUM,
            "time of all its reads, writes and flushes, from when they were queued until they were done",
            optional=True,
            since=2,
        ),
        SampleColumn(
            "disk_queue_us",
            ColumnKind.LONG,
            Aggregation.SUM,
            "time that requests were in progress, all together: divided by the interval, the queue length",
            optional=True,
            since=2,
        ),
    ),
)
STATISTIC = SampleTable(
    "statistic",
    "Named figures from elsewhere: the log, statistics and accounting of the queue manager, peers, probes.",
    (
        *KEY,
        _SECOND,
        _key("source", "queue-manager, log, statistics, accounting, peer, probe, ..."),
        _key("record", "which message or record of this source, from 0", ColumnKind.INTEGER),
        _key(
            "object",
            "queue, channel or connection it is about, or empty; of several queue managers as NAME/object",
        ),
        _key("name", "name of the figure"),
        _key("position", "place in an array, from 0; 0 for a single figure", ColumnKind.INTEGER),
        _last("value", "the figure", ColumnKind.REAL),
    ),
)
EVENT = SampleTable(
    "event",
    "What happened meanwhile, and what makes figures doubtful.",
    (
        *KEY,
        _SECOND,
        _key("kind", "flag: figures are doubtful; error: something failed; note: anything else"),
        _key(
            "name",
            "short name: driver-saturated, steal, noise, ...; what it is about may follow a colon",
        ),
        _last("text", "a sentence for people", ColumnKind.TEXT),
        _last("value", "the figure behind it", ColumnKind.REAL, optional=True),
    ),
)

TABLES = {table.name: table for table in (PHASE, OPERATION, LATENCY, PROCESS, THREAD, MACHINE, STATISTIC, EVENT)}
