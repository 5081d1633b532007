"""The errors of the recovery log."""

from __future__ import annotations


class LogError(Exception):
    """The base class of the recovery log's errors."""


class LogRefused(LogError):
    """The log cannot be opened or created: wrong settings, a newer format, a missing log, or one that exists."""


class LogNewer(LogRefused):
    """A newer release wrote the file; the text has both format numbers."""

    def __init__(self, what: str, version: int, version_max: int) -> None:
        super().__init__(
            f"{what[:1].upper()}{what[1:]} has format version {version}; this release reads up to {version_max}. "
            "Use the release that wrote it, or a newer one."
        )


class CopyRefused(LogError):
    """Another copy sent what cannot continue this log: it is not taken, and nothing was changed."""


class LogSpace(LogError):
    """No extent for the next records: the disk or the log is full. Nothing is lost; try again when space is freed."""


class LogDamaged(LogError):
    """Data that was on stable storage is missing or damaged. Nothing was changed.

    `file` is the path on the log's disk and `offset` the byte in that file where reading stopped.
    """

    def __init__(self, file: str, offset: int, what: str) -> None:
        self.file = file
        self.offset = offset
        self.what = what
        super().__init__(
            f"{file} is damaged at offset {offset}: {what}. Nothing was changed. Put back an undamaged copy of this "
            "file, or restore the queue manager's data and log together from a backup."
        )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.file, self.offset, self.what)
