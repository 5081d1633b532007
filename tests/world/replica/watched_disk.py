"""A disk that looks at every write: no file but the log may speak of an LSN that not enough copies have forced."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ostler.log.control_file import NOTES_PAGE, decode_note, decode_slot
from ostler.log.stream_format import PAGE_BYTES
from ostler.model.disk import Disk, File
from ostler.testing.simulation.crashing_disk import SimulatedDisk

Allowed = Callable[[], int]
"""The highest LSN that any file may speak of now."""


class _WatchedFile(File):
    def __init__(self, inner: File, path: str, allowed: Allowed, identity: bytes) -> None:
        self._inner = inner
        self._path = path
        self._allowed = allowed
        self._identity = identity

    def read_at(self, offset: int, length: int) -> bytes:
        return self._inner.read_at(offset, length)

    def write_at(self, offset: int, parts: Sequence[bytes]) -> None:
        data = b"".join(parts)
        for lsn, what in lsns_in(self._path, offset, data, self._identity):
            assert lsn <= self._allowed(), f"{self._path}: {what} is {lsn}, but the group LSN is {self._allowed()}"
        self._inner.write_at(offset, [data])

    def discard(self, offset: int, length: int) -> None:
        self._inner.discard(offset, length)

    def force(self) -> None:
        self._inner.force()

    def size_bytes(self) -> int:
        return self._inner.size_bytes()

    def truncate(self, size_bytes: int) -> None:
        self._inner.truncate(size_bytes)

    def close(self) -> None:
        self._inner.close()


def _number(data: bytes, offset: int) -> int:
    return int.from_bytes(data[offset : offset + 8], "little")


def lsns_in(path: str, offset: int, data: bytes, identity: bytes) -> list[tuple[int, str]]:
    """The LSNs that a write to a file other than the log's extents makes it speak of."""
    if "+" in path:
        return []  # of a base that is not in place
    name = path.rpartition("/")[2]
    if name == "amqhlctl.lfh":
        note = decode_note(data, identity)
        state = decode_slot(data) if offset < NOTES_PAGE * PAGE_BYTES else None
        found = [(note.durable_lsn, "the note of the end")] if note is not None else []
        if state is not None:
            found += [(state.restart_lsn, "the restart LSN"), (state.checkpoint_lsn, "the checkpoint LSN")]
            found += [(state.durable_lsn, "the durable LSN"), (state.media_lsn, "the media LSN")]
        return found
    if name == "slots.new":
        return [(_number(data, 32), "the snapshot's LSN")]
    if name == "checkpoint.new":
        return [(_number(data, 88), "the LSN of the log"), (_number(data, 32), "the LSN of the catalogue")]
    if name == "objects.new":
        return [(_number(data, 40), "the catalogue's LSN")]
    return []


class WatchedDisk(Disk):
    def __init__(self, inner: SimulatedDisk, allowed: Allowed, identity: bytes) -> None:
        self.inner = inner
        self._allowed = allowed
        self._identity = identity

    def open(self, path: str, create: bool) -> File:
        return _WatchedFile(self.inner.open(path, create), path, self._allowed, self._identity)

    def exists(self, path: str) -> bool:
        return self.inner.exists(path)

    def names(self, directory: str) -> list[str]:
        return self.inner.names(directory)

    def make_directory(self, path: str) -> None:
        self.inner.make_directory(path)

    def remove(self, path: str) -> None:
        self.inner.remove(path)

    def rename(self, source: str, target: str) -> None:
        self.inner.rename(source, target)

    def force_directory(self, path: str) -> None:
        self.inner.force_directory(path)

    def free_bytes(self) -> int:
        return self.inner.free_bytes()
