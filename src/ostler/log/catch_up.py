"""Reads blocks of a log as they stand in its extents, for a copy that is behind."""

from __future__ import annotations

from librt.strings import read_i64_le
from mypy_extensions import i64

from ostler.log.control_file import ControlState
from ostler.log.errors import LogError
from ostler.log.reader import BlockCursor
from ostler.log.stream_format import StreamShape
from ostler.model.disk import Disk


class LogGone(LogError):
    """The log does not reach back so far any more, or cannot be read there: the copy needs a base."""


class CatchUpReader:
    """Reads whole blocks. While the log's extents are kept this may be done by a thread of its own."""

    def __init__(self, disk: Disk, active: str, shape: StreamShape, control: ControlState) -> None:
        self._disk = disk
        self._active = active
        self._shape = shape
        self._control = control
        self._cursor: BlockCursor | None = None
        self.position: i64 = 0
        """The position behind the blocks that were read last."""

    def read(self, position: i64, until: i64, bytes_max: i64) -> bytes:
        """Return the blocks from `position` on, as many as fit into `bytes_max` but at least one, up to `until`.

        Both are positions of the chain, and all up to `until` is forced. Raises LogGone.
        """
        if self._cursor is None or self.position != position:
            self._open(position)
        images: list[bytes] = []
        size: i64 = 0
        while self.position < until:
            image = self._next(until)
            if images and size + len(image) > bytes_max:
                self._open(self.position)
                break
            images.append(image)
            size += len(image)
            cursor = self._cursor
            assert cursor is not None
            self.position = self._shape.block_start(cursor.position)
        return b"".join(images)

    def _next(self, until: i64) -> bytes:
        cursor = self._cursor
        assert cursor is not None
        if not cursor.advance():
            # What was read ahead may be older than what has been written since.
            self._open(self.position)
            cursor = self._cursor
            assert cursor is not None
            if not cursor.advance():
                raise LogGone(f"the log cannot be read at LSN {self.position}: {cursor.what}")
        if cursor.lsn >= until:
            raise LogGone(f"a block of the log crosses LSN {until}")
        image = cursor.chunk[cursor.at : cursor.at + cursor.end() - cursor.lsn]
        padding = cursor.position - cursor.end()
        return image + bytes(padding) if padding > 0 else image

    def _open(self, position: i64) -> None:
        self.close()
        self._cursor = BlockCursor(self._disk, self._active, self._shape, self._control, position)
        self.position = position

    def another(self) -> CatchUpReader:
        """Return a reader of the same log, for another thread."""
        return CatchUpReader(self._disk, self._active, self._shape, self._control)

    def start_of_extent(self, lsn: i64) -> i64:
        """Return where the extent begins that has an LSN."""
        return self._shape.start_of(self._shape.extent_of(lsn))

    def end_of_image(self, image: bytes) -> i64:
        """Return where the chain ends behind a block."""
        return self._shape.block_start(read_i64_le(image, 24) + len(image))

    def close(self) -> None:
        if self._cursor is not None:
            self._cursor.close()
        self._cursor = None
