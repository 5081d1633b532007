"""The recovery log's metrics under the names that statistics use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ostler.log.metrics import LogMetrics, LogStatus
from ostler.model.counters import ForceCounters

_HUNDREDTHS: Final = 100


@dataclass(frozen=True)
class LogPerformance:
    """Write sizes and latencies of the log, for DISPLAY QMSTATUS TYPE(LOG). A write includes its force."""

    write_bytes_last: int
    write_bytes_average: int  # over the last few dozen writes
    write_bytes_highest: int
    write_latency_last_us: int
    write_latency_short_us: int  # average over the last few dozen writes; the long one over thousands
    write_latency_long_us: int
    write_latency_highest_us: int
    in_use_percent: int  # LOGINUSE: primary space in use
    utilisation_percent: int  # LOGUTIL


def log_performance(status: LogStatus, metrics: LogMetrics, forces: ForceCounters) -> LogPerformance:
    return LogPerformance(
        int(metrics.write_bytes_last),
        int(metrics.write_bytes_average),
        int(metrics.write_bytes_highest),
        int(forces.last_us),
        int(forces.short_average) >> 10,
        int(forces.long_average) >> 10,
        int(forces.max_us),
        status.in_use_percent,
        status.utilisation_percent,
    )


def log_values(status: LogStatus, metrics: LogMetrics, forces: ForceCounters, durable_lsn: int) -> dict[str, int]:
    """Return the states of the log that are published on system topics (DISK, Log)."""
    return {
        "log_allocated_bytes": status.allocated_extents * status.extent_bytes,
        "log_bytes_max": status.capacity_bytes,
        "log_write_latency_us": int(forces.short_average) >> 10,
        "log_in_use_percent": status.in_use_percent * _HUNDREDTHS,
        "log_utilisation_percent": status.utilisation_percent * _HUNDREDTHS,
        "log_media_mb": status.media_bytes >> 20,
        "log_reusable_mb": status.reusable_bytes >> 20,
        "log_archive_mb": status.archive_bytes >> 20,
        "log_write_bytes": int(metrics.write_bytes_average),
        "log_durable_lsn": durable_lsn,
        "log_slowest_us": int(forces.max_us),
    }


def log_counts(status: LogStatus, metrics: LogMetrics, forces: ForceCounters) -> dict[str, int]:
    return {
        "records": metrics.records,
        "logical_bytes": metrics.logical_bytes,
        "physical_bytes": metrics.physical_bytes,
        "writes": metrics.writes,
        "forces": metrics.forces,
        "checkpoints": metrics.checkpoints,
        "write_bytes_last": metrics.write_bytes_last,
        "write_bytes_average": metrics.write_bytes_average,
        "force_total_us": forces.total_us,
        "force_max_us": forces.max_us,
        "force_last_us": forces.last_us,
        "force_average_us": forces.short_average >> 10,
        "force_long_average_us": forces.long_average >> 10,
        "primary_space_in_use_percent": status.in_use_percent,
        "utilisation_percent": status.utilisation_percent,
        "restart_bytes": status.restart_bytes,
    }
