"""Metrics and status of the recovery log, with the keywords of DISPLAY QMSTATUS."""

from __future__ import annotations

from dataclasses import dataclass

from mypy_extensions import i64


class LogMetrics:
    """Counters since the start. Each is written by one thread only, so reading them needs no lock."""

    def __init__(self) -> None:
        # Counted by the owner when it appends.
        self.records: i64 = 0
        self.logical_bytes: i64 = 0
        # Counted by the writer thread.
        self.physical_bytes: i64 = 0
        self.writes: i64 = 0
        self.forces: i64 = 0
        self.page_copies: i64 = 0
        """Of the writes: copies of a page before it was written again. They do not count in the sizes below."""
        self.checkpoints: i64 = 0
        self.write_bytes_last: i64 = 0
        self.write_bytes_average: i64 = 0
        """A moving average over the last few dozen writes."""
        self.write_bytes_highest: i64 = 0
        self.utilisation_percent: i64 = 0
        """The use of primary extents just before checkpoints, smoothed."""

    def count_write(self, size_bytes: i64, forces: i64) -> None:
        self.writes += 1
        self.forces += forces
        self.physical_bytes += size_bytes
        self.write_bytes_last = size_bytes
        self.write_bytes_highest = max(self.write_bytes_highest, size_bytes)
        if self.writes == 1:
            self.write_bytes_average = size_bytes
        else:
            self.write_bytes_average += (size_bytes - self.write_bytes_average) // 32

    def count_page_copy(self, size_bytes: i64) -> None:
        """Count a page that was copied before it was written again (LogWriteIntegrity=DoubleWrite)."""
        self.writes += 1
        self.forces += 1
        self.physical_bytes += size_bytes
        self.page_copies += 1

    def count_checkpoint(self, in_use_percent: i64) -> None:
        self.checkpoints += 1
        if self.checkpoints == 1:
            self.utilisation_percent = in_use_percent
        else:
            self.utilisation_percent = (3 * self.utilisation_percent + in_use_percent) // 4


@dataclass(frozen=True)
class LogStatus:
    """The current status, for DISPLAY QMSTATUS TYPE(LOG); MQ's keywords are below the fields."""

    current_extent: str
    """CURRLOG"""
    restart_extent: str
    """RECLOG"""
    media_extent: str
    """MEDIALOG; empty for a circular log"""
    archive_extent: str
    """ARCHLOG: the oldest one that waits for archiving; empty unless LogManagement is Archive"""
    extent_bytes: int
    """LOGEXTSZ"""
    restart_bytes: int
    """RECSZ"""
    media_bytes: int
    """MEDIASZ"""
    reusable_bytes: int
    """REUSESZ: extents that are not needed and may be reused"""
    archive_bytes: int
    """ARCHSZ: extents that wait for archiving; 0 unless LogManagement is Archive"""
    in_use_percent: int
    """LOGINUSE: the share of primary space needed for restart; above 100 when secondary extents are in use"""
    utilisation_percent: int
    """LOGUTIL"""
    active_extents: int
    allocated_extents: int
    capacity_bytes: int


@dataclass(frozen=True)
class RestartReport:
    """The result of a replay."""

    restart_lsn: int
    end_lsn: int
    records: int
    read_bytes: int
    dropped_bytes: int
    """Bytes of writes that were incomplete when the queue manager ended, and not acknowledged as durable."""
    epoch: int
    end_file: str
    """The extent in which the log ends, on the log's disk."""
    end_offset: int
    """The offset of the end in that file."""
    is_page_restored: bool = False
    """A page that was spoiled while it was written again was restored from its copy (DoubleWrite)."""
