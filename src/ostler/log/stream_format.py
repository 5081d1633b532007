"""The bytes of the log: extents, blocks and records.

The log is an endless stream of bytes; an LSN is a position in it. Extent n is a file that holds the stream's bytes
from n times the extent's payload on, behind one header page:

    header page   magic, format version, pages of the file, extent number, identity of the log, checksum

The stream is a chain of blocks. A block never crosses an extent; the first block of an extent begins right behind
the header page. All numbers are little-endian:

    offset 0   magic           "OLB1"
           4   checksum        crc32 of all that follows, seeded with the log's identity
           8   length          bytes behind the header: payloads and table
          12   count           entries in the table
          16   epoch           which life of the log wrote this
          20   control         sequence number of the control file when it was written
          24   lsn             position of this block
          32   durable         durable LSN when it was written
          40   flags           PADDED, LIFE_START
          44   (zero)
          48   payloads, one after the other, then the table: eight bytes for each
               payload length (4 bytes), record kind (1), FIRST and LAST piece (1), zero (2)

The table stands behind the payloads so that a block can grow while it is filled. Each table entry counts as lying
behind its payload: the LSN behind record i is the block's LSN + 48 + payloads and entries up to i. So LSNs grow with
every record, an empty one too, and the last one of a block is the block's end. A record that does not fit is
continued in the next blocks as pieces.

The next block begins at the next multiple of eight, or at the next page when the block is PADDED. There is one more
place to look: a life of the log that must not write again the page where the life before it ended begins at the next
page; its first block has LIFE_START set and names the end of the life before as its durable LSN.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

from librt.strings import read_i32_le, read_i64_le
from mypy_extensions import i64

from ostler.log.errors import LogNewer

FORMAT_VERSION: Final = 1
PAGE_BYTES: Final = 4096
IDENTITY_BYTES: Final = 16

BLOCK_MAGIC: Final = b"OLB1"
BLOCK_MAGIC_NUMBER: Final = 0x31424C4F
BLOCK_HEADER_BYTES: Final = 48
ENTRY_BYTES: Final = 8
# A block is checked, written and read as one; its size bounds the memory that takes.
BLOCK_BYTES_MAX: Final = 1 << 20
# An extent's last bytes are left over when not even a header and a small record fit.
BLOCK_BYTES_MIN: Final = 64
# Above MQ's 100 MB message with its descriptor and properties.
RECORD_BYTES_MAX: Final = 256 << 20

# Unsigned numbers are read as the lower half of eight bytes: a read of four bytes is signed.
UINT32: Final = 0xFFFFFFFF

PADDED: Final = 1
LIFE_START: Final = 2
FIRST: Final = 1
LAST: Final = 2
WHOLE: Final = 3

EXTENT_MAGIC: Final = b"OSTLERLX"
_EXTENT_HEADER: Final = struct.Struct("<8sIIq16s")
_BLOCK_CHECKED: Final = struct.Struct("<IIIIqqI4x")
_BLOCK_PREFIX: Final = struct.Struct("<4sI")
_CHECKSUM: Final = struct.Struct("<I")


class StreamShape:
    """The mapping of a log's stream to its extents, fixed when the log is created."""

    def __init__(self, identity: bytes, file_pages: int) -> None:
        assert len(identity) == IDENTITY_BYTES
        assert file_pages >= 2
        self.identity: Final[bytes] = identity
        self.file_pages: Final[int] = file_pages
        self.seed: Final[int] = zlib.crc32(identity)
        self.payload_bytes: Final[i64] = (file_pages - 1) * PAGE_BYTES
        self.file_bytes: Final[i64] = file_pages * PAGE_BYTES

    def extent_of(self, lsn: i64) -> i64:
        return lsn // self.payload_bytes

    def start_of(self, extent: i64) -> i64:
        """Return the LSN of an extent's first byte."""
        return extent * self.payload_bytes

    def end_of_extent_at(self, lsn: i64) -> i64:
        return (lsn // self.payload_bytes + 1) * self.payload_bytes

    def file_offset(self, lsn: i64) -> i64:
        return PAGE_BYTES + lsn % self.payload_bytes

    def block_start(self, position: i64) -> i64:
        """Return where the next block begins when the last one, with its padding, ended at `position`."""
        position = (position + 7) // 8 * 8
        end = self.end_of_extent_at(position)
        return end if end - position < BLOCK_BYTES_MIN else position


def next_page(position: i64) -> i64:
    return (position + PAGE_BYTES - 1) // PAGE_BYTES * PAGE_BYTES


def extent_name(extent: int) -> str:
    return f"S{extent:07d}.LOG"


def extent_number(name: str) -> int:
    """Return the number in an extent's file name; -1 for another file."""
    digits = name[1:-4]
    is_extent = name.startswith("S") and name.endswith(".LOG") and len(digits) >= 7 and digits.isdecimal()
    return int(digits) if is_extent else -1


def extent_header(shape: StreamShape, extent: int) -> bytes:
    fields = _EXTENT_HEADER.pack(EXTENT_MAGIC, FORMAT_VERSION, shape.file_pages, extent, shape.identity)
    page = fields + _CHECKSUM.pack(zlib.crc32(fields))
    return page + bytes(PAGE_BYTES - len(page))


def extent_problem(shape: StreamShape, extent: int, page: bytes) -> str:
    """Return why `page` is not the header of this extent of this log, or empty. Raises LogNewer."""
    size = _EXTENT_HEADER.size
    if len(page) < PAGE_BYTES or page[:8] != EXTENT_MAGIC:
        return "the header page is not that of an extent"
    if zlib.crc32(page[:size]) != read_i64_le(page, size) & UINT32:
        return "the header page fails its checksum"
    version = read_i32_le(page, 8)
    if version > FORMAT_VERSION:
        raise LogNewer(f"log extent {extent_name(extent)}", version, FORMAT_VERSION)
    if page[24:40] != shape.identity:
        return "it belongs to another log"
    if read_i64_le(page, 16) != extent:
        return f"its header names extent {read_i64_le(page, 16)}"
    if read_i32_le(page, 12) != shape.file_pages:
        return f"its header says {read_i32_le(page, 12)} pages, the log's extents have {shape.file_pages}"
    return ""


class Block:
    """A closed block for the writer. Its parts are those passed to `append`, not copied."""

    def __init__(self, lsn: i64, parts: list[bytes | memoryview], table: bytes, length: i64) -> None:
        self.lsn: Final[i64] = lsn
        self.parts: Final[list[bytes | memoryview]] = parts
        self.table: Final[bytes] = table
        self.length: Final[i64] = length
        self.flags: i64 = 0

    def end(self) -> i64:
        """Return the position behind the table."""
        return self.lsn + BLOCK_HEADER_BYTES + self.length


def block_image(shape: StreamShape, block: Block, epoch: int, control: int, durable: int) -> list[bytes]:
    """Return a block as it is written, in three parts: magic and checksum, the checked bytes, padding.

    Joining costs one copy and allows one checksum call over the whole, which releases the interpreter lock.
    """
    count = len(block.table) // ENTRY_BYTES
    checked = _BLOCK_CHECKED.pack(block.length, count, epoch, control, block.lsn, durable, block.flags)
    body = b"".join([checked, *block.parts, block.table])
    end = block.end()
    padding = bytes(next_page(end) - end) if block.flags & PADDED else b""
    return [_BLOCK_PREFIX.pack(BLOCK_MAGIC, zlib.crc32(body, shape.seed)), body, padding]
