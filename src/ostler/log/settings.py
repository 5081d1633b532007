"""The Log stanza of qm.ini as one frozen value, with MQ's names, defaults and ranges."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ostler.log.errors import LogRefused


class LogType(Enum):
    CIRCULAR = "CIRCULAR"
    LINEAR = "LINEAR"


class LogManagement(Enum):
    """The use of a linear log's extents that neither restart nor media recovery needs."""

    AUTOMATIC = "Automatic"
    """They are reused, or removed when there are enough."""
    ARCHIVE = "Archive"
    """As AUTOMATIC, once they have been reported as archived."""
    MANUAL = "Manual"
    """They are kept and listed; the administrator removes them."""


class WriteIntegrity(Enum):
    """LogWriteIntegrity: the treatment of a page that is partly filled with durable records."""

    SINGLE_WRITE = "SingleWrite"
    """It is written again in place. Packs the log, and needs a device that writes pages of 4 KB whole or not at all."""
    DOUBLE_WRITE = "DoubleWrite"
    """It is copied to another file before it is written again in place. One more write and force for each batch."""
    TRIPLE_WRITE = "TripleWrite"
    """It is never written again: the next batch begins on a new page. One write and force, but more log space."""


PRIMARY_FILES_MIN, PRIMARY_FILES_MAX = 2, 510
SECONDARY_FILES_MIN, SECONDARY_FILES_MAX = 1, 509
FILES_MAX = 511
FILE_PAGES_MIN, FILE_PAGES_MAX = 64, 65535
BUFFER_PAGES_MIN, BUFFER_PAGES_MAX = 18, 4096


@dataclass(frozen=True)
class LogSettings:
    primary_files: int = 3
    secondary_files: int = 2
    file_pages: int = 4096
    buffer_pages: int = 0
    log_type: LogType = LogType.CIRCULAR
    management: LogManagement = LogManagement.AUTOMATIC
    write_integrity: WriteIntegrity = WriteIntegrity.TRIPLE_WRITE

    def validate(self) -> None:
        """Raise LogRefused when a value is outside MQ's range; the text names the attribute."""
        check_range("LogPrimaryFiles", self.primary_files, PRIMARY_FILES_MIN, PRIMARY_FILES_MAX)
        check_range("LogSecondaryFiles", self.secondary_files, SECONDARY_FILES_MIN, SECONDARY_FILES_MAX)
        files = self.primary_files + self.secondary_files
        if files > FILES_MAX:
            raise LogRefused(f"LogPrimaryFiles plus LogSecondaryFiles is {files}; together at most {FILES_MAX}.")
        check_range("LogFilePages", self.file_pages, FILE_PAGES_MIN, FILE_PAGES_MAX)
        if self.buffer_pages:
            check_range("LogBufferPages", self.buffer_pages, BUFFER_PAGES_MIN, BUFFER_PAGES_MAX)

    def buffer_bytes(self) -> int:
        """Return the bytes that may be appended and not yet durable before the owner lets the writer catch up."""
        return (self.buffer_pages or BUFFER_PAGES_MAX) * 4096

    def pages_are_final(self) -> bool:
        """Return True when a page that holds durable records is never written again."""
        return self.write_integrity is WriteIntegrity.TRIPLE_WRITE

    def copies_pages(self) -> bool:
        """Return True when a page that holds durable records is copied before it is written again."""
        return self.write_integrity is WriteIntegrity.DOUBLE_WRITE


def check_range(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise LogRefused(f"{name} is {value}; it must be {low} to {high}.")
