"""Transfers of messages to and from data sets: block by block through buffers, several blocks of a message at a time.

A message overlaps at most ten transfers, or 4 MB. It waits for its first buffer, and takes further ones if they are
free: so a task that has buffers always comes to the point where it gives them back.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor, Future
from typing import Final, NamedTuple

from ostler.coupling.data_sets.layout import (
    INLINE_EXTENTS_MAX,
    RECORD_BYTES,
    DamagedData,
    Reference,
    check_body,
    check_record,
    further_bytes,
    further_extents,
)
from ostler.coupling.data_sets.space_map import PAGE_BYTES, Extent
from ostler.server.coupling.data_sets.buffer_pool import FOREIGN, Buffer, BufferPool
from ostler.server.coupling.data_sets.data_set_file import DataSetFailed, DataSetFile

OVERLAP_BUFFERS_MAX: Final = 10
OVERLAP_BYTES_MAX: Final = 4 << 20


class Piece(NamedTuple):
    """Pages of one block, and where their bytes are in the message."""

    block: int
    first: int  # page within the block
    pages: int
    page: int  # of the file
    position: int  # of the bytes


def pieces_of(extents: Iterable[Extent], block_pages: int, pages_max: int) -> list[Piece]:
    """Divide extents at the ends of blocks, and after `pages_max` pages."""
    pieces: list[Piece] = []
    position = 0
    for extent in extents:
        page, left = int(extent.page), int(extent.count)
        while left > 0:
            block, first = divmod(page, block_pages)
            count = min(left, block_pages - first, pages_max)
            pieces.append(Piece(block, first, count, page, position))
            page += count
            left -= count
            position += count * PAGE_BYTES
    return pieces


class Transfers:
    """Makes the transfers of one structure's data sets."""

    def __init__(self, buffers: BufferPool, executor: Executor) -> None:
        """`executor` overlaps the blocks of a message; nothing on it ever waits."""
        self.buffers = buffers
        self._executor = executor
        overlap = min(OVERLAP_BUFFERS_MAX, OVERLAP_BYTES_MAX // buffers.buffer_bytes)
        self._overlap = max(overlap, 1)

    def write(self, file: DataSetFile, extents: list[Extent], record: bytes) -> None:
        """Write a record of this member's own data set. Raises DiskFull and DataSetFailed."""
        data = memoryview(record)
        window: list[tuple[Piece, Buffer]] = []
        pieces = pieces_of(extents, file.block_pages, file.block_pages)
        at = 0
        while at < len(pieces):
            piece = pieces[at]
            buffer = self.buffers.acquire(piece.block, not window)
            if buffer is not None:
                _fill(buffer, piece, data)
                window.append((piece, buffer))
                at += 1
            if buffer is None or len(window) == self._overlap:
                self._write_all(file, window)
                window = []
        if window:
            self._write_all(file, window)

    def _write_all(self, file: DataSetFile, window: list[tuple[Piece, Buffer]]) -> None:
        futures = [self._executor.submit(_write_piece, file, piece, buffer) for piece, buffer in window[1:]]
        failure: Exception | None = None
        try:
            _write_piece(file, *window[0])
        except Exception as error:
            failure = error
        failure = _first_failure(futures) or failure
        for piece, buffer in window:
            buffer.mark(piece.first, piece.pages, failure is None)
            self.buffers.release(buffer)
        if failure is not None:
            raise failure

    def read(self, file: DataSetFile, reference: Reference, is_own: bool) -> bytes:
        """Return the body of a message. Raises DamagedData and DataSetFailed, never returns other data.

        What does not fit is read once more, past the buffers: a browse may have filled them while its message went.
        """
        try:
            return self._read_body(file, reference, is_own)
        except DamagedData:
            if is_own:
                self.buffers.discard({piece.block for piece in pieces_of(reference.extents, file.block_pages, 1)})
            return self._read_body(file, reference, is_own)

    def _read_body(self, file: DataSetFile, reference: Reference, is_own: bool) -> bytes:
        if reference.identity != file.header.identity:
            raise DamagedData("the reference is one into another data set")
        extents = reference.extents
        if reference.total > INLINE_EXTENTS_MAX:
            head = self._read(file, extents, RECORD_BYTES + int(further_bytes(reference.total)), is_own)
            extents = extents + further_extents(head, reference)
        size = RECORD_BYTES + int(further_bytes(reference.total)) + int(reference.body_bytes)
        return check_body(self._read(file, extents, size, is_own), reference)

    def all_extents(self, file: DataSetFile, reference: Reference) -> list[Extent]:
        """Return the pages of a message, those that only its record has included. Raises as `read` does."""
        if reference.total <= INLINE_EXTENTS_MAX:
            return reference.extents
        size = RECORD_BYTES + int(further_bytes(reference.total))
        head = self._read(file, reference.extents, size, True)
        check_record(head, reference)
        return reference.extents + further_extents(head, reference)

    def _read(self, file: DataSetFile, extents: list[Extent], size: int, is_own: bool) -> bytes:
        """Return the first bytes of a record."""
        available = sum(int(extent.count) for extent in extents) * PAGE_BYTES
        if any(extent.page < 0 or extent.count <= 0 for extent in extents) or available < size:
            raise DamagedData("the message has fewer pages than its length needs")
        result = bytearray(size)
        window: list[tuple[Piece, Buffer]] = []
        pages_max = min(file.block_bytes, self.buffers.buffer_bytes) // PAGE_BYTES
        with memoryview(result) as target:
            wanted = [
                piece
                for piece in pieces_of(extents, file.block_pages, pages_max)
                if piece.position < size and not self._is_saved(piece, target, is_own)
            ]
            at = 0
            while at < len(wanted):
                piece = wanted[at]
                buffer = self.buffers.acquire(piece.block if is_own else FOREIGN, not window)
                if buffer is not None:
                    window.append((piece, buffer))
                    at += 1
                if buffer is None or len(window) == self._overlap:
                    self._read_all(file, window, target, is_own)
                    window = []
            if window:
                self._read_all(file, window, target, is_own)
        return bytes(result)

    def _is_saved(self, piece: Piece, target: memoryview, is_own: bool) -> bool:
        end = min(piece.position + piece.pages * PAGE_BYTES, len(target))
        with target[piece.position : end] as part:
            return self.buffers.read_saved(piece.block if is_own else FOREIGN, piece.first, piece.pages, part)

    def _read_all(
        self, file: DataSetFile, window: list[tuple[Piece, Buffer]], target: memoryview, is_own: bool
    ) -> None:
        futures = [self._executor.submit(_read_piece, file, piece, buffer, is_own) for piece, buffer in window[1:]]
        failure: Exception | None = None
        try:
            _read_piece(file, *window[0], is_own)
        except Exception as error:
            failure = error
        failure = _first_failure(futures) or failure
        for piece, buffer in window:
            if failure is None:
                first = piece.first if is_own else 0
                end = min(piece.position + piece.pages * PAGE_BYTES, len(target))
                size = end - piece.position
                target[piece.position : end] = buffer.view[first * PAGE_BYTES : first * PAGE_BYTES + size]
                if is_own:
                    buffer.mark(piece.first, piece.pages, True)
            self.buffers.release(buffer)
        if failure is not None:
            raise failure


def _fill(buffer: Buffer, piece: Piece, data: memoryview) -> None:
    """Copy a piece of a message to its pages, with zeros behind its end."""
    part = data[piece.position : piece.position + piece.pages * PAGE_BYTES]
    start = piece.first * PAGE_BYTES
    buffer.view[start : start + len(part)] = part
    rest = piece.pages * PAGE_BYTES - len(part)
    if rest:
        end = start + piece.pages * PAGE_BYTES
        buffer.view[end - rest : end] = bytes(rest)


def _write_piece(file: DataSetFile, piece: Piece, buffer: Buffer) -> None:
    with buffer.pages(piece.first, piece.pages) as view:
        file.write(piece.page, view)


def _read_piece(file: DataSetFile, piece: Piece, buffer: Buffer, is_own: bool) -> None:
    with buffer.pages(piece.first if is_own else 0, piece.pages) as view:
        file.read(piece.page, view)


def _first_failure(futures: list[Future[None]]) -> Exception | None:
    """Wait for all, and return the first failure."""
    failure: Exception | None = None
    for future in futures:
        error = future.exception()
        if failure is None and error is not None:
            failure = error if isinstance(error, Exception) else DataSetFailed("DATAFAIL", repr(error))
    return failure
