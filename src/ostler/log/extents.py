"""The extent files: created, written, forced, reused, removed.

An extent gets its name only when it is complete on stable storage: full size, zeros written (a hole or an unwritten
extent of the file system would make every force slower), header page forced. So a named extent that is incomplete is
damage, never an interrupted creation.

All of this belongs to the writer thread.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.log.errors import LogDamaged, LogSpace
from ostler.log.stream_format import (
    PAGE_BYTES,
    StreamShape,
    extent_header,
    extent_name,
    extent_number,
    extent_problem,
)
from ostler.model.disk import DescriptorsExhausted, Disk, DiskFull, File

PREPARED_NAME: Final = "NEXT.TMP"
# Extents that do not exist yet count as room only while the disk has this much free space: on a disk that is nearly
# full, queue files or other programs may take the space first.
CERTAIN_FREE_BYTES: Final = 128 << 20
# One write of zeros: short enough not to delay a waiting batch.
SLICE_BYTES: Final = 1 << 20


class ExtentStore:
    """The extents from `first` to `last`, and spare ones that may become the next."""

    def __init__(self, disk: Disk, directory: str, shape: StreamShape) -> None:
        self._disk = disk
        self._directory = directory
        self._shape = shape
        self.first: int = 0
        """The oldest extent that is needed."""
        self.last: int = -1
        """All extents from `first` to here are on disk and ready to be written."""
        self.spare: list[int] = []
        """Extents on disk that are not needed, to be reused or removed."""
        self._kept: int = 0
        """Extents from here up to `first` are not needed but kept."""
        self._files: dict[int, File] = {}
        self._touched: dict[int, File] = {}
        self._current: int = 0
        self._prepared: File | None = None
        self._prepared_bytes: int = 0
        self._free_bytes_when_full: int = -1
        self._is_promise_broken: bool = False
        """The disk reported free space and refused it, as with a quota: only existing extents count as room."""
        self.created: int = 0
        self.reused: int = 0

    def path(self, extent: int) -> str:
        return f"{self._directory}/{extent_name(extent)}"

    def adopt(self, oldest_needed: int, end_lsn: i64, reusable_before: int) -> None:
        """Take over what is on disk after a replay that ended at `end_lsn`."""
        self._disk.remove(f"{self._directory}/{PREPARED_NAME}")
        on_disk = numbers_on_disk(self._disk, self._directory)
        self.first = oldest_needed
        self._current = oldest_needed
        self._kept = reusable_before
        self.last = oldest_needed - 1
        if end_lsn > self._shape.start_of(oldest_needed):
            self.last = self._shape.extent_of(end_lsn - 1)
        while is_whole(self._disk, self._directory, self._shape, self.last + 1):
            self.last += 1
        # Those ahead come first and in order: so each is used again before its name is needed for another.
        for extent in on_disk:
            if extent > self.last:
                self._adopt_spare(extent)
        for extent in on_disk:
            if extent < reusable_before:
                self._adopt_spare(extent)

    def _adopt_spare(self, extent: int) -> None:
        if self._file(extent).size_bytes() == self._shape.file_bytes:
            self.spare.append(extent)
        else:
            self._files.pop(extent).close()
            self._disk.remove(self.path(extent))

    # -- writing

    def write(self, lsn: i64, parts: list[bytes]) -> None:
        """Write within one extent. Not durable before `force`. Raises LogSpace when the disk is full."""
        extent = self._shape.extent_of(lsn)
        try:
            file = self._file(extent)
            file.write_at(self._shape.file_offset(lsn), parts)
        except DescriptorsExhausted as exhausted:
            raise LogSpace(f"Too many files are open: {exhausted}.") from None
        except DiskFull:
            raise LogSpace(f"The disk is full: {self.path(extent)} cannot be written.") from None
        self._touched[extent] = file

    def force(self) -> int:
        """Force every file written since the last call; return their number."""
        count = len(self._touched)
        for file in self._touched.values():
            file.force()
        self._close_before(max(self._touched, default=0))
        self._touched.clear()
        return count

    def _close_before(self, current: int) -> None:
        # The stream never comes back to an extent it has left, and a linear log has many.
        for extent in range(self._current, current):
            if extent in self._files:
                self._files.pop(extent).close()
        self._current = max(self._current, current)

    def _file(self, extent: int) -> File:
        file = self._files.get(extent)
        if file is None:
            file = self._disk.open(self.path(extent), False)
            self._files[extent] = file
        return file

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()
        self._discard_prepared()

    # -- the next extent

    def is_preparing(self) -> bool:
        return self._prepared is not None

    def allocatable(self) -> int:
        """Return how many more extents the disk has space for, less one kept for other files."""
        free = self._disk.free_bytes()
        if self._free_bytes_when_full >= 0:
            # The reported space was refused last time. Trust it again when it is larger.
            if free < self._free_bytes_when_full + self._shape.file_bytes:
                return 0
            self._free_bytes_when_full = -1
        return int(max(0, free // self._shape.file_bytes - 1))

    def allocatable_for_certain(self) -> int:
        """As `allocatable`, but only while the disk has so much space that it cannot be used up before it is needed.

        Appended records must be writable: an extent that cannot be made then would stop the log for good.
        """
        if self._is_promise_broken or self._disk.free_bytes() < CERTAIN_FREE_BYTES + self._shape.file_bytes:
            return 0
        return self.allocatable()

    def allocate(self) -> None:
        """Make extent `last + 1` ready now. Raises LogSpace when the disk is full."""
        extent = self.last
        while self.last == extent:
            self.allocate_step(False)

    def allocate_step(self, force_each: bool) -> None:
        """Take one bounded step towards extent `last + 1`: reuse a spare one, or write some zeros."""
        try:
            if self.spare:
                self._reuse(self.spare[0])
            else:
                self._prepare_slice(force_each)
        except DiskFull:
            self._discard_prepared()
            self._free_bytes_when_full = self._disk.free_bytes()
            self._is_promise_broken = self._free_bytes_when_full >= self._shape.file_bytes
            raise LogSpace(f"The disk is full: no space for log extent {self.path(self.last + 1)}.") from None

    def _reuse(self, spare: int) -> None:
        # The header first: until the new name is durable, the old name is not read.
        extent = self.last + 1
        file = self._file(spare)
        file.write_at(0, [extent_header(self._shape, extent)])
        file.force()
        self._disk.rename(self.path(spare), self.path(extent))
        self._disk.force_directory(self._directory)
        self.spare.pop(0)
        self._files[extent] = self._files.pop(spare)
        self.last = extent
        self.reused += 1

    def _prepare_slice(self, force: bool) -> None:
        path = f"{self._directory}/{PREPARED_NAME}"
        if self._prepared is None:
            self._prepared = self._disk.open(path, True)
            self._prepared_bytes = 0
        file = self._prepared
        count = min(SLICE_BYTES, self._shape.file_bytes - self._prepared_bytes)
        file.write_at(self._prepared_bytes, [bytes(count)])
        self._prepared_bytes += count
        if self._prepared_bytes < self._shape.file_bytes:
            if force:
                file.force()
            return
        extent = self.last + 1
        file.write_at(0, [extent_header(self._shape, extent)])
        file.force()
        self._disk.rename(path, self.path(extent))
        self._disk.force_directory(self._directory)
        self._prepared = None
        self._is_promise_broken = False
        self._files[extent] = file
        self.last = extent
        self.created += 1

    def _discard_prepared(self) -> None:
        if self._prepared is not None:
            self._prepared.close()
            self._prepared = None
            self._disk.remove(f"{self._directory}/{PREPARED_NAME}")

    # -- extents that are not needed

    def release(self, oldest_needed: int, reusable_before: int) -> None:
        """Release extents before `oldest_needed`; those before `reusable_before` may be reused."""
        for extent in range(self._kept, reusable_before):
            if self._disk.exists(self.path(extent)):
                self.spare.append(extent)
        self._kept = max(self._kept, reusable_before)
        self.first = max(self.first, oldest_needed)

    def kept(self) -> list[int]:
        """Return extents on disk that are not needed and must not be reused yet."""
        return [extent for extent in numbers_on_disk(self._disk, self._directory) if self._kept <= extent < self.first]

    def remove_spare(self) -> None:
        """Remove one spare extent."""
        extent = self.spare.pop()
        if extent in self._files:
            self._files.pop(extent).close()
        self._disk.remove(self.path(extent))


def numbers_on_disk(disk: Disk, directory: str) -> list[int]:
    return sorted(number for name in disk.names(directory) if (number := extent_number(name)) >= 0)


def is_whole(disk: Disk, directory: str, shape: StreamShape, extent: int) -> bool:
    """Return True when the extent's file exists with its full size and the right header."""
    path = f"{directory}/{extent_name(extent)}"
    if not disk.exists(path):
        return False
    file = disk.open(path, False)
    wrong = extent_problem(shape, extent, file.read_at(0, PAGE_BYTES))
    size = file.size_bytes()
    file.close()
    return not wrong and size == shape.file_bytes


def check_extents(disk: Disk, directory: str, shape: StreamShape, first: int, last: int) -> None:
    """Raise LogDamaged when an extent from `first` on is incomplete, or one up to `last` is missing.

    All extents up to `last` are known to have been there. Any further one that has a name was whole when it got it.
    """
    further = [extent for extent in numbers_on_disk(disk, directory) if extent > last]
    for extent in [*range(first, last + 1), *further]:
        path = f"{directory}/{extent_name(extent)}"
        if extent <= last and not disk.exists(path):
            raise LogDamaged(path, 0, "the file is missing")
        if extent < first:
            continue
        file = disk.open(path, False)
        size = file.size_bytes()
        wrong = extent_problem(shape, extent, file.read_at(0, PAGE_BYTES)) if extent <= last else ""
        file.close()
        if size < shape.file_bytes:
            raise LogDamaged(path, size, f"the file ends here; it was made with {shape.file_bytes} bytes")
        if wrong:
            raise LogDamaged(path, 0, wrong)
