"""A disk in memory that crashes on demand.

Reads see what was written. What a crash leaves is decided sector by sector: of a write that was not forced, each
512-byte sector is kept, lost or torn on its own, and each name made, changed or removed since the directory was last
forced may be lost on its own. Directories themselves are never lost. A program that is right on this disk relies on
nothing but force.

    disk = SimulatedDisk()
    ...                              write through the Disk port
    after = disk.crash(seed=7)       another disk: what a power failure left; the first one is as it was
    disk                             go on with the same disk: what kill -9 leaves

`lose_power_after(n)` ends the program in the middle: its n-th change to the disk raises PowerLost. With n from 0 up to
where the program comes through, and some seeds for each, every crash point is visited.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeAlias

from ostler.model.disk import Disk, DiskFailed, DiskFull, File

SECTOR_BYTES = 512
CAPACITY_BYTES = 1 << 40

Chooser: TypeAlias = Callable[[int], int]
"""Given n, one of 0 to n - 1."""

# What may become of a sector: all of the last write, nothing of any, or part of one.
LOST, KEPT, TORN = range(3)


class PowerLost(BaseException):
    """The machine stopped. Not an Exception, so that no handler goes on as if nothing had been."""


class _Inode:
    """A file's content, with or without names: what reads see and what a crash is sure to leave."""

    def __init__(self) -> None:
        self.current = bytearray()
        self.stable = bytearray()
        # For each sector written since the last force: its content after each of the writes.
        self.unforced: dict[int, list[bytes]] = {}
        # Sectors that were passed over and never written: they read as zeros and take up no space.
        self.holes: set[int] = set()

    def write(self, offset: int, data: bytes) -> None:
        if not data:
            return
        end = offset + len(data)
        first_skipped = (len(self.current) + SECTOR_BYTES - 1) // SECTOR_BYTES
        self.holes.update(range(first_skipped, offset // SECTOR_BYTES))
        self.holes.difference_update(range(offset // SECTOR_BYTES, (end - 1) // SECTOR_BYTES + 1))
        start = min(offset, len(self.current))
        if end > len(self.current):
            self.current.extend(bytes(end - len(self.current)))
        self.current[offset:end] = data
        for sector in range(start // SECTOR_BYTES, (end - 1) // SECTOR_BYTES + 1):
            self.unforced.setdefault(sector, []).append(self._sector(sector))

    def _sector(self, sector: int) -> bytes:
        return bytes(self.current[sector * SECTOR_BYTES : (sector + 1) * SECTOR_BYTES])

    def truncate(self, size_bytes: int) -> None:
        if size_bytes > len(self.current):
            self.write(len(self.current), bytes(size_bytes - len(self.current)))
        else:
            del self.current[size_bytes:]
            self.holes = {sector for sector in self.holes if (sector + 1) * SECTOR_BYTES <= size_bytes}

    def discard(self, offset: int, length: int) -> None:
        first = (offset + SECTOR_BYTES - 1) // SECTOR_BYTES
        last = (offset + length) // SECTOR_BYTES
        if first < last:
            self.write(first * SECTOR_BYTES, bytes((last - first) * SECTOR_BYTES))
            self.holes.update(range(first, last))

    def taken_bytes(self) -> int:
        """Of the disk."""
        return len(self.current) - len(self.holes) * SECTOR_BYTES

    def needed_bytes(self, offset: int, length: int) -> int:
        """What a write takes of the disk."""
        end = offset + length
        needed = max(0, end - max(offset, len(self.current)))
        if self.holes and length:
            sectors = range(offset // SECTOR_BYTES, (end - 1) // SECTOR_BYTES + 1)
            needed += SECTOR_BYTES * len(self.holes.intersection(sectors))
        return needed

    def force(self) -> None:
        for sector in self.unforced:
            start = sector * SECTOR_BYTES
            content = self._sector(sector)
            if len(self.stable) < start:
                self.stable.extend(bytes(start - len(self.stable)))
            self.stable[start : start + len(content)] = content
        del self.stable[len(self.current) :]
        self.unforced.clear()

    def forget_unforced(self) -> None:
        """A force failed: the cache still shows the writes, but the device never got them."""
        self.unforced.clear()

    def copy(self) -> _Inode:
        twin = _Inode()
        twin.current = bytearray(self.current)
        twin.stable = bytearray(self.stable)
        twin.holes = set(self.holes)
        twin.unforced = {sector: list(versions) for sector, versions in self.unforced.items()}
        return twin

    def crashed(self, fate: Chooser, pick: Chooser, garbage: bool) -> _Inode:
        """What a crash leaves of this file."""
        content = bytearray(self.stable)
        changed_size = len(self.current) != len(self.stable)
        size = len(self.current) if changed_size and fate(3) == KEPT else len(self.stable)
        for sector in sorted(self.unforced):
            start = sector * SECTOR_BYTES
            if len(content) < start + SECTOR_BYTES:
                content.extend(bytes(start + SECTOR_BYTES - len(content)))
            old = bytes(content[start : start + SECTOR_BYTES])
            content[start : start + SECTOR_BYTES] = _fate_of_sector(old, self.unforced[sector], fate, pick, garbage)
        content.extend(bytes(max(0, size - len(content))))
        del content[size:]
        survivor = _Inode()
        survivor.current = content
        survivor.stable = bytearray(content)
        return survivor


def _fate_of_sector(old: bytes, versions: list[bytes], fate: Chooser, pick: Chooser, garbage: bool) -> bytes:
    chosen = fate(3)
    if chosen == LOST:
        return old
    if chosen == KEPT:
        return versions[-1].ljust(SECTOR_BYTES, b"\0")
    if garbage:
        return bytes([pick(256)]) * SECTOR_BYTES
    version = pick(len(versions))
    before = old if version == 0 else versions[version - 1].ljust(SECTOR_BYTES, b"\0")
    after = versions[version].ljust(SECTOR_BYTES, b"\0")
    cut = pick(SECTOR_BYTES + 1)
    return after[:cut] + before[cut:] if pick(2) else before[:cut] + after[cut:]


class SimulatedFile(File):
    def __init__(self, disk: SimulatedDisk, inode: _Inode) -> None:
        self._disk = disk
        self._inode = inode
        self._is_open = True

    def read_at(self, offset: int, length: int) -> bytes:
        self._check_open()
        return bytes(self._inode.current[offset : offset + length])

    def write_at(self, offset: int, parts: Sequence[bytes]) -> None:
        self._check_open()
        data = b"".join(parts)
        missing = self._disk.missing_bytes(self._inode, offset, data)
        if missing > 0:
            # As a real one: what fits is written before the error.
            self._inode.write(offset, data[: max(0, len(data) - missing)])
            raise DiskFull("no space left on the simulated disk")
        self._inode.write(offset, data)
        self._disk.count_change()

    def discard(self, offset: int, length: int) -> None:
        self._check_open()
        self._inode.discard(offset, min(length, len(self._inode.current) - offset))
        self._disk.count_change()

    def force(self) -> None:
        self._check_open()
        self._disk.count_change()
        self._disk.forces += 1
        if self._disk.force_fails():
            self._inode.forget_unforced()
            raise DiskFailed("the simulated disk refused to force")
        self._inode.force()

    def size_bytes(self) -> int:
        self._check_open()
        return len(self._inode.current)

    def truncate(self, size_bytes: int) -> None:
        self._check_open()
        self._inode.truncate(size_bytes)
        self._disk.count_change()

    def close(self) -> None:
        self._is_open = False

    def _check_open(self) -> None:
        assert self._is_open, "the file was closed"


class SimulatedDisk(Disk):
    """See the module's text. Not for use by two threads in the same moment."""

    def __init__(self, capacity_bytes: int = CAPACITY_BYTES, copy_on_write: bool = False) -> None:
        """With `copy_on_write` a full disk refuses to overwrite as well, as some file systems do."""
        self._capacity_bytes = capacity_bytes
        self._copy_on_write = copy_on_write
        self._names: dict[str, _Inode] = {}
        self._stable_names: dict[str, _Inode] = {}
        # What happened to names since their directory was forced: (name that goes, name that comes, file).
        self._unforced_names: list[tuple[str, str, _Inode]] = []
        self._directories: set[str] = {""}
        self._forces_to_fail = 0
        self._changes_left = -1
        self.forces = 0
        """Forces of files so far."""
        self.forces_refused = 0

    # -- the port

    def open(self, path: str, create: bool) -> File:
        inode = self._names.get(path)
        if inode is None:
            if not create or _parent(path) not in self._directories:
                raise FileNotFoundError(path)
            inode = _Inode()
            self._names[path] = inode
            self._unforced_names.append(("", path, inode))
            self.count_change()
        return SimulatedFile(self, inode)

    def exists(self, path: str) -> bool:
        return path in self._names or path in self._directories

    def names(self, directory: str) -> list[str]:
        known = set(self._names) | self._directories - {""}
        return sorted(path.rpartition("/")[2] for path in known if _parent(path) == directory)

    def make_directory(self, path: str) -> None:
        while path:
            self._directories.add(path)
            path = _parent(path)

    def remove(self, path: str) -> None:
        for name in [name for name in self._names if name == path or name.startswith(f"{path}/")]:
            self._unforced_names.append((name, "", self._names.pop(name)))
            self.count_change()
        self._directories = {name for name in self._directories if name != path and not name.startswith(f"{path}/")}

    def rename(self, source: str, target: str) -> None:
        if source in self._directories:
            self._rename_directory(source, target)
            return
        inode = self._names.pop(source, None)
        if inode is None:
            raise FileNotFoundError(source)
        self._names[target] = inode
        self._unforced_names.append((source, target, inode))
        self.count_change()

    def _rename_directory(self, source: str, target: str) -> None:
        """Directories are never lost, and neither is their new name."""
        assert target not in self._directories or not self.names(target)

        def renamed(path: str) -> str:
            return target + path[len(source) :] if path == source or path.startswith(f"{source}/") else path

        self._names = {renamed(path): inode for path, inode in self._names.items()}
        self._stable_names = {renamed(path): inode for path, inode in self._stable_names.items()}
        self._unforced_names = [(renamed(old), renamed(new), inode) for old, new, inode in self._unforced_names]
        self._directories = {renamed(path) for path in self._directories}
        self.count_change()

    def force_directory(self, path: str) -> None:
        self.count_change()
        later: list[tuple[str, str, _Inode]] = []
        for change in self._unforced_names:
            if path in (_parent(change[0] or change[1]), _parent(change[1] or change[0])):
                _change_name(self._stable_names, change)
            else:
                later.append(change)
        self._unforced_names = later

    def free_bytes(self) -> int:
        return self._space_left()

    def _space_left(self) -> int:
        inodes = {id(inode): inode for inode in self._names.values()}
        return self._capacity_bytes - sum(inode.taken_bytes() for inode in inodes.values())

    # -- what goes wrong

    def crash(self, seed: int | None = None, chooser: Chooser | None = None, garbage: bool = False) -> SimulatedDisk:
        """What a power failure would leave now, as another disk. This one is not changed.

        The fates of sectors and names come from `chooser`, or from a generator seeded with `seed`. With `garbage` a
        torn sector holds nothing of what was there before: a device that spoils the sector it is writing.
        """
        choose = chooser if chooser is not None else random.Random(seed).randrange
        return self._crashed(choose, choose, garbage)

    def crash_losing_all(self) -> SimulatedDisk:
        """As `crash`: everything not forced is lost."""
        return self._crashed(lambda n: LOST, lambda n: 0, False)

    def crash_keeping_all(self) -> SimulatedDisk:
        """As `crash`: everything written is there, forced or not."""
        return self._crashed(lambda n: KEPT, lambda n: 0, False)

    def _crashed(self, fate: Chooser, pick: Chooser, garbage: bool) -> SimulatedDisk:
        names = dict(self._stable_names)
        for change in self._unforced_names:
            if fate(3) != LOST:
                _change_name(names, change)
        survivor = SimulatedDisk(self._capacity_bytes, self._copy_on_write)
        survivor._directories = set(self._directories)
        survivors: dict[int, _Inode] = {}
        for path, inode in names.items():
            if id(inode) not in survivors:
                survivors[id(inode)] = inode.crashed(fate, pick, garbage)
            survivor._names[path] = survivors[id(inode)]
        survivor._stable_names = dict(survivor._names)
        return survivor

    def copy(self) -> SimulatedDisk:
        """The same disk a second time, unforced writes and all, to try two futures of one past."""
        twin = SimulatedDisk(self._capacity_bytes, self._copy_on_write)
        inodes: dict[int, _Inode] = {}
        changed = [change[2] for change in self._unforced_names]
        for inode in [*self._names.values(), *self._stable_names.values(), *changed]:
            if id(inode) not in inodes:
                inodes[id(inode)] = inode.copy()
        twin._names = {path: inodes[id(inode)] for path, inode in self._names.items()}
        twin._stable_names = {path: inodes[id(inode)] for path, inode in self._stable_names.items()}
        twin._unforced_names = [(old, new, inodes[id(inode)]) for old, new, inode in self._unforced_names]
        twin._directories = set(self._directories)
        return twin

    def fill(self, bytes_left: int) -> None:
        """From now on only so many more bytes fit; removing files makes space again."""
        self._capacity_bytes += bytes_left - self._space_left()

    def fail_force(self, times: int = 1) -> None:
        """The next forces of files fail. As with a real one, what was to be forced is lost and the next force works."""
        self._forces_to_fail = times

    def corrupt(self, path: str, offset: int, data: bytes) -> None:
        """Change stored bytes behind everybody's back."""
        inode = self._names[path]
        end = offset + len(data)
        assert end <= len(inode.current), "there are no such bytes to corrupt"
        inode.current[offset:end] = data
        if end <= len(inode.stable):
            inode.stable[offset:end] = data

    def lose_power_after(self, changes: int) -> None:
        """After so many more changes the next one raises PowerLost: a force without effect, all else not forced."""
        self._changes_left = changes

    def count_change(self) -> None:
        if self._changes_left == 0:
            raise PowerLost
        self._changes_left -= 1

    def missing_bytes(self, inode: _Inode, offset: int, data: bytes) -> int:
        """How much space a write needs that is not there; 0 or less when it fits."""
        needed = len(data) if self._copy_on_write else inode.needed_bytes(offset, len(data))
        return needed - self._space_left() if needed else 0

    def force_fails(self) -> bool:
        """Whether this force is one of those that were told to fail."""
        fails = self._forces_to_fail > 0
        self.forces_refused += fails
        self._forces_to_fail = max(0, self._forces_to_fail - 1)
        return fails


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _change_name(names: dict[str, _Inode], change: tuple[str, str, _Inode]) -> None:
    goes, comes, inode = change
    if goes and names.get(goes) is inode:
        del names[goes]
    if comes:
        names[comes] = inode
